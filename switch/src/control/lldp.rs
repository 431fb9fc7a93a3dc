//! LLDP on the control thread: frames to and from the agent, its conditions, and the rules that
//! follow from the neighbors.
//!
//! The worker is told of a link that came up only after the tables that include it. Until then no
//! frame passes, so no frame is forwarded by rules for another topology.

use super::protocol::{LldpRow, LldpTable};
use super::stats::{LldpPortStats, LldpStats};
use super::tables::Tables;
use super::workers::Workers;
use crate::log::{self, Event, Level};
use crate::platform::Platform;
use agents::lldp::{
    Capabilities, Condition, LldpAgent, ManagementAddress, Neighbor, Output, PortRole,
    PortSettings, System,
};
use config::SwitchConfig;
use config::switch::{Lldp, PortConfig};
use dataplane::control_rings::Command;
use dataplane::ids::PortId;
use dataplane::snapshot::PortMode;
use dataplane::time::Instant;
use fabric::compile::port_roles;

/// What a frame has on the wire beyond what the switch counts: the FCS.
const FCS_BYTES: u16 = 4;

/// The agent, and the links that wait for tables.
#[derive(Debug)]
pub(super) struct LldpControl {
    agent: LldpAgent,
    /// The number of bounces that stay lossless, if the switch computes its own rules.
    bounces: Option<u8>,
    /// Whether the agent knows the initial state of the links.
    has_begun: bool,
    /// Links that came up and that wait for new tables before the workers are told.
    pending_up: Vec<PortId>,
}

impl LldpControl {
    /// The agent that `tables` ask for, if they do.
    pub(super) fn new(tables: &Tables) -> Option<Self> {
        let config = tables.config();
        let Lldp { settings, faces, bounces } = config.lldp.as_ref()?;
        let ports = config.settings.ports.iter().zip(faces).map(|(port, &faces)| PortSettings {
            mac: port.mac,
            name: port.name.clone(),
            description: String::new(),
            max_frame_bytes: port.frame_bytes_max + FCS_BYTES,
            pfc_bits: Some(port.lossless_bits()),
            allowed_peer: faces,
        });
        let agent = LldpAgent::new(system(config), ports.collect(), settings.clone());
        Some(Self { agent, bounces: *bounces, has_begun: false, pending_up: Vec::new() })
    }

    /// Passes the initial link states to the agent, once.
    pub(super) fn begin(&mut self, now: Instant, is_up: impl Fn(PortId) -> bool) {
        if !std::mem::replace(&mut self.has_begun, true) {
            let ports = (0..self.agent.port_roles().count()).filter_map(PortId::from_index);
            let up: Vec<PortId> = ports.filter(|&port| is_up(port)).collect();
            up.into_iter().for_each(|port| self.agent.handle_link(now, port, true));
        }
    }

    /// The link at `port` came up or went down. Returns whether the worker can be told at once.
    pub(super) fn handle_link(&mut self, now: Instant, port: PortId, is_up: bool) -> bool {
        self.agent.handle_link(now, port, is_up);
        self.pending_up.retain(|&pending_up| pending_up != port);
        let waits = is_up && self.bounces.is_some();
        if waits {
            self.pending_up.push(port);
        }
        !waits
    }

    /// A frame for the agent.
    pub(super) fn handle_frame(&mut self, now: Instant, port: PortId, bytes: &[u8]) {
        self.agent.handle_frame(now, port, bytes);
    }

    /// Handles the agent's timeout if it is due.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        if self.agent.poll_timeout().is_some_and(|due| due <= now) {
            self.agent.handle_timeout(now);
        }
    }

    /// Sends shutdown LLDPDUs to all neighbors.
    pub(super) fn shut_down(&mut self, now: Instant) {
        self.agent.shut_down(now);
    }

    /// The configuration has been read again, and `tables` come from it: rules are still those that
    /// were learned.
    pub(super) fn reload(&mut self, now: Instant, tables: &mut Tables) {
        self.agent.set_system(now, system(tables.config()));
        self.write_rules(tables);
    }

    /// Processes the agent's outputs; `lost` counts frames for which no buffer was left. Returns
    /// whether the packet path needs new tables.
    pub(super) fn process_outputs<P: Platform>(
        &mut self,
        platform: &P,
        workers: &mut Workers<P::Frame>,
        tables: &mut Tables,
        lost: &mut u64,
    ) -> bool {
        let mut needs_tables = false;
        while let Some(output) = self.agent.poll_output() {
            match output {
                Output::Send { port, frame } => match platform.frame(&frame) {
                    Some(frame) => workers.command(port, Command::Send(port, frame)),
                    None => *lost += 1,
                },
                Output::Changed => {
                    if let Some(level) = self.agent.level()
                        && self.bounces.is_some()
                    {
                        log::info("lldp", format!("level {level}: {}", self.directions(tables)));
                    }
                    needs_tables |= self.write_rules(tables);
                }
                Output::ConditionChanged { port, condition, begins } => {
                    note(&tables.config().ports[port.index()], condition, begins);
                }
            }
        }
        needs_tables
    }

    /// Tells the workers of links that came up, after their tables have been sent.
    pub(super) fn apply_pending_up<P: Platform>(&mut self, workers: &mut Workers<P::Frame>) {
        for port in self.pending_up.drain(..) {
            workers.command_each(port, |queue| Command::Link(queue, true));
        }
    }

    /// Computes the rules from the known orientations; returns whether they changed.
    fn write_rules(&self, tables: &mut Tables) -> bool {
        let Some(bounces) = self.bounces else { return false };
        let facings: Vec<PortRole> = self.agent.port_roles().collect();
        tables.set_entries(port_roles::entries(&facings, bounces))
    }

    /// The downlinks and uplinks, as text.
    fn directions(&self, tables: &Tables) -> String {
        let names = |wanted: PortRole| -> String {
            let ports = tables.config().ports.iter().zip(self.agent.port_roles());
            let names = ports.filter(|(_, facing)| *facing == wanted).map(|(port, _)| &*port.name);
            let names: Vec<&str> = names.collect();
            if names.is_empty() { "none".to_owned() } else { names.join(", ") }
        };
        format!("down {}; up {}", names(PortRole::Downlink), names(PortRole::Uplink))
    }

    /// What is counted.
    pub(super) fn stats(&self) -> LldpStats {
        let counters = self.agent.counters().iter();
        LldpStats {
            level: self.agent.level(),
            counters: counters.map(|(name, value)| (name.to_owned(), value)).collect(),
        }
    }

    /// What is known of a port.
    pub(super) fn port_stats(&self, port: PortId) -> Option<LldpPortStats> {
        let view = self.agent.port(port)?;
        let first = view.neighbors.first().map(|neighbor| &neighbor.pdu);
        Some(LldpPortStats {
            orientation: view.orientation.name().to_owned(),
            neighbor: first
                .map(|pdu| pdu.system_name.clone().unwrap_or_else(|| pdu.chassis.as_chassis())),
            conditions: view
                .conditions
                .iter()
                .map(|condition| condition.name().to_owned())
                .collect(),
        })
    }

    /// All neighbors.
    pub(super) fn table(&self, now: Instant, config: &SwitchConfig) -> LldpTable {
        let rows = config.ports.iter().flat_map(|port| {
            let view = self.agent.port(port.id);
            let neighbors = view.map_or(&[][..], |view| view.neighbors);
            neighbors.iter().map(move |neighbor| self.row(now, port, neighbor))
        });
        LldpTable {
            enabled: true,
            level: self.agent.level(),
            learns: self.bounces.is_some(),
            neighbors: rows.collect(),
        }
    }

    fn row(&self, now: Instant, port: &PortConfig, neighbor: &Neighbor) -> LldpRow {
        let (pdu, view) = (&neighbor.pdu, self.agent.port(port.id));
        let topology = pdu.topology.unwrap_or_default();
        LldpRow {
            port: port.name.clone(),
            orientation: view.map(|view| view.orientation.name().to_owned()).unwrap_or_default(),
            conditions: view
                .map(|view| view.conditions.iter().map(|c| c.name().to_owned()).collect())
                .unwrap_or_default(),
            chassis: pdu.chassis.as_chassis(),
            port_id: pdu.port.as_port(),
            port_description: pdu.port_description.clone(),
            system_name: pdu.system_name.clone(),
            system_description: pdu.system_description.clone(),
            management: pdu.management.map(|address| address.to_string()),
            bridge: pdu.capabilities.map(|it| it.enabled_bits & Capabilities::BRIDGE != 0),
            router: pdu.capabilities.map(|it| it.enabled_bits & Capabilities::ROUTER != 0),
            device: pdu.topology.map(|topology| topology.device.name().to_owned()),
            level: topology.level,
            its_orientation: pdu.topology.map(|topology| topology.orientation.name().to_owned()),
            pfc_priorities: pdu.pfc.map(|pfc| priorities(pfc.enabled_bits)),
            max_frame_bytes: pdu.max_frame_bytes,
            ttl_s: pdu.ttl_s,
            age_ns: now.ns_since(neighbor.heard_at),
            since_ns: now.ns_since(neighbor.since),
        }
    }
}

fn priorities(bits: u8) -> Vec<u8> {
    (0..8).filter(|priority| bits >> priority & 1 == 1).collect()
}

fn note(port: &PortConfig, condition: Condition, begins: bool) {
    let name = condition.name();
    let (level, text) = match begins {
        true => (Level::Warning, format!(": {} ({name})", condition.meaning())),
        false => (Level::Info, format!(": no longer {name}")),
    };
    Event::of_port(level, "lldp", &port.name, &text).by(name).log();
}

/// The system's own TLVs: the first port's MAC address is the chassis id, the first IP address the
/// management address.
fn system(config: &SwitchConfig) -> System {
    let chassis = config.settings.ports.first().map(|port| port.mac).unwrap_or_default();
    let routed = |port: &PortConfig| matches!(port.mode, PortMode::Routed { .. });
    let bit = |is_some, bit| if is_some { bit } else { 0 };
    let enabled_bits = bit(config.ports.iter().any(routed), Capabilities::ROUTER)
        | bit(!config.ports.iter().all(routed), Capabilities::BRIDGE);
    let address = config.ports.iter().flat_map(|port| &port.addresses).next();
    let by_ip = address.map(|net| ManagementAddress::Ip(net.addr()));
    System {
        chassis,
        name: config.name.clone(),
        description: format!("Knotless {}", env!("CARGO_PKG_VERSION")),
        capabilities: Some(Capabilities {
            supported_bits: Capabilities::BRIDGE | Capabilities::ROUTER,
            enabled_bits,
        }),
        management: Some(by_ip.unwrap_or(ManagementAddress::Mac(chassis))),
    }
}
