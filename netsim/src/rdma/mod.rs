//! A host's RoCE: the endpoint that also runs on real ports, with the queue pairs of its flows and
//! of its ranks in collectives.
//!
//! `plan` builds and connects them, `collective` and `rank` say what ranks send, `paths` how long
//! paths are.

pub(crate) mod collective;
pub(crate) mod paths;
pub(crate) mod plan;
pub(crate) mod rank;

use crate::event::{NEVER, Picoseconds};
use crate::flow::FlowId;
use crate::frame::{Pool, SimFrame, WRITTEN_BYTES};
use dataplane::frame::Frame;
use dataplane::ids::Priority;
use dataplane::wire::telemetry;
use hdrhistogram::Histogram;
use rank::{Message, Rank};
use roce::memory::{NoMemory, RegionId};
use roce::wire::{Kind, Packet};
use roce::work::{
    Completion, Done, Operation, Place, QueuePairId, ReceiveRequest, Status, WorkRequest,
};
use roce::{Counters, Departure, Endpoint, Head};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::Ipv4Addr;

/// A long flow is sent in messages of this length, and one without end keeps two of them posted.
const MESSAGE_BYTES: u64 = 1 << 26;
/// Receive buffers that are posted at a time; each that is filled is replaced at once.
const BUFFERS: usize = 8;
/// Where the addresses stand in a frame.
const SOURCE: usize = 26;
const DESTINATION: usize = 30;
/// Where the UDP port stands.
const UDP_DESTINATION: usize = 36;
/// Where the default partition stands, which no simple flow with a number below 65,535 has there.
const PARTITION: usize = 44;

/// What a queue pair is for.
#[derive(Debug)]
enum Use {
    Sender {
        flow: FlowId,
        /// Bytes that are not posted; `None` for a flow without end.
        left_bytes: Option<u64>,
    },
    Receiver {
        flow: FlowId,
        /// Messages that are still to come; `None` without end.
        left_messages: Option<u64>,
    },
    /// A slot of a rank.
    Slot { rank: usize, slot: u32, ideal: Ideal },
}

/// What a message takes on an idle path.
#[derive(Clone, Copy, Debug)]
struct Ideal {
    round_trip_ps: Picoseconds,
    speed_bps: u64,
}

/// A queue pair.
#[derive(Debug)]
struct Pair {
    purpose: Use,
    /// The address that packets to it have, and that of its peer.
    address: Ipv4Addr,
    peer: Ipv4Addr,
}

/// Something to be posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// What a sender has to send.
    Flow { queue_pair: u32 },
    /// The first messages of a rank.
    Rank { rank: usize },
    /// A message of a rank.
    Message { queue_pair: u32, bytes: u64 },
}

/// What a frame that was received came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Received {
    /// Whose data it carried.
    pub(crate) flow: Option<FlowId>,
    /// Bytes of the flow that were taken in order.
    pub(crate) bytes: u64,
    /// Whether a switch has marked it.
    pub(crate) is_marked: bool,
    /// Whether the flow has ended with it.
    pub(crate) is_end: bool,
}

/// See the module's head.
#[derive(Debug)]
pub(crate) struct RdmaHost {
    endpoint: Endpoint,
    pairs: Vec<Pair>,
    pub(crate) ranks: Vec<Rank>,
    due: BinaryHeap<Reverse<(Picoseconds, u64, Due)>>,
    /// Orders what is due at one instant.
    number: u64,
    messages: Vec<Message>,
    /// When the last turn said that there would be something to do.
    planned_ps: Picoseconds,
    has_stopped: bool,
    /// Slowdowns of the messages of collectives, in thousandths.
    pub(crate) slowdowns: Histogram<u32>,
    /// Requests that ended with an error.
    pub(crate) failures: u64,
}

/// The only region: nobody reads its bytes.
const MEMORY: Place = Place { region: RegionId(0), offset: 0 };

impl RdmaHost {
    /// What the endpoint has counted.
    pub(crate) const fn counters(&self) -> &Counters {
        self.endpoint.counters()
    }

    /// Sends nothing any more, neither data nor answers.
    pub(crate) fn stop(&mut self) {
        self.has_stopped = true;
        self.due.clear();
    }

    /// Whether a frame may be RoCE's.
    #[inline(always)]
    pub(crate) fn is_for_it(frame: &SimFrame) -> bool {
        let two = |at: usize| frame.head().get(at..at + 2);
        two(PARTITION) == Some(&[0xFF, 0xFF])
            || two(UDP_DESTINATION) == Some(&telemetry::UDP_PORT.to_be_bytes())
    }

    /// A frame has arrived; `None` if it is for another host.
    pub(crate) fn receive(&mut self, frame: &SimFrame, now_ps: Picoseconds) -> Option<Received> {
        let head = frame.head();
        let packet = Packet::parse(head, frame.len(), false).ok()?;
        let index = packet.queue_pair().checked_sub(plan::FIRST_QUEUE_PAIR)?;
        let pair = self.pairs.get(index as usize)?;
        let is_at = |at: usize, address: Ipv4Addr| head.get(at..at + 4) == Some(&address.octets());
        if !is_at(DESTINATION, pair.address) || !is_at(SOURCE, pair.peer) {
            return None;
        }
        let mut received = Received { is_marked: packet.is_ce(), ..Received::default() };
        let before = self.endpoint.counters().received_bytes;
        self.endpoint.receive_packet(now_ps, &packet, None, &mut NoMemory);
        if let (Use::Receiver { flow, .. }, Kind::Send) = (&pair.purpose, packet.kind()) {
            received.flow = Some(*flow);
            received.bytes = self.endpoint.counters().received_bytes - before;
        }
        received.is_end = self.take_completions(now_ps);
        Some(received)
    }

    /// Whether the host should be turned: what the last turn planned has changed.
    #[inline(always)]
    pub(crate) fn has_changed(&self, paused: u8) -> bool {
        self.next_ps(paused) != self.planned_ps
    }

    fn next_ps(&self, paused: u8) -> Picoseconds {
        if self.has_stopped {
            return NEVER;
        }
        let due_ps = self.due.peek().map_or(NEVER, |Reverse((at_ps, ..))| *at_ps);
        due_ps.min(self.endpoint.wants_turn_at_ps(paused))
    }

    /// When it has something to do next on a wire that is free at `free_at_ps`, and whether a pause
    /// holds something back.
    pub(crate) fn wants_turn_at_ps(
        &mut self,
        paused: u8,
        free_at_ps: Picoseconds,
    ) -> (Picoseconds, bool) {
        self.planned_ps = self.next_ps(paused);
        let is_held_back = paused != 0 && self.next_ps(0) < self.planned_ps;
        (self.planned_ps.max(free_at_ps), is_held_back)
    }

    /// The next frame that is due and not of a priority in `paused`, with its flow, if it carries
    /// data of one, and its priority.
    pub(crate) fn next(
        &mut self,
        paused: u8,
        pool: &Pool,
        now_ps: Picoseconds,
    ) -> Option<(SimFrame, Option<FlowId>, Priority)> {
        if self.has_stopped {
            return None;
        }
        while let Some(&Reverse((at_ps, _, due))) = self.due.peek()
            && at_ps <= now_ps
        {
            self.due.pop();
            self.begin(due, now_ps);
        }
        let mut head: Head = [0; roce::wire::HEAD_BYTES_MAX];
        let departure = self.endpoint.transmit(now_ps, paused, &mut head);
        // A request may have failed by a timeout.
        self.take_completions(now_ps);
        let Departure { head_bytes, frame_bytes, priority, queue_pair, payload_bytes, .. } =
            departure?;
        let flow = match &self.pairs[queue_pair.0 as usize].purpose {
            Use::Sender { flow, .. } if payload_bytes > 0 => Some(*flow),
            _ => None,
        };
        let frame_bytes = u16::try_from(frame_bytes).unwrap_or(u16::MAX);
        let (start, rest) = head.split_first_chunk().unwrap_or((&[0; WRITTEN_BYTES], &[]));
        // Only telemetry, and sequence NAKs of selective repeat say more; a notification goes on
        // with zeros.
        let frame = match head_bytes.checked_sub(WRITTEN_BYTES) {
            Some(more) if rest[..more].iter().any(|&octet| octet != 0) => {
                pool.take(&head[..head_bytes], frame_bytes)
            }
            _ => pool.take_data(start, frame_bytes),
        };
        Some((frame, flow, Priority::from_low_bits(priority)))
    }

    fn plan(&mut self, at_ps: Picoseconds, due: Due) {
        self.number += 1;
        self.due.push(Reverse((at_ps, self.number, due)));
    }

    fn begin(&mut self, due: Due, now_ps: Picoseconds) {
        match due {
            Due::Flow { queue_pair } => {
                self.post_flow(queue_pair, now_ps);
                self.post_flow(queue_pair, now_ps);
            }
            Due::Rank { rank } => {
                self.ranks[rank].start(now_ps, &mut self.messages);
                self.plan_messages(now_ps);
            }
            Due::Message { queue_pair, bytes } => self.post(queue_pair, bytes, now_ps),
        }
    }

    /// Posts the next message of a flow, if there is one.
    fn post_flow(&mut self, queue_pair: u32, now_ps: Picoseconds) {
        let Use::Sender { left_bytes, .. } = &mut self.pairs[queue_pair as usize].purpose else {
            return;
        };
        let bytes = left_bytes.unwrap_or(MESSAGE_BYTES).min(MESSAGE_BYTES);
        if let Some(left_bytes) = left_bytes {
            *left_bytes -= bytes;
        }
        if bytes > 0 {
            self.post(queue_pair, bytes, now_ps);
        }
    }

    fn post(&mut self, queue_pair: u32, bytes: u64, now_ps: Picoseconds) {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        // The time comes back with the completion.
        let operation = Operation::Send { immediate: None };
        let work = WorkRequest { id: now_ps, operation, local: MEMORY, bytes };
        let posted = self.endpoint.post(now_ps, QueuePairId(queue_pair), work);
        self.failures += u64::from(posted.is_err());
    }

    fn post_buffer(&mut self, queue_pair: QueuePairId) {
        let buffer = ReceiveRequest { id: 0, local: MEMORY, bytes: u32::MAX };
        self.failures += u64::from(self.endpoint.post_receive(queue_pair, buffer).is_err());
    }

    /// What the ranks want posted: now, or later.
    fn plan_messages(&mut self, now_ps: Picoseconds) {
        let mut messages = std::mem::take(&mut self.messages);
        for Message { at_ps, queue_pair, bytes } in messages.drain(..) {
            if at_ps <= now_ps {
                self.post(queue_pair, bytes, now_ps);
            } else {
                self.plan(at_ps, Due::Message { queue_pair, bytes });
            }
        }
        self.messages = messages;
    }

    /// Takes what has ended; whether a flow has ended here.
    fn take_completions(&mut self, now_ps: Picoseconds) -> bool {
        let mut is_end = false;
        while let Some(completion) = self.endpoint.poll_completion() {
            is_end |= self.complete(completion, now_ps);
        }
        is_end
    }

    fn complete(&mut self, completion: Completion, now_ps: Picoseconds) -> bool {
        let Completion { queue_pair, id, done, status, bytes } = completion;
        if status != Status::Success {
            self.failures += 1;
            return false;
        }
        let is_received = matches!(done, Done::Receive { .. });
        if is_received {
            self.post_buffer(queue_pair);
        }
        match &mut self.pairs[queue_pair.0 as usize].purpose {
            Use::Sender { .. } => self.post_flow(queue_pair.0, now_ps),
            Use::Receiver { left_messages, .. } => {
                if let Some(left) = left_messages {
                    *left = left.saturating_sub(1);
                    return *left == 0;
                }
            }
            &mut Use::Slot { rank, slot, ideal } => {
                if is_received {
                    self.ranks[rank].receive(slot, now_ps, &mut self.messages);
                } else {
                    let taken_ps = now_ps - id;
                    let slowdown = ideal.slowdown_permille(u64::from(bytes), taken_ps);
                    self.slowdowns.saturating_record(slowdown);
                    self.ranks[rank].complete(now_ps, &mut self.messages);
                }
                self.plan_messages(now_ps);
            }
        }
        false
    }
}

impl Ideal {
    /// How much longer `taken_ps` is than a message of `bytes` takes on the idle path, until it is
    /// acknowledged: 1,000 for as long.
    fn slowdown_permille(self, bytes: u64, taken_ps: Picoseconds) -> u64 {
        let bits_ps = u128::from(bytes) * 8 * 1_000_000_000_000;
        let sending_ps = bits_ps / u128::from(self.speed_bps.max(1));
        let ideal_ps = (sending_ps + u128::from(self.round_trip_ps)).max(1);
        u64::try_from(u128::from(taken_ps) * 1_000 / ideal_ps).unwrap_or(u64::MAX)
    }
}
