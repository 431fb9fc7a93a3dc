//! Changing routes without passing through a deadlock: which path may be added before which one is
//! gone ("Fast Deadlock-free Routing Reconfiguration for Arbitrary Datacenter Networks", 2016).
//!
//! | file | idea |
//! |---|---|
//! | `route`, `routing` | paths, and those of a network of which something is down |
//! | `change`, `graph` | the operations, and the buffers that wait for each other because of them |
//! | `order`, `models` | what waits for what, and how long that takes |
//! | `optimum` | the shortest completion that any safe order can have |
//! | `sequential` | what no order can be below if switches change one rule at a time |
//! | `minimal`, `labels`, `reduce` | as few constraints as the proof can do with |
//! | `staged` | constraints that grow with the operations, not with their square |
//! | `check` | the checker: whether an order, of any origin, is safe at every moment |
//! | `paper` | the reconfiguration paper's method for one cycle, and cycle by cycle |
//! | `lossless` | with tags: who would turn lossy in between |
//! | `rollout` | which switches may get new rules at once
//! | `drain` | whether the frames of a removed route have left a port |
//! | `dot`, `scenario` | a plan as Graphviz, and for the emulator |

mod change;
mod check;
mod dot;
mod drain;
mod labels;
pub mod lossless;
mod minimal;
mod models;
mod optimum;
mod order;
mod paper;
mod reduce;
pub mod rollout;
mod route;
pub mod routing;
mod scenario;
mod sequential;
mod staged;

pub use change::{Change, Kind, Operation};
pub use dot::dot;
pub use drain::{Drain, QueueReading};
pub use models::{Model, Timing};
pub use order::{Order, OrderError, Progress};
pub use route::{NamedPath, Route};
pub use scenario::{Execution, scenario};

use crate::network::Network;
use change::Dependencies;
use check::Verdict;
use derive_more::Display;
use minimal::Constraints;
use sequential::Load;
use std::time::Duration;
use strum::IntoStaticStr;

/// Constraints for each operation, on average, up to which each add has a set of its own to wait
/// for. Beyond it adds share sets ([`staged`]), so that the constraints grow with the operations
/// and not with their square.
const PAIRS_PER_OPERATION: usize = 8;

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
    /// No safe order is complete sooner. With one rule at a time there need be none that is
    /// complete by then, unless the change is small.
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

    /// A proven order by `model`, the fastest there is where operations have times of their own.
    pub fn plan(&self, model: Model) -> Plan {
        self.plan_within(model, PAIRS_PER_OPERATION * self.dependencies.edges.len())
    }

    /// The same; in stages if it takes more than `most` constraints without.
    fn plan_within(&self, model: Model, most: usize) -> Plan {
        let all_us = self.timing.operations_us(self.network, model, self.change);
        let longest_us = all_us.iter().copied().max().unwrap_or(0);
        if self.dependencies.edges.is_empty() {
            let bound_us = match model {
                Model::Sequential => Some(self.sequential_bound_us()),
                _ => Some(longest_us),
            };
            return self.finish(Method::Free, &Constraints::default(), true, model, bound_us);
        }
        let (times, least) = self.times(model, &all_us);
        let deadline = optimum::shortest(&self.dependencies, &times, least);
        let bound_us = if model == Model::Sequential { None } else { Some(deadline) };
        let in_stages = staged::place_all;
        let found = minimal::constraints(&self.dependencies, &times, deadline, most, in_stages);
        let plan = found.and_then(|found| self.proven(found, model, &times, bound_us));
        let plan = plan.unwrap_or_else(|| self.apart(model, bound_us));
        if model == Model::Sequential { self.with_optimum(plan, &times) } else { plan }
    }

    /// With one rule at a time: the better of `plan` and the optimum of a small change, and what no
    /// safe order can be below.
    fn with_optimum(&self, plan: Plan, times: &[u64]) -> Plan {
        let load = Load::new(self.network, self.change, &self.dependencies);
        let Some(optimum) = load.optimum(&self.dependencies) else {
            let bound_us = Some(self.sequential_bound_us());
            return Plan { bound_us, ..plan };
        };
        let bound_us = Some(optimum.rules.saturating_mul(self.timing.rule_us));
        let found = Constraints { pairs: optimum.pairs, ..Constraints::default() };
        let cost = |plan: &Plan| (plan.completion_us, plan.order.pairs().len());
        let other = self.proven(found, Model::Sequential, times, bound_us);
        let other = other.filter(|other| cost(other) < cost(&plan));
        Plan { bound_us, ..other.unwrap_or(plan) }
    }

    /// With one rule at a time: what no safe order can be below, in microseconds.
    fn sequential_bound_us(&self) -> u64 {
        let load = Load::new(self.network, self.change, &self.dependencies);
        load.lower_bound(&self.dependencies).saturating_mul(self.timing.rule_us)
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
        mut found: Constraints,
        model: Model,
        times: &[u64],
        bound_us: Option<u64>,
    ) -> Option<Plan> {
        let mut is_minimal = false;
        if found.barriers == 0 {
            (found.pairs, is_minimal) = reduce::reduce(&self.dependencies, times, found.pairs);
        }
        let plan = self.finish(Method::Minimal, &found, is_minimal, model, bound_us);
        let waits = check::waited_for(&self.dependencies, &plan.order).ok()?;
        let verdict = check::check(&self.dependencies, &waits, Some(&found.row));
        (verdict == Verdict::Safe).then_some(plan)
    }

    /// The reconfiguration paper's rule, cycle by cycle; `None` if it comes to no end in time.
    pub fn paper(&self, model: Model, patience: Duration) -> Option<Plan> {
        let all_us = self.timing.operations_us(self.network, model, self.change);
        let times = self.times(model, &all_us).0;
        let pairs = paper::cycle_by_cycle(&self.dependencies, &times, patience)?;
        let found = Constraints { pairs, ..Constraints::default() };
        Some(self.finish(Method::Paper, &found, false, model, None))
    }

    /// What can be on a cycle is removed before what can be on one is added.
    pub fn apart(&self, model: Model, bound_us: Option<u64>) -> Plan {
        let barrier = crate::network::u32_of(self.dependencies.edges.len());
        let removes = self.dependencies.removers().map(|remove| (remove, barrier));
        let adds = self.dependencies.adders().map(|add| (barrier, add));
        let pairs = removes.chain(adds).collect();
        let found = Constraints { barriers: 1, pairs, row: Vec::new() };
        self.finish(Method::Apart, &found, false, model, bound_us)
    }

    /// From constraints of the numbering of `dependencies` to a plan.
    fn finish(
        &self,
        method: Method,
        found: &Constraints,
        is_minimal: bool,
        model: Model,
        bound_us: Option<u64>,
    ) -> Plan {
        let operations = self.change.operations.len();
        let known = crate::network::u32_of(self.dependencies.operation.len());
        let number = |node: u32| match self.dependencies.operation.get(node as usize) {
            Some(&operation) => operation,
            None => crate::network::u32_of(operations) + (node - known),
        };
        let pairs = found.pairs.iter().map(|&(before, after)| (number(before), number(after)));
        let order = Order::with_barriers(operations, found.barriers, pairs.collect());
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
