//! A node's LLDP agent, as the control thread of a real switch runs it: a switch learns its level
//! and writes its rules; a host says what it is.

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
pub(crate) struct Learner {
    agent: LldpAgent,
    /// What a restarted node begins with.
    blank: LldpAgent,
    bounces: u8,
}

/// What a learner wants done.
#[derive(Debug)]
pub(crate) enum Wish {
    /// Send this frame at that port.
    Send(PortId, Vec<u8>),
    /// Use these rules.
    Rules(Vec<TcamEntry>),
}

impl Learner {
    /// Node number `node`, called `name`, of so many ports, all down, that knows nothing. Its rules
    /// are for frames that turn up again `bounces` times.
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

    /// Forgets everything.
    pub(crate) fn restart(&mut self) {
        self.agent = self.blank.clone();
    }

    pub(crate) fn set_link(&mut self, now: Instant, port: PortId, is_up: bool) {
        self.agent.handle_link(now, port, is_up);
    }

    /// A frame has come for the agent.
    pub(crate) fn hear(&mut self, now: Instant, port: PortId, bytes: &[u8]) {
        self.agent.handle_frame(now, port, bytes);
    }

    /// Does what is due at `now`.
    pub(crate) fn wake(&mut self, now: Instant) {
        if self.agent.poll_timeout().is_some_and(|due| due <= now) {
            self.agent.handle_timeout(now);
        }
    }

    /// When [`Self::wake`] is next due.
    pub(crate) fn wants_turn_at(&self) -> Instant {
        self.agent.poll_timeout().unwrap_or(Instant::NEVER)
    }

    /// The next thing to be done.
    pub(crate) fn wish(&mut self) -> Option<Wish> {
        loop {
            match self.agent.poll_output()? {
                Output::Send { port, frame } => return Some(Wish::Send(port, frame)),
                Output::Changed => return Some(Wish::Rules(self.rules())),
                // There is nobody to be told.
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
