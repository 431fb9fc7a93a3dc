//! Chunks of queued frames: slots for eight of them, with their metadata.
//!
//! The frames of a burst that go to one queue mostly have the same metadata but for their lengths.
//! While all frames of a chunk do, it keeps that metadata once, and each frame's length: 10 bytes
//! are written and read for a frame, not 20. A frame with other metadata ends that.

use super::frame_meta::{FrameMeta, QueuedFrame};
use crate::frame::{Frame, length_bytes};

/// Frames per chunk. Few, so that a growing queue gets chunks that another queue has just freed and
/// that are still in the caches.
pub(crate) const CHUNK: usize = CHUNK_END as usize;
/// The slot index after a chunk's last.
pub(super) const CHUNK_END: u8 = 8;

/// Slots for frames, aligned to a cache line.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Chunk<F> {
    frames: [Option<F>; CHUNK],
    /// By frame, while there is [one run](Self::is_one_run).
    bytes: [u16; CHUNK],
    /// The metadata of each frame but its length, while there is one run.
    run: FrameMeta,
    /// Whether all frames have the same metadata but for the length.
    is_one_run: bool,
    /// By frame, if there are several runs.
    metas: [FrameMeta; CHUNK],
}

impl<F> Chunk<F> {
    pub(super) const fn new() -> Self {
        Self {
            frames: [const { None }; CHUNK],
            bytes: [0; CHUNK],
            run: FrameMeta::NONE,
            is_one_run: true,
            metas: [FrameMeta::NONE; CHUNK],
        }
    }

    /// The metadata of the frame at this slot, if there is one.
    #[inline(always)]
    pub(super) fn meta(&self, at: usize) -> Option<FrameMeta> {
        self.frames[at % CHUNK].is_some().then(|| self.meta_at(at))
    }

    #[inline(always)]
    fn meta_at(&self, at: usize) -> FrameMeta {
        if self.is_one_run {
            FrameMeta { bytes: self.bytes[at % CHUNK], ..self.run }
        } else {
            self.metas[at % CHUNK]
        }
    }

    /// Prepares the chunk, which has no frame if it `is_empty`, for one with this metadata. Returns
    /// whether there is one run then.
    #[inline(always)]
    fn join(&mut self, meta: &FrameMeta, is_empty: bool) -> bool {
        if is_empty {
            self.run = *meta;
            self.is_one_run = true;
        } else if self.is_one_run && !self.run.is_of_run(meta) {
            for (meta, bytes) in self.metas.iter_mut().zip(self.bytes) {
                *meta = FrameMeta { bytes, ..self.run };
            }
            self.is_one_run = false;
        }
        self.is_one_run
    }

    /// Puts a frame into an empty slot. The chunk has no other frame if it `is_empty`.
    #[inline(always)]
    pub(super) fn put(&mut self, at: u8, queued: QueuedFrame<F>, is_empty: bool) {
        let QueuedFrame { frame, meta } = queued;
        let at = at as usize % CHUNK;
        if self.join(&meta, is_empty) {
            self.bytes[at] = meta.bytes;
        } else {
            self.metas[at] = meta;
        }
        fill(&mut self.frames[at], frame);
    }
}

impl<F: Frame> Chunk<F> {
    /// Puts frames with this metadata, but for the length, into the slots from `at` on until there
    /// is no slot or no frame left. Returns their number and their bytes. The chunk has no other
    /// frame if it `is_empty`.
    #[inline(always)]
    pub(super) fn put_run(
        &mut self,
        at: u8,
        meta: &FrameMeta,
        frames: &mut impl Iterator<Item = F>,
        is_empty: bool,
    ) -> (u8, u32) {
        let (mut count, mut sum_bytes) = (0, 0);
        let from = (at as usize).min(CHUNK);
        if from == CHUNK {
            return (0, 0);
        }
        if self.join(meta, is_empty) {
            let places = self.frames[from..].iter_mut().zip(&mut self.bytes[from..]);
            for ((place, bytes), frame) in places.zip(frames) {
                *bytes = length_bytes(&frame);
                sum_bytes += u32::from(*bytes);
                count += 1;
                fill(place, frame);
            }
        } else {
            for (at, frame) in (at..CHUNK_END).zip(frames) {
                let queued = meta.queued(frame);
                sum_bytes += u32::from(queued.meta.bytes);
                count += 1;
                self.put(at, queued, false);
            }
        }
        (count, sum_bytes)
    }

    /// The frames in these slots.
    #[inline(always)]
    pub(super) fn front(&mut self, first: usize, end: usize) -> Front<'_, F> {
        Front { chunk: self, first, end }
    }
}

/// The first frames of a queue that are consecutive in memory. After frames were taken out, the
/// queue has to count them.
#[derive(Debug)]
pub struct Front<'a, F> {
    chunk: &'a mut Chunk<F>,
    first: usize,
    end: usize,
}

impl<'a, F: Frame> Front<'a, F> {
    /// Their number.
    #[inline(always)]
    pub const fn len(&self) -> usize {
        self.end.saturating_sub(self.first)
    }

    /// Whether there are none.
    #[inline(always)]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first `frames_max` of them.
    #[inline(always)]
    pub(super) fn up_to(self, frames_max: usize) -> Self {
        Self { end: self.end.min(self.first.saturating_add(frames_max)), ..self }
    }

    /// Their metadata, in order.
    #[inline(always)]
    pub(super) fn metas(&self) -> impl Iterator<Item = FrameMeta> {
        (self.first..self.end).map(|at| self.chunk.meta_at(at))
    }

    /// Takes the first frame.
    #[inline(always)]
    pub(super) fn take_first(self) -> Option<QueuedFrame<F>> {
        let frame = self.chunk.frames.get_mut(self.first..self.end)?.first_mut()?.take()?;
        Some(QueuedFrame { frame, meta: self.chunk.meta_at(self.first) })
    }

    /// The frames, if they are of one run.
    #[inline(always)]
    pub(crate) fn as_run(&mut self) -> Option<FrontRun<'_, F>> {
        let Self { chunk, first, end } = self;
        let lengths_bytes = chunk.bytes.get(*first..*end).filter(|_| chunk.is_one_run)?;
        let places = chunk.frames.get_mut(*first..*end)?;
        Some(FrontRun { meta: chunk.run, lengths_bytes, places })
    }

    /// Takes the frames, in order.
    #[inline(always)]
    pub fn drain(self) -> impl Iterator<Item = QueuedFrame<F>> + use<'a, F> {
        let Self { chunk, first, end } = self;
        (first..end).map_while(|at| {
            let frame = chunk.frames[at % CHUNK].take()?;
            Some(QueuedFrame { frame, meta: chunk.meta_at(at) })
        })
    }
}

/// Frames at the front of a queue with the same metadata but for their lengths.
#[derive(Debug)]
pub(crate) struct FrontRun<'a, F> {
    pub(crate) meta: FrameMeta,
    pub(crate) lengths_bytes: &'a [u16],
    /// The frames, to be taken.
    pub(crate) places: &'a mut [Option<F>],
}

/// Puts a frame into an empty slot. Does not read the slot: a read would wait for memory that is
/// not in the caches, a store does not.
#[inline(always)]
#[expect(clippy::mem_forget, reason = "what is forgotten is `None`")]
fn fill<F>(place: &mut Option<F>, frame: F) {
    debug_assert!(place.is_none(), "places that are in no queue are empty");
    core::mem::forget(place.replace(frame));
}
