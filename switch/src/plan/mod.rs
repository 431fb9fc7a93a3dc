//! `knotless plan`: orders path changes so that no intermediate state can deadlock.

pub(crate) mod show;
pub(crate) mod source;

use crate::network::progress::Progress;
use crate::network::verify::read_rules;
use crate::network::{InputError, grouped, write};
use crate::output;
use clap::Args;
use config::plan_file::Origin;
use config::units::parse_duration_ns;
use fabric::Network;
use fabric::plan::lossless::{self, LossyFlow};
use fabric::plan::{
    Change, Execution, Method, Model, Order, Plan, PlanError, Planner, Timing, WaitCycle, dot,
    scenario,
};
use source::SourceArgs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Time limit of the reconfiguration paper's algorithm.
const PAPER_TIME_MAX: Duration = Duration::from_secs(2);

/// `knotless plan`
#[derive(Debug, Args)]
pub struct PlanArgs {
    /// NETWORK.toml
    file: PathBuf,
    #[command(flatten)]
    source: SourceArgs,
    /// Directory of the tag rules in use, DIR/SWITCH.json: the plan then keeps flows lossless
    #[arg(long, value_name = "DIR")]
    rules: Option<PathBuf>,
    /// Model of the switches' update time, for which the plan is optimized
    #[arg(long, value_enum, default_value = "parallel")]
    model: Model,
    /// Time to install a rule at a switch
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = microseconds)]
    rule_time: u64,
    /// One-way delay between controller and switch
    #[arg(long, value_name = "TIME", default_value = "5ms", value_parser = microseconds)]
    delay: u64,
    /// One switch in N is a straggler, ten times slower
    #[arg(long, value_name = "N", default_value_t = Timing::default().straggler_one_in,
          value_parser = clap::value_parser!(u64).range(1..))]
    stragglers: u64,
    /// Seed for the choice of stragglers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print one JSON object: what `knotless apply` reads
    #[arg(long)]
    json: bool,
    /// Write the order as a Graphviz file
    #[arg(long, value_name = "FILE")]
    dot: Option<PathBuf>,
    /// Write a scenario in which the plan is executed, for `knotless simulate`
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// In the scenario, execute the operations in the worst order: first those that have to
    /// wait for others
    #[arg(long, requires = "scenario")]
    naive: bool,
}

fn microseconds(word: &str) -> Result<u64, String> {
    parse_duration_ns(word).map(|ns| ns.div_ceil(1_000)).map_err(|error| error.to_string())
}

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Input(#[from] InputError),
    /// No order is safe.
    #[error("{message}")]
    Knotted { message: String, json: serde_json::Value },
}

/// A plan and the alternatives that it is compared with.
struct Planned {
    network: Network,
    change: Change,
    plan: Plan,
    from: Origin,
    model: Model,
    /// By column: its name, its constraints, its completion by each model, the planner's seconds.
    columns: Vec<Column>,
    /// Operations that need an order.
    knotted: usize,
    /// With tags: flows that are lossy in some intermediate state.
    lossy: Option<Vec<LossyFlow>>,
}

/// One strategy.
struct Column {
    name: &'static str,
    key: &'static str,
    /// `None` where the strategy found no plan.
    found: Option<(u64, [u64; 4])>,
    seconds: f64,
}

/// Plans. Exit 1: no order can be safe; 2: the input is wrong.
pub fn run(arguments: &PlanArgs) -> ExitCode {
    match plan(arguments) {
        Ok(planned) if arguments.json => output::print(show::as_json(&planned)),
        Ok(planned) => output::print(show::as_text(&planned)),
        Err(Failure::Knotted { message, json }) => {
            if arguments.json {
                output::print(json);
            } else {
                output::print(message);
            }
            return ExitCode::from(1);
        }
        Err(failure) => {
            output::error(&failure);
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

fn plan(arguments: &PlanArgs) -> Result<Planned, Failure> {
    let progress = Progress::new();
    progress.set_message("reading the network and its paths");
    let (network, change) = arguments.source.read(&arguments.file)?;
    let (rule_us, delay_us) = (arguments.rule_time, arguments.delay);
    let timing = Timing {
        rule_us,
        delay_us,
        straggler_one_in: arguments.stragglers,
        seed: arguments.seed,
        ..Timing::default()
    };
    let model = arguments.model;
    progress.set_message("planning");
    let begun = Instant::now();
    let (plan, knotted, columns, lossy) = match &arguments.rules {
        None => {
            let planner = Planner::new(&network, &change, timing)
                .map_err(|error| knotted_failure(&network, &error))?;
            let plan = planner.plan(model);
            let seconds = begun.elapsed().as_secs_f64();
            progress.set_message("planning the alternatives");
            let columns = columns(&planner, &change, &plan.order, model, seconds);
            (plan, planner.operations_on_cycles(), columns, None)
        }
        Some(directory) => {
            let book = read_rules(&network, directory)?;
            let verdict = fabric::verify::verify_rules(&network, &book);
            if !verdict.is_empty() {
                return Err(rules_failure(&network, &verdict));
            }
            let found = lossless::order(&network, &book, &change);
            let completion_us = timing.completion_us(&network, model, &change, &found.order);
            let plan = Plan {
                order: found.order,
                method: Method::Lossless,
                is_minimal: true,
                completion_us,
                bound_us: None,
            };
            (plan, 0, Vec::new(), Some(found.lossy))
        }
    };
    let mut columns = columns;
    if columns.is_empty() {
        let times = Model::ALL.map(|m| timing.completion_us(&network, m, &change, &plan.order));
        let found = Some((plan.order.pairs().len() as u64, times));
        let seconds = begun.elapsed().as_secs_f64();
        columns.push(Column { name: "ours", key: "ours", found, seconds });
    }
    let from = arguments.source.origin(&arguments.file);
    let planned = Planned { network, change, plan, from, model, columns, knotted, lossy };
    write_files(arguments, &planned)?;
    Ok(planned)
}

/// Remove all, then add; intersect first; the reconfiguration paper's algorithm; this planner.
fn columns(
    planner: &Planner<'_>,
    change: &Change,
    order: &Order,
    model: Model,
    seconds: f64,
) -> Vec<Column> {
    let (removes, adds) = (change.removes() as u64, change.operations.len() as u64);
    let adds = adds - removes;
    let kept = change.kept_paths;
    let barriers = Model::ALL.map(|model| planner.barriers_us(model));
    let all = (removes.saturating_add(kept)).saturating_mul(adds.saturating_add(kept));
    let begun = Instant::now();
    let paper = planner.paper(model, PAPER_TIME_MAX);
    let paper_seconds = begun.elapsed().as_secs_f64();
    let by_model = |order: &Order| {
        let times = Model::ALL.map(|model| planner.completion_us(model, order));
        (order.pairs().len() as u64, times)
    };
    let column = |name, key, found, seconds| Column { name, key, found, seconds };
    vec![
        column("remove all, then add", "remove_all", Some((all, barriers.map(|b| b[0]))), 0.0),
        column(
            "intersect first",
            "intersect_first",
            Some((removes.saturating_mul(adds), barriers.map(|b| b[1]))),
            0.0,
        ),
        column("paper's rule", "paper", paper.map(|plan| by_model(&plan.order)), paper_seconds),
        column("ours", "ours", Some(by_model(order)), seconds),
    ]
}

fn write_files(arguments: &PlanArgs, planned: &Planned) -> Result<(), InputError> {
    let Planned { network, change, plan, .. } = planned;
    if let Some(file) = &arguments.dot {
        write(file, dot(change, &plan.order))?;
    }
    if let Some(file) = &arguments.scenario {
        let path = std::path::absolute(&arguments.file).unwrap_or_else(|_| arguments.file.clone());
        let tables = format!("network = {:?}", path.display().to_string());
        let execution = if arguments.naive { Execution::Naive } else { Execution::Planned };
        let text = scenario(&tables, network, change, &plan.order, execution)
            .map_err(|message| InputError::at(&arguments.file, message))?;
        write(file, text)?;
    }
    Ok(())
}

/// No order is safe: the cycle, buffer by buffer.
fn knotted_failure(network: &Network, error: &PlanError) -> Failure {
    match error {
        PlanError::Cyclic(_, knot) | PlanError::Unsafe(knot) | PlanError::Unproven(knot) => {
            Failure::Knotted {
                message: format!("{error}: {}", show::knot_text(network, knot)),
                json: show::knot_json(network, error, knot),
            }
        }
        PlanError::Order(error) => {
            Failure::Knotted { message: error.to_string(), json: serde_json::Value::Null }
        }
    }
}

fn rules_failure(network: &Network, cycle: &[fabric::verify::Hop]) -> Failure {
    let knot = WaitCycle {
        slots: cycle.iter().map(|hop| hop.input).collect(),
        paths: vec![Vec::new(); cycle.len()],
    };
    let names: Vec<String> = knot.slots.iter().map(|&slot| network.show(slot)).collect();
    Failure::Knotted {
        message: format!(
            "the rules themselves can deadlock: {} wait for each other in a ring; `knotless \
             verify` prints the cycle",
            grouped_names(&names)
        ),
        json: serde_json::json!({ "deadlock_free": false, "cycle": names }),
    }
}

fn grouped_names(names: &[String]) -> String {
    if names.len() > 12 {
        format!("{} buffers", grouped(names.len() as u64))
    } else {
        names.join(" > ")
    }
}
