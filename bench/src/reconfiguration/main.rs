//! `make bench-reconfiguration`: the evaluation that "Fast Deadlock-free Routing Reconfiguration
//! for Arbitrary Datacenter Networks" leaves empty (section 5).
//!
//! For 4-level fat-trees, HyperX and Jellyfish of 100 to 2,000 switches, for links and switches
//! that fail, and by four models of how switches are updated: how long a change takes, with how
//! many constraints, and how long that took to plan, if everything is removed first, if what both
//! sets have is left alone, by the reconfiguration paper's rule cycle by cycle, and by ours. Every
//! order of ours has been proven by the checker. Fails if ours is slower than any other in any row,
//! or not 1.5 times as fast as removing everything first in the median; or if 10,000 changes of
//! paths on 1,000 switches take 30 s. Writes `target/bench/reconfiguration.json` and
//! `target/bench/reconfiguration.html`.

mod events;
mod networks;
mod page;
mod rows;

use bench::table::median;
use events::Event;
use fabric::plan::{Model, Planner, Timing};
use rows::Row;
use serde_json::json;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

/// What ours must be faster by than removing everything first, in the median.
const FASTER_MIN: f64 = 1.5;
/// What planning the large change may take.
const SECONDS_MAX: f64 = 30.0;

/// The large change: operations, constraints, seconds.
struct Large {
    removes: usize,
    adds: usize,
    constraints: usize,
    seconds: f64,
}

impl Large {
    fn json(&self) -> serde_json::Value {
        json!({ "removes": self.removes, "adds": self.adds, "constraints": self.constraints,
                "seconds": self.seconds })
    }
}

/// So many paths for each of 1,000 switches, half of which change because the root fails.
fn large(each: usize) -> Result<Large, Box<dyn Error>> {
    let network = networks::jellyfish(1_000)?;
    let pairs = events::pairs(&network, each);
    let change = events::happen(&network, Event::Root, &pairs);
    let begun = Instant::now();
    let planner = Planner::new(&network, &change, Timing::default())?;
    let plan = planner.plan(Model::Parallel);
    let seconds = begun.elapsed().as_secs_f64();
    let removes = change.removes();
    let adds = change.operations.len() - removes;
    Ok(Large { removes, adds, constraints: plan.order.pairs().len(), seconds })
}

fn all() -> Result<bool, Box<dyn Error>> {
    // Words on the command line are the kinds of networks that are wanted.
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let mut rows = Vec::new();
    for named in networks::all()? {
        if !wanted.is_empty() && !wanted.iter().any(|word| word == named.kind) {
            continue;
        }
        let begun = Instant::now();
        rows.extend(rows::of(named.kind, &named.network)?);
        let seconds = begun.elapsed().as_secs_f64();
        eprintln!("  {:>6.1} s  {} {}", seconds, named.kind, named.network.switches());
    }
    println!("{}", rows::table(&rows));
    println!(
        "* no safe order is faster. \"-\": no order by the rule was found and proven in 0.4 s.\n"
    );
    let speedup = |of: &dyn Fn(&Row) -> bool| {
        median(rows.iter().filter(|row| of(row)).map(Row::speedup).collect())
    };
    for model in Model::ALL {
        let faster = speedup(&|row| row.model == model);
        println!("faster than removing all, in the median, {}: {faster:.2}", model.name());
    }
    let overall = speedup(&|_| true);
    println!("faster than removing all, in the median of all rows: {overall:.2}");
    // 10,000 operations; and as many again, for whoever counts a pair of them as one.
    let [large, larger] = [large(8)?, large(16)?];
    for one in [&large, &larger] {
        println!(
            "{} paths removed and {} added on 1,000 switches: planned in {:.1} s, {} constraints",
            one.removes, one.adds, one.seconds, one.constraints
        );
    }
    let slower = rows.iter().filter(|row| !row.holds()).count();
    let is_whole = wanted.is_empty();
    let holds = slower == 0 && (overall >= FASTER_MIN || !is_whole) && large.seconds < SECONDS_MAX;
    println!("rows in which another way is faster than ours: {slower}");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/bench");
    fs::create_dir_all(&folder)?;
    let figures = json!({
        "rows": rows.iter().map(Row::json).collect::<Vec<_>>(),
        "median_speedup": overall,
        "large": [large.json(), larger.json()],
        "holds": holds,
    });
    fs::write(folder.join("reconfiguration.json"), serde_json::to_string_pretty(&figures)? + "\n")?;
    fs::write(folder.join("reconfiguration.html"), page::page(&rows))?;
    println!("plot: target/bench/reconfiguration.html");
    Ok(holds)
}

fn main() -> ExitCode {
    bench::verdict(all())
}
