//! What workers publish about the buffer: bytes released, and the pool bytes that their VIQs use.
//!
//! A frame that leaves by another worker's port is released there, but its VIQ belongs to the
//! worker that owns its ingress port. So each worker has a [`Ledger`], in which it writes the total
//! of bytes that it has released for each foreign VIQ. The owner reads the increase since its last
//! read. Each word has one writer and needs no read-modify-write. A row is one cache line: the
//! eight priorities of one port.
//!
//! After a stale read the owner counts more bytes than are in the buffer. It then pauses a turn
//! early or resumes a turn late, and never loses a frame.

use super::{Buffer, ViqId};
use crate::ids::{PortId, Priority};
use crate::limits::PRIORITIES;
use crate::padded_atomic::{AtomicU64, Ordering, PaddedAtomic};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

/// The released bytes of one ingress port, by priority: a cache line.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Row([AtomicU64; PRIORITIES]);

/// What one worker publishes to the others. Only that worker writes it.
#[derive(Debug)]
pub struct Ledger {
    /// Incremented after each change of `rows`, so that readers need not read all rows.
    version: PaddedAtomic,
    shared_bytes: PaddedAtomic,
    lossy_bytes: PaddedAtomic,
    /// Headroom in use, if VIQs share it.
    headroom_bytes: PaddedAtomic,
    /// Of a pool in partitions: the shared bytes in use, by priority.
    partition_bytes: Row,
    rows: Box<[Row]>,
}

impl Ledger {
    /// An empty ledger for a switch of `ports` ports.
    pub fn new(ports: usize) -> Self {
        Self {
            version: PaddedAtomic::default(),
            shared_bytes: PaddedAtomic::default(),
            lossy_bytes: PaddedAtomic::default(),
            headroom_bytes: PaddedAtomic::default(),
            partition_bytes: Row::default(),
            rows: (0..ports).map(|_| Row::default()).collect(),
        }
    }

    /// The pool bytes that the writer's VIQs use: (lossless shared, lossy), at most a turn old.
    pub(crate) fn used_bytes(&self) -> (u64, u64) {
        (self.shared_bytes.0.load(Ordering::Relaxed), self.lossy_bytes.0.load(Ordering::Relaxed))
    }

    /// The same of each partition of the lossless pool, by priority.
    pub(crate) fn partition_use(&self) -> [u64; PRIORITIES] {
        core::array::from_fn(|p| self.partition_bytes.0[p].load(Ordering::Relaxed))
    }
}

/// The write end of a ledger. It keeps a copy of all values, so it only stores to the cache lines
/// that others read, and never loads them.
#[derive(Debug)]
pub struct LedgerWriter {
    ledger: Arc<Ledger>,
    version: u64,
    released_bytes: Vec<[u64; PRIORITIES]>,
}

impl LedgerWriter {
    /// The only writer of `ledger`.
    pub fn new(ledger: Arc<Ledger>) -> Self {
        let ports = ledger.rows.len();
        Self { ledger, version: 0, released_bytes: vec![[0; PRIORITIES]; ports] }
    }

    /// Publishes the pool bytes that this worker's VIQs use.
    pub(crate) fn publish_use(&self, shared_bytes: u64, lossy_bytes: u64) {
        self.ledger.shared_bytes.0.store(shared_bytes, Ordering::Relaxed);
        self.ledger.lossy_bytes.0.store(lossy_bytes, Ordering::Relaxed);
    }

    /// Publishes the headroom that this worker's VIQs use.
    pub(crate) fn publish_headroom_use(&self, bytes: u64) {
        self.ledger.headroom_bytes.0.store(bytes, Ordering::Relaxed);
    }

    /// Publishes what of each partition this worker's VIQs use, by priority.
    pub(crate) fn publish_partition_use(&self, bytes: &[u64; PRIORITIES]) {
        for (cell, &bytes) in self.ledger.partition_bytes.0.iter().zip(bytes) {
            cell.store(bytes, Ordering::Relaxed);
        }
    }

    /// Adds `cost_bytes` released for `viq`; [`Self::publish_releases`] makes them visible.
    #[inline(always)]
    pub(crate) fn add_release(&mut self, viq: ViqId, cost_bytes: u32) {
        let (port, priority) = (viq.port_index(), viq.priority().index());
        let released_bytes = &mut self.released_bytes[port][priority];
        *released_bytes += u64::from(cost_bytes);
        self.ledger.rows[port].0[priority].store(*released_bytes, Ordering::Relaxed);
    }

    /// Makes the releases added so far visible to readers.
    pub(crate) fn publish_releases(&mut self) {
        self.version += 1;
        self.ledger.version.0.store(self.version, Ordering::Release);
    }
}

/// The read end of another worker's ledger.
#[derive(Debug)]
pub struct LedgerReader {
    ledger: Arc<Ledger>,
    version: u64,
    seen_bytes: Vec<[u64; PRIORITIES]>,
}

impl LedgerReader {
    /// A reader that has read nothing of `ledger` yet.
    pub fn new(ledger: Arc<Ledger>) -> Self {
        let ports = ledger.rows.len();
        Self { ledger, version: 0, seen_bytes: vec![[0; PRIORITIES]; ports] }
    }

    /// The pool bytes that the writer's VIQs use: (lossless shared, lossy).
    pub(crate) fn used_bytes(&self) -> (u64, u64) {
        self.ledger.used_bytes()
    }

    /// The headroom that the writer's VIQs use.
    pub(crate) fn headroom_use(&self) -> u64 {
        self.ledger.headroom_bytes.0.load(Ordering::Relaxed)
    }

    /// The same of each partition of the lossless pool, by priority.
    pub(crate) fn partition_use(&self) -> [u64; PRIORITIES] {
        self.ledger.partition_use()
    }

    /// Releases in `buffer` what was released for the VIQs of `own_queues` since the last call.
    pub fn collect(&mut self, own_queues: &[PortId], buffer: &mut Buffer) {
        let version = self.ledger.version.0.load(Ordering::Acquire);
        if version == self.version {
            return;
        }
        self.version = version;
        for &port in own_queues {
            let row = &self.ledger.rows[port.index()].0;
            let seen = &mut self.seen_bytes[port.index()];
            for (priority, cell) in Priority::all().zip(row) {
                let released = cell.load(Ordering::Relaxed);
                let fresh = released - seen[priority.index()];
                seen[priority.index()] = released;
                // A turn releases less than a buffer, and a VIQ is less than 4 GiB of it.
                if let (Ok(fresh @ 1..), viq) = (u32::try_from(fresh), ViqId::new(port, priority)) {
                    buffer.release(viq, fresh);
                }
            }
        }
    }
}

#[cfg(all(test, loom))]
#[path = "ledger_loom.rs"]
mod tests;
