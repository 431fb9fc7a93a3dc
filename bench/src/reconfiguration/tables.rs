//! The tables of the rule's comparison and of the executed ways, with their JSON files.

use bench::reconfiguration::{compare, executed};
use comfy_table::{CellAlignment, Table, presets};
use serde_json::{Value, json};
use std::error::Error;
use std::fs;
use std::path::Path;

fn table(headings: &[&str], text_columns: usize) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(headings.iter().copied());
    for column in table.column_iter_mut().skip(text_columns) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn write(name: &str, figures: &Value) -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/bench");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join(name), serde_json::to_string_pretty(figures)? + "\n")?;
    Ok(())
}

/// The paper's rule, run to its end, against ours.
pub(crate) fn rule() -> Result<bool, Box<dyn Error>> {
    let all = compare::all()?;
    let headings = [
        "network",
        "model",
        "rule read",
        "ours first",
        "same",
        "rule first",
        "rule unsafe",
        "first and unsafe",
        "no pair",
        "rule / ours, 95 %",
        "ours / bound, 95 %",
    ];
    let mut rows = table(&headings, 3);
    for row in &all {
        let interval = |of: Option<bench::stats::Interval>| {
            of.map_or_else(|| "-".to_owned(), |interval| format!("{interval:.2}"))
        };
        rows.add_row([
            row.name.clone(),
            row.model.name().replace('_', " "),
            format!("{:?}", row.reading).to_lowercase(),
            row.ahead[0].to_string(),
            row.ahead[1].to_string(),
            row.ahead[2].to_string(),
            row.unsafe_orders.to_string(),
            row.ahead_and_unsafe.to_string(),
            row.unsolved.to_string(),
            interval(row.ratio),
            interval(row.gap),
        ]);
    }
    println!("The paper's rule without a time limit, {} seeds a row\n{rows}\n", compare::SEEDS);
    let holds = all.iter().all(compare::Compared::holds);
    let sum = |of: &dyn Fn(&compare::Compared) -> usize| all.iter().map(of).sum::<usize>();
    let figures = json!({
        "rows": all.iter().map(compare::Compared::json).collect::<Vec<_>>(),
        "ours_first": sum(&|row| row.ahead[0]),
        "same": sum(&|row| row.ahead[1]),
        "rule_first": sum(&|row| row.ahead[2]),
        "rule_first_and_unsafe": sum(&|row| row.ahead_and_unsafe),
        "holds": holds,
    });
    write("reconfiguration-rule.json", &figures)?;
    Ok(holds)
}

/// The ways, executed.
pub(crate) fn executed() -> Result<bool, Box<dyn Error>> {
    let all = executed::all(executed::SEEDS)?;
    let headings = [
        "network",
        "control channel",
        "way",
        "makespan, us",
        "95 %",
        "deadlocks",
        "violations",
        "drains given up",
        "messages",
        "lost",
    ];
    let mut rows = table(&headings, 3);
    for row in &all {
        let makespan = row.makespan_us;
        rows.add_row([
            row.case.to_owned(),
            row.channel.name().to_owned(),
            row.strategy.name().to_owned(),
            makespan.map_or_else(|| "-".to_owned(), |makespan| format!("{:.0}", makespan.mean)),
            makespan.map_or_else(|| "-".to_owned(), |makespan| format!("{makespan:.0}")),
            row.deadlocks.to_string(),
            row.violations.to_string(),
            row.drains_given_up.to_string(),
            row.messages[0].to_string(),
            row.messages[1].to_string(),
        ]);
    }
    println!("Executed in the emulator, {} seeds a row\n{rows}\n", executed::SEEDS);
    let holds = executed::holds(&all);
    let canaries = all.iter().filter(|row| row.strategy == executed::Strategy::Reversed);
    let others = all.iter().filter(|row| row.strategy != executed::Strategy::Reversed);
    let deadlocks = |row: &executed::Row| row.deadlocks;
    let speedups = executed::speedups(&all);
    let figures = json!({
        "rows": all.iter().map(executed::Row::json).collect::<Vec<_>>(),
        "deadlocks": others.map(deadlocks).sum::<usize>(),
        "canary_deadlocks": canaries.map(deadlocks).sum::<usize>(),
        "speedup_least": speedups.iter().copied().fold(f64::INFINITY, f64::min),
        "speedup_most": speedups.iter().copied().fold(0.0, f64::max),
        "holds": holds,
    });
    write("reconfiguration-executed.json", &figures)?;
    Ok(holds)
}
