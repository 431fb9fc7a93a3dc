//! A worker's state at one instant, between two turns: so its books balance to the frame.

use crate::buffer::ViqId;
use crate::counters::{PortCounters, Totals};
use crate::ids::PortId;
use crate::limits::PRIORITIES;
use crate::queue::veq::Note;
use crate::time::Instant;
use alloc::vec::Vec;

/// VIQs that are told of a queue that may not leave. More ports than that rarely meet in one queue.
const ORIGINS_MAX: usize = 8;
/// Frames of such a queue that are looked at: a report is made between two turns, and may not hold
/// up the next.
const NOTES_MAX: usize = 1_024;

/// Which VIQs the frames of a queue are charged to: whom a queue that may not leave holds up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origins {
    viqs: [Option<ViqId>; ORIGINS_MAX],
    /// Whether there may be others: too many VIQs, or too many frames to look at.
    pub has_more: bool,
}

impl Origins {
    /// Of frames with these notes.
    pub(crate) fn of<'a, I: Iterator<Item = &'a Note>>(notes: I) -> Self {
        let mut origins = Self::default();
        for (looked_at, note) in notes.enumerate() {
            if looked_at == NOTES_MAX {
                origins.has_more = true;
                break;
            }
            // The switch's own frames are charged to nobody.
            if note.viq != ViqId::NONE {
                origins.add(note.viq);
            }
        }
        origins
    }

    fn add(&mut self, viq: ViqId) {
        let place = self.viqs.iter_mut().find(|place| place.is_none_or(|known| known == viq));
        match place {
            Some(place) => *place = Some(viq),
            None => self.has_more = true,
        }
    }

    /// The VIQs, in the order in which their first frames wait.
    pub fn viqs(&self) -> impl Iterator<Item = ViqId> {
        self.viqs.into_iter().flatten()
    }
}

/// Gauges of one port and priority, in bytes unless they say otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueGauges {
    /// Bytes in the buffer that came in here in this priority.
    pub viq_bytes: u32,
    /// The most there were.
    pub viq_peak_bytes: u32,
    /// Headroom in use.
    pub headroom_bytes: u32,
    /// The most headroom that was used.
    pub headroom_peak_bytes: u32,
    /// Bytes waiting to leave here in this priority.
    pub veq_bytes: u32,
    /// The most there were.
    pub veq_peak_bytes: u32,
    /// Frames waiting to leave.
    pub veq_frames: u32,
    /// Whether PFC protects it.
    pub lossless: bool,
    /// Whether the peer has paused us.
    pub rx_paused: bool,
    /// Whether we have paused the peer.
    pub tx_paused: bool,
    /// For how many nanoseconds the peer has paused us without a break; 0 if it has not.
    pub rx_paused_for_ns: u64,
    /// How long the pause that the peer has asked for is, or the last one was, in nanoseconds.
    pub rx_recent_pause_ns: u64,
    /// Whether the peer holds us to a rate below the port's.
    pub rx_slowed: bool,
    /// Whether the watchdog sees a storm.
    pub stormed: bool,
    /// For how many nanoseconds we have paused the peer without a break; 0 if we have not.
    pub tx_paused_for_ns: u64,
    /// Where the frames came in that wait here and may not leave.
    pub origins: Origins,
}

/// One port's counters and gauges.
#[derive(Clone, Debug)]
pub struct PortReport {
    /// Which port.
    pub port: PortId,
    /// Whether the worker owns it; if not, this is what it sent there by itself, to be added to
    /// what the owner counts.
    pub is_owner: bool,
    /// Whether its link is up.
    pub up: bool,
    /// Counters since start; pauses that are running are counted up to now.
    pub counters: PortCounters,
    /// By priority.
    pub queues: [QueueGauges; PRIORITIES],
}

/// One worker's report.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// When it was written.
    pub at: Instant,
    /// The snapshot in use.
    pub epoch: u64,
    /// Turns taken since start.
    pub turns: u64,
    /// Turns in which something moved.
    pub busy_turns: u64,
    /// The balance.
    pub totals: Totals,
    /// Bytes of the lossless pool in use by this worker's VIQs.
    pub shared_bytes: u64,
    /// The most there were.
    pub shared_peak_bytes: u64,
    /// Size of the lossless pool, of all workers.
    pub shared_size_bytes: u64,
    /// Lossy bytes in use by this worker's VIQs.
    pub lossy_bytes: u64,
    /// The most there were.
    pub lossy_peak_bytes: u64,
    /// Addresses in the MAC table.
    pub mac_entries: usize,
    /// Lossless frames that wait for their next hop.
    pub pending_frames: u64,
    /// The worker's ports, then those of others that it sends at.
    pub ports: Vec<PortReport>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{PortId, Priority};

    fn note(port: usize, priority: u8) -> Note {
        let port = PortId::from_index(port).unwrap();
        Note { viq: ViqId::new(port, Priority::from_low_bits(priority)), ..Note::NONE }
    }

    #[test]
    fn each_origin_is_told_once_in_the_order_of_its_first_frame() {
        let notes = [note(7, 3), Note::NONE, note(2, 3), note(7, 3), note(7, 4)];
        let origins = Origins::of(notes.iter());
        let viqs: Vec<ViqId> = origins.viqs().collect();
        assert_eq!(viqs, [notes[0].viq, notes[2].viq, notes[4].viq]);
        assert!(!origins.has_more);
        assert_eq!(Origins::of([].iter()), Origins::default());
    }

    #[test]
    fn what_is_left_out_is_said() {
        let notes: Vec<Note> = (0..=ORIGINS_MAX).map(|port| note(port, 3)).collect();
        let all = Origins::of(notes[..ORIGINS_MAX].iter());
        assert_eq!((all.viqs().count(), all.has_more), (ORIGINS_MAX, false));
        let more = Origins::of(notes.iter());
        assert_eq!((more.viqs().count(), more.has_more), (ORIGINS_MAX, true));

        let long = [note(1, 3)].repeat(NOTES_MAX);
        assert!(!Origins::of(long.iter()).has_more);
        assert!(Origins::of(long.iter().chain(&[note(1, 3)])).has_more);
    }
}
