//! A host of the network: a NIC that obeys PFC class by class as a RoCE NIC does, flows that it
//! sends, and a receiver that checks every frame.

use crate::checker::TagWatch;
use crate::event::{NEVER, PS_PER_NS, Picoseconds};
use crate::flow::{FlowTally, dscp, mark};
use crate::frame::{Pool, SimFrame};
use crate::link::{Launch, Transmitter};
use crate::sink::Sink;
use crate::source::Source;
use crate::switch_node::{instant, picoseconds};
use crate::topology::HostId;
use dataplane::classify::TagMap;
use dataplane::counters::PfcCounters;
use dataplane::frame::Frame;
use dataplane::ids::Tag;
use dataplane::limits::PRIORITIES;
use dataplane::pfc::generator::Generator;
use dataplane::pfc::receiver::Receiver;
use dataplane::time::{Instant, Speed};
use dataplane::wire::MacAddress;
use dataplane::wire::mac_control::MacControl;
use std::rc::Rc;

/// What a host counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostCounters {
    /// Frames of its flows put on the wire.
    pub sent_frames: u64,
    /// Frames of flows to it that it took.
    pub received_frames: u64,
    /// Frames lost here because the receiver was slow, by priority.
    pub overrun_frames: [u64; PRIORITIES],
    /// Frames that were not for it.
    pub stray_frames: u64,
    /// Flow control.
    pub pfc: PfcCounters,
}

/// A flow's receiver and what became of it, in the network's list.
#[derive(Debug)]
pub(crate) struct FlowState {
    pub(crate) to: HostId,
    pub(crate) tally: FlowTally,
}

/// See the module's head.
#[derive(Debug)]
pub(crate) struct HostNode {
    pub(crate) name: String,
    pub(crate) counters: HostCounters,
    id: HostId,
    mac: MacAddress,
    wire: u32,
    transmitter: Transmitter,
    pool: Pool,
    tags: Rc<TagMap>,
    receiver: Receiver,
    generator: Generator,
    sink: Option<Sink>,
    sources: Vec<Source>,
    /// Whose turn it is to send.
    next_source: usize,
}

/// The nanoseconds that are over at `now_ps`.
const fn whole_nanoseconds(now_ps: Picoseconds) -> Instant {
    Instant::from_ns(now_ps / PS_PER_NS)
}

/// What makes a host.
#[derive(Debug)]
pub(crate) struct HostParts {
    pub(crate) name: String,
    pub(crate) id: HostId,
    pub(crate) mac: MacAddress,
    pub(crate) wire: u32,
    pub(crate) speed: Speed,
    pub(crate) sink: Option<Sink>,
    pub(crate) sources: Vec<Source>,
}

impl HostNode {
    /// A host that obeys and sends PFC for the priorities of `lossless_bits`.
    pub(crate) fn new(parts: HostParts, tags: Rc<TagMap>, lossless_bits: u8, pool: Pool) -> Self {
        Self {
            name: parts.name,
            counters: HostCounters::default(),
            id: parts.id,
            mac: parts.mac,
            wire: parts.wire,
            transmitter: Transmitter::new(parts.speed),
            pool,
            tags,
            receiver: Receiver::new(lossless_bits, parts.speed),
            generator: Generator::new(parts.speed),
            sink: parts.sink,
            sources: parts.sources,
            next_source: 0,
        }
    }

    /// Sends nothing more, not even what is due.
    pub(crate) fn stop(&mut self) {
        self.sources.clear();
    }

    /// A frame has arrived whole.
    pub(crate) fn arrive(&mut self, frame: SimFrame, now_ps: Picoseconds, flows: &mut [FlowState]) {
        if frame.is_control() {
            self.obey(&frame, now_ps);
        } else {
            self.receive(&frame, now_ps, flows);
        }
        self.pool.give(frame);
    }

    /// A pause begins at the nanosecond after the frame's arrival and ends at one, so that it is
    /// never too short.
    fn obey(&mut self, frame: &SimFrame, now_ps: Picoseconds) {
        let counters = &mut self.counters.pfc;
        match MacControl::parse(frame.head()) {
            MacControl::Pfc(pfc) => {
                self.receiver.expire(whole_nanoseconds(now_ps), counters);
                self.receiver.receive(&pfc, instant(now_ps), counters);
            }
            MacControl::Pause => counters.rx_link_pause_frames += 1,
            MacControl::Unknown => counters.rx_unknown_frames += 1,
            MacControl::Truncated => counters.rx_truncated_frames += 1,
        }
    }

    fn receive(&mut self, frame: &SimFrame, now_ps: Picoseconds, flows: &mut [FlowState]) {
        let mark = mark(frame);
        let flow = mark.and_then(|mark| flows.get_mut(usize::try_from(mark.flow).ok()?));
        let (Some(mark), Some(flow)) = (mark, flow.filter(|flow| flow.to == self.id)) else {
            self.counters.stray_frames += 1;
            return;
        };
        let frame_bytes = u32::try_from(frame.len()).unwrap_or(u32::MAX);
        if let Some(sink) = &mut self.sink {
            let priority = self.tags.priority[Tag::from_low_bits(dscp(frame)).index()];
            if !sink.arrive(frame_bytes, priority, now_ps) {
                self.counters.overrun_frames[priority.index()] += 1;
                return;
            }
        }
        self.counters.received_frames += 1;
        flow.tally.receive(mark.number, u64::from(frame_bytes));
    }

    /// Does all there is to do at `now_ps`; returns when it must be turned again though nothing
    /// arrives, and the frame it puts on its wire.
    pub(crate) fn turn(
        &mut self,
        now_ps: Picoseconds,
        flows: &mut [FlowState],
        watch: &TagWatch,
    ) -> (Picoseconds, Option<Launch>) {
        let now = whole_nanoseconds(now_ps);
        self.receiver.expire(now, &mut self.counters.pfc);
        if let Some(sink) = &mut self.sink {
            sink.take_due(now_ps);
        }
        let xoff_bits = self.sink.as_ref().map_or(0, Sink::xoff_bits);
        let mut launched = None;
        if self.transmitter.is_free(now_ps) {
            let frame = match self.generator.poll(xoff_bits, now) {
                Some(pfc) => {
                    self.generator.sent(&pfc, now, &mut self.counters.pfc);
                    Some(self.pool.take(&pfc.to_frame(self.mac), 0))
                }
                None => self.next_frame(now_ps, flows, watch),
            };
            launched = frame.map(|frame| Launch {
                wire: self.wire,
                last_bit_ps: self.transmitter.start(frame.len(), now_ps),
                frame,
            });
        }
        let pfc_is_due = self.generator.poll(xoff_bits, now).is_some();
        (self.wants_turn_at_ps(now_ps, pfc_is_due), launched)
    }

    /// The next frame of the next flow that has one and may send, in turn.
    fn next_frame(
        &mut self,
        now_ps: Picoseconds,
        flows: &mut [FlowState],
        watch: &TagWatch,
    ) -> Option<SimFrame> {
        let paused = self.receiver.paused_bits();
        let count = self.sources.len();
        let may =
            |source: &Source| source.due_ps() <= now_ps && source.priority.bit() & paused == 0;
        let mut order = (self.next_source..count).chain(0..self.next_source.min(count));
        let chosen = order.find(|&at| may(&self.sources[at]))?;
        self.next_source = chosen + 1;
        let source = &mut self.sources[chosen];
        flows[source.flow.0].tally.sent_frames += 1;
        self.counters.sent_frames += 1;
        let mut frame = source.next(&self.pool);
        watch.starts(&mut frame);
        Some(frame)
    }

    fn wants_turn_at_ps(&self, now_ps: Picoseconds, pfc_is_due: bool) -> Picoseconds {
        let paused = self.receiver.paused_bits();
        let free_at_ps = self.transmitter.free_at_ps().max(now_ps);
        let (mut wanted_ps, mut is_held_back) = (NEVER, false);
        for source in &self.sources {
            if source.priority.bit() & paused == 0 {
                wanted_ps = wanted_ps.min(source.due_ps().max(free_at_ps));
            } else {
                is_held_back = true;
            }
        }
        if is_held_back {
            wanted_ps = wanted_ps.min(picoseconds(self.receiver.expires_at()));
        }
        let control_ps =
            if pfc_is_due { free_at_ps } else { picoseconds(self.generator.refresh_at()) };
        let taken_ps = self.sink.as_ref().map_or(NEVER, Sink::taken_at_ps);
        wanted_ps.min(control_ps).min(taken_ps)
    }
}

#[cfg(test)]
#[path = "host_node_tests.rs"]
mod tests;
