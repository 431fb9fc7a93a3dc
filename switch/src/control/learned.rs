//! Routes from a routing daemon.

use super::Control;
use crate::fpm::Epochs;
#[cfg(feature = "dpdk")]
use crate::fpm::FpmServer;
use crate::platform::Platform;
use dataplane::time::Instant;

/// Least time between two sets of tables for learned routes: those that come by the thousand share
/// one.
const INTERVAL_NS: u64 = 1_000_000;

/// What a routing daemon has changed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Learned {
    /// Whether anything has changed since the tables were made.
    is_pending: bool,
    /// The earliest time of the next tables for it.
    due: Instant,
}

impl<P: Platform> Control<P> {
    /// From now on routes come from this server.
    #[cfg(feature = "dpdk")]
    pub(crate) fn take_routes_from(&mut self, server: FpmServer) {
        self.fpm = Some(server);
    }

    /// Takes the routes that have come. Returns whether there were any.
    pub(super) fn take_learned(&mut self, now: Instant) -> bool {
        let Some(fpm) = &mut self.fpm else { return false };
        let epochs = Epochs {
            in_use: self.workers.epoch(),
            made: self.epoch,
            is_change_pending: self.needs_tables || self.learned.is_pending,
        };
        let step = fpm.step(now, self.tables.routes_mut(), epochs);
        self.learned.is_pending |= step.changed;
        if self.learned.is_pending && now >= self.learned.due {
            self.needs_tables = true;
            self.learned = Learned { is_pending: false, due: now + INTERVAL_NS };
        }
        step.any
    }
}
