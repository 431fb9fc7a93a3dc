//! The ring between two workers: bursts of frames, and MAC events.
//!
//! A burst is written as it was received. Its runs go into one ring; its frames go into
//! another, each with the index of its run. The worker that reads the burst accounts for it and
//! queues it run by run, as it does with its own bursts. Frames are written before runs and
//! read after them: a reader that sees the runs of a burst finds its frames. Two rings cost
//! two published words for each burst, not one for each frame.

use crate::ids::PortId;
use crate::l2::Vid;
use crate::limits::BURST_MAX;
use crate::port::tx_batch::Run;
use crate::time::Instant;
use crate::wire::MacAddress;
use crate::wire::mac_control::MacControl;
use arrayvec::ArrayVec;
use rtrb::{Consumer, Producer, RingBuffer};

/// Frames that the ring holds. Frames that do not fit wait in the sender's queues.
pub const HANDOFF_FRAMES: usize = 1024;
/// MAC events that the ring holds.
const HANDOFF_MAC_EVENTS: usize = 256;

/// What other workers learn of: a change of a worker's MAC table, or flow control for their ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MacEvent {
    /// The address was learned on a port of the sender at this time.
    Learned(Vid, MacAddress, PortId, Instant),
    /// The address has moved to a port of the sender at this time.
    Moved(Vid, MacAddress, PortId, Instant),
    /// The address stays on a port of the sender, which heard it there within the hold time before
    /// this move.
    Kept(Vid, MacAddress, PortId, Instant),
    /// The address has aged out on a port of the sender.
    Forgotten(Vid, MacAddress, PortId),
    /// A MAC control frame came in by a further receive queue of this port of the receiver.
    Control(PortId, MacControl),
}

/// The runs of one burst, in the order of their indices. Their frames leave by ports of the worker
/// that reads the ring.
pub(crate) type Runs = ArrayVec<Run, BURST_MAX>;

/// The frames of one burst, each with the index of its run.
pub(crate) type IndexedFrames<F> = ArrayVec<(F, u8), BURST_MAX>;

/// The producer's end.
#[derive(Debug)]
pub struct RingTx<F> {
    frames: Producer<(F, u8)>,
    /// Each with whether it is the last of its burst.
    runs: Producer<(Run, bool)>,
    pub(crate) mac_events: Producer<MacEvent>,
}

/// The consumer's end.
#[derive(Debug)]
pub struct RingRx<F> {
    frames: Consumer<(F, u8)>,
    runs: Consumer<(Run, bool)>,
    pub(crate) mac_events: Consumer<MacEvent>,
}

/// Both ends of a new ring.
pub(crate) fn handoff_ring<F>() -> (RingTx<F>, RingRx<F>) {
    let (frames_in, frames_out) = RingBuffer::new(HANDOFF_FRAMES);
    let (runs_in, runs_out) = RingBuffer::new(HANDOFF_FRAMES);
    let (mac_events_in, mac_events_out) = RingBuffer::new(HANDOFF_MAC_EVENTS);
    (
        RingTx { frames: frames_in, runs: runs_in, mac_events: mac_events_in },
        RingRx { frames: frames_out, runs: runs_out, mac_events: mac_events_out },
    )
}

impl<F> RingTx<F> {
    /// MAC events that the reader has not taken yet. What it wrote before it took the others is
    /// visible after this.
    pub(crate) fn unread_mac_events(&self) -> u64 {
        (HANDOFF_MAC_EVENTS - self.mac_events.slots()) as u64
    }

    /// Whether a burst of any kind fits.
    #[inline]
    pub(crate) fn has_room(&mut self) -> bool {
        // Unlike `slots`, this looks at what the reader published only when it has to.
        self.frames.write_chunk_uninit(BURST_MAX).is_ok()
            && self.runs.write_chunk_uninit(BURST_MAX).is_ok()
    }

    /// Sends a burst, for which there is [room](Self::has_room).
    #[inline]
    pub(crate) fn send(&mut self, frames: &mut IndexedFrames<F>, runs: &mut Runs) {
        let count = runs.len();
        let room =
            (self.frames.write_chunk_uninit(frames.len()), self.runs.write_chunk_uninit(count));
        let (Ok(to_frames), Ok(to_runs)) = room else {
            debug_assert!(false, "a burst is sent where there is room for it");
            return;
        };
        to_frames.fill_from_iter(frames.drain(..));
        let marked = runs.drain(..).enumerate();
        to_runs.fill_from_iter(marked.map(|(at, run)| (run, at + 1 == count)));
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
    ) -> Option<Runs> {
        let mut runs = Runs::new();
        let mut count = 0;
        loop {
            // All runs of a burst were published at once.
            let (run, is_last) = self.runs.pop().ok()?;
            count += run.sums.frames as usize;
            runs.push(run);
            if is_last {
                break;
            }
        }
        let Ok(chunk) = self.frames.read_chunk(count) else {
            debug_assert!(false, "the frames of a burst are there before its runs");
            return None;
        };
        for ((frame, index), run_index) in chunk.into_iter().zip(run_indices) {
            *run_index = index;
            frames.push(frame);
        }
        Some(runs)
    }
}
