//! `[[traffic]]` as flows.

use super::links::host_link;
use super::sizes::{mean_bytes, points_of, sample_bytes};
use config::scenario::{Pace, ScenarioConfig, Sizes, Traffic, TrafficKind};
use dataplane::time::Speed;
use fabric::Network;
use random::{Draw, Rng, SplitMix64};
use std::collections::{BTreeMap, BTreeSet};

const PS_PER_NS: u64 = 1_000;
const MILLION: u128 = 1_000_000;

/// A flow's name, its hosts, and how it sends.
pub(super) type Expanded = (String, (u32, u32), Pace);

/// The flows of `traffic`, which come within `duration_ns`.
pub(super) fn expand(
    config: &ScenarioConfig,
    traffic: &Traffic,
    duration_ns: u64,
    mut rng: SplitMix64,
) -> Vec<Expanded> {
    let network = &config.network;
    let pairs = pairs(network, traffic, &mut rng);
    let name =
        |(from, to): (u32, u32)| format!("{}-{}", network.host_name(from), network.host_name(to));
    let Some(sizes) = traffic.sizes else {
        return pairs.into_iter().map(|pair| (name(pair), pair, traffic.pace)).collect();
    };
    // The host whose link is loaded: all pairs that share it make the load together.
    let is_incast = matches!(traffic.kind, TrafficKind::Incast { .. });
    let loaded = |pair: (u32, u32)| if is_incast { pair.1 } else { pair.0 };
    let mut sharers = BTreeMap::new();
    pairs.iter().for_each(|&pair| *sharers.entry(loaded(pair)).or_insert(0_usize) += 1);
    let mut flows = Vec::new();
    for pair in pairs {
        let speed = host_link(config, loaded(pair)).speed;
        let share = sharers[&loaded(pair)];
        let own = random::seeded(rng.next_u64());
        let each = arrivals(traffic, sizes, speed, share, duration_ns, own);
        flows.extend(
            (1..).zip(each).map(|(number, pace)| (format!("{} #{number}", name(pair)), pair, pace)),
        );
    }
    flows.sort_by_key(|(_, _, pace)| pace.start_ns);
    flows
}

/// Flows of random sizes that come at random: together `sizes.load` of `speed`, of which this is
/// one of `share` equal parts.
fn arrivals(
    traffic: &Traffic,
    sizes: Sizes,
    speed: Speed,
    share: usize,
    duration_ns: u64,
    mut rng: SplitMix64,
) -> Vec<Pace> {
    let points = points_of(sizes.distribution);
    // Picoseconds between two flows so that sizes of the mean make the load.
    let bits_ps = u128::from(mean_bytes(points)) * 8 * 1_000_000_000_000 * share as u128 * MILLION;
    let rate = u128::from(speed.bps()) * u128::from(sizes.load_millionths);
    let gap_ps = u64::try_from(bits_ps / rate.max(1)).unwrap_or(u64::MAX);
    let stop_ns = traffic.pace.stop_ns.unwrap_or(duration_ns).min(duration_ns);
    let mut at_ps = traffic.pace.start_ns.saturating_mul(PS_PER_NS);
    let mut paces = Vec::new();
    loop {
        at_ps = at_ps.saturating_add(rng.exponential(gap_ps));
        let start_ns = at_ps / PS_PER_NS;
        if start_ns >= stop_ns {
            return paces;
        }
        let size_bytes = Some(sample_bytes(points, &mut rng));
        paces.push(Pace { start_ns, stop_ns: None, size_bytes, ..traffic.pace });
    }
}

fn pairs(network: &Network, traffic: &Traffic, rng: &mut SplitMix64) -> Vec<(u32, u32)> {
    let hosts = || (0..).take(network.hosts());
    match traffic.kind {
        TrafficKind::Permutation => {
            let mut order = senders(network, traffic, &BTreeSet::new(), rng);
            rng.shuffle(&mut order);
            let next = order.iter().copied().cycle().skip(1);
            order.iter().copied().zip(next).filter(|(from, to)| from != to).collect()
        }
        TrafficKind::Incast { to } => {
            let senders = senders(network, traffic, &BTreeSet::from([to]), rng);
            senders.into_iter().map(|from| (from, to)).collect()
        }
        TrafficKind::Random { flows } => {
            let from = senders(network, traffic, &BTreeSet::new(), rng);
            let all: Vec<u32> = hosts().collect();
            let mut pairs = Vec::with_capacity(flows);
            while pairs.len() < flows {
                if let (Some(&from), Some(&to)) = (rng.choose(&from), rng.choose(&all))
                    && from != to
                {
                    pairs.push((from, to));
                }
            }
            pairs
        }
        TrafficKind::AllToAll => {
            let from = senders(network, traffic, &BTreeSet::new(), rng);
            let pair = |&one: &u32| {
                from.iter().copied().filter(move |&other| one != other).map(move |to| (one, to))
            };
            from.iter().flat_map(pair).collect()
        }
    }
}

/// The senders: those named, or a random number of hosts, under different switches as far as
/// possible, or all; never a host of `not`.
fn senders(
    network: &Network,
    traffic: &Traffic,
    not: &BTreeSet<u32>,
    rng: &mut SplitMix64,
) -> Vec<u32> {
    if !traffic.from.is_empty() {
        return traffic.from.iter().copied().filter(|host| !not.contains(host)).collect();
    }
    let mut hosts: Vec<u32> =
        (0..).take(network.hosts()).filter(|host| !not.contains(host)).collect();
    let Some(wanted) = traffic.senders else { return hosts };
    let switch_of = |host: u32| network.host_slot(host).map(|slot| network.owner(slot));
    rng.shuffle(&mut hosts);
    let mut used: BTreeSet<Option<u32>> = not.iter().map(|&host| switch_of(host)).collect();
    let (mut first, mut rest) = (Vec::new(), Vec::new());
    for host in hosts {
        if used.insert(switch_of(host)) { first.push(host) } else { rest.push(host) }
    }
    first.into_iter().chain(rest).take(wanted).collect()
}
