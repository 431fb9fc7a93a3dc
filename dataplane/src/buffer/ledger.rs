//! What crosses workers: bytes released, and what each worker's VIQs hold of the pool.
//!
//! A frame that leaves by another worker's port is released there, but its VIQ belongs to the
//! worker of the port it came in by. So each worker writes, in a [`Ledger`] of its own, the bytes
//! it has ever released for each foreign VIQ, and the owner reads how far that has come since it
//! last looked. One writer for each word, no read-modify-write; a row is one cache line, one port's
//! eight priorities.
//!
//! A stale read makes the owner believe in more bytes than there are: it pauses a turn early or
//! resumes a turn late, and never loses a frame.

use super::{Buffer, ViqId};
use crate::ids::{PortId, Priority};
use crate::limits::PRIORITIES;
use crate::published::{AtomicU64, Line, Ordering};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

/// One ingress port's released bytes, by priority: a cache line.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Row([AtomicU64; PRIORITIES]);

/// What one worker tells the others. Written by that worker alone.
#[derive(Debug)]
pub struct Ledger {
    /// Raised after each change of `rows`, so that readers need not look at all of them.
    version: Line,
    shared_bytes: Line,
    lossy_bytes: Line,
    rows: Box<[Row]>,
}

impl Ledger {
    /// An empty ledger for a switch of `ports` ports.
    pub fn new(ports: usize) -> Self {
        Self {
            version: Line::default(),
            shared_bytes: Line::default(),
            lossy_bytes: Line::default(),
            rows: (0..ports).map(|_| Row::default()).collect(),
        }
    }

    /// What the writer's VIQs hold of the pool: (lossless shared, lossy) bytes, a turn old at most.
    pub fn used_bytes(&self) -> (u64, u64) {
        (self.shared_bytes.0.load(Ordering::Relaxed), self.lossy_bytes.0.load(Ordering::Relaxed))
    }
}

/// The pen of the one worker that writes a ledger. It knows by heart what it wrote, so it only ever
/// stores to lines that others read.
#[derive(Debug)]
pub struct LedgerWriter {
    ledger: Arc<Ledger>,
    version: u64,
    released_bytes: Vec<[u64; PRIORITIES]>,
}

impl LedgerWriter {
    /// The writer of `ledger`, of which there must be no other.
    pub fn new(ledger: Arc<Ledger>) -> Self {
        let ports = ledger.rows.len();
        Self { ledger, version: 0, released_bytes: vec![[0; PRIORITIES]; ports] }
    }

    /// Publishes what this worker's VIQs hold of the pool.
    pub fn publish_use(&self, shared_bytes: u64, lossy_bytes: u64) {
        self.ledger.shared_bytes.0.store(shared_bytes, Ordering::Relaxed);
        self.ledger.lossy_bytes.0.store(lossy_bytes, Ordering::Relaxed);
    }

    /// Notes that `cost_bytes` more of `viq` have left; [`Self::publish_releases`] makes it seen.
    #[inline(always)]
    pub fn add_release(&mut self, viq: ViqId, cost_bytes: u32) {
        let (port, priority) = (viq.port_index(), viq.priority().index());
        let released_bytes = &mut self.released_bytes[port][priority];
        *released_bytes += u64::from(cost_bytes);
        self.ledger.rows[port].0[priority].store(*released_bytes, Ordering::Relaxed);
    }

    /// Makes the releases added so far seen by readers.
    pub fn publish_releases(&mut self) {
        self.version += 1;
        self.ledger.version.0.store(self.version, Ordering::Release);
    }
}

/// How far a worker has read another worker's ledger.
#[derive(Debug)]
pub struct LedgerReader {
    ledger: Arc<Ledger>,
    version: u64,
    seen_bytes: Vec<[u64; PRIORITIES]>,
}

impl LedgerReader {
    /// A reader that has seen nothing of `ledger` yet.
    pub fn new(ledger: Arc<Ledger>) -> Self {
        let ports = ledger.rows.len();
        Self { ledger, version: 0, seen_bytes: vec![[0; PRIORITIES]; ports] }
    }

    /// What the writer's VIQs hold of the pool: (lossless shared, lossy) bytes.
    pub fn used_bytes(&self) -> (u64, u64) {
        self.ledger.used_bytes()
    }

    /// Releases in `buffer` what has left of the VIQs of `own_ports` since the last call.
    pub fn collect(&mut self, own_ports: &[PortId], buffer: &mut Buffer) {
        let version = self.ledger.version.0.load(Ordering::Acquire);
        if version == self.version {
            return;
        }
        self.version = version;
        for &port in own_ports {
            let row = &self.ledger.rows[port.index()].0;
            let seen = &mut self.seen_bytes[port.index()];
            for (priority, cell) in Priority::all().zip(row) {
                let released = cell.load(Ordering::Relaxed);
                let fresh = released - seen[priority.index()];
                seen[priority.index()] = released;
                // A turn releases less than a buffer, and a buffer is less than 4 GiB a VIQ.
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
