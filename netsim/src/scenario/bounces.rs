//! How often flows bounce when links have failed (Tagger, section VIII-D and Fig. 14), computed by
//! flow, without frames.
//!
//! Every flow takes a random shortest path. At a link that is down, the switch sends it to a random
//! one of its other next hops ([`Graph`]), as the emulator's switches do.

use super::build::drafts;
use crate::build_error::BuildError;
use crate::link::LinkSpec;
use crate::routing::Graph;
use crate::topology::{End, SwitchId, Topology};
use dataplane::ids::PortId;
use fabric::Network;
use random::{Draw, SplitMix64};

/// Flows by how often they turned from down to up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounces {
    /// Never.
    pub never: u64,
    /// Once.
    pub once: u64,
    /// Twice.
    pub twice: u64,
    /// More often.
    pub more: u64,
    /// Flows without a path.
    pub stranded: u64,
}

/// Counts the bounces of `flows` flows between random hosts of different switches, with
/// `failed_millionths` of the links between switches down, at random.
///
/// # Errors
/// The network is too large for the emulator.
pub fn bounces(
    network: &Network,
    failed_millionths: u32,
    flows: u64,
    seed: u64,
) -> Result<Bounces, BuildError> {
    let names = |count: usize, name: &dyn Fn(u32) -> String| {
        (0..).take(count).map(name).collect::<Vec<String>>()
    };
    let switches = names(network.switches(), &|at| network.switch_name(at).to_owned());
    let hosts = names(network.hosts(), &|at| network.host_name(at).to_owned());
    let links = drafts(network, LinkSpec::new(40, 10));
    let topology = Topology::new(&switches, &hosts, links)?;
    let (mut graph, mut rng) = (Graph::new(&topology), random::seeded(seed));
    fail(&mut graph, &topology, failed_millionths, &mut rng);
    let levels = topology.levels();
    let mut bounces = Bounces::default();
    for _ in 0..flows {
        let any = |rng: &mut SplitMix64| rng.choose(&topology.access).map(|&(switch, _)| switch);
        let (Some(from), Some(to)) = (any(&mut rng), any(&mut rng)) else { break };
        graph.learn(to);
        match graph.walk(from, to, &[], &mut rng) {
            None => bounces.stranded += 1,
            Some(way) => bounces.add(turns_up(&levels, &way, to)),
        }
    }
    Ok(bounces)
}

impl Bounces {
    const fn add(&mut self, turns: usize) {
        match turns {
            0 => self.never += 1,
            1 => self.once += 1,
            2 => self.twice += 1,
            _ => self.more += 1,
        }
    }
}

fn fail(graph: &mut Graph, topology: &Topology, millionths: u32, rng: &mut SplitMix64) {
    let is_between =
        |&link: &usize| topology.links[link].ends.iter().all(|end| matches!(end, End::Switch(..)));
    let mut between: Vec<usize> = (0..topology.links.len()).filter(is_between).collect();
    rng.shuffle(&mut between);
    let count = between.len() as u128 * u128::from(millionths) / 1_000_000;
    for link in between.into_iter().take(usize::try_from(count).unwrap_or(0)) {
        graph.set_link(link, false);
    }
}

/// How often a path turns from down to up.
fn turns_up(levels: &[u32], way: &[(SwitchId, PortId)], to: SwitchId) -> usize {
    let along =
        way.iter().map(|&(switch, _)| switch).chain([to]).map(|switch| levels[switch.index()]);
    let along: Vec<u32> = along.collect();
    along.windows(3).filter(|hops| hops[0] > hops[1] && hops[1] < hops[2]).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::NetworkConfig;

    fn fat_tree(failed_millionths: u32) -> Bounces {
        let text = "[generate]\nkind = 'fat-tree'\nk = 8\n";
        let config = NetworkConfig::parse("k8.toml".as_ref(), text).unwrap();
        bounces(&config.network, failed_millionths, 20_000, 1).unwrap()
    }

    /// The Tagger paper's two findings: local reroute bounces, and hardly ever twice.
    #[test]
    fn more_failures_are_more_bounces_and_few_bounce_twice() {
        assert_eq!(fat_tree(0), Bounces { never: 20_000, ..Bounces::default() });
        let (few, many) = (fat_tree(50_000), fat_tree(200_000));
        assert!(0 < few.once && few.once < many.once);
        assert!(many.once + many.twice + many.more > 2_000);
        assert!(many.twice + many.more < many.once / 2, "{many:?}");
        assert!(many.stranded < 200, "{many:?}");
        assert_eq!(many, fat_tree(200_000));
    }
}
