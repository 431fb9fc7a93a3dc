//! Runs a network: planned actions, and between them the events of all parts.

use crate::event::{NEVER, Picoseconds};
use crate::host_node::HostNode;
use crate::network::Network;
use crate::threads;

impl Network {
    /// Runs until `until_ps`, that instant included.
    ///
    /// # Panics
    /// A node panics, in whatever thread it runs.
    pub fn run_until(&mut self, until_ps: Picoseconds) {
        while let Some(at_ps) = self.schedule.next_at_ps().filter(|&at_ps| at_ps <= until_ps) {
            // Actions of an instant precede its events.
            if let Some(before_ps) = at_ps.checked_sub(1) {
                self.run_events(before_ps);
            }
            self.now_ps = at_ps;
            self.do_planned();
        }
        self.run_events(until_ps);
        self.now_ps = self.now_ps.max(until_ps);
    }

    fn run_events(&mut self, until_ps: Picoseconds) {
        let Self { parts, captures, exchange, .. } = self;
        if let [part] = &mut **parts {
            while part.events.take_lookahead(until_ps) {
                part.run_window();
                captures.take(&mut part.links.captured);
                captures.write_held(part.events.done_ps());
            }
        } else {
            threads::run(parts, exchange, until_ps);
            parts.iter_mut().for_each(|part| captures.take(&mut part.links.captured));
        }
        captures.write_held(NEVER);
    }

    /// Has a node turned at this instant, once all actions of the instant are applied.
    pub(crate) fn wake(&mut self, node: usize) {
        if !self.woken.contains(&node) {
            self.woken.push(node);
        }
    }

    /// Turns the nodes for which [`Self::wake`] was called.
    pub(crate) fn turn_woken(&mut self) {
        for node in std::mem::take(&mut self.woken) {
            let place = self.places[node];
            self.parts[place.part].turn(place.node, self.now_ps);
        }
    }

    /// Runs for another `span_ps`.
    pub fn run_for(&mut self, span_ps: Picoseconds) {
        self.run_until(self.now_ps.saturating_add(span_ps));
    }

    /// Stops the flows of all hosts.
    pub fn stop_sources(&mut self) {
        self.parts.iter_mut().flat_map(|part| &mut part.hosts).for_each(HostNode::stop);
    }
}
