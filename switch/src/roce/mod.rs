//! RoCEv2 on a Linux interface: an endpoint of crate `roce` behind a packet socket, which obeys PFC
//! as a NIC does. The other side is another one, or a program of perftest on a NIC or on soft-RoCE.
//!
//! [`driver`] moves packets. [`exchange`] speaks to the other side about queue pairs, [`client`]
//! keeps work in flight, and the commands combine them.

mod args;
mod backlog;
mod bench;
mod client;
mod congestion_args;
mod driver;
mod exchange;
mod recv;
pub mod report;
mod send;

pub use bench::BenchArgs;
pub use recv::RecvArgs;
pub use send::SendArgs;

use crate::output;
use crate::traffic::TrafficError;
use clap::Subcommand;
use roce::wire::NakCode;
use roce::work::{PostError, Status};
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use thiserror::Error;

/// `knotless roce ...`
#[derive(Debug, Subcommand)]
pub enum RoceCommand {
    /// Send a file to a `recv`, by SEND
    Send(SendArgs),
    /// Let peers write, read and change memory, and receive their messages
    Recv(RecvArgs),
    /// Keep operations in flight; report goodput, latency, repetitions and pauses
    Bench(BenchArgs),
}

/// Why a RoCE command ended before its work was done.
#[derive(Debug, Error)]
pub enum RoceError {
    /// Of the interface, its socket or the report.
    #[error(transparent)]
    Traffic(#[from] TrafficError),
    /// The exchange of queue pairs.
    #[error("{peer}: {why}")]
    Exchange {
        /// The other side.
        peer: SocketAddr,
        /// What is wrong.
        why: String,
    },
    /// The port is taken.
    #[error("cannot listen on TCP port {port}: {source}")]
    Listen {
        /// The port.
        port: u16,
        /// The error.
        source: io::Error,
    },
    /// A request that the endpoint refuses.
    #[error("cannot post a request: {0}")]
    Post(#[from] PostError),
    /// An operation that failed.
    #[error("an operation failed: {}", why(*.0))]
    Operation(Status),
    /// A file that cannot be read or written.
    #[error("{}: {source}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// A signal came before a file was sent.
    #[error("stopped before the file was sent")]
    Stopped,
    /// It listened, and nobody came.
    #[error("no peer came")]
    NoPeer,
    /// Options that do not fit together.
    #[error("{0}")]
    Arguments(String),
}

impl RoceError {
    /// 2 for bad input, 1 for what failed on good input.
    const fn exit_code(&self) -> u8 {
        match self {
            Self::Traffic(error) => error.exit_code(),
            Self::Arguments(_) => 2,
            _ => 1,
        }
    }
}

fn why(status: Status) -> &'static str {
    match status {
        Status::Success => "it did not",
        Status::Refused(NakCode::InvalidRequest) => "the peer takes no such request",
        Status::Refused(NakCode::RemoteAccess) => {
            "the peer has no such memory; is its size enough?"
        }
        Status::Refused(_) => "the peer cannot go on",
        Status::RetriesExceeded => "the peer does not answer",
        Status::RnrRetriesExceeded => "the peer posts no receive buffer",
        Status::LocalLength => "a message is longer than its buffer",
        Status::Flushed => "the connection has failed before",
    }
}

/// Runs `command` and prints its report; an error is one line on stderr.
pub fn run(command: &RoceCommand) -> ExitCode {
    let ended = match command {
        RoceCommand::Send(arguments) => send::run(arguments),
        RoceCommand::Recv(arguments) => recv::run(arguments),
        RoceCommand::Bench(arguments) => bench::run(arguments),
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
    output::error(format_args!("knotless roce: {what}"));
}
