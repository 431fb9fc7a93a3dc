//! Ways to change paths, executed in the emulator: real dataplanes under traffic, a controller
//! whose messages are delayed and lost, slow switches, and the emulator's search for deadlocks.
//!
//! Every path has a sender and a receiver of its own. A sender sends all the time, as fast as its
//! link; the first switch drops its frames while it has no route for them. So a path is in force
//! exactly while its first switch has the route.
//!
//! What is set so that a cycle does lock up when it is closed, as in the scenarios of Figs 2 and 3:
//! a threshold of 20 KB with 18 KB of hysteresis, and links of 50 m. Times are scaled: a rule takes
//! 20 us and a message 10 to 30 us, so that a run is a few milliseconds.

use super::cases::{self, Case};
use super::emulated::emulated;
use super::outsider::{Reading, rule};
use crate::stats::Interval;
use crate::table::median;
use fabric::plan::{Kind, Model, Order, Planner, Timing};
use netsim::network::Network;
use netsim::reconfiguration::{Control, Executed, PathOperation, execute, withhold};
use rayon::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::error::Error;

/// Seeds of each row.
pub const SEEDS: u64 = 20;

const US: u64 = 1_000_000;
/// Traffic settles before the change begins.
const BEFORE_PS: u64 = 200 * US;
/// How long the canary waits after each of its steps.
const CANARY_PS: u64 = 700 * US;
/// How long the network has to drain in the end.
const DRAIN_PS: u64 = 5_000 * US;

/// A way to make a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Everything is removed, kept paths too, then everything is added.
    RemoveAll,
    /// What goes is removed, then what comes is added.
    IntersectFirst,
    /// The manuscript's rule, read with care.
    Rule,
    /// The planner's order.
    Ours,
    /// The canary, the planner's order the wrong way round: adds that have to wait come first, and
    /// the removes that they wait for come last.
    Reversed,
}

impl Strategy {
    /// All of them, the canary last.
    pub const ALL: [Self; 5] =
        [Self::RemoveAll, Self::IntersectFirst, Self::Rule, Self::Ours, Self::Reversed];

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RemoveAll => "remove all, then add",
            Self::IntersectFirst => "intersect first",
            Self::Rule => "paper's rule",
            Self::Ours => "ours",
            Self::Reversed => "reversed (canary)",
        }
    }
}

/// How the control channel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// Messages are delayed.
    Delays,
    /// One switch in four is ten times slower, and switches change one rule at a time.
    Stragglers,
    /// One message in ten is lost.
    Losses,
}

impl Channel {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Delays, Self::Stragglers, Self::Losses];

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Delays => "delays",
            Self::Stragglers => "stragglers, one rule at a time",
            Self::Losses => "10 % of messages lost",
        }
    }

    const fn control(self) -> Control {
        let is_slow = matches!(self, Self::Stragglers);
        Control {
            delay_min_ps: 10 * US,
            delay_max_ps: 30 * US,
            loss_millionths: if matches!(self, Self::Losses) { 100_000 } else { 0 },
            // Longer than a straggler takes, and both ways.
            resend_ps: 400 * US,
            rule_ps: 20 * US,
            is_sequential: is_slow,
            straggler_one_in: if is_slow { 4 } else { 0 },
            straggler_factor: 10,
            poll_ps: 10 * US,
            drain_max_ps: 2_000 * US,
            look_ps: 50 * US,
        }
    }
}

/// One way on one network over one channel, over all seeds.
#[derive(Clone, Debug)]
pub struct Row {
    /// The network and change.
    pub case: &'static str,
    /// The control channel.
    pub channel: Channel,
    /// The way.
    pub strategy: Strategy,
    /// From the first message to the last answer, in microseconds, where there was no deadlock.
    pub makespan_us: Option<Interval>,
    /// Seeds with a deadlock.
    pub deadlocks: usize,
    /// Seeds in which a checker found anything else, or frames were left in the end.
    pub violations: usize,
    /// Waits for frames that were given up.
    pub drains_given_up: u64,
    /// Messages of all seeds, and those lost.
    pub messages: [u64; 2],
}

impl Row {
    /// The figures.
    pub fn json(&self) -> Value {
        json!({
            "case": self.case,
            "channel": self.channel.name(),
            "strategy": self.strategy.name(),
            "makespan_us": self.makespan_us.map(|makespan| makespan.json()),
            "deadlocks": self.deadlocks,
            "seeds": SEEDS,
            "violations": self.violations,
            "drains_given_up": self.drains_given_up,
            "messages": self.messages[0],
            "lost_messages": self.messages[1],
        })
    }
}

/// The makespan of another way on the network and channel of `row`.
fn makespan_of(rows: &[Row], row: &Row, strategy: Strategy) -> Option<Interval> {
    let is_it = |other: &&Row| {
        (other.case, other.channel, other.strategy) == (row.case, row.channel, strategy)
    };
    rows.iter().find(is_it)?.makespan_us
}

/// For each network and channel: how many times as long as ours removing all first takes, in the
/// means.
pub fn speedups(rows: &[Row]) -> Vec<f64> {
    let ours = rows.iter().filter(|row| row.strategy == Strategy::Ours);
    let mean = |row: &Row, way| Some(makespan_of(rows, row, way)?.mean);
    let speedup = |row: &Row| Some(mean(row, Strategy::RemoveAll)? / mean(row, Strategy::Ours)?);
    ours.filter_map(speedup).collect()
}

/// What ours must be faster by than removing all first, in the median of networks and channels.
const FASTER_MIN: f64 = 1.1;

/// Networks on which the canary must deadlock for some seed: all of them. The cycle of Fig. 2 locks
/// up or not as frames happen to meet, and not every random change has a cycle.
const LOCKED_MIN: usize = CASES.len();

/// Whether the rows are what they must be: no safe way deadlocks or leaves a frame; the canary
/// deadlocks on every network; ours is nowhere later than a way with barriers beyond the intervals,
/// and faster in the median.
pub fn holds(rows: &[Row]) -> bool {
    let is_clean =
        |row: &Row| row.deadlocks == 0 && row.violations == 0 && row.drains_given_up == 0;
    let is_not_later = |row: &Row| {
        [Strategy::RemoveAll, Strategy::IntersectFirst].iter().all(|&other| {
            let [ours, other] = [Strategy::Ours, other].map(|way| makespan_of(rows, row, way));
            ours.zip(other).is_some_and(|(ours, other)| ours.low() <= other.high())
        })
    };
    let is_so = |row: &Row| match row.strategy {
        Strategy::Ours => is_clean(row) && is_not_later(row),
        Strategy::Reversed => true,
        Strategy::RemoveAll | Strategy::IntersectFirst | Strategy::Rule => is_clean(row),
    };
    let locks = |row: &&Row| row.strategy == Strategy::Reversed && row.deadlocks > 0;
    let locked: BTreeSet<&str> = rows.iter().filter(locks).map(|row| row.case).collect();
    let has_locked = locked.len() >= LOCKED_MIN;
    has_locked && rows.iter().all(is_so) && median(speedups(rows)) >= FASTER_MIN
}

/// A network and change for a seed.
type Draw = fn(u64) -> Result<Case, Box<dyn Error>>;
/// The networks: the manuscript's tree and ring, and random ones.
const CASES: [Draw; 4] = [
    |_| cases::tree(),
    |_| cases::ring(),
    |seed| cases::mesh(5, 6, seed),
    |seed| cases::jellyfish(12, 4, 2, seed),
];

/// All rows, each of so many seeds.
///
/// # Errors
/// A network cannot be built.
pub fn all(seeds: u64) -> Result<Vec<Row>, Box<dyn Error>> {
    let mut wanted = Vec::new();
    for draw in CASES {
        for channel in Channel::ALL {
            wanted.extend(Strategy::ALL.map(|strategy| (draw, channel, strategy)));
        }
    }
    let rows = wanted.into_par_iter().map(|(draw, channel, strategy)| {
        row(draw, channel, strategy, seeds).map_err(|error| error.to_string())
    });
    Ok(rows.collect::<Result<Vec<_>, String>>()?)
}

fn row(
    draw: Draw,
    channel: Channel,
    strategy: Strategy,
    seeds: u64,
) -> Result<Row, Box<dyn Error>> {
    let mut row = Row {
        case: draw(1)?.name,
        channel,
        strategy,
        makespan_us: None,
        deadlocks: 0,
        violations: 0,
        drains_given_up: 0,
        messages: [0; 2],
    };
    let mut makespans = Vec::new();
    for seed in 1..=seeds {
        let (executed, is_clean) = run(&draw(seed)?, channel, strategy, seed)?;
        row.deadlocks += usize::from(executed.deadlock.is_some());
        row.violations += usize::from(executed.deadlock.is_none() && !is_clean);
        row.drains_given_up += executed.drains_given_up;
        row.messages[0] += executed.messages;
        row.messages[1] += executed.lost_messages;
        makespans.extend(executed.makespan_ps.map(|makespan_ps| makespan_ps as f64 / US as f64));
    }
    row.makespan_us = Interval::of(&makespans);
    eprintln!("  {}, {}, {}", row.case, channel.name(), strategy.name());
    Ok(row)
}

/// Executes a change; returns whether the network was sound and empty afterwards, too.
fn run(
    case: &Case,
    channel: Channel,
    strategy: Strategy,
    seed: u64,
) -> Result<(Executed, bool), Box<dyn Error>> {
    if strategy == Strategy::Reversed {
        return run_canary(case, channel, seed);
    }
    let order = order(case, strategy)?;
    run_in_order(case, channel, strategy == Strategy::RemoveAll, &order, seed)
}

/// Executes a change in an order of its own; returns whether the network was sound and empty
/// afterwards, too. If `all`, kept paths are removed after the other removes, and
/// added after the other adds.
///
/// # Errors
/// The network cannot be built.
pub fn run_in_order(
    case: &Case,
    channel: Channel,
    all: bool,
    order: &Order,
    seed: u64,
) -> Result<(Executed, bool), Box<dyn Error>> {
    let (mut network, operations) = emulated(case, all, seed)?;
    withhold(&mut network, &operations);
    network.run_for(BEFORE_PS);
    let executed = execute(&mut network, &operations, order, &channel.control(), seed);
    settled(network, executed)
}

/// The steps of the canary: adds that have to wait, removes that nothing waits for, the other adds,
/// the other removes.
fn reversed(case: &Case) -> Result<[Vec<u32>; 4], Box<dyn Error>> {
    let Case { network, change, .. } = case;
    let planner = Planner::new(network, change, Timing::default())?;
    let order = planner.plan(Model::ControlDelay).order;
    let pairs = order.pairwise(usize::MAX).ok_or("the plan is no order")?;
    let mut steps = [const { Vec::new() }; 4];
    for (number, operation) in (0..).zip(&change.operations) {
        let waits = pairs.iter().any(|pair| pair.1 == number);
        let is_awaited = pairs.iter().any(|pair| pair.0 == number);
        let step = match operation.kind {
            Kind::Add => 2 * usize::from(!waits),
            Kind::Remove => 1 + 2 * usize::from(is_awaited),
        };
        steps[step].push(number);
    }
    Ok(steps)
}

/// Executes the change step by step, the wrong way round.
fn run_canary(
    case: &Case,
    channel: Channel,
    seed: u64,
) -> Result<(Executed, bool), Box<dyn Error>> {
    let (mut network, operations) = emulated(case, false, seed)?;
    withhold(&mut network, &operations);
    network.run_for(BEFORE_PS);
    let mut executed = Executed::default();
    for step in reversed(case)? {
        let step: Vec<PathOperation> =
            step.into_iter().map(|one| operations[one as usize].clone()).collect();
        let order = Order::new(step.len(), Vec::new());
        let part = execute(&mut network, &step, &order, &channel.control(), seed);
        network.run_for(CANARY_PS);
        executed.messages += part.messages;
        executed.lost_messages += part.lost_messages;
        executed.deadlock = part.deadlock.or_else(|| network.find_deadlock());
        if executed.deadlock.is_some() {
            break;
        }
    }
    settled(network, executed)
}

/// Whether the network is sound and empty after all, too.
fn settled(mut network: Network, executed: Executed) -> Result<(Executed, bool), Box<dyn Error>> {
    if executed.deadlock.is_some() {
        return Ok((executed, false));
    }
    network.run_for(BEFORE_PS);
    let is_sound = network.check().is_ok();
    let is_empty = network.drain(DRAIN_PS).is_ok() && network.check().is_ok();
    Ok((executed, is_sound && is_empty))
}

/// The order of a way. Kept paths come after the change's own operations.
fn order(case: &Case, strategy: Strategy) -> Result<Order, Box<dyn Error>> {
    let Case { network, change, .. } = case;
    let count = u32::try_from(change.operations.len())?;
    let removes = u32::try_from(change.removes())?;
    let kept = u32::try_from(change.kept.len())?;
    let planner = Planner::new(network, change, Timing::default())?;
    let barrier = |before: Vec<u32>, after: Vec<u32>, operations: u32| {
        let before = before.into_iter().map(|one| (one, operations));
        let after = after.into_iter().map(|one| (operations, one));
        Order::with_barriers(operations as usize, 1, before.chain(after).collect())
    };
    Ok(match strategy {
        Strategy::RemoveAll => {
            let all = count + 2 * kept;
            let gone = (0..removes).chain(count..count + kept).collect();
            barrier(gone, (removes..count).chain(count + kept..all).collect(), all)
        }
        Strategy::IntersectFirst => {
            barrier((0..removes).collect(), (removes..count).collect(), count)
        }
        Strategy::Rule => {
            let cost = |paths: &[u32]| {
                let length = |&one: &u32| change.operations[one as usize].path.route.len() as u64;
                paths.iter().map(length).max().unwrap_or(0)
            };
            let ruled = rule(change, Reading::Careful, &cost);
            Order::new(count as usize, ruled.pairs)
        }
        Strategy::Ours => planner.plan(Model::ControlDelay).order,
        Strategy::Reversed => return Err("the canary has two parts".into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the experiment, with a few seeds: the canary shows that the deadlock is found.
    #[test]
    fn only_the_canary_deadlocks_on_the_papers_ring() {
        let ring = cases::ring().unwrap();
        for seed in 1..=2 {
            for strategy in Strategy::ALL {
                let (executed, is_clean) = run(&ring, Channel::Losses, strategy, seed).unwrap();
                let is_canary = strategy == Strategy::Reversed;
                assert_eq!(executed.deadlock.is_some(), is_canary, "{strategy:?}: {executed:?}");
                assert_eq!(is_clean, !is_canary, "{strategy:?}");
                assert_eq!(executed.makespan_ps.is_some(), !is_canary);
            }
        }
    }

    #[test]
    fn the_second_order_of_fig_6_deadlocks_when_p1_is_removed_last() {
        let ring = cases::ring().unwrap();
        // Remove p1, remove p3, add p2, add p4. What else waits only picks one execution of each
        // order.
        for (pairs, deadlocks) in [(vec![(0, 3)], false), (vec![(1, 3), (3, 0), (2, 0)], true)] {
            let order = Order::new(4, pairs);
            let (executed, _) = run_in_order(&ring, Channel::Delays, false, &order, 1).unwrap();
            assert_eq!(executed.deadlock.is_some(), deadlocks, "{order:?} {executed:?}");
        }
    }
}
