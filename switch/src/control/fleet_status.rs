//! What the agent of the fleet's store says to the control thread: where it stands.

use super::stats::FleetStats;
use std::sync::{Arc, Mutex, PoisonError};

/// Written by the agent's thread, read for [`Stats`](super::stats::Stats).
#[derive(Clone, Debug, Default)]
pub(crate) struct FleetStatus(Arc<Mutex<FleetStats>>);

impl FleetStatus {
    /// What was said last.
    pub(crate) fn get(&self) -> FleetStats {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Says something else.
    pub(crate) fn set(&self, stats: FleetStats) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = stats;
    }
}
