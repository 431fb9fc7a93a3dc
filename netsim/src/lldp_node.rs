//! A node's LLDP agent, run as the control thread of a real switch runs it. A switch learns its
//! level and derives its rules; a host announces that it is a host.

use crate::topology::mac;
use agents::lldp::{
    AllowedPeer, Device, LldpAgent, LldpSettings, Output, PortRole, PortSettings, System,
};
use dataplane::ids::PortId;
use dataplane::rules::TcamEntry;
use dataplane::time::Instant;
use fabric::compile::port_roles;

/// See the module's head.
#[derive(Debug)]
pub(crate) struct LldpNode {
    agent: LldpAgent,
    /// The agent's state after a restart.
    blank: LldpAgent,
    bounces: u8,
}

/// What an LLDP node asks its owner to do.
#[derive(Debug)]
pub(crate) enum Action {
    /// Send this frame from this port.
    Send(PortId, Vec<u8>),
    /// Use these rules.
    Rules(Vec<TcamEntry>),
}

impl LldpNode {
    /// The agent of node number `node`, called `name`, with `ports` ports, all down, and no
    /// knowledge. Its rules keep frames lossless that turn up again at most `bounces` times.
    pub(crate) fn new(device: Device, node: usize, name: &str, ports: usize, bounces: u8) -> Self {
        let port = |port: PortId| PortSettings {
            mac: mac(node, port),
            name: port.to_string(),
            description: String::new(),
            max_frame_bytes: 0,
            pfc_bits: None,
            allowed_peer: AllowedPeer::Any,
        };
        let ports = (0..ports).map_while(PortId::from_index).map(port).collect();
        let chassis = mac(node, PortId::FIRST);
        let system = System { chassis, name: name.to_owned(), ..System::default() };
        let settings = LldpSettings { device, ..LldpSettings::default() };
        let agent = LldpAgent::new(system, ports, settings);
        Self { blank: agent.clone(), agent, bounces }
    }

    /// Loses all that was learned.
    pub(crate) fn restart(&mut self) {
        self.agent = self.blank.clone();
    }

    pub(crate) fn set_link(&mut self, now: Instant, port: PortId, is_up: bool) {
        self.agent.handle_link(now, port, is_up);
    }

    /// An LLDP frame has arrived.
    pub(crate) fn handle_frame(&mut self, now: Instant, port: PortId, bytes: &[u8]) {
        self.agent.handle_frame(now, port, bytes);
    }

    /// Does what is due at `now`.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if self.agent.poll_timeout().is_some_and(|due| due <= now) {
            self.agent.handle_timeout(now);
        }
    }

    /// When [`Self::handle_timeout`] is next due.
    pub(crate) fn poll_timeout(&self) -> Instant {
        self.agent.poll_timeout().unwrap_or(Instant::NEVER)
    }

    /// The next action.
    pub(crate) fn poll_action(&mut self) -> Option<Action> {
        loop {
            match self.agent.poll_output()? {
                Output::Send { port, frame } => return Some(Action::Send(port, frame)),
                Output::Changed => return Some(Action::Rules(self.rules())),
                // The emulator has no operator to notify.
                Output::ConditionChanged { .. } => {}
            }
        }
    }

    /// The rules that follow from what is known now.
    pub(crate) fn rules(&self) -> Vec<TcamEntry> {
        let facings: Vec<PortRole> = self.agent.port_roles().collect();
        port_roles::entries(&facings, self.bounces)
    }

    pub(crate) const fn agent(&self) -> &LldpAgent {
        &self.agent
    }
}
