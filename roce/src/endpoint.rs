//! The endpoint: what a driver holds.

use crate::congestion::Congestion;
use crate::counters::Counters;
use crate::memory::{Memory, Region, RegionId, Regions};
use crate::queue_pair::{Arrived, Built, Connection, QueuePair, Shared};
use crate::schedule::{Rings, Waiting};
use crate::settings::{EndpointSettings, Peer, QueuePairSettings};
use crate::time::{NEVER, Picoseconds};
use crate::wire::{Encapsulation, HEAD_BYTES_MAX, ICRC_BYTES, Kind, Packet, icrc};
use crate::work::{Completion, Place, PostError, QueuePairId, ReceiveRequest, WorkRequest};
use dataplane::wire::telemetry::Stack;
use std::collections::VecDeque;

/// Where congestion says that it is allowed: ECT(0).
const ECT_0: u8 = 2;

/// Where the headers of a packet are written.
pub type Head = [u8; HEAD_BYTES_MAX];

/// A packet to send. On the wire stand the head, the payload, zeros until the payload is a multiple
/// of four bytes long, and the invariant CRC.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// Bytes of the head.
    pub head_bytes: usize,
    /// Where the payload stands.
    pub payload: Place,
    /// How long it is; 0 for none.
    pub payload_bytes: u32,
    /// Bytes of the whole frame, without FCS.
    pub frame_bytes: usize,
    /// Its PFC priority.
    pub priority: u8,
    /// What it is.
    pub kind: Kind,
    /// Whose.
    pub queue_pair: QueuePairId,
    /// Whether it was sent before.
    pub is_repetition: bool,
}

impl Departure {
    /// Writes the whole frame to `out`, in place of what is there, for drivers that have its
    /// payload.
    pub fn write_frame(&self, head: &Head, payload: &[u8], out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(&head[..self.head_bytes]);
        out.extend_from_slice(payload);
        out.resize(self.frame_bytes - ICRC_BYTES, 0);
        let ip_at = if head[12..14] == [0x81, 0x00] { 18 } else { 14 };
        out.extend(icrc(&out[ip_at..]).unwrap_or_default());
    }
}

/// A queue pair with its places in the schedule.
#[derive(Clone, Debug)]
struct Scheduled {
    queue_pair: QueuePair,
    is_in_cnps: bool,
    is_in_answers: bool,
    /// In the ring of data, or waiting for its departure time.
    is_in_data: bool,
    /// The earliest time at which it stands among the timers.
    timer_ps: Picoseconds,
}

/// A RoCEv2 endpoint: queue pairs and memory regions behind one address.
///
/// It does no input and output, and reads no clock: packets come by [`Self::receive`] and leave by
/// [`Self::transmit`], whose caller sends one frame at a time at its port's speed, asks again, and
/// says which priorities its neighbor has paused. [`Self::wants_turn_at_ps`] says when to ask next.
///
/// ```
/// use roce::congestion::Congestion;
/// use roce::memory::{NoMemory, Region};
/// use roce::work::{Operation, Place, QueuePairId, ReceiveRequest, WorkRequest};
/// use roce::{Endpoint, EndpointSettings, Peer, QueuePairSettings, psn::Psn};
///
/// let mac = |last| dataplane::wire::MacAddress([2, 0, 0, 0, 0, last]);
/// let ip = |last| std::net::Ipv4Addr::new(10, 0, 0, last).into();
/// let endpoint = |own, peer| {
///     let mut endpoint = Endpoint::new(EndpointSettings::new(mac(own), ip(own)));
///     let (region, _) =
///         endpoint.register(Region { address: 0, bytes: 1 << 20, is_remote: false });
///     let congestion = Congestion::None { speed_bps: 100_000_000_000 };
///     let (queue_pair, number) =
///         endpoint.create_queue_pair(QueuePairSettings::default(), congestion);
///     let peer = Peer { mac: mac(peer), ip: ip(peer), queue_pair: number, psn: Psn::new(0) };
///     endpoint.connect(queue_pair, peer);
///     (endpoint, queue_pair, Place { region, offset: 0 })
/// };
/// let (mut sender, queue_pair, local) = endpoint(1, 2);
/// let (mut receiver, to, buffer) = endpoint(2, 1);
///
/// receiver.post_receive(to, ReceiveRequest { id: 5, local: buffer, bytes: 4_096 })?;
/// let operation = Operation::Send { immediate: Some(7) };
/// sender.post(0, queue_pair, WorkRequest { id: 1, operation, local, bytes: 100 })?;
/// let mut head = [0; roce::wire::HEAD_BYTES_MAX];
/// let departure = sender.transmit(0, 0, &mut head).expect("a packet");
/// receiver.receive(1_000, &head[..departure.head_bytes], departure.frame_bytes, &mut NoMemory);
/// assert_eq!(receiver.poll_completion().expect("it was received").bytes, 100);
/// # Ok::<(), roce::work::PostError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Endpoint {
    settings: EndpointSettings,
    queue_pairs: Vec<Scheduled>,
    regions: Regions,
    completions: VecDeque<Completion>,
    counters: Counters,
    cnps: Rings,
    answers: Rings,
    data: Rings,
    departures: Waiting,
    timers: Waiting,
}

impl Endpoint {
    /// An endpoint without queue pairs.
    pub fn new(settings: EndpointSettings) -> Self {
        Self {
            settings,
            queue_pairs: Vec::new(),
            regions: Regions::default(),
            completions: VecDeque::new(),
            counters: Counters::default(),
            cnps: Rings::default(),
            answers: Rings::default(),
            data: Rings::default(),
            departures: Waiting::default(),
            timers: Waiting::default(),
        }
    }

    /// Registers memory; the region, and the key by which the other side names it.
    pub fn register(&mut self, region: Region) -> (RegionId, u32) {
        self.regions.add(region)
    }

    /// Takes memory away from the other side, and from requests that are not posted yet. The place
    /// of the region is not used again.
    pub fn deregister(&mut self, region: RegionId) {
        self.regions.remove(region);
    }

    /// Creates a queue pair; it, and the number by which the other side names it.
    pub fn create_queue_pair(
        &mut self,
        settings: QueuePairSettings,
        congestion: Congestion,
    ) -> (QueuePairId, u32) {
        let index = u32::try_from(self.queue_pairs.len()).unwrap_or(u32::MAX);
        let queue_pair = QueuePair::new(QueuePairId(index), settings, congestion);
        self.queue_pairs.push(Scheduled {
            queue_pair,
            is_in_cnps: false,
            is_in_answers: false,
            is_in_data: false,
            timer_ps: NEVER,
        });
        (QueuePairId(index), self.settings.first_queue_pair + index)
    }

    /// Connects a queue pair, once. Nothing is said to the peer: how two sides learn of each other
    /// is their drivers'.
    pub fn connect(&mut self, queue_pair: QueuePairId, peer: Peer) {
        let EndpointSettings { mac, ip, first_queue_pair, .. } = self.settings;
        let Some(scheduled) = at(&mut self.queue_pairs, queue_pair.0) else { return };
        let tci = scheduled.queue_pair.settings.tci;
        // Numbers of both sides, so that the queue pairs of many hosts differ.
        let entropy = first_queue_pair
            .wrapping_add(queue_pair.0)
            .wrapping_mul(0x9E37_79B1)
            .wrapping_add(peer.queue_pair)
            .rotate_left(15);
        let encapsulation = Encapsulation::new(mac, ip, tci, entropy, &peer);
        scheduled.queue_pair.connect(peer, encapsulation);
    }

    /// Ends the connection of a queue pair for good. Nothing is said to the peer; what was posted
    /// completes as flushed.
    pub fn close(&mut self, queue_pair: QueuePairId) {
        if let Some(scheduled) = at(&mut self.queue_pairs, queue_pair.0) {
            let shared = Shared {
                now_ps: 0,
                counters: &mut self.counters,
                completions: &mut self.completions,
                regions: &self.regions,
            };
            scheduled.queue_pair.close(shared);
        }
    }

    /// Posts a work request.
    ///
    /// # Errors
    /// See [`PostError`]; nothing is posted.
    pub fn post(
        &mut self,
        now_ps: Picoseconds,
        queue_pair: QueuePairId,
        work: WorkRequest,
    ) -> Result<(), PostError> {
        use crate::work::Operation;
        let is_atomic = matches!(work.operation, Operation::Atomic { .. });
        if !is_atomic && work.bytes > 0 && !self.regions.holds(work.local, work.bytes) {
            return Err(PostError::LocalMemory);
        }
        let scheduled = at(&mut self.queue_pairs, queue_pair.0).ok_or(PostError::NotConnected)?;
        scheduled.queue_pair.post(work)?;
        self.reschedule(queue_pair.0, now_ps);
        Ok(())
    }

    /// Posts a receive buffer; also before the queue pair is connected.
    ///
    /// # Errors
    /// See [`PostError`]; nothing is posted.
    pub fn post_receive(
        &mut self,
        queue_pair: QueuePairId,
        buffer: ReceiveRequest,
    ) -> Result<(), PostError> {
        if buffer.bytes > 0 && !self.regions.holds(buffer.local, buffer.bytes) {
            return Err(PostError::LocalMemory);
        }
        let scheduled = at(&mut self.queue_pairs, queue_pair.0).ok_or(PostError::NotConnected)?;
        scheduled.queue_pair.post_receive(buffer)
    }

    /// The next end of a request.
    pub fn poll_completion(&mut self) -> Option<Completion> {
        self.completions.pop_front()
    }

    /// What was counted.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The congestion control of a queue pair.
    pub fn congestion(&self, queue_pair: QueuePairId) -> Option<&Congestion> {
        let index = usize::try_from(queue_pair.0).ok()?;
        self.queue_pairs.get(index).map(|it| &it.queue_pair.congestion)
    }

    /// A frame of `frame_bytes`, without FCS, has arrived; `stored` is its first part: all of it,
    /// or at least the headers. Its payload goes to `memory`, if it is all there.
    pub fn receive<M: Memory>(
        &mut self,
        now_ps: Picoseconds,
        stored: &[u8],
        frame_bytes: usize,
        memory: &mut M,
    ) {
        let packet = match Packet::parse(stored, frame_bytes, self.settings.checks_icrc) {
            Ok(packet) => packet,
            Err(bad) => {
                self.counters.count_bad(bad);
                return;
            }
        };
        let payload_end = usize::try_from(packet.payload_bytes)
            .map_or(usize::MAX, |bytes| packet.payload_at.saturating_add(bytes));
        let payload = stored.get(packet.payload_at..payload_end);
        self.receive_packet(now_ps, &packet, payload, memory);
    }

    /// As [`Self::receive`], of a frame that was read already.
    pub fn receive_packet<M: Memory>(
        &mut self,
        now_ps: Picoseconds,
        packet: &Packet,
        payload: Option<&[u8]>,
        memory: &mut M,
    ) {
        if self.settings.checks_addresses && packet.destination != self.settings.ip {
            self.counters.bad_destination += 1;
            return;
        }
        let headers = &packet.headers;
        let index = headers.destination.wrapping_sub(self.settings.first_queue_pair);
        let scheduled = at(&mut self.queue_pairs, index);
        let Some((queue_pair, peer)) = scheduled.and_then(|scheduled| {
            let peer = scheduled.queue_pair.connection.as_ref()?.peer;
            Some((&mut scheduled.queue_pair, peer))
        }) else {
            self.counters.bad_queue_pair += 1;
            return;
        };
        if self.settings.checks_addresses && packet.source != peer.ip {
            self.counters.bad_source += 1;
            return;
        }
        self.counters.received_packets += 1;
        if packet.is_ce {
            self.counters.ecn_marked += 1;
            if headers.opcode.has_payload() {
                queue_pair.on_marked(now_ps, self.settings.cnp_interval_ps);
            }
        }
        let telemetry = packet.telemetry.as_ref();
        let arrived = Arrived { headers, payload_bytes: packet.payload_bytes, payload, telemetry };
        let shared = Shared {
            now_ps,
            counters: &mut self.counters,
            completions: &mut self.completions,
            regions: &self.regions,
        };
        queue_pair.receive(arrived, shared, memory);
        self.reschedule(index, now_ps);
    }

    /// Does what is due by `now_ps`: timeouts, and the timers of congestion control.
    /// [`Self::transmit`] does it, too.
    pub fn advance(&mut self, now_ps: Picoseconds) {
        while let Some((at_ps, index)) = self.timers.pop(now_ps) {
            let Some(scheduled) = at(&mut self.queue_pairs, index) else { continue };
            if scheduled.timer_ps != at_ps {
                continue;
            }
            scheduled.timer_ps = NEVER;
            if scheduled.queue_pair.timer_ps() <= now_ps {
                let shared = Shared {
                    now_ps,
                    counters: &mut self.counters,
                    completions: &mut self.completions,
                    regions: &self.regions,
                };
                scheduled.queue_pair.on_timer(shared);
            }
            self.reschedule(index, now_ps);
        }
        while let Some((_, index)) = self.departures.pop(now_ps) {
            if let Some(scheduled) = at(&mut self.queue_pairs, index) {
                self.data.push(scheduled.queue_pair.settings.priority, index);
            }
        }
    }

    /// The next packet to send at `now_ps`, when no priority of `paused_bits` may send; its headers
    /// are written to `head`. `None` if there is none now.
    pub fn transmit(
        &mut self,
        now_ps: Picoseconds,
        paused_bits: u8,
        head: &mut Head,
    ) -> Option<Departure> {
        self.advance(now_ps);
        while let Some(index) = self.cnps.pop(paused_bits) {
            let Some(scheduled) = at(&mut self.queue_pairs, index) else { continue };
            scheduled.is_in_cnps = false;
            if let Some(built) = scheduled.queue_pair.build_cnp() {
                return self.depart(index, built, now_ps, head);
            }
        }
        while let Some(index) = self.answers.pop(paused_bits) {
            let Some(scheduled) = at(&mut self.queue_pairs, index) else { continue };
            scheduled.is_in_answers = false;
            if let Some(built) = scheduled.queue_pair.build_answer() {
                return self.depart(index, built, now_ps, head);
            }
        }
        while let Some(index) = self.data.pop(paused_bits) {
            let Some(scheduled) = at(&mut self.queue_pairs, index) else { continue };
            scheduled.is_in_data = false;
            if let Some(built) = scheduled.queue_pair.build_data(now_ps) {
                return self.depart(index, built, now_ps, head);
            }
        }
        None
    }

    /// When [`Self::transmit`] has something to do next, if only priorities outside `paused_bits`
    /// may send: 0 for at once, [`NEVER`] for not before something arrives.
    pub fn wants_turn_at_ps(&self, paused_bits: u8) -> Picoseconds {
        let is_ready = |rings: &Rings| rings.is_ready(paused_bits);
        if is_ready(&self.cnps) || is_ready(&self.answers) || is_ready(&self.data) {
            return 0;
        }
        self.departures.next_ps().min(self.timers.next_ps())
    }

    /// Writes a packet's head, and says what else belongs to it.
    fn depart(
        &mut self,
        index: u32,
        built: Built,
        now_ps: Picoseconds,
        head: &mut Head,
    ) -> Option<Departure> {
        let cnp = (self.settings.cnp_dscp, self.settings.cnp_priority);
        let scheduled = at(&mut self.queue_pairs, index)?;
        let queue_pair = &mut scheduled.queue_pair;
        let Connection { encapsulation, .. } = queue_pair.connection.as_ref()?;
        let settings = &queue_pair.settings;
        let data = (settings.dscp, settings.priority);
        let Built { mut headers, payload, is_repetition, telemetry } = built;
        let kind = headers.opcode.kind;
        let ((dscp, priority), ecn) = match kind {
            Kind::CongestionNotification => (cnp, 0),
            Kind::Acknowledge | Kind::AtomicAcknowledge => {
                (settings.acknowledgments.unwrap_or(data), 0)
            }
            _ => (data, if settings.ecn { ECT_0 } else { 0 }),
        };
        let (place, payload_bytes) =
            payload.unwrap_or((Place { region: RegionId(0), offset: 0 }, 0));
        let padded_bytes = payload_bytes.next_multiple_of(4);
        headers.pad = u8::try_from(padded_bytes - payload_bytes).unwrap_or(0);
        let padded_bytes = usize::try_from(padded_bytes).unwrap_or(0);
        let is_measured =
            matches!(kind, Kind::Send | Kind::Write) && queue_pair.congestion.wants_telemetry();
        let udp_end = encapsulation.bytes();
        let mut head_bytes = udp_end;
        if is_measured {
            head_bytes += put(&mut head[head_bytes..], Stack::EMPTY.as_bytes());
        }
        head_bytes += headers.write(&mut head[head_bytes..]);
        if let Some(stack) = telemetry {
            head_bytes += put(&mut head[head_bytes..], stack.as_bytes());
        }
        let frame_bytes = head_bytes + padded_bytes + ICRC_BYTES;
        encapsulation.write(head, dscp << 2 | ecn, frame_bytes - udp_end, is_measured);
        let is_data = matches!(kind, Kind::Send | Kind::Write | Kind::ReadResponse);
        if is_data || matches!(kind, Kind::ReadRequest | Kind::Atomic) {
            // First, as it brings the rate up to date.
            queue_pair.congestion.on_sent(now_ps, u32::try_from(frame_bytes).unwrap_or(u32::MAX));
            let (rate_bps, slack_ps) =
                (queue_pair.congestion.rate_bps(), self.settings.pacing_slack_ps);
            queue_pair.pacer.depart(now_ps, frame_bytes, rate_bps, slack_ps);
        }
        self.counters.sent_packets += 1;
        self.counters.sent_bytes += u64::from(payload_bytes);
        self.counters.retransmitted += u64::from(is_repetition);
        self.counters.cnps_sent += u64::from(kind == Kind::CongestionNotification);
        self.reschedule(index, now_ps);
        Some(Departure {
            head_bytes,
            payload: place,
            payload_bytes,
            frame_bytes,
            priority,
            kind,
            queue_pair: QueuePairId(index),
            is_repetition,
        })
    }

    /// Gives a queue pair the places in the schedule that it now needs.
    fn reschedule(&mut self, index: u32, now_ps: Picoseconds) {
        let Some(scheduled) = at(&mut self.queue_pairs, index) else { return };
        let queue_pair = &scheduled.queue_pair;
        if queue_pair.is_cnp_due() && !scheduled.is_in_cnps {
            scheduled.is_in_cnps = true;
            self.cnps.push(self.settings.cnp_priority, index);
        }
        let settings = &queue_pair.settings;
        if queue_pair.is_answer_due() && !scheduled.is_in_answers {
            scheduled.is_in_answers = true;
            let priority = settings.acknowledgments.map_or(settings.priority, |(_, it)| it);
            self.answers.push(priority, index);
        }
        if !scheduled.is_in_data && queue_pair.is_data_due(now_ps) {
            scheduled.is_in_data = true;
            let departs_ps = queue_pair.pacer.next_ps();
            match departs_ps <= now_ps {
                true => self.data.push(settings.priority, index),
                false => self.departures.push(departs_ps, index),
            }
        }
        let timer_ps = queue_pair.timer_ps();
        if timer_ps < scheduled.timer_ps {
            scheduled.timer_ps = timer_ps;
            self.timers.push(timer_ps, index);
        }
    }
}

/// Writes `bytes` to the front of `room`; their length.
fn put(room: &mut [u8], bytes: &[u8]) -> usize {
    room[..bytes.len()].copy_from_slice(bytes);
    bytes.len()
}

fn at(queue_pairs: &mut [Scheduled], index: u32) -> Option<&mut Scheduled> {
    queue_pairs.get_mut(usize::try_from(index).ok()?)
}
