//! What goes wrong in a drawn scenario, and when.

use super::traffic::any_host;
use config::scenario::{Fault, FaultKind};
use dataplane::time::Speed;
use fabric::Network;
use fabric::network::End;
use random::{Draw, SplitMix64};

/// Some faults, or none. What holds frames for ever is over soon after the sources stop.
pub(super) fn faults(network: &Network, duration_ns: u64, rng: &mut SplitMix64) -> Vec<Fault> {
    let count = if rng.one_in(3) { 0 } else { 1 + rng.index(3) };
    (0..count).map(|_| fault(network, duration_ns, rng)).collect()
}

fn fault(network: &Network, duration_ns: u64, rng: &mut SplitMix64) -> Fault {
    let kind = kind(network, rng);
    let at_ns = rng.between(0, duration_ns);
    let until_ns = at_ns + rng.between(1, duration_ns / 2);
    let may_stay = match kind {
        FaultKind::LinkDown { .. } | FaultKind::Route { .. } => true,
        FaultKind::SlowReceiver { speed, .. } => speed.is_some(),
        _ => false,
    };
    let stays = may_stay && rng.one_in(3);
    Fault { at_ns, until_ns: (!stays).then_some(until_ns), kind }
}

fn kind(network: &Network, rng: &mut SplitMix64) -> FaultKind {
    let host = any_host(network, rng);
    let ends: Vec<End> = network.links().iter().flat_map(|link| link.ends).collect();
    let to = rng.pick(&ends);
    let millionths = rng.pick(&[10_000, 200_000, 1_000_000]);
    let switches: Vec<u32> = (0..).take(network.switches()).collect();
    let switch = rng.pick(&switches);
    match rng.index(9) {
        0 | 1 => FaultKind::LinkDown { link: to },
        2 | 3 => {
            let ways: Vec<(u32, u32)> = network.neighbors(switch).collect();
            let (via, _) = rng.pick(&ways);
            FaultKind::Route { switch, to: host, via }
        }
        4 => {
            let speed = Speed::from_bps(rng.between(500_000_000, 10_000_000_000));
            FaultKind::SlowReceiver { host, speed: (!rng.one_in(3)).then_some(speed) }
        }
        5 => FaultKind::PauseStorm { host },
        6 => FaultKind::LosePfc { to, millionths },
        7 => FaultKind::CorruptPfc { to, millionths },
        _ => FaultKind::Restart { switch },
    }
}
