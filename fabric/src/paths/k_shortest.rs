//! The k shortest loop-free paths of each pair of switches with hosts. Of paths of one length,
//! those that go out by lower ports come first.
//!
//! A depth-first search for paths of one length after the other, which only takes steps from which
//! the target can be reached in just the links that are left. It finds what Yen's algorithm finds,
//! without a shortest-path search for each hop of each path.

use super::Turn;
use super::listed::{Batch, Listed, SWITCHES_MAX, first_host, local_turn};
use super::trees::edge_switches;
use crate::network::Network;
use rayon::prelude::*;

/// Steps of the search for one pair after which it has all the paths it will get. Only a network
/// with fewer paths than asked for, and many ways that end nowhere, comes that far.
const STEPS_MAX: usize = 1_000_000;

/// For each pair its `k` shortest paths, or all it has.
pub(super) fn paths(network: &Network, k: usize) -> Listed {
    let edges = edge_switches(network);
    let mut batches: Vec<Batch> =
        edges.par_iter().flat_map_iter(|&target| to_target(network, &edges, target, k)).collect();
    batches.retain(|batch| !batch.is_empty());
    Listed::new(batches, true)
}

/// The paths to one switch, a batch for each source.
fn to_target(network: &Network, sources: &[u32], target: u32, k: usize) -> Vec<Batch> {
    let Some(last) = first_host(network, target) else { return Vec::new() };
    let mut search = Search {
        network,
        last,
        reach: Reach::new(network, target),
        visited: vec![false; network.switches()],
        turns: Vec::new(),
        wanted: 0,
        steps: 0,
    };
    let batches = sources.iter().filter_map(|&source| {
        let input = first_host(network, source)?;
        let mut batch = Batch::new(input);
        if source == target {
            let (input, output) = local_turn(network, source)?;
            batch = Batch::new(input);
            batch.push(network, [output]);
            return Some(batch);
        }
        search.wanted = k;
        search.steps = 0;
        for links in 1..network.switches().min(SWITCHES_MAX) {
            search.reach.extend_to(links);
            search.go_on(input, links, &mut batch);
            if search.wanted == 0 || search.steps > STEPS_MAX {
                break;
            }
        }
        Some(batch)
    });
    batches.collect()
}

/// From which switches a walk of just so many links leads to the target.
struct Reach<'a> {
    network: &'a Network,
    /// By number of links and switch.
    by_links: Vec<Vec<bool>>,
}

impl<'a> Reach<'a> {
    fn new(network: &'a Network, target: u32) -> Self {
        let mut here = vec![false; network.switches()];
        here[target as usize] = true;
        Self { network, by_links: vec![here] }
    }

    fn extend_to(&mut self, links: usize) {
        while self.by_links.len() <= links {
            let mut row = vec![false; self.network.switches()];
            let nearer = &self.by_links[self.by_links.len() - 1];
            for (switch, _) in (0..).zip(nearer).filter(|&(_, &reaches)| reaches) {
                for (_, far) in self.network.neighbors(switch) {
                    row[self.network.owner(far) as usize] = true;
                }
            }
            self.by_links.push(row);
        }
    }
}

struct Search<'a> {
    network: &'a Network,
    /// The host port that paths end at.
    last: u32,
    reach: Reach<'a>,
    visited: Vec<bool>,
    turns: Vec<Turn>,
    /// How many paths are still to be found.
    wanted: usize,
    steps: usize,
}

impl Search<'_> {
    /// Goes on from where a path has come in by `input`, with just so many links left.
    fn go_on(&mut self, input: u32, links: usize, batch: &mut Batch) {
        self.steps += 1;
        if self.wanted == 0 || self.steps > STEPS_MAX {
            return;
        }
        if links == 0 {
            let outputs = self.turns.iter().map(|&(_, output)| output);
            batch.push(self.network, outputs.chain([self.last]));
            self.wanted -= 1;
            return;
        }
        let switch = self.network.owner(input);
        if !self.reach.by_links[links][switch as usize] {
            return;
        }
        self.visited[switch as usize] = true;
        let network = self.network;
        for (output, far) in network.neighbors(switch) {
            let next = network.owner(far) as usize;
            // The target itself comes last: a path that has passed it would have to come back.
            let is_target = self.reach.by_links[0][next];
            let leads_on = self.reach.by_links[links - 1][next] && is_target == (links == 1);
            if leads_on && !self.visited[next] {
                self.turns.push((input, output));
                self.go_on(far, links - 1, batch);
                self.turns.pop();
            }
        }
        self.visited[switch as usize] = false;
    }
}
