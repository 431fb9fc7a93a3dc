//! FIFOs of queued frames, in chunks from the frame pool that all queues of a worker share.
//!
//! Any queue may have to hold every frame of the switch, and there may be 512 queues. So a queue is
//! a chain of chunks from one frame pool, which is allocated at start. No queue ever allocates, and
//! a queued frame costs a part of a cache line, not a list node of its own.

use super::chunk::{CHUNK, CHUNK_END, Chunk, Front};
use super::frame_meta::{FrameMeta, QueuedFrame};
use crate::frame::Frame;
use alloc::boxed::Box;

/// The chunk index that means "none".
const NONE: u32 = u32::MAX;

/// The chunks that all queues of a worker share.
#[derive(Debug)]
pub struct FramePool<F> {
    chunks: Box<[Chunk<F>]>,
    /// By chunk: the next chunk of its queue, or of the free list.
    next: Box<[u32]>,
    free: u32,
}

impl<F: Frame> FramePool<F> {
    /// A pool for `frames` frames spread over `queues` queues in any way: each queue may leave the
    /// chunk at its head and the chunk at its tail partly empty.
    pub fn new(frames: usize, queues: usize) -> Self {
        let count = frames.div_ceil(CHUNK) + 2 * queues;
        let count = u32::try_from(count).expect("fewer than 2^32 chunks");
        let chunks = (0..count).map(|_| Chunk::new()).collect();
        let next = (1..=count).map(|next| if next == count { NONE } else { next }).collect();
        Self { chunks, next, free: if count == 0 { NONE } else { 0 } }
    }

    #[inline]
    fn take(&mut self) -> Option<u32> {
        let index = self.free;
        self.free = core::mem::replace(self.next.get_mut(index as usize)?, NONE);
        Some(index)
    }

    fn give(&mut self, index: u32) {
        self.next[index as usize] = self.free;
        self.free = index;
    }

    /// Puts a frame into an empty slot of a chunk, which has no other frame if it `is_empty`.
    #[inline(always)]
    fn put(&mut self, chunk: u32, at: u8, queued: QueuedFrame<F>, is_empty: bool) {
        self.chunks[chunk as usize].put(at, queued, is_empty);
    }
}

/// A FIFO of frames. Every call takes the frame pool of its chunks, which must always be the same.
#[derive(Debug)]
pub(super) struct Fifo {
    head: u32,
    tail: u32,
    /// Slot of the first frame in the head chunk.
    first: u8,
    /// Slot after the last frame in the tail chunk.
    end: u8,
    /// Index of the ingress port of all frames. Kept only in queues that have an `IngressDrr`.
    pub(super) ingress: u16,
}

impl Default for Fifo {
    fn default() -> Self {
        Self { head: NONE, tail: NONE, first: 0, end: 0, ingress: 0 }
    }
}

impl Fifo {
    /// Whether the FIFO has no frames.
    #[inline(always)]
    pub(super) const fn is_empty(&self) -> bool {
        self.head == self.tail && self.first == self.end
    }

    /// Makes room for a frame at the end. Returns whether there is room, and whether the tail chunk
    /// has no frame.
    #[inline(always)]
    fn make_room<F: Frame>(&mut self, frame_pool: &mut FramePool<F>) -> Option<bool> {
        if self.tail != NONE && self.end != CHUNK_END {
            return Some(self.is_empty());
        }
        let fresh = frame_pool.take()?;
        if self.tail == NONE {
            self.head = fresh;
            self.first = 0;
        } else {
            frame_pool.next[self.tail as usize] = fresh;
        }
        self.tail = fresh;
        self.end = 0;
        Some(true)
    }

    /// Adds a frame at the end. Returns it if the frame pool is used up, which its size rules out.
    #[inline(always)]
    pub(super) fn push_back<F: Frame>(
        &mut self,
        frame_pool: &mut FramePool<F>,
        queued: QueuedFrame<F>,
    ) -> Result<(), QueuedFrame<F>> {
        let Some(is_empty) = self.make_room(frame_pool) else { return Err(queued) };
        frame_pool.put(self.tail, self.end, queued, is_empty);
        self.end += 1;
        Ok(())
    }

    /// Adds frames with the same metadata, but for their lengths, at the end; `refused` gets those
    /// for which the frame pool has no room. Returns the number of those that were added, and their
    /// bytes.
    #[inline(always)]
    pub(super) fn extend_run<F: Frame>(
        &mut self,
        frame_pool: &mut FramePool<F>,
        meta: &FrameMeta,
        mut frames: impl ExactSizeIterator<Item = F>,
        mut refused: impl FnMut(F),
    ) -> (u32, u32) {
        let (mut count, mut sum_bytes) = (0, 0);
        while frames.len() > 0 {
            let Some(is_empty) = self.make_room(frame_pool) else {
                frames.for_each(&mut refused);
                break;
            };
            let Some(chunk) = frame_pool.chunks.get_mut(self.tail as usize) else { break };
            let (more, bytes) = chunk.put_run(self.end, meta, &mut frames, is_empty);
            self.end += more;
            count += u32::from(more);
            sum_bytes += bytes;
        }
        (count, sum_bytes)
    }

    /// Puts a frame back at the front.
    #[inline(always)]
    pub(super) fn push_front<F: Frame>(
        &mut self,
        frame_pool: &mut FramePool<F>,
        queued: QueuedFrame<F>,
    ) -> Result<(), QueuedFrame<F>> {
        if self.is_empty() {
            return self.push_back(frame_pool, queued);
        }
        let is_empty = self.first == 0;
        if is_empty {
            let Some(fresh) = frame_pool.take() else { return Err(queued) };
            frame_pool.next[fresh as usize] = self.head;
            self.head = fresh;
            self.first = CHUNK_END;
        }
        self.first -= 1;
        frame_pool.put(self.head, self.first, queued, is_empty);
        Ok(())
    }

    /// The metadata of the first frame.
    #[inline(always)]
    pub(super) fn front<F: Frame>(&self, frame_pool: &FramePool<F>) -> Option<FrameMeta> {
        frame_pool.chunks.get(self.head as usize)?.meta(self.first as usize)
    }

    /// The metadata of all frames, in order.
    pub(super) fn metas<'a, F: Frame>(
        &self,
        frame_pool: &'a FramePool<F>,
    ) -> impl Iterator<Item = FrameMeta> + use<'a, F> {
        let (mut chunk, mut slot) = (self.head, self.first);
        let (tail, end) = (self.tail, self.end);
        core::iter::from_fn(move || {
            if chunk == tail && slot == end {
                return None;
            }
            if slot == CHUNK_END {
                chunk = *frame_pool.next.get(chunk as usize)?;
                slot = 0;
            }
            let meta = frame_pool.chunks.get(chunk as usize)?.meta(slot as usize);
            slot += 1;
            meta
        })
    }

    /// The first frames that are consecutive in memory, `frames_max` at most. The caller has to
    /// [count](Self::took) those that it takes out.
    #[inline]
    pub(super) fn front_frames<'a, F: Frame>(
        &self,
        frame_pool: &'a mut FramePool<F>,
        frames_max: usize,
    ) -> Option<Front<'a, F>> {
        let chunk = frame_pool.chunks.get_mut(self.head as usize)?;
        let end = if self.head == self.tail { self.end as usize } else { CHUNK };
        let front = chunk.front(self.first as usize, end).up_to(frames_max);
        (!front.is_empty()).then_some(front)
    }

    /// Removes the slots of the first `frames` frames, which the caller has taken out.
    #[inline]
    pub(super) fn took<F: Frame>(&mut self, frame_pool: &mut FramePool<F>, frames: usize) {
        #[expect(clippy::cast_possible_truncation, reason = "no more than a chunk has")]
        let frames = frames as u8;
        self.first += frames;
        // An empty queue keeps its last chunk, so that frames that pass through it use the same
        // memory again.
        if self.is_empty() {
            (self.first, self.end) = (0, 0);
        } else if self.first == CHUNK_END {
            let next = frame_pool.next[self.head as usize];
            frame_pool.give(self.head);
            self.head = next;
            self.first = 0;
        }
    }
}
