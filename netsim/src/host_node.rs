//! A host of the network: a NIC that obeys PFC by class as a RoCE NIC does, flows that it sends,
//! and a receiver that checks every frame.

use crate::checker::tags::TagWatch;
use crate::event::{NEVER, PS_PER_NS, Picoseconds};
use crate::flow::{FlowCounters, FlowId, HEAD_BYTES, Mark, dscp, mark, set_ack, ttl};
use crate::frame::{Pool, SimFrame};
use crate::go_back_n::ReceiveWindow;
use crate::link::{Launch, Transmitter};
use crate::lldp_node::{self, LldpNode};
use crate::rdma::RdmaHost;
use crate::sink::{Drain, Sink};
use crate::source::Source;
use crate::switch_node::{instant, picoseconds};
use crate::timer::Timer;
use crate::topology::HostId;
use crate::tx_queue::TxQueue;
use dataplane::counters::PfcCounters;
use dataplane::frame::Frame;
use dataplane::ids::{PortId, Priority, Tag};
use dataplane::limits::{FRAME_BYTES_MIN, PRIORITIES};
use dataplane::pfc::generator::{Generator, RateCodes};
use dataplane::pfc::receiver::Receiver;
use dataplane::pipeline::classify::TagMap;
use dataplane::settings::GfcSettings;
use dataplane::time::{Instant, Speed};
use dataplane::wire::MacAddress;
use dataplane::wire::mac_control::MacControl;
use std::collections::VecDeque;
use std::sync::Arc;

/// A host's counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostCounters {
    /// Data frames sent: those of its flows, and acknowledgments.
    pub sent_frames: u64,
    /// Data frames addressed to it and taken.
    pub received_frames: u64,
    /// Frames lost because the receiver was slow, by priority.
    pub overrun_frames: [u64; PRIORITIES],
    /// Frames for other hosts.
    pub stray_frames: u64,
    /// LLDP frames put on the wire.
    pub lldp_sent_frames: u64,
    /// LLDP frames received.
    pub lldp_received_frames: u64,
    /// Flow control.
    pub pfc: Box<PfcCounters>,
}

/// A flow's ends and counters, in the network's list.
#[derive(Debug)]
pub(crate) struct FlowState {
    pub(crate) from: HostId,
    pub(crate) to: HostId,
    pub(crate) start_ps: Picoseconds,
    pub(crate) counters: FlowCounters,
    /// The number of its frames; `None` for a flow without end.
    pub(crate) frames: Option<u64>,
    /// Of a flow with a window: the receiver's state, and the head of its acknowledgments.
    pub(crate) receive_window: Option<Box<(ReceiveWindow, [u8; HEAD_BYTES])>>,
}

/// See the module's head.
#[derive(Debug)]
pub(crate) struct HostNode {
    pub(crate) timer: Timer,
    pub(crate) name: String,
    /// Without the counters of the PFC receiver and generator.
    pub(crate) counters: HostCounters,
    id: HostId,
    mac: MacAddress,
    wire: u32,
    transmitter: Transmitter,
    is_up: bool,
    pool: Pool,
    tags: Arc<TagMap>,
    lossless_bits: u8,
    receiver: Receiver,
    generator: Generator,
    sink: Option<Sink>,
    /// Whether it pauses every lossless priority, whatever it receives (a pause storm).
    storms: bool,
    tx_queue: TxQueue,
    /// The RoCE endpoint of a host that has queue pairs.
    pub(crate) rdma: Option<Box<RdmaHost>>,
    /// Whether the endpoint sends next, if it has something to send.
    is_rdma_turn: bool,
    /// The LLDP node of a host that runs LLDP.
    lldp: Option<Box<LldpNode>>,
    /// LLDP frames to be sent.
    lldp_frames: VecDeque<Vec<u8>>,
    is_dirty: bool,
}

/// The whole nanoseconds that have passed at `now_ps`.
const fn whole_nanoseconds(now_ps: Picoseconds) -> Instant {
    Instant::from_ns(now_ps / PS_PER_NS)
}

/// The parts of a host.
#[derive(Debug)]
pub(crate) struct HostParts {
    pub(crate) name: String,
    pub(crate) id: HostId,
    pub(crate) mac: MacAddress,
    pub(crate) wire: u32,
    pub(crate) speed: Speed,
    /// How rates are signaled (gentle flow control), if they are.
    pub(crate) gfc: Option<GfcSettings>,
    pub(crate) sink: Option<Sink>,
    pub(crate) sources: Vec<Source>,
    pub(crate) rdma: Option<Box<RdmaHost>>,
    pub(crate) lldp: Option<Box<LldpNode>>,
}

impl HostNode {
    /// A host that obeys and sends PFC for the priorities of `lossless_bits`.
    pub(crate) fn new(parts: HostParts, tags: Arc<TagMap>, lossless_bits: u8, pool: Pool) -> Self {
        let receiver = Receiver::new(lossless_bits, parts.speed);
        let receiver = match parts.gfc {
            Some(gfc) => receiver.gfc(gfc.form, 0),
            None => receiver,
        };
        let mut host = Self {
            timer: Timer::new(),
            name: parts.name,
            counters: HostCounters::default(),
            id: parts.id,
            mac: parts.mac,
            wire: parts.wire,
            transmitter: Transmitter::new(parts.speed),
            is_up: true,
            pool,
            tags,
            lossless_bits,
            receiver,
            generator: Generator::new(parts.speed),
            sink: parts.sink,
            storms: false,
            tx_queue: TxQueue::new(parts.sources),
            rdma: parts.rdma,
            is_rdma_turn: true,
            lldp: parts.lldp,
            lldp_frames: VecDeque::new(),
            is_dirty: true,
        };
        host.notify_link(true, 0);
        host
    }

    /// Passes the state of the link to the LLDP node, and takes its frames.
    fn notify_link(&mut self, up: bool, now_ps: Picoseconds) {
        if let Some(lldp) = &mut self.lldp {
            lldp.set_link(instant(now_ps), PortId::FIRST, up);
        }
        self.lldp_frames.clear();
        self.poll_lldp(now_ps);
    }

    /// Takes the frames of the LLDP node, if there is one.
    #[inline(always)]
    fn poll_lldp(&mut self, now_ps: Picoseconds) {
        if self.lldp.is_some() {
            self.take_lldp_actions(now_ps);
        }
    }

    #[inline(never)]
    fn take_lldp_actions(&mut self, now_ps: Picoseconds) {
        let Some(lldp) = &mut self.lldp else { return };
        lldp.handle_timeout(instant(now_ps));
        while let Some(action) = lldp.poll_action() {
            match action {
                lldp_node::Action::Send(_, frame) => self.lldp_frames.push_back(frame),
                // A host has no rules.
                lldp_node::Action::Rules(_) => {}
            }
        }
    }

    /// The counters so far; a pause counts once it has ended.
    pub(crate) fn counters(&self) -> HostCounters {
        let mut counters = self.counters.clone();
        self.receiver.count_into(&mut counters.pfc);
        self.generator.count_into(&mut counters.pfc);
        counters
    }

    /// Stops its flows; frames that are due are not sent.
    pub(crate) fn stop(&mut self) {
        self.tx_queue.stop();
        if let Some(rdma) = &mut self.rdma {
            rdma.stop();
        }
    }

    /// Limits the rate at which it takes frames, or no longer. Queued frames count as taken.
    pub(crate) fn set_drain(&mut self, drain: Option<Drain>) {
        self.sink = drain.map(|drain| Sink::new(drain, self.lossless_bits));
    }

    /// Begins or ends a pause storm.
    pub(crate) const fn set_storm(&mut self, storms: bool) {
        self.storms = storms;
    }

    /// The link went up or down: pauses in both directions are void.
    pub(crate) fn set_link(&mut self, up: bool, now_ps: Picoseconds) {
        self.is_up = up;
        let now = whole_nanoseconds(now_ps);
        self.receiver.reset(now);
        self.generator.reset(now);
        self.notify_link(up, now_ps);
    }

    /// A frame has arrived whole.
    pub(crate) fn arrive(&mut self, frame: SimFrame, now_ps: Picoseconds, flows: &mut [FlowState]) {
        if frame.is_control() {
            self.obey(&frame, now_ps);
            self.is_dirty = true;
        } else if let Some(lldp) = &mut self.lldp
            && frame.is_lldp()
        {
            self.counters.lldp_received_frames += 1;
            lldp.handle_frame(instant(now_ps), PortId::FIRST, frame.head());
            self.is_dirty = true;
        } else {
            self.is_dirty |= self.receive(&frame, now_ps, flows);
        }
        self.pool.give(frame);
    }

    /// Notes that the next turn has something to do.
    #[inline(always)]
    pub(crate) const fn mark_dirty(&mut self) {
        self.is_dirty = true;
    }

    /// Whether a turn has something to do. Most frames that arrive do not change what a host sends.
    #[inline(always)]
    pub(crate) const fn is_dirty(&self) -> bool {
        self.is_dirty
    }

    /// Obeys a control frame. A pause begins at the nanosecond after the frame's arrival and ends
    /// on a nanosecond, so that it is never too short.
    fn obey(&mut self, frame: &SimFrame, now_ps: Picoseconds) {
        let counters = &mut self.counters.pfc;
        match MacControl::parse(frame.head()) {
            MacControl::Pfc(pfc) => {
                self.receiver.expire(whole_nanoseconds(now_ps));
                self.receiver.receive(&pfc, instant(now_ps));
            }
            MacControl::Pause => counters.rx_link_pause_frames += 1,
            MacControl::Unknown => counters.rx_unknown_frames += 1,
            MacControl::Truncated => counters.rx_truncated_frames += 1,
        }
    }

    /// Receives a data frame; returns whether it may change what this host sends.
    fn receive(&mut self, frame: &SimFrame, now_ps: Picoseconds, flows: &mut [FlowState]) -> bool {
        if self.rdma.is_some() && RdmaHost::is_for_it(frame) {
            return self.receive_rdma(frame, now_ps, flows);
        }
        let Some(mark) = mark(frame) else {
            self.counters.stray_frames += 1;
            return false;
        };
        if let Some((flow, number, is_gap)) = mark.ack() {
            let is_mine = flows.get(flow as usize).is_some_and(|flow| flow.from == self.id);
            self.counters.received_frames += u64::from(is_mine);
            self.counters.stray_frames += u64::from(!is_mine);
            self.tx_queue.acknowledge(flow, number, is_gap, now_ps);
            return true;
        }
        let flow = flows.get_mut(mark.flow as usize);
        let Some(flow) = flow.filter(|flow| flow.to == self.id) else {
            self.counters.stray_frames += 1;
            return false;
        };
        let frame_bytes = u32::try_from(frame.len()).unwrap_or(u32::MAX);
        let priority = self.tags.priority_leaving(Tag::from_low_bits(dscp(frame)), ttl(frame));
        if let Some(sink) = &mut self.sink
            && !sink.arrive(frame_bytes, priority, now_ps)
        {
            self.counters.overrun_frames[priority.index()] += 1;
            return true;
        }
        self.counters.received_frames += 1;
        let is_acknowledged = flow.receive_window.is_some();
        self.take(mark, flow, u64::from(frame_bytes), now_ps);
        is_acknowledged || self.sink.is_some()
    }

    /// Receives a RoCE frame; returns whether it may change what this host sends.
    fn receive_rdma(
        &mut self,
        frame: &SimFrame,
        now_ps: Picoseconds,
        flows: &mut [FlowState],
    ) -> bool {
        let frame_bytes = u32::try_from(frame.len()).unwrap_or(u32::MAX);
        let priority = self.tags.priority_leaving(Tag::from_low_bits(dscp(frame)), ttl(frame));
        if let Some(sink) = &mut self.sink
            && !sink.arrive(frame_bytes, priority, now_ps)
        {
            self.counters.overrun_frames[priority.index()] += 1;
            return true;
        }
        let Some(rdma) = &mut self.rdma else { return false };
        let Some(received) = rdma.receive(frame, now_ps) else {
            self.counters.stray_frames += 1;
            return self.sink.is_some();
        };
        self.counters.received_frames += 1;
        if let Some(flow) = received.flow {
            let counters = &mut flows[flow.0].counters;
            counters.received_frames += 1;
            counters.received_bytes += received.bytes;
            counters.marked_frames += u64::from(received.is_marked);
            if received.is_end {
                counters.finished_ps = Some(now_ps);
            }
        }
        self.sink.is_some() || rdma.has_changed(self.receiver.paused_bits())
    }

    /// Counts a frame of `flow` that was taken, and acknowledges it.
    fn take(&mut self, mark: Mark, flow: &mut FlowState, frame_bytes: u64, now_ps: Picoseconds) {
        flow.counters.receive(mark.number);
        let taken_frames = match &mut flow.receive_window {
            None => {
                flow.counters.received_bytes += frame_bytes;
                flow.counters.received_frames
            }
            Some(receive_window) => {
                let (receive_window, head) = &mut **receive_window;
                if let Some(ack) = receive_window.receive(mark.round(), mark.count()) {
                    flow.counters.received_bytes += if ack.is_taken { frame_bytes } else { 0 };
                    set_ack(head, ack.number, ack.is_gap);
                    #[expect(clippy::cast_possible_truncation, reason = "60")]
                    let frame = self.pool.take(head, FRAME_BYTES_MIN as u16);
                    // The acknowledgment's class is that of its first tag, whichever class the
                    // frame arrived in.
                    let tag = Tag::from_low_bits(dscp(&frame));
                    let priority = self.tags.priority_leaving(tag, ttl(&frame));
                    self.tx_queue.ack(frame, priority);
                }
                receive_window.taken_frames()
            }
        };
        if flow.frames == Some(taken_frames) && flow.counters.finished_ps.is_none() {
            flow.counters.finished_ps = Some(now_ps);
        }
    }

    /// Turns the host at `now_ps`; returns when the next turn is due without an event, and the
    /// frame that it sends.
    pub(crate) fn turn(
        &mut self,
        now_ps: Picoseconds,
        flows: &mut [FlowState],
        watch: &TagWatch,
    ) -> (Picoseconds, Option<Launch>) {
        self.is_dirty = false;
        let now = whole_nanoseconds(now_ps);
        self.receiver.expire(now);
        if let Some(sink) = &mut self.sink {
            sink.take_due(now_ps);
        }
        self.poll_lldp(now_ps);
        if !self.is_up {
            return (self.sink.as_ref().map_or(NEVER, Sink::taken_at_ps), None);
        }
        let xoff_bits = self.xoff_bits();
        let mut launched = None;
        if self.transmitter.is_free(now_ps) {
            let frame = match self.generator.poll(xoff_bits, &RateCodes::NONE, now) {
                Some(pfc) => {
                    self.generator.sent(&pfc, now);
                    Some(self.pool.take(&pfc.to_frame(self.mac), 0))
                }
                None => self.next_lldp().or_else(|| self.next_frame(now_ps, flows, watch)),
            };
            launched = frame.map(|frame| Launch {
                wire: self.wire,
                last_bit_ps: self.transmitter.start(frame.len(), now_ps),
                frame,
            });
        }
        let pfc_is_due = self.generator.poll(xoff_bits, &RateCodes::NONE, now).is_some();
        (self.wants_turn_at_ps(now_ps, pfc_is_due), launched)
    }

    fn xoff_bits(&self) -> u8 {
        let full = self.sink.as_ref().map_or(0, Sink::xoff_bits);
        if self.storms { self.lossless_bits } else { full }
    }

    /// The next LLDP frame. LLDP precedes data, and no pause holds it.
    fn next_lldp(&mut self) -> Option<SimFrame> {
        let said = self.lldp_frames.pop_front()?;
        self.counters.lldp_sent_frames += 1;
        Some(self.pool.take(&said, 0))
    }

    /// The next data frame that may go.
    fn next_frame(
        &mut self,
        now_ps: Picoseconds,
        flows: &mut [FlowState],
        watch: &TagWatch,
    ) -> Option<SimFrame> {
        let now = whole_nanoseconds(now_ps);
        let held = self.receiver.paused_bits() | self.receiver.limited_bits(now);
        let (mut frame, flow, priority) = self.next_of_both(held, now_ps)?;
        let frame_bytes = u32::try_from(frame.len()).unwrap_or(u32::MAX);
        self.receiver.sent(priority, frame_bytes, now);
        if let Some(flow) = flow {
            flows[flow.0].counters.sent_frames += 1;
        }
        self.counters.sent_frames += 1;
        watch.starts(&mut frame);
        Some(frame)
    }

    /// The next frame of the endpoint or of a simple flow: of each in turn.
    fn next_of_both(
        &mut self,
        held: u8,
        now_ps: Picoseconds,
    ) -> Option<(SimFrame, Option<FlowId>, Priority)> {
        let Self { rdma, tx_queue, pool, is_rdma_turn, .. } = self;
        let Some(rdma) = rdma else { return tx_queue.next(held, pool, now_ps) };
        let is_first = std::mem::replace(is_rdma_turn, !*is_rdma_turn);
        if is_first && let Some(next) = rdma.next(held, pool, now_ps) {
            return Some(next);
        }
        let next = tx_queue.next(held, pool, now_ps);
        if next.is_some() || is_first { next } else { rdma.next(held, pool, now_ps) }
    }

    fn wants_turn_at_ps(&mut self, now_ps: Picoseconds, pfc_is_due: bool) -> Picoseconds {
        let limited = self.receiver.limited_bits(whole_nanoseconds(now_ps));
        let held = self.receiver.paused_bits() | limited;
        let free_at_ps = self.transmitter.free_at_ps().max(now_ps);
        let (mut wanted_ps, mut is_held_back) = self.tx_queue.wants_turn_at_ps(held, free_at_ps);
        if let Some(rdma) = &mut self.rdma {
            let (rdma_ps, is_rdma_held) = rdma.wants_turn_at_ps(held, free_at_ps);
            wanted_ps = wanted_ps.min(rdma_ps);
            is_held_back |= is_rdma_held;
        }
        if is_held_back {
            let free_at = self.receiver.free_at(limited);
            let resume_at = self.receiver.expires_at().min(free_at);
            wanted_ps = wanted_ps.min(picoseconds(resume_at));
        }
        let control_ps =
            if pfc_is_due { free_at_ps } else { picoseconds(self.generator.refresh_at()) };
        let taken_ps = self.sink.as_ref().map_or(NEVER, Sink::taken_at_ps);
        wanted_ps.min(control_ps).min(taken_ps).min(self.lldp_at_ps(free_at_ps))
    }

    /// When the next LLDP frame can be sent or the LLDP node has a timeout.
    fn lldp_at_ps(&self, free_at_ps: Picoseconds) -> Picoseconds {
        match &self.lldp {
            None => NEVER,
            Some(_) if !self.lldp_frames.is_empty() => free_at_ps,
            Some(lldp) => picoseconds(lldp.poll_timeout()),
        }
    }
}

#[cfg(test)]
#[path = "host_node_tests.rs"]
mod tests;
