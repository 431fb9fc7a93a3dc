//! A chain of LLDP agents: a host, and switches one above the other, on links without delay.

use agents::lldp::{
    AllowedPeer, Device, LldpAgent, LldpSettings, Orientation, Output, PortSettings, Profile,
    System,
};
use dataplane::ids::PortId;
use dataplane::time::Instant;
use dataplane::wire::MacAddress;
use std::collections::VecDeque;

const SECOND_NS: u64 = 1_000_000_000;

/// Agent 0 is the host; the lower port of a switch is its first.
pub(crate) struct Chain {
    agents: Vec<LldpAgent>,
    /// The last frame that each agent sent upward.
    sent_up: Vec<Vec<u8>>,
}

impl Chain {
    /// Everything comes up at once and has had `seconds` of virtual time.
    pub(crate) fn run(switches: usize, level_limit: u8, profile: Profile, seconds: u64) -> Self {
        let agent = |node: usize| agent(node, switches, level_limit, profile);
        let mut chain = Self {
            agents: (0..=switches).map(agent).collect(),
            sent_up: vec![Vec::new(); switches + 1],
        };
        for node in 0..=switches {
            for port in chain.ports(node) {
                chain.agents[node].handle_link(Instant::ZERO, port, true);
            }
        }
        let end = Instant::from_ns(seconds * SECOND_NS);
        let mut now = Instant::ZERO;
        loop {
            chain.deliver(now);
            let due = chain.agents.iter().filter_map(LldpAgent::poll_timeout).min();
            let Some(due) = due.filter(|&due| due <= end) else { return chain };
            now = due.max(now);
            for agent in &mut chain.agents {
                if agent.poll_timeout().is_some_and(|at| at <= now) {
                    agent.handle_timeout(now);
                }
            }
        }
    }

    /// The linked ports of a node. The last switch has a link below only.
    fn ports(&self, node: usize) -> Vec<PortId> {
        let last = node + 1 == self.agents.len();
        let count = if node == 0 || last { 1 } else { 2 };
        (0..count).filter_map(PortId::from_index).collect()
    }

    /// Passes frames on until nobody sends one.
    fn deliver(&mut self, now: Instant) {
        let mut waiting: VecDeque<usize> = (0..self.agents.len()).collect();
        while let Some(node) = waiting.pop_front() {
            while let Some(output) = self.agents[node].poll_output() {
                let Output::Send { port, frame } = output else { continue };
                let is_up = node == 0 || port != PortId::FIRST;
                let peer = if is_up { node + 1 } else { node - 1 };
                let below = node.checked_sub(1).filter(|_| !is_up);
                let far = match below {
                    Some(peer) if peer > 0 => PortId::from_index(1).unwrap_or_default(),
                    _ => PortId::FIRST,
                };
                if is_up {
                    self.sent_up[node].clone_from(&frame);
                }
                self.agents[peer].handle_frame(now, far, &frame);
                waiting.push_back(peer);
            }
        }
    }

    /// What switch `number`, counted from 1, has learned.
    pub(crate) fn level(&self, number: usize) -> Option<u8> {
        self.agents[number].level()
    }

    /// The orientation of the ports of switch `number`, the lower one first.
    pub(crate) fn orientations(&self, number: usize) -> Vec<Orientation> {
        let ports = self.ports(number).into_iter();
        ports.filter_map(|port| Some(self.agents[number].port(port)?.orientation)).collect()
    }

    /// The organizationally specific TLVs of the last frame that `node` sent upward: OUI, subtype
    /// and the rest.
    pub(crate) fn organizational_tlvs(&self, node: usize) -> Vec<Vec<u8>> {
        let mut left = self.sent_up[node].get(14..).unwrap_or_default();
        let mut found = Vec::new();
        while let Some((&[high, low], rest)) = left.split_first_chunk() {
            let length = usize::from(high & 1) << 8 | usize::from(low);
            let Some(value) = rest.get(..length) else { break };
            if high >> 1 == 127 {
                found.push(value.to_vec());
            }
            left = &rest[length..];
        }
        found
    }
}

fn agent(node: usize, switches: usize, level_limit: u8, profile: Profile) -> LldpAgent {
    let [.., high, low] = (node as u64).to_be_bytes();
    let mac = |port: u8| MacAddress([2, 0, high, low, 0, port]);
    let count: u8 = if node == 0 || node == switches { 1 } else { 2 };
    let port = |number: u8| PortSettings {
        mac: mac(number),
        name: number.to_string(),
        description: String::new(),
        max_frame_bytes: 0,
        pfc_bits: None,
        allowed_peer: AllowedPeer::Any,
    };
    let device = if node == 0 { Device::EndStation } else { Device::Bridge };
    let settings = LldpSettings { device, level_limit, profile, ..LldpSettings::default() };
    let system = System { chassis: mac(0), ..System::default() };
    LldpAgent::new(system, (1..=count).map(port).collect(), settings)
}
