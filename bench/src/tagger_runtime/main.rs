//! `make bench-tagger-runtime`: Tagger, Fig. 13: how long the algorithms take on Jellyfish networks
//! of 100 to 10,000 switches, and how that grows.
//!
//! Algorithms 1 and 2 of the Tagger paper and `updown` compile the same path sets, shortest paths
//! as trees. An algorithm goes on to the next size as long as its growth so far says that it ends
//! within its budget (`--budget SECONDS`, default 1,200). What is counted is CPU time of all
//! threads, which others on the machine change little: of the search for tags and the rules made of
//! them; the proof is apart. The exponent of a power law is fitted to the sizes that took long
//! enough to be timed. Fails if rules are not proven, if Algorithm 2 grows slower than `updown`, or
//! if `updown` with its proof takes longer than it may. Writes `target/bench/tagger-runtime.json`.

mod fit;

use bench::clock::cpu_seconds;
use clap::Parser;
use comfy_table::{CellAlignment, Table, presets};
use config::NetworkConfig;
use fabric::compile::{Algorithm, Budget, Options, compile};
use fabric::{Network, PathSet};
use fit::PowerLaw;
use serde_json::{Value, json};
use std::cell::Cell;
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

/// The sizes of Fig. 13 and some between.
const SIZES: [usize; 10] = [100, 140, 200, 350, 500, 1_000, 2_000, 3_500, 5_000, 10_000];
const ALGORITHMS: [Algorithm; 3] = [Algorithm::BruteForce, Algorithm::Greedy, Algorithm::UpDown];
/// What the Tagger paper's computer took for 10,000 switches: 19.6 hours.
const PAPER_SECONDS: f64 = 19.6 * 3_600.0;
/// What `updown` may take for 10,000 switches, as in `make bench-tagger`.
const OURS_SECONDS_MAX: f64 = 120.0;

/// Tagger, Fig. 13: run time of the algorithms.
#[derive(Parser)]
struct Arguments {
    /// Seconds of CPU time that one run of an algorithm may take.
    #[arg(long, default_value_t = 1_200.0)]
    budget: f64,
    /// The largest network.
    #[arg(long, default_value_t = 10_000)]
    switches: usize,
    #[arg(long, hide = true)]
    bench: bool,
}

/// One run.
struct Run {
    switches: usize,
    /// CPU time of the search for tags, and of the rules made of them.
    seconds: f64,
    /// The proof of the rules.
    proof_seconds: f64,
    priorities: usize,
    rules_max: usize,
}

impl Run {
    fn json(&self) -> Value {
        json!({
            "switches": self.switches,
            "seconds": self.seconds,
            "proof_seconds": self.proof_seconds,
            "lossless_priorities": self.priorities,
            "max_rules": self.rules_max,
        })
    }
}

/// The runs of one algorithm.
struct Curve {
    algorithm: Algorithm,
    runs: Vec<Run>,
    /// Whether a size was left out because it would not have ended within the budget.
    is_cut: bool,
}

impl Curve {
    const fn new(algorithm: Algorithm) -> Self {
        Self { algorithm, runs: Vec::new(), is_cut: false }
    }

    fn law(&self) -> Option<PowerLaw> {
        let points = self.runs.iter().map(|run| (run.switches as f64, run.seconds));
        PowerLaw::fit(&points.collect::<Vec<_>>())
    }

    /// Whether `switches` would end within `budget` seconds, as far as growth so far says.
    fn is_affordable(&self, switches: usize, budget: f64) -> bool {
        let Some(last) = self.runs.last() else { return true };
        let ratio = switches as f64 / last.switches as f64;
        // Until there is a law: the third power, above the n^2 T of section V-C.
        let exponent = self.law().map_or(3.0, |law| law.exponent);
        last.seconds * ratio.powf(exponent) <= budget
    }

    fn json(&self) -> Value {
        let law = self.law();
        json!({
            "algorithm": self.algorithm.name(),
            "runs": self.runs.iter().map(Run::json).collect::<Vec<_>>(),
            "is_cut": self.is_cut,
            "exponent": law.map(|law| law.exponent),
            "seconds_at_10000": law.map(|law| law.at(10_000.0)),
        })
    }
}

fn run(network: &Network, paths: &PathSet, algorithm: Algorithm) -> Result<Run, Box<dyn Error>> {
    let begun = cpu_seconds();
    let proof_begun = Cell::new(None);
    let tell = |what: &str| {
        if what == "verifying" {
            proof_begun.set(Some(cpu_seconds() - begun));
        }
    };
    let options = Options { algorithm, lossless_max: 7, budget: Budget::Work };
    let compiled = compile(network, paths, &options, &tell)?;
    let whole = cpu_seconds() - begun;
    let seconds = proof_begun.get().ok_or("the compiler does not say when it begins the proof")?;
    Ok(Run {
        switches: network.switches(),
        seconds,
        proof_seconds: whole - seconds,
        priorities: compiled.lossless_priorities,
        rules_max: compiled.rules_max(),
    })
}

/// Half of the ports lead to hosts, as in Table V.
fn jellyfish(switches: usize) -> Result<NetworkConfig, Box<dyn Error>> {
    let text = format!(
        "[generate]\nkind = 'jellyfish'\nswitches = {switches}\nports = 64\nnetwork_ports = 32\n\
         [paths]\nkind = 'shortest-trees'\n"
    );
    Ok(NetworkConfig::parse(Path::new("jellyfish.toml"), &text)?)
}

fn measure(arguments: &Arguments) -> Result<Vec<Curve>, Box<dyn Error>> {
    let mut curves = ALGORITHMS.map(Curve::new);
    for switches in SIZES.into_iter().filter(|&size| size <= arguments.switches) {
        let config = jellyfish(switches)?;
        let paths = PathSet::build(&config.network, &config.paths)?;
        for curve in &mut curves {
            if curve.is_cut || !curve.is_affordable(switches, arguments.budget) {
                curve.is_cut = true;
                continue;
            }
            let run = run(&config.network, &paths, curve.algorithm)?;
            let name = curve.algorithm.name();
            eprintln!("  {switches:6} switches, {name}: {:.3} s", run.seconds);
            curve.runs.push(run);
        }
    }
    Ok(curves.into())
}

fn table(curves: &[Curve]) -> Table {
    let mut table = Table::new();
    let names = ["switches", "Algorithm 1, s", "Algorithm 2, s", "updown, s"];
    table.load_style(presets::NOTHING).set_header(names);
    table.column_iter_mut().for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    for size in SIZES {
        let cells = curves.iter().map(|curve| {
            let run = curve.runs.iter().find(|run| run.switches == size);
            run.map_or_else(|| "-".to_owned(), |run| format!("{:.3}", run.seconds))
        });
        table.add_row(std::iter::once(size.to_string()).chain(cells));
    }
    let of_law = |text: &dyn Fn(PowerLaw) -> String| {
        let cells = curves.iter().map(|curve| curve.law().map_or_else(|| "-".to_owned(), text));
        cells.collect::<Vec<String>>()
    };
    let exponents = of_law(&|law| format!("n^{:.2}", law.exponent));
    table.add_row(std::iter::once("growth".to_owned()).chain(exponents));
    let seconds = of_law(&|law| format!("{:.0}", law.at(10_000.0)));
    table.add_row(std::iter::once("10,000 by it".to_owned()).chain(seconds));
    table
}

/// Whether Algorithm 2 grows faster than `updown`, and `updown` is as fast as it must be.
fn holds(curves: &[Curve]) -> bool {
    let of = |algorithm| curves.iter().find(|curve| curve.algorithm == algorithm);
    let exponent = |algorithm| of(algorithm).and_then(Curve::law).map(|law| law.exponent);
    let grows = exponent(Algorithm::Greedy).zip(exponent(Algorithm::UpDown));
    let runs = of(Algorithm::UpDown).map_or(&[][..], |curve| &curve.runs);
    grows.is_some_and(|(greedy, ours)| greedy > ours)
        && runs.iter().all(|run| run.seconds + run.proof_seconds <= OURS_SECONDS_MAX)
}

fn all() -> Result<bool, Box<dyn Error>> {
    let arguments = Arguments::parse();
    let curves = measure(&arguments)?;
    println!("{}", table(&curves));
    println!("the Tagger paper, Algorithm 2, 10,000 switches: {PAPER_SECONDS:.0} s");
    let holds = holds(&curves);
    let figures = json!({
        "curves": curves.iter().map(Curve::json).collect::<Vec<_>>(),
        "paper_seconds_at_10000": PAPER_SECONDS,
        "budget_seconds": arguments.budget,
        "holds": holds,
    });
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/bench");
    std::fs::create_dir_all(&folder)?;
    let text = serde_json::to_string_pretty(&figures)? + "\n";
    std::fs::write(folder.join("tagger-runtime.json"), text)?;
    Ok(holds)
}

fn main() -> ExitCode {
    bench::verdict(all())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(algorithm: Algorithm, exponent: f64) -> Curve {
        let run = |size: usize| Run {
            switches: size,
            seconds: 1e-3 * (size as f64 / 10.0).powf(exponent),
            proof_seconds: 0.0,
            priorities: 2,
            rules_max: 4,
        };
        Curve { algorithm, runs: SIZES[..6].iter().map(|&size| run(size)).collect(), is_cut: false }
    }

    #[test]
    fn a_curve_is_cut_before_a_run_that_would_not_end() {
        let cubic = curve(Algorithm::Greedy, 3.0);
        // 1,000 switches take 1,000 s.
        assert!(cubic.is_affordable(2_000, 8_100.0));
        assert!(!cubic.is_affordable(2_000, 7_900.0));
        let none = Curve::new(Algorithm::Greedy);
        assert!(none.is_affordable(10_000, 1.0));
    }

    #[test]
    fn it_fails_if_ours_grows_faster_or_takes_too_long() {
        let [greedy, ours] = [Algorithm::Greedy, Algorithm::UpDown];
        assert!(holds(&[curve(greedy, 2.5), curve(ours, 1.5)]));
        assert!(!holds(&[curve(greedy, 1.4), curve(ours, 1.5)]));
        assert!(!holds(&[curve(greedy, 2.9), curve(ours, 2.7)]), "252 s for 1,000 switches");
        assert!(!holds(&[]));
    }

    #[test]
    fn every_algorithm_is_timed_without_its_proof() {
        let text = "[generate]\nkind = 'jellyfish'\nswitches = 20\nports = 8\nnetwork_ports = 4\n\
                    [paths]\nkind = 'shortest-trees'\n";
        let config = NetworkConfig::parse("small.toml".as_ref(), text).unwrap();
        let paths = PathSet::build(&config.network, &config.paths).unwrap();
        for algorithm in ALGORITHMS {
            let run = run(&config.network, &paths, algorithm).unwrap();
            assert!(run.seconds > 0.0 && run.proof_seconds > 0.0);
            assert_eq!(run.switches, 20);
        }
    }
}
