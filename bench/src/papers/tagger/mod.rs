//! Tagger: Practical PFC Deadlock Prevention in Data Center Networks.

mod fig_13;
mod fig_14;
mod scale;
mod table_vi;
mod walkthrough;

use crate::experiments::Experiments;
use crate::row::{Paper, Row};
use std::error::Error;

const PAPER: Paper = Paper::Tagger;

/// Every theorem, table and figure, in the order of the paper.
pub(crate) fn rows(experiments: &Experiments) -> Result<Vec<Row>, Box<dyn Error>> {
    let open = |item, paper_value| Row::not_done(PAPER, item, paper_value, "no experiment yet");
    let mut rows = vec![
        experiments.row(
            PAPER,
            "Fig. 1: CBD without a routing loop",
            "deadlock on loop-free paths",
            &[("ring", "pfc")],
        ),
        open("Fig. 2: two up-down flows", "no CBD with one priority"),
        experiments.row(
            PAPER,
            "Fig. 3: 1-bounce paths",
            "CBD on loop-free paths",
            &[("tagger-bounce", "pfc")],
        ),
        open("Table I: reroutes", "0.9e-5 to 1.3e-5 of the measurements"),
        open("Fig. 4: tags of 1-bounce paths", "two lossless priorities"),
        Row::no_claim(PAPER, "Table II", "notation"),
        open("IV-D: free of deadlock", "tags of k bounces close no cycle"),
        open("IV-D: optimal", "k bounces need k + 1 priorities"),
        open("Theorem 1", "acyclic within a tag and no falling tag: no deadlock"),
    ];
    rows.extend(walkthrough::rows()?);
    rows.extend([
        open("V-C: runtime", "O(L T (L + L P))"),
        open("V-C: BCube", "k levels with default routing need k tags"),
        open("V-C: number of rules", "n m (m - 1) / 2 after compression"),
        open("Fig. 6: Algorithm 2 on a Clos", "3 priorities where 2 are optimal"),
        open("V-C: bound", "ceil(T / l) tags if the smallest cycle is longer than l"),
        open("VI-A: application classes", "N classes and M bounces need M + N - 1 tags"),
        open("VI-C: growth", "new pods leave the rules of old switches as they are"),
        open("Fig. 7: match-action pipeline", "ingress queue by tag, egress queue by new tag"),
        open("Fig. 8: priority transition", "egress priority = ingress priority loses frames"),
    ]);
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
    rows.extend([
        table_vi::row()?,
        open("Fig. 15: rules and performance", "throughput and latency do not depend on them"),
    ]);
    Ok(rows)
}
