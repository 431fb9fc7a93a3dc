//! Once the sources have stopped, the network drains; if not, what is stuck and why is reported.

use super::deadlock::{self, Deadlock};
use crate::event::Picoseconds;
use crate::network::Network;

/// Frames that will not leave the network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{frames} frames are stuck: {}", self.cause())]
pub struct Stuck {
    /// How many.
    pub frames: u64,
    /// The deadlock that they wait in; `None` if there is none and a host pauses them for ever.
    pub deadlock: Option<Deadlock>,
}

impl Stuck {
    fn cause(&self) -> String {
        let none = || "no deadlock, a host pauses them".to_owned();
        self.deadlock.as_ref().map_or_else(none, Deadlock::to_string)
    }
}

/// Steps into which a wait is divided.
const STEPS: u64 = 16;

impl Network {
    /// Stops all sources and runs until no frame is left in the network; returns when that was, to
    /// a sixteenth of `patience_ps`.
    ///
    /// Frames were left, and none had moved for `patience_ps` since the last planned action.
    pub fn drain(&mut self, patience_ps: Picoseconds) -> Result<Picoseconds, Stuck> {
        self.stop_sources();
        let mut still = 0;
        loop {
            let frames = self.frames_inside();
            if frames == 0 {
                return Ok(self.now_ps());
            }
            if still > STEPS {
                return Err(Stuck { frames, deadlock: deadlock::find(self) });
            }
            let before = self.data_hops();
            self.run_for((patience_ps / STEPS).max(1));
            let has_plans = self.schedule.next_at_ps().is_some();
            let moves = self.data_hops() != before || has_plans;
            still = if moves { 0 } else { still + 1 };
        }
    }

    /// The deadlock that the network is in, if any.
    pub fn find_deadlock(&self) -> Option<Deadlock> {
        deadlock::find(self)
    }
}
