//! What workers publish of the parts of a VIQ (virtual ingress queue) whose port has several
//! receive queues: a word for each queue and priority, with one writer and no read-modify-write.
//!
//! A word says how many bytes the part holds, and whether the queue's receive ring is backlogged.
//! It is written at the end of a turn and read at the beginning of one. What a stale word can admit
//! is [`stale_bytes`](crate::settings::stale_bytes).

use super::{Buffer, ViqId};
use crate::ids::{PortId, Priority};
use crate::limits::PRIORITIES;
use crate::padded_atomic::{AtomicU64, Ordering};
use crate::rx_queues::{RxQueue, siblings};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// The parts of one receive queue, by priority: a cache line.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Row([AtomicU64; PRIORITIES]);

/// Bit of a word: the receive ring is backlogged.
const BACKLOGGED: u64 = 1 << 63;

/// What all workers publish, by receive queue. Only the worker that polls a queue writes its row.
#[derive(Debug)]
pub struct Parts(Box<[Row]>);

/// What the other queues of a port hold in one priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Others {
    base_bytes: u32,
    headroom_bytes: u32,
    is_backlogged: bool,
}

impl Parts {
    /// Nothing published yet, for a switch of so many receive queues.
    pub fn new(queues: usize) -> Self {
        Self((0..queues).map(|_| Row::default()).collect())
    }

    fn write(&self, viq: ViqId, word: u64) {
        self.0[viq.port_index()].0[viq.priority().index()].store(word, Ordering::Relaxed);
    }

    fn read(&self, queue: PortId, priority: Priority) -> u64 {
        self.0[queue.index()].0[priority.index()].load(Ordering::Relaxed)
    }
}

/// A receive queue of this worker whose port has others.
#[derive(Debug)]
struct Shared {
    queue: PortId,
    /// The priorities whose VIQs are in parts that matter: a lossy VIQ has no threshold.
    lossless_bits: u8,
    others: Vec<PortId>,
    published: [u64; PRIORITIES],
}

/// One worker's parts, and its view of the others.
#[derive(Debug)]
pub(crate) struct SharedQueues {
    parts: Arc<Parts>,
    shared: Vec<Shared>,
}

impl SharedQueues {
    /// Of a worker that polls `own`, which are among `all`.
    pub(crate) fn new(
        parts: Arc<Parts>,
        all: &[RxQueue],
        own: &[RxQueue],
        lossless_bits: impl Fn(PortId) -> u8,
    ) -> Self {
        let shared = own.iter().map(|&queue| Shared {
            queue: queue.id,
            lossless_bits: lossless_bits(queue.port),
            others: siblings(all, queue).map(|other| other.id).collect(),
            published: [0; PRIORITIES],
        });
        Self { parts, shared: shared.filter(|shared| !shared.others.is_empty()).collect() }
    }

    /// Whether any of the worker's queues shares its port with another.
    pub(crate) const fn is_empty(&self) -> bool {
        self.shared.is_empty()
    }

    /// Reads what other queues hold into `buffer`. Tells `backlogged` of each queue whether the
    /// receive ring of another queue of its port is.
    pub(crate) fn read(&self, buffer: &mut Buffer, mut backlogged: impl FnMut(PortId, bool)) {
        for shared in &self.shared {
            let mut is_backlogged = false;
            for priority in Priority::in_bits(shared.lossless_bits) {
                let others = shared.others.iter().map(|&other| self.parts.read(other, priority));
                let sum = others.fold(Others::default(), Others::plus);
                is_backlogged |= sum.is_backlogged;
                let viq = ViqId::new(shared.queue, priority);
                buffer.set_others(viq, sum.base_bytes, sum.headroom_bytes);
            }
            backlogged(shared.queue, is_backlogged);
        }
    }

    /// Publishes what the worker's own queues hold.
    pub(crate) fn publish(&mut self, buffer: &Buffer, is_backlogged: impl Fn(PortId) -> bool) {
        for shared in &mut self.shared {
            let backlogged = if is_backlogged(shared.queue) { BACKLOGGED } else { 0 };
            for priority in Priority::in_bits(shared.lossless_bits) {
                let viq = ViqId::new(shared.queue, priority);
                let part = buffer.viq(viq);
                let word = u64::from(part.base_bytes())
                    | u64::from(part.headroom_used_bytes()) << 32
                    | backlogged;
                if core::mem::replace(&mut shared.published[priority.index()], word) != word {
                    self.parts.write(viq, word);
                }
            }
        }
    }
}

impl Others {
    /// With the part of `word`.
    fn plus(self, word: u64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "two halves of a word")]
        let (base_bytes, headroom_bytes) = (word as u32, ((word & !BACKLOGGED) >> 32) as u32);
        Self {
            base_bytes: self.base_bytes.saturating_add(base_bytes),
            headroom_bytes: self.headroom_bytes.saturating_add(headroom_bytes),
            is_backlogged: self.is_backlogged || word & BACKLOGGED != 0,
        }
    }
}

#[cfg(all(test, loom))]
#[path = "parts_loom.rs"]
mod tests;
