//! The ring between two workers: bursts of frames, and MAC events.
//!
//! A burst is written as it was received. Its run descriptors go into one ring; its frames go into
//! another, each with the index of its run. The worker that reads the burst accounts for it and
//! queues it run by run, as it does with its own bursts. Frames are written before descriptors and
//! read after them: a reader that sees the descriptors of a burst finds its frames. Two rings cost
//! two published words for each burst, not one for each frame.

use crate::ids::PortId;
use crate::l2::Vid;
use crate::limits::BURST_MAX;
use crate::port::tx_batch::Run;
use crate::time::Instant;
use crate::wire::MacAddress;
use arrayvec::ArrayVec;
use rtrb::{Consumer, Producer, RingBuffer};

/// Frames that the ring holds. Frames that do not fit wait in the sender's queues.
pub const HANDOFF_FRAMES: usize = 1024;
/// MAC events that the ring holds.
const HANDOFF_MAC_EVENTS: usize = 256;

/// A change of a worker's MAC table that the other workers learn of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MacEvent {
    /// The address was learned on, or has moved to, a port of the sender at this time.
    Learned(Vid, MacAddress, PortId, Instant),
    /// The address has aged out on a port of the sender.
    Forgotten(Vid, MacAddress, PortId),
}

/// A run of frames that leave by a port of the worker that reads the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RunDescriptor {
    pub(crate) run: Run,
    /// Index of the egress port.
    pub(crate) out: u16,
}

/// The runs of one burst, in the order of their indices.
pub(crate) type RunDescriptors = ArrayVec<RunDescriptor, BURST_MAX>;

/// A frame, and the index of its run in its burst.
#[derive(Debug)]
pub(crate) struct IndexedFrame<F> {
    pub(crate) frame: F,
    pub(crate) run_index: u8,
}

/// The producer's end.
#[derive(Debug)]
pub struct RingTx<F> {
    frames: Producer<IndexedFrame<F>>,
    /// Each with whether it is the last of its burst.
    descriptors: Producer<(RunDescriptor, bool)>,
    pub(crate) mac_events: Producer<MacEvent>,
}

/// The consumer's end.
#[derive(Debug)]
pub struct RingRx<F> {
    frames: Consumer<IndexedFrame<F>>,
    descriptors: Consumer<(RunDescriptor, bool)>,
    pub(crate) mac_events: Consumer<MacEvent>,
}

/// Both ends of a new ring.
pub(crate) fn handoff_ring<F>() -> (RingTx<F>, RingRx<F>) {
    let (frames_in, frames_out) = RingBuffer::new(HANDOFF_FRAMES);
    let (descriptors_in, descriptors_out) = RingBuffer::new(HANDOFF_FRAMES);
    let (mac_events_in, mac_events_out) = RingBuffer::new(HANDOFF_MAC_EVENTS);
    (
        RingTx { frames: frames_in, descriptors: descriptors_in, mac_events: mac_events_in },
        RingRx { frames: frames_out, descriptors: descriptors_out, mac_events: mac_events_out },
    )
}

impl<F> RingTx<F> {
    /// Whether a burst of any kind fits.
    #[inline]
    pub(crate) fn has_room(&mut self) -> bool {
        // Unlike `slots`, this looks at what the reader published only when it has to.
        self.frames.write_chunk_uninit(BURST_MAX).is_ok()
            && self.descriptors.write_chunk_uninit(BURST_MAX).is_ok()
    }

    /// Sends a burst, for which there is [room](Self::has_room).
    #[inline]
    pub(crate) fn send(
        &mut self,
        frames: &mut ArrayVec<IndexedFrame<F>, BURST_MAX>,
        descriptors: &mut RunDescriptors,
    ) {
        let count = descriptors.len();
        let room = (
            self.frames.write_chunk_uninit(frames.len()),
            self.descriptors.write_chunk_uninit(count),
        );
        let (Ok(to_frames), Ok(to_descriptors)) = room else {
            debug_assert!(false, "a burst is sent where there is room for it");
            return;
        };
        to_frames.fill_from_iter(frames.drain(..));
        let marked = descriptors.drain(..).enumerate();
        to_descriptors.fill_from_iter(marked.map(|(at, descriptor)| (descriptor, at + 1 == count)));
    }
}

impl<F> RingRx<F> {
    /// Takes the next burst, if there is one: its runs, and its frames with the index of each one's
    /// run.
    #[inline]
    pub(crate) fn take(
        &mut self,
        frames: &mut ArrayVec<F, BURST_MAX>,
        run_indices: &mut [u8; BURST_MAX],
    ) -> Option<RunDescriptors> {
        let mut descriptors = RunDescriptors::new();
        let mut count = 0;
        loop {
            // All runs of a burst were published at once.
            let (descriptor, is_last) = self.descriptors.pop().ok()?;
            count += usize::from(descriptor.run.frames);
            descriptors.push(descriptor);
            if is_last {
                break;
            }
        }
        let Ok(chunk) = self.frames.read_chunk(count) else {
            debug_assert!(false, "the frames of a burst are there before its runs");
            return None;
        };
        for (indexed, run_index) in chunk.into_iter().zip(run_indices) {
            *run_index = indexed.run_index;
            frames.push(indexed.frame);
        }
        Some(descriptors)
    }
}
