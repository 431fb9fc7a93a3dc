//! `knotless trace` of a running switch: the tables that the workers use, and a worker of its own.

use super::Control;
use super::protocol::Reply;
use crate::platform::Platform;
use crate::trace::request::TraceRequest;
use crate::trace::walk::{TracedTables, walk};
use dataplane::ids::PortId;
use std::sync::Arc;

impl<P: Platform> Control<P> {
    /// Walks the frame of `request` through the tables in use.
    pub(super) fn trace(&self, request: &TraceRequest) -> Reply {
        let config = self.tables.config();
        let in_use = self.table_pair.in_use().map(Arc::clone);
        let snapshot =
            in_use.unwrap_or_else(|| Arc::new(self.tables.snapshot(self.workers.epoch())));
        let ports = (0..config.ports.len()).filter_map(PortId::from_index);
        let down = ports.filter(|&port| !self.links.port(port).is_up()).collect();
        let tables = TracedTables { config, snapshot, routes: self.tables.routes(), down };
        match walk(&tables, request, self.platform.now()) {
            Ok(trace) => Reply::Trace(Box::new(trace)),
            Err(error) => Reply::failed(error),
        }
    }
}
