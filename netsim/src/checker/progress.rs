//! Once nothing new is sent, everything drains; if not, what is stuck and why is told.

use super::{Knot, knot};
use crate::event::Picoseconds;
use crate::network::Network;

/// Frames that will not leave the network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{frames} frames are stuck: {}", self.cause())]
pub struct Stuck {
    /// How many.
    pub frames: u64,
    /// The cycle that they wait in; `None` if there is none, and a host pauses them for ever.
    pub knot: Option<Knot>,
}

impl Stuck {
    fn cause(&self) -> String {
        let nobody = || "no knot, somebody pauses them".to_owned();
        self.knot.as_ref().map_or_else(nobody, Knot::to_string)
    }
}

/// Steps that a wait is cut into.
const STEPS: u64 = 16;

impl Network {
    /// Stops all sources and runs until no frame is left in the network; returns when that was,
    /// give or take a sixteenth of `patience_ps`.
    ///
    /// # Errors
    /// Frames were left, and none had moved for `patience_ps` and since the last thing that was
    /// planned was done: who pauses them may yet end it.
    pub fn drain(&mut self, patience_ps: Picoseconds) -> Result<Picoseconds, Stuck> {
        self.stop_sources();
        let mut still = 0;
        loop {
            let frames = self.frames_inside();
            if frames == 0 {
                return Ok(self.now_ps());
            }
            if still > STEPS {
                return Err(Stuck { frames, knot: knot::find(self) });
            }
            let before = self.data_hops();
            self.run_for((patience_ps / STEPS).max(1));
            let has_plans = self.schedule.next_at_ps().is_some();
            let moves = self.data_hops() != before || has_plans;
            still = if moves { 0 } else { still + 1 };
        }
    }

    /// Runs until a knot is found or `until_ps` is reached, looking every `every_ps`; when it was
    /// found, and the knot.
    pub fn run_until_knot(
        &mut self,
        until_ps: Picoseconds,
        every_ps: Picoseconds,
    ) -> Option<(Picoseconds, Knot)> {
        while self.now_ps() < until_ps {
            self.run_until(self.now_ps().saturating_add(every_ps.max(1)).min(until_ps));
            if let Some(knot) = self.find_knot() {
                return Some((self.now_ps(), knot));
            }
        }
        None
    }

    /// The knot that the network is in, if it is in one.
    pub fn find_knot(&self) -> Option<Knot> {
        knot::find(self)
    }
}
