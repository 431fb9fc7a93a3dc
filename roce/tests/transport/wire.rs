//! Two endpoints with memory, and the wire.

use dataplane::wire::MacAddress;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use roce::congestion::Congestion;
use roce::memory::{Region, VecMemory};
use roce::psn::Psn;
use roce::time::{NEVER, PS_PER_US, Picoseconds};
use roce::wire::HEAD_BYTES_MAX;
use roce::work::{Completion, Operation, Place, QueuePairId, Remote, WorkRequest};
use roce::{Departure, Endpoint, EndpointSettings, Peer, QueuePairSettings};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::IpAddr;

/// Bytes of each region.
pub(crate) const REGION_BYTES: usize = 1 << 16;
/// The address of the other side's first region.
pub(crate) const ADDRESS: u64 = 0x7000_0000_0000;
/// The queue pair of every test.
pub(crate) const PAIR: QueuePairId = QueuePairId(0);
const SPEED_BPS: u64 = 10_000_000_000;

/// When a frame arrives, how many were sent before it, at which side it arrives, and the frame.
type Flying = (Picoseconds, u64, usize, Vec<u8>);

/// Of 1,000 frames, how many are lost, come twice, and come late.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Faults {
    pub(crate) lost: u32,
    pub(crate) repeated: u32,
    pub(crate) late: u32,
}

/// One side.
pub(crate) struct Side {
    pub(crate) endpoint: Endpoint,
    pub(crate) memory: VecMemory,
    /// Keys of the regions.
    pub(crate) keys: Vec<u32>,
    pub(crate) completions: Vec<Completion>,
    /// What was sent, in order, as it would be without the wire's faults.
    pub(crate) departures: Vec<Departure>,
    /// Priorities that are paused.
    pub(crate) paused_bits: u8,
    free_ps: Picoseconds,
    number: u32,
}

/// Both sides.
pub(crate) struct Wire {
    pub(crate) now_ps: Picoseconds,
    pub(crate) sides: [Side; 2],
    pub(crate) faults: Faults,
    /// Whether every frame that arrives is marked Congestion Experienced.
    pub(crate) marks: bool,
    /// Every frame that was sent, in order.
    pub(crate) log: Vec<Vec<u8>>,
    /// Numbers, in that order, of frames that are lost.
    pub(crate) losses: Vec<usize>,
    dice: Xoshiro256PlusPlus,
    flying: BinaryHeap<Reverse<Flying>>,
    flown: u64,
}

pub(crate) fn mac(side: usize) -> MacAddress {
    MacAddress([2, 0, 0, 0, 0, u8::try_from(side).unwrap()])
}

/// Addresses of the two sides.
pub(crate) fn ip(side: usize, is_v6: bool) -> IpAddr {
    let last = u8::try_from(side).unwrap() + 1;
    match is_v6 {
        true => std::net::Ipv6Addr::new(0xFD00, 0, 0, 0, 0, 0, 0, u16::from(last)).into(),
        false => std::net::Ipv4Addr::new(10, 0, 0, last).into(),
    }
}

fn side(number: usize, regions: &[Vec<u8>], settings: &QueuePairSettings, is_v6: bool) -> Side {
    let own = EndpointSettings::new(mac(number), ip(number, is_v6));
    let mut endpoint = Endpoint::new(own);
    let mut keys = Vec::new();
    for (index, bytes) in (0_u64..).zip(regions) {
        let address = ADDRESS + index * 0x1000_0000;
        let bytes = u64::try_from(bytes.len()).unwrap();
        keys.push(endpoint.register(Region { address, bytes, is_remote: true }).1);
    }
    let psn = Psn::new(if number == 0 { 0xFF_FFF0 } else { 5 });
    let congestion = Congestion::None { speed_bps: SPEED_BPS };
    let settings = QueuePairSettings { psn, ..settings.clone() };
    let (pair, queue_pair) = endpoint.create_queue_pair(settings, congestion);
    let psn = Psn::new(if number == 1 { 0xFF_FFF0 } else { 5 });
    let peer = Peer { mac: mac(1 - number), ip: ip(1 - number, is_v6), queue_pair, psn };
    endpoint.connect(pair, peer);
    Side {
        endpoint,
        memory: VecMemory { regions: regions.to_vec() },
        keys,
        completions: Vec::new(),
        departures: Vec::new(),
        paused_bits: 0,
        free_ps: 0,
        number: u32::try_from(number).unwrap(),
    }
}

impl Side {
    /// Memory of this side, as the other names it.
    pub(crate) fn remote(&self, region: u32, offset: u64) -> Remote {
        let index = usize::try_from(region).unwrap();
        let address = ADDRESS + u64::from(region) * 0x1000_0000 + offset;
        Remote { address, key: self.keys[index] }
    }

    fn frame(&mut self, now_ps: Picoseconds) -> Option<Vec<u8>> {
        let mut head = [0; HEAD_BYTES_MAX];
        let departure = self.endpoint.transmit(now_ps, self.paused_bits, &mut head)?;
        self.departures.push(departure);
        let payload = self.memory.read(departure.payload, departure.payload_bytes);
        let mut frame = Vec::new();
        departure.write_frame(&head, payload, &mut frame);
        assert_eq!(frame.len(), departure.frame_bytes, "side {}", self.number);
        Some(frame)
    }
}

impl Wire {
    /// Two connected sides with the same regions each.
    pub(crate) fn new(
        settings: &QueuePairSettings,
        regions: [&[Vec<u8>]; 2],
        seed: u64,
        is_v6: bool,
    ) -> Self {
        Self {
            now_ps: 0,
            sides: [0, 1].map(|number| side(number, regions[number], settings, is_v6)),
            faults: Faults::default(),
            marks: false,
            log: Vec::new(),
            losses: Vec::new(),
            dice: Xoshiro256PlusPlus::seed_from_u64(seed),
            flying: BinaryHeap::new(),
            flown: 0,
        }
    }

    pub(crate) fn post(
        &mut self,
        from: usize,
        id: u64,
        operation: Operation,
        local: Place,
        bytes: u32,
    ) {
        let work = WorkRequest { id, operation, local, bytes };
        self.sides[from].endpoint.post(self.now_ps, PAIR, work).unwrap();
    }

    fn happens(&mut self, per_mille: u32) -> bool {
        self.dice.next_u32() % 1_000 < per_mille
    }

    fn launch(&mut self, to: usize, mut frame: Vec<u8>) {
        self.log.push(frame.clone());
        if self.losses.contains(&(self.log.len() - 1)) {
            return;
        }
        if self.marks {
            mark(&mut frame);
        }
        let Faults { lost, repeated, late } = self.faults;
        for _ in 0..1 + u32::from(self.happens(repeated)) {
            if self.happens(lost) {
                continue;
            }
            let extra_us = if self.happens(late) { self.dice.next_u64() % 30 } else { 0 };
            let at_ps = self.now_ps + (1 + extra_us) * PS_PER_US;
            self.flown += 1;
            self.flying.push(Reverse((at_ps, self.flown, to, frame.clone())));
        }
    }

    /// Goes on until nothing is left to do, or `until_ps`.
    pub(crate) fn run(&mut self, until_ps: Picoseconds) {
        loop {
            for from in [0, 1] {
                let side = &mut self.sides[from];
                while side.free_ps <= self.now_ps
                    && side.endpoint.wants_turn_at_ps(side.paused_bits) <= self.now_ps
                {
                    let Some(frame) = side.frame(self.now_ps) else { continue };
                    let wire_bits = (u64::try_from(frame.len()).unwrap() + 24) * 8;
                    side.free_ps = self.now_ps + wire_bits * 1_000_000_000_000 / SPEED_BPS;
                    self.launch(1 - from, frame);
                    break;
                }
            }
            let arrives_ps = self.flying.peek().map_or(NEVER, |Reverse((at_ps, ..))| *at_ps);
            let turns = self
                .sides
                .iter()
                .map(|side| side.endpoint.wants_turn_at_ps(side.paused_bits).max(side.free_ps));
            let next_ps = turns.fold(arrives_ps, Ord::min);
            if next_ps == NEVER || next_ps > until_ps {
                break;
            }
            self.now_ps = self.now_ps.max(next_ps);
            if arrives_ps <= self.now_ps
                && let Some(Reverse((_, _, to, frame))) = self.flying.pop()
            {
                let Side { endpoint, memory, completions, .. } = &mut self.sides[to];
                endpoint.receive(self.now_ps, &frame, frame.len(), memory);
                completions.extend(std::iter::from_fn(|| endpoint.poll_completion()));
            }
            for side in &mut self.sides {
                side.endpoint.advance(self.now_ps);
                let endpoint = &mut side.endpoint;
                side.completions.extend(std::iter::from_fn(|| endpoint.poll_completion()));
            }
        }
    }
}

/// Marks a frame without a tag Congestion Experienced, as a switch does.
fn mark(frame: &mut [u8]) {
    if frame[12..14] != [0x08, 0x00] || frame[15] & 3 == 0 {
        return;
    }
    let before = u16::from_be_bytes([frame[14], frame[15]]);
    frame[15] |= 3;
    let after = u16::from_be_bytes([frame[14], frame[15]]);
    let sum = u16::from_be_bytes([frame[24], frame[25]]);
    // RFC 1624.
    let new = u32::from(!sum) + u32::from(!before) + u32::from(after);
    let folded = (new & 0xFFFF) + (new >> 16);
    let folded = (folded & 0xFFFF) + (folded >> 16);
    let [_, _, high, low] = (!folded).to_be_bytes();
    frame[24..26].copy_from_slice(&[high, low]);
}

/// A full region of bytes that tell where they stand.
pub(crate) fn pattern(seed: u64) -> Vec<u8> {
    let mut bytes = vec![0; REGION_BYTES];
    Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(&mut bytes);
    bytes
}
