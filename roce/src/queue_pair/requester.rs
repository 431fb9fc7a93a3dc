//! The requester: which packet goes next, and what an answer completes.

use super::repair::Repair;
use super::{Built, Context};
use crate::congestion::Feedback;
use crate::psn::Psn;
use crate::settings::{QueuePairSettings, Recovery};
use crate::time::{NEVER, Picoseconds};
use crate::wire::{
    AtomicOperation, AtomicRequest, Kind, NakCode, Opcode, Position, Reth, Selective, Syndrome,
    TransportHeaders, rnr_timer_ps,
};
use crate::work::{Completion, Done, Operation, Place, PostError, Status, WorkRequest};
use std::collections::VecDeque;

/// The longest message (InfiniBand 9.7.2).
const MESSAGE_BYTES_MAX: u32 = 1 << 31;
/// Numbers that may be in use at once: half the circle, less one.
const NUMBERS_MAX: u32 = (1 << 23) - 1;
/// RNR retries for ever.
const FOREVER: u8 = 7;

/// A work request with its numbers.
#[derive(Clone, Copy, Debug)]
struct Request {
    work: WorkRequest,
    first: Psn,
    /// Numbers it takes: those of its packets, or of the packets of its answer.
    packets: u32,
    /// First byte of it in the stream of what this queue pair sends.
    stream_at: u64,
}

impl Request {
    const fn awaits_answer(&self) -> bool {
        matches!(self.work.operation, Operation::Read { .. } | Operation::Atomic { .. })
    }

    /// Bytes before packet `index`.
    fn offset(&self, index: u32, mtu: u32) -> u32 {
        let offset = u64::from(index) * u64::from(mtu);
        u32::try_from(offset).unwrap_or(u32::MAX).min(self.work.bytes)
    }

    /// The byte of the stream that packet `index` begins with.
    fn stream(&self, index: u32, mtu: u32) -> u64 {
        match self.awaits_answer() {
            true => self.stream_at,
            false => self.stream_at + u64::from(self.offset(index, mtu)),
        }
    }
}

/// The requester's side of a queue pair.
#[derive(Clone, Debug)]
pub(super) struct Requester {
    requests: VecDeque<Request>,
    /// The number that the next posted request begins with, and its byte of the stream.
    posted: Psn,
    posted_stream: u64,
    /// The first number that is not acknowledged.
    unacknowledged: Psn,
    /// The number to send next, and the request that it is of.
    next: Psn,
    at: usize,
    /// The first number that was never sent.
    sent: Psn,
    reads_in_flight: u32,
    retries: u8,
    rnr_retries: u8,
    /// Nothing is sent before: the other side had no receive buffer.
    rnr_until_ps: Picoseconds,
    deadline_ps: Picoseconds,
    since_asked: u32,
    /// Departures of the packets in flight that ask for an acknowledgment.
    departures: VecDeque<(Psn, Picoseconds)>,
    /// An answer was missing, and was asked for again; until something comes, do not ask again.
    has_reasked: bool,
    repair: Option<Repair>,
    has_failed: bool,
}

impl Requester {
    pub(super) fn new(settings: &QueuePairSettings) -> Self {
        let psn = settings.psn;
        let repair = match settings.recovery {
            Recovery::GoBackN => None,
            Recovery::SelectiveRepeat { window_packets } => Some(Repair::new(psn, window_packets)),
        };
        Self {
            requests: VecDeque::new(),
            posted: psn,
            posted_stream: 0,
            unacknowledged: psn,
            next: psn,
            at: 0,
            sent: psn,
            reads_in_flight: 0,
            retries: settings.retries,
            rnr_retries: settings.rnr_retries,
            rnr_until_ps: 0,
            deadline_ps: NEVER,
            since_asked: 0,
            departures: VecDeque::new(),
            has_reasked: false,
            repair,
            has_failed: false,
        }
    }

    pub(super) const fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// When [`Self::on_timer`] is due.
    pub(super) const fn timer_ps(&self) -> Picoseconds {
        if self.rnr_until_ps != 0 && self.rnr_until_ps < self.deadline_ps {
            self.rnr_until_ps
        } else {
            self.deadline_ps
        }
    }

    pub(super) fn post(
        &mut self,
        work: WorkRequest,
        settings: &QueuePairSettings,
    ) -> Result<(), PostError> {
        if self.has_failed {
            return Err(PostError::Failed);
        }
        let is_atomic = matches!(work.operation, Operation::Atomic { .. });
        let bytes = if is_atomic { 8 } else { work.bytes };
        if bytes > MESSAGE_BYTES_MAX {
            return Err(PostError::TooLong);
        }
        let packets = bytes.div_ceil(settings.mtu).max(1);
        let in_use = self.posted.since(self.unacknowledged);
        let is_full =
            u32::try_from(self.requests.len()).is_ok_and(|len| len < settings.requests_max);
        if !is_full || in_use + packets > NUMBERS_MAX {
            return Err(PostError::Full);
        }
        let work = WorkRequest { bytes, ..work };
        let request = Request { work, first: self.posted, packets, stream_at: self.posted_stream };
        self.posted = self.posted.plus(packets);
        if !request.awaits_answer() {
            self.posted_stream += u64::from(bytes);
        }
        self.requests.push_back(request);
        Ok(())
    }

    fn stream_of(&self, psn: Psn, at: usize, mtu: u32) -> u64 {
        let request = self.requests.get(at);
        request.map_or(self.posted_stream, |it| it.stream(psn.since(it.first), mtu))
    }

    /// The packet to send now, if one may be sent: a number, and the request that it is of.
    fn choose(
        &self,
        now_ps: Picoseconds,
        window_bytes: Option<u64>,
        settings: &QueuePairSettings,
    ) -> Option<(Psn, usize)> {
        if self.has_failed || now_ps < self.rnr_until_ps {
            return None;
        }
        if let Some(psn) = self.repair.as_ref().and_then(Repair::due) {
            return Some((psn, self.index_of(psn)?));
        }
        let request = self.requests.get(self.at)?;
        if request.awaits_answer() && self.reads_in_flight >= u32::from(settings.reads_max) {
            return None;
        }
        let index = self.next.since(request.first);
        let bytes = request.stream(index + 1, settings.mtu) - request.stream(index, settings.mtu);
        let (next, at) = (self.next, self.at);
        self.has_room(next, at, bytes, window_bytes, settings).then_some((next, at))
    }

    /// Whether a packet of `bytes` at `next`, of request `at`, may follow what is in flight.
    fn has_room(
        &self,
        next: Psn,
        at: usize,
        bytes: u64,
        window_bytes: Option<u64>,
        settings: &QueuePairSettings,
    ) -> bool {
        if let Recovery::SelectiveRepeat { window_packets } = settings.recovery
            && next.since(self.unacknowledged) >= window_packets
        {
            return false;
        }
        let Some(window_bytes) = window_bytes else { return true };
        let mtu = settings.mtu;
        let sent_to = self.stream_of(next, at, mtu);
        let in_flight = sent_to - self.stream_of(self.unacknowledged, 0, mtu);
        in_flight == 0 || in_flight + bytes <= window_bytes
    }

    pub(super) fn has_data(
        &self,
        now_ps: Picoseconds,
        window_bytes: Option<u64>,
        settings: &QueuePairSettings,
    ) -> bool {
        self.choose(now_ps, window_bytes, settings).is_some()
    }

    fn index_of(&self, psn: Psn) -> Option<usize> {
        let start = self.requests.front()?.first;
        let after = self.requests.partition_point(|it| it.first.since(start) <= psn.since(start));
        after.checked_sub(1)
    }

    /// The next packet.
    pub(super) fn build(
        &mut self,
        destination: u32,
        now_ps: Picoseconds,
        window_bytes: Option<u64>,
        settings: &QueuePairSettings,
    ) -> Option<Built> {
        let (psn, at) = self.choose(now_ps, window_bytes, settings)?;
        let request = *self.requests.get(at)?;
        let mtu = settings.mtu;
        let index = psn.since(request.first);
        let offset = request.offset(index, mtu);
        let position = Position::of(index, request.packets);
        let is_repetition = psn.is_before(self.sent);
        let is_repair = self.repair.as_ref().is_some_and(|repair| repair.due().is_some());
        let after = match request.awaits_answer() {
            true => request.first.plus(request.packets),
            false => psn.plus(1),
        };
        let is_end = after == request.first.plus(request.packets);
        if is_repair {
            if let Some(repair) = &mut self.repair {
                repair.pass(after);
            }
        } else {
            if request.awaits_answer() {
                self.reads_in_flight += 1;
            }
            self.next = after;
            self.at += usize::from(is_end);
            if self.sent.is_before(after) {
                self.sent = after;
            }
        }
        if self.deadline_ps == NEVER {
            self.deadline_ps = now_ps.saturating_add(settings.timeout_ps);
        }
        let mut headers = headers_of(&request, position, destination, psn, offset);
        let mut payload = None;
        if !request.awaits_answer() {
            let bytes = (request.work.bytes - offset).min(mtu);
            payload = Some((request.work.local.plus(u64::from(offset)), bytes));
            self.since_asked += 1;
            let is_last_that_fits =
                !self.has_room(self.next, self.at, u64::from(mtu), window_bytes, settings);
            headers.asks_acknowledge = is_end
                || is_repair
                || is_last_that_fits
                || self.since_asked >= settings.acknowledge_every;
        }
        if headers.asks_acknowledge {
            self.since_asked = 0;
            if !is_repair {
                self.departures.push_back((psn, now_ps));
            }
        }
        Some(Built { headers, payload, is_repetition, telemetry: None })
    }

    /// Goes back to the first number that is not acknowledged, or repairs from there on.
    fn go_back(&mut self) {
        self.departures.clear();
        if let Some(repair) = &mut self.repair {
            repair.restart(self.unacknowledged, self.unacknowledged.plus(1));
        } else {
            self.next = self.unacknowledged;
            self.at = 0;
            self.reads_in_flight = 0;
        }
    }

    /// The time of [`Self::timer_ps`] has come.
    pub(super) fn on_timer(&mut self, context: &mut Context<'_>) {
        let now_ps = context.now_ps;
        if self.rnr_until_ps != 0 && now_ps >= self.rnr_until_ps {
            self.rnr_until_ps = 0;
        }
        if now_ps < self.deadline_ps {
            return;
        }
        context.counters.timeouts += 1;
        if self.retries == 0 {
            self.fail(Status::RetriesExceeded, context);
            return;
        }
        self.retries -= 1;
        self.has_reasked = false;
        context.congestion.on_loss(now_ps);
        self.go_back();
        if let Some(repair) = &mut self.repair {
            repair.restart(self.unacknowledged, self.sent);
        }
        self.deadline_ps = now_ps.saturating_add(context.settings.timeout_ps);
    }

    /// An acknowledgment, positive or negative.
    pub(super) fn on_acknowledge(&mut self, headers: &TransportHeaders, context: &mut Context<'_>) {
        let psn = headers.psn;
        let in_flight = self.sent.since(self.unacknowledged);
        match headers.syndrome {
            Syndrome::Acknowledge => {
                context.counters.acks_received += 1;
                if psn.since(self.unacknowledged) >= in_flight {
                    context.counters.stale_answers += 1;
                    return;
                }
                self.acknowledge(psn.plus(1), context);
                if self.unacknowledged != psn.plus(1) {
                    self.ask_again(context);
                }
            }
            Syndrome::Nak(NakCode::SequenceError) => {
                context.counters.nak_sequence_received += 1;
                if psn.since(self.unacknowledged) > in_flight {
                    context.counters.stale_answers += 1;
                    return;
                }
                self.acknowledge(psn, context);
                match headers.selective {
                    Some(selective) => self.on_selective(selective, context),
                    None if self.unacknowledged == self.sent => {}
                    None => {
                        context.congestion.on_loss(context.now_ps);
                        self.go_back();
                    }
                }
            }
            Syndrome::Rnr { timer } => {
                context.counters.rnr_received += 1;
                if psn.since(self.unacknowledged) >= in_flight {
                    context.counters.stale_answers += 1;
                    return;
                }
                self.acknowledge(psn, context);
                if self.rnr_retries == 0 {
                    self.fail(Status::RnrRetriesExceeded, context);
                    return;
                }
                if self.rnr_retries < FOREVER {
                    self.rnr_retries -= 1;
                }
                self.rnr_until_ps = context.now_ps.saturating_add(rnr_timer_ps(timer)).max(1);
                self.go_back();
                self.deadline_ps = self.rnr_until_ps.saturating_add(context.settings.timeout_ps);
            }
            Syndrome::Nak(code) => {
                context.counters.nak_fatal_received += 1;
                if psn.since(self.unacknowledged) >= in_flight {
                    context.counters.stale_answers += 1;
                    return;
                }
                self.acknowledge(psn, context);
                self.fail(Status::Refused(code), context);
            }
        }
    }

    fn on_selective(&mut self, selective: Selective, context: &mut Context<'_>) {
        let (unacknowledged, sent) = (self.unacknowledged, self.sent);
        let Some(repair) = &mut self.repair else {
            self.go_back();
            return;
        };
        if repair.learn(unacknowledged, sent, selective) {
            context.congestion.on_loss(context.now_ps);
        }
    }

    /// An answer is missing: its request is sent again, once.
    fn ask_again(&mut self, context: &mut Context<'_>) {
        context.counters.read_gaps += 1;
        if !self.has_reasked {
            self.has_reasked = true;
            context.congestion.on_loss(context.now_ps);
            self.go_back();
        }
    }

    /// Everything before `to` is acknowledged, except that requests that await an answer and what
    /// comes after them wait for that answer.
    fn acknowledge(&mut self, to: Psn, context: &mut Context<'_>) {
        let mtu = context.settings.mtu;
        let before = self.unacknowledged;
        let stream_before = self.stream_of(before, 0, mtu);
        while self.unacknowledged.is_before(to) {
            let Some(request) = self.requests.front() else { break };
            if request.awaits_answer() {
                break;
            }
            let end = request.first.plus(request.packets);
            if to.is_before(end) {
                self.unacknowledged = to;
                break;
            }
            self.complete_front(Status::Success, None, context);
        }
        if self.unacknowledged == before {
            return;
        }
        self.progressed(before, context);
        let mut departed_ps = None;
        while let Some(&(psn, at_ps)) = self.departures.front() {
            if !psn.is_before(self.unacknowledged) {
                break;
            }
            departed_ps = Some(at_ps);
            self.departures.pop_front();
        }
        let Some(departed_ps) = departed_ps else { return };
        let acknowledged_to = self.stream_of(self.unacknowledged, 0, mtu);
        let feedback = Feedback {
            rtt_ps: context.now_ps.saturating_sub(departed_ps),
            acknowledged_bytes: acknowledged_to - stream_before,
            acknowledged_to,
            sent_to: self.stream_of(self.next, self.at, mtu),
            telemetry: context.telemetry,
        };
        context.congestion.on_feedback(context.now_ps, &feedback);
    }

    /// Takes the first request off, and says how it ended.
    fn complete_front(&mut self, status: Status, original: Option<u64>, context: &mut Context<'_>) {
        let Some(request) = self.requests.pop_front() else { return };
        let done = match request.work.operation {
            Operation::Send { .. } => Done::Send,
            Operation::Write { .. } => Done::Write,
            Operation::Read { .. } => Done::Read,
            Operation::Atomic { .. } => Done::Atomic { original: original.unwrap_or(0) },
        };
        self.unacknowledged = request.first.plus(request.packets);
        if self.at > 0 {
            self.at -= 1;
            self.reads_in_flight -= u32::from(request.awaits_answer());
        }
        context.completions.push_back(Completion {
            queue_pair: context.queue_pair,
            id: request.work.id,
            done,
            status,
            bytes: request.work.bytes,
        });
    }

    /// Something was acknowledged: the retries are all there again, and the timer starts anew.
    fn progressed(&mut self, before: Psn, context: &mut Context<'_>) {
        if self.next.is_before(self.unacknowledged) {
            self.next = self.unacknowledged;
        }
        if let Some(repair) = &mut self.repair {
            repair.acknowledged(before, self.unacknowledged);
        }
        self.has_reasked = false;
        self.retries = context.settings.retries;
        self.rnr_retries = context.settings.rnr_retries;
        self.deadline_ps = match self.unacknowledged == self.sent {
            true => NEVER,
            false => context.now_ps.saturating_add(context.settings.timeout_ps),
        };
    }

    /// Part of the answer to a READ; the place of its payload.
    pub(super) fn on_read_response(
        &mut self,
        headers: &TransportHeaders,
        payload_bytes: u32,
        context: &mut Context<'_>,
    ) -> Option<Place> {
        let request = *self.awaited(headers, context)?;
        let index = headers.psn.since(request.first);
        let offset = request.offset(index, context.settings.mtu);
        let wanted = (request.work.bytes - offset).min(context.settings.mtu);
        let is_last = index + 1 == request.packets;
        if !matches!(request.work.operation, Operation::Read { .. })
            || payload_bytes != wanted
            || headers.opcode.position.ends() != is_last
        {
            self.fail(Status::LocalLength, context);
            return None;
        }
        let before = self.unacknowledged;
        self.unacknowledged = before.plus(1);
        if is_last {
            self.complete_front(Status::Success, None, context);
        }
        self.progressed(before, context);
        Some(request.work.local.plus(u64::from(offset)))
    }

    /// The answer to an atomic operation.
    pub(super) fn on_atomic(&mut self, headers: &TransportHeaders, context: &mut Context<'_>) {
        let Some(request) = self.awaited(headers, context) else { return };
        if !matches!(request.work.operation, Operation::Atomic { .. }) {
            self.fail(Status::LocalLength, context);
            return;
        }
        let before = self.unacknowledged;
        self.complete_front(Status::Success, Some(headers.original), context);
        self.progressed(before, context);
    }

    /// The request that an answer is for, if that answer is what comes next.
    fn awaited(
        &mut self,
        headers: &TransportHeaders,
        context: &mut Context<'_>,
    ) -> Option<&Request> {
        let psn = headers.psn;
        if psn.since(self.unacknowledged) >= self.sent.since(self.unacknowledged) {
            context.counters.stale_answers += 1;
            return None;
        }
        self.acknowledge(psn, context);
        if psn != self.unacknowledged {
            self.ask_again(context);
            return None;
        }
        let request = self.requests.front();
        let request = request.filter(|request| request.awaits_answer());
        if request.is_none() {
            context.counters.stale_answers += 1;
        }
        request
    }

    /// Ends the first request with `status`, and flushes the others.
    pub(super) fn fail(&mut self, status: Status, context: &mut Context<'_>) {
        self.complete_front(status, None, context);
        while !self.requests.is_empty() {
            self.complete_front(Status::Flushed, None, context);
        }
        self.has_failed = true;
        (self.deadline_ps, self.rnr_until_ps) = (NEVER, 0);
    }
}

fn headers_of(
    request: &Request,
    position: Position,
    destination: u32,
    psn: Psn,
    offset: u32,
) -> TransportHeaders {
    let left = request.work.bytes - offset;
    let new = |kind, position| TransportHeaders::new(Opcode::new(kind, position), destination, psn);
    match request.work.operation {
        Operation::Send { immediate } => with_immediate(new(Kind::Send, position), immediate),
        Operation::Write { remote, immediate } => {
            let mut headers = with_immediate(new(Kind::Write, position), immediate);
            if position.begins() {
                headers.reth = Reth { address: remote.address, key: remote.key, bytes: left };
            }
            headers
        }
        Operation::Read { remote } => {
            let mut headers = new(Kind::ReadRequest, Position::Only);
            let address = remote.address.wrapping_add(u64::from(offset));
            headers.reth = Reth { address, key: remote.key, bytes: left };
            headers
        }
        Operation::Atomic { remote, operation } => {
            let mut headers = new(Kind::Atomic, Position::Only);
            headers.opcode.is_compare_swap =
                matches!(operation, AtomicOperation::CompareSwap { .. });
            let (address, key) = (remote.address, remote.key);
            headers.atomic = Some(AtomicRequest { address, key, operation });
            headers
        }
    }
}

fn with_immediate(mut headers: TransportHeaders, immediate: Option<u32>) -> TransportHeaders {
    if let Some(immediate) = immediate.filter(|_| headers.opcode.position.ends()) {
        headers.opcode.has_immediate = true;
        headers.immediate = immediate;
    }
    headers
}
