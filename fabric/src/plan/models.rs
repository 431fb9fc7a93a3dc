//! How long a reconfiguration takes, by four models of how switches are updated.
//!
//! A path takes a rule in each switch that it passes. With all models but [`Model::Sequential`] an
//! operation goes from switch to switch along its path, as in the reconfiguration paper's example
//! (Fig. 6: "the time cost to configuring a path is equal to the number of switches"), and
//! operations do not get in each other's way: the end is that of the longest chain.
//! [`Model::Sequential`] lets each switch change one rule at a time, whatever path it is of.

use super::change::{Change, Kind, Operation};
use super::order::{Order, Progress};
use crate::network::Network;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use strum::IntoStaticStr;

/// How switches are updated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Model {
    /// Every switch installs all its rules in parallel.
    Parallel,
    /// Every switch installs one rule at a time.
    Sequential,
    /// Messages to and from the controller are delayed.
    ControlDelay,
    /// Some switches are much slower than the others.
    Stragglers,
}

impl Model {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::Parallel, Self::Sequential, Self::ControlDelay, Self::Stragglers];

    /// Its name in tables and JSON.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The times of the models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// A rule at a switch, in microseconds.
    pub rule_us: u64,
    /// A message between controller and switch, one way, in microseconds.
    pub delay_us: u64,
    /// One switch in so many is a straggler.
    pub straggler_one_in: u64,
    /// A straggler takes so many times as long for a rule.
    pub straggler_factor: u64,
    /// Which switches are stragglers.
    pub seed: u64,
}

impl Default for Timing {
    /// 1 ms a rule, 5 ms a message, one switch in 20 ten times slower.
    fn default() -> Self {
        let (rule_us, delay_us) = (1_000, 5_000);
        Self { rule_us, delay_us, straggler_one_in: 20, straggler_factor: 10, seed: 1 }
    }
}

impl Timing {
    /// How long a rule takes at `switch`, in microseconds.
    fn rule_us(&self, model: Model, switch: u32) -> u64 {
        let mixed = (u64::from(switch) ^ self.seed.rotate_left(32))
            .wrapping_add(0x9E37_79B9_7F4A_7C15)
            .wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let slow = (mixed ^ mixed >> 31).wrapping_mul(0x94D0_49BB_1331_11EB) >> 33;
        if model == Model::Stragglers && slow.is_multiple_of(self.straggler_one_in.max(1)) {
            return self.rule_us.saturating_mul(self.straggler_factor);
        }
        self.rule_us
    }

    /// How long one operation takes by itself, in microseconds.
    fn operation_us(&self, network: &Network, model: Model, operation: &Operation) -> u64 {
        let switches = operation.path.route.switches(network);
        let rules: u64 = switches.map(|switch| self.rule_us(model, switch)).sum();
        let messages = if model == Model::ControlDelay { 2 * self.delay_us } else { 0 };
        rules.saturating_add(messages)
    }

    /// By operation: how long it takes by itself, in microseconds.
    pub(super) fn operations_us(
        &self,
        network: &Network,
        model: Model,
        change: &Change,
    ) -> Vec<u64> {
        let time = |operation| self.operation_us(network, model, operation);
        change.operations.iter().map(time).collect()
    }

    /// When the last operation is done, in microseconds after the start, if each begins as soon as
    /// `order` lets it.
    pub fn completion_us(
        &self,
        network: &Network,
        model: Model,
        change: &Change,
        order: &Order,
    ) -> u64 {
        match model {
            Model::Sequential => {
                // One way to keep any order of removes before adds is to remove all first.
                let listed = Shop::new(self, network, change, order).run();
                let apart = self.intersect_first_us(network, model, change);
                if order.is_removes_first(change.removes()) { listed.min(apart) } else { listed }
            }
            Model::Parallel | Model::ControlDelay | Model::Stragglers => {
                order.longest(&self.operations_us(network, model, change))
            }
        }
    }

    /// The same for "intersect first": all that goes is removed, then all that comes is added.
    pub(super) fn intersect_first_us(
        &self,
        network: &Network,
        model: Model,
        change: &Change,
    ) -> u64 {
        let (removes, adds) = change.operations.split_at(change.removes());
        self.phase_us(network, model, removes, None) + self.phase_us(network, model, adds, None)
    }

    /// The same for "remove all, then add": paths that are kept are removed and added too.
    pub(super) fn remove_all_us(&self, network: &Network, model: Model, change: &Change) -> u64 {
        let (removes, adds) = change.operations.split_at(change.removes());
        let kept = Some(change);
        self.phase_us(network, model, removes, kept) + self.phase_us(network, model, adds, kept)
    }

    /// How long operations take that wait for nothing; with those of the kept paths of `kept`.
    fn phase_us(
        &self,
        network: &Network,
        model: Model,
        operations: &[Operation],
        kept: Option<&Change>,
    ) -> u64 {
        if model != Model::Sequential {
            let longest = operations.iter().map(|one| self.operation_us(network, model, one)).max();
            // Of the kept paths only the longest is known; a straggler on it would be a guess.
            let kept_us = kept.filter(|kept| kept.kept_paths > 0).map_or(0, |kept| {
                let messages = if model == Model::ControlDelay { 2 * self.delay_us } else { 0 };
                u64::try_from(kept.kept_longest).unwrap_or(0) * self.rule_us + messages
            });
            return longest.unwrap_or(0).max(kept_us);
        }
        let mut rules = kept.map_or_else(|| vec![0; network.switches()], |k| k.kept_rules.clone());
        for operation in operations {
            for switch in operation.path.route.switches(network) {
                rules[switch as usize] += 1;
            }
        }
        rules.into_iter().max().unwrap_or(0).saturating_mul(self.rule_us)
    }
}

/// How many operations wait for this one, those behind the barriers right after it included.
fn waiters(order: &Order, operation: u32) -> u64 {
    let behind = |&after: &u32| match order.is_barrier(after) {
        true => order.after(after).len() as u64,
        false => 1,
    };
    order.after(operation).iter().map(behind).sum()
}

/// Switches that take one rule at a time, each the most urgent that may begin.
struct Shop<'a> {
    network: &'a Network,
    change: &'a Change,
    rule_us: u64,
    /// By switch: what may begin, the most urgent first.
    ready: Vec<BinaryHeap<(u64, Reverse<u32>)>>,
    /// By switch: whether a rule is being changed.
    is_busy: Vec<bool>,
    /// Rules that are being changed: when they will be, the switch, the operation.
    events: BinaryHeap<Reverse<(u64, u32, u32)>>,
    /// By operation: rules yet to be changed.
    rules_left: Vec<usize>,
    progress: Progress<'a>,
    /// Operations that have just become ready.
    released: Vec<u32>,
    /// By operation: how many wait for it.
    waiters: Vec<u64>,
}

impl<'a> Shop<'a> {
    fn new(timing: &Timing, network: &'a Network, change: &'a Change, order: &'a Order) -> Self {
        let mut released = Vec::new();
        let progress = Progress::new(order, &mut released);
        let waiters = (0..).zip(&change.operations).map(|(number, _)| waiters(order, number));
        Self {
            network,
            change,
            rule_us: timing.rule_us,
            ready: vec![BinaryHeap::new(); network.switches()],
            is_busy: vec![false; network.switches()],
            events: BinaryHeap::new(),
            rules_left: change.operations.iter().map(|one| one.path.route.len()).collect(),
            progress,
            released,
            waiters: waiters.collect(),
        }
    }

    fn run(&mut self) -> u64 {
        self.release_all();
        (0..self.ready.len()).for_each(|switch| self.begin(switch, 0));
        let mut end = 0;
        while let Some(Reverse((now, switch, operation))) = self.events.pop() {
            end = now;
            self.is_busy[switch as usize] = false;
            let left = &mut self.rules_left[operation as usize];
            *left -= 1;
            if *left == 0 {
                self.progress.done(operation, &mut self.released);
                for next in self.release_all() {
                    self.begin(next as usize, now);
                }
            }
            self.begin(switch as usize, now);
        }
        end
    }

    /// Lets the operations begin that have become ready; returns the switches on their paths.
    fn release_all(&mut self) -> Vec<u32> {
        let mut released = std::mem::take(&mut self.released);
        released.sort_unstable();
        released.into_iter().flat_map(|operation| self.release(operation)).collect()
    }

    /// The more wait for an operation, the more urgent it is; a remove before an add.
    fn release(&mut self, operation: u32) -> Vec<u32> {
        let one = &self.change.operations[operation as usize];
        let is_remove = u64::from(one.kind == Kind::Remove);
        let urgency = 2 * self.waiters[operation as usize] + is_remove;
        let entry = (urgency, Reverse(operation));
        let switches: Vec<u32> = one.path.route.switches(self.network).collect();
        for &switch in &switches {
            self.ready[switch as usize].push(entry);
        }
        switches
    }

    fn begin(&mut self, switch: usize, now: u64) {
        if self.is_busy[switch] {
            return;
        }
        if let Some((_, Reverse(operation))) = self.ready[switch].pop() {
            self.is_busy[switch] = true;
            #[expect(clippy::cast_possible_truncation, reason = "switches are counted in 32 bits")]
            self.events.push(Reverse((now + self.rule_us, switch as u32, operation)));
        }
    }
}
