//! The responder: what a request does here, and how it is answered.

use super::answers::{Answer, Answers, Read};
use super::reorder::Reorder;
use super::{Arrived, Built, Context};
use crate::memory::Memory;
use crate::psn::Psn;
use crate::settings::{QueuePairSettings, Recovery};
use crate::wire::{AtomicRequest, Kind, NakCode, Reth, Syndrome, TransportHeaders};
use crate::work::{Completion, Done, Place, ReceiveRequest, Remote, Status};
use std::collections::VecDeque;

/// A message of which not all packets have come.
#[derive(Clone, Copy, Debug)]
enum Message {
    /// Into a receive buffer.
    Send { buffer: ReceiveRequest, bytes: u32 },
    /// To memory: where the next byte goes, if there is any, how many have come, and how many are
    /// to come.
    Write { place: Option<Place>, bytes: u32, left: u32 },
}

/// An atomic operation that was done: a repetition gets the same answer, and does nothing.
#[derive(Clone, Copy, Debug)]
struct DoneAtomic {
    psn: Psn,
    msn: u32,
    original: u64,
}

/// Why a request in sequence is not carried out.
enum Refusal {
    /// There is no receive buffer now.
    NotReady,
    /// It ends the connection.
    Fatal(NakCode),
    /// As before, and the receive buffer completes with an error.
    TooLong(ReceiveRequest),
}

/// The responder's side of a queue pair.
#[derive(Clone, Debug)]
pub(super) struct Responder {
    expected: Psn,
    /// Messages completed, 24 bits.
    msn: u32,
    /// Whether the gap before what arrives now was said.
    has_said_gap: bool,
    message: Option<Message>,
    buffers: VecDeque<ReceiveRequest>,
    answers: Answers,
    atomics: VecDeque<DoneAtomic>,
    reorder: Option<Reorder>,
    has_failed: bool,
}

impl Responder {
    pub(super) fn new(settings: &QueuePairSettings) -> Self {
        let reorder = match settings.recovery {
            Recovery::GoBackN => None,
            Recovery::SelectiveRepeat { window_packets } => Some(Reorder::new(window_packets)),
        };
        Self {
            expected: Psn::default(),
            msn: 0,
            has_said_gap: false,
            message: None,
            buffers: VecDeque::new(),
            answers: Answers::default(),
            atomics: VecDeque::new(),
            reorder,
            has_failed: false,
        }
    }

    pub(super) const fn connect(&mut self, expected: Psn) {
        self.expected = expected;
    }

    pub(super) const fn has_failed(&self) -> bool {
        self.has_failed
    }

    pub(super) fn post(&mut self, buffer: ReceiveRequest) {
        self.buffers.push_back(buffer);
    }

    pub(super) fn is_control_due(&self) -> bool {
        self.answers.is_control_due()
    }

    pub(super) fn is_data_due(&self) -> bool {
        self.answers.is_data_due()
    }

    pub(super) fn build(&mut self, destination: u32, mtu: u32) -> Option<Built> {
        self.answers.build(destination, mtu)
    }

    /// A request has come.
    pub(super) fn on_request<M: Memory>(
        &mut self,
        arrived: Arrived<'_>,
        context: &mut Context<'_>,
        memory: &mut M,
    ) {
        if self.has_failed {
            return;
        }
        let psn = arrived.headers.psn;
        if psn == self.expected {
            if !self.process(arrived, context, memory) {
                return;
            }
            while let Some((kept, payload)) = self.take_kept() {
                let (headers, bytes) = (kept.headers, kept.payload_bytes);
                let arrived = Arrived {
                    headers: &headers,
                    payload_bytes: bytes,
                    payload: payload.as_deref(),
                    telemetry: None,
                };
                let goes_on = self.process(arrived, context, memory);
                if let Some(reorder) = &mut self.reorder {
                    reorder.give_back(headers.psn, payload);
                }
                if !goes_on {
                    return;
                }
            }
        } else if psn.is_before(self.expected) {
            context.counters.duplicates += 1;
            self.on_duplicate(arrived.headers, context);
        } else {
            context.counters.out_of_sequence += 1;
            self.on_gap(arrived, context);
        }
    }

    fn take_kept(&mut self) -> Option<(super::reorder::Kept, Option<Vec<u8>>)> {
        let expected = self.expected;
        self.reorder.as_mut()?.take(expected)
    }

    /// A packet before which another is missing.
    fn on_gap(&mut self, arrived: Arrived<'_>, context: &mut Context<'_>) {
        let (expected, msn) = (self.expected, self.msn);
        let headers = arrived.headers;
        if let Some(reorder) = &mut self.reorder {
            let numbers = match headers.opcode.kind {
                Kind::ReadRequest => headers.reth.bytes.div_ceil(context.settings.mtu).max(1),
                _ => 1,
            };
            let (bytes, payload) = (arrived.payload_bytes, arrived.payload);
            if reorder.keep(headers, expected, numbers, bytes, payload) {
                context.counters.reordered += 1;
            }
            let selective = reorder.say(expected, headers.psn);
            self.answers.push(Answer::Selective { psn: expected, msn, selective });
            context.counters.nak_sequence_sent += 1;
        } else if !self.has_said_gap {
            self.has_said_gap = true;
            let syndrome = Syndrome::Nak(NakCode::SequenceError);
            self.answers.push(Answer::Acknowledge { psn: expected, msn, syndrome });
            context.counters.nak_sequence_sent += 1;
        }
    }

    /// A request that came before: what it did is not done again.
    fn on_duplicate(&mut self, headers: &TransportHeaders, context: &mut Context<'_>) {
        match headers.opcode.kind {
            Kind::ReadRequest => {
                if self.answers.rewind(headers.psn) {
                    return;
                }
                // Memory is read again, as InfiniBand says; what is not allowed gets no answer.
                if self.answers.reads() < 2 * u32::from(context.settings.reads_max)
                    && let Some(read) = self.read_of(headers, context)
                {
                    self.answers.push(Answer::Read(read));
                }
            }
            Kind::Atomic => {
                let done = self.atomics.iter().find(|done| done.psn == headers.psn);
                if let Some(&DoneAtomic { psn, msn, original }) = done {
                    self.answers.push(Answer::Atomic { psn, msn, original });
                }
            }
            _ => self.acknowledge(context),
        }
    }

    /// Everything until now has arrived.
    fn acknowledge(&mut self, context: &mut Context<'_>) {
        let (psn, msn) = (self.expected.minus(1), self.msn);
        self.answers.push(Answer::Acknowledge { psn, msn, syndrome: Syndrome::Acknowledge });
        context.counters.acks_sent += 1;
    }

    /// The request that is expected; whether what comes after it may be carried out.
    fn process<M: Memory>(
        &mut self,
        arrived: Arrived<'_>,
        context: &mut Context<'_>,
        memory: &mut M,
    ) -> bool {
        let headers = arrived.headers;
        self.has_said_gap = false;
        let numbers = match self.carry_out(arrived, context, memory) {
            Ok(numbers) => numbers,
            Err(refusal) => {
                self.refuse(refusal, context);
                return false;
            }
        };
        let before = self.expected;
        self.expected = before.plus(numbers);
        if let Some(reorder) = &mut self.reorder {
            reorder.passed(before, self.expected);
        }
        context.counters.received_bytes += u64::from(arrived.payload_bytes);
        if headers.asks_acknowledge && matches!(headers.opcode.kind, Kind::Send | Kind::Write) {
            self.acknowledge(context);
        }
        true
    }

    fn refuse(&mut self, refusal: Refusal, context: &mut Context<'_>) {
        let (psn, msn) = (self.expected, self.msn);
        let code = match refusal {
            Refusal::NotReady => {
                // What follows is out of sequence, and the requester knows.
                self.has_said_gap = true;
                let syndrome = Syndrome::Rnr { timer: context.settings.rnr_timer };
                self.answers.push(Answer::Acknowledge { psn, msn, syndrome });
                context.counters.rnr_sent += 1;
                return;
            }
            Refusal::Fatal(code) => code,
            Refusal::TooLong(buffer) => {
                let done = Done::Receive { immediate: None };
                complete(buffer.id, done, Status::LocalLength, buffer.bytes, context);
                NakCode::InvalidRequest
            }
        };
        self.answers.push(Answer::Acknowledge { psn, msn, syndrome: Syndrome::Nak(code) });
        context.counters.nak_fatal_sent += 1;
        self.fail(context);
    }

    /// Nothing more is carried out; buffers are handed back.
    pub(super) fn fail(&mut self, context: &mut Context<'_>) {
        self.has_failed = true;
        if let Some(Message::Send { buffer, .. }) = self.message.take() {
            self.buffers.push_front(buffer);
        }
        for buffer in std::mem::take(&mut self.buffers) {
            complete(buffer.id, Done::Receive { immediate: None }, Status::Flushed, 0, context);
        }
    }

    /// Carries the request out; the numbers it takes.
    fn carry_out<M: Memory>(
        &mut self,
        arrived: Arrived<'_>,
        context: &mut Context<'_>,
        memory: &mut M,
    ) -> Result<u32, Refusal> {
        let headers = arrived.headers;
        let invalid = Refusal::Fatal(NakCode::InvalidRequest);
        let (kind, position) = (headers.opcode.kind, headers.opcode.position);
        let is_message = matches!(kind, Kind::Send | Kind::Write);
        if position.begins() == self.message.is_some() {
            return Err(invalid);
        }
        if is_message {
            let (bytes, mtu) = (arrived.payload_bytes, context.settings.mtu);
            let is_right = match (position.begins(), position.ends()) {
                (_, false) => bytes == mtu,
                (true, true) => bytes <= mtu,
                (false, true) => bytes > 0 && bytes <= mtu,
            };
            if !is_right {
                return Err(invalid);
            }
        }
        match kind {
            Kind::Send => self.send(arrived, context, memory).map(|()| 1),
            Kind::Write => self.write(arrived, context, memory).map(|()| 1),
            Kind::ReadRequest => {
                if self.answers.reads() >= 2 * u32::from(context.settings.reads_max)
                    || headers.reth.bytes > 1 << 31
                {
                    return Err(invalid);
                }
                let access = Refusal::Fatal(NakCode::RemoteAccess);
                let mut read = self.read_of(headers, context).ok_or(access)?;
                self.count_message();
                read.msn = self.msn;
                self.answers.push(Answer::Read(read));
                Ok(read.packets)
            }
            Kind::Atomic => {
                let request = headers.atomic.ok_or(invalid)?;
                self.atomic(request, context, memory).map(|()| 1)
            }
            _ => Err(invalid),
        }
    }

    fn send<M: Memory>(
        &mut self,
        arrived: Arrived<'_>,
        context: &mut Context<'_>,
        memory: &mut M,
    ) -> Result<(), Refusal> {
        let (buffer, before) = match self.message {
            None => (self.buffers.pop_front().ok_or(Refusal::NotReady)?, 0),
            Some(Message::Send { buffer, bytes }) => (buffer, bytes),
            Some(Message::Write { .. }) => return Err(Refusal::Fatal(NakCode::InvalidRequest)),
        };
        self.message = None;
        let bytes = before.saturating_add(arrived.payload_bytes);
        if bytes > buffer.bytes {
            return Err(Refusal::TooLong(buffer));
        }
        if let Some(payload) = arrived.payload.filter(|payload| !payload.is_empty()) {
            memory.write(buffer.local.plus(u64::from(before)), payload);
        }
        let opcode = arrived.headers.opcode;
        if opcode.position.ends() {
            self.count_message();
            let immediate = opcode.has_immediate.then_some(arrived.headers.immediate);
            complete(buffer.id, Done::Receive { immediate }, Status::Success, bytes, context);
        } else {
            self.message = Some(Message::Send { buffer, bytes });
        }
        Ok(())
    }

    fn write<M: Memory>(
        &mut self,
        arrived: Arrived<'_>,
        context: &mut Context<'_>,
        memory: &mut M,
    ) -> Result<(), Refusal> {
        let headers = arrived.headers;
        let (place, before, left) = match self.message {
            None => {
                let Reth { address, key, bytes } = headers.reth;
                let place = match bytes {
                    0 => None,
                    _ => {
                        let found = context.regions.find(Remote { address, key }, bytes);
                        Some(found.ok_or(Refusal::Fatal(NakCode::RemoteAccess))?)
                    }
                };
                (place, 0, bytes)
            }
            Some(Message::Write { place, bytes, left }) => (place, bytes, left),
            Some(Message::Send { .. }) => return Err(Refusal::Fatal(NakCode::InvalidRequest)),
        };
        let came = arrived.payload_bytes;
        let opcode = headers.opcode;
        let ends = opcode.position.ends();
        if came > left || ends != (came == left) {
            return Err(Refusal::Fatal(NakCode::InvalidRequest));
        }
        let bytes = before.saturating_add(came);
        if ends && opcode.has_immediate {
            let buffer = self.buffers.pop_front().ok_or(Refusal::NotReady)?;
            let done = Done::ReceiveWrite { immediate: headers.immediate };
            complete(buffer.id, done, Status::Success, bytes, context);
        }
        if let (Some(place), Some(payload)) = (place, arrived.payload) {
            memory.write(place, payload);
        }
        if ends {
            self.message = None;
            self.count_message();
        } else {
            let place = place.map(|place| place.plus(u64::from(came)));
            self.message = Some(Message::Write { place, bytes, left: left - came });
        }
        Ok(())
    }

    fn atomic<M: Memory>(
        &mut self,
        request: AtomicRequest,
        context: &mut Context<'_>,
        memory: &mut M,
    ) -> Result<(), Refusal> {
        let AtomicRequest { address, key, operation } = request;
        if address % 8 != 0 {
            return Err(Refusal::Fatal(NakCode::InvalidRequest));
        }
        let found = context.regions.find(Remote { address, key }, 8);
        let place = found.ok_or(Refusal::Fatal(NakCode::RemoteAccess))?;
        let original = memory.atomic(place, operation);
        self.count_message();
        if self.atomics.len() >= usize::from(context.settings.reads_max).max(1) {
            self.atomics.pop_front();
        }
        let (psn, msn) = (self.expected, self.msn);
        self.atomics.push_back(DoneAtomic { psn, msn, original });
        self.answers.push(Answer::Atomic { psn, msn, original });
        Ok(())
    }

    /// The answer that a READ asks for, if it may.
    fn read_of(&self, headers: &TransportHeaders, context: &Context<'_>) -> Option<Read> {
        let Reth { address, key, bytes } = headers.reth;
        let place = match bytes {
            0 => Place { region: crate::memory::RegionId(0), offset: 0 },
            _ => context.regions.find(Remote { address, key }, bytes)?,
        };
        let packets = bytes.div_ceil(context.settings.mtu).max(1);
        let (first, msn) = (headers.psn, self.msn);
        Some(Read { first, packets, msn, place, bytes, sent_packets: 0 })
    }

    const fn count_message(&mut self) {
        self.msn = (self.msn + 1) & 0xFF_FFFF;
    }
}

fn complete(id: u64, done: Done, status: Status, bytes: u32, context: &mut Context<'_>) {
    let queue_pair = context.queue_pair;
    context.completions.push_back(Completion { queue_pair, id, done, status, bytes });
}
