//! What several tests need: units, tags, the ring of three switches, rules by numbering.

use dataplane::counters::DropReason;
use dataplane::ids::{PortId, Priority, Tag};
use dataplane::report::PortReport;
use dataplane::rules::{PortSet, TagMatch, TcamEntry};
use netsim::builder::NetworkBuilder;
use netsim::checker::Deadlock;
use netsim::event::Picoseconds;
use netsim::flow::Way;
use netsim::flow::{FlowId, FlowSpec};
use netsim::link::LinkSpec;
use netsim::network::Network;
use netsim::switch_spec::SwitchSpec;
use netsim::topology::SwitchId;

pub(crate) const NS: Picoseconds = 1_000;
pub(crate) const US: Picoseconds = 1_000 * NS;
pub(crate) const MS: Picoseconds = 1_000 * US;

pub(crate) fn tag(value: u8) -> Tag {
    Tag::new(value).expect("a tag")
}

pub(crate) fn priority(value: u8) -> Priority {
    Priority::new(value).expect("a priority")
}

pub(crate) fn port(number: usize) -> PortId {
    PortId::from_number(number).expect("a port")
}

/// A network whose tags 1 to `tags` are lossless, tag t on priority t + 2.
pub(crate) fn lossless_network(seed: u64, tags: u8) -> NetworkBuilder {
    let mut builder = NetworkBuilder::new(seed);
    (1..=tags).for_each(|t| builder.lossless(tag(t), priority(t + 2)));
    builder
}

/// Runs until `until_ps` and checks every `every_ps` that all holds which must hold at any time.
pub(crate) fn run_checked(network: &mut Network, until_ps: Picoseconds, every_ps: Picoseconds) {
    while network.now_ps() < until_ps {
        network.run_until((network.now_ps() + every_ps).min(until_ps));
        if let Err(violation) = network.check() {
            panic!("at {} ns: {violation}", network.now_ps() / NS);
        }
    }
}

/// Port `number` of `switch`, as of now.
pub(crate) fn port_of(network: &Network, switch: SwitchId, number: usize) -> PortReport {
    network.switch(switch).ports.swap_remove(number - 1)
}

/// Frames that all ports of `switch` have dropped, by the names of the reasons.
pub(crate) fn drops(network: &Network, switch: SwitchId) -> Vec<(&'static str, u64)> {
    let ports = network.switch(switch).ports;
    let of = |&reason: &DropReason| {
        (reason.name(), ports.iter().map(|port| port.counters.dropped(reason)).sum())
    };
    DropReason::ALL.iter().map(of).filter(|&(_, frames)| frames != 0).collect()
}

/// Gigabits per second that a flow's frames, without FCS, made from `from_ps` on.
pub(crate) fn megabits(bytes: u64, span_ps: Picoseconds) -> u64 {
    bytes * 8 * 1_000_000 / span_ps
}

/// Fig. 1 of the reconfiguration paper: switches A, B and C in a ring, each with a host, and three
/// flows that each go on to the second switch after their own. Port 1 leads to the next switch, 2
/// to the one before, 3 to the host.
pub(crate) struct Ring {
    pub(crate) switches: [SwitchId; 3],
    pub(crate) flows: [FlowId; 3],
}

impl Ring {
    pub(crate) fn new(builder: &mut NetworkBuilder, spec: &SwitchSpec, link: LinkSpec) -> Self {
        let switches = ["A", "B", "C"].map(|name| builder.switch(name, spec.clone()));
        let hosts = ["a", "b", "c"].map(|name| builder.host(name));
        for at in 0..3 {
            builder.link(switches[at].port(1), switches[(at + 1) % 3].port(2), link);
            builder.link(switches[at].port(3), hosts[at], link);
        }
        let flows = std::array::from_fn(|at| {
            let way = [at, at + 1, at + 2].map(|at| switches[at % 3]);
            builder.flow(FlowSpec {
                way: Way::Through(way.to_vec()),
                ..FlowSpec::new(hosts[at], hosts[(at + 2) % 3], tag(1))
            })
        });
        Self { switches, flows }
    }
}

/// An entry for `tag` from any of `input` to any of `output`.
pub(crate) fn entry(tag_value: u8, input: &PortSet, output: &PortSet, new_tag: u8) -> TcamEntry {
    let (tag_match, new_tag) = (TagMatch::exactly(tag(tag_value)), tag(new_tag));
    TcamEntry { tag: tag_match, in_ports: *input, out_ports: *output, new_tag }
}

/// Ports 1 to `count`.
pub(crate) fn all_ports(count: usize) -> PortSet {
    (1..=count).map(port).collect()
}

/// Rules by numbering the switches (DESIGN.md, section 1): a link leads up if it leads to a lower
/// number, and a turn from down to up raises the tag; beyond tag `tags` it makes the frame lossy.
/// `neighbors` are the ports that lead to switches, each with that switch's number.
pub(crate) fn up_down_rules(
    number: usize,
    neighbors: &[(PortId, usize)],
    ports: usize,
    tags: u8,
) -> Vec<TcamEntry> {
    let lower: PortSet =
        neighbors.iter().filter(|(_, other)| *other < number).map(|(port, _)| *port).collect();
    let all = all_ports(ports);
    let turn = |t| entry(t, &lower, &lower, if t < tags { t + 1 } else { 0 });
    (1..=tags).flat_map(|t| [turn(t), entry(t, &all, &all, t)]).collect()
}

/// Runs until a deadlock is found or `until_ps` is reached, with a search every `every_ps`; returns
/// when it was found, and the deadlock.
pub(crate) fn run_until_deadlock(
    network: &mut Network,
    until_ps: Picoseconds,
    every_ps: Picoseconds,
) -> Option<(Picoseconds, Deadlock)> {
    while network.now_ps() < until_ps {
        network.run_until((network.now_ps() + every_ps).min(until_ps));
        if let Some(deadlock) = network.find_deadlock() {
            return Some((network.now_ps(), deadlock));
        }
    }
    None
}
