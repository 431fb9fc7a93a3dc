//! What the owner of a port lets other workers do with it.
//!
//! Where a device has a transmit queue for each worker, a frame that need not wait need not cross
//! to the owner either: the worker that received it sends it. The owner says when that is right. A
//! priority's *door* is open while the owner itself would let a frame of it pass: nothing of that
//! priority waits, nothing else may go first, and the peer has not paused it.
//!
//! Order is kept by one more number: how many bursts the owner has taken over from each worker. A
//! worker uses a door only when all it ever sent has been taken over *before* the door was found
//! open. Then none of its frames is left that a later one could overtake.
//!
//! What had to wait for room to cross goes through a door that opens, too: else a worker that once
//! fell behind would have to hand everything over for ever.
//!
//! A door is looked at once a turn, so a pause is heard one turn of each worker later, at most.

use crate::ids::{PortId, WorkerId};
use crate::published::{Line, Ordering};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

/// The doors of one worker's ports. That worker writes, the others read.
#[derive(Debug)]
pub struct Doors {
    /// By port index: open priorities in the low eight bits, and [`DOWN`].
    ports: Box<[Line]>,
    /// By worker index: bursts taken over from it.
    taken: Box<[Line]>,
}

/// The port's link is down.
const DOWN: u64 = 1 << 8;

/// What another worker finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Door {
    /// Priorities that may pass.
    pub(crate) open_bits: u8,
    /// Whether the port's link is up.
    pub(crate) up: bool,
}

impl Doors {
    /// Closed doors of a switch of `workers` workers and `ports` ports.
    pub(crate) fn new(workers: usize, ports: usize) -> Self {
        let lines = |count| (0..count).map(|_| Line::default()).collect();
        Self { ports: lines(ports), taken: lines(workers) }
    }

    /// The door of `port` for the worker `me`, which has sent `sent_bursts` to the owner so far.
    #[inline]
    pub(crate) fn look(&self, port: PortId, me: WorkerId, sent_bursts: u64) -> Door {
        // In this order: an open door says nothing of bursts that came after it was looked at.
        let taken = self.taken[me.index()].0.load(Ordering::Acquire);
        let state = self.ports[port.index()].0.load(Ordering::Acquire);
        #[expect(clippy::cast_possible_truncation, reason = "the low eight bits are meant")]
        let open_bits = if taken == sent_bursts { state as u8 } else { 0 };
        Door { open_bits, up: state & DOWN == 0 }
    }
}

/// The one writer of a worker's [`Doors`].
#[derive(Debug)]
pub(crate) struct Doorkeeper {
    doors: Arc<Doors>,
    /// What was written, by port and by worker.
    ports: Vec<u64>,
    taken: Vec<u64>,
}

impl Doorkeeper {
    /// The writer of `doors`, of which there must be no other.
    pub(crate) fn new(doors: Arc<Doors>) -> Self {
        let (ports, taken) = (vec![0; doors.ports.len()], vec![0; doors.taken.len()]);
        Self { doors, ports, taken }
    }

    /// Publishes `door`. A turn's doors come before its bursts.
    #[inline]
    pub(crate) fn set_door(&mut self, port: PortId, door: Door) {
        let state = u64::from(door.open_bits) | if door.up { 0 } else { DOWN };
        if core::mem::replace(&mut self.ports[port.index()], state) != state {
            self.doors.ports[port.index()].0.store(state, Ordering::Release);
        }
    }

    /// Publishes how many bursts were taken over from `worker`, and with it the doors set before.
    #[inline]
    pub(crate) fn set_taken(&mut self, worker: usize, bursts: u64) {
        if core::mem::replace(&mut self.taken[worker], bursts) != bursts {
            self.doors.taken[worker].0.store(bursts, Ordering::Release);
        }
    }
}

#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use crate::published::AtomicU64;

    const OPEN: Door = Door { open_bits: 1, up: true };
    const CLOSED: Door = Door { open_bits: 0, up: true };

    /// The owner takes a burst over, which has to wait, and closes the door in the same turn. A
    /// worker that has sent that burst never finds the door open until it has left.
    #[test]
    fn no_frame_overtakes_what_its_worker_sent_before() {
        loom::model(|| {
            let doors = Arc::new(Doors::new(2, 1));
            let mut keeper = Doorkeeper::new(Arc::clone(&doors));
            keeper.set_door(PortId::FIRST, OPEN);
            let left = Arc::new(AtomicU64::new(0));
            let owner = {
                let left = Arc::clone(&left);
                loom::thread::spawn(move || {
                    keeper.set_door(PortId::FIRST, CLOSED);
                    keeper.set_taken(1, 1);
                    left.store(1, Ordering::Relaxed);
                    keeper.set_door(PortId::FIRST, OPEN);
                    keeper.set_taken(1, 1);
                })
            };
            let door = doors.look(PortId::FIRST, WorkerId(1), 1);
            let has_left = left.load(Ordering::Relaxed) == 1;
            assert!(door == CLOSED || has_left, "the door was open too early");
            owner.join().expect("the owner does not panic");
            assert_eq!(doors.look(PortId::FIRST, WorkerId(1), 1), OPEN, "and open in the end");
            assert_eq!(doors.look(PortId::FIRST, WorkerId(1), 2), CLOSED, "one is on its way");
        });
    }
}
