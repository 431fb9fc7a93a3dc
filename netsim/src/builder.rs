//! From names, links and flows to a network that runs.

use crate::checker::TagWatch;
use crate::device::{SimDevice, SimPort};
use crate::event::PS_PER_NS;
use crate::flow::{Addresses, FlowId, FlowSpec, FlowTally, head};
use crate::frame::Pool;
use crate::host_node::{FlowState, HostNode, HostParts};
use crate::link::{Endpoint, LinkSpec, Transmitter, Wire};
use crate::network::{Network, NetworkParts};
use crate::prng::Prng;
use crate::routing::Router;
use crate::sink::{Drain, Sink};
use crate::source::Source;
use crate::switch_node::SwitchNode;
use crate::switch_spec::{Common, SwitchSpec};
use crate::tags::tag_map;
use crate::topology::{
    Attachment, End, FLOWS_MAX, HostId, LinkDraft, SwitchId, Topology, host_address, mac,
};
use dataplane::classify::{ClassifyBy, PortTrust, TagMap};
use dataplane::ids::{PortId, Priority, Tag};
use dataplane::limits::FRAME_BYTES_MIN;
use dataplane::rules::{RuleTable, TcamEntry};
use dataplane::snapshot::{PortForwarding, PortMode, Snapshot};
use dataplane::time::Speed;
use std::rc::Rc;

/// The shortest frame, Ethernet header included, FCS not.
const FRAME_BYTES_LEAST: u16 = 60;
/// The longest one: an MTU of 1,500.
const FRAME_BYTES_MOST: u16 = 1_514;

const _: () = assert!(FRAME_BYTES_LEAST as usize == FRAME_BYTES_MIN, "what a wire carries");

/// Why a network cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// Two links at one port.
    #[error("{switch}:{port} has two links; a port has one")]
    PortTaken {
        /// The switch.
        switch: String,
        /// The port.
        port: PortId,
    },
    /// A port number that no switch has.
    #[error("{switch} has no port {number}; ports are 1 to 256")]
    NoSuchPort {
        /// The switch.
        switch: String,
        /// The number.
        number: usize,
    },
    /// Two links at one host.
    #[error("host {host} has two links; a host has one")]
    HostTaken {
        /// The host.
        host: String,
    },
    /// A link from a host to a host.
    #[error("host {host} is linked to a host; link it to a switch")]
    HostToHost {
        /// The first host.
        host: String,
    },
    /// A host without a link.
    #[error("host {host} has no link; link it to a switch")]
    HostUnlinked {
        /// The host.
        host: String,
    },
    /// More than addresses or tables hold.
    #[error("{count} {what}; {most} are the most")]
    TooMany {
        /// What there is too much of.
        what: &'static str,
        /// How many there are.
        count: usize,
        /// How many there may be.
        most: usize,
    },
    /// A buffer that cannot hold what is promised.
    #[error(
        "{switch} promises {promised_bytes} bytes in reserves, headrooms and for lossy traffic, of a \
         buffer of {buffer_bytes}; give it {} more", promised_bytes - buffer_bytes
    )]
    BufferTooSmall {
        /// The switch.
        switch: String,
        /// What it has.
        buffer_bytes: u64,
        /// What it promises.
        promised_bytes: u64,
    },
    /// A flow's frames are too short for a wire or too long for the network.
    #[error("a frame of {frame_bytes} bytes; this network carries {least} to {most}")]
    FrameLength {
        /// The length.
        frame_bytes: u16,
        /// The least.
        least: u16,
        /// The most.
        most: u16,
    },
    /// No way at all.
    #[error("there is no way from host {from} to host {to}")]
    NoWay {
        /// The sender.
        from: String,
        /// The receiver.
        to: String,
    },
    /// A way that does not begin or end where its hosts are.
    #[error("a way from host {from} to host {to} must begin at {first} and end at {last}")]
    WayEnds {
        /// The sender.
        from: String,
        /// The receiver.
        to: String,
        /// The sender's switch.
        first: String,
        /// The receiver's switch.
        last: String,
    },
    /// A way that comes back to a switch, which sends all frames of a flow one way.
    #[error("a way goes through {switch} twice; a switch sends a flow one way only")]
    WayRepeats {
        /// The switch.
        switch: String,
    },
    /// A way over a link that is not there.
    #[error("a way leads from {from} to {to}, which are not linked")]
    NotLinked {
        /// The switch it leaves.
        from: String,
        /// The switch it should reach.
        to: String,
    },
}

#[derive(Debug)]
struct SwitchDraft {
    spec: SwitchSpec,
    rules: Option<Vec<TcamEntry>>,
}

/// Puts a network together; [`NetworkBuilder::build`] checks it. Everything is numbered in the
/// order in which it is added, and the order is all that a run depends on besides the seed.
#[derive(Debug)]
pub struct NetworkBuilder {
    seed: u64,
    lossless: Vec<(Tag, Priority)>,
    switch_names: Vec<String>,
    switches: Vec<SwitchDraft>,
    host_names: Vec<String>,
    drains: Vec<Option<Drain>>,
    links: Vec<LinkDraft>,
    flows: Vec<FlowSpec>,
}

impl NetworkBuilder {
    /// An empty network. The seed decides whatever is left to chance: gaps of random flows, ECN
    /// dice, flow hashes.
    pub const fn new(seed: u64) -> Self {
        Self {
            seed,
            lossless: Vec::new(),
            switch_names: Vec::new(),
            switches: Vec::new(),
            host_names: Vec::new(),
            drains: Vec::new(),
            links: Vec::new(),
            flows: Vec::new(),
        }
    }

    /// Makes `tag` lossless, on `priority`, in the whole network. It travels as the DSCP of its
    /// number.
    pub fn lossless(&mut self, tag: Tag, priority: Priority) {
        self.lossless.push((tag, priority));
    }

    /// Adds a switch.
    pub fn switch(&mut self, name: &str, spec: SwitchSpec) -> SwitchId {
        self.switch_names.push(name.to_owned());
        self.switches.push(SwitchDraft { spec, rules: None });
        SwitchId(self.switches.len() - 1)
    }

    /// Gives `switch` rules: first match wins, no match is lossy. Without rules tags never change.
    pub fn rules(&mut self, switch: SwitchId, rules: Vec<TcamEntry>) {
        self.switches[switch.0].rules = Some(rules);
    }

    /// Adds a host that takes what comes as fast as it comes.
    pub fn host(&mut self, name: &str) -> HostId {
        self.host_names.push(name.to_owned());
        self.drains.push(None);
        HostId(self.host_names.len() - 1)
    }

    /// Has `host` take frames only so fast.
    pub fn slow_down(&mut self, host: HostId, drain: Drain) {
        self.drains[host.0] = Some(drain);
    }

    /// Links two ends.
    pub fn link(&mut self, one: impl Into<End>, other: impl Into<End>, spec: LinkSpec) {
        self.links.push(LinkDraft { ends: [one.into(), other.into()], spec });
    }

    /// Adds a flow.
    pub fn flow(&mut self, flow: FlowSpec) -> FlowId {
        self.flows.push(flow);
        FlowId(self.flows.len() - 1)
    }

    /// The network, at time 0.
    ///
    /// # Errors
    /// Something is linked wrongly, promised without the buffer for it, or led where no link is.
    pub fn build(self) -> Result<Network, BuildError> {
        let topology = Topology::new(&self.switch_names, &self.host_names, self.links.clone())?;
        let tags = Rc::new(tag_map(&self.lossless));
        let pool = Pool::default();
        let mut router = Router::new(&topology, &self.switch_names, &self.host_names);
        let sources = self.sources(&topology, &mut router, &tags)?;
        let switches = (0..self.switches.len())
            .map(|number| self.switch_node(SwitchId(number), &topology, &router, &tags, &pool))
            .collect::<Result<Vec<_>, _>>()?;
        let lossless_bits = self.lossless.iter().fold(0, |bits, (_, p)| bits | p.bit());
        let hosts = sources.into_iter().enumerate().map(|(number, sources)| {
            let parts = self.host_parts(HostId(number), &topology, lossless_bits, sources);
            HostNode::new(parts, Rc::clone(&tags), lossless_bits, pool.clone())
        });
        let flow_state = |flow: &FlowSpec| FlowState { to: flow.to, tally: FlowTally::default() };
        Ok(Network::new(NetworkParts {
            hosts: hosts.collect(),
            wires: wires(&topology, switches.len()),
            flows: self.flows.iter().map(flow_state).collect(),
            watch: TagWatch::new(&tags),
            lossless_bits,
            switches,
            topology,
        }))
    }

    /// By host, the sources of its flows, each with an address that the router knows the way to.
    fn sources(
        &self,
        topology: &Topology,
        router: &mut Router<'_>,
        tags: &TagMap,
    ) -> Result<Vec<Vec<Source>>, BuildError> {
        if self.flows.len() > FLOWS_MAX {
            let (what, count, most) = ("flows", self.flows.len(), FLOWS_MAX);
            return Err(BuildError::TooMany { what, count, most });
        }
        let mut sources: Vec<Vec<Source>> = self.host_names.iter().map(|_| Vec::new()).collect();
        for (number, spec) in (0_u32..).zip(&self.flows) {
            check_length(spec.frame_bytes)?;
            let flow = FlowId(number as usize);
            let destination = router.add(flow.0, &spec.way, spec.from, spec.to)?;
            let (switch, port) = topology.access[spec.from.0];
            let addresses = Addresses {
                source_mac: mac(self.switches.len() + spec.from.0, PortId::FIRST),
                gateway_mac: mac(switch.0, port),
                source: host_address(spec.from),
                destination,
            };
            let dscp = tags.dscp[spec.tag.index()];
            sources[spec.from.0].push(Source::new(
                flow,
                tags.priority[spec.tag.index()],
                head(number, &addresses, dscp, spec.frame_bytes),
                spec.frame_bytes,
                (spec.pace, spec.start_ps),
                Prng::for_part(self.seed, u64::from(number)),
            ));
        }
        Ok(sources)
    }

    fn switch_node(
        &self,
        id: SwitchId,
        topology: &Topology,
        router: &Router<'_>,
        tags: &TagMap,
        pool: &Pool,
    ) -> Result<SwitchNode, BuildError> {
        let draft = &self.switches[id.0];
        let name = &self.switch_names[id.0];
        let attachments = &topology.ports[id.0];
        let seed = Prng::for_part(!self.seed, id.0 as u64).bits();
        let common = Common { lossless: &self.lossless, frame_bytes_max: FRAME_BYTES_MOST, seed };
        let spec_of = |attachment: &Attachment| topology.links[attachment.link].spec;
        let links: Vec<Option<LinkSpec>> =
            attachments.iter().map(|slot| slot.as_ref().map(spec_of)).collect();
        let settings = draft.spec.settings(id, name, &links, &common)?;
        let rules = draft
            .rules
            .as_ref()
            .map(|entries| RuleTable::compile(entries, links.len(), tags.lossy_tag));
        let trust = PortTrust { by: ClassifyBy::Dscp, trusted: true, default_tag: tags.lossy_tag };
        let forwarding = settings.ports.iter().map(|port| PortForwarding {
            mac: port.mac,
            mode: PortMode::Routed { vlan: None },
            trust,
        });
        let forwarding: Vec<_> = forwarding.collect();
        let fib = router.routes(id, FRAME_BYTES_MOST).compile();
        let snapshot = Snapshot::new(0, &forwarding, tags.clone(), rules, fib, seed);
        let ports = attachments.iter().zip(&settings.ports).map(|(slot, port)| {
            SimPort::new(Transmitter::new(port.speed), slot.as_ref().map(Attachment::wire))
        });
        let device = SimDevice::new(ports.collect(), pool.clone());
        let unlinked = (0..).map_while(PortId::from_index).zip(attachments);
        let unlinked = unlinked.filter(|(_, slot)| slot.is_none()).map(|(port, _)| port);
        Ok(SwitchNode::new(name.clone(), settings, snapshot, device, unlinked))
    }

    fn host_parts(
        &self,
        id: HostId,
        topology: &Topology,
        lossless_bits: u8,
        sources: Vec<Source>,
    ) -> HostParts {
        let (switch, port) = topology.access[id.0];
        // The host's wire is the one against its switch's port.
        let against = topology.ports[switch.0][port.index()].as_ref();
        let speed = against.map_or(Speed::from_gbps(1), |at| topology.links[at.link].spec.speed);
        HostParts {
            name: self.host_names[id.0].clone(),
            id,
            mac: mac(self.switches.len() + id.0, PortId::FIRST),
            wire: against.map_or(0, Attachment::wire_back),
            speed,
            sink: self.drains[id.0].map(|drain| Sink::new(drain, lossless_bits)),
            sources,
        }
    }
}

fn check_length(frame_bytes: u16) -> Result<(), BuildError> {
    let (least, most) = (FRAME_BYTES_LEAST, FRAME_BYTES_MOST);
    if (least..=most).contains(&frame_bytes) {
        return Ok(());
    }
    Err(BuildError::FrameLength { frame_bytes, least, most })
}

/// Both wires of every link, the one from its first end first.
fn wires(topology: &Topology, switches: usize) -> Vec<Wire> {
    let endpoint = |end: End| match end {
        End::Switch(switch, number) => {
            Endpoint { node: switch.0, port: PortId::from_number(number).unwrap_or_default() }
        }
        End::Host(host) => Endpoint { node: switches + host.0, port: PortId::FIRST },
    };
    let both = topology.links.iter().flat_map(|link| {
        [0, 1].map(|side| Wire {
            from: endpoint(link.ends[side]),
            to: endpoint(link.ends[1 - side]),
            delay_ps: link.spec.length.delay_ps(),
            in_flight: std::collections::VecDeque::new(),
        })
    });
    both.collect()
}

const _: () = assert!(PS_PER_NS == 1_000, "a length's delay is in picoseconds too");
