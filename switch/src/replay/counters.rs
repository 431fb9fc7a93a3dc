//! The counters of a replay, and how they differ from those of the switch that was recorded.

use crate::control::merge;
use crate::control::stats::{BufferStats, FrameTotals, PortStats, Stats, TagChange};
use config::SwitchConfig;
use dataplane::report::Report;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::iter;

/// What a worker counted.
#[derive(Debug, Serialize)]
pub(super) struct WorkerCounters {
    ports: Vec<PortStats>,
    totals: FrameTotals,
    tag_changes: Vec<TagChange>,
    buffer: BufferStats,
}

/// The counters, compared.
#[derive(Debug)]
pub(super) struct Counted {
    pub(super) replayed: WorkerCounters,
    /// Counters that both have.
    pub(super) compared: usize,
    /// In words: those that differ.
    pub(super) differences: Vec<String>,
}

impl Counted {
    /// The counters of `report`, compared with `recorded` if it is known.
    pub(super) fn new(config: &SwitchConfig, report: &Report, recorded: Option<&Stats>) -> Self {
        let mut ports: Vec<PortStats> =
            (0..config.ports.len()).map(|index| merge::configured_port(config, index)).collect();
        for port in &report.ports {
            merge::add_report(&mut ports[port.port.index()], port);
        }
        let replayed = WorkerCounters {
            ports,
            totals: report.totals.into(),
            tag_changes: merge::tag_changes(iter::once(report)),
            buffer: merge::buffer(config, iter::once(report)),
        };
        let Some(recorded) = recorded else {
            return Self { replayed, compared: 0, differences: Vec::new() };
        };
        let of_recorded = figures(&WorkerCounters {
            ports: recorded.ports.clone(),
            totals: recorded.totals,
            tag_changes: recorded.tag_changes.clone(),
            buffer: recorded.buffer,
        });
        let of_replayed = figures(&replayed);
        let (compared, differences) = compare(&of_recorded, &of_replayed);
        Self { replayed, compared, differences }
    }
}

/// What a replay cannot know, by the end of its path: what the device, the control thread and its
/// neighbors add, and times, which go on between the turns that were recorded.
const UNKNOWN: [&str; 7] =
    ["/device_counters/", "/device_losses/", "/lldp", "_ns", "/neighbors", "/link", "/number"];

/// All figures of `counters`, by path.
fn figures(counters: &WorkerCounters) -> BTreeMap<String, u64> {
    let mut figures = BTreeMap::new();
    let value = serde_json::to_value(counters).unwrap_or_default();
    add_figures(&value, String::new(), &mut figures);
    figures.retain(|path, _| !UNKNOWN.iter().any(|unknown| path.contains(unknown)));
    figures
}

fn add_figures(value: &Value, path: String, figures: &mut BTreeMap<String, u64>) {
    match value {
        Value::Number(number) => {
            figures.insert(path, number.as_u64().unwrap_or_default());
        }
        Value::Array(values) => {
            for (index, value) in values.iter().enumerate() {
                add_figures(value, format!("{path}/{index}"), figures);
            }
        }
        Value::Object(values) => {
            for (name, value) in values {
                add_figures(value, format!("{path}/{name}"), figures);
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// How many figures are compared, and those that differ. One that only one side has is 0 at the
/// other: causes that never occurred are left out.
fn compare(
    recorded: &BTreeMap<String, u64>,
    replayed: &BTreeMap<String, u64>,
) -> (usize, Vec<String>) {
    let mut both: BTreeMap<&str, [u64; 2]> = BTreeMap::new();
    for (side, figures) in [recorded, replayed].into_iter().enumerate() {
        for (path, figure) in figures {
            both.entry(path).or_default()[side] = *figure;
        }
    }
    let differ = both.iter().filter(|(_, [recorded, replayed])| recorded != replayed);
    let differences = differ
        .map(|(path, [recorded, replayed])| format!("{path}: {recorded} recorded, {replayed} now"))
        .collect();
    (both.len(), differences)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_one_side_lacks_is_zero_there() {
        let figures = |all: &[(&str, u64)]| {
            all.iter().map(|&(path, figure)| (path.to_owned(), figure)).collect()
        };
        let recorded = figures(&[("/a", 1), ("/b", 2), ("/c", 0)]);
        let replayed = figures(&[("/a", 1), ("/b", 3), ("/d", 4)]);
        let (compared, differences) = compare(&recorded, &replayed);
        assert_eq!(compared, 4);
        assert_eq!(differences, ["/b: 2 recorded, 3 now", "/d: 0 recorded, 4 now"]);
    }

    #[test]
    fn figures_are_found_at_every_depth_and_times_are_not_among_them() {
        let mut port = PortStats { number: 1, ..PortStats::default() };
        port.counters.rx_frames[3] = 7;
        port.counters.pfc.tx_paused_ns[3] = 9;
        port.drops.insert("no_route".to_owned(), 5);
        let counters = WorkerCounters {
            ports: vec![port],
            totals: FrameTotals::default(),
            tag_changes: Vec::new(),
            buffer: BufferStats::default(),
        };
        let figures = figures(&counters);
        assert_eq!(figures["/ports/0/rx_frames/3"], 7);
        assert_eq!(figures["/ports/0/drops/no_route"], 5);
        assert!(figures.keys().all(|path| !path.contains("_ns")));
    }
}
