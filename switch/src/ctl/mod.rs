//! `knotless ctl`: talks to a running switch.
//!
//! | file | idea |
//! |---|---|
//! | `client` | the socket |
//! | `tables` | figures as tables for people |
//! | `views` | which figures a command shows |
//! | `neighbors` | who is next to the switch |
//! | `waits` | who waits for whom |
//! | `metrics` | the same for Prometheus |

pub mod client;
mod metrics;
mod neighbors;
pub mod tables;
mod views;
mod waits;

use crate::control::protocol::{LinkSet, LldpTable, Reloaded, Request, Rules, Stopping};
use crate::control::stats::Stats;
use crate::output;
use clap::{Args, Subcommand, ValueEnum};
use client::{Client, CtlError, find_socket};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// `knotless ctl`
#[derive(Debug, Args)]
pub struct CtlArgs {
    /// The switch's control socket
    #[arg(long, value_name = "PATH", global = true, conflicts_with = "name")]
    socket: Option<PathBuf>,
    /// The switch's name: its socket is /run/knotless/NAME.sock
    #[arg(long, global = true)]
    name: Option<String>,
    /// Print one JSON object
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: CtlCommand,
}

#[derive(Debug, Subcommand)]
enum CtlCommand {
    /// Everything in short: ports, buffer, workers, frame balance
    Stats,
    /// Ports: devices, links, what they can and cannot do
    Ports,
    /// Every counter that has moved
    Counters,
    /// Flow control, by port and priority
    Pfc,
    /// Queues and headroom, by port and priority
    Queues,
    /// Who waits for whom: queues that the peer has paused, and where their frames came in
    Waits,
    /// Who is next to the switch: by LLDP, with levels and port types, and by IP address
    Neighbors,
    /// Routes; with FILE, use the routes of that file from now on
    Routes {
        /// A route file
        file: Option<PathBuf>,
    },
    /// One route more, or one less; until the next reload
    #[command(subcommand)]
    Route(RouteCommand),
    /// Learned MAC addresses
    Mac,
    /// Rules; with FILE, use the rules of that file from now on
    Rules {
        /// A rule file
        file: Option<PathBuf>,
    },
    /// Read SWITCH.toml and the files it names again
    Reload,
    /// How long frames take, how many come at once, how long turns are
    Latency,
    /// Everything, as Prometheus reads it
    Metrics,
    /// Take a port out of service, or back into it
    Link {
        /// The port's name or number
        port: String,
        /// What it is to be
        state: State,
    },
    /// End the switch
    Stop,
}

#[derive(Debug, Subcommand)]
enum RouteCommand {
    /// Use a route, in the place of one to the same prefix: `add 10.9.0.0/16 via 10.0.2.1`
    Add {
        /// Where to
        prefix: String,
        /// `via`, and gateways
        #[arg(required = true)]
        via: Vec<String>,
    },
    /// Use no route to a prefix any more
    Del {
        /// Where to
        prefix: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum State {
    Up,
    Down,
}

/// What a command shows: for people, and for programs.
struct Answer {
    text: String,
    json: Value,
}

/// Asks a switch. Exit 2: there is none, or it refused; 1: the connection broke.
pub fn run(arguments: &CtlArgs) -> ExitCode {
    match answer(arguments) {
        Ok(answer) if arguments.json => output::print(answer.json),
        Ok(answer) => output::print(answer.text.trim_end()),
        Err(error) => {
            output::error(&error);
            return ExitCode::from(error.exit_code());
        }
    }
    ExitCode::SUCCESS
}

fn answer(arguments: &CtlArgs) -> Result<Answer, CtlError> {
    let socket = find_socket(arguments.socket.as_deref(), arguments.name.as_deref())?;
    let mut client = Client::connect(&socket)?;
    let client = &mut client;
    match &arguments.command {
        CtlCommand::Stats => stats(client, views::stats, |stats| json!(stats)),
        CtlCommand::Ports => stats(client, views::ports, |stats| json!({ "ports": stats.ports })),
        CtlCommand::Counters => stats(client, views::counters, views::counters_json),
        CtlCommand::Pfc => stats(client, views::pfc, |stats| {
            views::by_port(stats, |port| json!({ "pfc": port.pfc, "queues": port.queues }))
        }),
        CtlCommand::Queues => stats(client, views::queues, |stats| {
            views::by_port(stats, |port| json!({ "queues": port.queues }))
        }),
        CtlCommand::Waits => stats(
            client,
            |stats| waits::text(&stats.waits),
            |stats| json!({ "waits": stats.waits }),
        ),
        CtlCommand::Latency => stats(client, views::latency, views::latency_json),
        CtlCommand::Metrics => {
            stats(client, metrics::text, |stats| json!({ "metrics": metrics::text(stats) }))
        }
        CtlCommand::Neighbors => {
            let (lldp, rows): (LldpTable, _) = (client.ask(&Request::Lldp)?, client.neighbors()?);
            let text = neighbors::text(&lldp, &rows);
            Ok(Answer { text, json: json!({ "neighbors": rows, "lldp": lldp }) })
        }
        CtlCommand::Mac => {
            let rows = client.mac_table()?;
            Ok(Answer { text: views::mac_table(&rows), json: json!({ "addresses": rows }) })
        }
        CtlCommand::Routes { file: None } => {
            let rows = client.routes()?;
            Ok(Answer { text: views::routes(&rows), json: json!({ "routes": rows }) })
        }
        CtlCommand::Rules { file: None } => {
            let rules: Rules = client.ask(&Request::Rules)?;
            Ok(Answer { text: views::rules(&rules), json: json!(rules) })
        }
        CtlCommand::Routes { file: Some(file) } => {
            reloaded(client, &Request::SetRoutes { file: absolute(file)? })
        }
        CtlCommand::Rules { file: Some(file) } => {
            reloaded(client, &Request::SetRules { file: absolute(file)? })
        }
        CtlCommand::Route(RouteCommand::Add { prefix, via }) => {
            let words = via.strip_prefix(&["via".to_owned()]).unwrap_or(via);
            reloaded(client, &Request::AddRoute { to: prefix.clone(), via: words.to_vec() })
        }
        CtlCommand::Route(RouteCommand::Del { prefix }) => {
            reloaded(client, &Request::DelRoute { to: prefix.clone() })
        }
        CtlCommand::Reload => reloaded(client, &Request::Reload),
        CtlCommand::Link { port, state } => link(client, port, *state == State::Up),
        CtlCommand::Stop => stop(client, &socket),
    }
}

fn stats(
    client: &mut Client,
    text: impl Fn(&Stats) -> String,
    json: impl Fn(&Stats) -> Value,
) -> Result<Answer, CtlError> {
    let stats: Stats = client.ask(&Request::Stats)?;
    Ok(Answer { text: text(&stats), json: json(&stats) })
}

fn reloaded(client: &mut Client, request: &Request) -> Result<Answer, CtlError> {
    let reloaded: Reloaded = client.ask(request)?;
    let read: Vec<String> = reloaded.read.iter().map(|file| file.display().to_string()).collect();
    let from = if read.is_empty() { String::new() } else { format!(", from {}", read.join(", ")) };
    let mut lines = vec![format!("tables {} are in use{from}", reloaded.epoch)];
    lines.extend(reloaded.warnings.iter().map(|warning| format!("{warning} (warning)")));
    Ok(Answer { text: lines.join("\n"), json: json!(reloaded) })
}

fn link(client: &mut Client, port: &str, up: bool) -> Result<Answer, CtlError> {
    let set: LinkSet = client.ask(&Request::Link { port: port.to_owned(), up })?;
    let state = if set.up { "in service" } else { "out of service" };
    Ok(Answer { text: format!("port {} is {state}", set.port), json: json!(set) })
}

/// How often it is looked whether the switch has ended, and how many times.
const POLL: Duration = Duration::from_millis(50);
const POLLS_MAX: u32 = 200;

fn stop(client: &mut Client, socket: &Path) -> Result<Answer, CtlError> {
    let stopping: Stopping = client.ask(&Request::Stop)?;
    for _ in 0..POLLS_MAX {
        if !socket.exists() {
            let text = format!("process {} has ended", stopping.stopping);
            return Ok(Answer { text, json: json!(stopping) });
        }
        std::thread::sleep(POLL);
    }
    let waited = (POLL * POLLS_MAX).as_secs();
    Err(CtlError::Refused(format!("process {} has not ended in {waited} s", stopping.stopping)))
}

/// The switch has a working directory of its own.
fn absolute(file: &Path) -> Result<PathBuf, CtlError> {
    std::path::absolute(file)
        .map_err(|error| CtlError::Which(format!("{}: {error}", file.display())))
}
