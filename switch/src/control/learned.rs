//! Routes from a routing daemon.

use super::Control;
use crate::fpm::FpmServer;
use crate::platform::Platform;
use dataplane::time::Instant;

impl<P: Platform> Control<P> {
    /// From now on routes come from this server.
    #[cfg(feature = "dpdk")]
    pub(crate) fn take_routes_from(&mut self, server: FpmServer) {
        self.fpm = Some(server);
    }

    /// Takes the routes that have come. Returns whether there were any.
    pub(super) fn take_learned(&mut self, now: Instant) -> bool {
        let Some(fpm) = &mut self.fpm else { return false };
        // Changes that wait for the next tables may be of a route that is given once more.
        let step = fpm.step(now, self.tables.routes_mut(), self.workers.epoch(), self.epoch + 1);
        self.needs_tables |= step.changed;
        step.any
    }
}
