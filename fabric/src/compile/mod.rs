//! From a topology and its expected lossless paths to each switch's rules.
//!
//! [`compile`] finds tags ([`Algorithm`]), turns them into TCAM entries ([`tcam`]), and hands out
//! nothing that [`verify`](crate::verify) has not proven free of deadlock.

mod acyclic;
mod bound;
mod classes;
pub mod demand;
mod exact;
mod extend;
mod keep;
mod order;
mod peel_order;
pub mod port_roles;
mod repair;
mod rule_matrix;
mod score;
mod search;
mod tagger;
pub mod tcam;
pub(crate) mod topology_order;
mod turns;
mod updown;
mod walk_graph;

pub use bound::Bound;
pub use keep::{Change, Grown, Reason, compile_keeping};

use crate::network::Network;
use crate::network::u32_of;
use crate::paths::{PathSet, Walks};
use crate::rules::RuleSet;
use crate::verify::{self, Hop, NetworkRules, Verdict};
use acyclic::TurnGraph;
use dataplane::ids::{Priority, Tag};
use dataplane::rules::TcamEntry;
use exact::Limits;
use order::TagOrders;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use strum::IntoStaticStr;

/// Lossless priorities at the most: of the eight, one is for lossy frames.
pub const LOSSLESS_MAX: u8 = 7;

/// How tags are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Algorithm {
    /// Link order: the tag increases where a path descends in it.
    #[strum(serialize = "updown")]
    #[cfg_attr(feature = "clap", value(name = "updown"))]
    UpDown,
    /// Algorithm 2 of the Tagger paper.
    Greedy,
    /// Algorithm 1 of the Tagger paper: the tag increases at every hop.
    BruteForce,
}

impl Algorithm {
    /// Its name on the command line and in JSON.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// What is asked of the compiler.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How tags are found.
    pub algorithm: Algorithm,
    /// Lossless priorities at the most, 1 to [`LOSSLESS_MAX`]. Paths that need more are lossy.
    pub lossless_max: u8,
    /// What the search for fewer priorities may cost.
    pub budget: Budget,
}

/// What the search for fewer priorities may cost, once the known orders have been tried. What is
/// not search takes the time it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// So much work as takes some seconds, and the same result on every machine.
    Work,
    /// So much time.
    Time(Duration),
}

impl Budget {
    /// Clauses that a search may learn without a time limit.
    const CLAUSES: u64 = 5_000;

    /// The limits of a search that begins now.
    fn limits(self) -> Limits {
        match self {
            Self::Work => Limits { clauses: Self::CLAUSES, deadline: None },
            Self::Time(time) => {
                Limits { clauses: u64::MAX, deadline: Instant::now().checked_add(time) }
            }
        }
    }
}

/// Rules, and what is known of them.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The rules, by switch.
    pub rules: Vec<RuleSet>,
    /// Lossless priorities that are used.
    pub lossless_priorities: usize,
    /// How few lossless priorities any rules could do with, for all of these paths.
    pub priorities_min: usize,
    /// What shows it, of one application class. Each further class needs one more.
    pub bound: Bound,
    /// Whether fewer priorities than these may be possible.
    pub is_open: bool,
    /// Paths with a raise, where the algorithm counts them.
    pub raised_paths: Option<u64>,
    /// Cells with two answers that merging tags left, where the algorithm merges.
    pub conflicts: Option<u64>,
    /// How tags were found, for people.
    pub method: &'static str,
    /// The proof.
    pub verdict: Verdict,
}

impl Compiled {
    /// Entries of the switch that has the most.
    pub fn rules_max(&self) -> usize {
        self.rules.iter().map(|rules| rules.entries.len()).max().unwrap_or(0)
    }

    /// Entries of all switches.
    pub fn rules_total(&self) -> usize {
        self.rules.iter().map(|rules| rules.entries.len()).sum()
    }
}

/// Why there are no rules.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CompileError {
    /// More application classes than priorities.
    #[error("{classes} application classes need as many lossless priorities; allow more")]
    Classes {
        /// The classes.
        classes: u8,
    },
    /// The proof failed: a mistake of the compiler. The rules are not handed out.
    #[error("the rules found are not free of deadlock; this is a mistake in knotless")]
    NotProven(Vec<Hop>),
}

/// What an algorithm found.
struct Found {
    entries: Vec<Vec<TcamEntry>>,
    priorities: BTreeMap<Tag, Priority>,
    bound: Bound,
    raised_paths: Option<u64>,
    conflicts: Option<u64>,
    method: &'static str,
    /// The orders that the rules follow from, if they do.
    orders: Option<TagOrders>,
}

/// Compiles and proves. `tell` is told what is being done.
///
/// # Errors
/// The classes need more priorities than are allowed.
pub fn compile(
    network: &Network,
    paths: &PathSet,
    options: &Options,
    tell: &dyn Fn(&str),
) -> Result<Compiled, CompileError> {
    compile_with_orders(network, paths, options, tell).map(|(compiled, _)| compiled)
}

/// The same, and the orders that the rules follow from.
fn compile_with_orders(
    network: &Network,
    paths: &PathSet,
    options: &Options,
    tell: &dyn Fn(&str),
) -> Result<(Compiled, Option<TagOrders>), CompileError> {
    let lossless_max = options.lossless_max.clamp(1, LOSSLESS_MAX);
    let classes = paths.classes();
    if classes > lossless_max {
        return Err(CompileError::Classes { classes });
    }
    let walks = Walks::alike(network, paths);
    let found = match options.algorithm {
        Algorithm::UpDown => by_orders(&walks, lossless_max, options.budget, tell),
        Algorithm::Greedy => {
            let tags = usize::from(lossless_max);
            let merged = tagger::greedy(&walks, tags, tell);
            let priorities = own_priorities(merged.tags);
            let method = "Tagger, Algorithm 2";
            let found = by_matrix(&walks, &merged.matrix, priorities, method);
            Found { conflicts: Some(merged.conflicts), ..found }
        }
        Algorithm::BruteForce => {
            let hops = paths.longest(network) + usize::from(classes) - 1;
            let tags = hops.min(usize::from(lossless_max));
            let matrix = tagger::brute_force(&walks, tags);
            // The tag after the last hop is for hosts; towards them it shares the last priority.
            let mut priorities = own_priorities(tags);
            let last = priorities.values().next_back().copied().unwrap_or_default();
            priorities.insert(updown::tag_of(tags), last);
            by_matrix(&walks, &matrix, priorities, "Tagger, Algorithm 1")
        }
    };
    let lossy_tag = Tag::default();
    let starts = classes::starts(paths);
    let initial_tags: Vec<Tag> =
        starts.iter().map(|&start| updown::tag_of(usize::from(start))).collect();
    let names = (0..u32_of(network.switches())).zip(found.entries);
    let rules: Vec<RuleSet> = names
        .map(|(switch, entries)| RuleSet {
            switch: network.switch_name(switch).to_owned(),
            ports: network.ports(switch),
            lossy_tag,
            initial_tag: initial_tags[0],
            initial_tags: if classes > 1 { initial_tags.clone() } else { Vec::new() },
            priorities: found.priorities.clone(),
            entries,
        })
        .collect();
    tell("verifying");
    let rules =
        NetworkRules::new(network, rules).map_err(|_| CompileError::NotProven(Vec::new()))?;
    let verdict = verify::verify(network, &rules, paths);
    if !verdict.is_deadlock_free() {
        return Err(CompileError::NotProven(verdict.cycle));
    }
    let mut priorities: Vec<Priority> = found.priorities.values().copied().collect();
    priorities.dedup();
    let bound = found.bound.priorities();
    // Where classes may bounce differently often, a class with less may start in the last tag.
    let differ = paths.class_bounces(0).is_some();
    let priorities_min = usize::from(if differ { bound.max(classes) } else { bound + classes - 1 });
    let compiled = Compiled {
        rules: rules.into_sets(),
        lossless_priorities: priorities.len(),
        priorities_min,
        is_open: priorities.len() > priorities_min,
        bound: found.bound,
        raised_paths: found.raised_paths,
        conflicts: found.conflicts,
        method: found.method,
        verdict,
    };
    Ok((compiled, found.orders))
}

/// The `updown` algorithm.
fn by_orders(walks: &Walks<'_>, lossless_max: u8, budget: Budget, tell: &dyn Fn(&str)) -> Found {
    let Walks { network, paths, .. } = *walks;
    let found = search::best_orders(walks, budget, tell);
    let last = paths.classes() - 1;
    let wanted = classes::tags_wanted(walks, found.score.raises_max, |walks, start| {
        score::Score::of(walks, &found.orders.delayed(last - start)).raises_max
    });
    let tags = usize::from(wanted.min(lossless_max));
    // The class that starts last has the fewest raises left, so the orders count from its tag.
    let orders = found.orders.delayed(last);
    let rules = updown::Rules {
        network,
        orders: &orders,
        tags,
        lossy_tag: Tag::default(),
        hosts_alike: paths.hosts_alike(),
    };
    tell("writing rules");
    let all = 0..u32_of(network.switches());
    let strict: Vec<_> = all.into_par_iter().map(|switch| rules.entries(switch, None)).collect();
    let is_long = strict.iter().any(|entries| entries.len() > 2 * tags);
    let used = is_long.then(|| rules.used(walks));
    let entries = match &used {
        None => strict,
        Some(used) => {
            let all = 0..u32_of(network.switches());
            all.into_par_iter().map(|switch| rules.entries(switch, Some(used))).collect()
        }
    };
    Found {
        entries,
        priorities: own_priorities(tags),
        bound: found.bound,
        raised_paths: Some(found.score.raised_paths),
        conflicts: None,
        method: found.name,
        orders: Some(orders),
    }
}

/// Rules that are given cell by cell.
fn by_matrix(
    walks: &Walks<'_>,
    matrix: &rule_matrix::RuleMatrix,
    priorities: BTreeMap<Tag, Priority>,
    method: &'static str,
) -> Found {
    let Walks { network, paths, .. } = *walks;
    let hosts_alike = paths.hosts_alike();
    let used = turns::UsedTurns::collect(walks, 0, 1, |_, _, _| 0);
    let cycle = TurnGraph::of_used(network, &used).shortest_cycle();
    let all = 0..u32_of(network.switches());
    let demands = all
        .into_par_iter()
        .map(|switch| matrix.demand(network, switch, Tag::default(), hosts_alike));
    Found {
        entries: demands.map(|demand| tcam::compress(&demand)).collect(),
        priorities,
        bound: if cycle.is_empty() { Bound::One } else { Bound::Cycle(cycle) },
        raised_paths: None,
        conflicts: None,
        method,
        orders: None,
    }
}

/// Tag 1 in priority 1, tag 2 in priority 2, and so on.
fn own_priorities(tags: usize) -> BTreeMap<Tag, Priority> {
    let pairs = (0..tags).zip(Priority::all().skip(1));
    pairs.map(|(state, priority)| (updown::tag_of(state), priority)).collect()
}
