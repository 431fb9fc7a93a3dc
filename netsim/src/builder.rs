//! From names, links and flows to a network at time 0.

mod files;
mod rdma;

use crate::bipartition::bipartition;
use crate::build_error::BuildError;
use crate::capture::{CaptureBuffer, Captures};
use crate::checker::pauses::PauseWatch;
use crate::checker::tags::TagWatch;
use crate::configured_switch;
use crate::deal::Deal;
use crate::device::{SimDevice, SimPort};
use crate::event::{NEVER, Picoseconds};
use crate::event_queue::EventQueue;
use crate::fault_schedule::FaultSchedule;
use crate::flow::{
    Addresses, FlowCounters, FlowId, FlowSpec, TTL_START, Way, ack_head, frames_of, head,
};
use crate::frame::{Buffers, Pool};
use crate::go_back_n::ReceiveWindow;
use crate::host_node::{FlowState, HostNode, HostParts};
use crate::host_pauses::HostPauses;
use crate::link::{Endpoint, Ends, LinkSpec, Transmitter, Wire};
use crate::links::Links;
use crate::lldp_node::LldpNode;
use crate::load::Load;
use crate::meeting::Member;
use crate::network::{Network, has_order};
use crate::part::Part;
use crate::partition::partition;
use crate::rdma::plan::{CollectiveSpec, FlowPlan};
use crate::routing::{Map, RouteKind, Router, table};
use crate::sink::{Drain, Sink};
use crate::source::Source;
use crate::switch_node::{SwitchNode, TableParts};
use crate::switch_spec::{Common, FRAME_BYTES_MOST, SwitchSpec};
use crate::tags::{tag_map, trust};
use crate::threads::Exchange;
use crate::topology::{Attachment, End, FLOWS_MAX, HostId, LinkDraft, SwitchId, Topology, mac};
use crate::trace::Trace;
use agents::lldp::Device;
use config::SwitchConfig;
use config::scenario::Roce;
use dataplane::fib::Routes;
use dataplane::ids::{PortId, Priority, Tag};
use dataplane::limits::{FRAME_BYTES_MIN, PRIORITIES};
use dataplane::pipeline::classify::TagMap;
use dataplane::rules::TcamEntry;
use dataplane::settings::GfcSettings;
use dataplane::snapshot::{PortForwarding, PortMode};
use dataplane::time::Speed;
use dataplane::ttl_class::{Parity, TtlClasses};
use dataplane::tunnel::Tunnels;
use random::Rng;
use std::net::Ipv4Addr;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// The shortest frame, Ethernet header included, FCS not.
const FRAME_BYTES_LEAST: u16 = 60;
const _: () = assert!(FRAME_BYTES_LEAST as usize == FRAME_BYTES_MIN, "what a wire carries");

#[derive(Debug)]
struct SwitchDraft {
    spec: SwitchSpec,
    /// The file that it is configured by instead.
    config: Option<Box<SwitchConfig>>,
    rules: Option<Vec<TcamEntry>>,
    parity: Parity,
}

/// Builds a network; [`NetworkBuilder::build`] checks it. Everything is numbered in the order in
/// which it is added. A run depends on that order and the seed only.
#[derive(Debug)]
pub struct NetworkBuilder {
    seed: u64,
    lossless: Vec<(Tag, Priority)>,
    classes: Vec<Priority>,
    hosts: HostPauses,
    gfc: Option<GfcSettings>,
    switch_names: Vec<String>,
    switches: Vec<SwitchDraft>,
    host_names: Vec<String>,
    drains: Vec<Option<Drain>>,
    links: Vec<LinkDraft>,
    flows: Vec<FlowSpec>,
    routes: RouteKind,
    reroute_ps: Option<Picoseconds>,
    down: Vec<usize>,
    lldp_bounces: Option<u8>,
    threads: NonZeroUsize,
    roce: Roce,
    collectives: Vec<CollectiveSpec>,
    /// By host: its address, if files say so.
    given: Vec<Ipv4Addr>,
}

impl NetworkBuilder {
    /// An empty network. All random choices follow from the seed: gaps of random flows, ECN marks,
    /// flow hashes, PFC frames lost or changed.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            lossless: Vec::new(),
            classes: Vec::new(),
            hosts: HostPauses::ByClass,
            gfc: None,
            switch_names: Vec::new(),
            switches: Vec::new(),
            host_names: Vec::new(),
            drains: Vec::new(),
            links: Vec::new(),
            flows: Vec::new(),
            routes: RouteKind::Shortest,
            reroute_ps: None,
            down: Vec::new(),
            lldp_bounces: None,
            threads: NonZeroUsize::MIN,
            roce: Roce::default(),
            collectives: Vec::new(),
            given: Vec::new(),
        }
    }

    /// Sets how RoCE flows and collectives work.
    pub const fn roce(&mut self, roce: Roce) {
        self.roce = roce;
    }

    /// Adds a collective.
    pub(crate) fn collective(&mut self, spec: CollectiveSpec) {
        self.collectives.push(spec);
    }

    /// Makes `tag` lossless, on `priority`, in the whole network. Its DSCP has the same number.
    pub fn lossless(&mut self, tag: Tag, priority: Priority) {
        self.lossless.push((tag, priority));
    }

    /// Classifies lossless frames by the hops they have made (the TTL scheme): the priority of each
    /// class, that of sending hosts first.
    pub fn classes(&mut self, classes: &[Priority]) {
        self.classes = classes.to_vec();
    }

    /// Sets how hosts pause under the TTL scheme.
    pub(crate) const fn host_pauses(&mut self, hosts: HostPauses) {
        self.hosts = hosts;
    }

    /// Restricts `switch` to the classes of this parity.
    pub(crate) fn parity(&mut self, switch: SwitchId, parity: Parity) {
        self.switches[switch.0].parity = parity;
    }

    /// Signals rates (gentle flow control) where a switch's queues have a rate map.
    pub const fn gfc(&mut self, gfc: GfcSettings) {
        self.gfc = Some(gfc);
    }

    /// The classes as the switches that hold `parity` know them.
    fn ttl_classes(&self, parity: Parity) -> Option<TtlClasses> {
        let priorities = self.classes.iter().copied().take(PRIORITIES).collect();
        let ttl_classes = TtlClasses { ttl0: TTL_START, priorities, parity };
        (!self.classes.is_empty()).then_some(ttl_classes)
    }

    /// Bits of all lossless priorities.
    fn lossless_bits(&self) -> u8 {
        let classes = self.classes.iter().fold(0, |bits, p| bits | p.bit());
        self.lossless.iter().fold(classes, |bits, (_, p)| bits | p.bit())
    }

    /// Adds a switch.
    pub fn switch(&mut self, name: &str, spec: SwitchSpec) -> SwitchId {
        self.switch_names.push(name.to_owned());
        self.switches.push(SwitchDraft { spec, config: None, rules: None, parity: Parity::All });
        SwitchId(self.switches.len() - 1)
    }

    /// Has every switch and host run LLDP from the start, with no knowledge. Every switch derives
    /// its rules from what it learns; frames that turn up again at most `bounces` times stay
    /// lossless.
    pub(crate) const fn run_lldp(&mut self, bounces: u8) {
        self.lldp_bounces = Some(bounces);
    }

    /// Gives `switch` rules: first match wins, no match is lossy. Without rules tags never change.
    pub fn rules(&mut self, switch: SwitchId, rules: Vec<TcamEntry>) {
        self.switches[switch.0].rules = Some(rules);
    }

    /// Configures `switch` as SWITCH.toml does: all that it is built with, its routes and rules.
    /// Each port has the link that the network gives it. The hosts of the network must be those
    /// that the file knows.
    pub fn configure(&mut self, switch: SwitchId, config: SwitchConfig) {
        self.switches[switch.0].config = Some(Box::new(config));
    }

    /// Adds a host that takes frames as they arrive.
    pub fn host(&mut self, name: &str) -> HostId {
        self.host_names.push(name.to_owned());
        self.drains.push(None);
        HostId(self.host_names.len() - 1)
    }

    /// Limits the rate at which `host` takes frames.
    pub fn slow_down(&mut self, host: HostId, drain: Drain) {
        self.drains[host.0] = Some(drain);
    }

    /// Links two ends.
    pub fn link(&mut self, one: impl Into<End>, other: impl Into<End>, spec: LinkSpec) {
        self.links.push(LinkDraft { ends: [one.into(), other.into()], spec });
    }

    /// Sets how frames are routed: by `kind`, and around a link `reroute_ps` after it goes down, or
    /// never.
    pub const fn routing(&mut self, kind: RouteKind, reroute_ps: Option<Picoseconds>) {
        self.routes = kind;
        self.reroute_ps = reroute_ps;
    }

    /// Sets link number `link` down from the start.
    pub fn fail(&mut self, link: usize) {
        self.down.push(link);
    }

    /// Runs the network in so many threads, as far as it has so many switches. Results are the same
    /// with any number.
    pub const fn threads(&mut self, threads: NonZeroUsize) {
        self.threads = threads;
    }

    /// Adds a flow.
    pub fn flow(&mut self, flow: FlowSpec) -> FlowId {
        self.flows.push(flow);
        FlowId(self.flows.len() - 1)
    }

    /// The network, at time 0.
    ///
    /// A link is wrong, a buffer is smaller than what it promises, or a path has no link.
    pub fn build(self) -> Result<Network, BuildError> {
        let mut topology = Topology::new(&self.switch_names, &self.host_names, self.links.clone())?;
        for (given, &address) in topology.given.iter_mut().zip(&self.given) {
            *given = Some(address);
        }
        let tags = TagMap { ttl_classes: self.ttl_classes(Parity::All), ..tag_map(&self.lossless) };
        let tags = Arc::new(tags);
        let host_tags = self.hosts.tags(&self.classes, &tags);
        let pool = Pool::default();
        let seed = random::substream(self.seed, u64::MAX - 1).next_u64();
        let mut router = Router::new(&topology, self.routes, &self.down, seed);
        let (sources, plans) = self.sources(&topology, &mut router, &host_tags)?;
        let (rdma, ideal_ps) = self.rdma(&topology, &mut router, &host_tags, &plans)?;
        let switches = (0..self.switches.len())
            .map(|number| self.switch_node(SwitchId(number), &topology, &router, &tags, &pool))
            .collect::<Result<Vec<_>, _>>()?;
        let lossless_bits = self.lossless_bits();
        let host = |(number, (sources, rdma))| {
            let parts = self.host_parts(HostId(number), &topology, lossless_bits, sources);
            let parts = HostParts { rdma, ..parts };
            HostNode::new(parts, Arc::clone(&host_tags), lossless_bits, pool.clone())
        };
        let hosts: Vec<HostNode> = sources.into_iter().zip(rdma).enumerate().map(host).collect();
        let ends = topology.ends();
        let sides = bipartition(&ends, switches.len() + hosts.len());
        let deal = self.deal(&topology, &ends, &sides);
        let parts = self.parts(&topology, &ends, &deal, &sides, &tags, (switches, hosts));
        Ok(Network {
            exchange: Exchange::new(deal.parts),
            parts,
            places: deal.places,
            switches: self.switches.len(),
            ends,
            captures: Captures::default(),
            schedule: FaultSchedule::new(self.reroute_ps),
            lossless_bits,
            topology,
            router,
            now_ps: 0,
            ideal_ps,
            woken: Vec::new(),
        })
    }

    /// Which node is in which part.
    fn deal(&self, topology: &Topology, ends: &[Ends], sides: &[bool]) -> Deal {
        let switches = self.switches.len();
        let parts = self.threads.get().min(switches.max(1));
        if parts == 1 {
            return Deal::new(&vec![0; sides.len()], 1);
        }
        let speed = |wire: usize| topology.links[wire / 2].spec.speed.bps();
        let wires = ends.iter().enumerate().map(|(wire, &ends)| (ends, speed(wire)));
        let wires: Vec<(Ends, u64)> = wires.collect();
        Deal::new(&partition(&wires, switches, sides, parts), parts)
    }

    /// All parts, with a turn of every node planned at time 0.
    fn parts(
        &self,
        topology: &Topology,
        ends: &[Ends],
        deal: &Deal,
        sides: &[bool],
        tags: &Arc<TagMap>,
        (switches, hosts): (Vec<SwitchNode>, Vec<HostNode>),
    ) -> Vec<Part> {
        let least_ps = topology.links.iter().map(|link| link.spec.least_ps());
        let span_ps = least_ps.min().unwrap_or(NEVER);
        let may_ignore = switches.iter().any(SwitchNode::may_ignore_pauses);
        let pauses = PauseWatch::new(ends.len(), self.lossless_bits());
        let pauses = pauses.gfc(self.gfc.map(|gfc| gfc.form)).excusing(may_ignore);
        let has_order = has_order(ends, sides.len());
        let has_sides = sides.contains(&true);
        let hosts = deal.nodes(hosts, switches.len());
        let nodes = deal.nodes(switches, 0).into_iter().zip(hosts);
        let sides = deal.nodes(sides.to_vec(), 0);
        let part = |(number, ((switches, hosts), sides)): (usize, ((Vec<_>, Vec<_>), Vec<_>))| {
            let links = Links {
                wires: deal.wires(number, ends, |wire, to| self.wire(topology, wire, to)),
                captured: CaptureBuffer::default(),
                recorded: Vec::new(),
                pauses: pauses.clone(),
                watch: TagWatch::new(tags).by_files(!self.given.is_empty()),
                trace: Trace::new(sides.len()),
                tags: Arc::clone(tags),
                pool: Pool::default(),
                runs_lldp: self.lldp_bounces.is_some(),
                outboxes: (0..deal.parts).map(|_| Vec::new()).collect(),
                switches: switches.len(),
                data_hops: 0,
                switch_hops: 0,
            };
            let mut flows = self.flow_states(topology, tags);
            for flow in &mut flows {
                // Only its receiver has the window, which is one.
                if deal.places[self.switches.len() + flow.to.0].part != number {
                    flow.receive_window = None;
                }
            }
            let mut part = Part {
                switches,
                hosts,
                links,
                flows,
                events: EventQueue::new(span_ps, &sides, has_sides),
                arrived: Vec::new(),
                has_order,
                buffers: Buffers::default(),
                member: Member::new(number),
                load: Load::default(),
            };
            part.set_timers();
            part
        };
        nodes.zip(sides).enumerate().map(part).collect()
    }

    /// A wire, which is down from the start if its link is.
    fn wire(&self, topology: &Topology, number: usize, to: Endpoint) -> Wire {
        let rng = random::substream(self.seed, u64::MAX - (2 + number) as u64);
        let mut wire = Wire::new(to, topology.links[number / 2].spec, rng);
        if self.down.contains(&(number / 2)) {
            wire.set_up(false);
        }
        wire
    }

    /// By host, the sources of its simple flows, each with an address that the router has a route
    /// for; and the RoCE flows.
    fn sources(
        &self,
        topology: &Topology,
        router: &mut Router,
        tags: &TagMap,
    ) -> Result<(Vec<Vec<Source>>, Vec<FlowPlan>), BuildError> {
        let mut plans = Vec::new();
        if self.flows.len() > FLOWS_MAX {
            let (what, count, most) = ("flows", self.flows.len(), FLOWS_MAX);
            return Err(BuildError::TooMany { what, count, most });
        }
        let map = Map { topology, switches: &self.switch_names, hosts: &self.host_names };
        let mut sources: Vec<Vec<Source>> = self.host_names.iter().map(|_| Vec::new()).collect();
        for (number, spec) in (0_u32..).zip(&self.flows) {
            check_length(spec.frame_bytes)?;
            let flow = FlowId(number as usize);
            let destination = router.add(flow.0, &spec.way, spec.from, spec.to, &map)?;
            if spec.is_roce && spec.way == Way::Pinned {
                // Answers have a random path of their own, too.
                let back = router.add(flow.0 + FLOWS_MAX, &spec.way, spec.to, spec.from, &map)?;
                plans.push(FlowPlan::new(flow, spec, [destination, back], tags));
                continue;
            }
            if spec.window_bytes.is_some() || spec.is_roce {
                // Acknowledgments are routed by the tables.
                router.route_to(topology.access[spec.from.0].0);
            }
            if spec.is_roce {
                let back = topology.host_address(spec.from);
                plans.push(FlowPlan::new(flow, spec, [destination, back], tags));
                continue;
            }
            let addresses = self.addresses(topology, spec.from, destination);
            let dscp = tags.dscp[spec.tag.index()];
            sources[spec.from.0].push(Source::new(
                flow,
                spec,
                tags.priority_leaving(spec.tag, TTL_START),
                |frame_bytes| head(number, &addresses, dscp, frame_bytes),
                random::substream(self.seed, u64::from(number)),
            ));
        }
        Ok((sources, plans))
    }

    /// The addresses of frames from a host.
    fn addresses(&self, topology: &Topology, from: HostId, destination: Ipv4Addr) -> Addresses {
        let (switch, port) = topology.access[from.0];
        Addresses {
            source_mac: mac(self.switches.len() + from.0, PortId::FIRST),
            gateway_mac: self.port_mac(switch, port),
            source: topology.host_address(from),
            destination,
        }
    }

    fn flow_states(&self, topology: &Topology, tags: &TagMap) -> Vec<FlowState> {
        let state = |(number, spec): (u32, &FlowSpec)| {
            let receive_window = spec.window_bytes.map(|_| {
                let back = topology.host_address(spec.from);
                let addresses = self.addresses(topology, spec.to, back);
                let dscp = tags.dscp[spec.tag.index()];
                let head = head(number, &addresses, dscp, FRAME_BYTES_LEAST);
                Box::new((ReceiveWindow::default(), ack_head(head, number)))
            });
            FlowState {
                from: spec.from,
                to: spec.to,
                start_ps: spec.start_ps,
                counters: FlowCounters::default(),
                frames: frames_of(spec),
                receive_window,
            }
        };
        (0..).zip(&self.flows).map(state).collect()
    }

    fn switch_node(
        &self,
        id: SwitchId,
        topology: &Topology,
        router: &Router,
        tags: &TagMap,
        pool: &Pool,
    ) -> Result<SwitchNode, BuildError> {
        let draft = &self.switches[id.0];
        let name = &self.switch_names[id.0];
        let attachments = &topology.ports[id.0];
        let seed = random::substream(!self.seed, id.0 as u64).next_u64();
        let ttl_classes = self.ttl_classes(draft.parity);
        let common = Common {
            lossless_bits: ttl_classes
                .as_ref()
                .map_or_else(|| self.lossless_bits(), TtlClasses::lossless_bits),
            upstream: ttl_classes.as_ref().map_or(Priority::EACH, TtlClasses::upstream),
            host_priority: self.hosts.translated(&self.classes),
            gfc: self.gfc,
            frame_bytes_max: FRAME_BYTES_MOST,
            seed,
        };
        let spec_of = |attachment: &Attachment| topology.links[attachment.link].spec;
        let links: Vec<Option<LinkSpec>> =
            attachments.iter().map(|slot| slot.as_ref().map(spec_of)).collect();
        let mut settings =
            draft.spec.settings(id, name, &links, &topology.host_ports(id), &common)?;
        let trust = trust(tags);
        let forwarding = settings.ports.iter().map(|port| PortForwarding {
            mac: port.mac,
            mode: PortMode::Routed { vlan: None },
            trust,
            checks_source: false,
            has_tap: false,
            qos_map: None,
        });
        let mut tables = TableParts {
            forwarding: forwarding.collect(),
            tags: TagMap { ttl_classes, ..tags.clone() },
            rules: draft.rules.clone(),
            tunnels: Tunnels::default(),
            seed,
            epoch: 0,
            fib: self.lldp_bounces.map(|_| Routes::new().compile()),
        };
        let mut routes = table(router, topology, id, FRAME_BYTES_MOST);
        if let Some(config) = &draft.config {
            (settings, tables, routes) = configured_switch::parts(config, name, tables)?;
            if !self.given.is_empty() {
                self.find_neighbors(topology, id, &mut routes);
            }
        }
        // A file may have more ports than have links.
        let attachments: Vec<_> = (0..settings.ports.len())
            .map(|index| attachments.get(index).cloned().flatten())
            .collect();
        let ports = attachments.iter().zip(&settings.ports).map(|(slot, port)| {
            SimPort::new(Transmitter::new(port.speed), slot.as_ref().map(Attachment::wire))
        });
        let device = SimDevice::new(ports.collect(), pool.clone());
        let is_down = |slot: &Option<Attachment>| {
            slot.as_ref().is_none_or(|attachment| router.is_down(attachment.link))
        };
        let down = (0..).map_while(PortId::from_index).zip(&attachments);
        let down: Vec<PortId> =
            down.filter(|(_, slot)| is_down(slot)).map(|(port, _)| port).collect();
        let lldp = self.lldp_node(Device::Router, id.0, name, attachments.len());
        let mut node =
            SwitchNode::new(name.clone(), settings, tables, &routes, device, &down, lldp);
        node.file_routes = draft.config.is_some().then(|| Box::new(routes));
        Ok(node)
    }

    fn host_parts(
        &self,
        id: HostId,
        topology: &Topology,
        lossless_bits: u8,
        sources: Vec<Source>,
    ) -> HostParts {
        let (switch, port) = topology.access[id.0];
        // The host's wire leads to its switch's port.
        let against = topology.ports[switch.0][port.index()].as_ref();
        let node = self.switches.len() + id.0;
        let speed = against.map_or(Speed::from_gbps(1), |at| topology.links[at.link].spec.speed);
        HostParts {
            name: self.host_names[id.0].clone(),
            id,
            mac: mac(node, PortId::FIRST),
            wire: against.map_or(0, Attachment::wire_back),
            speed,
            sink: self.drains[id.0].map(|drain| Sink::new(drain, lossless_bits)),
            gfc: self.gfc,
            sources,
            rdma: None,
            lldp: self.lldp_node(Device::EndStation, node, &self.host_names[id.0], 1),
        }
    }

    fn lldp_node(
        &self,
        device: Device,
        node: usize,
        name: &str,
        ports: usize,
    ) -> Option<Box<LldpNode>> {
        self.lldp_bounces.map(|bounces| Box::new(LldpNode::new(device, node, name, ports, bounces)))
    }
}

fn check_length(frame_bytes: u16) -> Result<(), BuildError> {
    let (least, most) = (FRAME_BYTES_LEAST, FRAME_BYTES_MOST);
    if (least..=most).contains(&frame_bytes) {
        return Ok(());
    }
    Err(BuildError::FrameLength { frame_bytes, least, most })
}
