//! Fast Deadlock-free Routing Reconfiguration for Arbitrary Datacenter Networks.

use crate::experiments::{Experiments, row_of_figures};
use crate::row::{Paper, Row, Verdict};
use bench::reconfiguration::cases::{self, Case};
use bench::reconfiguration::executed;
use bench::reconfiguration::figures::{self, Fig5};
use bench::stats::SEEDS_MIN;
use bench::table::median;
use fabric::plan::{Model, Order, Planner, Timing};
use std::error::Error;

const PAPER: Paper = Paper::Reconfiguration;

/// Every theorem, table and figure.
pub(crate) fn rows(experiments: &Experiments) -> Result<Vec<Row>, Box<dyn Error>> {
    let ring = [("ring", "pfc")];
    Ok(vec![
        experiments
            .row(PAPER, "Fig. 1, 2.3: static threshold", "deadlock at 65 us (ns-3)", &ring)
            .differs("the same scenario locks up at another time than in ns-3"),
        experiments
            .row(
                PAPER,
                "Fig. 1, 2.3: dynamic threshold",
                "deadlock at 180 us (ns-3)",
                &[("ring-dynamic", "pfc")],
            )
            .differs("the manuscript gives no alpha; the scenario has 2^-5"),
        experiments.row(
            PAPER,
            "Fig. 2(c, e): tree, bad order",
            "exposed to deadlock",
            &[("reconfiguration-tree-bad", "pfc")],
        ),
        experiments.row(
            PAPER,
            "Fig. 2(f): tree, safe order",
            "free of deadlock",
            &[("reconfiguration-tree-good", "pfc")],
        ),
        experiments.row(
            PAPER,
            "Fig. 3: no tree, bad order",
            "exposed to deadlock",
            &[("reconfiguration-mesh-bad", "pfc")],
        ),
        four_trees()?,
        experiments.row(
            PAPER,
            "Fig. 4: safe orders",
            "free of deadlock",
            &[("reconfiguration-mesh-good", "pfc")],
        ),
        fig_5(),
        Row::no_claim(PAPER, "Table 1", "notation"),
        equation_2()?,
        row_of_figures(
            PAPER,
            "4.3: the rule, cycle by cycle",
            "an order of minimal time for one cycle",
            "reconfiguration-rule",
            RULE,
            |figures| {
                format!(
                    "ours first in {}, same in {}, the rule first in {} runs, in {} of them unsafe",
                    figures["ours_first"],
                    figures["same"],
                    figures["rule_first"],
                    figures["rule_first_and_unsafe"]
                )
            },
        )
        .differs("many cycles, which the manuscript leaves open; the rule has no time limit"),
        fig_6()?,
        row_of_figures(
            PAPER,
            "5: evaluation",
            "empty",
            "reconfiguration",
            EVALUATION,
            |figures| {
                format!("{:.2} x as fast as removing all first, median", figures["median_speedup"])
            },
        )
        .differs("nothing is published to compare with"),
        row_of_figures(
            PAPER,
            "5: evaluation, executed",
            "empty; parallel and sequential update, message delays",
            "reconfiguration-executed",
            EXECUTED,
            |figures| {
                format!(
                    "deadlocks {}, of the canary {}; {:.2} to {:.2} x as fast as removing all first",
                    figures["deadlocks"],
                    figures["canary_deadlocks"],
                    figures["speedup_least"].as_f64().unwrap_or(0.0),
                    figures["speedup_most"].as_f64().unwrap_or(0.0)
                )
            },
        )
        .differs("nothing is published to compare with"),
        row_of_figures(
            PAPER,
            "1: VL2",
            "the approach applies to VL2",
            "reconfiguration",
            EVALUATION,
            |figures| {
                let rows = figures["rows"].as_array().map(Vec::as_slice).unwrap_or_default();
                let of = rows.iter().filter(|row| row["network"] == "VL2");
                let speedups: Vec<f64> = of.filter_map(|row| row["speedup"].as_f64()).collect();
                format!(
                    "{} rows, {:.2} x as fast as removing all first, median",
                    speedups.len(),
                    median(speedups)
                )
            },
        ),
    ])
}

const RULE: &str = "cargo run --release -p knotless-bench --bin bench-reconfiguration rule";
const EXECUTED: &str = "cargo run --release -p knotless-bench --bin bench-reconfiguration executed";
const EVALUATION: &str = "make bench-reconfiguration";

/// Fig. 3: its drawings are lost, so every quadruple of trees that the text allows is tried.
fn four_trees() -> Result<Row, Box<dyn Error>> {
    let found = figures::fig_3()?;
    let [first, second, third, ours] = found.constraints;
    let is_so = found.quadruples > 0 && found.cyclic_sides == 0;
    let verdict = Verdict::holds_if(
        is_so && found.planned == found.quadruples,
        format!("of {} quadruples not all are planned: {found:?}", found.quadruples),
    );
    let text = format!(
        "{} quadruples of trees fit the text, {} of them with a cycle by themselves; all contain \
         S1-S2, S2-S4, S4-S1 and S2-S3; constraints of schemes 1, 2, 3 and ours: {first}, {second}, \
         {third}, {ours}",
        found.quadruples, found.cyclic_sides
    );
    let value = "T1 to T4; R1 u R2 and R3 u R4 are free of cycles; three schemes (Fig. 4)";
    Ok(Row::new(PAPER, "Fig. 3: four spanning trees", value, text, verdict))
}

fn fig_5() -> Row {
    let Fig5 { sortings, paths } = figures::fig_5();
    let verdict = Verdict::holds_if((sortings, paths) == (5, 3), "other counts");
    let text = format!("{sortings} topological orders, {paths} configuration paths");
    let value = "5 topological orders, 3 configuration paths";
    Row::new(PAPER, "Fig. 5: CDG", value, text, verdict)
}

/// Equation 2, by every state of random changes.
fn equation_2() -> Result<Row, Box<dyn Error>> {
    let (mut reached, mut cyclic, mut without) = (0, 0, 0);
    for seed in 1..=SEEDS_MIN as u64 {
        let Case { network, change, .. } = cases::mesh(5, 6, seed)?;
        let planner = Planner::new(&network, &change, Timing::default())?;
        let order = planner.plan(Model::Parallel).order;
        let none = Order::new(change.operations.len(), Vec::new());
        let both = [&order, &none].map(|order| figures::states(&change, order));
        let [Some(planned), Some(free)] = both else { continue };
        reached += planned.reached;
        cyclic += planned.cyclic;
        without += usize::from(free.cyclic > 0);
    }
    let is_so = reached > 0 && cyclic == 0 && without == SEEDS_MIN;
    let verdict = Verdict::holds_if(is_so, "a planned order reaches a cycle, or no order does not");
    let text = format!(
        "of {reached} states that {SEEDS_MIN} planned orders reach, {cyclic} have a cycle; without \
         an order {without} of {SEEDS_MIN} changes reach one"
    );
    let value = "no reachable state has a cycle";
    Ok(Row::new(PAPER, "4.2, eq. 2: deadlock-free CDG", value, text, verdict))
}

/// Fig. 6: both orders, by every state, and executed with p1 removed last.
fn fig_6() -> Result<Row, Box<dyn Error>> {
    let ring = cases::ring()?;
    // Operations: remove p1, remove p3, add p2, add p4.
    let orders = [vec![(0, 3)], vec![(1, 3)]].map(|pairs| Order::new(4, pairs));
    let cyclic = orders.map(|order| figures::states(&ring.change, &order).map(|of| of.cyclic));
    let late = [vec![(0, 3)], vec![(1, 3), (2, 0), (3, 0)]].map(|pairs| Order::new(4, pairs));
    let mut locked = Vec::new();
    for order in &late {
        let channel = executed::Channel::Delays;
        let (run, _) = executed::run_in_order(&ring, channel, false, order, 1)?;
        locked.push(run.deadlock.is_some());
    }
    let is_so = cyclic[0] == Some(0) && cyclic[1] > Some(0) && locked == [false, true];
    let reason = "the second order lets p1, p2 and p4 close the cycle: p2 makes the edge of p3 too";
    let verdict = Verdict::differs_if(is_so, reason, format!("{cyclic:?}, {locked:?}"));
    let text = format!(
        "reachable states with a cycle: {} and {}; executed with p1 removed last, the first drains \
         and the second deadlocks",
        cyclic[0].unwrap_or(0),
        cyclic[1].unwrap_or(0)
    );
    let value = "(l1,l2) before (l4,l1); (l3,l4) before (l4,l1)";
    Ok(Row::new(PAPER, "Fig. 6: two optimal CDGs", value, text, verdict))
}
