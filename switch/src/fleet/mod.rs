//! `knotless fleet`: the rules of all switches of a network, by etcd.
//!
//! | file | idea |
//! |---|---|
//! | `access` | how etcd is reached |
//! | `network_files` | NETWORK.toml into the store and out of it |
//! | `proof` | rules from the store, proven; stages |
//! | `init`, `push`, `diff` | what is in the store |
//! | `rollout` | from one revision to another; pause, resume, rollback |
//! | `status`, `wiring`, `waits`, `watch` | what the switches say |

mod access;
mod diff;
mod init;
mod network_files;
mod proof;
mod push;
mod rollout;
mod status;
mod waits;
mod watch;
mod wiring;

use crate::network::InputError;
use crate::output;
use access::AccessArgs;
use clap::{Args, Subcommand};
use fleet::head::{Direction, NotNow};
use fleet::{StageError, StoreError};
use serde_json::Value;
use std::process::ExitCode;
use tokio::runtime::Builder;

/// `knotless fleet`
#[derive(Debug, Args)]
pub struct FleetArgs {
    #[command(flatten)]
    access: AccessArgs,
    /// Print one JSON object; `watch` prints one a line
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: FleetCommand,
}

#[derive(Debug, Subcommand)]
enum FleetCommand {
    /// Make a network in etcd; with --users, also a user of etcd for each switch
    Init(init::InitArgs),
    /// Put the rules of all switches in etcd as a new revision, once they are proven
    Push(push::PushArgs),
    /// What every switch runs, how it is wired, and who waits for whom
    Status,
    /// Which switches' rules differ between two revisions, and how
    Diff(diff::DiffArgs),
    /// Bring the newest revision to the switches, stage by stage
    Rollout(rollout::RolloutArgs),
    /// Have the rollout stop after its current stage
    Pause,
    /// Go on with a rollout that has stopped
    Resume(rollout::DriveArgs),
    /// Go back to the revision before, through the same stages
    Rollback(rollout::DriveArgs),
    /// Print what happens, until Ctrl-C
    Watch,
}

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Config(#[from] config::ConfigError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    NotNow(#[from] NotNow),
    #[error(transparent)]
    Stage(#[from] StageError),
    #[error("{0}")]
    Wrong(String),
    /// A property does not hold.
    #[error("{0}")]
    Unsafe(String),
}

impl Failure {
    /// 1: a failure, or a property that does not hold; 2: wrong input.
    const fn exit_code(&self) -> u8 {
        match self {
            Self::Input(_) | Self::Config(_) | Self::NotNow(_) | Self::Wrong(_) => 2,
            Self::Store(StoreError::Input(_)) => 2,
            Self::Store(_) | Self::Stage(_) | Self::Unsafe(_) => 1,
        }
    }
}

/// What a command says, and whether all is well.
struct Answer {
    text: String,
    json: Value,
    is_well: bool,
}

impl Answer {
    fn of(text: impl Into<String>, json: Value) -> Self {
        Self { text: text.into(), json, is_well: true }
    }
}

/// Runs a command. Exit 1: something does not hold, or stopped on the way; 2: the input is wrong.
pub fn run(arguments: &FleetArgs) -> ExitCode {
    let runtime = match Builder::new_current_thread().enable_io().enable_time().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            output::error(format_args!("cannot start: {error}"));
            return ExitCode::from(1);
        }
    };
    let answer = runtime.block_on(answer(arguments));
    runtime.shutdown_background();
    match answer {
        Ok(answer) => {
            if arguments.json {
                output::print(answer.json);
            } else if !answer.text.is_empty() {
                output::print(answer.text.trim_end());
            }
            ExitCode::from(u8::from(!answer.is_well))
        }
        Err(failure) => {
            output::error(&failure);
            ExitCode::from(failure.exit_code())
        }
    }
}

async fn answer(arguments: &FleetArgs) -> Result<Answer, Failure> {
    let FleetArgs { access, json, command } = arguments;
    match command {
        FleetCommand::Init(arguments) => init::run(access, arguments).await,
        FleetCommand::Push(arguments) => push::run(access, arguments).await,
        FleetCommand::Status => status::run(access).await,
        FleetCommand::Diff(arguments) => diff::run(access, arguments).await,
        FleetCommand::Rollout(arguments) => rollout::begin(access, arguments, *json).await,
        FleetCommand::Pause => rollout::pause(access).await,
        FleetCommand::Resume(arguments) => rollout::resume(access, arguments, None, *json).await,
        FleetCommand::Rollback(arguments) => {
            rollout::resume(access, arguments, Some(Direction::Back), *json).await
        }
        FleetCommand::Watch => watch::run(access, *json).await,
    }
}
