//! PFC Deadlock Free in Data Center Network: levels of a Clos network, learned by LLDP.

use crate::experiments::Experiments;
use crate::row::{Paper, Row};
use std::error::Error;

const PAPER: Paper = Paper::Levels;

/// Every slide that states something.
pub(crate) fn rows(experiments: &Experiments) -> Result<Vec<Row>, Box<dyn Error>> {
    let open = |item, paper_value| Row::not_done(PAPER, item, paper_value, "no experiment yet");
    Ok(vec![
        experiments.row(
            PAPER,
            "reproduce, case 1: two levels",
            "CBD of two spines and two leaves: deadlock",
            &[("levels-two", "pfc"), ("levels-two", "tagger")],
        ),
        experiments.row(
            PAPER,
            "reproduce, case 2: three levels",
            "CBD of two aggregation switches and two spines: deadlock",
            &[("levels-three", "pfc"), ("levels-three", "tagger")],
        ),
        open("current mechanism, reactive", "after recovery the deadlock returns at once"),
        open("down-up change: queue 5 to 6", "the switch that turns up changes queue and DSCP"),
        open("LLDP steps 1 to 4", "levels and port types follow from hosts upward"),
        open("TLV format", "type 127, device type, level 0 to 255, port type"),
        open("levels beyond 8", "a level is an octet"),
    ])
}
