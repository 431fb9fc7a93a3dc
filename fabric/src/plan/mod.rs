//! Changing routes without passing through a deadlock: which path may be added before which one is
//! gone ("Fast Deadlock-free Routing Reconfiguration for Arbitrary Datacenter Networks", 2016).
//!
//! | file | idea |
//! |---|---|
//! | `route`, `routing` | paths, and those of a network of which something is down |
//! | `change`, `graph` | the operations, and the buffers that wait for each other because of them |
//! | `order`, `models` | what waits for what, and how long that takes |
//! | `optimum` | the shortest completion that any safe order can have |
//! | `minimal`, `labels`, `reduce` | as few constraints as the proof can do with |
//! | `check` | the checker: whether an order, of any origin, is safe at every moment |
//! | `paper` | the reconfiguration paper's method for one cycle, and cycle by cycle |
//! | `lossless` | with tags: who would turn lossy in between |
//! | `dot`, `scenario` | a plan as Graphviz, and for the emulator |

mod change;
mod check;
mod dot;
mod labels;
pub mod lossless;
mod minimal;
mod models;
mod optimum;
mod order;
mod paper;
mod reduce;
mod route;
pub mod routing;
mod scenario;

pub use change::{Change, Kind, Operation};
pub use dot::dot;
pub use models::{Model, Timing};
pub use order::{Order, OrderError};
pub use route::{NamedPath, Route};
pub use scenario::{Execution, scenario};

use crate::network::Network;
use change::Dependencies;
use check::Verdict;
use derive_more::Display;
use minimal::Constraints;
use std::time::Duration;
use strum::IntoStaticStr;

/// How long the reconfiguration paper's rule may look for one cycle after the other, as one of
/// several ways.
const PATIENCE: Duration = Duration::from_millis(200);

/// Which set of paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display)]
#[display(rename_all = "lowercase")]
pub enum Side {
    /// Before the change.
    Old,
    /// After it.
    New,
}

/// Buffers that wait for each other in a ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitCycle {
    /// The slots whose buffers they are, each waiting for the next, the last for the first.
    pub slots: Vec<u32>,
    /// For each, the names of operations' paths because of which it waits; none if it is because of
    /// paths that are kept.
    pub paths: Vec<Vec<String>>,
}

/// Why there is no plan, or no proof.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A set of paths can deadlock by itself: no order helps.
    #[error("the {0} paths can deadlock by themselves")]
    Cyclic(Side, WaitCycle),
    /// An order passes through a state that can deadlock.
    #[error("in some reachable state buffers wait for each other in a ring")]
    Unsafe(WaitCycle),
    /// It cannot be shown that an order does not.
    #[error("it could not be proven that no reachable state has a cycle")]
    Unproven(WaitCycle),
    /// It is no order.
    #[error(transparent)]
    Order(#[from] OrderError),
}

/// Where an order comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Method {
    /// Nothing can go wrong in any order.
    Free,
    /// The shortest completion there is, and minimal constraints.
    Minimal,
    /// The reconfiguration paper's rule, cycle by cycle.
    Paper,
    /// Everything on a cycle is removed before anything on one is added: what is left if nothing
    /// faster could be proven.
    Apart,
    /// With tags any order is safe; this one keeps flows lossless ([`lossless`]).
    Lossless,
}

impl Method {
    /// Its name in tables and JSON.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A proven order.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The order of [`Change::operations`].
    pub order: Order,
    /// Where it comes from.
    pub method: Method,
    /// Whether every constraint was tried without, and is needed for the proof.
    pub is_minimal: bool,
    /// When it is complete by the model it was made for, in microseconds.
    pub completion_us: u64,
    /// No safe order is complete sooner; where the model lets that be known.
    pub bound_us: Option<u64>,
}

/// A change of paths, ready to be planned.
#[derive(Debug)]
pub struct Planner<'a> {
    network: &'a Network,
    change: &'a Change,
    timing: Timing,
    /// What can be on a cycle.
    dependencies: Dependencies,
}

impl<'a> Planner<'a> {
    /// Looks at a change.
    ///
    /// # Errors
    /// [`PlanError::Cyclic`].
    pub fn new(
        network: &'a Network,
        change: &'a Change,
        timing: Timing,
    ) -> Result<Self, PlanError> {
        let dependencies = Dependencies::of(change).on_cycles();
        let planner = Self { network, change, timing, dependencies };
        for (side, operations) in [
            (Side::Old, planner.dependencies.removers()),
            (Side::New, planner.dependencies.adders()),
        ] {
            let cycle = planner.dependencies.cycle(operations.clone());
            if !cycle.is_empty() {
                return Err(PlanError::Cyclic(side, planner.wait_cycle(&cycle, operations)));
            }
        }
        Ok(planner)
    }

    /// How many operations lie on some cycle of old and new paths: the others need no order.
    pub const fn operations_on_cycles(&self) -> usize {
        self.dependencies.edges.len()
    }

    /// The fastest proven order by `model`, of all that are known here.
    pub fn plan(&self, model: Model) -> Plan {
        let all_us = self.timing.operations_us(self.network, model, self.change);
        let longest_us = all_us.iter().copied().max().unwrap_or(0);
        if self.dependencies.edges.is_empty() {
            let bound_us = (model != Model::Sequential).then_some(longest_us);
            return self.finish(Method::Free, Vec::new(), true, model, bound_us);
        }
        let (times, least) = self.times(model, &all_us);
        let deadline = optimum::shortest(&self.dependencies, &times, least);
        let bound_us = (model != Model::Sequential).then_some(deadline);
        let plan = |method, found: Option<Constraints>| {
            self.proven(method, found?, model, &times, bound_us)
        };
        let by_rule = || {
            let pairs = paper::cycle_by_cycle(&self.dependencies, &times, PATIENCE)?;
            Some(Constraints { pairs, row: Vec::new() })
        };
        let plans = [
            plan(Method::Minimal, minimal::constraints(&self.dependencies, &times, deadline)),
            plan(Method::Paper, by_rule()),
        ];
        let cost = |plan: &Plan| (plan.completion_us, plan.order.pairs().len());
        let best = plans.into_iter().flatten().min_by_key(cost);
        best.unwrap_or_else(|| self.apart(model, bound_us))
    }

    /// The times by which an order is looked for, and what the rest takes at the least: with one
    /// rule at a time what counts is whether there is a constraint at all.
    fn times(&self, model: Model, all_us: &[u64]) -> (Vec<u64>, u64) {
        if model == Model::Sequential {
            return (vec![1; self.dependencies.edges.len()], 1);
        }
        let times = self.dependencies.operation.iter().map(|&operation| all_us[operation as usize]);
        (times.collect(), all_us.iter().copied().max().unwrap_or(0))
    }

    /// A plan, if the checker proves it.
    fn proven(
        &self,
        method: Method,
        found: Constraints,
        model: Model,
        times: &[u64],
        bound_us: Option<u64>,
    ) -> Option<Plan> {
        let (pairs, is_minimal) = reduce::reduce(&self.dependencies, times, found.pairs);
        let waits = reduce::waits_of(&self.dependencies, &pairs);
        let verdict = check::check(&self.dependencies, &waits, Some(&found.row));
        (verdict == Verdict::Safe).then(|| self.finish(method, pairs, is_minimal, model, bound_us))
    }

    /// The reconfiguration paper's rule, cycle by cycle; `None` if it comes to no end in time.
    pub fn paper(&self, model: Model, patience: Duration) -> Option<Plan> {
        let all_us = self.timing.operations_us(self.network, model, self.change);
        let times = self.times(model, &all_us).0;
        let pairs = paper::cycle_by_cycle(&self.dependencies, &times, patience)?;
        Some(self.finish(Method::Paper, pairs, false, model, None))
    }

    /// What can be on a cycle is removed before what can be on one is added.
    pub fn apart(&self, model: Model, bound_us: Option<u64>) -> Plan {
        let removes = self.dependencies.removers();
        let pairs =
            self.dependencies.adders().flat_map(|add| removes.clone().map(move |r| (r, add)));
        self.finish(Method::Apart, pairs.collect(), false, model, bound_us)
    }

    /// From constraints of the numbering of `dependencies` to a plan.
    fn finish(
        &self,
        method: Method,
        pairs: Vec<(u32, u32)>,
        is_minimal: bool,
        model: Model,
        bound_us: Option<u64>,
    ) -> Plan {
        let number = |operation: u32| self.dependencies.operation[operation as usize];
        let pairs = pairs.into_iter().map(|(before, after)| (number(before), number(after)));
        let order = Order::new(self.change.operations.len(), pairs.collect());
        let completion_us = self.completion_us(model, &order);
        Plan { order, method, is_minimal, completion_us, bound_us }
    }

    /// When an order is complete, in microseconds.
    pub fn completion_us(&self, model: Model, order: &Order) -> u64 {
        self.timing.completion_us(self.network, model, self.change, order)
    }

    /// The same for "remove all, then add" and "intersect first".
    pub fn barriers_us(&self, model: Model) -> [u64; 2] {
        [
            self.timing.remove_all_us(self.network, model, self.change),
            self.timing.intersect_first_us(self.network, model, self.change),
        ]
    }

    /// Proves that an order, of any origin, is safe at every moment.
    ///
    /// # Errors
    /// It is no order, it is not safe, or that cannot be shown.
    pub fn check(&self, order: &Order) -> Result<(), PlanError> {
        let waits = check::waited_for(&self.dependencies, order)?;
        let all = 0..crate::network::u32_of(self.dependencies.edges.len());
        match check::check(&self.dependencies, &waits, None) {
            Verdict::Safe => Ok(()),
            Verdict::Cyclic(cycle) => Err(PlanError::Unsafe(self.wait_cycle(&cycle, all))),
            Verdict::Unproven(cycle) => Err(PlanError::Unproven(self.wait_cycle(&cycle, all))),
        }
    }

    /// A cycle by its buffers and the names of paths.
    fn wait_cycle(&self, cycle: &[u32], operations: std::ops::Range<u32>) -> WaitCycle {
        let dependencies = &self.dependencies;
        let slot =
            |&edge: &u32| dependencies.slots[dependencies.graph.tails[edge as usize] as usize];
        let name = |operation: u32| {
            let operation = dependencies.operation[operation as usize] as usize;
            self.change.operations[operation].path.name.clone()
        };
        let paths = |&edge: &u32| {
            let makers =
                operations.clone().filter(|&one| dependencies.edges_of(one).contains(&edge));
            makers.map(name).collect()
        };
        WaitCycle {
            slots: cycle.iter().map(slot).collect(),
            paths: cycle.iter().map(paths).collect(),
        }
    }
}

#[cfg(test)]
mod tests;
