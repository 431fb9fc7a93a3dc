//! The links of ports whose worker hangs: they go down, so that the peers keep what they have to
//! send, and come up when all workers answer again.
//!
//! The workers are not told. What waits in a worker's queues for such a port would be dropped as
//! for a lost link; it waits for the worker instead.

use super::Control;
use crate::log;
use crate::platform::Platform;
use dataplane::ids::PortId;
use std::collections::BTreeSet;

impl<P: Platform> Control<P> {
    /// Takes the links of all ports down from which a worker receives that does not answer.
    pub(super) fn keep_from_hung_workers(&mut self) {
        let silent: Vec<usize> = self.workers.silent().collect();
        let theirs = silent.iter().flat_map(|&worker| self.workers.ports_of(worker));
        let theirs: BTreeSet<PortId> =
            theirs.filter(|port| !self.kept_from_workers.contains(port)).collect();
        let up = theirs.into_iter().filter(|&port| self.links.port(port).link);
        let with_peer = up.filter(|&port| self.platform.has_peer(port));
        let (kept, others): (Vec<_>, Vec<_>) =
            with_peer.partition(|&port| self.platform.set_link(port, false));
        if !kept.is_empty() {
            let text = format!(
                "links taken down, so that the peers keep their frames until the worker answers: {}",
                self.names_of(&kept)
            );
            log::warning("worker", text);
        }
        if !others.is_empty() {
            let text = format!(
                "links that cannot be taken down, whose peers go on to send to a worker that does \
                 not receive: {}",
                self.names_of(&others)
            );
            log::error("worker", text);
        }
        kept.iter().for_each(|&port| self.links.keep(port));
        self.kept_from_workers.extend(kept);
    }

    /// Takes the links up that [`Control::keep_from_hung_workers`] has taken down.
    pub(super) fn give_back_to_workers(&mut self) {
        let kept = std::mem::take(&mut self.kept_from_workers);
        if kept.is_empty() {
            return;
        }
        log::info("worker", format!("links taken up again: {}", self.names_of(&kept)));
        let now = self.platform.now();
        for port in kept {
            let _it_could_be_taken_down = self.platform.set_link(port, true);
            self.links.keep_no_longer(port, now);
        }
    }

    fn names_of(&self, ports: &[PortId]) -> String {
        let all = &self.tables.config().settings.ports;
        let names: Vec<&str> = ports.iter().map(|port| all[port.index()].name.as_str()).collect();
        names.join(", ")
    }
}
