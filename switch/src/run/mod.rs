//! `knotless run`: runs a switch from its start to its end.

mod cpus;
mod dpdk_platform;
mod pools;
mod startup_report;
mod threads;

use crate::control::access::{Access, AccessError};
use crate::control::fleet_status::FleetStatus;
use crate::control::kept_changes::{KeptChanges, KeptChangesError};
use crate::control::server::{Server, ServerOptions};
use crate::control::stats::Stats;
use crate::control::{Call, Control, FIRST_EPOCH, Quiesced, Signals, Tables};
use crate::ctl::tables as show;
use crate::dpdk::error::DpdkError;
use crate::fleet_agent::{FleetAgent, rules_at_start};
use crate::fpm::{FpmError, FpmServer, NamedPorts, PortIndexes};
use crate::host_taps::{HostTaps, HostTapsError};
use crate::instance_lock::{InstanceLock, InstanceLockError};
use crate::log;
use crate::metrics::{ListenError, MetricsListener, MetricsServer};
use crate::old_names::OldNames;
use crate::output;
use crate::platform::Platform;
use crate::record::{PortRecorder, RecordingThread};
use crate::security::{self, Rights, SecurityError};
use crate::service_manager::ServiceManager;
use crate::sflow::{Sockets, SocketsError};
use crate::worker_loop::{Phase, SharedPhase, set_timer_slack};
use clap::Args;
use config::switch::TablesError;
use config::{ConfigError, SwitchConfig};
use crossbeam::channel::Receiver;
use dpdk_platform::DpdkPlatform;
use serde_json::json;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use threads::Threads;

/// The longest time to drain the queues at the end.
const DRAIN_NS: u64 = 1_000_000_000;

/// `knotless run`
#[derive(Debug, Args)]
pub struct RunArgs {
    /// SWITCH.toml
    file: PathBuf,
    /// Print the totals at the end as one JSON object, and everything else to stderr
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    old_names: OldNames,
    /// Write what happens at the ports to this file, as pcapng: each frame's first 192 bytes with
    /// the time of the turn; for `knotless replay`, Wireshark and tcpdump
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Print DPDK's log to stderr
    #[arg(long)]
    verbose: bool,
}

/// Why a switch cannot start: one line.
#[derive(Debug, thiserror::Error)]
enum RunError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Tables(#[from] TablesError),
    #[error(transparent)]
    InstanceLock(#[from] InstanceLockError),
    #[error(transparent)]
    Dpdk(#[from] DpdkError),
    #[error("port {name}: {error}")]
    Port { name: String, error: DpdkError },
    #[error("worker {number}: {why}")]
    Worker { number: usize, why: String },
    #[error(transparent)]
    Host(#[from] HostTapsError),
    #[error(transparent)]
    Metrics(#[from] ListenError),
    #[error(transparent)]
    Fpm(#[from] FpmError),
    #[error(transparent)]
    Sflow(#[from] SocketsError),
    #[error("fleet: {0}")]
    FleetThread(io::Error),
    #[error("metrics: {0}")]
    MetricsThread(io::Error),
    #[error("control socket {}: {error}; set [control] socket to another path", path.display())]
    Socket { path: PathBuf, error: io::Error },
    #[error(transparent)]
    KeptChanges(#[from] KeptChangesError),
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error(transparent)]
    Security(#[from] SecurityError),
    #[error("--record: only one worker can be recorded; set [workers] count = 1")]
    RecordWorkers,
    #[error("--record {}: {error}", path.display())]
    Record { path: PathBuf, error: io::Error },
    #[error("cannot catch signals: {0}")]
    Signals(io::Error),
}

/// The outcome of a run.
#[derive(Debug)]
struct RunOutcome {
    stats: Stats,
    /// Workers that failed.
    failed: Vec<usize>,
    /// Buffers that are not back in their pools, and the total.
    missing: (u32, u32),
}

/// Runs the switch. Exit 0: it stopped as requested, and the frame balance is 0; 1: it is not, or a
/// worker failed; 2: it could not start.
pub fn run(arguments: &RunArgs) -> ExitCode {
    match start(arguments) {
        Ok(ended) => finish(arguments, &ended),
        Err(error) => {
            output::error(error);
            ExitCode::from(2)
        }
    }
}

fn start(arguments: &RunArgs) -> Result<RunOutcome, RunError> {
    security::forbid_new_privileges();
    log::start();
    let config = SwitchConfig::load(&arguments.file)?;
    output::warnings(&config.warnings);
    // Of a switch that runs, the changes are its own: they are read once none does.
    cpus::check_cpus(&config)?;
    let access = Access::of(&config.control_groups)?;
    let _instance = InstanceLock::acquire(&config.socket)?;
    let changes = KeptChanges::read(&config.changes_file)?;
    let changes = rules_at_start(&config, changes)?;
    let config = changes.make_again(config)?;
    let tables = Tables::new(config.clone())?;
    let listener = config.metrics.as_ref().map(MetricsListener::bind).transpose()?;
    let samples_by = config.sflow.as_ref().map(Sockets::open).transpose()?;
    let signals = Signals::install().map_err(RunError::Signals)?;
    let phase = SharedPhase::default();
    let (dpdk_platform, queues) = DpdkPlatform::start(&config, arguments.verbose, &phase)?;
    let host = HostTaps::open(&config)?;
    let fpm = listen_for_routes(&config, host.as_ref())?;
    startup_report::ports(arguments, &config, &dpdk_platform);
    if !changes.changes().is_empty() {
        startup_report::print_line(arguments, &changes.to_string());
    }
    startup_report::services(arguments, &dpdk_platform, listener.as_ref(), fpm.as_ref());
    let snapshot = Arc::new(tables.snapshot(FIRST_EPOCH));
    let (recording, recorder) = start_recording(arguments, &config)?.unzip();
    let (mut threads, rings) = Threads::start(
        &config,
        &snapshot,
        &dpdk_platform,
        queues,
        &phase,
        &signals.stop,
        recorder,
    )?;
    drop(snapshot);
    let rights = match security::lock_down(&config) {
        Ok(rights) => rights,
        Err(error) => return Err(stop(&phase, threads, error.into())),
    };
    startup_report::print_line(arguments, &format!("rights left: {rights}"));
    threads.restrict(&rights);
    // A port that sends while its link comes up may lose frames, so all links come up before any
    // worker takes its first turn. What arrives until then waits in the receive queues, so nothing
    // comes between. Above all no sleep: DPDK's tap signals each frame, and a sleep that a signal
    // interrupts more often than the timer slack goes on until the queue is full.
    dpdk_platform.set_links(true);
    phase.advance_to(Phase::Run);
    let facts = dpdk_platform.facts();
    let mut control = Control::new(dpdk_platform, tables, changes, facts, rings);
    if let Some(host) = host {
        control.set_host(host);
    }
    if let Some(fpm) = fpm {
        control.take_routes_from(fpm);
    }
    if let Err(error) = control.export_sflow(samples_by, rights.clone()) {
        return Err(stop(&phase, threads, error.into()));
    }
    let agent_rights = rights.clone();
    let served = serve(&config, ServerOptions { access, rights }, listener);
    let (server, calls, metrics) = match served {
        Ok(served) => served,
        Err(error) => return Err(stop(&phase, threads, error)),
    };
    let agent = match start_agent(&config, &server, agent_rights, &mut control) {
        Ok(agent) => agent,
        Err(error) => return Err(stop(&phase, threads, error)),
    };
    startup_report::running(arguments, &config);
    let mut service_manager = ServiceManager::of_this_process();
    service_manager.ready(&startup_report::summary(&config));
    set_timer_slack();
    control.run(&calls, &signals, &mut service_manager);
    service_manager.stopping();
    // From now on nobody takes its requests.
    drop((metrics, agent));
    // What follows is asked for by the control thread, and would not be replayed.
    if let Some(Err(missing)) = recording.map(RecordingThread::finish) {
        log::error("record", missing);
    }
    Ok(end(control, &phase, threads))
}

/// Listens for a routing daemon, if the file says where. The daemon names interfaces of the kernel:
/// the TAPs, or without them those that have the names of the ports.
fn listen_for_routes(
    config: &SwitchConfig,
    host: Option<&HostTaps>,
) -> Result<Option<FpmServer>, FpmError> {
    let Some(fpm) = config.fpm else { return Ok(None) };
    let names = || config.ports.iter().map(|port| (port.name.clone(), port.id)).collect();
    let ports: Box<dyn PortIndexes> = match host {
        Some(host) => Box::new(host.indexes().clone()),
        None => Box::new(NamedPorts::new(names())),
    };
    FpmServer::bind(fpm.address, fpm.stale_ns, ports).map(Some)
}

/// Starts to record what happens at the ports, if the command line asks for it.
fn start_recording(
    arguments: &RunArgs,
    config: &SwitchConfig,
) -> Result<Option<(RecordingThread, PortRecorder)>, RunError> {
    let Some(path) = &arguments.record else { return Ok(None) };
    if config.workers.count != 1 {
        return Err(RunError::RecordWorkers);
    }
    let names = config.ports.iter().map(|port| port.name.as_str());
    let started = RecordingThread::start(path, names);
    let failed = |error| RunError::Record { path: path.clone(), error };
    started.map(Some).map_err(failed)
}

/// Stops the workers of a switch that cannot start because of `error`.
fn stop(phase: &SharedPhase, threads: Threads, error: RunError) -> RunError {
    phase.advance_to(Phase::Stop);
    threads.join();
    error
}

/// Serves the control socket, and the metrics if they have a `listener`.
fn serve(
    config: &SwitchConfig,
    options: ServerOptions,
    listener: Option<MetricsListener>,
) -> Result<(Server, Receiver<Call>, Option<MetricsServer>), RunError> {
    let in_use = |error| RunError::Socket { path: config.socket.clone(), error };
    let rights = options.rights.clone();
    let (server, calls) = Server::start(&config.socket, options).map_err(in_use)?;
    let start = |listener| MetricsServer::start(listener, &config.name, server.calls(), rights);
    let metrics = listener.map(start).transpose().map_err(RunError::MetricsThread)?;
    Ok((server, calls, metrics))
}

/// Starts the agent of the fleet's store, if there is a store.
fn start_agent(
    config: &SwitchConfig,
    server: &Server,
    rights: Rights,
    control: &mut Control<DpdkPlatform>,
) -> Result<Option<FleetAgent>, RunError> {
    let status = FleetStatus::default();
    let agent = FleetAgent::start(config, server.calls(), rights, status.clone());
    let agent = agent.map_err(RunError::FleetThread)?;
    if agent.is_some() {
        control.show_fleet(status);
    }
    Ok(agent)
}

/// Drains the queues, stops the workers, and releases everything.
fn end(mut control: Control<DpdkPlatform>, phase: &SharedPhase, threads: Threads) -> RunOutcome {
    log::info("stop", "stopping");
    control.send_lldp_shutdown();
    control.close_host();
    let until = control.now() + DRAIN_NS;
    let quiesced = control.quiesce(until);
    match quiesced {
        Some(Quiesced::Quiet) => {}
        Some(failed) => {
            log::warning("stop", failed.to_string());
            phase.advance_to(Phase::Drain);
        }
        None => phase.advance_to(Phase::Drain),
    }
    control.drain(until);
    if quiesced.is_some() {
        control.take_links_down(until);
    }
    phase.advance_to(Phase::Stop);
    let ends = threads.join();
    let failed = ends.iter().enumerate().filter(|(_, end)| end.is_none());
    let failed = failed.map(|(number, _)| number).collect();
    let stats = control.last_stats(ends.into_iter().map(Option::unwrap_or_default).collect());
    RunOutcome { stats, failed, missing: control.into_platform().close() }
}

/// Prints the totals, and checks them.
fn finish(arguments: &RunArgs, ended: &RunOutcome) -> ExitCode {
    let RunOutcome { stats, failed, missing: (missing, buffers) } = ended;
    arguments.old_names.tell();
    if arguments.json {
        output::print(arguments.old_names.json(json!(stats)));
    } else {
        output::print(show::totals(stats));
    }
    let mut wrong: Vec<String> = failed.iter().map(|n| format!("worker {n} failed")).collect();
    let totals = &stats.totals;
    if totals.imbalance != 0 {
        wrong.push(format!("the frame balance is off by {} frames", totals.imbalance));
    }
    let between = totals.handoff_tx.abs_diff(totals.handoff_rx);
    if between != 0 && totals.held == 0 {
        wrong.push(format!("{between} frames were lost between workers"));
    }
    if *missing == 0 {
        startup_report::print_line(arguments, &format!("all {buffers} buffers are back"));
    } else {
        wrong.push(format!("{missing} of {buffers} buffers did not come back"));
    }
    wrong.iter().for_each(output::error);
    if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
