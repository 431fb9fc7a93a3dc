//! Gentle Flow Control: Avoiding Deadlock in Lossless Networks. Of this paper sections 3.2 to 5
//! are at hand, so its evaluation has no rows.

use crate::experiments::Experiments;
use crate::row::{Paper, Row};
use std::error::Error;

const PAPER: Paper = Paper::GentleFlowControl;

/// Every theorem, table and figure of the sections at hand.
pub(crate) fn rows(experiments: &Experiments) -> Result<Vec<Row>, Box<dyn Error>> {
    let open = |item, paper_value| Row::not_done(PAPER, item, paper_value, "no experiment yet");
    Ok(vec![
        experiments.row(
            PAPER,
            "3.2 and Fig. 1: a cycle that flows",
            "hosts at half the line rate pass through the cycle for ever; PFC locks it up",
            &[("gentle-ring", "pfc"), ("gentle-ring", "gfc")],
        ),
        Row::no_claim(PAPER, "Fig. 4: conceptual design", "shows the parts and the mapping"),
        experiments.row(
            PAPER,
            "Fig. 5(a): 2-to-1 under PFC",
            "the queue swings around 77 to 80 KB, the rate between 0 and full",
            &[("gentle-figure-5", "pfc")],
        ),
        experiments.row(
            PAPER,
            "Fig. 5(b): 2-to-1 under gentle flow control",
            "the queue settles at 75 KB, the rate at half",
            &[("gentle-figure-5", "gfc")],
        ),
        open("Theorem 4.1", "no hold and wait if B0 <= Bm - 4 C tau"),
        open("4.2, eqs. 1 to 5, Fig. 6: stages", "R_k = C / 2^k is safe if Bm - B1 >= 2 C tau"),
        open("4.2, N", "stages end where one is 8 bits long"),
        open(
            "4.2, occupied bandwidth",
            "at 10G, tau = 7.4 us: 69 Mb/s at most, 8.6 Mb/s when steady",
        ),
        open("Fig. 7: PFC message type", "a PFC frame's time field carries the stage"),
    ])
}
