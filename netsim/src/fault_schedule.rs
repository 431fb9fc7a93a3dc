//! What is done to a running network, and when: links that go down and come up, switches that
//! restart, routes that are wrong or new, hosts that change their mind.

use crate::event::Picoseconds;
use crate::link::PfcFault;
use crate::network::Network;
use crate::routing::table;
use crate::sink::Drain;
use crate::switch_spec::FRAME_BYTES_MOST;
use crate::topology::{HostId, SwitchId};
use dataplane::ids::PortId;
use std::collections::BTreeSet;

/// Something to be done to the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A link, by its number, goes down: what is on it is lost.
    LinkDown(usize),
    /// And comes up again, once for each time it went down.
    LinkUp(usize),
    /// The switches at a link find ways around it, or back.
    Reroute(usize),
    /// A switch sends what is for a host by this port; with `None`, by the right one again.
    Misroute(SwitchId, HostId, Option<PortId>),
    /// A host takes frames only so fast; with `None`, as they come.
    Drain(HostId, Option<Drain>),
    /// A host pauses all that can be paused, or stops to.
    Storm(HostId, bool),
    /// PFC frames on this wire are lost or changed; link n has wires 2 n, from its first end, and 2
    /// n + 1. With `None`, no longer.
    Pfc(usize, Option<PfcFault>),
    /// A switch loses all it holds and is away: its links are down.
    SwitchDown(SwitchId),
    /// And comes back, empty.
    SwitchUp(SwitchId),
}

/// What is yet to be done.
#[derive(Debug)]
pub(crate) struct FaultSchedule {
    /// The next one last; at one time in the order in which they were planned.
    planned: Vec<(Picoseconds, u64, Action)>,
    count: u64,
    /// How long after a link changes its switches change their routes.
    reroute_ps: Option<Picoseconds>,
    has_rerouted: bool,
    /// Switches that get new tables once all that is planned for this instant is done.
    to_install: BTreeSet<SwitchId>,
}

impl FaultSchedule {
    pub(crate) const fn new(reroute_ps: Option<Picoseconds>) -> Self {
        let to_install = BTreeSet::new();
        Self { planned: Vec::new(), count: 0, reroute_ps, has_rerouted: false, to_install }
    }

    fn plan(&mut self, at_ps: Picoseconds, action: Action) {
        self.count += 1;
        let entry = (at_ps, self.count, action);
        let later = |other: &(Picoseconds, u64, Action)| (other.0, other.1) > (at_ps, entry.1);
        let at = self.planned.partition_point(later);
        self.planned.insert(at, entry);
    }

    /// When the next thing is to be done.
    #[inline]
    pub(crate) fn next_at_ps(&self) -> Option<Picoseconds> {
        self.planned.last().map(|&(at_ps, ..)| at_ps)
    }

    pub(crate) const fn has_rerouted(&self) -> bool {
        self.has_rerouted
    }
}

impl Network {
    /// Has something done at `at_ps`, or at once if that has gone by; before anything else that
    /// happens at that instant.
    pub fn plan(&mut self, at_ps: Picoseconds, action: Action) {
        self.schedule.plan(at_ps.max(self.now_ps()), action);
    }

    /// Does what is planned for this instant.
    pub(crate) fn do_planned(&mut self) {
        let now_ps = self.now_ps;
        while let Some((_, _, action)) = self.schedule.planned.pop_if(|next| next.0 <= now_ps) {
            self.act(action);
        }
        // Once, however many links of a switch changed: its commands wait in a short ring.
        while let Some(switch) = self.schedule.to_install.pop_first() {
            self.install(switch);
        }
        self.turn_woken();
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::LinkDown(link) => self.set_link(link, false),
            Action::LinkUp(link) => self.set_link(link, true),
            Action::Reroute(link) => self.reroute(link),
            Action::Misroute(switch, host, port) => {
                self.schedule.has_rerouted = true;
                self.router.misroute(switch, host, port);
                self.schedule.to_install.insert(switch);
            }
            Action::Drain(host, drain) => {
                self.hosts[host.0].set_drain(drain);
                self.wake(self.switches.len() + host.0);
            }
            Action::Storm(host, storms) => {
                self.hosts[host.0].set_storm(storms);
                self.wake(self.switches.len() + host.0);
            }
            Action::Pfc(wire, trouble) => self.links.wires[wire].pfc_fault = trouble,
            Action::SwitchDown(switch) => self.switch_down(switch),
            Action::SwitchUp(switch) => self.switch_up(switch),
        }
    }

    fn links_of(&self, switch: SwitchId) -> Vec<usize> {
        self.topology.attachments(switch).map(|(_, attachment)| attachment.link).collect()
    }

    /// The switches at a link.
    fn ends_of(&self, link: usize) -> Vec<SwitchId> {
        let ends = [2 * link, 2 * link + 1].map(|wire| self.links.wires[wire].from.node());
        ends.into_iter().filter(|&node| node < self.switches.len()).map(SwitchId).collect()
    }

    fn set_link(&mut self, link: usize, up: bool) {
        let was_up = self.links.wires[2 * link].is_up();
        for number in [2 * link, 2 * link + 1] {
            let wire = &mut self.links.wires[number];
            wire.down_count =
                if up { wire.down_count.saturating_sub(1) } else { wire.down_count + 1 };
            let is_up = wire.is_up();
            if is_up == was_up {
                continue;
            }
            let from = wire.from;
            if !is_up {
                self.links.cut(number, self.now_ps);
            }
            match from.node().checked_sub(self.switches.len()) {
                None => self.switches[from.node()].set_link(from.port, is_up, self.now_ps),
                Some(host) => self.hosts[host].set_link(is_up, self.now_ps),
            }
            self.wake(from.node());
        }
        if let Some(reroute_ps) = self.schedule.reroute_ps
            && self.links.wires[2 * link].is_up() != was_up
        {
            self.schedule.plan(self.now_ps + reroute_ps, Action::Reroute(link));
        }
    }

    fn switch_down(&mut self, switch: SwitchId) {
        for link in self.links_of(switch) {
            self.set_link(link, false);
        }
        let routes = table(&self.router, &self.topology, switch, FRAME_BYTES_MOST);
        let node = &mut self.switches[switch.0];
        let device = node.worker.device().reset();
        node.restart(device, &routes, self.now_ps);
        self.schedule.has_rerouted = true;
        self.wake(switch.0);
    }

    fn switch_up(&mut self, switch: SwitchId) {
        for link in self.links_of(switch) {
            self.set_link(link, true);
            // It knows its own links when it starts, and need not find out.
            self.router.set_link(link, self.links.wires[2 * link].is_up());
        }
        self.schedule.to_install.insert(switch);
    }

    /// The switches at a link have noticed whether it is up.
    fn reroute(&mut self, link: usize) {
        self.schedule.has_rerouted = true;
        self.router.set_link(link, self.links.wires[2 * link].is_up());
        let ends = self.ends_of(link);
        let changed = self.router.reroute(&ends, &self.topology);
        self.schedule.to_install.extend(changed);
    }

    /// Has a switch use the routes that it is to have now.
    fn install(&mut self, switch: SwitchId) {
        let routes = table(&self.router, &self.topology, switch, FRAME_BYTES_MOST);
        self.switches[switch.0].install(&routes);
        self.wake(switch.0);
    }
}
