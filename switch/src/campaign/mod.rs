//! `knotless campaign`: many simulations, shared among processes, and their summary.

mod execute;
mod folder;
mod merge;
mod plan;
mod record;
mod show;
mod summary;

use crate::network::InputError;
use crate::output;
use crate::replace_file;
use clap::builder::RangedU64ValueParser;
use clap::{Args, Subcommand};
use config::{CampaignConfig, Shard};
use execute::Work;
use folder::ShardFile;
use indicatif::{ProgressBar, ProgressStyle};
use merge::Merged;
use plan::Plan;
use record::Record;
use std::collections::BTreeSet;
use std::env;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use summary::Summary;

/// `knotless campaign`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct CampaignArgs {
    #[command(subcommand)]
    merge: Option<CampaignCommand>,
    #[command(flatten)]
    run: Option<CampaignRunArgs>,
}

/// What else can be done with a campaign.
#[derive(Debug, Subcommand)]
enum CampaignCommand {
    /// Sum up the results of all shards; name runs that are missing or double
    Merge(MergeArgs),
}

/// `knotless campaign CAMPAIGN.toml`
#[derive(Debug, Args)]
struct CampaignRunArgs {
    /// CAMPAIGN.toml
    file: PathBuf,
    /// Folder of the results; runs that are in it are not run again
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Run shard I of N, I from 1 [default: by SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX, or
    /// all]
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Number of shards, if the environment says only which one this is [default: KNOTLESS_SHARDS]
    #[arg(long, value_name = "N", conflicts_with = "shard", value_parser = shards())]
    shards: Option<u64>,
    /// Simulations at once [default: one for each core]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Print the summary as one JSON object
    #[arg(long)]
    json: bool,
}

/// `knotless campaign merge`
#[derive(Debug, Args)]
struct MergeArgs {
    /// Folders of the results, one or several; the summary is written to the first
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Print the summary as one JSON object
    #[arg(long)]
    json: bool,
}

/// A number of shards.
fn shards() -> RangedU64ValueParser {
    clap::value_parser!(u64).range(1..=1_000_000)
}

/// Runs or merges. Exit 2: the input is wrong; 1: a run is missing or double, or something that
/// must hold did not.
pub fn run(arguments: &CampaignArgs) -> ExitCode {
    let is_sound = match (&arguments.merge, &arguments.run) {
        (Some(CampaignCommand::Merge(arguments)), _) => sum_up(&arguments.folders, arguments.json),
        (None, Some(arguments)) => run_shard(arguments),
        (None, None) => Err(InputError::at("CAMPAIGN.toml".as_ref(), "is missing")),
    };
    match is_sound {
        Ok(is_sound) => ExitCode::from(u8::from(!is_sound)),
        Err(error) => {
            output::error(error);
            ExitCode::from(2)
        }
    }
}

/// Runs what this process is to run; whether everything held.
fn run_shard(arguments: &CampaignRunArgs) -> Result<bool, InputError> {
    let CampaignRunArgs { file, out, .. } = arguments;
    let variable = |name: &str| env::var_os(name).map(|value| value.to_string_lossy().into_owned());
    let shard = Shard::chosen(arguments.shard, arguments.shards, &variable)
        .map_err(|error| InputError::at(file, error))?;
    let campaign = CampaignConfig::load(file)?;
    let points = campaign.points()?;
    output::warnings(&points.warnings());
    let plan = Plan::new(&campaign, &points)
        .map_err(|error| InputError::at("/proc/self/exe".as_ref(), error))?;
    netsim::huge_pages::ask();
    // Whoever began the folder has built everything already.
    if !folder::is_joined(out, &plan)? {
        let bar = bar(points.all.len() * plan.schemes.len(), "checked");
        execute::check(&campaign, &points, &|| bar.inc(1))?;
        bar.finish_and_clear();
        folder::join(out, &plan)?;
    }
    let mut shard_file = ShardFile::open(out, &plan, shard)?;
    // Also those of other files: the campaign may have been shared otherwise before.
    let there = folder::records(out, &plan)?;
    let done: BTreeSet<u64> = there.iter().map(|record| record.run).collect();
    let own = || (0..plan.runs()).filter(|&number| shard.has(number));
    let left: Vec<u64> = own().filter(|number| !done.contains(number)).collect();
    let before = own().count() - left.len();
    let bar = bar(own().count(), "run");
    bar.inc(before as u64);
    let work = Work { plan: &plan, points: &points.all, kinds: plan::kinds(&campaign) };
    let after = |record: &Record| {
        bar.set_message(format!("{} under {}", record.scenario, record.scheme));
        bar.inc(1);
    };
    let cores = || thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let jobs = arguments.jobs.map_or_else(cores, NonZeroUsize::get);
    work.run(&left, jobs, &mut shard_file, &after)?;
    bar.finish_and_clear();
    drop(shard_file);
    if shard.is_whole() {
        return sum_up(std::slice::from_ref(out), arguments.json);
    }
    finish_shard(&plan, out, shard, left.len(), before)
}

/// Says what a shard has done; whether everything held in it.
fn finish_shard(
    plan: &Plan,
    out: &Path,
    shard: Shard,
    now: usize,
    before: usize,
) -> Result<bool, InputError> {
    let records = folder::records(out, plan)?;
    let own = records.iter().filter(|record| shard.has(record.run));
    let unsound = own.filter(|record| record.faults().next().is_some()).count();
    output::print(format_args!(
        "{}, shard {shard}: {now} runs done, {before} were there; {unsound} in which something does \
         not hold; `knotless campaign merge {}` sums up",
        plan.name,
        out.display()
    ));
    Ok(unsound == 0)
}

/// Says what is there, and writes the summary if that is everything; whether everything held.
fn sum_up(folders: &[PathBuf], is_json: bool) -> Result<bool, InputError> {
    let merged = Merged::read(folders)?;
    let summary = Summary::of(&merged);
    let value = summary.json();
    if merged.is_complete() {
        let write = |name: &str, text: &str| {
            let file = folders[0].join(name);
            replace_file::replace_shared(&file, text)
                .map_err(|error| crate::network::unwritable(&file, &error))
        };
        write("summary.json", &format!("{value:#}\n"))?;
        let csv = show::csv(&summary).map_err(|error| InputError::at(&folders[0], error))?;
        write("summary.csv", &csv)?;
        write("summary.html", &netsim::report::campaign_page(&value))?;
    }
    if is_json {
        output::print(&value);
        if !merged.is_sound() {
            merged.report().lines().for_each(output::error);
        }
    } else {
        let table = if merged.is_empty() { String::new() } else { show::table(&summary) + "\n\n" };
        output::print(format_args!("{table}{}", merged.report()));
    }
    Ok(merged.is_sound())
}

/// A bar, on a terminal only.
fn bar(steps: usize, what: &str) -> ProgressBar {
    let bar = ProgressBar::new(steps as u64);
    let template = format!("{{bar:40}} {{pos}}/{{len}} {what}, {{elapsed}}, {{msg}}");
    if let Ok(style) = ProgressStyle::with_template(&template) {
        bar.set_style(style);
    }
    bar
}
