//! The two sets of tables of the packet path: workers use one, and the other one is idle. A change
//! of routes is made in the idle one, which then takes the place of the other; what it does not
//! touch is not built again.

use super::tables::Tables;
use dataplane::fib::Compiler;
use dataplane::snapshot::Snapshot;
use std::sync::Arc;

/// A set of tables, and the configuration it was made from.
#[derive(Debug)]
struct Made {
    snapshot: Arc<Snapshot>,
    generation: u64,
}

/// Both sets, and who keeps their routes.
#[derive(Debug, Default)]
pub(super) struct TablePair {
    compiler: Compiler,
    in_use: Option<Made>,
    idle: Option<Made>,
}

impl TablePair {
    /// The tables that workers use, or are about to; `None` if they have those of the start still.
    pub(super) fn in_use(&self) -> Option<&Arc<Snapshot>> {
        self.in_use.as_ref().map(|made| &made.snapshot)
    }

    /// The tables as they are to be, with number `epoch`. Workers must use the ones before: nobody
    /// has the idle ones then.
    pub(super) fn next(&mut self, tables: &mut Tables, epoch: u64) -> Arc<Snapshot> {
        self.compiler.update(tables.routes_mut());
        let generation = tables.generation();
        let idle = self.idle.take();
        let is_of_this = idle.as_ref().is_some_and(|idle| idle.generation == generation);
        let idle = idle.and_then(|idle| Arc::into_inner(idle.snapshot));
        let mut snapshot = match idle {
            Some(snapshot) if is_of_this => snapshot,
            idle => tables.snapshot_with(epoch, idle.map(|idle| idle.fib).unwrap_or_default()),
        };
        self.compiler.apply(&mut snapshot.fib);
        snapshot.epoch = epoch;
        let snapshot = Arc::new(snapshot);
        let made = Made { snapshot: Arc::clone(&snapshot), generation };
        self.idle = self.in_use.replace(made);
        snapshot
    }
}
