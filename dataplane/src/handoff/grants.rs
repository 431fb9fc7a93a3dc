//! Transmit grants: what the owner of a port lets other workers send there by themselves.
//!
//! Where a device has a transmit queue for each worker, a worker that receives a frame can send it
//! at another worker's port without a handoff. The owner of the port grants this for each priority:
//! a priority is granted while the owner would send a frame of it at once. That is while no frame
//! of the priority is queued, no other frame has to go first, and the peer has not paused the
//! priority.
//!
//! A second number keeps the order of frames: how many bursts the owner has taken from each
//! worker's ring. A worker uses a grant only if the owner had taken all of that worker's bursts
//! *before* it gave the grant. Then no earlier frame of the worker is queued at the owner.
//!
//! Frames that wait for room on the ring use a grant as soon as there is one. If they did not, a
//! worker that once found the ring full would have to hand off every later frame.
//!
//! A worker reads the grants once a turn. Of a pause it learns within a turn, by another word
//! ([`pauses`](super::pauses)).

use crate::ids::{PortId, WorkerId};
use crate::padded_atomic::{Ordering, PaddedAtomic};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

/// The grants for one worker's ports. That worker writes them, the others read them.
#[derive(Debug)]
pub struct TxGrants {
    /// By port index: granted priorities in the low eight bits, and [`DOWN`].
    ports: Box<[PaddedAtomic]>,
    /// By worker index: bursts taken from its ring.
    taken_bursts: Box<[PaddedAtomic]>,
}

/// The port's link is down.
const DOWN: u64 = 1 << 8;

/// What another worker reads for one port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TxGrant {
    /// Priorities that the worker may send.
    pub(crate) granted_bits: u8,
    /// Whether the port's link is up.
    pub(crate) up: bool,
}

impl TxGrants {
    /// No grants, for a switch of `workers` workers and `ports` ports.
    pub(crate) fn new(workers: usize, ports: usize) -> Self {
        let lines = |count| (0..count).map(|_| PaddedAtomic::default()).collect();
        Self { ports: lines(ports), taken_bursts: lines(workers) }
    }

    /// The grant at `port` for the worker `me`, which has sent `sent_bursts` to the owner so far.
    #[inline]
    pub(crate) fn read(&self, port: PortId, me: WorkerId, sent_bursts: u64) -> TxGrant {
        // In this order: a grant does not cover bursts that came after it was given.
        let taken_bursts = self.taken_bursts[me.index()].0.load(Ordering::Acquire);
        let state = self.ports[port.index()].0.load(Ordering::Acquire);
        #[expect(clippy::cast_possible_truncation, reason = "the low eight bits are meant")]
        let granted_bits = if taken_bursts == sent_bursts { state as u8 } else { 0 };
        TxGrant { granted_bits, up: state & DOWN == 0 }
    }
}

/// The one writer of a worker's [`TxGrants`].
#[derive(Debug)]
pub(crate) struct TxGrantWriter {
    tx_grants: Arc<TxGrants>,
    /// What was written, by port index.
    ports: Vec<u64>,
    /// What was written, by worker index.
    taken_bursts: Vec<u64>,
}

impl TxGrantWriter {
    /// The writer of `tx_grants`. There must be no other.
    pub(crate) fn new(tx_grants: Arc<TxGrants>) -> Self {
        let ports = vec![0; tx_grants.ports.len()];
        let taken_bursts = vec![0; tx_grants.taken_bursts.len()];
        Self { tx_grants, ports, taken_bursts }
    }

    /// Publishes `grant`. In each turn, call this before [`Self::set_taken_bursts`].
    #[inline]
    pub(crate) fn set_grant(&mut self, port: PortId, grant: TxGrant) {
        let state = u64::from(grant.granted_bits) | if grant.up { 0 } else { DOWN };
        if core::mem::replace(&mut self.ports[port.index()], state) != state {
            self.tx_grants.ports[port.index()].0.store(state, Ordering::Release);
        }
    }

    /// Publishes how many bursts were taken from `worker`, and with it the grants set before.
    #[inline]
    pub(crate) fn set_taken_bursts(&mut self, worker: usize, bursts: u64) {
        if core::mem::replace(&mut self.taken_bursts[worker], bursts) != bursts {
            self.tx_grants.taken_bursts[worker].0.store(bursts, Ordering::Release);
        }
    }
}

#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use crate::padded_atomic::AtomicU64;

    const GRANTED: TxGrant = TxGrant { granted_bits: 1, up: true };
    const NOT_GRANTED: TxGrant = TxGrant { granted_bits: 0, up: true };

    /// The owner takes a burst, which has to wait, and withdraws the grant in the same turn. The
    /// worker that sent the burst reads no grant before the burst has left.
    #[test]
    fn no_frame_overtakes_what_its_worker_sent_before() {
        loom::model(|| {
            let tx_grants = Arc::new(TxGrants::new(2, 1));
            let mut keeper = TxGrantWriter::new(Arc::clone(&tx_grants));
            keeper.set_grant(PortId::FIRST, GRANTED);
            let left = Arc::new(AtomicU64::new(0));
            let owner = {
                let left = Arc::clone(&left);
                loom::thread::spawn(move || {
                    keeper.set_grant(PortId::FIRST, NOT_GRANTED);
                    keeper.set_taken_bursts(1, 1);
                    left.store(1, Ordering::Relaxed);
                    keeper.set_grant(PortId::FIRST, GRANTED);
                    keeper.set_taken_bursts(1, 1);
                })
            };
            let grant = tx_grants.read(PortId::FIRST, WorkerId(1), 1);
            let has_left = left.load(Ordering::Relaxed) == 1;
            assert!(grant == NOT_GRANTED || has_left, "the grant was given too early");
            owner.join().expect("the owner does not panic");
            assert_eq!(
                tx_grants.read(PortId::FIRST, WorkerId(1), 1),
                GRANTED,
                "and open in the end"
            );
            assert_eq!(
                tx_grants.read(PortId::FIRST, WorkerId(1), 2),
                NOT_GRANTED,
                "one is on its way"
            );
        });
    }
}
