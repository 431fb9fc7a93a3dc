//! Frames that stand ready for the device, and what will be booked when it takes them.
//!
//! Booking goes by runs: frames of one VIQ and priority that came together are counted and released
//! at once. What the books need of a single frame is its run's and its length, should the device
//! refuse it.

use crate::buffer::ViqId;
use crate::frame::{Burst, Frame, length_bytes};
use crate::ids::PortId;
use crate::limits::BURST_MAX;
use crate::queue::veq::{Held, Note};
use arrayvec::ArrayVec;

/// Frames that stand together and share what is booked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) viq: ViqId,
    pub(crate) priority: u8,
    /// Offset of the frames' IP header, 0 if there is none.
    pub(crate) l3: u8,
    pub(crate) frames: u8,
    pub(crate) bytes: u32,
    pub(crate) cost_bytes: u32,
    pub(crate) arrived_ns: u32,
}

impl Run {
    /// The frame of `note` by itself, which costs `cell_bytes` at the least.
    #[inline(always)]
    pub(crate) fn of_one(note: &Note, cell_bytes: u32) -> Self {
        Self {
            viq: note.viq,
            priority: note.priority & 7,
            l3: note.l3,
            frames: 1,
            bytes: u32::from(note.bytes),
            cost_bytes: u32::from(note.bytes).max(cell_bytes),
            arrived_ns: note.arrived_ns,
        }
    }

    /// The same run before any frame has joined it.
    pub(crate) const fn without_frames(self) -> Self {
        Self { frames: 0, bytes: 0, cost_bytes: 0, ..self }
    }

    /// The note of one of its frames, which is to leave by the port with index `out`: what the
    /// books need if it has to wait after all.
    #[inline]
    pub(crate) fn note_of<F: Frame>(&self, frame: &F, out: u16) -> Note {
        Note {
            viq: self.viq,
            bytes: length_bytes(frame),
            arrived_ns: self.arrived_ns,
            out,
            priority: self.priority,
            l3: self.l3,
        }
    }

    /// Whether frames of `other` can be booked with these.
    #[inline(always)]
    pub(crate) fn joins(&self, other: &Self) -> bool {
        (self.viq, self.priority, self.l3, self.arrived_ns)
            == (other.viq, other.priority, other.l3, other.arrived_ns)
    }

    /// Adds the frames of `other`, which [joins](Self::joins) these.
    #[inline(always)]
    pub(crate) const fn add(&mut self, other: &Self) {
        self.frames += other.frames;
        self.bytes += other.bytes;
        self.cost_bytes += other.cost_bytes;
    }
}

/// The burst that one port hands to its device next.
#[derive(Debug)]
pub(crate) struct Staging<F> {
    pub(crate) frames: Burst<F>,
    /// By frame: the number of its run.
    run_of: [u8; BURST_MAX],
    runs: ArrayVec<Run, BURST_MAX>,
}

impl<F: Frame> Staging<F> {
    pub(crate) fn new() -> Self {
        Self { frames: Burst::new(), run_of: [0; BURST_MAX], runs: ArrayVec::new() }
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Frames that still fit.
    #[inline(always)]
    pub(crate) fn room(&self) -> usize {
        self.frames.remaining_capacity()
    }

    /// Announces the frames of `run`, for which there is room; each is then added with the number
    /// that this returns.
    #[inline(always)]
    pub(crate) fn open(&mut self, run: Run) -> u8 {
        open(&mut self.runs, run)
    }

    /// Takes the frames out of `places`, for which there is room, each into the run that its note
    /// says; `look` sees each before.
    #[inline(always)]
    pub(crate) fn take_waiting(
        &mut self,
        places: &mut [Option<Held<F>>],
        cell_bytes: u32,
        mut look: impl FnMut(&mut F, &Note),
    ) {
        let Some(Some(first)) = places.first() else { return };
        // What frames join, summed up here until one joins another run.
        let mut sum = Run::of_one(&first.note, cell_bytes).without_frames();
        let mut number = self.open(sum);
        let start = self.frames.len();
        let Self { frames, run_of, runs } = self;
        let waiting = places.iter_mut().zip(&mut run_of[start..]);
        frames.extend(waiting.filter_map(|(place, run)| {
            let Held { mut frame, note } = place.take()?;
            look(&mut frame, &note);
            let one = Run::of_one(&note, cell_bytes);
            if !sum.joins(&one) {
                runs[usize::from(number)].add(&sum);
                sum = one.without_frames();
                number = open(runs, sum);
            }
            sum.add(&one);
            *run = number;
            Some(frame)
        }));
        self.runs[usize::from(number)].add(&sum);
    }

    /// Adds a frame of the run numbered `run`.
    #[inline(always)]
    pub(crate) fn push(&mut self, frame: F, run: u8) {
        if let Some(place) = self.run_of.get_mut(self.frames.len()) {
            *place = run;
        }
        self.frames.push(frame);
    }

    /// Adds the frames of a burst, for which there is room; `run_of` has their runs' numbers.
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

    /// Hands each run that has left to `book`. The device took frames from the front of `frames`,
    /// which were `staged`; those that are still there have not left.
    #[inline(always)]
    pub(crate) fn book_sent(&mut self, staged: usize, cell_bytes: u32, mut book: impl FnMut(&Run)) {
        if !self.frames.is_empty() {
            self.split_off_unsent(staged, cell_bytes, book);
            return;
        }
        self.runs.iter().for_each(&mut book);
        self.runs.clear();
    }

    #[cold]
    fn split_off_unsent(&mut self, staged: usize, cell_bytes: u32, mut book: impl FnMut(&Run)) {
        self.run_of.copy_within(staged - self.frames.len()..staged, 0);
        let mut unsent: ArrayVec<Run, BURST_MAX> =
            self.runs.iter().map(|run| run.without_frames()).collect();
        for (frame, &run) in self.frames.iter().zip(&self.run_of) {
            let bytes = u32::from(length_bytes(frame));
            let run = &mut unsent[usize::from(run)];
            run.frames += 1;
            run.bytes += bytes;
            run.cost_bytes += bytes.max(cell_bytes);
        }
        for (run, unsent) in self.runs.iter_mut().zip(unsent) {
            run.frames -= unsent.frames;
            run.bytes -= unsent.bytes;
            run.cost_bytes -= unsent.cost_bytes;
            book(run);
            *run = unsent;
        }
    }

    /// Takes the frames whose priority is in `bits` out again, the last first, each with its note.
    pub(crate) fn take_back(&mut self, bits: u8, out: PortId, mut back: impl FnMut(Held<F>)) {
        let mut kept: ArrayVec<(F, usize), BURST_MAX> = ArrayVec::new();
        while let Some(frame) = self.frames.pop() {
            let at = usize::from(self.run_of[self.frames.len()]);
            let run = &self.runs[at];
            if bits >> run.priority & 1 == 0 {
                // Runs before it that go move it up.
                let gone = self.runs[..at].iter().filter(|run| bits >> run.priority & 1 == 1);
                kept.push((frame, at - gone.count()));
                continue;
            }
            let note = run.note_of(&frame, out.index_u16());
            back(Held { frame, note });
        }
        self.runs.retain(|run| bits >> run.priority & 1 == 0);
        while let Some((frame, run)) = kept.pop() {
            #[expect(clippy::cast_possible_truncation, reason = "at most 64 runs")]
            self.push(frame, run as u8);
        }
    }
}

/// The number of the run in `runs` that the frames of `run` join: the last, if they can.
#[inline(always)]
fn open(runs: &mut ArrayVec<Run, BURST_MAX>, run: Run) -> u8 {
    if let Some(last) = runs.last_mut().filter(|last| last.joins(&run)) {
        last.add(&run);
    } else {
        runs.push(run);
    }
    #[expect(clippy::cast_possible_truncation, reason = "at most 64 runs")]
    let last = (runs.len() - 1) as u8;
    last
}
