//! The search for the orders that need the fewest priorities, and then the fewest raised paths.
//!
//! Several orders are tried on all paths, each for every tag: the file's, the levels of a Clos
//! network, the network peeled by what paths do, the links by dimension, and, if the paths' turns
//! close no cycle, an order without any raise. If the best of them needs more priorities than the
//! bound says, its longest paths are repaired one by one ([`repair`]), and then an exact search
//! looks for orders of the links that do with fewer ([`exact`](super::exact)): first one order for
//! every tag, then one for each. What it proves impossible raises the bound ([`Bound`]).

use super::acyclic::{TurnGraph, orders_of};
use super::bound::{self, Bound};
use super::exact::{Exact, Limits, Outcome};
use super::order::{Order, TagOrders, ranks_of};
use super::peel_order;
use super::repair;
use super::score::Score;
use super::tagger;
use super::turns::{TurnWeights, UsedTurns};
use super::walk_graph::WalkGraph;
use super::{Budget, LOSSLESS_MAX};
use crate::network::Network;
use crate::network::u32_of;
use crate::paths::{Walks, levels};

/// The orders found.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) orders: TagOrders,
    pub(super) score: Score,
    /// How they came about, for people.
    pub(super) name: &'static str,
    /// How few priorities any rules could do with.
    pub(super) bound: Bound,
}

/// Tries the known orders, and searches others within `budget`. `tell` is told what is being tried.
pub(super) fn best_orders(walks: &Walks<'_>, budget: Budget, tell: &dyn Fn(&str)) -> Found {
    let mut search = Search { walks, tell, best: None, start: None };
    search.try_all();
    let bound = search.bound_by_cycle();
    let bound = search.repair_or_search(bound, budget.limits());
    let (orders, score, name) = search.best.expect("an order has been considered");
    Found { orders, score, name, bound }
}

struct Search<'a> {
    walks: &'a Walks<'a>,
    tell: &'a dyn Fn(&str),
    best: Option<(TagOrders, Score, &'static str)>,
    /// The ranks of the order of switches that breaks the fewest paths: where a repair begins.
    start: Option<(u64, Vec<u32>)>,
}

impl Search<'_> {
    fn try_all(&mut self) {
        let network = self.walks.network;
        if let Some(order) = by_dimension(network) {
            self.consider("links by dimension", TagOrders::one(order), None);
        }
        let levels = by_level(network);
        let file: Vec<u32> = (0..u32_of(network.switches())).collect();
        let is_flat = levels == file;
        // Where no level differs, the order is not likely to be the best, and judging all paths
        // takes time: it comes last.
        if !is_flat {
            self.by_switches("switches by level", &levels);
            if self.is_perfect() || self.counts_bounces() {
                return;
            }
        }
        (self.tell)("weighing turns");
        if let Some(weights) = TurnWeights::of(self.walks) {
            self.by_switches("switches peeled", &peel_order::highest_first(network, &weights));
        }
        self.by_switches("switches as in the file", &file);
    }

    fn by_switches(&mut self, name: &'static str, highest_first: &[u32]) {
        let ranks = ranks_of(highest_first);
        let order = Order::of_switches(self.walks.network, &ranks);
        self.consider(name, TagOrders::one(order), Some(ranks));
    }

    /// Takes the orders if they are the best so far. What does not do with fewer priorities on a
    /// sample of very many paths is not followed further.
    fn consider(&mut self, name: &'static str, orders: TagOrders, ranks: Option<Vec<u32>>) {
        (self.tell)(name);
        let stride = self.walks.paths.sample_stride();
        if let Some((_, best, _)) = &self.best
            && stride > 1
            && Score::of_some(stride, self.walks, &orders).raises_max >= best.raises_max
        {
            return;
        }
        let score = Score::of(self.walks, &orders);
        if let Some(ranks) = ranks
            && self.start.as_ref().is_none_or(|&(broken, _)| score.broken_paths < broken)
        {
            self.start = Some((score.broken_paths, ranks));
        }
        if self.best.as_ref().is_none_or(|(_, best, _)| score < *best) {
            self.best = Some((orders, score, name));
        }
    }

    fn is_perfect(&self) -> bool {
        self.best.as_ref().is_some_and(|(_, score, _)| score.raised_paths == 0)
    }

    /// Whether paths that are given by their bounces are raised where they bounce and nowhere else:
    /// of the orders that need as many priorities no other is wanted, because it would raise paths
    /// that do not bounce, and those are what frames take while nothing has failed.
    fn counts_bounces(&self) -> bool {
        self.walks.paths.bounces().is_some_and(|bounces| self.raises_max() <= bounces)
    }

    fn raises_max(&self) -> u8 {
        self.best.as_ref().map_or(0, |(_, score, _)| score.raises_max)
    }

    /// Priorities of one application class under the best orders.
    fn priorities(&self) -> u8 {
        self.raises_max() + 1
    }

    /// One priority, or two if the paths' turns close a cycle. If they do not, one is enough, and
    /// the order that shows it is considered. A cycle among some of the paths will do.
    fn bound_by_cycle(&mut self) -> Bound {
        if self.is_perfect() {
            return Bound::One;
        }
        (self.tell)("looking for a cycle among the paths' turns");
        let Walks { network, paths, .. } = *self.walks;
        let stride = paths.sample_stride();
        for stride in if stride == 1 { vec![1] } else { vec![stride, 1] } {
            let graph = TurnGraph::of_used(network, &UsedTurns::sample(stride, self.walks));
            match graph.order(network) {
                None => return Bound::Cycle(graph.shortest_cycle()),
                Some(order) if stride == 1 => {
                    self.consider("links, no cycle among the paths", TagOrders::one(order), None);
                }
                Some(_) => {}
            }
        }
        Bound::One
    }

    /// Looks for orders that need fewer priorities than the best ones so far. A repaired order of
    /// the switches has the fewest rules, so it comes first; but where the paths are few enough for
    /// the exact search, most of the time is for that.
    fn repair_or_search(&mut self, bound: Bound, limits: Limits) -> Bound {
        if self.priorities() <= bound.priorities() {
            return bound;
        }
        (self.tell)("gathering the paths for the exact search");
        let graph = WalkGraph::of(self.walks);
        self.repair(&bound, if graph.is_some() { limits.share(4) } else { limits });
        match graph {
            Some(graph) => self.exact(&graph, bound, limits),
            None => bound,
        }
    }

    /// Repairs the order that breaks the fewest paths, if two priorities are not yet enough and
    /// could be.
    fn repair(&mut self, bound: &Bound, limits: Limits) {
        if self.raises_max() < 2 || bound.priorities() > 2 || self.walks.paths.bounces().is_some() {
            return;
        }
        let Some((_, ranks)) = self.start.take() else { return };
        (self.tell)("repairing the order");
        if let Some(ranks) = repair::repair(self.walks, &ranks, limits) {
            let order = TagOrders::one(Order::of_switches(self.walks.network, &ranks));
            self.consider("switches, repaired", order, Some(ranks));
        }
    }

    /// Looks for orders of the links that need fewer priorities, down to the bound, and for a
    /// higher bound where there are none.
    fn exact(&mut self, graph: &WalkGraph, bound: Bound, limits: Limits) -> Bound {
        while self.priorities() > bound.priorities() {
            let tags = self.priorities() - 1;
            (self.tell)(&format!("searching orders for {tags} priorities"));
            let outcome = self.solve(graph, tags, limits);
            if self.takes(tags, &outcome) {
                continue;
            }
            if matches!(outcome, Outcome::Impossible) {
                return self.bound_by_paths(tags, limits).unwrap_or(bound);
            }
            if !self.by_greedy() {
                break;
            }
        }
        bound
    }

    /// One order for every tag, an order for each: in turns, each time with more work, as either
    /// can be the one that is found quickly. That one order is impossible says nothing of several.
    fn solve(&self, graph: &WalkGraph, tags: u8, limits: Limits) -> Outcome {
        let slots = self.walks.network.slots();
        let search = |is_alike, limits| {
            Exact::new(graph, slots, usize::from(tags), is_alike, limits).search()
        };
        let mut is_alike_open = true;
        for round in limits.rounds() {
            if is_alike_open {
                match search(true, round) {
                    Outcome::Impossible => is_alike_open = false,
                    Outcome::Open => {}
                    kept => return kept,
                }
            }
            let outcome = search(false, round);
            if !matches!(outcome, Outcome::Open) {
                return outcome;
            }
        }
        Outcome::Open
    }

    /// Takes the orders that a search has found; whether they do with so many priorities.
    fn takes(&mut self, tags: u8, outcome: &Outcome) -> bool {
        let Outcome::Kept(kept) = outcome else { return false };
        let name = if kept.len() == 1 { "links, searched" } else { "links for each tag, searched" };
        if let Some(orders) = orders_of(self.walks.network, kept) {
            self.consider(name, orders, None);
        }
        self.priorities() <= tags
    }

    /// Considers what Algorithm 2 of Tagger keeps; whether it needs fewer priorities.
    fn by_greedy(&mut self) -> bool {
        let before = self.priorities();
        let merged = tagger::greedy(self.walks, usize::from(LOSSLESS_MAX), self.tell);
        let mut kept = vec![Vec::new(); merged.tags];
        let network = self.walks.network;
        merged.matrix.for_each(|input, tag, output, new_tag| {
            let far = network.far_slot(output).filter(|_| network.far_slot(input).is_some());
            if let Some(far) = far.filter(|_| tag == new_tag) {
                kept[usize::from(tag)].push((input, far));
            }
        });
        if let Some(orders) = orders_of(network, &kept) {
            self.consider("links for each tag, as Tagger's Algorithm 2 keeps them", orders, None);
        }
        self.priorities() < before
    }

    /// That so many tags do not suffice, by few of the paths.
    fn bound_by_paths(&self, tags: u8, limits: Limits) -> Option<Bound> {
        (self.tell)(&format!("looking for few paths that need {} priorities", tags + 1));
        let paths = bound::few_paths(self.walks, usize::from(tags), limits)?;
        Some(Bound::Paths(tags + 1, paths))
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
