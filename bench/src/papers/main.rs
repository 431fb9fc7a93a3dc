//! `make bench-papers`: the papers' experiments on the emulator, with and without the scheme,
//! beside what the papers say.
//!
//! Runs every scenario of `netsim/scenarios/` under every scheme that it says something about, and
//! fails if anything comes out otherwise. Then Tagger's Table VI and Fig. 14. Writes a page for
//! each run, `target/bench/papers/index.html` and `target/bench/papers.json`.

mod bounced;
mod compared;
mod index;
mod loss;
mod runs;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Where the pages go.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/bench/papers")
}

fn all() -> Result<bool, Box<dyn Error>> {
    let folder = folder();
    fs::create_dir_all(&folder)?;
    let runs = runs::all(&folder)?;
    println!("{}\n", runs::table(&runs));
    let losses = loss::all()?;
    println!("Tagger, Table VI: share of frames lost, web search flows, 20 % of links down");
    println!("{}\n", loss::table(&losses));
    let bounced = bounced::all()?;
    println!("Tagger, Fig. 14: flows that bounce, in a hundred");
    println!("{}", bounced::table(&bounced));
    let compared = compared::all()?;
    println!("\nThe same failures under every scheme\n{}", compared::tables(&compared));
    let page = index::page(&runs, &losses, &bounced, &compared);
    fs::write(folder.join("index.html"), page)?;
    let figures = serde_json::json!({
        "runs": runs.iter().map(runs::Run::json).collect::<Vec<_>>(),
        "table_vi": losses.iter().map(loss::Loss::json).collect::<Vec<_>>(),
        "comparison": compared.iter().map(compared::Compared::json).collect::<Vec<_>>(),
        "fig_14": bounced.iter().map(bounced::Bounced::json).collect::<Vec<_>>(),
    });
    fs::write(folder.join("../papers.json"), serde_json::to_string_pretty(&figures)?)?;
    println!("\npages: target/bench/papers/index.html");
    Ok(runs.iter().all(|run| run.surprises.is_empty())
        && loss::holds(&losses)
        && compared::holds(&compared))
}

fn main() -> ExitCode {
    bench::verdict(all())
}
