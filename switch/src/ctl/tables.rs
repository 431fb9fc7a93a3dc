//! Counters as text tables.

use crate::control::stats::{ByPriority, PortStats, Stats};
use comfy_table::{CellAlignment, Table, presets};
use std::fmt::Display;

/// A table with these headings and no lines.
pub(crate) fn table<const COLUMNS: usize>(headings: [&str; COLUMNS]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(headings);
    table
}

/// As [`table`], with all columns but the first `left` ones aligned to the right, as numbers are.
pub(crate) fn numbers<const COLUMNS: usize>(headings: [&str; COLUMNS], left: usize) -> Table {
    let mut table = table(headings);
    for column in table.column_iter_mut().skip(left) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// A column: its heading, and what a row has there.
type Column<R> = (&'static str, fn(&R) -> String);

/// The rows of a table, and how many of its columns are not numbers: the first ones.
pub(crate) struct Rows<I>(pub(crate) I, pub(crate) usize);

impl<I: IntoIterator> Rows<I> {
    /// The table as text.
    pub(crate) fn table<const COLUMNS: usize>(self, columns: [Column<I::Item>; COLUMNS]) -> String {
        let mut table = numbers(columns.map(|(heading, _)| heading), self.1);
        for row in self.0 {
            table.add_row(columns.map(|(_, cell)| cell(&row)));
        }
        text(&table)
    }
}

/// A line for each text, with the names of the ports that have it, in the order of the ports.
pub(crate) fn port_lines<'a, I: Iterator<Item = (&'a str, String)>>(ports: I) -> Vec<String> {
    let mut kinds: Vec<(String, Vec<&str>)> = Vec::new();
    for (name, text) in ports {
        match kinds.iter_mut().find(|(known, _)| *known == text) {
            Some((_, names)) => names.push(name),
            None => kinds.push((text, vec![name])),
        }
    }
    kinds.iter().map(|(text, names)| format!("{}: {text}", port_names(names))).collect()
}

/// `port a`, or `ports a, b`.
pub(crate) fn port_names(names: &[&str]) -> String {
    let ports = if names.len() == 1 { "port" } else { "ports" };
    format!("{ports} {}", names.join(", "))
}

/// The table without the blanks around it.
pub(crate) fn text(table: &Table) -> String {
    let lines = table.lines().map(|line| line.get(1..).unwrap_or_default().trim_end().to_owned());
    lines.collect::<Vec<_>>().join("\n")
}

/// A speed in its largest whole unit: `200M`, `40G`.
pub(crate) fn speed(bps: u64) -> String {
    let units = [(1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")];
    let whole = units.into_iter().find(|(unit, _)| bps >= *unit && bps.is_multiple_of(*unit));
    whole.map_or_else(|| format!("{bps}"), |(unit, name)| format!("{}{name}", bps / unit))
}

pub(super) fn sum(by_priority: &ByPriority) -> u64 {
    by_priority.iter().sum()
}

/// Frames received, with and without a priority.
pub(super) fn rx_frames(port: &PortStats) -> u64 {
    sum(&port.rx_frames) + port.rx_unclassified_frames
}

/// The values that are not zero, each with its priority: `3:17 4:2`.
pub(super) fn by_priority(values: &ByPriority) -> String {
    let values = values.iter().enumerate().filter(|&(_, &value)| value > 0);
    let values: Vec<String> =
        values.map(|(priority, value)| format!("{priority}:{value}")).collect();
    if values.is_empty() { "-".to_owned() } else { values.join(" ") }
}

pub(super) fn drops(port: &PortStats) -> String {
    named(&port.drops.iter().map(|(cause, &frames)| (cause, frames)).collect::<Vec<_>>())
}

/// What was lost between the wire and the core, by name, without what never occurred.
pub(super) fn device_losses(port: &PortStats) -> Vec<(&'static str, u64)> {
    port.device_lost().filter(|&(_, frames)| frames > 0).collect()
}

fn named<T: Display>(values: &[(T, u64)]) -> String {
    let values = values.iter().map(|(name, value)| format!("{name} {value}"));
    values.collect::<Vec<_>>().join(", ")
}

/// The end of a run: what each port did, and the balance of all frames.
pub(crate) fn totals(stats: &Stats) -> String {
    let ports = Rows(&stats.ports, 1).table([
        ("port", |port| port.name.clone()),
        ("rx frames", |port| rx_frames(port).to_string()),
        ("rx bytes", |port| sum(&port.rx_bytes).to_string()),
        ("tx frames", |port| sum(&port.tx_frames).to_string()),
        ("tx bytes", |port| sum(&port.tx_bytes).to_string()),
        ("dropped", |port| port.dropped().to_string()),
    ]);
    let mut lines = vec![ports];
    for port in stats.ports.iter().filter(|port| port.dropped() > 0) {
        lines.push(format!("port {} dropped: {}", port.name, drops(port)));
    }
    for port in stats.ports.iter().filter(|port| port.pfc.tx_frames + port.pfc.rx_frames > 0) {
        lines.push(format!(
            "port {} pfc: sent XOFF {} XON {}; received XOFF {} XON {}",
            port.name,
            by_priority(&port.pfc.tx_xoff),
            by_priority(&port.pfc.tx_xon),
            by_priority(&port.pfc.rx_xoff),
            by_priority(&port.pfc.rx_xon),
        ));
    }
    for port in &stats.ports {
        let lost = device_losses(port);
        if !lost.is_empty() {
            lines.push(format!("port {} lost in the device: {}", port.name, named(&lost)));
        }
    }
    lines.push(balance(stats));
    lines.push(lossless_drops(stats));
    lines.join("\n")
}

/// Frames of lossless classes that were not delivered, and why.
pub(crate) fn lossless_drops(stats: &Stats) -> String {
    let causes = stats.lossless_drops_by_cause();
    let causes: Vec<String> =
        causes.iter().map(|(cause, frames)| format!("{cause} {frames}")).collect();
    let named = if causes.is_empty() { String::new() } else { format!(" ({})", causes.join(", ")) };
    format!("lossless drops: {}{named}", stats.lossless_dropped())
}

/// Where all frames came from and how they ended.
pub(crate) fn balance(stats: &Stats) -> String {
    let totals = &stats.totals;
    format!(
        "frames: {} received + {} injected + {} copied = {} sent + {} dropped + {} punted + {} \
         consumed + {} held; imbalance {}",
        totals.received,
        totals.injected,
        totals.copied,
        totals.sent,
        totals.dropped,
        totals.punted,
        totals.consumed,
        totals.held,
        totals.imbalance
    )
}
