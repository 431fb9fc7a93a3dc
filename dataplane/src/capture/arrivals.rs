//! Frames of a burst whose arrival is recorded once it is known what became of them.

use super::in_hand::InHand;
use super::record::Record;
use crate::frame::Frame;
use crate::limits::BURST_MAX;
use alloc::boxed::Box;
use alloc::vec;
use arrayvec::ArrayVec;

/// The key of a frame of which it is known what became of it.
const ENDED: u64 = u64::MAX;

/// A frame that has arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrived {
    /// Its index in the burst.
    at: usize,
    /// What it has in common with the frames of the burst that go the same way; 0 if it is alone.
    key: u64,
    record: Record,
    in_hand: InHand,
    snap_bytes: usize,
}

/// The followed frames of a burst, in order, with the start of each.
#[derive(Debug)]
pub(super) struct Arrivals {
    frames: ArrayVec<Arrived, BURST_MAX>,
    bytes: Box<[u8]>,
    snap_bytes: usize,
}

impl Arrivals {
    /// None yet; up to `snap_bytes` will be kept of each frame.
    pub(super) fn new(snap_bytes: usize) -> Self {
        let bytes = vec![0; snap_bytes * BURST_MAX].into_boxed_slice();
        Self { frames: ArrayVec::new(), bytes, snap_bytes }
    }

    /// Adds the frame with index `at` of its burst, as it was received.
    pub(super) fn add(&mut self, at: usize, record: Record, frame: &impl Frame) {
        let from = self.frames.len() * self.snap_bytes;
        let Some(place) = self.bytes.get_mut(from..from + self.snap_bytes) else { return };
        let snap_bytes = super::copy_start(frame.head(), place);
        let in_hand = InHand::default();
        // A burst has no more frames than there is room for.
        let _fits = self.frames.try_push(Arrived { at, key: 0, record, in_hand, snap_bytes });
    }

    /// `way_of` tells, by index in the burst, what a frame has in common with others that go the
    /// same way, and what becomes of it unless [`Self::has_ended`] says otherwise.
    pub(super) fn go(&mut self, way_of: impl Fn(usize) -> (u64, InHand)) {
        for frame in &mut self.frames {
            (frame.key, frame.in_hand) = way_of(frame.at);
        }
    }

    /// The first frame that goes the way `key` and has not ended yet was in hand so. Frames of one
    /// way end in the order in which they came.
    pub(super) fn has_ended(&mut self, key: u64, in_hand: InHand) {
        if let Some(frame) = self.frames.iter_mut().find(|frame| frame.key == key) {
            (frame.key, frame.in_hand) = (ENDED, in_hand);
        }
    }

    /// The frame with this number, with its record as far as it is known, and its start.
    pub(super) fn get(&self, number: usize) -> Option<(Record, &[u8])> {
        let Arrived { mut record, in_hand, snap_bytes, .. } = *self.frames.get(number)?;
        in_hand.complete(&mut record);
        let from = number * self.snap_bytes;
        Some((record, &self.bytes[from..from + snap_bytes]))
    }

    /// Removes all frames.
    pub(super) fn clear(&mut self) {
        self.frames.clear();
    }
}
