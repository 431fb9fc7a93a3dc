//! A virtual egress queue (VEQ): one for each (egress port, priority).
//!
//! While all frames are of one ingress port, or if the queue serves frames in order of arrival,
//! they are in one [`Fifo`]. If ingress ports are served in turn, a frame of a second port moves
//! them to the [`IngressDrr`], until only one port has frames left.

use super::fifo::Fifo;
use super::ingress_drr::IngressDrr;
use crate::frame::Frame;
use alloc::boxed::Box;

pub use super::fifo::{FrameMeta, FramePool, QueuedFrame, low_32_bits};

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

    /// Adds frames of one ingress port at the end, as [`Self::push_back`] would one by one;
    /// `refused` gets those for which the frame pool has no room.
    #[inline]
    pub fn extend<F: Frame>(
        &mut self,
        frame_pool: &mut FramePool<F>,
        mut frames: impl Iterator<Item = QueuedFrame<F>>,
        mut refused: impl FnMut(QueuedFrame<F>),
    ) {
        let Some(first) = frames.next() else { return };
        let meta = first.meta;
        if let Err(first) = self.push_back(frame_pool, first) {
            refused(first);
            return frames.for_each(refused);
        }
        // The first frame has selected the FIFO.
        let is_in_turn = self.takes_turns();
        let fifo = match &mut self.drr {
            Some(drr) if is_in_turn => drr.fifo_of(&meta),
            _ => &mut self.fifo,
        };
        let (count, bytes) = fifo.extend(frame_pool, frames, refused);
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
    pub fn front<'a, F: Frame>(&self, frame_pool: &'a FramePool<F>) -> Option<&'a FrameMeta> {
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
    ) -> impl Iterator<Item = &'a FrameMeta> {
        let in_turn = self.drr.iter().flat_map(|drr| drr.metas(frame_pool));
        self.fifo.metas(frame_pool).chain(in_turn)
    }

    /// The first frames that are consecutive in memory, `frames_max` at most. The caller has to
    /// [count](Self::took) those that it takes out.
    #[inline]
    pub fn front_frames<'a, F: Frame>(
        &self,
        frame_pool: &'a mut FramePool<F>,
        frames_max: usize,
    ) -> &'a mut [Option<QueuedFrame<F>>] {
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
        let queued = self.front_frames(frame_pool, 1).first_mut()?.take()?;
        self.took(frame_pool, 1, u32::from(queued.meta.bytes));
        Some(queued)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::ViqId;
    use crate::ids::{PortId, Priority};
    use crate::queue::fifo::CHUNK;
    use crate::testing::TestFrame;
    use proptest::prelude::*;
    use std::collections::VecDeque;
    use std::vec::Vec;

    fn held(number: u32) -> QueuedFrame<TestFrame> {
        let viq = ViqId::new(PortId::default(), Priority::default());
        let bytes = u16::try_from(60 + number % 1400).unwrap();
        let meta = FrameMeta { viq, bytes, arrived_ns: number, out: 0, priority: 0, l3: 14 };
        QueuedFrame { frame: TestFrame::new(&[0; 60]), meta }
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
            let mut frame_pool = FramePool::new(frames, 4);
            let mut queues: [Veq; 4] = core::array::from_fn(|_| Veq::default());
            let mut oracle: [VecDeque<u32>; 4] = Default::default();
            for (number, step) in (0_u32..).zip(steps) {
                let total: usize = oracle.iter().map(VecDeque::len).sum();
                match step {
                    Step::PushBack(q) if total < frames => {
                        queues[q].push_back(&mut frame_pool, held(number)).unwrap();
                        oracle[q].push_back(number);
                    }
                    Step::PushFront(q) if total < frames => {
                        queues[q].push_front(&mut frame_pool, held(number)).unwrap();
                        oracle[q].push_front(number);
                    }
                    Step::Pop(q) => {
                        let front = queues[q].front(&frame_pool).map(|meta| meta.arrived_ns);
                        let popped = queues[q].pop_front(&mut frame_pool).map(|queued| queued.meta.arrived_ns);
                        prop_assert_eq!(popped, oracle[q].pop_front());
                        prop_assert_eq!(front, popped);
                    }
                    Step::Extend(q, count) if total + count <= frames => {
                        let more = (0..u32::try_from(count).unwrap()).map(|n| n * 1_000 + number);
                        queues[q].extend(&mut frame_pool, more.clone().map(held), |_| panic!("no room"));
                        oracle[q].extend(more);
                    }
                    Step::Take(q, count) => {
                        let places = queues[q].front_frames(&mut frame_pool, count);
                        let (took, mut bytes) = (places.len(), 0);
                        for place in places {
                            let meta = place.take().map(|queued| queued.meta);
                            bytes += meta.map_or(0, |meta| u32::from(meta.bytes));
                            prop_assert_eq!(meta.map(|meta| meta.arrived_ns), oracle[q].pop_front());
                        }
                        prop_assert!(took > 0 || count == 0 || oracle[q].is_empty());
                        if took > 0 {
                            queues[q].took(&mut frame_pool, took, bytes);
                        }
                    }
                    _ => {}
                }
                for (queue, oracle) in queues.iter().zip(&oracle) {
                    prop_assert_eq!(queue.frames() as usize, oracle.len());
                    let bytes: u32 = oracle.iter().map(|n| 60 + n % 1400).sum();
                    prop_assert_eq!(queue.bytes(), bytes);
                    let noted = queue.metas(&frame_pool).map(|meta| meta.arrived_ns);
                    prop_assert!(noted.eq(oracle.iter().copied()));
                }
            }
        }
    }

    #[test]
    fn a_full_arena_gives_the_frame_back_and_emptying_returns_every_chunk() {
        let mut frame_pool = FramePool::new(0, 1);
        let mut veq = Veq::default();
        let taken = (0..).take_while(|&n| veq.push_back(&mut frame_pool, held(n)).is_ok()).count();
        assert_eq!(taken, 2 * CHUNK);
        assert_eq!(veq.push_front(&mut frame_pool, held(9)).unwrap_err().meta.arrived_ns, 9);
        for round in 0..3 {
            let order: Vec<u32> = core::iter::from_fn(|| veq.pop_front(&mut frame_pool))
                .map(|h| h.meta.arrived_ns)
                .collect();
            assert!(order.is_sorted(), "round {round}");
            (0..2 * CHUNK as u32).for_each(|n| veq.push_back(&mut frame_pool, held(n)).unwrap());
        }
    }
}
