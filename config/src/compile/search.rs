//! The search for the order that needs the fewest priorities, and then the fewest raised paths.
//!
//! Several orders are tried on all paths: the file's, the levels of a Clos network, the network
//! peeled by what paths do, the links by dimension, and, if the paths' turns close no cycle, an
//! order without any raise. If the best of them needs more than two priorities, its longest paths
//! are repaired one by one ([`repair`]).

use super::acyclic;
use super::order::{Order, ranks_of};
use super::peel;
use super::repair;
use super::score::Score;
use super::turns::{TurnWeights, UsedTurns};
use crate::network::Network;
use crate::network::graph::u32_of;
use crate::paths::{EdgePorts, PathSet, levels};

/// The order found.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) order: Order,
    pub(super) score: Score,
    /// How it came about, for people.
    pub(super) name: &'static str,
    /// No rules whatever can do with fewer priorities.
    pub(super) priorities_min: u8,
}

/// Searches. `tell` is told what is being tried.
pub(super) fn best_order(
    network: &Network,
    edges: &EdgePorts,
    paths: &PathSet,
    tell: &dyn Fn(&str),
) -> Found {
    let mut best: Option<Found> = None;
    let mut best_ranks: Option<Vec<u32>> = None;
    let mut consider = |name: &'static str, order: Order, ranks: Option<Vec<u32>>| {
        let score = Score::of(network, edges, paths, &order);
        let is_better = best.as_ref().is_none_or(|best| score < best.score);
        if is_better {
            best = Some(Found { order, score, name, priorities_min: 1 });
            best_ranks = ranks;
        }
        score.raised_paths == 0
    };
    let mut by_switches = |name: &'static str, highest_first: Vec<u32>| {
        tell(name);
        let ranks = ranks_of(&highest_first);
        consider(name, Order::of_switches(network, &ranks), Some(ranks))
    };
    let is_done = by_switches("switches by level", by_level(network))
        || by_switches("switches as in the file", (0..u32_of(network.switches())).collect())
        || TurnWeights::of(network, edges, paths).is_some_and(|weights| {
            by_switches("switches peeled", peel::highest_first(network, &weights))
        })
        || by_dimension(network).is_some_and(|order| {
            tell("links by dimension");
            consider("links by dimension", order, None)
        });
    let mut priorities_min = 1;
    if !is_done {
        tell("looking for a cycle among the paths' turns");
        let used = UsedTurns::collect(network, edges, paths, 0, 1, |_, _, _| 0);
        match acyclic::topological(network, &used) {
            Some(order) => drop(consider("links, no cycle among the paths", order, None)),
            None => priorities_min = 2,
        }
    }
    let mut found = best.expect("an order has been considered");
    // Paths that are given by their bounces include some that pass a link once for each bounce:
    // the paper's proof (section IV-D) is for those.
    let by_bounces = paths.bounces().map_or(1, |bounces| bounces + 1);
    priorities_min = priorities_min.max(by_bounces.min(found.score.raises_max + 1));
    if found.score.raises_max + 1 > priorities_min.max(2)
        && let Some(ranks) = best_ranks
    {
        tell("repairing the order");
        if let Some(ranks) = repair::repair(network, edges, paths, &ranks) {
            let order = Order::of_switches(network, &ranks);
            let score = Score::of(network, edges, paths, &order);
            if score < found.score {
                found = Found { order, score, name: "switches, repaired", priorities_min };
            }
        }
    }
    found.priorities_min = priorities_min;
    found
}

/// The switches, those farthest from hosts first: a Clos network's own levels.
fn by_level(network: &Network) -> Vec<u32> {
    let levels = levels(network);
    let mut switches: Vec<u32> = (0..u32_of(network.switches())).collect();
    switches.sort_by_key(|&switch| std::cmp::Reverse(levels[switch as usize]));
    switches
}

/// The links of a topology with dimensions, dimension after dimension: paths that correct one
/// coordinate after the other, whichever they begin with, descend once. In a dimension the way to a
/// switch without hosts comes before the way from it.
fn by_dimension(network: &Network) -> Option<Order> {
    network.dimension(0)?;
    let has_hosts = |slot| network.host_slots_of(network.owner(slot)).next().is_some();
    Some(Order::of_channels(network, |slot| {
        2 * u32::from(network.dimension(slot).unwrap_or(0)) + 1 + u32::from(has_hosts(slot))
    }))
}
