//! `knotless apply`: executes a plan on running switches, through their control sockets.

mod executor;
mod journal;
mod path_routes;

use crate::network::verify::read_rules;
use crate::output;
use crate::plan::show::knot_text;
use crate::plan::source::SourceArgs;
use crate::side_files::with_suffix;
use clap::Args;
use config::plan_file::PlanFile;
use config::units::parse_duration_ns;
use executor::{Direction, Executor, Outcome};
use fabric::Network;
use fabric::plan::{Change, Kind, Order, PlanError, Planner, Timing};
use journal::{Journal, Stage};
use path_routes::PathRoutes;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Duration;

/// `knotless apply`
#[derive(Debug, Args)]
pub struct ApplyArgs {
    /// The plan, as printed by `knotless plan --json`
    plan: PathBuf,
    /// Directory of the running switches' configurations, DIR/SWITCH.toml for each
    #[arg(long, value_name = "DIR")]
    switches: PathBuf,
    /// NETWORK.toml, if it is not at the path in the plan
    #[arg(long, value_name = "FILE")]
    network: Option<PathBuf>,
    #[command(flatten, next_help_heading = "Instead of the change that the plan names")]
    source: SourceArgs,
    /// Directory of the tag rules in use, if the plan was made with `--rules`
    #[arg(long, value_name = "DIR")]
    rules: Option<PathBuf>,
    /// Route prefix of a path, NAME=PREFIX, instead of the network of its last host
    #[arg(long, value_name = "NAME=PREFIX", value_parser = own_prefix)]
    prefix: Vec<(String, String)>,
    /// File that records the progress [default: PLAN.state]
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Resume a plan that was started
    #[arg(long, conflicts_with = "rollback")]
    resume: bool,
    /// Undo the completed operations in reverse order
    #[arg(long)]
    rollback: bool,
    /// Timeout of a request to a switch
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = time)]
    timeout: Duration,
    /// At each switch of a removed path, the longest wait for its queued frames to leave
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = time)]
    settle: Duration,
}

fn time(word: &str) -> Result<Duration, String> {
    parse_duration_ns(word).map(Duration::from_nanos).map_err(|error| error.to_string())
}

fn own_prefix(word: &str) -> Result<(String, String), String> {
    let pair = word.split_once('=').map(|(name, prefix)| (name, prefix.parse::<ipnet::IpNet>()));
    match pair {
        Some((name, Ok(prefix))) => Ok((name.to_owned(), prefix.trunc().to_string())),
        _ => Err("write NAME=PREFIX, such as p1=10.9.0.0/24".to_owned()),
    }
}

/// Why nothing was started.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Input(#[from] crate::network::InputError),
    #[error(transparent)]
    Config(#[from] config::ConfigError),
    #[error(transparent)]
    PathRoutes(#[from] path_routes::PathRoutesError),
    #[error("{0}")]
    Plain(String),
    /// The plan may pass through a deadlock.
    #[error("{0}; nothing was done")]
    Unsafe(String),
}

/// Executes the plan. Exit 1: it stopped on the way, or the plan is not safe; 2: the input is
/// wrong.
pub fn run(arguments: &ApplyArgs) -> ExitCode {
    match apply(arguments) {
        Ok(ended) if ended.failures.is_empty() => ExitCode::SUCCESS,
        Ok(ended) => {
            ended.failures.iter().for_each(output::error);
            let (done, of) = (ended.done, ended.of);
            output::error(format_args!(
                "stopped with {done} of {of} operations done, in a state that cannot deadlock; \
                 continue with --resume, or undo with --rollback"
            ));
            ExitCode::from(1)
        }
        Err(failure @ Failure::Unsafe(_)) => {
            output::error(&failure);
            ExitCode::from(1)
        }
        Err(failure) => {
            output::error(&failure);
            ExitCode::from(2)
        }
    }
}

fn apply(arguments: &ApplyArgs) -> Result<Outcome, Failure> {
    let plan = PlanFile::load(&arguments.plan)?;
    let network_file = arguments.network.clone().or_else(|| plan.from.network.clone());
    let network_file = network_file.ok_or_else(|| {
        Failure::Plain(format!(
            "{}:1:1: names no network; add --network NETWORK.toml",
            arguments.plan.display()
        ))
    })?;
    let mut named = Vec::new();
    named.extend(arguments.network.is_none().then_some("network"));
    named.extend(["old", "new"].into_iter().filter(|_| !arguments.source.is_given()));
    plan.check_named(&arguments.plan, &named)?;
    let (network, change) = arguments.source.clone().or(&plan.from).read(&network_file)?;
    let order = plan.order(&change).map_err(|error| error.in_file(&arguments.plan))?;
    if usize::try_from(change.kept_paths) != Ok(change.kept.len()) {
        return Err(Failure::Plain(format!(
            "{}:1:1: too many paths are kept to tell which routes they share",
            arguments.plan.display()
        )));
    }
    match &arguments.rules {
        Some(rules) => check_rules(&network, rules)?,
        None => verify_plan(&network, &change, &order)?,
    }
    let prefixes: HashMap<String, String> = arguments.prefix.iter().cloned().collect();
    let path_routes = PathRoutes::load(&network, &change, &arguments.switches, &prefixes)?;
    let (order, more) = path_routes.add_route_constraints(&network, &change, &order)?;
    let mut journal = open(arguments, &plan)?;
    if more > 0 {
        output::print(format_args!(
            "{more} more constraints: switches route by destination, so only one path to a prefix is in force"
        ));
    }
    let ids = ids(&plan, &change);
    let direction = if arguments.rollback { Direction::Back } else { Direction::Forward };
    let in_force = ids.iter().zip(&change.operations).map(|(&id, operation)| {
        (operation.kind == Kind::Add) != (journal.stage(id) == Stage::Pending)
    });
    let executor = Executor {
        network: &network,
        change: &change,
        path_routes: &path_routes,
        ids: &ids,
        direction,
        answer_timeout: arguments.timeout,
        settle: arguments.settle,
        in_force: Mutex::new(in_force.collect()),
        switch_locks: (0..network.switches()).map(|_| Mutex::new(())).collect(),
    };
    let report = |done: usize, of: usize, what: &str| {
        output::print(format_args!("{done} of {of}: {what}"));
    };
    executor.run(&order, &mut journal, &report).map_err(|error| {
        Failure::Plain(format!("the state cannot be written: {error}; see --state"))
    })
}

/// Opens the journal; one that was started is continued only if that was asked for.
fn open(arguments: &ApplyArgs, plan: &PlanFile) -> Result<Journal, Failure> {
    let beside = || with_suffix(&arguments.plan, ".state");
    let file = arguments.state.clone().unwrap_or_else(beside);
    let journal = Journal::open(&file, plan).map_err(Failure::Plain)?;
    if journal.is_begun() && !arguments.resume && !arguments.rollback {
        return Err(Failure::Plain(format!(
            "{}:1:1: this plan was started; continue with --resume, or undo with --rollback",
            file.display()
        )));
    }
    Ok(journal)
}

/// The id of each operation in the plan.
fn ids(plan: &PlanFile, change: &Change) -> Vec<u64> {
    let rows = plan.operations.iter().map(|row| ((row.kind, row.path.as_str()), row.id));
    let rows: HashMap<_, u64> = rows.collect();
    let id = |one: &fabric::plan::Operation| rows[&(one.kind, one.path.name.as_str())];
    change.operations.iter().map(id).collect()
}

/// Checks that the rules exclude a deadlock in any order.
fn check_rules(network: &Network, rules: &Path) -> Result<(), Failure> {
    let book = read_rules(network, rules)?;
    if fabric::verify::verify_rules(network, &book).is_empty() {
        return Ok(());
    }
    let rules = rules.display();
    Err(Failure::Unsafe(format!(
        "{rules}:1:1: these rules can deadlock; `knotless verify` prints the cycle"
    )))
}

/// A plan file is not trusted: it is verified again before anything changes.
fn verify_plan(network: &Network, change: &Change, order: &Order) -> Result<(), Failure> {
    let planner = Planner::new(network, change, Timing::default());
    planner.and_then(|planner| planner.check(order)).map_err(|error| match &error {
        PlanError::Cyclic(_, knot) | PlanError::Unsafe(knot) | PlanError::Unproven(knot) => {
            Failure::Unsafe(format!("{error}: {}", knot_text(network, knot)))
        }
        PlanError::Order(_) => Failure::Plain(error.to_string()),
    })
}
