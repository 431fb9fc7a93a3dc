//! The program `knotless`.
#![deny(unsafe_code)]

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use std::process::ExitCode;
use switch::export::ExportCommand;
use switch::import::ImportCommand;
use switch::roce::{self, RoceCommand};
use switch::traffic::{self, TrafficCommand};
use switch::{
    apply, campaign, check, compare, cpu, ctl, export, fleet, generate, headroom, import, network,
    output, plan, simulate, top, trace, usage, watch, why,
};

/// A lossless Ethernet switch in software.
///
/// Exit codes: 0 success; 1 failure, or a property that does not hold; 2 invalid input, or the
/// program cannot start.
#[derive(Debug, Parser)]
#[command(name = "knotless", version, max_term_width = 100)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a switch until Ctrl-C, then drain it and print totals
    #[cfg(feature = "dpdk")]
    Run(switch::run::RunArgs),
    /// Run a switch (this program was built without DPDK and cannot)
    #[cfg(not(feature = "dpdk"))]
    Run {
        /// SWITCH.toml
        file: std::path::PathBuf,
    },
    /// Validate a configuration file; change nothing
    Check(check::CheckArgs),
    /// Compute each switch's tag rules from a topology and its lossless paths; verify that the
    /// network is deadlock-free
    Compile(network::compile::CompileArgs),
    /// Verify that a network's tag rules are deadlock-free, or print a cycle
    Verify(network::verify::VerifyArgs),
    /// Order path changes so that no intermediate state can deadlock
    Plan(plan::PlanArgs),
    /// Execute a plan on running switches
    Apply(apply::ApplyArgs),
    /// The rules of all switches of a network, by etcd: proven revisions, rolled out in stages
    Fleet(fleet::FleetArgs),
    /// Compute the headroom of a lossless port by several models
    Headroom(headroom::HeadroomArgs),
    /// Simulate a network on virtual time, with the dataplane that `run` uses
    Simulate(simulate::SimulateArgs),
    /// Give a switch what another one was given at its ports, and compare what both do
    #[cfg(feature = "dpdk")]
    Replay(switch::replay::ReplayArgs),
    /// Simulate scenarios under several schemes and compare the results
    Compare(compare::CompareArgs),
    /// Simulate scenarios with many seeds and values, on several machines, and sum up
    Campaign(campaign::CampaignArgs),
    /// Write a scenario from the files of another simulator, or a switch from SONiC's
    #[command(subcommand)]
    Import(ImportCommand),
    /// Write a switch as SONiC's configuration
    #[command(subcommand)]
    Export(ExportCommand),
    /// Show and change the state of a running switch
    Ctl(ctl::CtlArgs),
    /// Capture frames of a running switch, each with what became of it and why
    #[cfg(feature = "dpdk")]
    Capture(switch::capture::CaptureArgs),
    /// Live view of a running switch: rates, queues, pauses, drops
    Top(top::TopArgs),
    /// Events of a running switch as they happen: pauses, storms, drops, links, neighbors, stalls
    Watch(watch::WatchArgs),
    /// What is slow or lossy at a port, since when, and because of what
    Why(why::WhyArgs),
    /// Walk a frame through the tables of a switch, stage by stage, without sending it
    Trace(trace::TraceArgs),
    /// Send and receive test traffic on a Linux interface; the sender obeys PFC as a RoCE NIC does
    #[command(subcommand)]
    Traffic(TrafficCommand),
    /// A RoCEv2 endpoint on a Linux interface, with PFC and congestion control as a NIC has them
    #[command(subcommand)]
    Roce(RoceCommand),
    /// Write the man pages and the completions for bash, zsh and fish
    Generate(generate::GenerateArgs),
}

fn main() -> ExitCode {
    if let Err(missing) = cpu::check() {
        output::error(missing);
        return ExitCode::from(2);
    }
    let line = match CommandLine::try_parse() {
        Ok(line) => line,
        Err(error) => return not_run(&error),
    };
    match line.command {
        #[cfg(feature = "dpdk")]
        Command::Run(arguments) => switch::run::run(&arguments),
        #[cfg(not(feature = "dpdk"))]
        Command::Run { .. } => {
            output::error("this program was built without DPDK; build it with `--features dpdk`");
            ExitCode::from(2)
        }
        Command::Check(arguments) => check::run(&arguments),
        Command::Compile(arguments) => network::compile::run(&arguments),
        Command::Verify(arguments) => network::verify::run(&arguments),
        Command::Plan(arguments) => plan::run(&arguments),
        Command::Apply(arguments) => apply::run(&arguments),
        Command::Fleet(arguments) => fleet::run(&arguments),
        Command::Headroom(arguments) => headroom::run(&arguments),
        Command::Simulate(arguments) => simulate::run(&arguments),
        #[cfg(feature = "dpdk")]
        Command::Replay(arguments) => switch::replay::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Campaign(arguments) => campaign::run(&arguments),
        Command::Import(command) => import::run(&command),
        Command::Export(command) => export::run(&command),
        Command::Ctl(arguments) => ctl::run(&arguments),
        #[cfg(feature = "dpdk")]
        Command::Capture(arguments) => switch::capture::run(&arguments),
        Command::Top(arguments) => top::run(&arguments),
        Command::Watch(arguments) => watch::run(&arguments),
        Command::Why(arguments) => why::run(&arguments),
        Command::Trace(arguments) => trace::run(&arguments),
        Command::Traffic(command) => traffic::run(&command),
        Command::Roce(command) => roce::run(&command),
        Command::Generate(arguments) => generate::run(&arguments, CommandLine::command()),
    }
}

/// Prints the requested help or version, or the error in the command line.
fn not_run(error: &clap::Error) -> ExitCode {
    let is_help = matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    if is_help {
        let _reader_is_gone = error.print();
    } else {
        output::error(format_args!("knotless: {}", usage::line(error)));
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}
