//! Who sends what to whom in a drawn scenario, and on which ways.

use config::scenario::{Flow, Pace, Route, SizeDistribution, Sizes, Traffic, TrafficKind};
use dataplane::time::Speed;
use fabric::Network;
use fabric::network::Peer;
use fabric::paths::Turn;
use random::{Draw, SplitMix64};

/// Flows on ways of their own; `around` if all go on to a next neighbor, as in a ring.
pub(super) fn flows(network: &Network, duration_ns: u64, rng: &mut SplitMix64) -> Vec<Flow> {
    let around = rng.one_in(2);
    let mut flows = Vec::new();
    let hosts = (0..).take(network.hosts());
    let senders: Vec<u32> = if around {
        hosts.collect()
    } else {
        let count = 3 + rng.index(8);
        (0..count).map(|_| any_host(network, rng)).collect()
    };
    for from in senders {
        let turns = walk(network, from, around, rng);
        let last = turns.last().map(|&(_, out)| network.peer(out));
        let Some(Peer::Host(to)) = last else { continue };
        let is_hungry = around && !rng.one_in(4);
        let pace = if is_hungry { hungry(duration_ns, rng) } else { pace(duration_ns, rng) };
        let name = format!("walk {}", flows.len() + 1);
        flows.push(Flow { name, from, to, route: Route::Path(turns), pace });
    }
    flows
}

/// A way from a host to another that passes no switch twice. `onward`: two hops, to the switch of
/// the next number where there is a link, which in a ring leads around.
fn walk(network: &Network, from: u32, onward: bool, rng: &mut SplitMix64) -> Vec<Turn> {
    let Some(mut input) = network.host_slot(from) else { return Vec::new() };
    let mut seen = vec![network.owner(input)];
    let mut turns = Vec::new();
    let hops = if onward { 2 } else { rng.index(network.switches()) };
    for _ in 0..hops {
        let here = network.owner(input);
        let new = |&(_, far): &(u32, u32)| !seen.contains(&network.owner(far));
        let ways: Vec<(u32, u32)> = network.neighbors(here).filter(new).collect();
        let onto = if here as usize + 1 == network.switches() { 0 } else { here + 1 };
        let next = ways.iter().find(|&&(_, far)| onward && network.owner(far) == onto);
        let (output, far) = match next {
            Some(&next) => next,
            None if ways.is_empty() => break,
            None => rng.pick(&ways),
        };
        turns.push((input, output));
        seen.push(network.owner(far));
        input = far;
    }
    let is_other = |slot: &u32| network.peer(*slot) != Peer::Host(from);
    let last: Vec<u32> = network.host_slots_of(network.owner(input)).filter(is_other).collect();
    if last.is_empty() {
        return Vec::new();
    }
    turns.push((input, rng.pick(&last)));
    turns
}

/// Many flows at once, by the network's own routes.
pub(super) fn traffic(network: &Network, duration_ns: u64, rng: &mut SplitMix64) -> Traffic {
    let kind = match rng.index(6) {
        0 | 1 => TrafficKind::Permutation,
        2 | 3 => TrafficKind::Incast { to: any_host(network, rng) },
        4 if network.hosts() <= 8 => TrafficKind::AllToAll,
        _ => TrafficKind::Random { flows: 1 + rng.index(12) },
    };
    let senders = rng.one_in(3).then(|| 2 + rng.index(network.hosts()));
    let sizes = rng.one_in(4).then(|| Sizes {
        distribution: rng.pick(&[SizeDistribution::WebSearch, SizeDistribution::DataMining]),
        load_millionths: 100_000 * (1 + u32::from(rng.byte_below(20))),
    });
    let pace = if rng.one_in(3) { hungry(duration_ns, rng) } else { pace(duration_ns, rng) };
    let pace = Pace { size_bytes: pace.size_bytes.filter(|_| sizes.is_none()), ..pace };
    Traffic { kind, from: Vec::new(), senders, sizes, pace }
}

pub(super) fn any_host(network: &Network, rng: &mut SplitMix64) -> u32 {
    let hosts: Vec<u32> = (0..).take(network.hosts()).collect();
    rng.pick(&hosts)
}

/// As much as the wire takes, from early on.
fn hungry(duration_ns: u64, rng: &mut SplitMix64) -> Pace {
    Pace {
        is_roce: false,
        rate: None,
        window_bytes: None,
        frame_bytes: 1_514,
        start_ns: rng.index(5_000) as u64,
        stop_ns: rng.one_in(8).then_some(duration_ns / 2),
        size_bytes: None,
        lossy: false,
        class: 1,
        dscp: None,
    }
}

fn pace(duration_ns: u64, rng: &mut SplitMix64) -> Pace {
    let frame_bytes = rng.pick(&[60, 61, 300, 1_000, 1_514, 1_514, 1_514]);
    let start_ns = rng.between(0, duration_ns / 2);
    // Small frames as fast as the wire takes them are many events and little else.
    let is_paced = frame_bytes < 300 || rng.one_in(2);
    Pace {
        is_roce: false,
        rate: is_paced.then(|| Speed::from_bps(rng.between(100_000_000, 20_000_000_000))),
        window_bytes: rng.one_in(3).then(|| rng.between(u64::from(frame_bytes), 200_000)),
        frame_bytes,
        start_ns,
        stop_ns: rng.one_in(3).then(|| rng.between(start_ns + 1, duration_ns)),
        size_bytes: rng.one_in(3).then(|| rng.between(1, 300_000)),
        lossy: rng.one_in(6),
        class: 1,
        dscp: None,
    }
}
