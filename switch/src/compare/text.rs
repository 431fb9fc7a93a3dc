//! The comparison as tables.

use super::Compared;
use crate::ctl::tables::{numbers, text};
use netsim::scenario::Comparison;

/// A table for each scenario.
pub(super) fn tables(compared: &[Compared]) -> String {
    let one = |scenario: &Compared| {
        let heading = format!("{}: {}", scenario.name, scenario.about);
        format!("{heading}\n{}", table(&scenario.schemes))
    };
    compared.iter().map(one).collect::<Vec<_>>().join("\n\n")
}

fn table(schemes: &[Comparison]) -> String {
    let headings = [
        "scheme",
        "deadlock",
        "drains",
        "goodput Gb/s",
        "lossless lost",
        "lossy lost",
        "paused ms",
        "p99 completion us",
        "complete",
        "priorities",
        "reserved KB",
        "PFC frames",
    ];
    let mut rows = numbers(headings, 1);
    let mut notes = String::new();
    for scheme in schemes {
        match &scheme.refused {
            None => {
                rows.add_row(row(scheme));
            }
            Some(why) => notes.push_str(&format!("\n{} cannot hold here: {why}", scheme.scheme)),
        }
        for violation in &scheme.violations {
            notes.push_str(&format!("\n{} broke a promise: {violation}", scheme.scheme));
        }
    }
    format!("{}{notes}", text(&rows))
}

fn row(scheme: &Comparison) -> [String; 12] {
    let yes = |is: bool| if is { "yes" } else { "NO" }.to_owned();
    let hundredths = |value: u64, unit: u64| {
        let parts = u128::from(value) * 100 / u128::from(unit);
        format!("{}.{:02}", parts / 100, parts % 100)
    };
    let deadlock = scheme.deadlock_ps.map(|ps| format!("at {} us", ps / 1_000_000));
    let completion = scheme.p99_completion_ps.map(|ps| (ps / 1_000_000).to_string());
    let never = if scheme.sized_flows == 0 { "-" } else { "never" };
    [
        scheme.scheme.to_owned(),
        deadlock.unwrap_or_else(|| "-".to_owned()),
        yes(scheme.drained),
        hundredths(scheme.goodput_bps, 1_000_000_000),
        scheme.lossless_lost_frames.to_string(),
        scheme.lossy_lost_frames.to_string(),
        hundredths(scheme.paused_ps, 1_000_000_000),
        completion.unwrap_or_else(|| never.to_owned()),
        format!("{}/{}", scheme.complete_flows, scheme.sized_flows),
        scheme.priorities.to_string(),
        (scheme.reserved_bytes / 1_000).to_string(),
        scheme.pfc_frames.to_string(),
    ]
}
