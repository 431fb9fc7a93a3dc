//! `knotless replay`: gives a worker what another one was given at its ports, turn by turn, and
//! compares what it sends and counts.

mod counters;
mod mbufs;

use crate::control::stats::Stats;
use crate::dpdk::error::DpdkError;
use crate::output;
use clap::Args;
use config::{ConfigError, SwitchConfig};
use counters::Counted;
use netsim::recording::{Recording, RecordingError};
use netsim::replay::{ReplayError, Replayed, replay_emulated, replay_polling};
use serde_json::json;
use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// `knotless replay`
#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// SWITCH.toml of the switch that was recorded
    file: PathBuf,
    /// What `knotless run --record` wrote
    recording: PathBuf,
    /// Replay in the emulator's switch, instead of a worker that polls DPDK's buffers
    #[arg(long)]
    emulator: bool,
    /// Compare the counters, too, with what `knotless ctl --json stats` printed when the
    /// recording ended
    #[arg(long, value_name = "FILE")]
    stats: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("{}: {error}", path.display())]
    Io { path: PathBuf, error: io::Error },
    #[error("{}: {error}", path.display())]
    Recording { path: PathBuf, error: RecordingError },
    #[error("{}: {error}; `knotless ctl --json stats` prints what is wanted", path.display())]
    Stats { path: PathBuf, error: serde_json::Error },
    #[error(transparent)]
    Replay(#[from] ReplayError),
    #[error(transparent)]
    Dpdk(#[from] DpdkError),
}

/// Replays a recording. Exit 0: the worker did the same; 1: it did not; 2: bad input.
pub fn run(arguments: &ReplayArgs) -> ExitCode {
    match replay(arguments) {
        Ok((replayed, counted)) => finish(arguments, &replayed, &counted),
        Err(error) => {
            output::error(error);
            ExitCode::from(2)
        }
    }
}

fn replay(arguments: &ReplayArgs) -> Result<(Replayed, Counted), Error> {
    let config = SwitchConfig::load(&arguments.file)?;
    let path = &arguments.recording;
    let file = File::open(path).map_err(|error| Error::Io { path: path.clone(), error })?;
    let recording = Recording::read(BufReader::new(file))
        .map_err(|error| Error::Recording { path: path.clone(), error })?;
    let recorded = arguments.stats.as_deref().map(read_stats).transpose()?;
    let replayed = if arguments.emulator {
        replay_emulated(&recording, &config)?
    } else {
        replay_polling(&recording, &config, mbufs::Mbufs::new(&config)?)?
    };
    let counted = Counted::new(&config, &replayed.report, recorded.as_ref());
    Ok((replayed, counted))
}

fn read_stats(path: &Path) -> Result<Stats, Error> {
    let text = fs::read(path).map_err(|error| Error::Io { path: path.to_owned(), error })?;
    serde_json::from_slice(&text).map_err(|error| Error::Stats { path: path.to_owned(), error })
}

fn finish(arguments: &ReplayArgs, replayed: &Replayed, counted: &Counted) -> ExitCode {
    let is_equal = replayed.differences == 0 && counted.differences.is_empty();
    let received: u64 = replayed.received_frames.iter().sum();
    let sent: u64 = replayed.sent_frames.iter().sum();
    if arguments.json {
        output::print(json!({
            "equal": is_equal,
            "turns": replayed.turns,
            "received_frames": replayed.received_frames,
            "sent_frames": replayed.sent_frames,
            "differences": replayed.differences,
            "first_difference": replayed.first.as_ref().map(ToString::to_string),
            "counters": counted.compared,
            "counter_differences": counted.differences,
            "replayed": counted.replayed,
        }));
        return ExitCode::from(u8::from(!is_equal));
    }
    let turns = replayed.turns;
    output::print(format_args!("{turns} turns: {received} frames received, {sent} sent"));
    match &replayed.first {
        None => output::print("frames: equal, at each port in the same order"),
        Some(first) => output::print(format_args!(
            "frames: {} differences; the first: {first}",
            replayed.differences
        )),
    }
    if arguments.stats.is_some() {
        let (compared, differ) = (counted.compared, counted.differences.len());
        output::print(format_args!("counters: {compared} compared, {differ} differ"));
        for difference in &counted.differences {
            output::print(format_args!("  {difference}"));
        }
    }
    ExitCode::from(u8::from(!is_equal))
}
