//! From a scenario to a network at time 0, with all faults planned.

use super::error::ScenarioError;
use super::links::{defaults, link_of, spec};
use super::scheme::scheme;
use super::{faults, files, traffic};
use crate::builder::NetworkBuilder;
use crate::flow::Way;
use crate::flow::{self, FlowId, FlowSpec};
use crate::link::LinkSpec;
use crate::network::Network as Emulated;
use crate::rdma::plan::CollectiveSpec;
use crate::routing::RouteKind;
use crate::switch_spec::SwitchSpec;
use crate::topology::{self, HostId, LinkDraft, SwitchId};
use config::scenario::{Collective, Pace, Route, RouteKind as Wanted, ScenarioConfig, SchemeKind};
use dataplane::ids::{Priority, Tag};
use dataplane::limits::PRIORITIES;
use dataplane::settings::DepthCurve;
use fabric::Network;
use fabric::network::{End, Link, Peer};
use random::{Draw, SplitMix64};
use roce::congestion::Algorithm;
use std::num::NonZeroUsize;

/// A scenario's network.
#[derive(Debug)]
pub struct Built {
    /// At time 0.
    pub network: Emulated,
    /// Its flows, in the order of the scenario.
    pub flows: Vec<BuiltFlow>,
    /// Whether the faults can cost lossless frames, whatever switches do.
    pub(super) pfc_fails: bool,
    pub(super) lossless: Vec<Priority>,
}

/// A flow of the network.
#[derive(Clone, Debug)]
pub struct BuiltFlow {
    /// In the network.
    pub id: FlowId,
    /// Its name.
    pub name: String,
    /// Who sends.
    pub from: HostId,
    /// Who receives.
    pub to: HostId,
    /// When it starts.
    pub start_ps: u64,
    /// Bytes it has to carry; `None` without end.
    pub size_bytes: Option<u64>,
}

/// The network of a scenario, at time 0, for one thread; `kind` and `seed` instead of the
/// scenario's own.
///
/// # Errors
/// There are no rules, or the network cannot be built.
pub fn build(
    config: &ScenarioConfig,
    kind: Option<SchemeKind>,
    seed: Option<u64>,
) -> Result<Built, ScenarioError> {
    build_for(config, kind, seed, NonZeroUsize::MIN)
}

/// The same for several threads.
///
/// # Errors
/// There are no rules, or the network cannot be built.
pub fn build_for(
    config: &ScenarioConfig,
    kind: Option<SchemeKind>,
    seed: Option<u64>,
    threads: NonZeroUsize,
) -> Result<Built, ScenarioError> {
    let (kind, seed) = (kind.unwrap_or(config.scheme.kind), seed.unwrap_or(config.seed));
    let scheme = scheme(config, kind)?;
    let of_files = config.files.as_deref();
    let mut builder = NetworkBuilder::new(seed);
    builder.threads(threads);
    for &(tag, priority) in &scheme.lossless {
        builder.lossless(tag, priority);
    }
    if let Some(bounces) = scheme.learns {
        builder.run_lldp(bounces);
    }
    builder.classes(&scheme.classes);
    builder.host_pauses(scheme.host_pauses);
    if let Some((settings, _)) = scheme.gfc {
        builder.gfc(settings);
    }
    let lossless = scheme.priorities();
    let spec = SwitchSpec {
        rate_map: scheme.gfc.map(|(_, gfc)| gfc),
        fair: config.buffers.fair.unwrap_or_else(|| scheme.gfc.is_some()),
        watchdog: scheme.watchdog,
        partitions: !scheme.classes.is_empty() && config.scheme.partitions,
        ..switch_spec(config, &lossless)
    };
    let network = &config.network;
    for ((switch, rules), parity) in (0..).zip(scheme.rules).zip(scheme.parities) {
        let id = builder.switch(network.switch_name(switch), spec.clone());
        builder.parity(id, parity);
        if let Some(rules) = rules {
            builder.rules(id, rules);
        }
        if let Some(files) = of_files {
            let file = &files.switches[switch as usize];
            builder.configure(id, files::emulated(network, file, switch, config.links.speed));
        }
    }
    builder.addresses_of_files(of_files.map(files::addresses).unwrap_or_default());
    for host in (0..).take(network.hosts()) {
        builder.host(network.host_name(host));
    }
    for LinkDraft { ends: [one, other], spec } in drafts(network, defaults(config)) {
        builder.link(one, other, spec);
    }
    route(config, &mut builder, seed);
    let is_lossless = kind != SchemeKind::Lossy;
    let initial_tags = scheme.initial_tags;
    let tag_of = |pace: &Pace| {
        if of_files.is_some() {
            return files::tag(pace, &initial_tags);
        }
        let initial = initial_tags.get(usize::from(pace.class).saturating_sub(1)).copied();
        let initial = initial.filter(|_| is_lossless && !pace.lossy);
        initial.unwrap_or_default()
    };
    let mut flows = Vec::new();
    for flow in &config.flows {
        let ends = (flow.from, flow.to);
        let way = match &flow.route {
            Route::Routed => routed(config),
            Route::Path(turns) => Way::Ports(ports(config, turns)),
        };
        let tag = tag_of(&flow.pace);
        add(&mut builder, &mut flows, (flow.name.clone(), ends), way, &flow.pace, tag);
    }
    let duration_ns = config.duration_ns;
    for (number, table) in config.traffic.iter().enumerate() {
        let rng = random::substream(seed, (1 << 40) + number as u64);
        for (name, ends, pace) in traffic::expand(config, table, duration_ns, rng) {
            let tag = tag_of(&pace);
            add(&mut builder, &mut flows, (name, ends), routed(config), &pace, tag);
        }
    }
    builder.roce(config.roce);
    let tag_of_class = |class| {
        let initial = initial_tags.get(usize::from(class) - 1).copied();
        initial.filter(|_| is_lossless).unwrap_or_default()
    };
    for (number, collective) in config.collectives.iter().enumerate() {
        let rng = random::substream(seed, (1 << 42) + number as u64);
        builder.collective(collective_spec(collective, tag_of_class(collective.class), rng));
    }
    let mut network = builder.build()?;
    let pfc_fails = faults::plan(config, &mut network, &lossless);
    Ok(Built { network, flows, pfc_fails, lossless })
}

/// The links of a network; `default` where a link names no speed or length.
pub(super) fn drafts(network: &Network, default: LinkSpec) -> Vec<LinkDraft> {
    let end = |end: End| match end {
        End::Slot(slot) => topology::End::Switch(
            SwitchId(network.owner(slot) as usize),
            network.port(slot).number(),
        ),
        End::Host(host) => topology::End::Host(HostId(host as usize)),
    };
    let draft = |link: &Link| LinkDraft { ends: link.ends.map(end), spec: spec(link, default) };
    network.links().iter().map(draft).collect()
}

fn switch_spec(config: &ScenarioConfig, lossless: &[Priority]) -> SwitchSpec {
    let buffers = &config.buffers;
    let mut ecn = [None; PRIORITIES];
    if let Some(marks) = buffers.ecn {
        let settings = DepthCurve {
            kmin_bytes: marks.kmin_bytes,
            kmax_bytes: marks.kmax_bytes,
            pmax_q16: u32::try_from((u64::from(marks.pmax_millionths) << 16) / 1_000_000)
                .unwrap_or(1 << 16),
        };
        let marks = |p: &Priority| marks.marks_lossy || lossless.contains(p);
        Priority::all().filter(marks).for_each(|priority| ecn[priority.index()] = Some(settings));
    }
    SwitchSpec {
        buffer_bytes: buffers.size_bytes,
        cell_bytes: buffers.cell_bytes,
        lossy_bytes: if lossless.is_empty() { buffers.size_bytes } else { buffers.lossy_bytes },
        lossy_queue_bytes: buffers.lossy_queue_bytes,
        threshold: buffers.threshold,
        xon_offset_bytes: buffers.xon_offset_bytes,
        ecn,
        writes_telemetry: matches!(config.roce.algorithm, Algorithm::Hpcc(_)),
        ..SwitchSpec::default()
    }
}

/// Sets how frames are routed, and which links are down.
fn route(config: &ScenarioConfig, builder: &mut NetworkBuilder, seed: u64) {
    let kind = match config.routing.kind {
        Wanted::Ecmp => RouteKind::Ecmp,
        Wanted::Shortest | Wanted::Pinned => RouteKind::Shortest,
    };
    let reroute_ps = config.routing.reroute_ns.map(|ns| ns.saturating_mul(1_000));
    builder.routing(kind, reroute_ps);
    let failed = config.routing.failed.iter().map(|&end| link_of(config, end));
    let mut failed: Vec<usize> = failed.collect();
    random_failures(config, &mut failed, random::substream(seed, 1 << 41));
    failed.into_iter().for_each(|link| builder.fail(link));
}

/// Fails random links between switches, none of which would partition the network.
fn random_failures(config: &ScenarioConfig, failed: &mut Vec<usize>, mut rng: SplitMix64) {
    let network = &config.network;
    let between =
        |link: &usize| network.links()[*link].ends.iter().all(|end| matches!(end, End::Slot(_)));
    let mut links: Vec<usize> = (0..network.links().len()).filter(between).collect();
    let share = u128::from(config.routing.failed_millionths);
    let wanted = usize::try_from(links.len() as u128 * share / 1_000_000).unwrap_or(0);
    rng.shuffle(&mut links);
    let mut count = 0;
    for link in links {
        if count == wanted {
            return;
        }
        if failed.contains(&link) {
            continue;
        }
        failed.push(link);
        if is_connected(config, failed) {
            count += 1;
        } else {
            failed.pop();
        }
    }
}

/// Whether every switch reaches every other without these links.
fn is_connected(config: &ScenarioConfig, without: &[usize]) -> bool {
    let network = &config.network;
    let mut is_cut = vec![false; network.slots()];
    for &link in without {
        for end in network.links()[link].ends {
            if let End::Slot(slot) = end {
                is_cut[slot as usize] = true;
            }
        }
    }
    let mut seen = vec![false; network.switches()];
    let mut left = vec![0_u32];
    let mut count = 0;
    while let Some(at) = left.pop() {
        if std::mem::replace(&mut seen[at as usize], true) {
            continue;
        }
        count += 1;
        let slots = network.slots_of(at).filter(|&slot| !is_cut[slot as usize]);
        left.extend(slots.filter_map(|slot| match network.peer(slot) {
            Peer::Slot(far) => Some(network.owner(far)),
            _ => None,
        }));
    }
    count == network.switches()
}

fn routed(config: &ScenarioConfig) -> Way {
    match config.routing.kind {
        Wanted::Pinned => Way::Pinned,
        Wanted::Shortest | Wanted::Ecmp => Way::Routed,
    }
}

/// Each switch of a path with its egress port.
fn ports(config: &ScenarioConfig, turns: &[(u32, u32)]) -> Vec<(SwitchId, dataplane::ids::PortId)> {
    let network = &config.network;
    let hop = |&(_, out): &(u32, u32)| (SwitchId(network.owner(out) as usize), network.port(out));
    turns.iter().map(hop).collect()
}

/// A collective, with its ranks placed and its stragglers chosen.
fn collective_spec(collective: &Collective, tag: Tag, mut rng: SplitMix64) -> CollectiveSpec {
    let mut hosts: Vec<HostId> = collective.ranks.iter().map(|&it| HostId(it as usize)).collect();
    if collective.is_shuffled {
        rng.shuffle(&mut hosts);
    }
    let compute_ps = collective.compute_ns.saturating_mul(1_000);
    let straggle_ps = collective.straggle_ns.saturating_mul(1_000);
    let mut computes = vec![compute_ps; hosts.len()];
    let mut order: Vec<usize> = (0..hosts.len()).collect();
    rng.shuffle(&mut order);
    for &rank in order.iter().take(collective.stragglers as usize) {
        computes[rank] = compute_ps.saturating_add(straggle_ps);
    }
    CollectiveSpec {
        kind: collective.kind,
        hosts,
        bytes: collective.bytes,
        chunks: collective.chunks,
        rounds: collective.rounds,
        start_ps: collective.start_ns.saturating_mul(1_000),
        compute_ps: computes,
        tag,
    }
}

fn add(
    builder: &mut NetworkBuilder,
    flows: &mut Vec<BuiltFlow>,
    (name, (from, to)): (String, (u32, u32)),
    way: Way,
    pace: &Pace,
    tag: Tag,
) {
    let (from, to) = (HostId(from as usize), HostId(to as usize));
    let ps = |ns: u64| ns.saturating_mul(1_000);
    let start_ps = ps(pace.start_ns);
    let spec = FlowSpec {
        way,
        frame_bytes: pace.frame_bytes,
        is_roce: pace.is_roce,
        pace: pace.rate.map_or(flow::Pace::BackToBack, flow::Pace::Steady),
        start_ps,
        stop_ps: pace.stop_ns.map_or(u64::MAX, ps),
        size_bytes: pace.size_bytes,
        window_bytes: pace.window_bytes,
        ..FlowSpec::new(from, to, tag)
    };
    let id = builder.flow(spec);
    flows.push(BuiltFlow { id, name, from, to, start_ps, size_bytes: pace.size_bytes });
}
