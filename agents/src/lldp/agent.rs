//! The agent: all ports, and the level that they have in common.

use super::condition::{Condition, Conditions};
use super::counters::{LldpCounters, Outcome};
use super::learning::{AcceptedPeer, Learned, PortRole, learn};
use super::neighbors::{Change, Neighbor};
use super::pdu::Pdu;
use super::port::Port;
use super::settings::{LldpSettings, PortSettings, System};
use super::topology::{Device, Orientation};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::mem;
use dataplane::ids::PortId;
use dataplane::time::Instant;
use dataplane::wire::{MacAddress, be16, ethernet};

/// A request or a report of the agent to its caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Send this frame at that port.
    Send {
        /// The egress port.
        port: PortId,
        /// The whole frame without its FCS.
        frame: Vec<u8>,
    },
    /// The level or a port role has changed: read [`LldpAgent::port_roles`] and write new rules.
    Changed,
    /// A condition of a port began or ended. Conditions are reported once they have lasted 3 s.
    ConditionChanged {
        /// The port.
        port: PortId,
        /// The condition.
        condition: Condition,
        /// Whether it began.
        begins: bool,
    },
}

/// The state of a port.
#[derive(Clone, Copy, Debug)]
pub struct PortView<'a> {
    /// The direction of its link.
    pub orientation: Orientation,
    /// Its role in the rules.
    pub role: PortRole,
    /// The conditions that are reported.
    pub conditions: Conditions,
    /// Its neighbors.
    pub neighbors: &'a [Neighbor],
}

/// The LLDP agent of a switch or a host. The [module](super) describes how to drive it.
#[derive(Clone, Debug)]
pub struct LldpAgent {
    settings: LldpSettings,
    system: System,
    ports: Vec<Port>,
    level: Option<u8>,
    outputs: VecDeque<Output>,
    /// Whether [`Output::Changed`] waits.
    has_changed: bool,
    next_at: Option<Instant>,
    counters: LldpCounters,
}

impl LldpAgent {
    /// An agent without neighbors. All ports are down.
    pub fn new(system: System, ports: Vec<PortSettings>, settings: LldpSettings) -> Self {
        let mut agent = Self {
            ports: ports.into_iter().map(Port::new).collect(),
            settings,
            system,
            level: None,
            outputs: VecDeque::new(),
            has_changed: false,
            next_at: None,
            counters: LldpCounters::default(),
        };
        agent.learn_level();
        agent.counters.level_changes = 0;
        agent
    }

    /// Changes what is advertised of the system.
    pub fn set_system(&mut self, now: Instant, system: System) {
        if self.system != system {
            self.system = system;
            self.ports.iter_mut().for_each(|port| port.transmitter.mark_changed());
            self.serve_ports(now);
        }
    }

    /// The link at `port` came up or went down. If it went down, its neighbors are removed.
    pub fn handle_link(&mut self, now: Instant, port: PortId, is_up: bool) {
        let Some(state) = self.ports.get_mut(port.index()).filter(|state| state.is_up() != is_up)
        else {
            return;
        };
        state.set_up(is_up);
        if is_up {
            state.transmitter.start(now, &self.settings);
        } else {
            state.transmitter.stop();
            self.counters.unlinked += state.neighbors.clear();
        }
        state.update_peer(now, self.system.chassis);
        self.learn_level();
        self.serve_ports(now);
    }

    /// Handles a frame received at `port`: the whole frame without its FCS. The outcome is also
    /// counted.
    pub fn handle_frame(&mut self, now: Instant, port: PortId, bytes: &[u8]) -> Outcome {
        let outcome = self.on_rx(now, port, bytes).unwrap_or_else(|ended| ended);
        self.counters.count(outcome);
        self.serve_ports(now);
        outcome
    }

    fn on_rx(&mut self, now: Instant, port: PortId, bytes: &[u8]) -> Result<Outcome, Outcome> {
        let body = lldpdu_in(bytes).ok_or(Outcome::NotLldp)?;
        let state = self
            .ports
            .get_mut(port.index())
            .filter(|state| state.is_up())
            .ok_or(Outcome::PortDown)?;
        let (pdu, tlv_counts) = Pdu::read(body).map_err(|_| Outcome::Malformed)?;
        self.counters.tlvs_discarded += u64::from(tlv_counts.discarded);
        self.counters.tlvs_unrecognized += u64::from(tlv_counts.unrecognized);
        let outcome = match state.neighbors.update(now, pdu, &self.settings) {
            // These two leave the neighbors as they are.
            Change::Unknown => return Err(Outcome::Unknown),
            Change::Refused => return Err(Outcome::TooMany),
            Change::Unchanged => return Ok(Outcome::Refreshed),
            Change::Added => {
                state.transmitter.start_fast(now, &self.settings);
                Outcome::Inserted
            }
            Change::Changed => Outcome::Changed,
            Change::Removed => Outcome::Deleted,
        };
        if state.update_peer(now, self.system.chassis) {
            self.learn_level();
        }
        Ok(outcome)
    }

    /// Does what is due at `now`. The caller calls it when [`Self::poll_timeout`] says; an earlier
    /// call has no effect.
    pub fn handle_timeout(&mut self, now: Instant) {
        let mut has_changed = false;
        for port in &mut self.ports {
            self.counters.aged_out += port.neighbors.expire(now);
            has_changed |= port.update_peer(now, self.system.chassis);
        }
        if has_changed {
            self.learn_level();
        }
        self.serve_ports(now);
    }

    /// Sends a shutdown LLDPDU at every port. A port then sends nothing until its link comes up
    /// again.
    pub fn shut_down(&mut self, now: Instant) {
        for index in 0..self.ports.len() {
            if self.ports[index].transmitter.is_running() {
                self.send(index, 0);
                self.ports[index].transmitter.shut_down(now, &self.settings);
            }
        }
        self.serve_ports(now);
    }

    /// The next output, in order; `None` if none waits.
    pub fn poll_output(&mut self) -> Option<Output> {
        // New rules must be in force before neighbors learn of the change.
        if mem::take(&mut self.has_changed) {
            return Some(Output::Changed);
        }
        self.outputs.pop_front()
    }

    /// When [`Self::handle_timeout`] is next due; `None` if no timeout is pending.
    pub const fn poll_timeout(&self) -> Option<Instant> {
        self.next_at
    }

    /// The number of links between this switch and the hosts, if known.
    pub const fn level(&self) -> Option<u8> {
        self.level
    }

    /// The role of each port in the rules, in order of the ports.
    pub fn port_roles(&self) -> impl Iterator<Item = PortRole> {
        self.ports.iter().map(|port| port.role)
    }

    /// The state of a port. `None` if there is no such port.
    pub fn port(&self, port: PortId) -> Option<PortView<'_>> {
        self.ports.get(port.index()).map(|port| PortView {
            orientation: port.orientation,
            role: port.role,
            conditions: port.monitor.reported(),
            neighbors: port.neighbors.entries(),
        })
    }

    /// The counters since the agent was created.
    pub const fn counters(&self) -> &LldpCounters {
        &self.counters
    }

    /// Computes the level and the port types from the accepted peers of all ports.
    fn learn_level(&mut self) {
        let peers: Vec<AcceptedPeer> = self.ports.iter().map(|port| port.peer).collect();
        let Learned { level, orientations } = match self.settings.device {
            // Step 2: a host has level 0, and its ports have no type.
            Device::EndStation => Learned {
                level: Some(0),
                orientations: alloc::vec![Orientation::Unknown; peers.len()],
            },
            _ if self.settings.learns => {
                learn(self.settings.level, self.settings.level_limit, &peers)
            }
            _ => Learned {
                level: None,
                orientations: alloc::vec![Orientation::Unknown; peers.len()],
            },
        };
        let is_new_level = mem::replace(&mut self.level, level) != level;
        self.counters.level_changes += u64::from(is_new_level);
        self.has_changed |= is_new_level;
        for (port, orientation) in self.ports.iter_mut().zip(orientations) {
            let (has_new_orientation, has_new_role) = port.learn(orientation);
            self.has_changed |= has_new_role;
            if has_new_orientation || is_new_level {
                port.transmitter.mark_changed();
            }
        }
    }

    /// Sends the frames that are due, reports conditions that have lasted, and computes the next
    /// timeout.
    fn serve_ports(&mut self, now: Instant) {
        let mut next_at = None;
        for index in 0..self.ports.len() {
            if self.ports[index].transmitter.is_due(now, &self.settings) {
                self.send(index, self.settings.ttl_s());
                self.ports[index].transmitter.on_sent(now, &self.settings);
            }
            let Some(port) = PortId::from_index(index) else { continue };
            let state = &mut self.ports[index];
            let conditions = state.conditions(now, &self.settings, self.level, self.system.chassis);
            state.monitor.set(now, conditions);
            while let Some((condition, begins)) = state.monitor.poll(now) {
                self.outputs.push_back(Output::ConditionChanged { port, condition, begins });
            }
            let at_next = state.next_at(now, &self.settings);
            next_at = [next_at, at_next].into_iter().flatten().min();
        }
        self.next_at = next_at;
    }

    fn send(&mut self, index: usize, ttl_s: u16) {
        let Some(port) = PortId::from_index(index) else { return };
        let frame = self.ports[index].frame(&self.system, &self.settings, self.level, ttl_s);
        self.counters.frames_out += 1;
        self.outputs.push_back(Output::Send { port, frame });
    }
}

/// The LLDPDU in an untagged frame to the nearest bridge.
fn lldpdu_in(bytes: &[u8]) -> Option<&[u8]> {
    let (&destination, rest) = bytes.split_first_chunk::<6>()?;
    let (&[first, ..], rest) = rest.split_first_chunk::<6>()?;
    let is_ours = MacAddress(destination) == MacAddress::LLDP
        && first & 1 == 0
        && be16(rest, 0) == Some(ethernet::LLDP);
    is_ours.then(|| rest.get(2..))?
}
