//! The links between the nodes of a part of the network: wires with the frames in flight, and the
//! checks and captures of every frame.
//!
//! A wire that leads from one part to another is in both: its sender's part knows whether it is
//! paused or down, its receiver's part has the frames on it.

use crate::capture::CaptureBuffer;
use crate::checker::pauses::PauseWatch;
use crate::checker::tags::TagWatch;
use crate::event::{EventKind, Picoseconds};
use crate::event_queue::EventQueue;
use crate::flow::{dscp, ttl};
use crate::frame::{Pool, SimFrame};
use crate::link::{Launch, Recorded, Wire};
use crate::recording::{PortEvent, PortEventKind, RecordedFrame, SNAP_BYTES};
use crate::trace::Trace;
use dataplane::frame::Frame;
use dataplane::ids::{PortId, Priority, Tag};
use dataplane::pipeline::classify::TagMap;
use random::Draw;
use std::sync::Arc;

/// The denominator of the share of PFC frames that a fault affects.
const MILLION: u64 = 1_000_000;
/// Bits of a PFC frame after the ethertype: opcode, vector and times.
const PFC_BITS: u64 = 160;

/// See the module's head.
#[derive(Debug)]
pub(crate) struct Links {
    /// All wires of the network, those of other parts unused.
    pub(crate) wires: Vec<Wire>,
    pub(crate) captured: CaptureBuffer,
    /// What happened at the ports of a switch that is recorded, in the order of its turns.
    pub(crate) recorded: Vec<PortEvent>,
    pub(crate) pauses: PauseWatch,
    pub(crate) watch: TagWatch,
    pub(crate) trace: Trace,
    pub(crate) tags: Arc<TagMap>,
    pub(crate) pool: Pool,
    /// Whether nodes run LLDP, so that frames may be LLDP.
    pub(crate) runs_lldp: bool,
    /// By part, the frames that were sent there and are not handed over yet.
    pub(crate) outboxes: Vec<Vec<SentFrame>>,
    /// The number of switches, which are the first nodes of the part.
    pub(crate) switches: usize,
    /// Arrivals of data frames at nodes of any kind, and at switches.
    pub(crate) data_hops: u64,
    pub(crate) switch_hops: u64,
}

/// A frame on its way to another part of the network.
#[derive(Debug)]
pub(crate) struct SentFrame {
    wire: u32,
    arrives_ps: Picoseconds,
    frame: SimFrame,
}

fn recorded_frame(frame: &SimFrame) -> RecordedFrame {
    let head = frame.head();
    RecordedFrame { head: head[..head.len().min(SNAP_BYTES)].to_vec(), frame_bytes: frame.len() }
}

fn received(at_ps: Picoseconds, port: PortId, frame: &SimFrame) -> PortEvent {
    PortEvent { at_ps, port, kind: PortEventKind::Received(recorded_frame(frame)) }
}

fn departed(at_ps: Picoseconds, port: PortId, frame: &SimFrame) -> PortEvent {
    PortEvent { at_ps, port, kind: PortEventKind::Sent(recorded_frame(frame)) }
}

impl Links {
    /// Takes the oldest frame off `wire`; returns it with the port where it arrives, or `None` if
    /// it was lost.
    #[inline(always)]
    pub(crate) fn receive(
        &mut self,
        number: u32,
        now_ps: Picoseconds,
    ) -> Option<(PortId, SimFrame)> {
        let wire = &mut self.wires[number as usize];
        if wire.lost_in_flight != 0 {
            wire.lost_in_flight -= 1;
            return None;
        }
        let mut frame = wire.pop()?;
        let to = wire.to;
        wire.arrived_bytes += frame.len() as u64;
        let is_lldp = self.runs_lldp && frame.is_lldp();
        if frame.is_control() {
            frame = self.receive_control(number, frame, now_ps)?;
        } else if !is_lldp {
            self.data_hops += 1;
            self.switch_hops += u64::from(to.node() < self.switches);
            self.watch.arrives(&mut frame, number, now_ps);
        }
        if self.captured.is_in_use() {
            let wire = &self.wires[number as usize];
            if let Some(capture) = wire.capture {
                self.captured.hold(capture, now_ps, number, &frame);
            }
            if wire.record == Some(Recorded::Arrivals) {
                self.recorded.push(received(now_ps, to.port, &frame));
            }
        }
        self.trace.arrival(now_ps, to, &frame);
        Some((to.port, frame))
    }

    /// A PFC frame arrives, perhaps changed; `None` if it is lost. It pauses the wire in the other
    /// direction.
    fn receive_control(
        &mut self,
        number: u32,
        mut frame: SimFrame,
        now_ps: Picoseconds,
    ) -> Option<SimFrame> {
        let wire = &mut self.wires[number as usize];
        if let Some(fault) = wire.pfc_fault
            && wire.rng.below(MILLION) < u64::from(fault.millionths)
        {
            if !fault.is_corruption {
                wire.lost[1] += 1;
                self.pool.give(frame);
                return None;
            }
            // After the ethertype: the frame remains a MAC control frame.
            #[expect(clippy::cast_possible_truncation, reason = "below 160")]
            let bit = wire.rng.below(PFC_BITS) as usize;
            if let Some(octet) = frame.head_mut().get_mut(14 + bit / 8) {
                *octet ^= 1 << (bit % 8);
            }
        }
        // Both wires of a link have the same speed.
        let (back, speed) = (number ^ 1, wire.speed);
        self.pauses.on_control(back, speed, &frame, now_ps);
        self.update_paused(back);
        Some(frame)
    }

    /// Copies to the wire, which every transmission reads, whether its sender is paused.
    fn update_paused(&mut self, number: u32) {
        self.wires[number as usize].is_paused = self.pauses.is_paused(number);
    }

    /// Puts a frame on its wire, and plans its arrival.
    #[inline(always)]
    pub(crate) fn launch(
        &mut self,
        launched: Launch,
        events: &mut EventQueue,
        now_ps: Picoseconds,
    ) {
        let Launch { wire: number, frame, last_bit_ps } = launched;
        if self.wires[number as usize].is_paused {
            self.check_pause(number, &frame, now_ps);
        }
        let wire = &mut self.wires[number as usize];
        let sent = SentFrame { wire: number, arrives_ps: last_bit_ps + wire.delay_ps, frame };
        if !wire.is_plain() {
            return self.launch_away(sent, events, now_ps);
        }
        self.take_over(sent, events);
    }

    /// Launches a frame on a wire that is recorded or down, or leads to another part.
    #[inline(never)]
    fn launch_away(&mut self, sent: SentFrame, events: &mut EventQueue, now_ps: Picoseconds) {
        let wire = &self.wires[sent.wire as usize];
        if let Some(Recorded::Departures(port)) = wire.record {
            self.recorded.push(departed(now_ps, port, &sent.frame));
        }
        if !wire.is_up() {
            self.lose(sent.wire as usize, sent.frame);
        } else if wire.leads_away() {
            self.outboxes[wire.part].push(sent);
        } else {
            self.take_over(sent, events);
        }
    }

    /// Whether frames wait to be handed over to other parts.
    pub(crate) fn has_sent(&self) -> bool {
        self.outboxes.iter().any(|outbox| !outbox.is_empty())
    }

    /// A frame is on its wire, perhaps from another part: plans its arrival.
    #[inline(always)]
    pub(crate) fn take_over(&mut self, sent: SentFrame, events: &mut EventQueue) {
        let SentFrame { wire: number, arrives_ps, frame } = sent;
        let wire = &mut self.wires[number as usize];
        wire.push(frame);
        events.plan(arrives_ps, wire.to.node, EventKind::Arrival(number));
    }

    /// Checks a frame that starts on a wire whose sender is paused in some class.
    #[inline(never)]
    fn check_pause(&mut self, number: u32, frame: &SimFrame, now_ps: Picoseconds) {
        if let Some(priority) = self.priority(frame) {
            self.pauses.starts(number, priority, now_ps);
            self.update_paused(number);
        }
    }

    /// The priority in which a data frame leaves its sender.
    fn priority(&self, frame: &SimFrame) -> Option<Priority> {
        if frame.is_control() || self.runs_lldp && frame.is_lldp() {
            return None;
        }
        let tag = Tag::from_low_bits(dscp(frame));
        Some(self.tags.priority_leaving(tag, ttl(frame)))
    }

    /// Counts a frame that its wire lost.
    #[cold]
    fn lose(&mut self, number: usize, frame: SimFrame) {
        let priority = self.priority(&frame);
        let wire = &mut self.wires[number];
        wire.lost[usize::from(frame.is_control())] += 1;
        if priority.is_some_and(|priority| self.pauses.lossless_bits & priority.bit() != 0) {
            wire.lossless_lost += 1;
        }
        self.pool.give(frame);
    }

    /// A wire goes down: the frames on it are lost.
    pub(crate) fn cut(&mut self, number: usize) {
        while let Some(frame) = self.wires[number].pop() {
            self.wires[number].lost_in_flight += 1;
            self.lose(number, frame);
        }
    }

    /// A wire goes down: its sender is no longer paused.
    #[expect(clippy::cast_possible_truncation, reason = "wires are counted in 32 bits")]
    pub(crate) fn unpause(&mut self, number: usize, now_ps: Picoseconds) {
        self.pauses.on_link_down(number as u32, now_ps);
        self.update_paused(number as u32);
    }
}
