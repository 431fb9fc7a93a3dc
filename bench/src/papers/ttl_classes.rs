//! TTL-based Buffer Management Scheme for Deadlock Prevention.

use crate::experiments::Experiments;
use crate::row::{Paper, Row, Verdict};
use crate::ttl_hosts::{self, Nic, Setting};
use crate::ttl_switch;
use config::headroom::{Link, paper, standard};
use config::units::{parse_length, parse_speed};
use std::error::Error;

const PAPER: Paper = Paper::TtlClasses;

/// Every claim, equation and figure.
pub(crate) fn rows(_experiments: &Experiments) -> Result<Vec<Row>, Box<dyn Error>> {
    let mut rows = vec![
        Row::no_claim(PAPER, "Fig. 1(a): switch model", "shows the parts of a switch"),
        ttl_switch::pauses(),
        ttl_switch::division()?,
        ttl_switch::claim()?,
        Row::no_claim(PAPER, "eqs 1 to 13: functions, assumptions, states", "definitions of 1.4.4"),
        headroom()?,
    ];
    rows.extend(whole_switch()?);
    rows.push(ttl_switch::tree()?);
    rows.extend(nics()?);
    Ok(rows)
}

/// The link of section 2.1.
fn link() -> Result<Link, Box<dyn Error>> {
    Ok(Link::new(parse_speed("40G")?, parse_length("300m")?, 1_500))
}

/// Eq. 14 at 40G, and with the response time that IEEE 802.3 allows at that speed.
fn headroom() -> Result<Row, Box<dyn Error>> {
    let link = link()?;
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

/// Section 2.1: all ports and classes of a switch, and the half of it on a tree.
fn whole_switch() -> Result<[Row; 2], Box<dyn Error>> {
    let queue_kb = paper(&link()?).div_ceil(1_000);
    let switch_kb = queue_kb * 32 * 8;
    let tree_permille = switch_kb / 2 * 1_000 / (12 * 1_024);
    let command = "knotless headroom --speed 40G --length 300m --mtu 1500";
    let row = |item, paper_value, ours: String, holds| {
        let verdict = Verdict::holds_if(holds, format!("{ours} is another number"));
        Row::new(PAPER, item, paper_value, ours, verdict).by(command)
    };
    Ok([
        row(
            "2.1: headroom of a switch",
            "32 ports, 8 classes at 40G: 5,632 KB",
            format!("{switch_kb} KB"),
            switch_kb == 5_632,
        ),
        row(
            "2.1: half on a tree",
            "2,816 KB, 22.9 % of 12 MB",
            format!("{} KB, {}.{} %", switch_kb / 2, tree_permille / 10, tree_permille % 10),
            switch_kb / 2 == 2_816 && tree_permille == 229,
        ),
    ])
}

/// What the manuscript does not say: hosts that pause by DSCP.
fn nics() -> Result<Vec<Row>, Box<dyn Error>> {
    let settings = ttl_hosts::all()?;
    let row = |setting: &Setting| {
        let item = match (setting.nic, setting.partitions) {
            (Nic::ByClass, false) => "1.2: hosts pause by class",
            (Nic::ByClass, true) => "1.2: hosts pause by class, partitions",
            (Nic::Stock, false) => "NICs pause by DSCP",
            (Nic::Stock, true) => "NICs pause by DSCP, partitions",
            (Nic::Translated, false) => "NICs by DSCP, leaves translate",
            (Nic::Translated, true) => "NICs by DSCP, leaves translate, partitions",
        };
        let value = if setting.nic == Nic::ByClass { "lossless" } else { "not in the manuscript" };
        let lost = setting.lost_percent();
        let ours = format!(
            "{} of {} seeds lossless, {} deadlocks, {:.3} % of frames lost, {:.1} Gb/s",
            setting.lossless(),
            setting.runs.len(),
            setting.deadlocks(),
            lost.map_or(0.0, |interval| interval.mean),
            setting.goodput_gbps().map_or(0.0, |interval| interval.mean),
        );
        let expected = setting.is_as_expected();
        let why = format!("{ours}: otherwise than the scheme implies");
        let verdict = if setting.nic == Nic::Stock {
            let reason = "leaves do not obey the pause of a NIC, so slow receivers lose frames";
            Verdict::differs_if(expected, reason, why)
        } else {
            Verdict::holds_if(expected, why)
        };
        Row { interval: lost, ..Row::new(PAPER, item, value, ours, verdict) }
    };
    Ok(settings.iter().map(row).collect())
}
