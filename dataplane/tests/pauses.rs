//! A PFC frame that one worker receives stops the others in the middle of their turns: before the
//! next burst that they hand to the port's device, whichever receive queue it came in by.

use dataplane::control_rings::{ControlRings, connect};
use dataplane::device::Device;
use dataplane::driver::Polling;
use dataplane::frame::{Burst, Frame};
use dataplane::ids::{PortId, Priority};
use dataplane::rx_queues::rx_queues;
use dataplane::testing::wire::{Udp, sequence};
use dataplane::testing::{RigBuilder, TestDevice, TestFrame};
use dataplane::time::Instant;
use dataplane::wire::MacAddress;
use dataplane::wire::mac_control::Pfc;
use dataplane::worker::Worker;
use proptest::prelude::*;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

const NOW: Instant = Instant { ns: 1_000 };

fn port(number: usize) -> PortId {
    PortId::from_number(number).unwrap()
}

fn pause(quanta: u16) -> TestFrame {
    pfc(3, quanta)
}

fn pfc(priority: u8, quanta: u16) -> TestFrame {
    let pfc = Pfc::default().with(Priority::new(priority).unwrap(), quanta);
    TestFrame::new(&pfc.to_frame(MacAddress([2, 0, 0, 1, 2, 2])))
}

/// What the peer of port 2 has said and seen.
#[derive(Debug, Default)]
struct Peer {
    /// The priorities that it has paused, as of the PFC frames that a worker has in hand.
    paused_bits: Cell<u8>,
    /// The priority and the number of each frame that it was sent.
    seen: RefCell<Vec<(u8, u32)>>,
}

impl Peer {
    fn says(&self, frame: &[u8]) {
        if frame[12..14] != [0x88, 0x08] {
            return;
        }
        for priority in Priority::in_bits(frame[17]) {
            let time = &frame[18 + 2 * priority.index()..][..2];
            let bits = self.paused_bits.get() & !priority.bit();
            self.paused_bits.set(bits | if time == [0, 0] { 0 } else { priority.bit() });
        }
    }

    fn sees(&self, frame: &[u8]) {
        // DSCP 26 is priority 3, 27 is 4.
        let priority = (frame[15] >> 2) - 23;
        assert!(self.paused_bits.get() >> priority & 1 == 0, "sent after a pause of {priority}");
        self.seen.borrow_mut().push((priority, sequence(frame)));
    }
}

/// A device that has another worker take a turn just before it is polled at one queue, or as soon
/// as it has taken a burst.
struct Interrupted {
    device: TestDevice,
    at: Option<PortId>,
    after_tx: bool,
    other: Option<Rc<RefCell<Worker<Self>>>>,
    peer: Rc<Peer>,
}

impl Interrupted {
    fn interrupt(&self) {
        // If the other worker is the one that is interrupted, it goes on later.
        if let Some(other) = &self.other
            && let Ok(mut other) = other.try_borrow_mut()
        {
            other.turn(NOW);
        }
    }
}

impl Device for Interrupted {
    type Frame = TestFrame;

    fn has_tx_queue(&self, _port: PortId) -> bool {
        true
    }
    fn rx_burst(&mut self, queue: PortId, frames_max: usize, into: &mut Burst<TestFrame>) {
        if self.at.take_if(|at| *at == queue).is_some() {
            self.interrupt();
        }
        self.device.rx_burst(queue, frames_max, into);
        into.iter().for_each(|frame| self.peer.says(frame.head()));
    }
    fn tx_room_bytes(&mut self, port: PortId, now: Instant) -> u32 {
        self.device.tx_room_bytes(port, now)
    }
    fn tx_burst(&mut self, port: PortId, from: &mut Burst<TestFrame>, now: Instant) {
        let before = self.device.ports[port.index()].sent.len();
        self.device.tx_burst(port, from, now);
        let sent = &self.device.ports[port.index()].sent[before..];
        let is_data = |frame: &&TestFrame| frame.head()[12..14] != [0x88, 0x08];
        if port == PortId::from_number(2).unwrap() {
            sent.iter().filter(is_data).for_each(|frame| self.peer.sees(frame.head()));
        }
        if std::mem::take(&mut self.after_tx) {
            self.interrupt();
        }
    }
    fn make_control(&mut self, bytes: &[u8]) -> Option<TestFrame> {
        self.device.make_control(bytes)
    }
    fn copy(&mut self, frame: &TestFrame) -> Option<TestFrame> {
        self.device.copy(frame)
    }
    fn rx_backlog_frames(&mut self, port: PortId) -> Option<u32> {
        self.device.rx_backlog_frames(port)
    }
}

/// Ports 1 and 2, each with two receive queues: worker 0 owns port 1, worker 1 owns port 2.
struct Two {
    workers: Vec<Rc<RefCell<Worker<Interrupted>>>>,
    queues: usize,
    peer: Rc<Peer>,
    _control: Vec<ControlRings<TestFrame>>,
}

impl Two {
    fn new() -> Self {
        let builder = RigBuilder::routed(2).owned_by(2, 1).queue_at(1, 1).queue_at(2, 0);
        let queues = rx_queues(&builder.settings).len();
        let snapshot = Arc::new(builder.snapshot(0));
        let (rings, control) = connect(2, queues);
        let peer = Rc::new(Peer::default());
        let make = |rings| {
            let device = Interrupted {
                device: TestDevice::new(queues),
                at: None,
                after_tx: false,
                other: None,
                peer: Rc::clone(&peer),
            };
            let snapshot = Arc::clone(&snapshot);
            let worker =
                Worker::new(&builder.settings, snapshot, device, rings, Polling::default());
            Rc::new(RefCell::new(worker))
        };
        let workers: Vec<_> = rings.into_iter().map(make).collect();
        for (worker, other) in [(0, 1), (1, 0)] {
            let other = Rc::clone(&workers[other]);
            workers[worker].borrow_mut().device_mut().other = Some(other);
        }
        Self { workers, queues, peer, _control: control }
    }

    fn turn(&self, worker: usize) {
        self.workers[worker].borrow_mut().turn(NOW);
    }

    fn arrive(&self, worker: usize, queue: PortId, frame: TestFrame) {
        let mut worker = self.workers[worker].borrow_mut();
        worker.device_mut().device.ports[queue.index()].arriving.push_back(frame);
    }

    /// Frames of port 1 for the host at port 2.
    fn load(&self, worker: usize, queue: PortId, numbers: std::ops::Range<u32>) {
        self.load_class(worker, queue, 26, numbers);
    }

    fn load_class(&self, worker: usize, queue: PortId, dscp: u8, numbers: std::ops::Range<u32>) {
        for sequence in numbers {
            let frame = Udp { frame_bytes: 500, sequence, ..Udp::routed(1, 2, dscp) };
            self.arrive(worker, queue, TestFrame::new(&frame.bytes()));
        }
    }

    /// The sequence numbers of what `worker` has handed to port 2.
    fn sent(&self, worker: usize) -> Vec<u32> {
        let worker = self.workers[worker].borrow();
        worker.device().device.ports[1].sent.iter().map(|frame| sequence(frame.head())).collect()
    }

    /// Further queue `number` of a port, which is the first one after the ports.
    fn further(&self, number: usize) -> PortId {
        assert!(number < self.queues - 2);
        port(3 + number)
    }
}

/// Worker 0 sends at port 2 under a grant of worker 1, which receives the pause meanwhile.
#[test]
fn a_pause_at_the_owner_stops_the_other_worker_within_its_turn() {
    let two = Two::new();
    (0..2).for_each(|worker| two.turn(worker));
    two.load(0, port(1), 0..8);
    two.turn(0);
    assert_eq!(two.sent(0).len(), 8, "worker 0 sends at port 2 by itself");
    // Worker 0 has read the grant and received a burst when worker 1 takes its turn.
    two.arrive(1, port(2), pause(0xFFFF));
    two.load(0, port(1), 8..16);
    two.workers[0].borrow_mut().device_mut().at = Some(two.further(1));
    two.turn(0);
    assert_eq!(two.sent(0).len(), 8, "nothing is sent after the pause");
    (0..8).for_each(|turn| two.turn(turn % 2));
    assert_eq!((two.sent(0).len(), two.sent(1).len()), (8, 0));

    two.arrive(1, port(2), pause(0));
    (0..8).for_each(|turn| two.turn(turn % 2));
    let all = [two.sent(0), two.sent(1)].concat();
    assert_eq!(all, (0..16).collect::<Vec<_>>(), "resumed, in order");
}

/// The pause comes in by the further queue that worker 0 polls; worker 1 owns port 2 and sends.
#[test]
fn a_pause_at_a_further_queue_stops_the_owner_within_its_turn() {
    let two = Two::new();
    (0..2).for_each(|worker| two.turn(worker));
    two.arrive(0, two.further(1), pause(0xFFFF));
    two.load(1, two.further(0), 0..8);
    two.load(0, port(1), 100..108);
    // Worker 1 polls port 2, then its further queue of port 1. At the end of its turn it sends.
    two.arrive(1, port(2), TestFrame::new(&Udp::routed(2, 1, 0).bytes()));
    two.workers[1].borrow_mut().device_mut().at = Some(two.further(0));
    two.turn(1);
    assert_eq!((two.sent(0).len(), two.sent(1).len()), (0, 0), "neither hands over a batch");
    (0..8).for_each(|turn| two.turn(turn % 2));
    assert_eq!((two.sent(0).len(), two.sent(1).len()), (0, 0), "paused at both");

    two.arrive(0, two.further(1), pause(0));
    (0..8).for_each(|turn| two.turn(turn % 2));
    let mut all = [two.sent(0), two.sent(1)].concat();
    all.sort_unstable();
    assert_eq!(all, (0..8).chain(100..108).collect::<Vec<_>>(), "resumed");
}

#[derive(Clone, Debug)]
enum Op {
    Turn {
        worker: usize,
    },
    /// Frames at one of the two receive queues of port 1.
    Load {
        worker: usize,
        priority: u8,
        frames: u32,
    },
    Pfc {
        priority: u8,
        is_xoff: bool,
    },
    /// The worker's next turn is interrupted: before it polls one of its queues, or after a burst.
    Interrupt {
        worker: usize,
        is_at_own_port: bool,
        is_after_tx: bool,
    },
    /// Port 2 of the worker takes so many frames more, or any number.
    Takes {
        worker: usize,
        frames: Option<usize>,
    },
}

fn op() -> impl Strategy<Value = Op> {
    let (worker, priority) = (|| 0..2_usize, || 3..=4_u8);
    prop_oneof![
        4 => worker().prop_map(|worker| Op::Turn { worker }),
        4 => (worker(), priority(), 1..70_u32)
            .prop_map(|(worker, priority, frames)| Op::Load { worker, priority, frames }),
        2 => (priority(), any::<bool>())
            .prop_map(|(priority, is_xoff)| Op::Pfc { priority, is_xoff }),
        3 => (worker(), any::<bool>(), any::<bool>()).prop_map(
            |(worker, is_at_own_port, is_after_tx)| {
                Op::Interrupt { worker, is_at_own_port, is_after_tx }
            }
        ),
        1 => (worker(), prop_oneof![Just(None), (0..40_usize).prop_map(Some)])
            .prop_map(|(worker, frames)| Op::Takes { worker, frames }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Two workers interrupt each other's turns. No frame of a priority leaves by either of them
    /// between an XOFF frame that one has in hand and the next XON frame; none is lost, and each
    /// flow keeps its order.
    #[test]
    fn pauses_hold_both_workers_and_lose_and_reorder_nothing(
        ops in prop::collection::vec(op(), 1..60),
        is_at_owner in any::<bool>(),
    ) {
        let two = Two::new();
        let (pfc_worker, pfc_queue) = if is_at_owner { (1, port(2)) } else { (0, two.further(1)) };
        let load_queues = [port(1), two.further(0)];
        let mut loaded = [[0_u32; 2]; 2];
        (0..2).for_each(|worker| two.turn(worker));
        for op in ops {
            match op {
                Op::Turn { worker } => two.turn(worker),
                Op::Load { worker, priority, frames } => {
                    let count = &mut loaded[worker][usize::from(priority - 3)];
                    // The upper bits of a number say which worker received the frame.
                    let base = u32::try_from(worker << 24).unwrap() + *count;
                    two.load_class(worker, load_queues[worker], priority + 23, base..base + frames);
                    *count += frames;
                }
                Op::Pfc { priority, is_xoff } => {
                    let quanta = if is_xoff { 0xFFFF } else { 0 };
                    two.arrive(pfc_worker, pfc_queue, pfc(priority, quanta));
                }
                Op::Interrupt { worker, is_at_own_port, is_after_tx } => {
                    let own = port(worker + 1);
                    let further = two.further(1 - worker);
                    let mut interrupted = two.workers[worker].borrow_mut();
                    let device = interrupted.device_mut();
                    device.after_tx = is_after_tx;
                    device.at = Some(if is_at_own_port { own } else { further });
                }
                Op::Takes { worker, frames } => {
                    two.workers[worker].borrow_mut().device_mut().device.ports[1].takes_frames =
                        frames;
                }
            }
        }
        for priority in [3, 4] {
            two.arrive(pfc_worker, pfc_queue, pfc(priority, 0));
        }
        for worker in &two.workers {
            worker.borrow_mut().device_mut().device.ports[1].takes_frames = None;
        }
        (0..200).for_each(|turn| two.turn(turn % 2));
        let seen = two.peer.seen.borrow();
        for (worker, counts) in loaded.iter().enumerate() {
            for (priority, &count) in (3..).zip(counts) {
                let is_of = |(of, number): &&(u8, u32)| {
                    *of == priority && (number >> 24) as usize == worker
                };
                let numbers = seen.iter().filter(is_of).map(|(_, number)| number & 0xFF_FFFF);
                prop_assert_eq!(numbers.collect::<Vec<_>>(), (0..count).collect::<Vec<_>>());
            }
        }
        for worker in &two.workers {
            let totals = worker.borrow().totals();
            prop_assert_eq!((totals.imbalance(), totals.dropped, totals.held), (0, 0, 0));
        }
    }
}
