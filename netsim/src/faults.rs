//! Applies the planned actions to a running network.

use crate::event::Picoseconds;
use crate::fault_schedule::Action;
use crate::network::Network;
use crate::routing::table;
use crate::switch_spec::FRAME_BYTES_MOST;
use crate::topology::SwitchId;
use dataplane::fib::Routes;

impl Network {
    /// Plans an action for `at_ps`, or for now if that is past. It precedes all events of that
    /// instant.
    pub fn plan(&mut self, at_ps: Picoseconds, action: Action) {
        self.schedule.plan(at_ps.max(self.now_ps()), action);
    }

    /// Applies the actions of this instant.
    pub(crate) fn do_planned(&mut self) {
        let now_ps = self.now_ps;
        while let Some((_, _, action)) = self.schedule.planned.pop_if(|next| next.0 <= now_ps) {
            self.act(action);
        }
        // Once for each switch, however many of its links changed: its commands wait in a short
        // ring.
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
            Action::Route(switch, flow, port) => {
                self.schedule.has_rerouted = true;
                self.router.set_path_port(switch, flow, port);
                self.schedule.to_install.insert(switch);
            }
            Action::Drain(host, drain) => {
                self.host_node_mut(host.0).set_drain(drain);
                self.wake(self.switches + host.0);
            }
            Action::Storm(host, storms) => {
                self.host_node_mut(host.0).set_storm(storms);
                self.wake(self.switches + host.0);
            }
            Action::Pfc(wire, trouble) => self.links_to(wire).wires[wire].pfc_fault = trouble,
            Action::SwitchDown(switch) => self.switch_down(switch),
            Action::SwitchUp(switch) => self.switch_up(switch),
        }
    }

    fn links_of(&self, switch: SwitchId) -> Vec<usize> {
        self.topology.attachments(switch).map(|(_, attachment)| attachment.link).collect()
    }

    /// The switches at a link.
    fn ends_of(&self, link: usize) -> Vec<SwitchId> {
        let ends = [2 * link, 2 * link + 1].map(|wire| self.ends[wire].from.node());
        ends.into_iter().filter(|&node| node < self.switches).map(SwitchId).collect()
    }

    fn set_link(&mut self, link: usize, up: bool) {
        let was_up = self.wire_from(2 * link).is_up();
        for number in [2 * link, 2 * link + 1] {
            self.links_from(number).wires[number].set_up(up);
            let is_up = self.wire_from(number).is_up();
            if is_up == was_up {
                continue;
            }
            let (from, now_ps) = (self.ends[number].from, self.now_ps);
            if !is_up {
                self.links_to(number).cut(number);
                self.links_from(number).unpause(number, now_ps);
            }
            match from.node().checked_sub(self.switches) {
                None => self.switch_node_mut(from.node()).set_link(from.port, is_up, now_ps),
                Some(host) => self.host_node_mut(host).set_link(is_up, now_ps),
            }
            self.wake(from.node());
        }
        if let Some(reroute_ps) = self.schedule.reroute_ps
            && self.wire_from(2 * link).is_up() != was_up
        {
            self.schedule.plan(self.now_ps + reroute_ps, Action::Reroute(link));
        }
    }

    fn switch_down(&mut self, switch: SwitchId) {
        for link in self.links_of(switch) {
            self.set_link(link, false);
        }
        let routes = self.routes_of(switch);
        let now_ps = self.now_ps;
        let node = self.switch_node_mut(switch.0);
        let device = node.worker.device().reset();
        node.restart(device, &routes, now_ps);
        self.schedule.has_rerouted = true;
        self.wake(switch.0);
    }

    fn switch_up(&mut self, switch: SwitchId) {
        for link in self.links_of(switch) {
            self.set_link(link, true);
            // A switch knows the state of its own links when it starts.
            self.router.set_link(link, self.wire_from(2 * link).is_up());
        }
        self.schedule.to_install.insert(switch);
    }

    /// The switches at a link have noticed that it went down or came up.
    fn reroute(&mut self, link: usize) {
        self.schedule.has_rerouted = true;
        self.router.set_link(link, self.wire_from(2 * link).is_up());
        let ends = self.ends_of(link);
        let changed = self.router.reroute(&ends, &self.topology);
        self.schedule.to_install.extend(changed);
    }

    /// The current routes of a switch: those of its file, if it has one.
    fn routes_of(&mut self, switch: SwitchId) -> Routes {
        let given = self.switch_node_mut(switch.0).file_routes.as_deref().cloned();
        given.unwrap_or_else(|| table(&self.router, &self.topology, switch, FRAME_BYTES_MOST))
    }

    /// Installs the current routes in a switch.
    fn install(&mut self, switch: SwitchId) {
        let routes = self.routes_of(switch);
        self.switch_node_mut(switch.0).install(&routes);
        self.wake(switch.0);
    }
}
