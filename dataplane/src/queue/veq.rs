//! A virtual egress queue (VEQ): one for each (egress port, priority).
//!
//! While all frames are of one ingress port, or if the queue serves frames in order of arrival,
//! they are in one [`Fifo`]. If ingress ports are served in turn, a frame of a second port moves
//! them to the [`IngressDrr`], until only one port has frames left.

use super::fifo::Fifo;
use super::ingress_drr::IngressDrr;
use crate::frame::Frame;
use alloc::boxed::Box;

pub use super::chunk::Front;
pub(crate) use super::chunk::{CHUNK, FrontRun};
pub use super::fifo::FramePool;
pub use super::frame_meta::{FrameMeta, QueuedFrame, low_32_bits};

/// A queue of frames. Every call takes the frame pool of its chunks, which must always be the same.
#[derive(Debug, Default)]
pub struct Veq {
    /// Empty while [`Self::drr`] has frames.
    fifo: Fifo,
    frames: u32,
    bytes: u32,
    peak_bytes: u32,
    /// Present if ingress ports are served in turn.
    drr: Option<Box<IngressDrr>>,
}

impl Veq {
    /// A queue that serves `ports` ingress ports in turn.
    pub fn fair(ports: usize) -> Self {
        Self { drr: Some(Box::new(IngressDrr::new(ports))), ..Self::default() }
    }

    /// The number of queued frames.
    #[inline(always)]
    pub const fn frames(&self) -> u32 {
        self.frames
    }

    /// The number of queued bytes.
    #[inline(always)]
    pub const fn bytes(&self) -> u32 {
        self.bytes
    }

    /// The maximum of [`Self::bytes`] so far.
    pub const fn peak_bytes(&self) -> u32 {
        self.peak_bytes
    }

    /// Begins a new peak at what is queued now.
    pub(crate) const fn reset_peak(&mut self) {
        self.peak_bytes = self.bytes;
    }

    /// Whether the queue has no frames.
    #[inline(always)]
    pub const fn is_empty(&self) -> bool {
        self.frames == 0
    }

    /// Whether the frames are in [`Self::drr`] now.
    #[inline(always)]
    const fn takes_turns(&self) -> bool {
        self.frames > 0 && self.fifo.is_empty()
    }

    /// The round robin, if it has the frames already, or if a frame with this metadata is of a
    /// second ingress port. In the second case the frames are moved to it.
    #[inline(always)]
    fn contended(&mut self, meta: &FrameMeta) -> Option<&mut IngressDrr> {
        let drr = self.drr.as_deref_mut()?;
        let ingress = meta.ingress();
        if self.frames == 0 {
            self.fifo.ingress = ingress;
            return None;
        }
        if !self.fifo.is_empty() {
            if self.fifo.ingress == ingress {
                return None;
            }
            drr.adopt(&mut self.fifo);
        }
        Some(drr)
    }

    /// Adds a frame at the end. Returns it if the frame pool is used up, which its size rules out.
    #[inline]
    pub fn push_back<F: Frame>(
        &mut self,
        frame_pool: &mut FramePool<F>,
        queued: QueuedFrame<F>,
    ) -> Result<(), QueuedFrame<F>> {
        let bytes = u32::from(queued.meta.bytes);
        match self.contended(&queued.meta) {
            Some(drr) => drr.push_back(frame_pool, queued)?,
            None => self.fifo.push_back(frame_pool, queued)?,
        }
        self.count_in(1, bytes);
        Ok(())
    }

    /// Adds frames with the same metadata, but for their lengths, at the end, as
    /// [`Self::push_back`] would one by one; `refused` gets those for which the frame pool has no
    /// room.
    #[inline]
    pub fn extend_run<F: Frame>(
        &mut self,
        frame_pool: &mut FramePool<F>,
        meta: &FrameMeta,
        frames: impl ExactSizeIterator<Item = F>,
        refused: impl FnMut(F),
    ) {
        let (count, bytes) = match self.contended(meta) {
            Some(drr) => drr.extend_run(frame_pool, meta, frames, refused),
            None => self.fifo.extend_run(frame_pool, meta, frames, refused),
        };
        self.count_in(count, bytes);
    }

    /// Puts a frame back at the front: the device did not take it, or its priority was paused while
    /// it was in the transmit batch.
    pub fn push_front<F: Frame>(
        &mut self,
        frame_pool: &mut FramePool<F>,
        queued: QueuedFrame<F>,
    ) -> Result<(), QueuedFrame<F>> {
        let bytes = u32::from(queued.meta.bytes);
        match self.contended(&queued.meta) {
            Some(drr) => drr.push_front(frame_pool, queued)?,
            None => self.fifo.push_front(frame_pool, queued)?,
        }
        self.count_in(1, bytes);
        Ok(())
    }

    #[inline(always)]
    fn count_in(&mut self, frames: u32, bytes: u32) {
        self.frames += frames;
        self.bytes += bytes;
        self.peak_bytes = self.peak_bytes.max(self.bytes);
    }

    /// Counts a frame of `bytes` that bypassed the queue, which is empty, in the peak.
    #[inline(always)]
    pub(crate) const fn passed(&mut self, bytes: u32) {
        if bytes > self.peak_bytes {
            self.peak_bytes = bytes;
        }
    }

    /// The metadata of the first frame.
    #[inline(always)]
    pub fn front<F: Frame>(&self, frame_pool: &FramePool<F>) -> Option<FrameMeta> {
        match &self.drr {
            Some(drr) if self.takes_turns() => drr.front(frame_pool),
            _ => self.fifo.front(frame_pool),
        }
    }

    /// The metadata of all frames, in order; ingress port by ingress port if these are served in
    /// turn.
    pub(crate) fn metas<'a, F: Frame>(
        &'a self,
        frame_pool: &'a FramePool<F>,
    ) -> impl Iterator<Item = FrameMeta> {
        let in_turn = self.drr.iter().flat_map(|drr| drr.metas(frame_pool));
        self.fifo.metas(frame_pool).chain(in_turn)
    }

    /// The first frames that are consecutive in memory, `frames_max` at most; `None` if there are
    /// none. The caller has to
    /// [count](Self::took) those that it takes out.
    #[inline]
    pub fn front_frames<'a, F: Frame>(
        &self,
        frame_pool: &'a mut FramePool<F>,
        frames_max: usize,
    ) -> Option<Front<'a, F>> {
        match &self.drr {
            Some(drr) if self.takes_turns() => drr.front_frames(frame_pool, frames_max),
            _ => self.fifo.front_frames(frame_pool, frames_max),
        }
    }

    /// Counts the first `frames` frames, `bytes` in all, which the caller has taken out.
    #[inline]
    pub fn took<F: Frame>(&mut self, frame_pool: &mut FramePool<F>, frames: usize, bytes: u32) {
        match &mut self.drr {
            Some(drr) if self.fifo.is_empty() => {
                drr.took(frame_pool, frames, bytes);
                drr.leave_last(&mut self.fifo);
            }
            _ => self.fifo.took(frame_pool, frames),
        }
        #[expect(clippy::cast_possible_truncation, reason = "no more than a chunk has")]
        let frames = frames as u32;
        self.frames -= frames;
        self.bytes -= bytes;
        debug_assert!(self.frames > 0 || self.bytes == 0, "an empty queue has no bytes");
    }

    /// Takes the first frame.
    // Always inlined: slow paths call it too, and with these the compiler makes it a function that
    // the event-driven turn calls for every frame (3 % of its time).
    #[inline(always)]
    pub fn pop_front<F: Frame>(&mut self, frame_pool: &mut FramePool<F>) -> Option<QueuedFrame<F>> {
        let queued = self.front_frames(frame_pool, 1)?.take_first()?;
        self.took(frame_pool, 1, u32::from(queued.meta.bytes));
        Some(queued)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::ViqId;
    use crate::ids::{PortId, Priority};
    use crate::queue::chunk::CHUNK;
    use crate::testing::TestFrame;
    use proptest::prelude::*;
    use std::collections::VecDeque;
    use std::vec;
    use std::vec::Vec;

    /// Frame `number` of a run: its first octets are the number, which its length follows from.
    fn held(number: u32, run: u32) -> QueuedFrame<TestFrame> {
        let viq = ViqId::new(PortId::default(), Priority::default());
        let meta = FrameMeta { viq, bytes: 0, arrived_ns: run, out: 0, priority: 0, l3: 14 };
        let mut bytes = vec![0; usize::from(bytes_of(number))];
        bytes[..4].copy_from_slice(&number.to_be_bytes());
        meta.queued(TestFrame::new(&bytes))
    }

    fn bytes_of(number: u32) -> u16 {
        u16::try_from(60 + number % 140).unwrap()
    }

    /// Number and run of a frame, whose length must be its own.
    fn known(queued: &QueuedFrame<TestFrame>) -> (u32, u32) {
        let number = u32::from_be_bytes(*queued.frame.head().first_chunk().unwrap());
        assert_eq!(queued.meta.bytes, bytes_of(number));
        (number, queued.meta.arrived_ns)
    }

    #[derive(Clone, Debug)]
    enum Step {
        PushBack(usize, u32),
        PushFront(usize, u32),
        Pop(usize),
        Extend(usize, u32, usize),
        Take(usize, usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        let run = || prop_oneof![4 => Just(0_u32), 1 => 1..3_u32];
        prop_oneof![
            3 => (0..4_usize, run()).prop_map(|(q, run)| Step::PushBack(q, run)),
            1 => (0..4_usize, run()).prop_map(|(q, run)| Step::PushFront(q, run)),
            3 => (0..4_usize).prop_map(Step::Pop),
            1 => (0..4_usize, run(), 0..70_usize).prop_map(|(q, run, n)| Step::Extend(q, run, n)),
            1 => (0..4_usize, 0..70_usize).prop_map(|(q, count)| Step::Take(q, count)),
        ]
    }

    proptest! {
        #[test]
        fn queues_sharing_an_arena_behave_like_deques(steps in proptest::collection::vec(step(), 1..800)) {
            let frames = 100;
            let mut frame_pool = FramePool::new(frames, 4);
            let mut queues: [Veq; 4] = core::array::from_fn(|_| Veq::default());
            // By queue: number and run of each frame.
            let mut oracle: [VecDeque<(u32, u32)>; 4] = Default::default();
            for (number, step) in (0_u32..).zip(steps) {
                let total: usize = oracle.iter().map(VecDeque::len).sum();
                match step {
                    Step::PushBack(q, run) if total < frames => {
                        queues[q].push_back(&mut frame_pool, held(number, run)).unwrap();
                        oracle[q].push_back((number, run));
                    }
                    Step::PushFront(q, run) if total < frames => {
                        queues[q].push_front(&mut frame_pool, held(number, run)).unwrap();
                        oracle[q].push_front((number, run));
                    }
                    Step::Pop(q) => {
                        let front = queues[q].front(&frame_pool);
                        let popped = queues[q].pop_front(&mut frame_pool);
                        prop_assert_eq!(front, popped.as_ref().map(|queued| queued.meta));
                        prop_assert_eq!(popped.as_ref().map(known), oracle[q].pop_front());
                    }
                    Step::Extend(q, run, count) if total + count <= frames => {
                        let more = Vec::from_iter((0..u32::try_from(count).unwrap()).map(|n| n * 1_000 + number));
                        let together = Vec::from_iter(more.iter().map(|&number| held(number, run).frame));
                        let meta = held(number, run).meta;
                        queues[q].extend_run(&mut frame_pool, &meta, together.into_iter(), |_| panic!("no room"));
                        oracle[q].extend(more.into_iter().map(|number| (number, run)));
                    }
                    Step::Take(q, count) => {
                        let front = queues[q].front_frames(&mut frame_pool, count);
                        prop_assert_eq!(front.is_none(), count == 0 || oracle[q].is_empty());
                        let Some(front) = front else { continue };
                        prop_assert!(front.len() <= count);
                        let taken = Vec::from_iter(front.drain());
                        prop_assert!(!taken.is_empty());
                        for queued in &taken {
                            prop_assert_eq!(Some(known(queued)), oracle[q].pop_front());
                        }
                        let bytes = taken.iter().map(|queued| u32::from(queued.meta.bytes)).sum();
                        queues[q].took(&mut frame_pool, taken.len(), bytes);
                    }
                    _ => {}
                }
                for (queue, oracle) in queues.iter().zip(&oracle) {
                    prop_assert_eq!(queue.frames() as usize, oracle.len());
                    let bytes: u32 = oracle.iter().map(|&(number, _)| u32::from(bytes_of(number))).sum();
                    prop_assert_eq!(queue.bytes(), bytes);
                    let noted = queue.metas(&frame_pool).map(|meta| (meta.bytes, meta.arrived_ns));
                    prop_assert!(noted.eq(oracle.iter().map(|&(number, run)| (bytes_of(number), run))));
                }
            }
        }
    }

    #[test]
    fn a_full_arena_gives_the_frames_back_and_emptying_returns_every_chunk() {
        let mut frame_pool = FramePool::new(0, 1);
        let mut veq = Veq::default();
        let taken =
            (0..).take_while(|&n| veq.push_back(&mut frame_pool, held(n, n)).is_ok()).count();
        assert_eq!(taken, 2 * CHUNK);
        assert_eq!(known(&veq.push_front(&mut frame_pool, held(9, 3)).unwrap_err()), (9, 3));
        let count = 2 * CHUNK as u32;
        for round in 0..3 {
            let order = core::iter::from_fn(|| veq.pop_front(&mut frame_pool));
            let numbers = Vec::from_iter(order.map(|queued| known(&queued).0));
            assert!(numbers.into_iter().eq(0..count), "round {round}");
            let together = Vec::from_iter((0..count + 3).map(|n| held(n, round).frame));
            let mut refused = 0;
            let meta = held(0, round).meta;
            veq.extend_run(&mut frame_pool, &meta, together.into_iter(), |_| refused += 1);
            assert_eq!((veq.frames(), refused), (count, 3));
        }
    }
}
