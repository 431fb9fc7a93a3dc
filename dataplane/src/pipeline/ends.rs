//! Ends of a frame that goes to no queue: dropped, handed to the control thread, or consumed.
//!
//! Writes: the free burst, the punt ring. Counts: `drops`, `lossless_drops`, `punted_frames`.

use super::outcome::{Outcome, Verdict};
use super::rewrite;
use crate::control_rings::Punted;
use crate::counters::DropReason;
use crate::device::Device;
use crate::driver::Driver;
use crate::frame::Frame;
use crate::host_class::{HostClass, HostCounters};
use crate::ids::Priority;
use crate::punt::PuntReason;
use crate::worker::Core;

impl<D: Device, V: Driver> Core<D, V> {
    /// Ends a frame that is not forwarded, as its outcome says.
    pub(super) fn end(&mut self, frame: D::Frame, outcome: Outcome, slot: usize) {
        match outcome.verdict() {
            Verdict::Drop(reason) => self.drop(frame, slot, reason, outcome.marked_class()),
            Verdict::Punt(PuntReason::Unresolved) => match outcome.marked_class() {
                Some(class) if self.ports[slot].is_lossless(class) => {
                    self.await_next_hop(frame, slot, class, outcome.l3());
                }
                class => self.punt_inner(frame, slot, PuntReason::Unresolved, class, outcome.l3()),
            },
            Verdict::Punt(reason) => {
                self.punt_inner(frame, slot, reason, outcome.marked_class(), outcome.l3());
            }
            Verdict::Consume => {
                if self.accounting.is_observed() {
                    self.capture_consumed(&frame, slot);
                }
                self.accounting.totals.consumed += 1;
                self.free(frame);
            }
            Verdict::Flood | Verdict::Forward => {
                debug_assert!(false, "flooded and forwarded frames do not end here");
                self.drop(frame, slot, DropReason::NoFloodMembers, outcome.marked_class());
            }
        }
    }

    /// Drops a frame that came in at the port at `slot`, in `class` if it has one.
    #[cold]
    pub(crate) fn drop(
        &mut self,
        frame: D::Frame,
        slot: usize,
        reason: DropReason,
        class: Option<Priority>,
    ) {
        if self.accounting.is_observed() {
            self.capture_drop(&frame, slot, reason, class);
        }
        self.count_drop(slot, reason, class);
        self.free(frame);
    }

    /// Counts a drop, and a lossless drop if `class` is lossless at the port.
    pub(crate) fn count_drop(&mut self, slot: usize, reason: DropReason, class: Option<Priority>) {
        self.ports[slot].counters.count_drop(reason);
        self.accounting.totals.dropped += 1;
        self.count_loss(slot, reason, class);
    }

    /// Counts a frame of the port at `slot` that will not be delivered, if its class is lossless
    /// there.
    fn count_loss(&mut self, slot: usize, reason: DropReason, class: Option<Priority>) {
        let port = &mut self.ports[slot];
        if let Some(class) = class.filter(|&class| port.is_lossless(class)) {
            port.counters.count_lossless_drop(class, reason);
        }
    }

    /// [`Self::punt`] of a frame whose inner header is at `inner_l3` if it has left a tunnel, and
    /// else 0. The control thread gets it without the outer header: its answer is for the sender of
    /// the packet, and not for the beginning of the tunnel.
    #[cold]
    pub(crate) fn punt_inner(
        &mut self,
        mut frame: D::Frame,
        slot: usize,
        reason: PuntReason,
        class: Option<Priority>,
        inner_l3: u8,
    ) {
        rewrite::strip_outer(&mut frame, inner_l3);
        self.punt(frame, slot, reason, class);
    }

    /// Hands a frame to the control thread; drops it if the punt ring is full.
    #[cold]
    fn punt(&mut self, frame: D::Frame, slot: usize, reason: PuntReason, class: Option<Priority>) {
        let host_class = match &mut self.host_policers {
            Some(policers) => {
                let host_class = HostClass::of(reason, frame.head(), frame.len());
                let free = self.punted.slots();
                if !policers.admits(slot, host_class, free, self.accounting.now) {
                    policers.drop(slot, host_class);
                    return self.drop(frame, slot, DropReason::PuntPoliced, class);
                }
                Some(host_class)
            }
            // The control thread reads every LLDP frame, so the number for each port is limited.
            None if reason == PuntReason::Lldp
                && !self.lldp_limits[slot].take(self.accounting.now) =>
            {
                return self.drop(frame, slot, DropReason::PuntPoliced, class);
            }
            None => None,
        };
        let port = self.inputs[slot].port;
        let (drop_reason, is_lost_anyway) = loss(reason);
        let punted = Punted { frame, port, reason, class: host_class };
        match self.push_punted(punted, slot, class) {
            Ok(()) => {
                if is_lost_anyway {
                    self.count_loss(slot, drop_reason, class);
                }
            }
            Err(frame) => {
                if let Some((policers, host_class)) = self.host_policers.as_mut().zip(host_class) {
                    policers.drop(slot, host_class);
                }
                self.drop(frame, slot, drop_reason, class);
            }
        }
    }

    /// Puts a frame of `priority` into the ring to the control thread and counts it; gives it back
    /// if the ring is full.
    pub(super) fn push_punted(
        &mut self,
        punted: Punted<D::Frame>,
        slot: usize,
        priority: Option<Priority>,
    ) -> Result<(), D::Frame> {
        let class = punted.class;
        if self.accounting.is_observed() && !self.punted.is_full() {
            self.capture_punt(&punted, slot, priority);
        }
        self.punted.push(punted).map_err(|rtrb::PushError::Full(punted)| punted.frame)?;
        if let Some((policers, class)) = self.host_policers.as_mut().zip(class) {
            policers.pass(slot, class);
        }
        self.ports[slot].counters.punted_frames += 1;
        self.accounting.totals.punted += 1;
        Ok(())
    }

    /// Frames of the receive queue at `slot` for the control thread, by class.
    pub(crate) fn host_counters(&self, slot: usize) -> HostCounters {
        self.host_policers.as_ref().map(|policers| policers.counters(slot)).unwrap_or_default()
    }

    /// Puts a frame into the burst whose buffers are freed together.
    #[inline(always)]
    pub(crate) fn free(&mut self, frame: D::Frame) {
        if self.free_burst.is_full() {
            self.flush_free_burst();
        }
        self.free_burst.push(frame);
    }

    /// Frees the buffers of the free burst.
    #[inline(always)]
    pub(crate) fn flush_free_burst(&mut self) {
        if !self.free_burst.is_empty() {
            self.device.recycle(&mut self.free_burst);
        }
    }
}

/// Why a frame for the control thread is not delivered: the name of the drop if the control thread
/// cannot take it, and whether it is lost even if it is punted.
pub(super) const fn loss(reason: PuntReason) -> (DropReason, bool) {
    match reason {
        PuntReason::TtlExpired => (DropReason::TtlExpired, true),
        PuntReason::TooBig => (DropReason::TooBig, true),
        PuntReason::NoRoute => (DropReason::NoRoute, true),
        PuntReason::Unreachable => (DropReason::Unresolved, true),
        PuntReason::Unresolved | PuntReason::Resolve => (DropReason::Unresolved, false),
        PuntReason::ForUs | PuntReason::Lldp | PuntReason::Host => (DropReason::PuntFull, false),
    }
}
