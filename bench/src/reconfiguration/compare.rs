//! The planner against the manuscript's rule as [`super::outsider`] has it, run to its end.
//!
//! Nothing makes the planner win: it does not know the rule. With operations that have times of
//! their own its completion is the least that a safe order can have, so a faster order by the rule
//! must be one that is not safe. With one rule at a time either can come out ahead.

use super::cases::{self, Case};
use super::outsider::{Reading, Ruled, rule};
use crate::stats::Interval;
use fabric::plan::{Model, Order, Planner, Timing};
use serde_json::{Value, json};
use std::error::Error;

/// Seeds of each network.
pub const SEEDS: u64 = 24;

/// Who came out ahead, over all seeds of one network by one model and one reading of the rule.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The network.
    pub name: String,
    /// How switches are updated.
    pub model: Model,
    /// How the rule was read.
    pub reading: Reading,
    /// Seeds for which the planner's order is complete first, both are at the same time, and the
    /// rule's is first.
    pub ahead: [usize; 3],
    /// Seeds for which the rule's order is not safe, and those of them in which it is complete
    /// first.
    pub unsafe_orders: usize,
    /// See `unsafe_orders`.
    pub ahead_and_unsafe: usize,
    /// Seeds for which the rule leaves a cycle without a pair.
    pub unsolved: usize,
    /// How many times as long as the planner's order the rule's takes.
    pub ratio: Option<Interval>,
    /// How many times as long as the lower bound the planner's order takes.
    pub gap: Option<Interval>,
}

impl Compared {
    /// Whether it is what must be: where operations have times of their own, no safe order by the
    /// rule is complete before the planner's; and the careful reading is always safe.
    pub fn holds(&self) -> bool {
        let safe_and_ahead = self.ahead[2] - self.ahead_and_unsafe;
        let is_careful = self.reading == Reading::Careful;
        let is_optimal = self.model == Model::Sequential || safe_and_ahead == 0;
        is_optimal && !(is_careful && self.unsolved == 0 && self.unsafe_orders > 0)
    }

    /// The figures.
    pub fn json(&self) -> Value {
        json!({
            "network": self.name,
            "model": self.model.name(),
            "reading": format!("{:?}", self.reading).to_lowercase(),
            "ours_first": self.ahead[0],
            "same": self.ahead[1],
            "rule_first": self.ahead[2],
            "rule_unsafe": self.unsafe_orders,
            "rule_first_and_unsafe": self.ahead_and_unsafe,
            "rule_unsolved": self.unsolved,
            "rule_over_ours": self.ratio.map(|ratio| ratio.json()),
            "ours_over_bound": self.gap.map(|gap| gap.json()),
        })
    }
}

/// The networks on which the rule comes to its end.
type Draw = fn(u64) -> Result<Case, Box<dyn Error>>;
const NETWORKS: [(&str, Draw); 3] = [
    ("mesh of 5, 8 + 8 paths", |seed| cases::mesh(5, 8, seed)),
    ("mesh of 6, 12 + 12 paths", |seed| cases::mesh(6, 12, seed)),
    ("Jellyfish of 12, root fails", |seed| cases::jellyfish(12, 4, 4, seed)),
];

/// One seed.
struct One {
    model: Model,
    reading: Reading,
    ours_us: u64,
    bound_us: u64,
    rule_us: u64,
    is_safe: bool,
    is_solved: bool,
}

/// All networks, models and readings.
///
/// # Errors
/// A network is wrong, or its paths are.
pub fn all() -> Result<Vec<Compared>, Box<dyn Error>> {
    let mut all = Vec::new();
    for (name, draw) in NETWORKS {
        let mut ones = Vec::new();
        for seed in 1..=SEEDS {
            ones.extend(of(&draw(seed)?, seed)?);
        }
        for model in Model::ALL {
            for reading in [Reading::Printed, Reading::Careful] {
                let is_it = |one: &&One| (one.model, one.reading) == (model, reading);
                let of: Vec<&One> = ones.iter().filter(is_it).collect();
                all.push(compared(name, model, reading, &of));
            }
        }
    }
    Ok(all)
}

/// A change by all models and both readings.
fn of(case: &Case, seed: u64) -> Result<Vec<One>, Box<dyn Error>> {
    let Case { network, change, .. } = case;
    let timing = Timing { straggler_one_in: 4, seed, ..Timing::default() };
    let planner = Planner::new(network, change, timing)?;
    // As in the manuscript's example: the switches of the longest path.
    let cost = |paths: &[u32]| {
        let lengths = paths.iter().map(|&one| change.operations[one as usize].path.route.len());
        lengths.max().unwrap_or(0) as u64
    };
    let mut ones = Vec::new();
    for reading in [Reading::Printed, Reading::Careful] {
        let Ruled { pairs, unsolved, .. } = rule(change, reading, &cost);
        let order = Order::new(change.operations.len(), pairs);
        let is_safe = planner.check(&order).is_ok();
        for model in Model::ALL {
            let plan = planner.plan(model);
            ones.push(One {
                model,
                reading,
                ours_us: plan.completion_us,
                bound_us: plan.bound_us.unwrap_or(0),
                rule_us: planner.completion_us(model, &order),
                is_safe,
                is_solved: unsolved == 0,
            });
        }
    }
    Ok(ones)
}

fn compared(name: &str, model: Model, reading: Reading, of: &[&One]) -> Compared {
    let count = |is: &dyn Fn(&One) -> bool| of.iter().filter(|one| is(one)).count();
    let over = |value: &dyn Fn(&One) -> (u64, u64)| {
        let ratio = |one: &&One| {
            let (above, below) = value(one);
            above as f64 / below.max(1) as f64
        };
        Interval::of(&of.iter().map(ratio).collect::<Vec<f64>>())
    };
    Compared {
        name: name.to_owned(),
        model,
        reading,
        ahead: [
            count(&|one| one.ours_us < one.rule_us),
            count(&|one| one.ours_us == one.rule_us),
            count(&|one| one.ours_us > one.rule_us),
        ],
        unsafe_orders: count(&|one| !one.is_safe),
        ahead_and_unsafe: count(&|one| !one.is_safe && one.ours_us > one.rule_us),
        unsolved: count(&|one| !one.is_solved),
        ratio: over(&|one| (one.rule_us, one.ours_us)),
        gap: over(&|one| (one.ours_us, one.bound_us)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_as_printed_gives_fig_6_one_of_its_two_orders_and_careful_the_safe_one() {
        let Case { change, .. } = cases::ring().unwrap();
        let cost = |paths: &[u32]| {
            let lengths = paths.iter().map(|&one| change.operations[one as usize].path.route.len());
            lengths.max().unwrap_or(0) as u64
        };
        let printed = rule(&change, Reading::Printed, &cost);
        assert!([vec![(0, 3)], vec![(1, 3)]].contains(&printed.pairs), "{printed:?}");
        assert_eq!(printed.cycles, 1);
        let careful = rule(&change, Reading::Careful, &cost);
        assert_eq!((careful.pairs, careful.unsolved), (vec![(0, 3)], 0));
    }

    /// The rule's own claim: no cycle is left where every cycle has a pair of edges that only one
    /// side makes. As printed the rule leaves some.
    #[test]
    fn the_careful_reading_is_safe_wherever_it_has_a_pair_for_every_cycle() {
        let mut unsafe_as_printed = 0;
        for seed in 1..=12 {
            let Case { network, change, .. } = cases::mesh(6, 12, seed).unwrap();
            let planner = Planner::new(&network, &change, Timing::default()).unwrap();
            let is_safe = |reading| {
                let ruled = rule(&change, reading, &|paths| paths.len() as u64);
                let order = Order::new(change.operations.len(), ruled.pairs);
                planner.check(&order).is_ok() || ruled.unsolved > 0
            };
            assert!(is_safe(Reading::Careful), "seed {seed}");
            unsafe_as_printed += usize::from(!is_safe(Reading::Printed));
        }
        assert!(unsafe_as_printed > 0);
    }
}
