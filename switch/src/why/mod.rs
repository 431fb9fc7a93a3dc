//! `knotless why`: what is slow or lossy at a port, since when, because of what.
//!
//! | file | idea |
//! |---|---|
//! | `finding` | one port, from two readings of its switch |
//! | `chain` | who waits for whom, from switch to switch |
//! | `switches` | the switches that answer |
//! | `remedies` | what helps against drops, by cause |
//! | `clock` | times as people read them |

pub(crate) mod chain;
pub(crate) mod clock;
mod finding;
mod remedies;
pub(crate) mod switches;
#[cfg(test)]
mod tests;

pub(crate) use remedies::remedy;

use crate::control::protocol::Request;
use crate::control::stats::Stats;
use crate::ctl::client::{Client, CtlError, SwitchArgs};
use crate::output;
use crate::ports::{NoPort, find_port};
use chain::Chain;
use clap::Args;
use finding::{Finding, Readings};
use serde_json::{Value, json};
use std::process::ExitCode;
use std::time::Duration;
use switches::{OtherSwitches, WorldError, recording};

/// `knotless why`
#[derive(Debug, Args)]
pub struct WhyArgs {
    /// The port, by name or number
    port: String,
    /// The priority, 0 to 7; otherwise all
    #[arg(value_parser = clap::value_parser!(u8).range(0..8))]
    class: Option<u8>,
    #[command(flatten)]
    switch: SwitchArgs,
    /// How long to look
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration)]
    over: Duration,
    #[command(flatten)]
    others: OtherSwitches,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Reads a time of the command line.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let ns = config::units::parse_duration_ns(text).map_err(|error| error.to_string())?;
    Ok(Duration::from_nanos(ns))
}

/// Why there is no answer: one line.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Switch(#[from] WorldError),
    #[error(transparent)]
    NoPort(#[from] NoPort),
}

impl From<CtlError> for Error {
    fn from(error: CtlError) -> Self {
        Self::Switch(error.into())
    }
}

/// The answer.
struct Answer {
    switch: String,
    port: String,
    findings: Vec<Finding>,
    chain: Option<Chain>,
}

/// Answers. Exit 2: there is no such switch or port; 1: the connection broke.
pub fn run(arguments: &WhyArgs) -> ExitCode {
    match answer(arguments) {
        Ok(answer) => {
            if arguments.json {
                output::print(answer.json());
            } else {
                output::print(answer.text());
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            output::error(&error);
            ExitCode::from(match &error {
                Error::Switch(error) => error.exit_code(),
                Error::NoPort(..) => 2,
            })
        }
    }
}

fn answer(arguments: &WhyArgs) -> Result<Answer, Error> {
    let socket = arguments.switch.socket()?;
    let mut client = Client::connect(&socket)?;
    let before: Stats = client.ask(&Request::Stats)?;
    let number = find_port(&before.ports, &arguments.port)?.number;
    std::thread::sleep(arguments.over);
    let now: Stats = client.ask(&Request::Stats)?;
    let neighbors = client.neighbors()?;
    let events = recording(&mut client)?;
    let readings = Readings { before: &before, now: &now, neighbors: &neighbors, events: &events };
    let class = arguments.class.map(usize::from);
    let findings = readings.findings(number, class);
    let world = arguments.others.world(&socket)?;
    let port = find_port(&now.ports, &arguments.port)?.name.clone();
    let chain = world.chain(&now.name, number, class);
    Ok(Answer { switch: now.name, port, findings, chain })
}

impl Answer {
    fn text(&self) -> String {
        let mut lines = vec![format!("switch {}, port {}", self.switch, self.port)];
        lines.extend(self.findings.iter().map(|finding| format!("  {}", finding.text)));
        if let Some(chain) = &self.chain {
            lines.push("who waits for whom".to_owned());
            lines.extend(chain.lines().iter().map(|line| format!("  {line}")));
        }
        lines.join("\n")
    }

    fn json(&self) -> Value {
        let Self { switch, port, findings, chain } = self;
        let is_deadlock = chain.as_ref().is_some_and(|chain| !chain.cycle.is_empty());
        json!({
            "switch": switch,
            "port": port,
            "findings": findings,
            "chain": chain,
            "deadlock": is_deadlock,
        })
    }
}
