//! The stations around a switch under test: they send, obey PFC as the standard has it, and check
//! that nothing lossless of theirs gets lost or overtaken.

use dataplane::ids::Priority;
use dataplane::testing::Rig;
use dataplane::testing::wire::{Udp, sequence};
use dataplane::time::{Instant, Speed};
use dataplane::wire::mac_control::MacControl;
use std::collections::BTreeMap;

/// Lossless DSCPs of the rig, with their priorities, and a lossy one.
const CLASSES: [(u8, usize); 3] = [(26, 3), (27, 4), (0, 0)];
const ETHERTYPE: usize = 12;
const MAC_CONTROL: [u8; 2] = [0x88, 0x08];

/// One flow: where from, where to, which class.
type Flow = (u8, u8, u8);

/// The stations of all ports.
#[derive(Debug)]
pub(super) struct Stations {
    ports: u8,
    is_bridged: bool,
    speed: Speed,
    /// Bytes of a lossless class that may be on their way to one port.
    on_their_way_bytes_max: usize,
    /// By port and priority: silent until then.
    silent_until: BTreeMap<(u8, usize), Instant>,
    /// The next number of each flow, and what has come out of it.
    sent: BTreeMap<Flow, u32>,
    received: BTreeMap<Flow, u32>,
    /// Whether frames may be missing: a link went down.
    pub(super) may_lose: bool,
}

impl Stations {
    pub(super) fn new(ports: u8, is_bridged: bool, on_their_way_bytes_max: usize) -> Self {
        Self {
            ports,
            is_bridged,
            speed: Speed::from_gbps(10),
            on_their_way_bytes_max,
            silent_until: BTreeMap::new(),
            sent: BTreeMap::new(),
            received: BTreeMap::new(),
            may_lose: false,
        }
    }

    /// Sends a frame of `bytes`, unless the class is paused or enough of it is on its way.
    pub(super) fn send(&mut self, rig: &mut Rig, (from, to, class): Flow, bytes: usize) {
        let (dscp, priority) = CLASSES[usize::from(class)];
        let is_silent = self.silent_until.get(&(from, priority)).is_some_and(|&t| rig.now < t);
        let is_lossless = priority != 0;
        let waiting = &rig.port(from).arriving;
        let waiting_bytes: usize =
            waiting.iter().map(dataplane::frame::Frame::len).map(|bytes| bytes.max(256)).sum();
        if is_lossless
            && (is_silent || waiting_bytes + bytes.max(256) > self.on_their_way_bytes_max)
        {
            return;
        }
        let number = self.sent.entry((from, to, class)).or_default();
        let udp = if self.is_bridged { Udp::bridged } else { Udp::routed };
        // The flow is told by the source port, its frames by the sequence number.
        let frame = Udp {
            frame_bytes: bytes,
            sequence: *number,
            src_port: 1_000 + u16::from(class),
            ..udp(from, to, dscp)
        };
        *number += 1;
        rig.arrive(from, &frame.bytes());
    }

    /// Takes what the switch has sent: obeys PFC, and checks the order of data.
    pub(super) fn listen(&mut self, rig: &mut Rig) {
        for port in 1..=self.ports {
            for frame in rig.sent(port) {
                if frame[ETHERTYPE..ETHERTYPE + 2] == MAC_CONTROL {
                    self.obey(rig.now, port, &frame);
                } else {
                    self.receive(port, &frame);
                }
            }
        }
    }

    fn obey(&mut self, now: Instant, port: u8, frame: &[u8]) {
        let MacControl::Pfc(pfc) = MacControl::parse(frame) else {
            panic!("the switch made no PFC: {frame:02x?}");
        };
        for priority in Priority::all().filter(|p| pfc.enabled_bits & p.bit() != 0) {
            let index = priority.index();
            assert!(CLASSES.iter().any(|&(_, p)| p == index && p != 0), "paused {priority}");
            let until = now + self.speed.quanta_ns(pfc.quanta[index]);
            self.silent_until.insert((port, index), until);
        }
    }

    fn receive(&mut self, port: u8, frame: &[u8]) {
        let Some(flow) = flow_of(frame) else { return };
        let (from, to, class) = flow;
        let is_flooded = self.is_bridged && to != port;
        if is_flooded {
            return;
        }
        assert_eq!(to, port, "a frame of {from} for {to} leaves at {port}");
        let number = sequence(frame);
        let next = self.received.entry(flow).or_default();
        let is_lossless = CLASSES[usize::from(class)].1 != 0;
        assert!(number >= *next, "{flow:?}: {number} after {next}");
        assert!(!is_lossless || self.may_lose || number == *next, "{flow:?}: {next} was lost");
        *next = number + 1;
    }

    /// After everything has drained: all lossless frames are there.
    pub(super) fn check_all_there(&self) {
        for (flow, sent) in self.sent.iter().filter(|((_, _, class), _)| *class != 2) {
            let received = self.received.get(flow).copied().unwrap_or_default();
            assert!(self.may_lose || received == *sent, "{flow:?}: {received} of {sent}");
        }
    }

    /// Whether any station was last told to be silent.
    pub(super) fn any_silent(&self, now: Instant) -> bool {
        self.silent_until.values().any(|&until| now < until)
    }
}

/// The flow of a frame that a station sent, from its addresses and its source port.
fn flow_of(frame: &[u8]) -> Option<Flow> {
    let ip = frame.get(14..34)?;
    let is_ours = ip[0] == 0x45 && ip[12..14] == [10, 0] && ip[16..18] == [10, 0];
    let port = u16::from_be_bytes([*frame.get(34)?, *frame.get(35)?]);
    let class = port.checked_sub(1_000).and_then(|class| u8::try_from(class).ok());
    class.filter(|&class| is_ours && class < 3).map(|class| (ip[14], ip[18], class))
}
