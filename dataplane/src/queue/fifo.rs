//! FIFOs of queued frames, in chunks from the frame pool that all queues of a worker share.
//!
//! Any queue may have to hold every frame of the switch, and there may be 512 queues. So a queue is
//! a chain of chunks from one frame pool, which is allocated at start. No queue ever allocates, and
//! a queued frame costs a part of a cache line, not a list node of its own.

use crate::buffer::ViqId;
use crate::frame::{Frame, length_bytes};
use crate::ids::{PortId, Priority};
use crate::time::Instant;
use alloc::boxed::Box;

/// Frames per chunk. Few, so that a growing queue gets chunks that another queue has just freed and
/// that are still in the caches.
pub(super) const CHUNK: usize = CHUNK_END as usize;
/// The slot index after a chunk's last.
const CHUNK_END: u8 = 8;
/// The chunk index that means "none".
const NONE: u32 = u32::MAX;

/// Metadata of a queued frame. Everything else is in the frame. The fields of
/// [`Self::run_key`] are together, in the order of their bits, so that it is one load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct FrameMeta {
    /// Offset of the IP header, which ECN marks; 0 if there is none.
    pub l3: u8,
    /// Egress priority; above its three bits, a mark if a capture follows the frame.
    pub priority: u8,
    /// The virtual ingress queue (VIQ) that the frame is charged to.
    pub viq: ViqId,
    /// Low 32 bits of the arrival time in nanoseconds.
    pub arrived_ns: u32,
    /// Index of the egress port.
    pub out: u16,
    /// Length in bytes at egress.
    pub bytes: u16,
}

impl FrameMeta {
    /// The metadata of no frame.
    pub(crate) const NONE: Self =
        Self { viq: ViqId::NONE, bytes: 0, arrived_ns: 0, out: 0, priority: 0, l3: 0 };

    /// Marks, "none" included: as many as there are values above the priority.
    pub(crate) const MARKS: u8 = 1 << (u8::BITS - Self::MARK_SHIFT);
    const MARK_SHIFT: u32 = 3;

    /// The mark of a frame that a capture follows; 0 for none. Frames with different marks are of
    /// different [runs](Self::run_key).
    #[inline(always)]
    pub(crate) const fn mark(&self) -> u8 {
        self.priority >> Self::MARK_SHIFT
    }

    /// Sets the mark.
    pub(crate) const fn set_mark(&mut self, mark: u8) {
        self.priority = self.priority & 7 | mark << Self::MARK_SHIFT;
    }

    /// `frame`, with this metadata and its own length.
    #[inline(always)]
    pub(crate) fn queued<F: Frame>(self, frame: F) -> QueuedFrame<F> {
        QueuedFrame { meta: Self { bytes: length_bytes(&frame), ..self }, frame }
    }

    /// The index of the ingress port; for the switch's own frames, an index that no port has.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "a VIQ's index has 16 bits")]
    pub(super) const fn ingress(&self) -> u16 {
        self.viq.port_index() as u16
    }

    /// The bit of the egress priority.
    #[inline(always)]
    pub(crate) const fn priority_bit(&self) -> u8 {
        1 << (self.priority & 7)
    }

    /// The fields that frames of one run have in common besides the egress port, as one word.
    #[inline(always)]
    pub(crate) const fn run_key(&self) -> u64 {
        (self.arrived_ns as u64) << 32
            | (self.viq.bits() as u64) << 16
            | (self.priority as u64) << 8
            | self.l3 as u64
    }

    /// The metadata of one of the switch's own frames, which is charged to no VIQ.
    pub fn own<F: Frame>(frame: &F, out: PortId, priority: Priority, now: Instant) -> Self {
        Self {
            viq: ViqId::NONE,
            bytes: u16::try_from(frame.len()).unwrap_or(u16::MAX),
            arrived_ns: low_32_bits(now),
            out: u16::try_from(out.index()).unwrap_or(u16::MAX),
            priority: priority.value(),
            l3: 0,
        }
    }
}

/// The low 32 bits of a time in nanoseconds: enough for waits below four seconds.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the high bits are meant to go")]
pub const fn low_32_bits(time: Instant) -> u32 {
    time.ns as u32
}

/// A frame and its metadata.
#[derive(Debug)]
pub struct QueuedFrame<F> {
    /// The frame.
    pub frame: F,
    /// Its metadata.
    pub meta: FrameMeta,
}

/// Slots for frames, aligned to a cache line.
#[derive(Debug)]
#[repr(align(64))]
struct Chunk<F>([Option<QueuedFrame<F>>; CHUNK]);

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
        let chunks = (0..count).map(|_| Chunk([const { None }; CHUNK])).collect();
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

    #[inline(always)]
    fn put(&mut self, chunk: u32, at: u8, queued: QueuedFrame<F>) {
        fill(&mut self.chunks[chunk as usize].0[at as usize % CHUNK], queued);
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

    /// Adds a frame at the end. Returns it if the frame pool is used up, which its size rules out.
    #[inline(always)]
    pub(super) fn push_back<F: Frame>(
        &mut self,
        frame_pool: &mut FramePool<F>,
        queued: QueuedFrame<F>,
    ) -> Result<(), QueuedFrame<F>> {
        if self.tail == NONE || self.end == CHUNK_END {
            let Some(fresh) = frame_pool.take() else { return Err(queued) };
            if self.tail == NONE {
                self.head = fresh;
                self.first = 0;
            } else {
                frame_pool.next[self.tail as usize] = fresh;
            }
            self.tail = fresh;
            self.end = 0;
        }
        frame_pool.put(self.tail, self.end, queued);
        self.end += 1;
        Ok(())
    }

    /// Adds frames at the end; `refused` gets those for which the frame pool has no room. Returns
    /// the number of those that were added, and their bytes.
    #[inline(always)]
    pub(super) fn extend<F: Frame>(
        &mut self,
        frame_pool: &mut FramePool<F>,
        mut frames: impl Iterator<Item = QueuedFrame<F>>,
        mut refused: impl FnMut(QueuedFrame<F>),
    ) -> (u32, u32) {
        let (mut count, mut bytes) = self.fill_tail(frame_pool, &mut frames);
        // The first frame of each chunk allocates the chunk.
        while let Some(queued) = frames.next() {
            let first_bytes = u32::from(queued.meta.bytes);
            if let Err(queued) = self.push_back(frame_pool, queued) {
                refused(queued);
                continue;
            }
            let (more, more_bytes) = self.fill_tail(frame_pool, &mut frames);
            count += 1 + more;
            bytes += first_bytes + more_bytes;
        }
        (count, bytes)
    }

    /// Adds frames to the tail chunk until it is full or there are no more. Returns their number
    /// and their bytes.
    #[inline(always)]
    fn fill_tail<F: Frame>(
        &mut self,
        frame_pool: &mut FramePool<F>,
        frames: &mut impl Iterator<Item = QueuedFrame<F>>,
    ) -> (u32, u32) {
        let (mut count, mut bytes) = (0_u8, 0);
        if let Some(chunk) = frame_pool.chunks.get_mut(self.tail as usize) {
            for (place, queued) in chunk.0.iter_mut().skip(self.end as usize).zip(frames) {
                count += 1;
                bytes += u32::from(queued.meta.bytes);
                fill(place, queued);
            }
        }
        self.end += count;
        (u32::from(count), bytes)
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
        if self.first == 0 {
            let Some(fresh) = frame_pool.take() else { return Err(queued) };
            frame_pool.next[fresh as usize] = self.head;
            self.head = fresh;
            self.first = CHUNK_END;
        }
        self.first -= 1;
        frame_pool.put(self.head, self.first, queued);
        Ok(())
    }

    /// The metadata of the first frame.
    #[inline(always)]
    pub(super) fn front<'a, F: Frame>(
        &self,
        frame_pool: &'a FramePool<F>,
    ) -> Option<&'a FrameMeta> {
        let chunk = frame_pool.chunks.get(self.head as usize)?;
        chunk.0[self.first as usize % CHUNK].as_ref().map(|queued| &queued.meta)
    }

    /// The metadata of all frames, in order.
    pub(super) fn metas<'a, F: Frame>(
        &self,
        frame_pool: &'a FramePool<F>,
    ) -> impl Iterator<Item = &'a FrameMeta> + use<'a, F> {
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
            let queued = frame_pool.chunks.get(chunk as usize)?.0[slot as usize].as_ref();
            slot += 1;
            queued.map(|queued| &queued.meta)
        })
    }

    /// The first frames that are consecutive in memory, `frames_max` at most. The caller has to
    /// [count](Self::took) those that it takes out.
    #[inline]
    pub(super) fn front_frames<'a, F: Frame>(
        &self,
        frame_pool: &'a mut FramePool<F>,
        frames_max: usize,
    ) -> &'a mut [Option<QueuedFrame<F>>] {
        let Some(chunk) = frame_pool.chunks.get_mut(self.head as usize) else { return &mut [] };
        let first = self.first as usize % CHUNK;
        let end = if self.head == self.tail { self.end as usize } else { CHUNK };
        &mut chunk.0[first..end.min(first.saturating_add(frames_max))]
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

/// Puts a frame into an empty slot. Does not read the slot: a read would wait for memory that is
/// not in the caches, a store does not.
#[inline(always)]
#[expect(clippy::mem_forget, reason = "what is forgotten is `None`")]
fn fill<F>(place: &mut Option<QueuedFrame<F>>, queued: QueuedFrame<F>) {
    debug_assert!(place.is_none(), "places that are in no queue are empty");
    core::mem::forget(place.replace(queued));
}
