//! The summary as a table for a terminal, and as CSV.

use super::summary::{Estimate, FIGURES, Figure, Group, Summary};
use crate::ctl::tables::text;
use comfy_table::{CellAlignment, Table, presets};
use std::io;

/// Figures that a terminal has no room for.
const LEFT_OUT: [&str; 2] = ["deadlock_us", "pfc_frames"];

/// The table, what its brackets are, and a line for each scheme that cannot hold somewhere.
pub(super) fn table(summary: &Summary<'_>) -> String {
    let parameters = &summary.plan.parameters;
    let is_shown = |figure: &&Figure| !LEFT_OUT.contains(&figure.key) && is_known(summary, figure);
    let shown: Vec<&Figure> = FIGURES.iter().filter(is_shown).collect();
    let mut table = Table::new();
    let headings = ["scenario"].into_iter().chain(parameters.iter().map(|axis| &axis.key[..]));
    let headings =
        headings.chain(["scheme", "runs"]).chain(shown.iter().map(|figure| figure.title));
    table.load_style(presets::NOTHING).set_header(headings);
    for column in table.column_iter_mut().skip(parameters.len() + 2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let mut notes = String::new();
    for group in &summary.groups {
        if let Some(why) = &group.refused {
            let Group { scenario, scheme, .. } = group;
            let values = values(group);
            notes.push_str(&format!("\n{scenario}{values}: {scheme} cannot hold here: {why}"));
            continue;
        }
        let values = parameters.iter().map(|axis| group.parameters[&axis.key].clone());
        let figures = shown.iter().map(|figure| {
            let estimate = group.figures.as_ref().and_then(|figures| figures[figure.key]);
            estimate.map_or_else(|| "-".to_owned(), |estimate| cell(&estimate))
        });
        let names = [group.scenario.clone()].into_iter().chain(values);
        let counts = [group.scheme.clone(), group.runs.to_string()];
        table.add_row(names.chain(counts).chain(figures));
    }
    format!(
        "{}\n[95 % confidence interval: of a mean Student's t, of a share Wilson's]{notes}",
        text(&table)
    )
}

fn values(group: &Group) -> String {
    group.parameters.iter().map(|(key, value)| format!(", {key} = {value}")).collect()
}

/// Whether any group has the figure.
fn is_known(summary: &Summary<'_>, figure: &Figure) -> bool {
    let of = |group: &Group| group.figures.as_ref().and_then(|figures| figures[figure.key]);
    summary.groups.iter().any(|group| of(group).is_some())
}

/// `0.25 [0.11, 0.47]`; an interval of no width is left out.
fn cell(estimate: &Estimate) -> String {
    let Estimate { mean, low, high, .. } = *estimate;
    let size = [Some(mean), low, high]
        .into_iter()
        .flatten()
        .fold(0.0, |most: f64, one| most.max(one.abs()));
    let digits = if size < 10.0 { 2 } else { usize::from(size < 1_000.0) };
    match low.zip(high) {
        Some((low, high)) if low < high => {
            format!("{mean:.digits$} [{low:.digits$}, {high:.digits$}]")
        }
        _ => format!("{mean:.digits$}"),
    }
}

/// A line for each group; of each figure the mean, the ends of the interval, and the runs.
///
/// # Errors
/// None that a text in memory can have.
pub(super) fn csv(summary: &Summary<'_>) -> io::Result<String> {
    let parameters = &summary.plan.parameters;
    let mut writer = csv::Writer::from_writer(Vec::new());
    let headings =
        ["scenario".to_owned()].into_iter().chain(parameters.iter().map(|axis| axis.key.clone()));
    let headings = headings.chain(["scheme", "runs", "unsound", "refused"].map(str::to_owned));
    let of =
        |figure: &Figure| ["", "_low", "_high", "_runs"].map(|end| format!("{}{end}", figure.key));
    writer.write_record(headings.chain(FIGURES.iter().flat_map(of)))?;
    for group in &summary.groups {
        let values = parameters.iter().map(|axis| group.parameters[&axis.key].clone());
        let names = [group.scenario.clone()].into_iter().chain(values);
        let about = [
            group.scheme.clone(),
            group.runs.to_string(),
            group.unsound.to_string(),
            group.refused.clone().unwrap_or_default(),
        ];
        let figures = FIGURES.iter().flat_map(|figure| {
            let estimate = group.figures.as_ref().and_then(|figures| figures[figure.key]);
            let text =
                |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
            [
                text(estimate.map(|one| one.mean)),
                text(estimate.and_then(|one| one.low)),
                text(estimate.and_then(|one| one.high)),
                estimate.map(|one| one.count.to_string()).unwrap_or_default(),
            ]
        });
        writer.write_record(names.chain(about).chain(figures))?;
    }
    let bytes = writer.into_inner().map_err(io::Error::other)?;
    String::from_utf8(bytes).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::super::merge::tests::merged;
    use super::*;

    #[test]
    fn the_table_has_a_row_for_each_group_and_no_column_that_nobody_has() {
        let all = merged(0..24);
        let table = table(&Summary::of(&all));
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len(), 10, "{table}");
        assert!(lines[0].starts_with("scenario  traffic.load  scheme  runs"), "{table}");
        assert!(!table.contains("p99 completion"), "no run has it: {table}");
        assert!(lines[3].contains("7.00 [4.52, 9.48]"), "{table}");
    }

    #[test]
    fn csv_has_the_same_columns_in_each_line() {
        let all = merged(0..24);
        let text = csv(&Summary::of(&all)).unwrap();
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let headings = reader.headers().unwrap().clone();
        assert_eq!(headings.len(), 6 + 4 * FIGURES.len());
        let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        assert_eq!(rows.len(), 8);
        let paused = headings.iter().position(|heading| heading == "paused_ms").unwrap();
        assert_eq!((&rows[2][paused], &rows[2][paused + 3]), ("7", "3"));
    }
}
