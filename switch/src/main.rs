//! The program `knotless`.
#![deny(unsafe_code)]

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use std::process::ExitCode;
use switch::traffic::{self, TrafficCommand};
use switch::{
    apply, check, compare, cpu, ctl, headroom, network, output, plan, simulate, top, usage,
};

/// A lossless Ethernet switch in software.
///
/// Exit codes: 0 it worked; 1 it failed, or what was to be proven is not so; 2 the input is wrong,
/// or the program cannot start.
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
    /// From a topology and its lossless paths to each switch's rules, proven free of deadlock
    Compile(network::compile::CompileArgs),
    /// Prove that a network's rules cannot deadlock, or show how they can
    Verify(network::verify::VerifyArgs),
    /// Change paths without passing through a deadlock: what must wait for what
    Plan(plan::PlanArgs),
    /// Carry out a plan on running switches
    Apply(apply::ApplyArgs),
    /// What a lossless port must keep free, by every model
    Headroom(headroom::HeadroomArgs),
    /// Run a whole network on virtual time, on the very code that carries frames
    Simulate(simulate::SimulateArgs),
    /// Put the schemes side by side under the same failures
    Compare(compare::CompareArgs),
    /// Talk to a running switch
    Ctl(ctl::CtlArgs),
    /// Watch a running switch
    Top(top::TopArgs),
    /// Send, receive and measure traffic on a Linux interface, obeying PFC as a RoCE NIC does
    #[command(subcommand)]
    Traffic(TrafficCommand),
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
        Command::Headroom(arguments) => headroom::run(&arguments),
        Command::Simulate(arguments) => simulate::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Ctl(arguments) => ctl::run(&arguments),
        Command::Top(arguments) => top::run(&arguments),
        Command::Traffic(command) => traffic::run(&command),
    }
}

/// Prints the help or the version that was asked for, or what is wrong with the command line.
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
