//! The FIFO that a frame waits in, one for each (out port, priority).
//!
//! Any queue may have to hold every frame of the switch, and there may be 512 of them, so they
//! share memory: a queue is a chain of chunks from one arena that is allocated at start. No queue
//! ever allocates, and a frame's place costs one cache line's share, not a list node of its own.

use super::lanes::Lanes;
use crate::buffer::ViqId;
use crate::frame::Frame;
use crate::ids::{PortId, Priority};
use crate::time::Instant;
use alloc::boxed::Box;

/// Frames a chunk holds: few, so that a queue that grows is given places which another has just
/// left, and which the caches still have.
const CHUNK: usize = CHUNK_END as usize;
/// The slot index behind a chunk's last.
const CHUNK_END: u8 = 8;
/// The chunk index that stands for "none".
const NONE: u32 = u32::MAX;

/// What the switch remembers of a frame it holds. The rest is in the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note {
    /// The VIQ it is charged to.
    pub viq: ViqId,
    /// Length in bytes as it will leave.
    pub bytes: u16,
    /// Low 32 bits of the nanoseconds at which it came in.
    pub arrived_ns: u32,
    /// Out port's index.
    pub out: u16,
    /// Egress priority.
    pub priority: u8,
    /// Offset of the IP header, 0 if there is none: where ECN is marked.
    pub l3: u8,
}

impl Note {
    /// Of no frame.
    pub(crate) const NONE: Self =
        Self { viq: ViqId::NONE, bytes: 0, arrived_ns: 0, out: 0, priority: 0, l3: 0 };

    /// The note of a frame of the switch's own, charged to no VIQ.
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

/// A frame and its note.
#[derive(Debug)]
pub struct Held<F> {
    /// The frame.
    pub frame: F,
    /// What is known of it.
    pub note: Note,
}

/// Whole cache lines.
#[derive(Debug)]
#[repr(align(64))]
struct Chunk<F>([Option<Held<F>>; CHUNK]);

/// Chunks that all queues of a worker share.
#[derive(Debug)]
pub struct Arena<F> {
    chunks: Box<[Chunk<F>]>,
    /// By chunk: the one behind it.
    next: Box<[u32]>,
    free: u32,
}

impl<F: Frame> Arena<F> {
    /// Room for `frames` frames spread over `queues` queues in any way: each queue may leave a
    /// chunk at its head and one at its tail part empty.
    pub fn new(frames: usize, queues: usize) -> Self {
        let count = frames.div_ceil(CHUNK) + 2 * queues;
        let count = u32::try_from(count).expect("fewer than 2^32 chunks");
        let chunks = (0..count).map(|_| Chunk([const { None }; CHUNK])).collect();
        let next = (1..=count).map(|next| if next == count { NONE } else { next }).collect();
        Self { chunks, next, free: if count == 0 { NONE } else { 0 } }
    }

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
    fn put(&mut self, chunk: u32, at: u8, held: Held<F>) {
        fill(&mut self.chunks[chunk as usize].0[at as usize % CHUNK], held);
    }
}

/// A FIFO of frames. Every call takes the arena that its chunks come from: always the same one.
#[derive(Debug)]
pub struct Veq {
    head: u32,
    tail: u32,
    /// Slot of the first frame in the head chunk.
    first: u8,
    /// Slot behind the last frame in the tail chunk.
    end: u8,
    frames: u32,
    bytes: u32,
    peak_bytes: u32,
    /// If ingress ports are served in turn, they hold the frames.
    lanes: Option<Box<Lanes>>,
}

impl Default for Veq {
    fn default() -> Self {
        let (head, tail) = (NONE, NONE);
        Self { head, tail, first: 0, end: 0, frames: 0, bytes: 0, peak_bytes: 0, lanes: None }
    }
}

impl Veq {
    /// A queue that serves `ports` ingress ports in turn. Only one frame can be taken at a time.
    pub fn fair(ports: usize) -> Self {
        Self { lanes: Some(Box::new(Lanes::new(ports))), ..Self::default() }
    }

    /// Frames waiting.
    #[inline(always)]
    pub const fn frames(&self) -> u32 {
        self.frames
    }

    /// Bytes waiting.
    #[inline(always)]
    pub const fn bytes(&self) -> u32 {
        self.bytes
    }

    /// The most bytes that waited at any time.
    pub const fn peak_bytes(&self) -> u32 {
        self.peak_bytes
    }

    /// Whether nothing waits.
    #[inline(always)]
    pub const fn is_empty(&self) -> bool {
        self.frames == 0
    }

    /// Adds a frame behind the others; gives it back if the arena is used up, which its size rules
    /// out.
    #[inline]
    pub fn push_back<F: Frame>(
        &mut self,
        arena: &mut Arena<F>,
        held: Held<F>,
    ) -> Result<(), Held<F>> {
        if let Some(lanes) = &mut self.lanes {
            let note = held.note;
            lanes.push_back(arena, held)?;
            self.count_in(&note);
            return Ok(());
        }
        if self.tail == NONE || self.end as usize == CHUNK {
            let Some(fresh) = arena.take() else { return Err(held) };
            if self.tail == NONE {
                self.head = fresh;
                self.first = 0;
            } else {
                arena.next[self.tail as usize] = fresh;
            }
            self.tail = fresh;
            self.end = 0;
        }
        self.count_in(&held.note);
        arena.put(self.tail, self.end, held);
        self.end += 1;
        Ok(())
    }

    /// Adds frames behind the others, as [`Self::push_back`] would one by one; `refused` gets those
    /// for which the arena has no place.
    #[inline]
    pub fn extend<F: Frame>(
        &mut self,
        arena: &mut Arena<F>,
        mut frames: impl Iterator<Item = Held<F>>,
        mut refused: impl FnMut(Held<F>),
    ) {
        if self.lanes.is_some() {
            return frames.for_each(|held| {
                if let Err(held) = self.push_back(arena, held) {
                    refused(held);
                }
            });
        }
        // The first of each chunk makes sure that there is one.
        while let Some(held) = frames.next() {
            if let Err(held) = self.push_back(arena, held) {
                refused(held);
                continue;
            }
            let places = &mut arena.chunks[self.tail as usize].0;
            let (mut count, mut bytes) = (0_u8, 0);
            for (place, held) in places.iter_mut().skip(self.end as usize).zip(&mut frames) {
                count += 1;
                bytes += u32::from(held.note.bytes);
                fill(place, held);
            }
            self.end += count;
            self.frames += u32::from(count);
            self.bytes += bytes;
            self.peak_bytes = self.peak_bytes.max(self.bytes);
        }
    }

    /// Puts a frame back before the others: the device did not take it, or its priority was paused
    /// while it stood ready.
    pub fn push_front<F: Frame>(
        &mut self,
        arena: &mut Arena<F>,
        held: Held<F>,
    ) -> Result<(), Held<F>> {
        if let Some(lanes) = &mut self.lanes {
            let note = held.note;
            lanes.push_front(arena, held)?;
            self.count_in(&note);
            return Ok(());
        }
        if self.frames == 0 {
            return self.push_back(arena, held);
        }
        if self.first == 0 {
            let Some(fresh) = arena.take() else { return Err(held) };
            arena.next[fresh as usize] = self.head;
            self.head = fresh;
            self.first = CHUNK_END;
        }
        self.first -= 1;
        self.count_in(&held.note);
        arena.put(self.head, self.first, held);
        Ok(())
    }

    #[inline(always)]
    fn count_in(&mut self, note: &Note) {
        self.frames += 1;
        self.bytes += u32::from(note.bytes);
        self.peak_bytes = self.peak_bytes.max(self.bytes);
    }

    /// A frame of `bytes` went through the queue, which is empty, without being put there.
    #[inline(always)]
    pub(crate) const fn passed(&mut self, bytes: u32) {
        if bytes > self.peak_bytes {
            self.peak_bytes = bytes;
        }
    }

    /// The note of the first frame.
    #[inline(always)]
    pub fn front<'a, F: Frame>(&self, arena: &'a Arena<F>) -> Option<&'a Note> {
        if let Some(lanes) = &self.lanes {
            return lanes.front(arena);
        }
        let chunk = arena.chunks.get(self.head as usize)?;
        chunk.0[self.first as usize % CHUNK].as_ref().map(|held| &held.note)
    }

    /// The notes of all frames, the first one first; ingress port by ingress port if these are
    /// served in turn.
    pub fn notes<'a, F: Frame>(&'a self, arena: &'a Arena<F>) -> impl Iterator<Item = &'a Note> {
        let in_lanes = self.lanes.iter().flat_map(|lanes| lanes.notes(arena));
        in_lanes.chain(self.own_notes(arena))
    }

    /// Those that are not in lanes.
    pub(super) fn own_notes<'a, F: Frame>(
        &self,
        arena: &'a Arena<F>,
    ) -> impl Iterator<Item = &'a Note> + use<'a, F> {
        let frames = if self.lanes.is_some() { 0 } else { self.frames };
        let (mut chunk, mut slot) = (self.head, self.first as usize);
        (0..frames).filter_map(move |_| {
            if slot == CHUNK {
                chunk = *arena.next.get(chunk as usize)?;
                slot = 0;
            }
            let held = arena.chunks.get(chunk as usize)?.0[slot].as_ref();
            slot += 1;
            held.map(|held| &held.note)
        })
    }

    /// The first frames to leave, as many as stand together and `frames_max` at the most;
    /// those that the caller takes out it has to [count](Self::took).
    #[inline]
    pub fn front_frames<'a, F: Frame>(
        &self,
        arena: &'a mut Arena<F>,
        frames_max: usize,
    ) -> &'a mut [Option<Held<F>>] {
        if let Some(lanes) = &self.lanes {
            return lanes.front_frames(arena, frames_max);
        }
        let Some(chunk) = arena.chunks.get_mut(self.head as usize) else { return &mut [] };
        let first = self.first as usize % CHUNK;
        let end = CHUNK.min(first + frames_max.min(self.frames as usize));
        &mut chunk.0[first..end]
    }

    /// Counts `frames` of `bytes` in all, the first ones, that were taken out.
    #[inline]
    pub fn took<F: Frame>(&mut self, arena: &mut Arena<F>, frames: usize, bytes: u32) {
        #[expect(clippy::cast_possible_truncation, reason = "no more than a chunk has")]
        let frames = frames as u8;
        self.frames -= u32::from(frames);
        self.bytes -= bytes;
        if let Some(lanes) = &mut self.lanes {
            return lanes.took(arena, usize::from(frames), bytes);
        }
        self.first += frames;
        self.leave_chunk(arena);
    }

    /// Gives the head chunk back if it has nothing left. The last one stays with its queue, so that
    /// frames that pass through an empty queue find the same place again.
    #[inline]
    fn leave_chunk<F: Frame>(&mut self, arena: &mut Arena<F>) {
        if self.frames == 0 {
            (self.first, self.end) = (0, 0);
            debug_assert_eq!(self.bytes, 0, "an empty queue has no bytes");
        } else if self.first as usize == CHUNK {
            let next = arena.next[self.head as usize];
            arena.give(self.head);
            self.head = next;
            self.first = 0;
        }
    }

    /// Takes the first frame.
    #[inline]
    pub fn pop_front<F: Frame>(&mut self, arena: &mut Arena<F>) -> Option<Held<F>> {
        if let Some(lanes) = &mut self.lanes {
            let held = lanes.pop_front(arena)?;
            self.frames -= 1;
            self.bytes -= u32::from(held.note.bytes);
            return Some(held);
        }
        let chunk = arena.chunks.get_mut(self.head as usize)?;
        let at = self.first as usize % CHUNK;
        let held = chunk.0[at].take()?;
        self.took(arena, 1, u32::from(held.note.bytes));
        Some(held)
    }
}

/// Puts a frame into an empty place. What is there is not looked at: that would wait for memory
/// that nobody has touched for long, and a store does not.
#[inline(always)]
#[expect(clippy::mem_forget, reason = "what is forgotten is `None`")]
fn fill<F>(place: &mut Option<Held<F>>, held: Held<F>) {
    debug_assert!(place.is_none(), "places that are in no queue are empty");
    core::mem::forget(place.replace(held));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestFrame;
    use proptest::prelude::*;
    use std::collections::VecDeque;
    use std::vec::Vec;

    fn held(number: u32) -> Held<TestFrame> {
        let viq = ViqId::new(PortId::default(), Priority::default());
        let bytes = u16::try_from(60 + number % 1400).unwrap();
        let note = Note { viq, bytes, arrived_ns: number, out: 0, priority: 0, l3: 14 };
        Held { frame: TestFrame::new(&[0; 60]), note }
    }

    #[derive(Clone, Debug)]
    enum Step {
        PushBack(usize),
        PushFront(usize),
        Pop(usize),
        Extend(usize, usize),
        Take(usize, usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            3 => (0..4_usize).prop_map(Step::PushBack),
            1 => (0..4_usize).prop_map(Step::PushFront),
            3 => (0..4_usize).prop_map(Step::Pop),
            1 => (0..4_usize, 0..70_usize).prop_map(|(q, count)| Step::Extend(q, count)),
            1 => (0..4_usize, 0..70_usize).prop_map(|(q, count)| Step::Take(q, count)),
        ]
    }

    proptest! {
        #[test]
        fn queues_sharing_an_arena_behave_like_deques(steps in proptest::collection::vec(step(), 1..800)) {
            let frames = 100;
            let mut arena = Arena::new(frames, 4);
            let mut queues: [Veq; 4] = core::array::from_fn(|_| Veq::default());
            let mut oracle: [VecDeque<u32>; 4] = Default::default();
            for (number, step) in (0_u32..).zip(steps) {
                let total: usize = oracle.iter().map(VecDeque::len).sum();
                match step {
                    Step::PushBack(q) if total < frames => {
                        queues[q].push_back(&mut arena, held(number)).unwrap();
                        oracle[q].push_back(number);
                    }
                    Step::PushFront(q) if total < frames => {
                        queues[q].push_front(&mut arena, held(number)).unwrap();
                        oracle[q].push_front(number);
                    }
                    Step::Pop(q) => {
                        let front = queues[q].front(&arena).map(|note| note.arrived_ns);
                        let popped = queues[q].pop_front(&mut arena).map(|held| held.note.arrived_ns);
                        prop_assert_eq!(popped, oracle[q].pop_front());
                        prop_assert_eq!(front, popped);
                    }
                    Step::Extend(q, count) if total + count <= frames => {
                        let more = (0..u32::try_from(count).unwrap()).map(|n| n * 1_000 + number);
                        queues[q].extend(&mut arena, more.clone().map(held), |_| panic!("no room"));
                        oracle[q].extend(more);
                    }
                    Step::Take(q, count) => {
                        let places = queues[q].front_frames(&mut arena, count);
                        let (took, mut bytes) = (places.len(), 0);
                        for place in places {
                            let note = place.take().map(|held| held.note);
                            bytes += note.map_or(0, |note| u32::from(note.bytes));
                            prop_assert_eq!(note.map(|note| note.arrived_ns), oracle[q].pop_front());
                        }
                        prop_assert!(took > 0 || count == 0 || oracle[q].is_empty());
                        if took > 0 {
                            queues[q].took(&mut arena, took, bytes);
                        }
                    }
                    _ => {}
                }
                for (queue, oracle) in queues.iter().zip(&oracle) {
                    prop_assert_eq!(queue.frames() as usize, oracle.len());
                    let bytes: u32 = oracle.iter().map(|n| 60 + n % 1400).sum();
                    prop_assert_eq!(queue.bytes(), bytes);
                    let noted = queue.notes(&arena).map(|note| note.arrived_ns);
                    prop_assert!(noted.eq(oracle.iter().copied()));
                }
            }
        }
    }

    #[test]
    fn a_full_arena_gives_the_frame_back_and_emptying_returns_every_chunk() {
        let mut arena = Arena::new(0, 1);
        let mut veq = Veq::default();
        let taken = (0..).take_while(|&n| veq.push_back(&mut arena, held(n)).is_ok()).count();
        assert_eq!(taken, 2 * CHUNK);
        assert_eq!(veq.push_front(&mut arena, held(9)).unwrap_err().note.arrived_ns, 9);
        for round in 0..3 {
            let order: Vec<u32> = core::iter::from_fn(|| veq.pop_front(&mut arena))
                .map(|h| h.note.arrived_ns)
                .collect();
            assert!(order.is_sorted(), "round {round}");
            (0..2 * CHUNK as u32).for_each(|n| veq.push_back(&mut arena, held(n)).unwrap());
        }
    }
}
