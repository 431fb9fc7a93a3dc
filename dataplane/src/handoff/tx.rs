//! Handoff, transmit: which worker owns each port, and the frames and MAC events for other workers.
//!
//! A frame that finds its ring full is queued here, in order, and stays charged to its VIQ. So a
//! slow worker causes a pause upstream and loses no frame.

use crate::accounting::Accounting;
use crate::counters::Totals;
use crate::driver::Driver;
use crate::frame::Frame;
use crate::handoff::pauses::ForeignPauses;
use crate::handoff::ring::{IndexedFrames, MacEvent, RingTx, Runs};
use crate::ids::{PortId, Priority, WorkerId};
use crate::port::tx_batch::Run;
use crate::queue::veq::{FrameMeta, QueuedFrame, Veq};
use crate::rx_queues::RxQueue;
use crate::wire::mac_control::MacControl;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use arrayvec::ArrayVec;

/// The number of MAC events that may be queued for one worker. An event that does not fit is
/// dropped: that worker then floods frames to the address, which is correct but slower.
const MAC_EVENTS_MAX: usize = 1024;
/// The slot of a port of another worker.
const FOREIGN: u16 = u16::MAX;

/// The owner of each port, and the frames and MAC events that wait for handoff.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct HandoffTx<F> {
    /// The number of the switch's receive queues if this worker polls all of them; then the slot of
    /// a port is its index. Otherwise 0.
    all_ports: usize,
    /// The number of receive queues that this worker polls: those of its own ports, and further
    /// ones.
    own_ports: usize,
    /// By index of a receive queue: its slot among those of this worker, then, of a port, among the
    /// ports of other workers at which it may send; or [`FOREIGN`].
    slot_of: Vec<u16>,
    /// By index of a receive queue: the worker that polls it. Of a port: its owner.
    owner_of: Vec<WorkerId>,
    /// By worker index.
    peers: Vec<Peer<F>>,
    pauses: ForeignPauses,
}

/// The handoff to one other worker.
#[derive(Debug)]
struct Peer<F> {
    /// `None` for this worker itself.
    ring: Option<RingTx<F>>,
    /// Bursts sent so far.
    sent_bursts: u64,
    /// The burst that is being built.
    frames: IndexedFrames<F>,
    runs: Runs,
    /// Frames that found the ring full.
    waiting: Veq,
    mac_events: VecDeque<MacEvent>,
    /// MAC events put on the ring so far.
    sent_mac_events: u64,
}

impl<F: Frame> HandoffTx<F> {
    pub(crate) fn new(
        queues: &[RxQueue],
        own_queues: &[PortId],
        sent_at: &[PortId],
        rings: Vec<Option<RingTx<F>>>,
        pauses: ForeignPauses,
    ) -> Self {
        let mut slot_of = vec![FOREIGN; queues.len()];
        for (slot, port) in (0_u16..).zip(own_queues.iter().chain(sent_at)) {
            slot_of[port.index()] = slot;
        }
        let peer = |ring: Option<RingTx<F>>| Peer {
            mac_events: VecDeque::with_capacity(if ring.is_some() { MAC_EVENTS_MAX } else { 0 }),
            ring,
            sent_bursts: 0,
            frames: ArrayVec::new(),
            runs: Runs::new(),
            waiting: Veq::default(),
            sent_mac_events: 0,
        };
        Self {
            slot_of,
            own_ports: own_queues.len(),
            all_ports: if own_queues.len() == queues.len() { queues.len() } else { 0 },
            owner_of: queues.iter().map(|queue| queue.worker).collect(),
            peers: rings.into_iter().map(peer).collect(),
            pauses,
        }
    }

    /// The slot of `port` among this worker's own ports; `None` if another worker owns it.
    #[inline(always)]
    pub(crate) fn slot(&self, port: PortId) -> Option<usize> {
        if port.index() < self.all_ports {
            return Some(port.index());
        }
        slot_in(&self.slot_of, port.index()).filter(|&slot| self.is_own(slot))
    }

    /// The slot of `port` if this worker may send there now; `None` if another worker owns it and
    /// frames must be handed off, or wait to be handed off, to that worker.
    #[inline(always)]
    pub(crate) fn egress_slot(&self, port: PortId) -> Option<usize> {
        self.slot(port).or_else(|| {
            let slot = slot_in(&self.slot_of, port.index())?;
            let owner = self.owner_of[port.index()];
            self.peers[owner.index()].waiting.is_empty().then_some(slot)
        })
    }

    /// Whether this worker owns all ports, so that a port's slot is its index.
    #[inline(always)]
    pub(crate) const fn owns_all(&self) -> bool {
        self.all_ports != 0
    }

    /// Whether this worker owns the port at `slot`.
    #[inline(always)]
    pub(crate) const fn is_own(&self, slot: usize) -> bool {
        slot < self.own_ports
    }

    /// The owner of `port`, and the number of bursts sent to that worker so far.
    #[inline]
    pub(crate) fn sent_bursts(&self, port: PortId) -> (WorkerId, u64) {
        let owner = self.owner_of[port.index()];
        (owner, self.peers[owner.index()].sent_bursts)
    }

    /// Adds `run`, whose frames leave by another worker's port, to the burst that is being built.
    /// Returns the worker and the index with which each frame is then [added](Self::add). Returns
    /// `None` if the frames must be queued, because the ring is full or other frames are queued
    /// already.
    #[inline(always)]
    pub(crate) fn open(&mut self, run: Run) -> Option<(u16, u8)> {
        let owner = *self.owner_of.get(usize::from(run.meta.out))?;
        let peer = self.peers.get_mut(owner.index())?;
        // The first run of a burst needs room on the ring for the whole burst.
        if !peer.waiting.is_empty() || peer.runs.is_empty() && !peer.ring.as_mut()?.has_room() {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, reason = "a burst has 64 runs at the most")]
        let run_index = peer.runs.len() as u8;
        peer.runs.push(run);
        Some((u16::from(owner.0), run_index))
    }

    /// Adds a frame of the run with `run_index` to the burst for `worker`.
    #[inline(always)]
    pub(crate) fn add(&mut self, worker: u16, frame: F, run_index: u8) {
        if let Some(peer) = self.peers.get_mut(usize::from(worker)) {
            peer.frames.push((frame, run_index));
        }
    }

    /// Sends the bursts that were built.
    #[inline]
    pub(crate) fn send(&mut self, totals: &mut Totals) {
        for peer in self.peers.iter_mut().filter(|peer| !peer.runs.is_empty()) {
            peer.send(totals);
        }
    }

    /// Queues a frame for a port of another worker. Returns it if no worker owns the port or the
    /// frame pool is used up, which its size rules out.
    #[inline]
    pub(crate) fn push<V: Driver>(
        &mut self,
        queued: QueuedFrame<F>,
        accounting: &mut Accounting<F, V>,
    ) -> Result<(), QueuedFrame<F>> {
        let owner = self.owner_of.get(usize::from(queued.meta.out));
        match owner.and_then(|owner| self.peers.get_mut(owner.index())) {
            Some(peer) => peer.waiting.push_back(&mut accounting.frame_pool, queued),
            None => Err(queued),
        }
    }

    /// Sends `event` to every other worker.
    pub(crate) fn push_event(&mut self, event: MacEvent) {
        for peer in self.peers.iter_mut().filter(|peer| peer.ring.is_some()) {
            if peer.mac_events.len() < MAC_EVENTS_MAX {
                peer.mac_events.push_back(event);
            }
        }
    }

    /// Sends a MAC control frame, which came in by a further receive queue of `port`, to the port's
    /// owner. Unlike addresses it is never dropped for want of room: a pause must be obeyed. It
    /// goes at once, and all workers know of it before.
    #[cold]
    pub(crate) fn push_control(&mut self, port: PortId, control: MacControl) {
        let owner = self.owner_of[port.index()];
        let peer = &mut self.peers[owner.index()];
        self.pauses.received(port, &control, peer.next_mac_event());
        peer.mac_events.push_back(MacEvent::Control(port, control));
        peer.flush_mac_events();
    }

    /// Withdraws what this worker told of PFC frames that the ports' owners have processed.
    #[inline(always)]
    pub(crate) fn withdraw_pauses(&mut self) {
        if self.pauses.any {
            let (owner_of, peers) = (&self.owner_of, &self.peers);
            self.pauses
                .withdraw(|port, event| peers[owner_of[port.index()].index()].has_processed(event));
        }
    }

    /// Takes the next frame that waits for `worker`, with the slot of its port, if this worker may
    /// send it there now; `may_leave` decides that for a slot and a priority.
    pub(crate) fn pop_waiting<V: Driver>(
        &mut self,
        worker: usize,
        accounting: &mut Accounting<F, V>,
        may_leave: impl Fn(usize, Priority) -> bool,
    ) -> Option<(QueuedFrame<F>, usize)> {
        let meta = self.peers[worker].waiting.front(&accounting.frame_pool)?;
        let slot = slot_in(&self.slot_of, usize::from(meta.out))?;
        if !may_leave(slot, Priority::from_low_bits(meta.priority)) {
            return None;
        }
        let queued = self.peers[worker].waiting.pop_front(&mut accounting.frame_pool)?;
        Some((queued, slot))
    }

    /// Sends the waiting MAC events and frames, as many as the rings hold. Stops at a frame that
    /// must stay behind others queued at this worker; `has_to_stay` decides that for a slot and a
    /// priority.
    pub(crate) fn flush<V: Driver>(
        &mut self,
        accounting: &mut Accounting<F, V>,
        has_to_stay: impl Fn(usize, Priority) -> bool,
    ) {
        let slot_of = &self.slot_of;
        let may_go = |meta: FrameMeta| {
            let priority = Priority::from_low_bits(meta.priority);
            !slot_in(slot_of, usize::from(meta.out)).is_some_and(|at| has_to_stay(at, priority))
        };
        for peer in &mut self.peers {
            if peer.ring.is_none() {
                continue;
            }
            peer.flush_mac_events();
            while peer.waiting.front(&accounting.frame_pool).is_some_and(may_go)
                && peer.ring.as_mut().is_some_and(RingTx::has_room)
            {
                while !peer.frames.is_full()
                    && peer.waiting.front(&accounting.frame_pool).is_some_and(may_go)
                    && let Some(queued) = peer.waiting.pop_front(&mut accounting.frame_pool)
                {
                    peer.join(accounting.run_of_one(&queued.meta), queued);
                }
                peer.send(&mut accounting.totals);
            }
        }
    }

    /// The number of frames that wait for other workers.
    pub(crate) fn waiting_frames(&self) -> u64 {
        self.peers.iter().map(|peer| u64::from(peer.waiting.frames())).sum()
    }
}

/// The slot of the port with this index, if this worker may send there.
#[inline(always)]
fn slot_in(slot_of: &[u16], port_index: usize) -> Option<usize> {
    match slot_of.get(port_index) {
        Some(&slot) if slot != FOREIGN => Some(usize::from(slot)),
        _ => None,
    }
}

impl<F: Frame> Peer<F> {
    /// Sends the waiting MAC events, as many as the ring holds.
    fn flush_mac_events(&mut self) {
        let Some(ring) = &mut self.ring else { return };
        while let Some(&event) = self.mac_events.front() {
            if ring.mac_events.push(event).is_err() {
                return;
            }
            self.mac_events.pop_front();
            self.sent_mac_events += 1;
        }
    }

    /// The number of the next MAC event that is pushed, from 1.
    fn next_mac_event(&self) -> u64 {
        self.sent_mac_events + self.mac_events.len() as u64 + 1
    }

    /// Whether the other worker has processed MAC event number `event`.
    fn has_processed(&self, event: u64) -> bool {
        let unread = self.ring.as_ref().map_or(0, RingTx::unread_mac_events);
        self.sent_mac_events >= event + unread
    }

    fn send(&mut self, totals: &mut Totals) {
        totals.handoff_tx += self.frames.len() as u64;
        self.sent_bursts += 1;
        if let Some(ring) = &mut self.ring {
            ring.send(&mut self.frames, &mut self.runs);
        }
    }

    /// Adds a frame that has waited, with its single-frame `run`, to the burst being built.
    fn join(&mut self, run: Run, queued: QueuedFrame<F>) {
        match self.runs.last_mut() {
            Some(last) if last.meta.out == run.meta.out && last.joins(&run) => {
                last.sums.add(run.sums)
            }
            _ => self.runs.push(run),
        }
        #[expect(clippy::cast_possible_truncation, reason = "a burst has 64 runs at the most")]
        let run_index = (self.runs.len() - 1) as u8;
        self.frames.push((queued.frame, run_index));
    }
}
