//! Tagger: Practical PFC Deadlock Prevention in Data Center Networks.

mod bounds;
mod classes;
mod clos;
mod compiled;
mod fig_13;
mod fig_14;
mod fig_15;
mod growth;
mod reroutes;
mod scale;
mod table_vi;
mod theorem_1;
mod transition;
mod walkthrough;

use crate::experiments::Experiments;
use crate::row::{Paper, Row};
use std::error::Error;

const PAPER: Paper = Paper::Tagger;

/// Every theorem, table and figure, in the order of the paper.
pub(crate) fn rows(experiments: &Experiments) -> Result<Vec<Row>, Box<dyn Error>> {
    let [two_up_down, one_bounce] = clos::figures()?;
    let [is_free, is_optimal] = clos::optimality()?;
    let mut rows = vec![
        experiments.row(
            PAPER,
            "Fig. 1: CBD without a routing loop",
            "deadlock on loop-free paths",
            &[("ring", "pfc")],
        ),
        two_up_down,
        experiments.row(
            PAPER,
            "Fig. 3: 1-bounce paths",
            "CBD on loop-free paths",
            &[("tagger-bounce", "pfc")],
        ),
        reroutes::row()?,
        one_bounce,
        Row::no_claim(PAPER, "Table II", "notation"),
        is_free,
        is_optimal,
        theorem_1::row()?,
    ];
    rows.extend(walkthrough::rows()?);
    rows.extend([bounds::bcube(4)?, bounds::rules()?, clos::greedy()?, bounds::tags()?]);
    rows.extend(classes::rows()?);
    rows.push(growth::row()?);
    rows.extend(transition::rows());
    rows.push(walkthrough::fig_9());
    rows.extend([
        experiments.row(
            PAPER,
            "Fig. 10: deadlock by one bounce",
            "without Tagger both flows fall to 0; with it neither is paused",
            &[("tagger-bounce", "pfc"), ("tagger-bounce", "tagger")],
        ),
        experiments.row(
            PAPER,
            "Fig. 11: routing loop",
            "without Tagger F2 is paused; with it F2 is slower and flows",
            &[("tagger-loop", "pfc"), ("tagger-loop", "tagger")],
        ),
        experiments.row(
            PAPER,
            "Fig. 12: PAUSE propagation",
            "without Tagger all eight flows fall to 0; with it none is affected",
            &[("tagger-shuffle", "pfc"), ("tagger-shuffle", "tagger")],
        ),
    ]);
    rows.extend(scale::rows());
    rows.push(fig_13::row());
    rows.extend(fig_14::rows()?);
    rows.extend([table_vi::row()?, fig_15::row()]);
    Ok(rows)
}
