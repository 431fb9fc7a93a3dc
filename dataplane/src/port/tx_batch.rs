//! The transmit batch of a port, and the accounting that is due when the device takes its frames.
//!
//! Accounting is by run: frames of one VIQ and priority that arrived together are counted and
//! released together. For a frame that the device refuses, its run and its length are sufficient.

use crate::frame::{Burst, Frame, length_bytes};
use crate::frame_sums::FrameSums;
use crate::limits::{BURST_MAX, BurstBits, PRIORITIES};
use crate::queue::veq::{CHUNK, FrameMeta, Front, FrontRun, QueuedFrame};
use arrayvec::ArrayVec;

/// Consecutive frames that are accounted for together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// The metadata of each frame but its length.
    pub(crate) meta: FrameMeta,
    pub(crate) sums: FrameSums,
}

impl Run {
    /// The run of a single frame with `meta`, which is charged at least `cell_bytes`.
    #[inline(always)]
    pub(crate) fn of_one(meta: &FrameMeta, cell_bytes: u32) -> Self {
        Self { meta: *meta, sums: FrameSums::of_one(meta.bytes, cell_bytes) }
    }

    /// Whether the frames of `other` can be accounted for with these.
    #[inline(always)]
    pub(crate) fn joins(&self, other: &Self) -> bool {
        self.meta.run_key() == other.meta.run_key()
    }
}

/// Frames that stay in a batch from which others are taken back, the last first; by frame, its run
/// index.
pub(crate) type Kept<F> = ArrayVec<(F, u8), BURST_MAX>;

/// The burst that a port sends to its device next.
#[derive(Debug)]
pub(crate) struct TxBatch<F> {
    pub(crate) frames: Burst<F>,
    /// By frame: its run index.
    run_of: [u8; BURST_MAX],
    runs: ArrayVec<Run, BURST_MAX>,
}

impl<F: Frame> TxBatch<F> {
    pub(crate) fn new() -> Self {
        Self { frames: Burst::new(), run_of: [0; BURST_MAX], runs: ArrayVec::new() }
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Whether a capture has marked a frame.
    pub(crate) fn has_marks(&self) -> bool {
        self.runs.iter().any(|run| run.meta.mark() != 0)
    }

    /// Bit i is set if `is_wanted` says so of the metadata of run i.
    pub(crate) fn runs_of(&self, is_wanted: impl Fn(&FrameMeta) -> bool) -> BurstBits {
        let runs = (0..).zip(&self.runs).filter(|(_, run)| is_wanted(&run.meta));
        runs.fold(0, |bits, (at, _): (u32, _)| bits | 1 << at)
    }

    /// The frames of the runs in `runs`: index in the batch, frame, metadata of its run.
    pub(crate) fn frames_of(
        &self,
        runs: BurstBits,
    ) -> impl Iterator<Item = (usize, &F, &FrameMeta)> {
        let frames = self.frames.iter().zip(&self.run_of).enumerate();
        let of_runs = frames.filter(move |(_, (_, run))| runs >> **run & 1 == 1);
        let counted = (0..).zip(&self.runs).filter(|(at, _)| runs >> at & 1 == 1);
        // Mostly it is one frame, and those behind it need not be looked at.
        let count: u32 = counted.map(|(_, run): (u32, _)| run.sums.frames).sum();
        of_runs
            .take(count as usize)
            .map(|(at, (frame, &run))| (at, frame, &self.runs[usize::from(run)].meta))
    }

    /// The number of frames that still fit.
    #[inline(always)]
    pub(crate) fn room(&self) -> usize {
        self.frames.remaining_capacity()
    }

    /// Opens `run`, for whose frames there is room. Returns the run index with which each frame is
    /// then added.
    #[inline(always)]
    pub(crate) fn open(&mut self, run: Run) -> u8 {
        open(&mut self.runs, run)
    }

    /// Moves frames that waited into the batch, which has room for them, each into the run of its
    /// metadata. Calls `look` for each frame first. Returns their bytes.
    #[inline(always)]
    pub(crate) fn take_waiting(
        &mut self,
        mut front: Front<'_, F>,
        cell_bytes: u32,
        look: impl FnMut(&mut F, &FrameMeta),
    ) -> u32 {
        let Some(run) = front.as_run() else {
            return self.take_each(front, cell_bytes, look);
        };
        // Mostly a whole chunk, whose length the compiler knows then.
        let FrontRun { meta, lengths_bytes, places } = run;
        match (<&[u16; CHUNK]>::try_from(lengths_bytes), places.first_chunk_mut()) {
            (Ok(lengths_bytes), Some::<&mut [_; CHUNK]>(places)) => {
                self.take_run(meta, lengths_bytes, places, cell_bytes, look)
            }
            _ => self.take_run(meta, lengths_bytes, places, cell_bytes, look),
        }
    }

    /// Moves the frames of a run, with these lengths, out of their places.
    #[inline(always)]
    fn take_run(
        &mut self,
        meta: FrameMeta,
        lengths_bytes: &[u16],
        places: &mut [Option<F>],
        cell_bytes: u32,
        mut look: impl FnMut(&mut F, &FrameMeta),
    ) -> u32 {
        let mut sums = FrameSums::default();
        lengths_bytes.iter().for_each(|&bytes| sums.add(FrameSums::of_one(bytes, cell_bytes)));
        let number = self.open(Run { meta, sums });
        let start = self.frames.len();
        let Self { frames, run_of, .. } = self;
        if let Some(run_of) = run_of.get_mut(start..start + places.len()) {
            run_of.fill(number);
        }
        let taken = places.iter_mut().zip(lengths_bytes).map_while(|(place, &bytes)| {
            let mut frame = place.take()?;
            look(&mut frame, &FrameMeta { bytes, ..meta });
            Some(frame)
        });
        // Not one by one: each push would wait for the length that the one before it wrote.
        frames.extend(taken);
        sums.bytes
    }

    /// The same for frames of several runs.
    #[inline(never)]
    fn take_each(
        &mut self,
        front: Front<'_, F>,
        cell_bytes: u32,
        mut look: impl FnMut(&mut F, &FrameMeta),
    ) -> u32 {
        let mut sum_bytes = 0;
        for QueuedFrame { mut frame, meta } in front.drain() {
            look(&mut frame, &meta);
            sum_bytes += u32::from(meta.bytes);
            let run = self.open(Run::of_one(&meta, cell_bytes));
            self.push(frame, run);
        }
        sum_bytes
    }

    /// Adds a frame of the run with index `run`.
    #[inline(always)]
    pub(crate) fn push(&mut self, frame: F, run: u8) {
        if let Some(place) = self.run_of.get_mut(self.frames.len()) {
            *place = run;
        }
        self.frames.push(frame);
    }

    /// Adds the frames of a burst, for which there is room; `run_of` has their run indexes.
    #[inline(always)]
    pub(crate) fn push_burst(&mut self, frames: &mut Burst<F>, run_of: &[u8]) {
        let (count, end) = (self.frames.len(), self.frames.len() + frames.len());
        if let (Some(to), Some(from)) =
            (self.run_of.get_mut(count..end), run_of.get(..frames.len()))
        {
            to.copy_from_slice(from);
        }
        if count == 0 {
            core::mem::swap(&mut self.frames, frames);
        } else {
            self.frames.extend(frames.drain(..));
        }
    }

    /// Takes the frames that the device left of a burst that was sent past the batch, which has no
    /// others; `run_of` has the run indexes of the whole burst.
    #[cold]
    pub(crate) fn take_left(&mut self, frames: &mut Burst<F>, run_of: &[u8; BURST_MAX]) {
        self.run_of = *run_of;
        core::mem::swap(&mut self.frames, frames);
    }

    /// Calls `account` for each run, with the frames that were sent. Before the call, `frames` had
    /// `batched` frames; the device took some from its front, and the rest has not been sent.
    #[inline(always)]
    pub(crate) fn account_sent(
        &mut self,
        batched: usize,
        cell_bytes: u32,
        mut account: impl FnMut(&Run),
    ) {
        if !self.frames.is_empty() {
            self.split_off_unsent(batched, cell_bytes, account);
            return;
        }
        self.runs.iter().for_each(&mut account);
        self.runs.clear();
    }

    #[cold]
    fn split_off_unsent(&mut self, batched: usize, cell_bytes: u32, mut account: impl FnMut(&Run)) {
        self.run_of.copy_within(batched - self.frames.len()..batched, 0);
        let mut unsent = [FrameSums::default(); BURST_MAX];
        for (frame, &run) in self.frames.iter().zip(&self.run_of) {
            unsent[usize::from(run)].add(FrameSums::of_one(length_bytes(frame), cell_bytes));
        }
        for (run, unsent) in self.runs.iter_mut().zip(unsent) {
            run.sums.remove(unsent);
            account(run);
            run.sums = unsent;
        }
    }

    /// The run of all frames, if they are of one.
    #[inline(always)]
    pub(crate) fn only_run(&self) -> Option<&Run> {
        let [run] = self.runs.as_slice() else { return None };
        Some(run)
    }

    /// By priority: the bytes of the frames.
    pub(crate) fn bytes_of_priorities(&self) -> [u32; PRIORITIES] {
        let mut sums = [0; PRIORITIES];
        for run in &self.runs {
            sums[usize::from(run.meta.priority) % PRIORITIES] += run.sums.bytes;
        }
        sums
    }

    /// Takes all frames.
    pub(crate) fn take_all(&mut self) -> Burst<F> {
        self.runs.clear();
        core::mem::take(&mut self.frames)
    }

    /// Takes back the last frame whose priority is in `bits`, with its metadata. Those behind it
    /// go to `kept`; after the last call, they must be [kept](Self::keep).
    #[inline(always)]
    pub(crate) fn take_last(&mut self, bits: u8, kept: &mut Kept<F>) -> Option<QueuedFrame<F>> {
        loop {
            let frame = self.frames.pop()?;
            let run = self.run_of[self.frames.len()];
            let meta = &self.runs[usize::from(run)].meta;
            if bits & meta.priority_bit() != 0 {
                return Some(meta.queued(frame));
            }
            kept.push((frame, run));
        }
    }

    /// Removes the runs whose priority is in `bits`, and puts the other frames into the batch.
    pub(crate) fn keep(&mut self, bits: u8, kept: &mut Kept<F>) {
        let is_gone = |run: &Run| bits & run.meta.priority_bit() != 0;
        while let Some((frame, run)) = kept.pop() {
            // The run's index falls by the number of removed runs before it.
            let gone = self.runs[..usize::from(run)].iter().filter(|run| is_gone(run)).count();
            #[expect(clippy::cast_possible_truncation, reason = "at most BURST_MAX runs")]
            self.push(frame, run - gone as u8);
        }
        self.runs.retain(|run| !is_gone(run));
    }
}

/// Adds `run` to the last of `runs` if they join, else as a new run. Returns the run's index.
#[inline(always)]
fn open(runs: &mut ArrayVec<Run, BURST_MAX>, run: Run) -> u8 {
    if let Some(last) = runs.last_mut().filter(|last| last.joins(&run)) {
        last.sums.add(run.sums);
    } else {
        runs.push(run);
    }
    #[expect(clippy::cast_possible_truncation, reason = "at most BURST_MAX runs")]
    let last = (runs.len() - 1) as u8;
    last
}
