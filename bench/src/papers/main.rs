//! `make bench-papers`: every theorem, table and figure of the five papers in one table: the
//! paper's value, ours, a verdict, and the command that gives it.
//!
//! Runs every scenario of `netsim/scenarios/` under every scheme that it says something about, and
//! what [`tagger`], [`gentle_flow_control`], [`ttl_classes`], [`reconfiguration`], [`levels`] and
//! [`thresholds`] add. Figures of longer commands are read from the file that the command wrote.
//! Fails if a verdict does, or if any scenario comes out otherwise than it must. Writes
//! `target/bench/papers.json`, `target/bench/papers/index.html`, and a page for each run.

mod compared;
mod experiments;
mod gentle_flow_control;
mod hysteresis;
mod index;
mod levels;
mod lldp_chain;
mod plot;
mod reconfiguration;
mod row;
mod runs;
mod tagger;
mod thresholds;
mod ttl_classes;
mod ttl_hosts;
mod ttl_switch;

use experiments::Experiments;
use row::Row;
use std::error::Error;
use std::fs;
use std::process::ExitCode;

/// The rows of all papers.
fn rows(experiments: &Experiments) -> Result<Vec<Row>, Box<dyn Error>> {
    let papers = [
        tagger::rows,
        gentle_flow_control::rows,
        ttl_classes::rows,
        reconfiguration::rows,
        levels::rows,
        thresholds::rows,
        hysteresis::rows,
    ];
    let mut rows = Vec::new();
    for paper in papers {
        rows.extend(paper(experiments)?);
    }
    Ok(rows)
}

fn all() -> Result<bool, Box<dyn Error>> {
    let pages = experiments::folder().join("papers");
    fs::create_dir_all(&pages)?;
    let experiments = Experiments::run(&pages)?;
    let rows = rows(&experiments)?;
    let Experiments { runs, compared } = &experiments;
    println!("{}\n", runs::table(runs));
    println!("The same failures under every scheme\n{}", compared::tables(compared));
    println!("{}\n{}", row::table(&rows), row::summary(&rows));
    fs::write(pages.join("index.html"), index::page(&rows, runs, compared))?;
    let holds = row::holds(&rows)
        && runs.iter().all(|run| run.surprises.is_empty())
        && compared::holds(compared);
    let figures = serde_json::json!({
        "rows": row::json(&rows),
        "runs": runs.iter().map(runs::Run::json).collect::<Vec<_>>(),
        "comparison": compared.iter().map(compared::Compared::json).collect::<Vec<_>>(),
        "holds": holds,
    });
    let file = experiments::folder().join("papers.json");
    fs::write(file, serde_json::to_string_pretty(&figures)? + "\n")?;
    println!("page: target/bench/papers/index.html");
    Ok(holds)
}

fn main() -> ExitCode {
    bench::verdict(all())
}
