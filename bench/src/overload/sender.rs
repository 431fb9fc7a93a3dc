//! The sender of one receive queue: it fills the queue's ring at the rate of its wire, and obeys
//! PFC some time after a PFC frame has left the switch.

use crate::parcel::{Identity, Parcel};
use dataplane::ids::{PortId, Priority};
use dataplane::limits::PRIORITIES;
use dataplane::testing::wire::Udp;
use random::{Draw, SplitMix64, seeded};
use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Frames that a receive ring holds.
pub(crate) const RING_FRAMES: usize = 2_048;
/// A sender obeys a PFC frame so long after it has left the switch.
pub(crate) const RESPONSE_NS: u64 = 5_000;
/// The rate of the wire of one port, which its queues share equally.
pub(crate) const WIRE_GBPS: u64 = 10;
/// The priorities of the frames, each as often as it is here, with the DSCP of each.
const MIX: [(u8, u8); 5] = [(3, 26), (4, 27), (3, 26), (4, 27), (LOSSY, 0)];
const LOSSY: u8 = 0;
/// Lengths of lossless frames, without FCS. Lossy ones are the longest.
const LENGTHS: [usize; 6] = [60, 60, 60, 60, 252, LONGEST];
const LONGEST: usize = 1_514;
/// Preamble, frame check sequence and gap.
const OVERHEAD_BYTES: u64 = 24;

/// A frame as it lies in a receive ring.
#[derive(Clone, Copy, Debug)]
struct Descriptor {
    identity: Identity,
    template: usize,
}

/// A PFC frame that left the switch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pause {
    pub(crate) left_ns: u64,
    pub(crate) enabled_bits: u8,
    /// By priority, in nanoseconds; 0 resumes.
    pub(crate) times_ns: [u64; PRIORITIES],
}

/// PFC frames on their way to a sender.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    has_any: AtomicBool,
    pauses: Mutex<VecDeque<Pause>>,
}

impl Inbox {
    pub(crate) fn push(&self, pause: Pause) {
        self.pauses.lock().expect("no panic").push_back(pause);
        self.has_any.store(true, Ordering::Release);
    }
}

/// How long, and how often, a sender was paused, by priority.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Paused {
    pub(crate) times: u64,
    pub(crate) ns: u64,
}

#[derive(Debug)]
pub(crate) struct Sender {
    /// The port, from 1, and how many there are.
    port: u8,
    ports: u8,
    /// The first of the flows of this sender.
    flows_from: usize,
    /// Frames sent by flow, from the first one on.
    numbers: Vec<u64>,
    /// The bytes of each kind of frame, and its length.
    templates: Vec<(Vec<u8>, usize)>,
    rng: SplitMix64,
    ring: VecDeque<Descriptor>,
    /// When the next frame may begin.
    next_ns: u64,
    /// Queues of the port, which share its wire.
    queues: u8,
    pauses: VecDeque<Pause>,
    paused_until_ns: [u64; PRIORITIES],
    paused_since_ns: [u64; PRIORITIES],
    pub(crate) paused: [Paused; PRIORITIES],
    /// Frames that found the ring full.
    pub(crate) overflowed: [u64; PRIORITIES],
    pub(crate) is_stopped: bool,
}

impl Sender {
    /// That of receive queue `queue`, one of `queues` of `port`, in a switch of `ports` ports.
    pub(crate) fn new(queue: PortId, port: u8, ports: u8, queues: u8) -> Self {
        let kind = |to, (_, dscp), frame_bytes| {
            let frame = Udp { frame_bytes, ..Udp::routed(port, to, dscp) };
            (frame.bytes(), frame_bytes)
        };
        let mut templates = Vec::new();
        for to in 1..=ports {
            for of in MIX {
                templates.extend(LENGTHS.map(|length| kind(to, of, length)));
            }
        }
        Self {
            port,
            ports,
            flows_from: queue.index() * Self::flows(ports),
            numbers: vec![0; Self::flows(ports)],
            templates,
            rng: seeded(queue.index() as u64),
            ring: VecDeque::with_capacity(RING_FRAMES),
            next_ns: 0,
            queues,
            pauses: VecDeque::new(),
            paused_until_ns: [0; PRIORITIES],
            paused_since_ns: [0; PRIORITIES],
            paused: [Paused::default(); PRIORITIES],
            overflowed: [0; PRIORITIES],
            is_stopped: false,
        }
    }

    /// Flows of one sender: one for each port and priority.
    pub(crate) fn flows(ports: u8) -> usize {
        usize::from(ports) * PRIORITIES
    }

    /// The port, from 1, by which `flow` leaves a switch of `ports` ports.
    pub(crate) fn out_of(flow: usize, ports: u8) -> usize {
        flow % Self::flows(ports) / PRIORITIES + 1
    }

    /// Lets everything arrive that the wire has carried until `now_ns`.
    pub(crate) fn arrive(&mut self, now_ns: u64, inbox: &Inbox) {
        if inbox.has_any.swap(false, Ordering::Acquire) {
            self.pauses.extend(inbox.pauses.lock().expect("no panic").drain(..));
        }
        while self.next_ns <= now_ns {
            self.obey_due();
            if self.is_stopped {
                self.next_ns = now_ns + 1;
                return;
            }
            let (kind, (priority, _)) = self.next_kind();
            if self.is_paused(priority) {
                // The wire carries nothing until the frame that is next may go.
                self.next_ns += 100;
                continue;
            }
            self.send(kind, priority);
        }
    }

    /// Obeys the PFC frames that have taken effect when the next frame would begin.
    fn obey_due(&mut self) {
        while let Some(pause) = self.pauses.front().copied()
            && pause.left_ns + RESPONSE_NS <= self.next_ns
        {
            self.pauses.pop_front();
            let at_ns = pause.left_ns + RESPONSE_NS;
            for priority in Priority::in_bits(pause.enabled_bits) {
                self.set_paused(priority.index(), at_ns, pause.times_ns[priority.index()]);
            }
        }
    }

    fn set_paused(&mut self, p: usize, at_ns: u64, time_ns: u64) {
        let until_ns = &mut self.paused_until_ns[p];
        let (was, is) = (*until_ns > at_ns, time_ns > 0);
        *until_ns = if is { at_ns + time_ns } else { 0 };
        if is && !was {
            self.paused_since_ns[p] = at_ns;
            self.paused[p].times += 1;
        } else if was && !is {
            self.paused[p].ns += at_ns - self.paused_since_ns[p];
        }
    }

    fn is_paused(&self, priority: u8) -> bool {
        self.paused_until_ns[usize::from(priority)] > self.next_ns
    }

    /// An unpaused kind of frame, drawn at random, or a paused one if all are paused.
    fn next_kind(&mut self) -> (usize, (u8, u8)) {
        let at = self.rng.index(MIX.len());
        let unpaused = (at..at + MIX.len()).find(|at| !self.is_paused(MIX[at % MIX.len()].0));
        let kind = unpaused.unwrap_or(at) % MIX.len();
        (kind, MIX[kind])
    }

    fn send(&mut self, kind: usize, priority: u8) {
        let (to, of) = (self.rng.byte_below(self.ports), usize::from(priority));
        let length =
            if priority == LOSSY { LENGTHS.len() - 1 } else { self.rng.index(LENGTHS.len()) };
        let template = (usize::from(to) * MIX.len() + kind) * LENGTHS.len() + length;
        let bytes = self.templates[template].1 as u64 + OVERHEAD_BYTES;
        self.next_ns += bytes * 8 * u64::from(self.queues) / WIRE_GBPS;
        if self.ring.len() == RING_FRAMES {
            self.overflowed[of] += 1;
            return;
        }
        let flow = usize::from(to) * PRIORITIES + of;
        let number = self.numbers[flow];
        self.numbers[flow] += 1;
        let priority = Priority::from_low_bits(priority);
        let identity = Identity { flow: self.flows_from + flow, number, priority };
        self.ring.push_back(Descriptor { identity, template });
    }

    /// Takes the next frame out of the ring.
    pub(crate) fn receive(&mut self) -> Option<Parcel> {
        let descriptor = self.ring.pop_front()?;
        let (bytes, length) = &self.templates[descriptor.template];
        Some(Parcel::new(bytes, *length, Some(descriptor.identity)))
    }

    /// Frames in the ring.
    pub(crate) fn backlog(&self) -> usize {
        self.ring.len()
    }

    /// The port, from 1.
    pub(crate) const fn port(&self) -> u8 {
        self.port
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sender() -> Sender {
        Sender::new(PortId::FIRST, 1, 2, 2)
    }

    fn lossless_sent(sender: &Sender) -> u64 {
        let of = |flow: usize| matches!(flow % PRIORITIES, 3 | 4);
        sender.numbers.iter().enumerate().filter(|(flow, _)| of(*flow)).map(|(_, sent)| sent).sum()
    }

    #[test]
    fn a_pause_stops_lossless_frames_after_the_response_time_and_until_it_ends() {
        let (mut sender, inbox) = (sender(), Inbox::default());
        let mut times_ns = [0; PRIORITIES];
        (times_ns[3], times_ns[4]) = (50_000, 50_000);
        inbox.push(Pause { left_ns: 10_000, enabled_bits: 0b11000, times_ns });
        sender.arrive(5_000, &inbox);
        let before = lossless_sent(&sender);
        sender.arrive(18_000, &inbox);
        let stopped = lossless_sent(&sender);
        assert!(stopped > before, "it goes on for the response time");
        sender.arrive(64_000, &inbox);
        assert_eq!(lossless_sent(&sender), stopped);
        sender.arrive(90_000, &inbox);
        assert!(lossless_sent(&sender) > stopped, "the pause has ended");
    }

    #[test]
    fn frames_that_find_the_ring_full_are_counted() {
        let (mut sender, inbox) = (sender(), Inbox::default());
        sender.arrive(10_000_000, &inbox);
        assert_eq!(sender.backlog(), RING_FRAMES);
        assert!(sender.overflowed[3] > 0);
    }
}
