//! Capture: takes the frames that match through the stages one by one, and records what becomes of
//! them, at the ends of the pipeline. No frame comes here while no client captures.
//!
//! A frame alone has the result that it has in its burst, so a capture changes no frame and no
//! counter (`dataplane/tests/bursts.rs`).

use crate::capture::Capture;
use crate::capture::record::{Depths, Ending, Kind, Record};
use crate::control_rings::Punted;
use crate::counters::DropReason;
use crate::device::Device;
use crate::driver::Driver;
use crate::frame::{Burst, Frame};
use crate::ids::{PortId, Priority};
use crate::limits::BURST_MAX;
use crate::pipeline::arrival::Arrival;
use crate::pipeline::lanes::eight::Eight;
use crate::pipeline::lanes::{LANES, lanes_of};
use crate::pipeline::outcome::{Outcome, TagChange};
use crate::probe::Probe;
use crate::punt::PuntReason;
use crate::queue::veq::FrameMeta;
use crate::snapshot::{PortMode, Snapshot};
use crate::wire::parse::{Kind as FrameKind, parse};
use crate::wire::{be16, ethernet};
use crate::worker::Core;
use arrayvec::ArrayVec;

impl<D: Device, V: Driver> Core<D, V> {
    /// [`Self::receive`] of the burst in `self.rx` while a client captures. The arrival in the
    /// worker is counted if it `is_first`.
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
        self.rx.iter().for_each(Frame::prefetch);
        let port = self.inputs[arrival.slot].port;
        let mode = snapshot.ports.get(port.index()).map(|tables| &*tables.mode);
        let takes_fast_path = self.rx.len() > 1
            && self.ports[arrival.slot].up
            && matches!(mode, Some(PortMode::Routed { .. }));
        let bits = match self.accounting.capture.as_deref() {
            // The fast path asks, once it has read the headers: `captured_of_burst`.
            Some(capture) if takes_fast_path && capture.header_compares(port).is_some() => 0,
            Some(capture) => capture.to_follow(port, &self.rx),
            None => 0,
        };
        if bits == 0 {
            return self.receive_rest(snapshot, arrival);
        }
        let has_control = self.rx.iter().any(is_mac_control);
        self.receive_split(snapshot, arrival, bits, has_control);
    }

    /// Bit i is set if frame i of the burst in `self.rx`, whose headers the fast path has read, is
    /// to go through the stages by itself. The headers tell most frames that do not match.
    #[inline(never)]
    pub(super) fn captured_of_burst(&self, port: PortId) -> u64 {
        let Some(capture) = self.accounting.capture.as_deref() else { return 0 };
        let Some(compares) = capture.header_compares(port).filter(|_| !capture.has_in_hand())
        else {
            return 0;
        };
        let mut bits = 0;
        let lanes = Eight::lanes_with(&self.lanes.eights, compares);
        let eights = lanes.into_iter().zip(self.rx.chunks(LANES));
        for (first, (lanes, frames)) in (0..).step_by(LANES).zip(eights) {
            for lane in lanes_of(lanes) {
                let Some(frame) = frames.get(lane) else { break };
                bits |= u64::from(capture.matches(frame.head(), frame.len())) << (first + lane);
            }
        }
        bits
    }

    /// Receives the burst in `self.rx`, whose arrival is counted and of which no frame is captured.
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
    /// bits are set in `bits`: each goes through the stages by itself.
    #[inline(never)]
    pub(super) fn receive_split(
        &mut self,
        snapshot: &Snapshot,
        arrival: Arrival,
        mut bits: u64,
        has_control: bool,
    ) {
        let mut frames = core::mem::take(&mut self.rx);
        // A pause takes effect before the data frames of its burst. Few bursts have one.
        if has_control {
            (frames, bits) = mac_control_first(frames, bits);
        }
        let mut frames = frames.into_iter();
        while let Some(frame) = frames.next() {
            let is_captured = bits & 1 == 1;
            bits >>= 1;
            if is_captured {
                self.receive_rest(snapshot, arrival);
            }
            if !self.deferred[arrival.slot].is_empty() {
                return self.defer(core::iter::once(frame).chain(frames), arrival.slot);
            }
            if is_captured {
                self.receive_in_hand(snapshot, frame, arrival);
            } else {
                self.rx.push(frame);
            }
        }
        self.receive_rest(snapshot, arrival);
    }

    /// Takes a captured frame through the stages.
    fn receive_in_hand(&mut self, snapshot: &Snapshot, frame: D::Frame, arrival: Arrival) {
        let record = self.arrival_of(snapshot, &frame, arrival);
        if let Some(capture) = self.accounting.capturing() {
            capture.take_in_hand(true);
            if let Some(record) = record.filter(|_| capture.wants(Kind::In)) {
                capture.arrives(record, &frame);
            }
        }
        self.receive_other(snapshot, frame, arrival);
        let has_to_wait = !self.deferred[arrival.slot].is_empty();
        self.with_capture(|core, capture| {
            capture.has_arrived(has_to_wait, |record| {
                let out = record.out_port.zip(record.out_class);
                core.depths(arrival.slot, record.in_class, out)
            });
            capture.put_down();
        });
    }

    /// Gives the capture, if there is one, to `record` beside the rest of the core, which tells it
    /// the state of the queues.
    fn with_capture(&mut self, record: impl FnOnce(&Self, &mut Capture)) {
        if let Some(mut capture) = self.accounting.capture.take() {
            record(self, &mut capture);
            self.accounting.capture = Some(capture);
        }
    }

    /// The record of a frame's arrival; `None` if it arrived before, or is MAC
    /// control that the port obeys.
    fn arrival_of(
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
        let Some(capture) = self.accounting.capturing() else { return };
        if !capture.has_in_hand() {
            return;
        }
        let is_changed = matches!(outcome.change(), TagChange::Raised | TagChange::Demoted);
        let tags = is_changed.then(|| outcome.tags());
        capture.is_bound_for((outcome.out(), outcome.priority()), tags);
        capture.goes_on(Ending::Forwarded, None);
        capture.mark(meta);
    }

    /// The frame in hand, if any, goes on so.
    #[cold]
    pub(super) fn capture_goes_on(&mut self, ending: Ending) {
        if let Some(capture) = self.accounting.capturing() {
            capture.goes_on(ending, None);
        }
    }

    /// The frame that is dropped next was to leave by this port in this priority.
    #[cold]
    pub(super) fn capture_bound(&mut self, out: PortId, priority: Priority) {
        if let Some(capture) = self.accounting.capturing() {
            capture.set_bound((out, priority));
        }
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
        self.with_capture(|core, capture| {
            let bound = capture.take_bound();
            capture.goes_on(Ending::Dropped, Some(reason as u8));
            if capture.captures_this(Kind::Drop) {
                let record = Record {
                    cause: Some(reason as u8),
                    in_class: class,
                    out_port: bound.map(|out| out.0),
                    out_class: bound.map(|out| out.1),
                    depths: core.depths(slot, class, bound),
                    ..core.event(Kind::Drop, Ending::Dropped, slot)
                };
                capture.record(record, frame);
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
        self.with_capture(|core, capture| {
            // What waits on the packet path is not punted: only a copy of it is.
            if punted.reason != PuntReason::Resolve {
                capture.goes_on(Ending::Punted, Some(punted.reason as u8));
            }
            if capture.captures_this(Kind::Punt) {
                let record = Record {
                    cause: Some(punted.reason as u8),
                    in_class: class,
                    depths: core.depths(slot, class, None),
                    ..core.event(Kind::Punt, Ending::Punted, slot)
                };
                capture.record(record, &punted.frame);
            }
        });
    }

    /// A MAC control frame that came in at the port at `slot` is consumed.
    #[cold]
    pub(super) fn capture_consumed(&mut self, frame: &D::Frame, slot: usize) {
        self.with_capture(|core, capture| {
            capture.goes_on(Ending::Consumed, None);
            if capture.captures_this(Kind::Pause) {
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
            if capture.wants(Kind::Pause) && capture.matches(frame, frame.len()) {
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
            let is_captured = capture.matches(frame.head(), frame.len());
            capture.take_in_hand(is_captured);
        }
    }

    /// Puts down the frame of [`Self::take_in_hand`].
    #[inline]
    pub(crate) fn put_down(&mut self) {
        if let Some(capture) = self.accounting.capturing() {
            capture.put_down();
        }
    }

    /// Receives the burst in `self.rx` again: frames from the control thread, or that waited for
    /// their next hop.
    pub(crate) fn receive_again(&mut self, snapshot: &Snapshot, slot: usize) {
        let arrival = Arrival { slot, is_new: false };
        if self.accounting.is_capturing() {
            self.receive_captured(snapshot, arrival, false);
        } else {
            self.receive(snapshot, arrival);
        }
    }
}

/// The burst with its MAC control frames first, and the bits of its frames in that order.
#[cold]
fn mac_control_first<F: Frame>(burst: Burst<F>, bits: u64) -> (Burst<F>, u64) {
    let marked = (0..).zip(burst).map(|(at, frame): (u32, F)| (bits >> at & 1, frame));
    let mut frames: ArrayVec<(u64, F), BURST_MAX> = marked.collect();
    frames.sort_by_key(|(_, frame)| !is_mac_control(frame));
    let bits = (0..).zip(&frames).fold(0, |bits, (at, (bit, _)): (u32, _)| bits | bit << at);
    (frames.into_iter().map(|(_, frame)| frame).collect(), bits)
}

fn is_mac_control(frame: &impl Frame) -> bool {
    let head = frame.head();
    // Mostly it is IP, which the ethertype says.
    !matches!(be16(head, 12), Some(ethernet::IPV4 | ethernet::IPV6))
        && parse(head, frame.len()).kind == FrameKind::MacControl
}
