//! What a responder has yet to answer, in order: an acknowledgment must not overtake the answer of
//! a READ before it.

use super::Built;
use crate::psn::Psn;
use crate::wire::{Kind, NakCode, Opcode, Position, Selective, Syndrome, TransportHeaders};
use crate::work::Place;
use std::collections::VecDeque;

/// One answer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Answer {
    Acknowledge {
        psn: Psn,
        msn: u32,
        syndrome: Syndrome,
    },
    /// A sequence NAK of selective repeat.
    Selective {
        psn: Psn,
        msn: u32,
        selective: Selective,
    },
    /// What is left of a READ.
    Read(Read),
    Atomic {
        psn: Psn,
        msn: u32,
        original: u64,
    },
}

/// The answer of a READ.
#[derive(Clone, Copy, Debug)]
pub(super) struct Read {
    pub(super) first: Psn,
    pub(super) packets: u32,
    pub(super) msn: u32,
    pub(super) place: Place,
    pub(super) bytes: u32,
    /// Packets of it that were sent.
    pub(super) sent_packets: u32,
}

/// The answers of a queue pair.
#[derive(Clone, Debug, Default)]
pub(super) struct Answers {
    queue: VecDeque<Answer>,
    reads: u32,
}

impl Answers {
    /// READs that wait.
    pub(super) const fn reads(&self) -> u32 {
        self.reads
    }

    /// Whether the next answer carries no payload, and so waits for no departure time.
    pub(super) fn is_control_due(&self) -> bool {
        self.queue.front().is_some_and(|answer| !matches!(answer, Answer::Read(_)))
    }

    pub(super) fn is_data_due(&self) -> bool {
        self.queue.front().is_some_and(|answer| matches!(answer, Answer::Read(_)))
    }

    /// An acknowledgment takes the place of the one before it, if nothing stands between.
    pub(super) fn push(&mut self, answer: Answer) {
        let is_positive =
            |it: &Answer| matches!(it, Answer::Acknowledge { syndrome: Syndrome::Acknowledge, .. });
        let is_selective = |it: &Answer| matches!(it, Answer::Selective { .. });
        let replaces = self.queue.back().is_some_and(|last| {
            is_positive(last) && is_positive(&answer)
                || is_selective(last) && is_selective(&answer) && !loses(last, &answer)
        });
        if replaces {
            self.queue.pop_back();
        }
        self.reads += u32::from(matches!(answer, Answer::Read(_)));
        self.queue.push_back(answer);
    }

    /// A READ asks again for what stands in an answer that waits: it is sent from there on. Whether
    /// there is such an answer.
    pub(super) fn rewind(&mut self, psn: Psn) -> bool {
        for answer in &mut self.queue {
            if let Answer::Read(read) = answer
                && psn.since(read.first) < read.packets
            {
                read.sent_packets = read.sent_packets.min(psn.since(read.first));
                return true;
            }
        }
        false
    }

    /// The next packet.
    pub(super) fn build(&mut self, destination: u32, mtu: u32) -> Option<Built> {
        let new = |kind, position, psn, msn| {
            let mut headers = TransportHeaders::new(Opcode::new(kind, position), destination, psn);
            headers.msn = msn;
            headers
        };
        let front = self.queue.front_mut()?;
        let mut built = Built {
            headers: new(Kind::Acknowledge, Position::Only, Psn::default(), 0),
            payload: None,
            is_repetition: false,
            telemetry: None,
        };
        match front {
            Answer::Acknowledge { psn, msn, syndrome } => {
                built.headers = new(Kind::Acknowledge, Position::Only, *psn, *msn);
                built.headers.syndrome = *syndrome;
            }
            Answer::Selective { psn, msn, selective } => {
                built.headers = new(Kind::Acknowledge, Position::Only, *psn, *msn);
                built.headers.syndrome = Syndrome::Nak(NakCode::SequenceError);
                built.headers.selective = Some(*selective);
            }
            Answer::Atomic { psn, msn, original } => {
                built.headers = new(Kind::AtomicAcknowledge, Position::Only, *psn, *msn);
                built.headers.original = *original;
            }
            Answer::Read(read) => {
                let index = read.sent_packets;
                let psn = read.first.plus(index);
                built.headers =
                    new(Kind::ReadResponse, Position::of(index, read.packets), psn, read.msn);
                let offset = u64::from(index) * u64::from(mtu);
                let left = u64::from(read.bytes).saturating_sub(offset);
                let bytes = u32::try_from(left).unwrap_or(mtu).min(mtu);
                built.payload = Some((read.place.plus(offset), bytes));
                read.sent_packets += 1;
                if read.sent_packets < read.packets {
                    return Some(built);
                }
                self.reads -= 1;
            }
        }
        self.queue.pop_front();
        Some(built)
    }
}

/// Whether `later` says less than `earlier` about packets that have arrived.
fn loses(earlier: &Answer, later: &Answer) -> bool {
    let (Answer::Selective { selective: earlier, .. }, Answer::Selective { selective: later, .. }) =
        (earlier, later)
    else {
        return false;
    };
    earlier.first.is_before(later.first)
}
