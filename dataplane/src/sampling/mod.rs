//! Sampling for sFlow: some of the received frames, and dropped frames up to a rate, for a reader
//! that is no worker.
//!
//! A received frame is sampled with a probability of one in N (`turns`). What becomes of that frame
//! is in the sample, because it goes through the stages by itself, as a captured frame does.
//!
//! The ring is bounded: a sample that finds no room is counted and lost, and the worker goes on.

use crate::capture::in_hand::InHand;
use crate::capture::record::Record;
use crate::frame::Frame;
use crate::ids::PortId;
use crate::limiter::RateLimiter;
use crate::limits::BurstBits;
use crate::time::Instant;
use crate::turns::Turns;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use arrayvec::ArrayVec;
use core::sync::atomic::{AtomicU64, Ordering};
use rand_core::SeedableRng;
use rand_xoshiro::SplitMix64;
use rtrb::{Consumer, Producer, RingBuffer};

/// The longest start of a frame in a sample.
pub const HEADER_BYTES_MAX: usize = 256;
/// Samples that the ring of one worker holds: those of a third of a second at 10,000 a second.
pub const RING_SAMPLES: usize = 4_096;

/// What is sampled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SamplingSettings {
    /// By port index: one of so many received frames is sampled, up to
    /// [`RATE_MAX`](crate::turns::RATE_MAX); 0 is none.
    pub rates: Vec<u32>,
    /// Dropped frames a second, at most; 0 is none.
    pub drops_per_second: u32,
    /// Bytes of a frame in its sample, up to [`HEADER_BYTES_MAX`].
    pub header_bytes: u16,
    /// Of the random numbers of frames that are skipped.
    pub seed: u64,
}

/// A frame that was sampled, or that was dropped.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Where it was and what became of it. A frame that was sampled as it was received has the kind
    /// `In`. One that was dropped has the kind `Drop`; or `Punt`, if the control thread got it
    /// because it cannot be forwarded.
    pub record: Record,
    /// Frames that this worker has received from the port, and could have sampled, up to the end of
    /// the burst that the frame came in.
    pub pool: u64,
    /// Samples of the port that found no room, by this worker.
    pub missed: u64,
    /// The start of the frame.
    pub header: ArrayVec<u8, HEADER_BYTES_MAX>,
}

/// What a worker has not put into the ring. It is the only writer.
#[derive(Debug, Default)]
struct Lost {
    samples: AtomicU64,
    drops: AtomicU64,
    suppressed: AtomicU64,
}

/// Received frames of one port.
#[derive(Clone, Copy, Debug)]
struct Source {
    turns: Turns,
    pool: u64,
    missed: u64,
}

/// A worker's end of the sampling.
#[derive(Debug)]
pub struct Sampling {
    worker: u8,
    header_bytes: usize,
    /// By port index.
    sources: Box<[Source]>,
    rng: SplitMix64,
    /// Which dropped frames are reported; `None` is none.
    limiter: Option<RateLimiter>,
    /// The sample of the frame in hand.
    held: Option<Sample>,
    number: u32,
    lost: Arc<Lost>,
    ring: Producer<Sample>,
}

/// The reader's end of the ring of one worker.
#[derive(Debug)]
pub struct SampleReader {
    /// In the order in which the worker made them.
    pub ring: Consumer<Sample>,
    lost: Arc<Lost>,
}

impl SampleReader {
    /// Received frames that were to be sampled and found no room.
    pub fn missed_samples(&self) -> u64 {
        self.lost.samples.load(Ordering::Relaxed)
    }

    /// Dropped frames that were to be reported and found no room.
    pub fn missed_drops(&self) -> u64 {
        self.lost.drops.load(Ordering::Relaxed)
    }

    /// Dropped frames above the rate.
    pub fn suppressed_drops(&self) -> u64 {
        self.lost.suppressed.load(Ordering::Relaxed)
    }
}

/// The ends of the sampling at `worker`.
pub fn connect(
    settings: &SamplingSettings,
    worker: u8,
    ring_samples: usize,
) -> (Box<Sampling>, SampleReader) {
    let (ring, reader) = RingBuffer::new(ring_samples);
    let lost = Arc::new(Lost::default());
    // Workers that share a port must not skip alike.
    let seed = settings.seed ^ u64::from(worker).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut rng = SplitMix64::seed_from_u64(seed);
    let source = |&rate: &u32| Source { turns: Turns::new(rate, &mut rng), pool: 0, missed: 0 };
    let sampling = Sampling {
        worker,
        header_bytes: usize::from(settings.header_bytes).min(HEADER_BYTES_MAX),
        sources: settings.rates.iter().map(source).collect(),
        rng,
        limiter: (settings.drops_per_second > 0)
            .then(|| RateLimiter::new(settings.drops_per_second)),
        held: None,
        number: 0,
        lost: Arc::clone(&lost),
        ring,
    };
    (Box::new(sampling), SampleReader { ring: reader, lost })
}

impl Sampling {
    /// `frames` frames have come in at `port`, as one burst. Bit i is set if frame i is sampled.
    #[inline]
    pub(crate) fn arrive(&mut self, port: PortId, frames: usize) -> BurstBits {
        let Some(source) = self.sources.get_mut(port.index()) else { return 0 };
        source.pool += frames as u64;
        source.turns.take(frames, &mut self.rng)
    }

    /// Keeps a sample of the frame in hand until it is known what becomes of it.
    pub(crate) fn hold(&mut self, record: Record, frame: &impl Frame) {
        self.held = Some(self.sample(record, frame));
    }

    /// Puts the sample of the frame in hand into the ring.
    pub(crate) fn release(&mut self, in_hand: &InHand) {
        let Some(mut sample) = self.held.take() else { return };
        sample.record.ending = in_hand.ending;
        sample.record.cause = in_hand.cause;
        sample.record.out_port = in_hand.out.map(|out| out.0);
        sample.record.out_class = in_hand.out.map(|out| out.1);
        self.push_received(sample);
    }

    /// Samples a received frame of which it is not known what becomes of it.
    pub(crate) fn take(&mut self, record: Record, frame: &impl Frame) {
        let sample = self.sample(record, frame);
        self.push_received(sample);
    }

    /// Whether a frame that is dropped at `now` is reported. If not, it is counted.
    pub(crate) fn reports(&mut self, now: Instant) -> bool {
        let Some(limiter) = &mut self.limiter else { return false };
        let is_within = limiter.take(now);
        if !is_within {
            count(&self.lost.suppressed);
        }
        is_within
    }

    /// Reports a dropped frame.
    pub(crate) fn report(&mut self, record: Record, frame: &impl Frame) {
        let sample = self.sample(record, frame);
        if self.ring.push(sample).is_err() {
            count(&self.lost.drops);
        }
    }

    fn sample(&mut self, record: Record, frame: &impl Frame) -> Sample {
        self.number = self.number.wrapping_add(1);
        let frame_bytes = u32::try_from(frame.len()).unwrap_or(u32::MAX);
        let source = self.sources.get(record.port.index());
        let head = frame.head();
        Sample {
            record: Record { worker: self.worker, number: self.number, frame_bytes, ..record },
            pool: source.map_or(0, |source| source.pool),
            missed: source.map_or(0, |source| source.missed),
            header: head.iter().copied().take(self.header_bytes).collect(),
        }
    }

    fn push_received(&mut self, sample: Sample) {
        let port = sample.record.port;
        if self.ring.push(sample).is_err() {
            if let Some(source) = self.sources.get_mut(port.index()) {
                source.missed += 1;
            }
            count(&self.lost.samples);
        }
    }
}

/// Counts one more. This worker is the only writer.
fn count(counter: &AtomicU64) {
    counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
