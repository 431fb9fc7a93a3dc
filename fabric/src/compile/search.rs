//! The search for the order that needs the fewest priorities, and then the fewest raised paths.
//!
//! Several orders are tried on all paths: the file's, the levels of a Clos network, the network
//! peeled by what paths do, the links by dimension, and, if the paths' turns close no cycle, an
//! order without any raise. If the best of them needs more than two priorities, its longest paths
//! are repaired one by one ([`repair`]).

use super::acyclic;
use super::order::{Order, ranks_of};
use super::peel_order;
use super::repair;
use super::score::Score;
use super::turns::{TurnWeights, UsedTurns};
use crate::network::Network;
use crate::network::u32_of;
use crate::paths::{Walks, levels};

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
pub(super) fn best_order(walks: &Walks<'_>, tell: &dyn Fn(&str)) -> Found {
    let mut search = Search { walks, tell, best: None, start: None };
    search.try_all();
    let priorities_min = search.priorities_min();
    search.repair(priorities_min);
    let (order, score, name) = search.best.expect("an order has been considered");
    Found { order, score, name, priorities_min: priorities_min.min(score.raises_max + 1) }
}

struct Search<'a> {
    walks: &'a Walks<'a>,
    tell: &'a dyn Fn(&str),
    best: Option<(Order, Score, &'static str)>,
    /// The ranks of the order of switches that breaks the fewest paths: where a repair begins.
    start: Option<(u64, Vec<u32>)>,
}

impl Search<'_> {
    fn try_all(&mut self) {
        let network = self.walks.network;
        if let Some(order) = by_dimension(network) {
            self.consider("links by dimension", order, None);
        }
        let levels = by_level(network);
        let file: Vec<u32> = (0..u32_of(network.switches())).collect();
        let is_flat = levels == file;
        self.by_switches("switches by level", &levels);
        if self.is_perfect() || self.counts_bounces() {
            return;
        }
        if !is_flat {
            self.by_switches("switches as in the file", &file);
        }
        (self.tell)("weighing turns");
        if let Some(weights) = TurnWeights::of(self.walks) {
            self.by_switches("switches peeled", &peel_order::highest_first(network, &weights));
        }
    }

    fn by_switches(&mut self, name: &'static str, highest_first: &[u32]) {
        let ranks = ranks_of(highest_first);
        self.consider(name, Order::of_switches(self.walks.network, &ranks), Some(ranks));
    }

    /// Takes the order if it is the best so far. One that is worse on a sample is not followed
    /// further.
    fn consider(&mut self, name: &'static str, order: Order, ranks: Option<Vec<u32>>) {
        (self.tell)(name);
        let raises = self.best.as_ref().map_or(u8::MAX, |(_, best, _)| best.raises_max);
        let stride = self.walks.paths.sample_stride();
        if stride > 1 && Score::of_some(stride, self.walks, &order).raises_max > raises {
            return;
        }
        let score = Score::of(self.walks, &order);
        if let Some(ranks) = ranks
            && self.start.as_ref().is_none_or(|&(broken, _)| score.broken_paths < broken)
        {
            self.start = Some((score.broken_paths, ranks));
        }
        if self.best.as_ref().is_none_or(|(_, best, _)| score < *best) {
            self.best = Some((order, score, name));
        }
    }

    fn is_perfect(&self) -> bool {
        self.best.as_ref().is_some_and(|(_, score, _)| score.raised_paths == 0)
    }

    /// Whether paths that are given by their bounces are raised as often as they may bounce: no
    /// order can do with fewer priorities. One that raises fewer of them would raise some that do
    /// not bounce at all, and those are what frames take while nothing has failed.
    fn counts_bounces(&self) -> bool {
        self.walks.paths.bounces().is_some_and(|bounces| self.raises_max() <= bounces)
    }

    fn raises_max(&self) -> u8 {
        self.best.as_ref().map_or(0, |(_, score, _)| score.raises_max)
    }

    /// A bound that no rules can beat: one priority, or two if the paths' turns close a cycle. If
    /// they do not, one is enough, and the order that shows it is considered. A cycle among some of
    /// the paths will do.
    fn priorities_min(&mut self) -> u8 {
        if self.is_perfect() {
            return 1;
        }
        (self.tell)("looking for a cycle among the paths' turns");
        let Walks { network, paths, .. } = *self.walks;
        let stride = paths.sample_stride();
        let sample = UsedTurns::sample(stride, self.walks);
        if let Some(of_sample) = acyclic::topological(network, &sample) {
            let used = UsedTurns::sample(1, self.walks);
            let order =
                if stride == 1 { Some(of_sample) } else { acyclic::topological(network, &used) };
            if let Some(order) = order {
                self.consider("links, no cycle among the paths", order, None);
                return 1;
            }
        }
        // Paths that are given by their bounces include some that pass a link once for each
        // bounce: the Tagger paper's proof (section IV-D) is for those.
        let by_bounces = paths.bounces().map_or(1, |bounces| bounces + 1);
        by_bounces.min(self.raises_max() + 1).max(2)
    }

    /// Repairs the order that breaks the fewest paths, if two priorities are not yet enough and
    /// could be.
    fn repair(&mut self, priorities_min: u8) {
        if self.raises_max() < 2 || priorities_min > 2 {
            return;
        }
        let Some((_, ranks)) = self.start.take() else { return };
        (self.tell)("repairing the order");
        if let Some(ranks) = repair::repair(self.walks, &ranks) {
            let order = Order::of_switches(self.walks.network, &ranks);
            self.consider("switches, repaired", order, Some(ranks));
        }
    }
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
