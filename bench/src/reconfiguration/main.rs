//! `make bench-reconfiguration`: the evaluation that "Fast Deadlock-free Routing Reconfiguration
//! for Arbitrary Datacenter Networks" leaves empty (section 5).
//!
//! For 4-level fat-trees, VL2, HyperX and Jellyfish of 100 to 2,000 switches, for links and
//! switches that fail, and by four models of how switches are updated: how long a change takes,
//! with how many constraints, and how long that took to plan, if everything is removed first, if
//! what both sets have is left alone, by the reconfiguration paper's rule cycle by cycle, and by
//! ours. Every order of ours has been proven by the checker. Fails if ours is slower than a way
//! with barriers in any row, or than the rule where operations have times of their own, or not 1.5
//! times as fast as removing everything first in the median; or if 10,000 changes of paths on 1,000
//! switches take 30 s, or more constraints than operations and barriers.
//!
//! `rule` compares with the rule without a time limit on small networks; `executed` executes the
//! ways in the emulator. Other words are kinds of networks. Without a word everything runs.
//! `--shard I/N` takes each Nth network, and the two named above go with the first shard. Writes
//! `target/bench/reconfiguration.json` and `.html`, `reconfiguration-rule.json` and
//! `reconfiguration-executed.json`.

mod events;
mod networks;
mod page;
mod rows;
mod tables;

use bench::table::median;
use config::Shard;
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

/// Constraints for each operation of a large change, at the most.
const CONSTRAINTS_MAX: usize = 8;

/// The large change: operations, constraints, seconds.
struct Large {
    removes: usize,
    adds: usize,
    constraints: usize,
    barriers: usize,
    seconds: f64,
}

impl Large {
    fn json(&self) -> serde_json::Value {
        json!({ "removes": self.removes, "adds": self.adds, "constraints": self.constraints,
                "barriers": self.barriers, "seconds": self.seconds })
    }

    /// Whether the constraints grow with the operations, and the time is short.
    fn holds(&self) -> bool {
        self.constraints <= CONSTRAINTS_MAX * (self.removes + self.adds)
            && self.seconds < SECONDS_MAX
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
    let (constraints, barriers) = (plan.order.pairs().len(), plan.order.barriers());
    Ok(Large { removes, adds, constraints, barriers, seconds })
}

fn all() -> Result<bool, Box<dyn Error>> {
    let (shard, words) = bench::shard::of_arguments()?;
    let is_first = shard.has(0);
    let is_wanted =
        |word: &str| is_first && words.is_empty() || words.iter().any(|other| other == word);
    let mut holds = true;
    if is_wanted("rule") {
        holds &= tables::rule()?;
    }
    if is_wanted("executed") {
        holds &= tables::executed()?;
    }
    let kinds: Vec<String> = words
        .iter()
        .filter(|word| !["rule", "executed"].contains(&word.as_str()))
        .cloned()
        .collect();
    if words.is_empty() || !kinds.is_empty() {
        holds &= evaluation(&kinds, shard)?;
    }
    Ok(holds)
}

/// The large networks of `shard`, those of `wanted` if there are any.
fn evaluation(wanted: &[String], shard: Shard) -> Result<bool, Box<dyn Error>> {
    let mut rows = Vec::new();
    let networks = (0..).zip(networks::all()?).filter(|&(at, _)| shard.has(at));
    for (_, named) in networks {
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
    let large = if shard.has(0) { vec![large(8)?, large(16)?] } else { Vec::new() };
    for one in &large {
        println!(
            "{} paths removed and {} added on 1,000 switches: planned in {:.1} s, {} constraints \
             through {} barriers",
            one.removes, one.adds, one.seconds, one.constraints, one.barriers
        );
    }
    let slower = rows.iter().filter(|row| !row.holds()).count();
    let is_whole = wanted.is_empty() && shard.is_whole();
    let is_fast = overall >= FASTER_MIN || !is_whole;
    let holds = slower == 0 && is_fast && large.first().is_none_or(Large::holds);
    println!("rows in which ours comes later than it may: {slower}");
    let is_one_by_one = |row: &&Row| row.model == Model::Sequential;
    let of: Vec<&Row> = rows.iter().filter(is_one_by_one).collect();
    let gap = median(of.iter().map(|row| row.over_bound()).collect());
    println!(
        "one rule at a time: the rule is first in {} of {} rows; ours takes {gap:.2} times the \
         lower bound in the median",
        of.iter().filter(|row| row.rule_is_ahead()).count(),
        of.len()
    );
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/bench");
    fs::create_dir_all(&folder)?;
    let figures = json!({
        "rows": rows.iter().map(Row::json).collect::<Vec<_>>(),
        "median_speedup": overall,
        "sequential_over_bound": gap,
        "large": large.iter().map(Large::json).collect::<Vec<_>>(),
        "holds": holds,
    });
    let name = format!("reconfiguration{}", shard.suffix());
    let text = serde_json::to_string_pretty(&figures)? + "\n";
    fs::write(folder.join(format!("{name}.json")), text)?;
    fs::write(folder.join(format!("{name}.html")), page::page(&rows))?;
    println!("plot: target/bench/{name}.html");
    Ok(holds)
}

fn main() -> ExitCode {
    bench::verdict(all())
}
