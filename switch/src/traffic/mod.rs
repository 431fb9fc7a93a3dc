//! Test traffic: a sender that obeys PFC as a RoCE NIC does, and a receiver that measures loss,
//! reordering, duplication, corruption and latency.
//!
//! A Linux host ignores PFC, so it can overrun any headroom behind a software switch. This sender
//! checks for a pause before every burst that it hands to the kernel (by default a burst is one
//! frame). It runs on any Linux interface, such as the kernel's end of a `net_tap` port or one end
//! of a veth, and needs CAP_NET_RAW and CAP_NET_ADMIN there.
//!
//! These modules do no IO and take the time as an argument: [`schedule`], [`pause_generator`],
//! [`sequence`], [`ttl_probe`], [`payload`], [`frame`]. [`socket`], [`interface`] and [`clock`]
//! call the system. The commands combine them.

pub(crate) mod clock;
mod flow;
mod frame;
pub(crate) mod interface;
mod outages;
mod pause_generator;
mod payload;
mod pfc;
mod pfc_socket;
mod recv;
pub mod report;
mod rx_stats;
mod schedule;
mod send;
mod sequence;
pub(crate) mod socket;
mod ttl_probe;

pub use pfc::PfcArgs;
pub use recv::RecvArgs;
pub use send::SendArgs;

use crate::output;
use crate::stop_flag::StopFlag;
use clap::Subcommand;
use config::units::{UnitError, parse_rate_bps};
use std::io;
use std::net::IpAddr;
use std::process::ExitCode;
use thiserror::Error;

/// `knotless traffic ...`
#[derive(Debug, Subcommand)]
pub enum TrafficCommand {
    /// Send test frames at a given rate; pause for PFC as a RoCE NIC does
    Send(SendArgs),
    /// Receive test frames; report loss, reordering, duplicates, corruption and latency
    Recv(RecvArgs),
    /// The old name of `recv`
    #[command(hide = true)]
    Sink(RecvArgs),
    /// Send PFC frames
    Pfc(PfcArgs),
}

/// Why a traffic command ended before its work was done.
#[derive(Debug, Error)]
pub enum TrafficError {
    /// No such interface here.
    #[error("no interface `{interface}` in this network namespace")]
    NoInterface {
        /// The name given.
        interface: String,
    },
    /// The interface is down, or went away.
    #[error("interface {interface} is down; `ip link set {interface} up` first")]
    InterfaceDown {
        /// Its name.
        interface: String,
    },
    /// A frame that the interface does not take.
    #[error("a frame of {bytes} bytes is longer than the MTU of {interface} allows")]
    FrameTooLong {
        /// Its name.
        interface: String,
        /// Length of the frame, Ethernet header included.
        bytes: usize,
    },
    /// The address cannot be resolved.
    #[error("cannot reach {destination} by {interface}: {why}")]
    Unresolved {
        /// Where frames should go.
        destination: IpAddr,
        /// The interface they should leave by.
        interface: String,
        /// The error.
        why: String,
    },
    /// Options that do not fit together.
    #[error("{0}")]
    Arguments(String),
    /// The operating system refuses.
    #[error("cannot {what}: {source}")]
    System {
        /// What was to be done.
        what: &'static str,
        /// The error.
        source: io::Error,
    },
}

impl TrafficError {
    /// 2 for bad input, 1 for what failed on good input.
    pub(crate) const fn exit_code(&self) -> u8 {
        match self {
            Self::NoInterface { .. } | Self::FrameTooLong { .. } | Self::Arguments(_) => 2,
            Self::InterfaceDown { .. } | Self::Unresolved { .. } | Self::System { .. } => 1,
        }
    }
}

/// Runs `command` and prints its report; an error is one line on stderr.
pub fn run(command: &TrafficCommand) -> ExitCode {
    let ended = match command {
        TrafficCommand::Send(arguments) => send::run(arguments),
        TrafficCommand::Recv(arguments) => recv::run(arguments),
        TrafficCommand::Sink(arguments) => {
            print_line("`traffic sink` is now `traffic recv`");
            recv::run(arguments)
        }
        TrafficCommand::Pfc(arguments) => pfc::run(arguments),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print_line(&error.to_string());
            ExitCode::from(error.exit_code())
        }
    }
}

/// Prints a line on stderr; write errors are ignored.
fn print_line(what: &str) {
    output::error(format_args!("knotless traffic: {what}"));
}

/// A flag that SIGINT and SIGTERM set.
pub(crate) fn stop_flag() -> Result<StopFlag, TrafficError> {
    StopFlag::on_signals().map_err(|source| TrafficError::System { what: "catch signals", source })
}

/// The longest sleep, which bounds the delay of a signal that arrives just before it.
const SLEEP_NS_MAX: u64 = 50_000_000;

/// Sets the timer slack to 1 ns; the default delays a wake-up by up to 50 us.
pub(crate) fn set_timer_slack() -> Result<(), TrafficError> {
    nix::sys::prctl::set_timerslack(1).map_err(|source| TrafficError::System {
        what: "set the timer slack",
        source: source.into(),
    })
}

/// A PFC priority on the command line.
pub(crate) fn priority(text: &str) -> Result<dataplane::ids::Priority, String> {
    let value = text.parse().ok().and_then(dataplane::ids::Priority::new);
    value.ok_or_else(|| format!("`{text}` is not a priority from 0 to 7"))
}

/// The speed of a link on the command line.
pub(crate) fn speed(text: &str) -> Result<dataplane::time::Speed, UnitError> {
    parse_rate_bps(text).map(dataplane::time::Speed::from_bps)
}
