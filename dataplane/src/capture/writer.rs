//! The write end of the ring of records of one worker.

use super::CaptureSettings;
use super::record::{HEAD_BYTES, Kind, Record};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use core::sync::atomic::{AtomicU64, Ordering};
use rtrb::Producer;

/// Puts records into the ring, and counts those that find no room.
#[derive(Debug)]
pub(super) struct Writer {
    worker: u8,
    missed: u32,
    missed_in_all: Arc<AtomicU64>,
    ring: Producer<u8>,
    /// A whole record.
    whole: Box<[u8]>,
}

impl Writer {
    /// For records of `worker` with up to `snap_bytes` of a frame.
    pub(super) fn new(
        worker: u8,
        snap_bytes: usize,
        ring: Producer<u8>,
        missed_in_all: Arc<AtomicU64>,
    ) -> Self {
        let whole = vec![0; HEAD_BYTES + snap_bytes].into_boxed_slice();
        Self { worker, missed: 0, missed_in_all, ring, whole }
    }

    /// Puts a record into the ring, if it is of a port and a class that are wanted.
    pub(super) fn push(&mut self, wanted: &CaptureSettings, record: &Record, captured: &[u8]) {
        // A drop is also looked for where the frame came in.
        let from = record.in_port.filter(|_| record.kind == Kind::Drop);
        let is_of_port = wanted.is_at(record.port) || from.is_some_and(|port| wanted.is_at(port));
        let class = wanted.class;
        let is_of_class = class.is_none() || record.in_class == class || record.out_class == class;
        if !is_of_port || !is_of_class {
            return;
        }
        let record = Record { worker: self.worker, missed: self.missed, ..*record };
        let Some((head, rest)) = self.whole.split_first_chunk_mut::<HEAD_BYTES>() else { return };
        let snap_bytes = captured.len().min(rest.len());
        record.write(u16::try_from(snap_bytes).unwrap_or(u16::MAX), head);
        rest[..snap_bytes].copy_from_slice(&captured[..snap_bytes]);
        if self.ring.push_entire_slice(&self.whole[..HEAD_BYTES + snap_bytes]).is_ok() {
            self.missed = 0;
        } else {
            self.missed = self.missed.saturating_add(1);
            // Written by this worker only.
            let missed = self.missed_in_all.load(Ordering::Relaxed) + 1;
            self.missed_in_all.store(missed, Ordering::Relaxed);
        }
    }
}
