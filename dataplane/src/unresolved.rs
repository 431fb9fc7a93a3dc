//! Queue of lossless frames whose next hop's MAC address is not resolved.
//!
//! The frames wait in order of arrival. They are charged to their VIQs (virtual ingress queues), so
//! that they pause upstream like any queued frame. The control thread gets a copy of the first
//! frame for a destination and resolves the address. When new tables arrive, all waiting frames
//! enter the pipeline again, before any later frame, so that the order is kept.
//!
//! The worker punts a frame that has waited for [`WAIT_NS_MAX`] as unreachable. For [`GIVEN_UP_NS`]
//! no other frame waits for that destination: otherwise a neighbor that is gone would pause senders
//! to other destinations.
//!
//! Lossy frames do not wait here; the control thread queues a few of them.

use crate::frame::Frame;
use crate::queue::veq::{FramePool, Veq, low_32_bits};
use crate::time::Instant;

/// How long a frame waits: as long as the agent tries to resolve the address (`AgentSettings`: 3
/// tries, one second apart).
pub(crate) const WAIT_NS_MAX: u32 = 3_000_000_000;
/// How long no frame waits for a destination that did not answer. The agent holds down a neighbor
/// for the same time.
pub(crate) const GIVEN_UP_NS: u64 = 5_000_000_000;
/// Number of destinations that are remembered.
const DESTINATIONS: usize = 16;

/// The waiting frames, and the state of their destinations.
#[derive(Debug, Default)]
pub(crate) struct Unresolved {
    pub(crate) frames: Veq,
    destinations: [Destination; DESTINATIONS],
    /// Arrival time of the frame that is entering the pipeline again.
    pub(crate) arrived_ns: Option<u32>,
}

/// A destination that frames wait for, or that did not answer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Destination {
    /// The IP address; IPv4 in the low bits.
    pub(crate) address: u128,
    /// When the entry expires.
    pub(crate) until: Instant,
    pub(crate) is_given_up: bool,
}

impl Unresolved {
    /// Number of waiting frames.
    pub(crate) const fn len(&self) -> u64 {
        self.frames.frames() as u64
    }

    pub(crate) fn find(&self, address: u128, now: Instant) -> Option<&Destination> {
        self.destinations.iter().find(|known| known.address == address && now < known.until)
    }

    /// Stores `destination` over the entry for the same address, or else over the entry that
    /// expires first.
    pub(crate) fn remember(&mut self, destination: Destination) {
        let same = self.destinations.iter().position(|it| it.address == destination.address);
        let first = (0..DESTINATIONS).min_by_key(|&at| self.destinations[at].until.ns);
        self.destinations[same.or(first).unwrap_or(0)] = destination;
    }

    /// How long the first frame has waited.
    pub(crate) fn age_ns<F: Frame>(&self, frame_pool: &FramePool<F>, now: Instant) -> Option<u32> {
        if self.frames.is_empty() {
            return None;
        }
        Some(low_32_bits(now).wrapping_sub(self.frames.front(frame_pool)?.arrived_ns))
    }
}
