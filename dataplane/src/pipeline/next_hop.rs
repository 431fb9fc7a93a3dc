//! Lossless frames whose next hop is not resolved: they wait, enter the pipeline again, or end.
//!
//! Counts: `copied_frames`, `punted_frames`. Drop reasons: `headroom_overrun`, `unresolved`.

use crate::buffer::ViqId;
use crate::capture::record::Ending;
use crate::control_rings::Punted;
use crate::counters::DropReason;
use crate::device::Device;
use crate::driver::Driver;
use crate::frame::{Frame, length_bytes};
use crate::host_class::HostClass;
use crate::ids::{PortId, Priority};
use crate::pipeline::rewrite;
use crate::punt::PuntReason;
use crate::queue::veq::{FrameMeta, QueuedFrame, low_32_bits};
use crate::snapshot::Snapshot;
use crate::time::Instant;
use crate::unresolved::{Destination, GIVEN_UP_NS, WAIT_NS_MAX};
use crate::wire::array_at;
use crate::wire::parse::{Kind, parse};
use crate::worker::Core;

/// Interval between requests to the control thread for the same destination.
const ASK_EVERY_NS: u64 = 1_000_000_000;

impl<D: Device, V: Driver> Core<D, V> {
    /// Queues a lossless frame of `class`, which the port at `slot` received, until its next hop
    /// is resolved. The frame's inner header is at `inner_l3` if it has left a tunnel, and else 0.
    #[cold]
    pub(crate) fn await_next_hop(
        &mut self,
        frame: D::Frame,
        slot: usize,
        class: Priority,
        inner_l3: u8,
    ) {
        let address = destination(&frame, inner_l3);
        let known = self.unresolved.find(address, self.accounting.now).copied();
        if known.is_some_and(|known| known.is_given_up) {
            return self.punt_inner(frame, slot, PuntReason::Unreachable, Some(class), inner_l3);
        }
        let viq = ViqId::new(self.ports[slot].id, class);
        let cost_bytes = self.accounting.buffer.cost_bytes(u32::from(length_bytes(&frame)));
        if self.accounting.buffer.admit(viq, cost_bytes).is_err() {
            return self.drop(frame, slot, DropReason::HeadroomOverrun, Some(class));
        }
        self.mark_headroom(viq, slot);
        if self.accounting.is_observed() {
            self.capture_goes_on(Ending::Waits);
        }
        if known.is_none() && self.ask_for(&frame, slot, class, inner_l3) {
            let until = self.accounting.now + ASK_EVERY_NS;
            self.unresolved.remember(Destination { address, until, is_given_up: false });
        }
        let arrived_ns =
            self.unresolved.arrived_ns.unwrap_or_else(|| low_32_bits(self.accounting.now));
        let bytes = length_bytes(&frame);
        let meta = FrameMeta { viq, bytes, arrived_ns, l3: inner_l3, ..FrameMeta::NONE };
        if let Err(queued) = self
            .unresolved
            .frames
            .push_back(&mut self.accounting.frame_pool, QueuedFrame { frame, meta })
        {
            self.accounting.release(&queued.meta);
            self.drop(queued.frame, slot, DropReason::Unresolved, Some(class));
        }
        self.set_unresolved_until();
    }

    /// Punts a copy of `frame`, so that the control thread resolves its next hop. Returns whether
    /// the copy was queued.
    fn ask_for(&mut self, frame: &D::Frame, slot: usize, priority: Priority, inner_l3: u8) -> bool {
        let Some(mut frame) = self.device.copy(frame) else { return false };
        rewrite::strip_outer(&mut frame, inner_l3);
        let (port, reason) = (self.inputs[slot].port, PuntReason::Resolve);
        let class = self.host_policers.is_some().then_some(HostClass::Exception);
        match self.push_punted(Punted { frame, port, reason, class }, slot, Some(priority)) {
            Ok(()) => {
                self.accounting.totals.copied += 1;
                self.ports[slot].counters.copied_frames += 1;
                true
            }
            Err(frame) => {
                self.free(frame);
                false
            }
        }
    }

    /// Passes every waiting frame through the pipeline again, in order, after the tables changed.
    pub(crate) fn receive_unresolved(&mut self, snapshot: &Snapshot) {
        for _ in 0..self.unresolved.len() {
            let Some((frame, slot, meta)) = self.take_unresolved() else { break };
            self.unresolved.arrived_ns = Some(meta.arrived_ns);
            self.rx.push(frame);
            self.receive_again(snapshot, slot);
        }
        self.unresolved.arrived_ns = None;
        self.set_unresolved_until();
    }

    /// Punts the frames that have waited for [`WAIT_NS_MAX`] as unreachable. Returns whether there
    /// were any.
    #[cold]
    pub(crate) fn give_up_unresolved(&mut self) -> bool {
        let mut any = false;
        while self
            .unresolved
            .age_ns(&self.accounting.frame_pool, self.accounting.now)
            .is_some_and(|age| age >= WAIT_NS_MAX)
        {
            let Some((frame, slot, meta)) = self.take_unresolved() else { break };
            any = true;
            let address = destination(&frame, meta.l3);
            let until = self.accounting.now + GIVEN_UP_NS;
            self.unresolved.remember(Destination { address, until, is_given_up: true });
            let class = Some(meta.viq.priority());
            self.take_in_hand(&frame);
            self.punt_inner(frame, slot, PuntReason::Unreachable, class, meta.l3);
            self.put_down();
        }
        self.flush_free_burst();
        self.set_unresolved_until();
        any
    }

    /// Removes the first waiting frame from the queue and releases its charge to its VIQ.
    fn take_unresolved(&mut self) -> Option<(D::Frame, usize, FrameMeta)> {
        let QueuedFrame { frame, meta } =
            self.unresolved.frames.pop_front(&mut self.accounting.frame_pool)?;
        self.accounting.release(&meta);
        let slot = self.handoff_tx.slot(PortId::from_index(meta.viq.port_index())?);
        debug_assert!(slot.is_some(), "frames wait at the worker that received them");
        Some((frame, slot?, meta))
    }

    fn set_unresolved_until(&mut self) {
        let age_ns = self.unresolved.age_ns(&self.accounting.frame_pool, self.accounting.now);
        let left_ns = age_ns.map(|age| u64::from(WAIT_NS_MAX.saturating_sub(age)));
        self.unresolved_until = left_ns.map_or(Instant::NEVER, |left| self.accounting.now + left);
    }
}

/// The destination address of an IP frame, whose inner header is at `inner_l3` if that is not 0;
/// IPv4 in the low bits.
fn destination<F: Frame>(frame: &F, inner_l3: u8) -> u128 {
    let head = frame.head();
    let (kind, l3) = if inner_l3 == 0 {
        let parsed = parse(head, frame.len());
        (parsed.kind, usize::from(parsed.l3))
    } else {
        let l3 = usize::from(inner_l3);
        let is_v6 = head.get(l3).is_some_and(|octet| octet >> 4 == 6);
        (if is_v6 { Kind::Ipv6 } else { Kind::Ipv4 }, l3)
    };
    let found = match kind {
        Kind::Ipv4 => array_at(head, l3 + 16).map(|&it| u32::from_be_bytes(it).into()),
        Kind::Ipv6 => array_at(head, l3 + 24).map(|&it| u128::from_be_bytes(it)),
        _ => None,
    };
    found.unwrap_or_default()
}
