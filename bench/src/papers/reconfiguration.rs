//! Fast Deadlock-free Routing Reconfiguration for Arbitrary Datacenter Networks.

use crate::experiments::{Experiments, row_of_figures};
use crate::row::{Paper, Row};
use std::error::Error;

const PAPER: Paper = Paper::Reconfiguration;

/// Every theorem, table and figure.
pub(crate) fn rows(experiments: &Experiments) -> Result<Vec<Row>, Box<dyn Error>> {
    let open = |item, paper_value| Row::not_done(PAPER, item, paper_value, "no experiment yet");
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
        open("Fig. 3: four spanning trees", "T1 to T4; R1 u R2 and R3 u R4 are free of cycles"),
        experiments.row(
            PAPER,
            "Fig. 4: safe orders",
            "free of deadlock",
            &[("reconfiguration-mesh-good", "pfc")],
        ),
        open("Fig. 5: CDG", "5 topological orders, 3 configuration paths"),
        Row::no_claim(PAPER, "Table 1", "notation"),
        open("4.2, eq. 2: deadlock-free CDG", "no reachable state has a cycle"),
        open("4.3: optimum of one cycle", "found in O(nk + k^2)"),
        open("Fig. 6: two optimal CDGs", "(l1,l2) before (l4,l1); (l3,l4) before (l4,l1)"),
        row_of_figures(
            PAPER,
            "5: evaluation",
            "empty",
            "reconfiguration",
            "make bench-reconfiguration",
            |figures| {
                format!("{:.2} x as fast as removing all first, median", figures["median_speedup"])
            },
        )
        .differs("nothing is published to compare with"),
        open("5: evaluation, executed", "update models and message delays, simulated"),
        open("1: VL2", "the approach applies to VL2"),
    ])
}
