//! Random loop-free paths, as Tagger adds to Jellyfish's shortest ones (section VIII-C).

use super::listed::{Listed, PathCollector, first_host};
use super::trees::edge_switches;
use super::{PathsError, Turn};
use crate::network::Network;
use random::{Draw, SplitMix64};

/// Walks that may end in a dead end for each path that is found.
const TRIES_MAX: usize = 10_000;

/// `count` random walks over `switches` different switches, from one with hosts to one with hosts;
/// for all hosts there, or for the first of each only.
pub(super) fn paths(
    network: &Network,
    count: usize,
    switches: usize,
    seed: u64,
    hosts_alike: bool,
) -> Result<Listed, PathsError> {
    let mut rng = random::seeded(seed);
    let sources = edge_switches(network);
    let mut collector = PathCollector::default();
    let mut visited = vec![false; network.switches()];
    for _ in 0..count {
        let found = (0..TRIES_MAX).find_map(|_| {
            let source = *sources.get(rng.index(sources.len()))?;
            walk(network, source, switches, &mut visited, &mut rng)
        });
        collector.push(network, &found.ok_or(PathsError::NoRandom { switches })?);
    }
    Ok(collector.finish(hosts_alike))
}

/// One walk; `None` if it comes to a dead end, or ends where there are no hosts.
fn walk(
    network: &Network,
    source: u32,
    switches: usize,
    visited: &mut [bool],
    rng: &mut SplitMix64,
) -> Option<Vec<Turn>> {
    let mut turns: Vec<Turn> = Vec::with_capacity(switches);
    let mut input = first_host(network, source)?;
    let mut trail = vec![source];
    visited[source as usize] = true;
    let is_done = loop {
        let switch = network.owner(input);
        if turns.len() + 1 == switches {
            break true;
        }
        let ways: Vec<(u32, u32)> = network
            .neighbors(switch)
            .filter(|&(_, far)| !visited[network.owner(far) as usize])
            .collect();
        let Some(&(output, far)) = ways.get(rng.index(ways.len())) else { break false };
        turns.push((input, output));
        input = far;
        trail.push(network.owner(far));
        visited[network.owner(far) as usize] = true;
    };
    trail.iter().for_each(|&switch| visited[switch as usize] = false);
    let output = first_host(network, network.owner(input)).filter(|_| is_done)?;
    turns.push((input, output));
    Some(turns)
}
