//! TTL-based Buffer Management Scheme for Deadlock Prevention.

use crate::experiments::Experiments;
use crate::row::{Paper, Row, Verdict};
use config::headroom::{Link, paper, standard};
use config::units::{parse_length, parse_speed};
use std::error::Error;

const PAPER: Paper = Paper::TtlClasses;

/// Every claim, equation and figure.
pub(crate) fn rows(experiments: &Experiments) -> Result<Vec<Row>, Box<dyn Error>> {
    let open = |item, paper_value| Row::not_done(PAPER, item, paper_value, "no experiment yet");
    Ok(vec![
        Row::no_claim(PAPER, "Fig. 1(a): switch model", "shows the parts of a switch"),
        open("1.2, Fig. 1(b): modified PFC", "a VIQ of class j pauses class j - 1 upstream"),
        open("1.3: buffer division", "k >= d partitions of n x MTU each"),
        experiments.row(
            PAPER,
            "1.4.4: claim",
            "free of deadlock whatever the scheduler",
            &[("gentle-ring", "ttl")],
        ),
        headroom()?,
        open("2.1: headroom of a switch", "32 ports, 8 classes at 40G: 5,632 KB"),
        open("2.1: tree", "consecutive classes never meet in a switch: 2,816 KB, 22.9 % of 12 MB"),
        open("stock NICs", "sources pause by class; not said how a NIC that pauses by DSCP does"),
    ])
}

/// Eq. 14 at 40G, and with the response time that IEEE 802.3 allows at that speed.
fn headroom() -> Result<Row, Box<dyn Error>> {
    let (speed, length) = (parse_speed("40G")?, parse_length("300m")?);
    let link = Link::new(speed, length, 1_500);
    let [printed, safe] = [paper(&link), standard(&link)];
    let verdict = Verdict::differs_if(
        printed == 21_968 && safe == 25_680,
        "60 quanta are the response time of 10G; IEEE 802.3 allows 118 at 40G",
        "eq. 14 gives another number",
    );
    let ours = format!("{printed} B by eq. 14 as printed; {safe} B with 118 quanta");
    Ok(Row::new(PAPER, "eq. 14: headroom", "21,968 B at 40G, 300 m, MTU 1,500", ours, verdict)
        .by("knotless headroom --speed 40G --length 300m --mtu 1500"))
}
