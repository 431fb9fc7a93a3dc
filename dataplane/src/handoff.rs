//! What goes from one worker to another: bursts of frames, and news of addresses.
//!
//! A burst crosses as it was received: first the runs its frames belong to, so that the worker that
//! takes it over books and queues it run by run as its own; and each frame with the number of its
//! run. Frames are written before their runs and read after them, so whoever sees the runs of a
//! burst finds its frames. Two rings cost two published words a burst, not one a frame.

use crate::ids::PortId;
use crate::l2::Vid;
use crate::limits::BURST_MAX;
use crate::staging::Run;
use crate::time::Instant;
use crate::wire::MacAddress;
use arrayvec::ArrayVec;
use rtrb::{Consumer, Producer, RingBuffer};

/// Frames that may be on their way from one worker to another. What does not fit waits in the
/// sender's queues.
pub const EXCHANGE_FRAMES: usize = 1024;
/// News that may be on their way from one worker to another.
const EXCHANGE_NEWS: usize = 256;

/// What workers tell each other of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// It was learnt, or has moved, on a port of mine at this time.
    Learnt(Vid, MacAddress, PortId, Instant),
    /// It has aged out on this port of mine.
    Forgotten(Vid, MacAddress, PortId),
}

/// A run of frames that leave by a port of the other worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Crossing {
    pub(crate) run: Run,
    /// Out port's index.
    pub(crate) out: u16,
}

/// The runs of one burst, in the order of their numbers.
pub(crate) type Crossings = ArrayVec<Crossing, BURST_MAX>;

/// A frame, and the number of its run in its burst.
#[derive(Debug)]
pub(crate) struct Numbered<F> {
    pub(crate) frame: F,
    pub(crate) number: u8,
}

/// The sending end.
#[derive(Debug)]
pub struct Outbox<F> {
    frames: Producer<Numbered<F>>,
    /// With whether it is the burst's last.
    crossings: Producer<(Crossing, bool)>,
    pub(crate) news: Producer<News>,
}

/// The receiving end.
#[derive(Debug)]
pub struct Inbox<F> {
    frames: Consumer<Numbered<F>>,
    crossings: Consumer<(Crossing, bool)>,
    pub(crate) news: Consumer<News>,
}

/// The ends of a new way from one worker to another.
pub(crate) fn mailbox<F>() -> (Outbox<F>, Inbox<F>) {
    let (frames_in, frames_out) = RingBuffer::new(EXCHANGE_FRAMES);
    let (crossings_in, crossings_out) = RingBuffer::new(EXCHANGE_FRAMES);
    let (news_in, news_out) = RingBuffer::new(EXCHANGE_NEWS);
    (
        Outbox { frames: frames_in, crossings: crossings_in, news: news_in },
        Inbox { frames: frames_out, crossings: crossings_out, news: news_out },
    )
}

impl<F> Outbox<F> {
    /// Whether a burst of any kind fits.
    #[inline]
    pub(crate) fn has_room(&mut self) -> bool {
        // Unlike `slots`, this looks at what the reader published only when it has to.
        self.frames.write_chunk_uninit(BURST_MAX).is_ok()
            && self.crossings.write_chunk_uninit(BURST_MAX).is_ok()
    }

    /// Sends a burst, for which there is [room](Self::has_room).
    #[inline]
    pub(crate) fn send(
        &mut self,
        frames: &mut ArrayVec<Numbered<F>, BURST_MAX>,
        crossings: &mut Crossings,
    ) {
        let count = crossings.len();
        let room = (
            self.frames.write_chunk_uninit(frames.len()),
            self.crossings.write_chunk_uninit(count),
        );
        let (Ok(to_frames), Ok(to_crossings)) = room else {
            debug_assert!(false, "a burst is sent where there is room for it");
            return;
        };
        to_frames.fill_from_iter(frames.drain(..));
        let marked = crossings.drain(..).enumerate();
        to_crossings.fill_from_iter(marked.map(|(at, crossing)| (crossing, at + 1 == count)));
    }
}

impl<F> Inbox<F> {
    /// Takes the next burst, if there is one: its runs, and its frames with the numbers of theirs.
    #[inline]
    pub(crate) fn take(
        &mut self,
        frames: &mut ArrayVec<F, BURST_MAX>,
        numbers: &mut [u8; BURST_MAX],
    ) -> Option<Crossings> {
        let mut crossings = Crossings::new();
        let mut count = 0;
        loop {
            // All runs of a burst were published at once.
            let (crossing, is_last) = self.crossings.pop().ok()?;
            count += usize::from(crossing.run.frames);
            crossings.push(crossing);
            if is_last {
                break;
            }
        }
        let Ok(chunk) = self.frames.read_chunk(count) else {
            debug_assert!(false, "the frames of a burst are there before its runs");
            return None;
        };
        for (numbered, number) in chunk.into_iter().zip(numbers) {
            *number = numbered.number;
            frames.push(numbered.frame);
        }
        Some(crossings)
    }
}
