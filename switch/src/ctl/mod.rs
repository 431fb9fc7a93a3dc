//! `knotless ctl`: talks to a running switch.
//!
//! | file | idea |
//! |---|---|
//! | `client` | the socket |
//! | `tables` | text tables |
//! | `views` | the output of each command |
//! | `neighbors` | LLDP neighbors, ARP and ND |
//! | `host` | TAPs, and what passes to the host by class |
//! | `waits` | queues that the peer has paused |
//! | `watermarks` | the most that was held since it was cleared |
//! | `bounces` | raised tags, and the bounces to provision |
//! | `recorder` | what the flight recorder has |
//! | `save` | changes against the files |
//! | `metrics` | the same for Prometheus |

mod bounces;
pub(crate) mod client;
mod host;
mod neighbors;
mod recorder;
mod save;
pub(crate) mod tables;
mod views;
mod waits;
mod watermarks;

use crate::bounces::share;
use crate::control::difference::Difference;
use crate::control::protocol::{LinkSet, LldpTable, Reloaded, Request, Rules, Stopping};
use crate::control::stats::Stats;
use crate::control::watermarks::{WatermarkKind, Watermarks};
use crate::metrics::{self, Format};
use crate::old_names::OldNames;
use crate::output;
use crate::why::switches::recording;
use bounces::SwitchBounces;
use clap::{Args, Subcommand, ValueEnum};
use client::{Client, CtlError, find_socket};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
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
    #[command(flatten)]
    old_names: OldNames,
    #[command(subcommand)]
    command: CtlCommand,
}

#[derive(Debug, Subcommand)]
enum CtlCommand {
    /// Summary: ports, buffer, workers, frame balance
    Stats,
    /// Ports: device, link, speed, mode, PFC support
    Ports,
    /// All counters that are not zero
    Counters,
    /// PFC state and counters, by port and priority
    Pfc,
    /// Queue and headroom occupancy, by port and priority
    Queues,
    /// The most that priority groups, queues and pools have held since they were cleared
    Watermarks {
        /// Those that are meant to stay, which are cleared apart
        #[arg(long)]
        persistent: bool,
        /// Clear them, after they are shown
        #[arg(long)]
        clear: bool,
    },
    /// Queues that the peer has paused, and the ingress ports of their frames
    Waits,
    /// The events of the last seconds, from the flight recorder
    Recorder,
    /// LLDP neighbors, with levels and port types; then the ARP and ND table
    Neighbors,
    /// The host's TAPs of the ports, and the frames for the host, by class
    Host,
    /// Show the routes; with FILE, replace the route file's routes by those of FILE
    Routes {
        /// A route file
        file: Option<PathBuf>,
    },
    /// Add or remove one route; it is kept over reloads and restarts (see `diff`)
    #[command(subcommand)]
    Route(RouteCommand),
    /// Show the learned MAC addresses
    Mac,
    /// Show the tag rules; with FILE, replace them by those of FILE
    Rules {
        /// A rule file
        file: Option<PathBuf>,
    },
    /// How often rules raised the tags of lossless frames, and how many bounces to provision
    Bounces {
        /// The share of frames that may bounce more often than provided for
        #[arg(long, default_value = "1e-6", value_parser = share, value_name = "SHARE")]
        share: f64,
        /// The other switches of the network, by name or path of the socket
        switches: Vec<String>,
    },
    /// Reload SWITCH.toml and the files that it names; what was changed since stays changed
    Reload,
    /// What `route`, `routes FILE`, `rules FILE` and `apply` changed, against the files
    Diff,
    /// Write what was changed to SWITCH.toml and the route file, and reload them
    Save,
    /// Drop what was changed, and reload SWITCH.toml and the files that it names
    Rollback,
    /// Latency, burst-size and turn-time histograms
    Latency,
    /// All metrics in the Prometheus text format
    Metrics,
    /// Set the administrative state of a port
    Link {
        /// The port's name or number
        port: String,
        /// The administrative state
        state: State,
    },
    /// Stop the switch
    Stop,
}

#[derive(Debug, Subcommand)]
enum RouteCommand {
    /// Add a route, or replace the one to the same prefix: `add 10.9.0.0/16 via 10.0.2.1`
    Add {
        /// Destination prefix
        prefix: String,
        /// `via` and the gateways
        #[arg(required = true)]
        via: Vec<String>,
    },
    /// Remove the route to a prefix
    Del {
        /// Destination prefix
        prefix: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum State {
    Up,
    Down,
}

/// The output of a command: as text and as JSON.
struct Answer {
    text: String,
    json: Value,
}

/// Sends a request. Exit 2: there is no switch, or it refused; 1: the connection broke.
pub fn run(arguments: &CtlArgs) -> ExitCode {
    arguments.old_names.tell();
    match answer(arguments) {
        Ok(answer) if arguments.json => output::print(arguments.old_names.json(answer.json)),
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
    let (client, old_names) = (&mut client, arguments.old_names);
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
        CtlCommand::Watermarks { persistent, clear } => {
            let kind = if *persistent { WatermarkKind::Persistent } else { WatermarkKind::User };
            let watermarks: Watermarks =
                client.ask(&Request::Watermarks { kind, clear: *clear })?;
            Ok(Answer { text: watermarks::as_text(&watermarks), json: json!(watermarks) })
        }
        CtlCommand::Waits => stats(
            client,
            |stats| waits::text(&stats.waits),
            |stats| json!({ "waits": stats.waits }),
        ),
        CtlCommand::Recorder => {
            let events = recording(client)?;
            Ok(Answer { text: recorder::text(&events), json: json!({ "events": events }) })
        }
        CtlCommand::Host => stats(client, host::text, host::json),
        CtlCommand::Latency => stats(client, views::latency, views::latency_json),
        CtlCommand::Metrics => {
            let text = |stats: &Stats| {
                let stats = Arc::new(stats.clone());
                old_names.metrics(metrics::text(&stats, Format::Text))
            };
            stats(client, text, |stats| json!({ "metrics": text(stats) }))
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
        CtlCommand::Bounces { share, switches } => {
            let mut all = vec![SwitchBounces::ask(client)?];
            for other in bounces::sockets(switches) {
                all.push(SwitchBounces::ask(&mut Client::connect(&other)?)?);
            }
            let (text, json) = (bounces::as_text(&all, *share), bounces::as_json(&all, *share));
            Ok(Answer { text, json })
        }
        CtlCommand::Reload => reloaded(client, &Request::Reload),
        CtlCommand::Rollback => reloaded(client, &Request::Rollback),
        CtlCommand::Diff => {
            let difference: Difference = client.ask(&Request::Diff)?;
            Ok(Answer { text: save::text(&difference), json: json!(difference) })
        }
        CtlCommand::Save => save(client),
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
    let mut lines = vec![format!("table version {} is in use{from}", reloaded.epoch)];
    lines.extend(reloaded.warnings.iter().map(|warning| format!("{warning} (warning)")));
    Ok(Answer { text: lines.join("\n"), json: json!(reloaded) })
}

fn save(client: &mut Client) -> Result<Answer, CtlError> {
    let (difference, reloaded) = save::save(client)?;
    let saved = if reloaded.is_some() { "saved" } else { "nothing to save" };
    let text = format!("{}\n{saved}", save::text(&difference));
    Ok(Answer { text, json: json!({ "saved": reloaded.is_some(), "difference": difference }) })
}

fn link(client: &mut Client, port: &str, up: bool) -> Result<Answer, CtlError> {
    let set: LinkSet = client.ask(&Request::Link { port: port.to_owned(), up })?;
    let state = if set.up { "in service" } else { "out of service" };
    Ok(Answer { text: format!("port {} is {state}", set.port), json: json!(set) })
}

/// Interval and number of the checks whether the switch has stopped.
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

/// An absolute path: the switch has its own working directory.
fn absolute(file: &Path) -> Result<PathBuf, CtlError> {
    std::path::absolute(file)
        .map_err(|error| CtlError::Which(format!("{}: {error}", file.display())))
}
