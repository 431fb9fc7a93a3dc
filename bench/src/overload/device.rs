//! The device of a worker: receive rings that senders fill, ports that stations drain at a limited
//! rate, and an account of what comes and goes that asks nothing of the switch.

use crate::parcel::{Identity, Parcel};
use crate::sender::{Inbox, Pause, Sender};
use dataplane::device::Device;
use dataplane::frame::{Burst, Frame};
use dataplane::ids::{PortId, Priority};
use dataplane::limits::PRIORITIES;
use dataplane::rx_queues::RxQueue;
use dataplane::time::Instant;
use dataplane::wire::MacAddress;
use dataplane::wire::mac_control::{MacControl, Pfc};
use random::{Draw, SplitMix64, seeded};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The rate at which a station takes frames: less than what senders send to it.
const DRAIN_GBPS: u64 = 4;
/// A port's device holds what the station takes in this time, and refuses more: longer than two
/// steps of the wires' time, so that the station never waits for a turn.
const TX_RING_NS: u64 = 100_000;
/// Nanoseconds of a quantum at 10G, in tenths.
const QUANTUM_TENTHS_NS: u64 = 512;
/// A station pauses the switch for up to this time, and again after up to that time.
const PAUSE_NS: u64 = 100_000;
const PAUSE_EVERY_NS: u64 = 1_000_000;
/// The last port is one at which only its owner can send, so that frames are handed off to it.
pub(crate) const HANDOFF_PORT: u8 = 4;

/// By priority, of one worker: only that worker writes.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Account {
    /// Frames that the switch took out of a receive ring.
    pub(crate) given: [AtomicU64; PRIORITIES],
    /// Frames that a port took for transmission.
    pub(crate) out: [AtomicU64; PRIORITIES],
    /// Frames that came out by another port or after a later one of their flow; of lossless flows
    /// also those that came out before an earlier one.
    pub(crate) wrong: [AtomicU64; PRIORITIES],
    /// Frames that found their receive ring full.
    pub(crate) overflowed: [AtomicU64; PRIORITIES],
}

/// Adds to a word that only this thread writes.
fn add(to: &AtomicU64, count: u64) {
    to.store(to.load(Ordering::Relaxed) + count, Ordering::Relaxed);
}

/// What one station says and does.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Station {
    /// When it has taken all that it was given.
    free_ns: AtomicU64,
    /// Bytes taken, with preamble, frame check sequence and gap.
    pub(crate) taken_bytes: AtomicU64,
    /// By priority: PFC frames of the switch that paused or resumed it.
    pub(crate) xoff_frames: [AtomicU64; PRIORITIES],
    pub(crate) xon_frames: [AtomicU64; PRIORITIES],
    /// PFC frames that it sent.
    pub(crate) sent_pfc_frames: AtomicU64,
}

/// What both threads share: the wires.
#[derive(Debug)]
pub(crate) struct World {
    /// The time of the wires.
    pub(crate) now_ns: AtomicU64,
    /// By port.
    pub(crate) stations: Vec<Station>,
    /// By receive queue.
    inboxes: Vec<Inbox>,
    /// By flow: the number of the frame that comes next.
    next: Vec<AtomicU64>,
    /// By worker.
    pub(crate) accounts: Vec<Account>,
    pub(crate) ports: u8,
    /// Senders send no more, and stations pause no more.
    pub(crate) is_ending: AtomicBool,
}

impl World {
    pub(crate) fn new(ports: u8, queues: usize, workers: usize) -> Self {
        Self {
            now_ns: AtomicU64::new(0),
            stations: (0..ports).map(|_| Station::default()).collect(),
            inboxes: (0..queues).map(|_| Inbox::default()).collect(),
            next: (0..queues * Sender::flows(ports)).map(|_| AtomicU64::new(0)).collect(),
            accounts: (0..workers).map(|_| Account::default()).collect(),
            ports,
            is_ending: AtomicBool::new(false),
        }
    }

    pub(crate) fn now_ns(&self) -> u64 {
        self.now_ns.load(Ordering::Acquire)
    }

    /// Whether the station of `port` has room for a frame of `length` bytes.
    fn takes(&self, port: PortId, length: usize, now_ns: u64) -> bool {
        let station = &self.stations[port.index()];
        let bytes = length as u64 + 24;
        let taken = station.free_ns.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |free_ns| {
            let free_ns = free_ns.max(now_ns);
            (free_ns <= now_ns + TX_RING_NS).then_some(free_ns + bytes * 8 / DRAIN_GBPS)
        });
        if taken.is_ok() {
            station.taken_bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        taken.is_ok()
    }

    /// The share of `ns` in which the stations took frames.
    pub(crate) fn drained_share(&self, ns: u64) -> f64 {
        let bytes = self.stations.iter().map(|it| it.taken_bytes.load(Ordering::Relaxed));
        let most = ns * DRAIN_GBPS / 8 * u64::from(self.ports);
        bytes.sum::<u64>() as f64 / most as f64
    }

    /// A data frame comes out at `port`, of worker number `worker`.
    fn comes_out(&self, identity: Identity, port: PortId, worker: usize) {
        let account = &self.accounts[worker];
        let of = identity.priority.index();
        add(&account.out[of], 1);
        let next = &self.next[identity.flow];
        let expected = next.load(Ordering::Relaxed);
        let is_lossless = matches!(of, 3 | 4);
        let is_in_order =
            if is_lossless { identity.number == expected } else { identity.number >= expected };
        next.store(identity.number + 1, Ordering::Relaxed);
        if !is_in_order || Sender::out_of(identity.flow, self.ports) != port.number() {
            add(&account.wrong[of], 1);
        }
    }

    /// A PFC frame of the switch leaves `port`: it goes to the senders of all queues of the port.
    fn pfc_leaves(&self, pfc: &Pfc, port: PortId, queues: &[RxQueue], now_ns: u64) {
        let times_ns = pfc.quanta.map(|quanta| u64::from(quanta) * QUANTUM_TENTHS_NS / 10);
        let station = &self.stations[port.index()];
        for priority in Priority::in_bits(pfc.enabled_bits) {
            let p = priority.index();
            let is_xoff = times_ns[p] > 0;
            let frames = if is_xoff { &station.xoff_frames } else { &station.xon_frames };
            frames[p].fetch_add(1, Ordering::Relaxed);
        }
        let pause = Pause { left_ns: now_ns, enabled_bits: pfc.enabled_bits, times_ns };
        for queue in queues.iter().filter(|queue| queue.port == port) {
            self.inboxes[queue.id.index()].push(pause);
        }
    }
}

/// A station's pauses of the switch, which come in by one of the port's queues.
#[derive(Debug)]
struct Pauser {
    rng: SplitMix64,
    next_ns: u64,
    /// The priority that is paused.
    paused: Option<Priority>,
}

impl Pauser {
    /// The PFC frame that is due at `now_ns`.
    fn due(&mut self, now_ns: u64, is_ending: bool) -> Option<Parcel> {
        if now_ns < self.next_ns && !(is_ending && self.paused.is_some()) {
            return None;
        }
        let pfc = if let Some(priority) = self.paused.take() {
            self.next_ns = now_ns + self.rng.below(PAUSE_EVERY_NS);
            Pfc::default().with(priority, 0)
        } else if is_ending {
            return None;
        } else {
            self.next_ns = now_ns + self.rng.below(PAUSE_NS);
            let priority = Priority::from_low_bits(3 + self.rng.byte_below(2));
            self.paused = Some(priority);
            Pfc::default().with(priority, 0xFFFF)
        };
        let bytes = pfc.to_frame(MacAddress::default());
        Some(Parcel::new(&bytes, bytes.len(), None))
    }
}

/// See the module's head.
#[derive(Debug)]
pub(crate) struct Wires {
    world: Arc<World>,
    worker: usize,
    queues: Vec<RxQueue>,
    /// By receive queue: the sender, and the station's pauses if they come in there.
    inputs: Vec<(Sender, Option<Pauser>)>,
}

impl Wires {
    pub(crate) fn new(world: &Arc<World>, worker: usize, queues: &[RxQueue], of_port: u8) -> Self {
        let input = |queue: &RxQueue| {
            let port = u8::try_from(queue.port.number()).expect("few");
            // Pauses of every other port come in by the further queue.
            let is_here = queue.number == u16::from(port) / 2 % 2;
            let rng = seeded(1_000 + u64::from(port));
            let pauser = is_here.then_some(Pauser { rng, next_ns: 0, paused: None });
            (Sender::new(queue.id, port, world.ports, of_port), pauser)
        };
        let inputs = queues.iter().map(input).collect();
        Self { world: Arc::clone(world), worker, queues: queues.to_vec(), inputs }
    }

    /// The senders of the receive queues that the worker polls, each with its queue.
    pub(crate) fn senders(&self) -> impl Iterator<Item = (&RxQueue, &Sender)> {
        let senders = self.inputs.iter().map(|(sender, _)| sender);
        self.queues.iter().zip(senders).filter(|(queue, _)| self.polls(queue))
    }

    /// Lets everything arrive at `queue` that its wire has carried until now; returns that time.
    fn arrive(&mut self, queue: PortId) -> u64 {
        let world = &self.world;
        let now_ns = world.now_ns();
        let sender = &mut self.inputs[queue.index()].0;
        let before = sender.overflowed;
        sender.is_stopped = world.is_ending.load(Ordering::Relaxed);
        sender.arrive(now_ns, &world.inboxes[queue.index()]);
        for (p, before) in before.into_iter().enumerate() {
            add(&world.accounts[self.worker].overflowed[p], sender.overflowed[p] - before);
        }
        now_ns
    }

    fn polls(&self, queue: &RxQueue) -> bool {
        usize::from(queue.worker.0) == self.worker
    }
}

impl Device for Wires {
    type Frame = Parcel;

    fn has_tx_queue(&self, port: PortId) -> bool {
        port.number() != usize::from(HANDOFF_PORT)
    }

    fn rx_burst(&mut self, queue: PortId, frames_max: usize, into: &mut Burst<Parcel>) {
        let now_ns = self.arrive(queue);
        let (sender, pauser) = &mut self.inputs[queue.index()];
        let is_ending = self.world.is_ending.load(Ordering::Relaxed);
        let pause = pauser.as_mut().and_then(|pauser| pauser.due(now_ns, is_ending));
        let control_frames = usize::from(pause.is_some());
        let station = &self.world.stations[usize::from(sender.port()) - 1];
        add(&station.sent_pfc_frames, control_frames as u64);
        into.extend(pause);
        let account = &self.world.accounts[self.worker];
        for _ in control_frames..frames_max {
            let Some(parcel) = sender.receive() else { return };
            if let Some(identity) = parcel.identity() {
                add(&account.given[identity.priority.index()], 1);
            }
            into.push(parcel);
        }
    }

    fn tx_room_bytes(&mut self, _port: PortId, _now: Instant) -> u32 {
        u32::MAX
    }

    fn tx_burst(&mut self, port: PortId, from: &mut Burst<Parcel>, _now: Instant) {
        let now_ns = self.world.now_ns();
        let is_taken = |parcel: &&Parcel| match parcel.identity() {
            Some(identity) => {
                let takes = self.world.takes(port, parcel.len(), now_ns);
                if takes {
                    self.world.comes_out(identity, port, self.worker);
                }
                takes
            }
            // A PFC frame goes out ahead of data.
            None => {
                if let MacControl::Pfc(pfc) = MacControl::parse(parcel.head()) {
                    self.world.pfc_leaves(&pfc, port, &self.queues, now_ns);
                }
                true
            }
        };
        let count = from.iter().take_while(is_taken).count();
        from.drain(..count).for_each(Parcel::has_left);
    }

    fn make_control(&mut self, bytes: &[u8]) -> Option<Parcel> {
        Some(Parcel::new(bytes, bytes.len(), None))
    }

    fn copy(&mut self, _frame: &Parcel) -> Option<Parcel> {
        None
    }

    fn rx_backlog_frames(&mut self, queue: PortId) -> Option<u32> {
        self.arrive(queue);
        u32::try_from(self.inputs[queue.index()].0.backlog()).ok()
    }
}
