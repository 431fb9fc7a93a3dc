//! How many frames wait in a port's receive queue, on which the core pauses.
//!
//! The drivers of the kernel's devices do not report it. Their queue is the kernel's, and a worker
//! that is too slow for what is sent there would find no VIQ full, pause nobody, and let the queue
//! overflow. What shows that frames wait is that every burst is full.

use super::rx_queue::RxLosses;
use std::fmt;

/// Where the receive backlog of a port is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BacklogSource {
    /// The driver reports it.
    Driver,
    /// Bursts are counted that came full, one after the other.
    FullBursts,
    /// Nowhere, and it need not be: the sender keeps what the queue has no room for.
    None,
}

impl BacklogSource {
    /// Of a port whose driver reports it, or not, and whose full queue loses frames, or not.
    pub(super) const fn of(driver_reports: bool, losses: RxLosses) -> Self {
        match (driver_reports, losses) {
            (true, _) => Self::Driver,
            (false, RxLosses::None) => Self::None,
            (false, RxLosses::Counted { .. } | RxLosses::Uncounted) => Self::FullBursts,
        }
    }
}

impl fmt::Display for BacklogSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Driver => "the switch pauses on a receive backlog, which the driver reports",
            Self::FullBursts => "the switch pauses on a receive backlog: full bursts in a row",
            Self::None => "a sender waits when its receive queue is full",
        })
    }
}

/// Frames received in full bursts, one after the other: they waited, or arrive as fast as the
/// worker takes them. Never more than have waited or arrived since the queue was last empty.
#[derive(Debug, Default)]
pub(super) struct FullBursts {
    frames: u32,
}

impl FullBursts {
    /// A burst of `count` frames was received, where `room` were asked for. One that asked for
    /// none, because the VIQs are full, says nothing.
    #[inline]
    pub(super) const fn received(&mut self, count: u16, room: u16) {
        if count < room {
            self.frames = 0;
        } else {
            self.frames = self.frames.saturating_add(count as u32);
        }
    }

    /// What the core takes for the backlog.
    #[inline]
    pub(super) const fn frames(&self) -> u32 {
        self.frames
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_bursts_add_up_until_one_is_not() {
        let mut bursts = FullBursts::default();
        let mut after = |count, room| {
            bursts.received(count, room);
            bursts.frames()
        };
        assert_eq!(after(64, 64), 64);
        assert_eq!(after(64, 64), 128);
        // The VIQs had no room: the frames still wait.
        assert_eq!(after(0, 0), 128);
        assert_eq!(after(5, 5), 133);
        assert_eq!(after(63, 64), 0);
        assert_eq!(after(0, 64), 0);
        assert_eq!(after(64, 64), 64);
    }

    #[test]
    fn only_a_queue_that_loses_frames_is_counted_for() {
        let counted = RxLosses::Counted { by: "it" };
        assert_eq!(BacklogSource::of(true, counted), BacklogSource::Driver);
        assert_eq!(BacklogSource::of(false, counted), BacklogSource::FullBursts);
        assert_eq!(BacklogSource::of(false, RxLosses::Uncounted), BacklogSource::FullBursts);
        assert_eq!(BacklogSource::of(false, RxLosses::None), BacklogSource::None);
    }
}
