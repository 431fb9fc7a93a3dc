//! Capture and sampling: takes the frames that are followed through the stages one by one, and
//! records what becomes of them, at the ends of the pipeline. No frame comes here while no client
//! captures and nothing is sampled.
//!
//! A frame alone has the result that it has in its burst, so this changes no frame and no counter
//! (`dataplane/tests/bursts.rs`).

use crate::capture::Capture;
use crate::capture::in_hand::{Followers, InHand};
use crate::capture::record::{Depths, Ending, Kind, Record};
use crate::control_rings::Punted;
use crate::counters::DropReason;
use crate::device::Device;
use crate::driver::Driver;
use crate::frame::{Burst, Frame};
use crate::ids::{PortId, Priority};
use crate::limits::{BURST_MAX, BurstBits};
use crate::pipeline::arrival::Arrival;
use crate::pipeline::ends::loss;
use crate::pipeline::outcome::{Outcome, TagChange};
use crate::probe::Probe;
use crate::punt::PuntReason;
use crate::queue::veq::FrameMeta;
use crate::sampling::Sampling;
use crate::snapshot::{PortMode, Snapshot};
use crate::wire::parse::{Kind as FrameKind, parse};
use crate::wire::{be16, ethernet};
use crate::worker::Core;
use arrayvec::ArrayVec;

impl<D: Device, V: Driver> Core<D, V> {
    /// [`Self::receive`] of the burst in `self.rx` while frames are captured or sampled. The
    /// arrival in the worker is counted if it `is_first`.
    #[inline(never)]
    pub(crate) fn receive_captured(
        &mut self,
        snapshot: &Snapshot,
        arrival: Arrival,
        is_first: bool,
    ) {
        if is_first {
            self.accounting.totals.received += self.rx.len() as u64;
            self.accounting.driver.probe().received(self.rx.len());
        }
        let port = self.inputs[arrival.slot].port;
        // A frame that had to wait for room has had its chance.
        let sampling = self.accounting.sampling.as_deref_mut().filter(|_| is_first);
        let sampled = sampling.map_or(0, |sampling| sampling.arrive(port, self.rx.len()));
        let mode = snapshot.ports.get(port.index()).map(|tables| &tables.mode);
        let takes_fast_path = self.rx.len() > 1
            && self.ports[arrival.slot].up
            && matches!(mode, Some(PortMode::Routed { .. }));
        let captured = match self.accounting.capture.as_deref_mut() {
            // The fast path asks, once it has read the headers: `followed_of_burst`.
            Some(capture) if !takes_fast_path || sampled != 0 => capture.choose(port, &self.rx),
            _ => 0,
        };
        if captured | sampled == 0 {
            return self.receive_rest(snapshot, arrival);
        }
        let arrival = Arrival { is_matched: true, ..arrival };
        let has_control = self.rx.iter().any(is_mac_control);
        self.receive_split(snapshot, arrival, [captured, sampled], has_control);
    }

    /// Receives the burst in `self.rx`, whose arrival is counted and of which no frame is followed.
    fn receive_rest(&mut self, snapshot: &Snapshot, arrival: Arrival) {
        match self.rx.len() {
            0 => {}
            1 => {
                if let Some(frame) = self.rx.pop() {
                    self.receive_one(snapshot, frame, arrival);
                }
            }
            _ => self.receive_burst(snapshot, arrival),
        }
    }

    /// Splits the burst in `self.rx`, which has MAC control frames or not, around the frames whose
    /// bits are set in `bits`, of those that are captured and those that are sampled: each goes
    /// through the stages by itself.
    #[inline(never)]
    pub(super) fn receive_split(
        &mut self,
        snapshot: &Snapshot,
        arrival: Arrival,
        mut bits: [BurstBits; 2],
        has_control: bool,
    ) {
        let mut frames = core::mem::take(&mut self.rx);
        // A pause takes effect before the data frames of its burst. Few bursts have one.
        if has_control {
            (frames, bits) = mac_control_first(frames, bits);
        }
        let mut frames = frames.into_iter();
        while frames.len() > 0 {
            if !self.deferred[arrival.slot].is_empty() {
                return self.defer_followed(frames.collect(), bits[1], arrival.slot);
            }
            let before = (bits[0] | bits[1]).trailing_zeros();
            if before > 0 {
                self.rx.extend(frames.by_ref().take(before as usize));
                bits = bits.map(|bits| bits.unbounded_shr(before));
                self.receive_rest(snapshot, arrival);
                continue;
            }
            let Some(frame) = frames.next() else { break };
            let followers = Followers { capture: bits[0] & 1 == 1, sampling: bits[1] & 1 == 1 };
            bits = bits.map(|bits| bits >> 1);
            self.receive_in_hand(snapshot, frame, arrival, followers);
        }
    }

    /// Defers `frames`, the rest of a burst. Those whose bits are set in `sampled` are sampled now:
    /// they are not chosen again.
    #[cold]
    fn defer_followed(&mut self, frames: Burst<D::Frame>, sampled: BurstBits, slot: usize) {
        let chosen = (0_u32..).zip(&frames).filter(|(at, _)| sampled >> at & 1 == 1);
        for (_, frame) in chosen {
            self.with_sampling(|core, sampling| {
                sampling.take(core.event(Kind::In, Ending::Unknown, slot), frame);
            });
        }
        self.defer(frames.into_iter(), slot);
    }

    /// Takes a frame that is followed through the stages.
    fn receive_in_hand(
        &mut self,
        snapshot: &Snapshot,
        frame: D::Frame,
        arrival: Arrival,
        followers: Followers,
    ) {
        let record = self.arrival_of(snapshot, &frame, arrival);
        self.accounting.in_hand = InHand::new(followers);
        if let Some(capture) = self.accounting.capturing()
            && let Some(record) = record.filter(|_| followers.capture && capture.wants(Kind::In))
        {
            capture.arrives(0, record, &frame);
        }
        if followers.sampling {
            self.with_sampling(|core, sampling| {
                let event = || core.event(Kind::In, Ending::Unknown, arrival.slot);
                sampling.hold(record.unwrap_or_else(event), &frame);
            });
        }
        self.receive_other(snapshot, frame, arrival);
        let has_to_wait = !self.deferred[arrival.slot].is_empty();
        let in_hand = core::mem::take(&mut self.accounting.in_hand);
        if let Some(capture) = self.accounting.capturing() {
            if has_to_wait {
                capture.forget_arrivals();
            }
            capture.has_ended(0, in_hand);
        }
        self.record_arrivals(arrival.slot);
        self.with_sampling(|_, sampling| sampling.release(&in_hand));
    }

    /// Records what became of the frames that arrived at the port at `slot`.
    pub(super) fn record_arrivals(&mut self, slot: usize) {
        self.with_capture(|core, capture| {
            capture.have_arrived(|record| {
                let out = record.out_port.zip(record.out_class);
                core.depths(slot, record.in_class, out)
            });
        });
    }

    /// Gives the capture, if there is one, to `record` beside the rest of the core, which tells it
    /// the state of the queues.
    pub(super) fn with_capture(&mut self, record: impl FnOnce(&Self, &mut Capture)) {
        if let Some(mut capture) = self.accounting.capture.take() {
            record(self, &mut capture);
            self.accounting.capture = Some(capture);
        }
    }

    /// The same of the sampling.
    fn with_sampling(&mut self, record: impl FnOnce(&Self, &mut Sampling)) {
        if let Some(mut sampling) = self.accounting.sampling.take() {
            record(self, &mut sampling);
            self.accounting.sampling = Some(sampling);
        }
    }

    /// The record of a frame's arrival; `None` if it arrived before, or is MAC
    /// control that the port obeys.
    pub(super) fn arrival_of(
        &self,
        snapshot: &Snapshot,
        frame: &D::Frame,
        arrival: Arrival,
    ) -> Option<Record> {
        let parsed = parse(frame.head(), frame.len());
        let is_obeyed = parsed.kind == FrameKind::MacControl && self.ports[arrival.slot].up;
        if !arrival.is_new || is_obeyed {
            return None;
        }
        let port = self.inputs[arrival.slot].port;
        let class = snapshot.ports.get(port.index()).map(|tables| tables.classifier.of(&parsed));
        Some(Record {
            in_class: class.map(|class| class.priority()),
            in_tag: class.map(|class| class.tag()),
            ..self.event(Kind::In, Ending::Unknown, arrival.slot)
        })
    }

    /// An event at the port at `slot`, where a frame came in, as of now.
    fn event(&self, kind: Kind, ending: Ending, slot: usize) -> Record {
        let port = self.inputs.get(slot).map_or(self.ports[slot].id, |input| input.port);
        let at_ns = self.accounting.now.ns;
        Record { at_ns, in_port: Some(port), ..Record::new(kind, ending, port) }
    }

    /// The state of the queues of a frame that came in at the port at `slot` in `class`, and that
    /// leaves by `out`.
    fn depths(
        &self,
        slot: usize,
        class: Option<Priority>,
        out: Option<(PortId, Priority)>,
    ) -> Depths {
        let port = &self.ports[slot];
        let mut depths =
            Depths { tx_paused_bits: port.generator.xoff_sent_bits(), ..Depths::default() };
        if let Some(class) = class {
            let viq = self.accounting.buffer.viq_of(port.id, class);
            (depths.viq_bytes, depths.headroom_bytes) = (viq.bytes(), viq.headroom_used_bytes());
        }
        if let Some((out, priority)) = out
            && let Some(out_slot) = self.handoff_tx.slot(out)
        {
            self.ports[out_slot].add_egress_depths(priority, &mut depths);
        }
        depths
    }

    /// The frame in hand is to be forwarded.
    #[cold]
    pub(super) fn capture_forward(&mut self, outcome: Outcome, meta: &mut FrameMeta) {
        let in_hand = &mut self.accounting.in_hand;
        if !in_hand.followers.any() {
            return;
        }
        is_forwarded(in_hand, outcome);
        if in_hand.followers.capture
            && let Some(capture) = self.accounting.capturing()
        {
            meta.set_mark(capture.own_mark());
        }
    }

    /// The frame in hand, if any, goes on so.
    #[cold]
    pub(super) fn capture_goes_on(&mut self, ending: Ending) {
        self.accounting.in_hand.goes_on(ending, None);
    }

    /// The frame that is dropped next was to leave by this port in this priority.
    #[cold]
    pub(super) fn capture_bound(&mut self, out: PortId, priority: Priority) {
        self.accounting.in_hand.set_bound((out, priority));
    }

    /// A frame that came in at the port at `slot`, in `class`, is dropped.
    #[cold]
    pub(super) fn capture_drop(
        &mut self,
        frame: &D::Frame,
        slot: usize,
        reason: DropReason,
        class: Option<Priority>,
    ) {
        let cause = Some(reason as u8);
        let bound = self.accounting.in_hand.take_bound();
        self.accounting.in_hand.goes_on(Ending::Dropped, cause);
        let record = |core: &Self| Record {
            cause,
            in_class: class,
            out_port: bound.map(|out| out.0),
            out_class: bound.map(|out| out.1),
            depths: core.depths(slot, class, bound),
            ..core.event(Kind::Drop, Ending::Dropped, slot)
        };
        self.with_capture(|core, capture| {
            if capture.captures_this(Kind::Drop, &core.accounting.in_hand) {
                capture.record(record(core), frame);
            }
        });
        self.with_sampling(|core, sampling| {
            if sampling.reports(core.accounting.now) {
                sampling.report(record(core), frame);
            }
        });
    }

    /// The control thread gets a frame, of `class`, that came in at the port at `slot`.
    #[cold]
    pub(super) fn capture_punt(
        &mut self,
        punted: &Punted<D::Frame>,
        slot: usize,
        class: Option<Priority>,
    ) {
        let cause = Some(punted.reason as u8);
        // What waits on the packet path is not punted: only a copy of it is.
        if punted.reason != PuntReason::Resolve {
            self.accounting.in_hand.goes_on(Ending::Punted, cause);
        }
        let record = |core: &Self| Record {
            cause,
            in_class: class,
            depths: core.depths(slot, class, None),
            ..core.event(Kind::Punt, Ending::Punted, slot)
        };
        self.with_capture(|core, capture| {
            if capture.captures_this(Kind::Punt, &core.accounting.in_hand) {
                capture.record(record(core), &punted.frame);
            }
        });
        // Its receiver will lack it, though its sender is told.
        if loss(punted.reason).1 {
            self.with_sampling(|core, sampling| {
                if sampling.reports(core.accounting.now) {
                    sampling.report(record(core), &punted.frame);
                }
            });
        }
    }

    /// A MAC control frame that came in at the port at `slot` is consumed.
    #[cold]
    pub(super) fn capture_consumed(&mut self, frame: &D::Frame, slot: usize) {
        self.accounting.in_hand.goes_on(Ending::Consumed, None);
        self.with_capture(|core, capture| {
            if capture.captures_this(Kind::Pause, &core.accounting.in_hand) {
                let mut record = core.event(Kind::Pause, Ending::Consumed, slot);
                // The port's owner obeys it.
                if let Some(own) = core.handoff_tx.slot(record.port) {
                    record.depths = core.depths(own, None, None);
                    record.depths.rx_paused_bits = core.ports[own].receiver.paused_bits();
                }
                capture.record(record, frame);
            }
        });
    }

    /// The port at `slot` has sent a PFC frame.
    #[cold]
    pub(crate) fn capture_pfc_tx(&mut self, slot: usize, frame: &[u8]) {
        self.with_capture(|core, capture| {
            if capture.wants(Kind::Pause) && capture.takes(frame, frame.len()) {
                let mut depths = core.depths(slot, None, None);
                depths.rx_paused_bits = core.ports[slot].receiver.paused_bits();
                let event = core.event(Kind::Pause, Ending::Sent, slot);
                let out_port = Some(event.port);
                let record = Record { is_outbound: true, in_port: None, out_port, depths, ..event };
                capture.record_bytes(record, frame, frame.len());
            }
        });
    }

    /// Takes up a frame that does not enter the pipeline, if a client captures.
    #[inline]
    pub(crate) fn take_in_hand(&mut self, frame: &D::Frame) {
        if let Some(capture) = self.accounting.capturing() {
            let capture = capture.takes(frame.head(), frame.len());
            self.accounting.in_hand = InHand::new(Followers { capture, sampling: false });
        }
    }

    /// Puts down the frame of [`Self::take_in_hand`].
    #[inline]
    pub(crate) fn put_down(&mut self) {
        if self.accounting.is_capturing() {
            self.accounting.in_hand = InHand::default();
        }
    }

    /// Receives the burst in `self.rx` again: frames from the control thread, or that waited for
    /// their next hop.
    pub(crate) fn receive_again(&mut self, snapshot: &Snapshot, slot: usize) {
        let arrival = Arrival { slot, is_new: false, is_matched: false };
        if self.accounting.is_observed() {
            self.receive_captured(snapshot, arrival, false);
        } else {
            self.receive(snapshot, arrival);
        }
    }
}

/// The frame in hand is to be forwarded with this outcome.
pub(super) fn is_forwarded(in_hand: &mut InHand, outcome: Outcome) {
    let is_changed = matches!(outcome.change(), TagChange::Raised | TagChange::Demoted);
    let tags = is_changed.then(|| outcome.tags());
    in_hand.is_bound_for((outcome.out(), outcome.priority()), tags);
    in_hand.goes_on(Ending::Forwarded, None);
}

/// The burst with its MAC control frames first, and the bits of its frames in that order.
#[cold]
fn mac_control_first<F: Frame>(
    burst: Burst<F>,
    bits: [BurstBits; 2],
) -> (Burst<F>, [BurstBits; 2]) {
    let marked = (0..).zip(burst).map(|(at, frame): (u32, F)| (bits.map(|it| it >> at & 1), frame));
    let mut frames: ArrayVec<([BurstBits; 2], F), BURST_MAX> = marked.collect();
    frames.sort_by_key(|(_, frame)| !is_mac_control(frame));
    let mut sorted = [0; 2];
    for (at, (bits, _)) in (0_u32..).zip(&frames) {
        sorted = [sorted[0] | bits[0] << at, sorted[1] | bits[1] << at];
    }
    (frames.into_iter().map(|(_, frame)| frame).collect(), sorted)
}

fn is_mac_control(frame: &impl Frame) -> bool {
    let head = frame.head();
    // Mostly it is IP, which the ethertype says.
    !matches!(be16(head, 12), Some(ethernet::IPV4 | ethernet::IPV6))
        && parse(head, frame.len()).kind == FrameKind::MacControl
}
