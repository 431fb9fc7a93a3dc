//! The scenario of a seed.

use super::topology::Shape;
use super::{faults, traffic};
use config::headroom::{Link, Software, needed_bytes};
use config::scenario::{
    Buffers, Ecn, FRAME_BYTES_MOST, Flow, LinkDefaults, Roce, Route, RouteKind, Routing,
    ScenarioConfig, Scheme, SchemeKind,
};
use config::units::Length;
use dataplane::settings::Threshold;
use dataplane::time::Speed;
use fabric::Network;
use fabric::network::End;
use fabric::paths::{Listed, Turn};
use fabric::paths::{PathKind, PathSpec};
use random::{Draw, Rng, SplitMix64};
use roce::congestion::Algorithm;
use std::collections::BTreeMap;

/// Larger networks have too many loop-free paths to list.
const ALL_SIMPLE_MOST: usize = 6;

/// Lossless priorities that buffers must have headroom for: those of classes by hops.
const CLASSES: u8 = 7;

/// The scenario of `seed`: a network, buffers, routes, traffic, faults.
pub fn draw(seed: u64) -> ScenarioConfig {
    let rng = &mut random::seeded(seed);
    // Neighboring seeds must not begin alike.
    let rng = &mut random::seeded(rng.next_u64());
    let shape = Shape::draw(rng);
    let network = shape.network(rng);
    let is_large = network.hosts() > 12;
    let duration_ns = rng.between(50_000, if is_large { 100_000 } else { 250_000 });
    let has_flows = rng.one_in(2);
    let flows = if has_flows { traffic::flows(&network, duration_ns, rng) } else { Vec::new() };
    let tables = if flows.is_empty() { 1 + rng.index(2) } else { rng.index(2) };
    let traffic: Vec<_> =
        (0..tables).map(|_| traffic::traffic(&network, duration_ns, rng)).collect();
    let priorities_max = 1 + rng.byte_below(4);
    let mut config = ScenarioConfig {
        name: format!("seed {seed}"),
        about: shape.name,
        duration_ns,
        seed,
        paths: PathSpec::new(paths(&network, &flows, rng)),
        scheme: Scheme { kind: SchemeKind::Tagger, priorities_max, ..Scheme::default() },
        links: LinkDefaults { speed: Speed::from_gbps(40), length: Length::from_metres(10) },
        buffers: buffers(&network, CLASSES, rng),
        routing: routing(&network, rng),
        faults: faults::faults(&network, duration_ns, rng),
        expectations: BTreeMap::new(),
        files: None,
        network,
        flows,
        traffic,
        roce: Roce::default(),
        collectives: Vec::new(),
        warnings: Vec::new(),
    };
    // Drawn last, so that a seed's network and faults stay what they were.
    config.scheme.partitions = rng.below(2) == 0;
    config.scheme.hosts_by_dscp = rng.below(2) == 0;
    config.scheme.translate = true;
    draw_roce(&mut config, rng);
    config
}

/// Makes some flows queue pairs, with any congestion control but that which needs telemetry.
fn draw_roce(config: &mut ScenarioConfig, rng: &mut SplitMix64) {
    let of_flows = config.flows.iter_mut().map(|flow| &mut flow.pace);
    let paces = of_flows.chain(config.traffic.iter_mut().map(|traffic| &mut traffic.pace));
    for pace in paces {
        pace.is_roce = rng.one_in(3);
        if pace.is_roce {
            (pace.window_bytes, pace.stop_ns) = (None, None);
        }
    }
    let name = rng.pick(&["none", "dcqcn", "timely", "swift"]);
    config.roce.algorithm = Algorithm::from_name(name).unwrap_or_default();
    config.roce.selective_packets = rng.one_in(3).then_some(128);
    config.roce.acknowledge_every = rng.pick(&[1, 4, 16]);
}

/// What `tagger` is to keep lossless. All else may become lossy.
fn paths(network: &Network, flows: &[Flow], rng: &mut SplitMix64) -> PathKind {
    let ways = flows.iter().filter_map(|flow| match &flow.route {
        Route::Path(turns) => Some(turns.as_slice()),
        Route::Routed => None,
    });
    let ways: Vec<&[Turn]> = ways.collect();
    if !ways.is_empty() && !rng.one_in(3) {
        return PathKind::File(Listed::of(network, &ways));
    }
    match rng.index(4) {
        0 if network.switches() <= ALL_SIMPLE_MOST => PathKind::AllSimple,
        1 => PathKind::KShortest { k: 1 + rng.index(3) },
        2 => PathKind::ShortestTrees,
        _ => PathKind::Shortest,
    }
}

fn buffers(network: &Network, priorities: u8, rng: &mut SplitMix64) -> Buffers {
    let cell_bytes = rng.pick(&[64, 80, 208, 256]);
    let lossy_bytes = rng.between(20_000, 1_000_000);
    let promised = (0..).take(network.switches());
    let promised = promised.map(|switch| promised_bytes(network, switch, cell_bytes, priorities));
    let threshold = if rng.one_in(2) {
        Threshold::Static { xoff_bytes: rng.pick(&[5_000, 20_000, 40_000, 100_000]) }
    } else {
        Threshold::dynamic(rng.pick(&[-5, -3, -1, 0, 1]))
    };
    let shared_bytes = rng.pick(&[10_000, 100_000, 1_000_000, 10_000_000]);
    let kmin_bytes = rng.pick(&[5_000, 50_000]);
    let ecn = Ecn {
        kmin_bytes,
        kmax_bytes: 4 * kmin_bytes,
        pmax_millionths: 200_000,
        marks_lossy: false,
    };
    Buffers {
        fair: Some(rng.one_in(4)),
        size_bytes: promised.max().unwrap_or(0) + lossy_bytes + shared_bytes,
        cell_bytes,
        lossy_bytes,
        lossy_queue_bytes: rng.pick(&[10_000, 100_000, 500_000]),
        threshold,
        xon_offset_bytes: rng.one_in(3).then_some(18_000),
        ecn: rng.one_in(3).then_some(ecn),
    }
}

/// What a switch keeps free for its lossless VIQs, if all these priorities are lossless.
fn promised_bytes(network: &Network, switch: u32, cell_bytes: u16, priorities: u8) -> u64 {
    let at = |end: &End| matches!(end, End::Slot(slot) if network.owner(*slot) == switch);
    let links = network.links().iter();
    let ports = links.flat_map(|link| link.ends.iter().filter(|end| at(end)).map(move |_| link));
    let needed = ports.filter_map(|link| {
        let link = Link::new(link.speed?, link.length?, FRAME_BYTES_MOST.into());
        Some(needed_bytes(&link, &Software::default(), cell_bytes) + u64::from(FRAME_BYTES_MOST))
    });
    needed.sum::<u64>() * u64::from(priorities)
}

fn routing(network: &Network, rng: &mut SplitMix64) -> Routing {
    let kind = rng.pick(&[RouteKind::Shortest, RouteKind::Ecmp, RouteKind::Pinned]);
    let between = |end: &End| matches!(end, End::Slot(slot) if network.far_slot(*slot).is_some());
    let ends = network.links().iter().map(|link| link.ends[0]);
    let ends: Vec<End> = ends.filter(between).filter(|&end| is_spare(network, end)).collect();
    let failed = if ends.is_empty() || !rng.one_in(5) { Vec::new() } else { vec![rng.pick(&ends)] };
    let failed_millionths = if rng.one_in(4) { 200_000 } else { 0 };
    let reroute_ns = rng.one_in(2).then(|| rng.between(0, 30_000));
    Routing { kind, reroute_ns, failed, failed_millionths }
}

/// Whether every switch reaches every other without the link at `end`.
fn is_spare(network: &Network, end: End) -> bool {
    let End::Slot(end) = end else { return false };
    let mut seen = vec![false; network.switches()];
    let mut left = vec![0];
    while let Some(at) = left.pop() {
        if std::mem::replace(&mut seen[at as usize], true) {
            continue;
        }
        let up = network.neighbors(at).filter(|&(near, far)| near != end && far != end);
        left.extend(up.map(|(_, far)| network.owner(far)));
    }
    seen.into_iter().all(|seen| seen)
}
