//! `knotless roce bench`: keeps operations in flight, and measures.

use super::RoceError;
use super::args::LinkArgs;
use super::client::Requester;
use super::report::{BenchReport, EndpointReport, goodputs, latency};
use crate::traffic::report::rate_bps;
use crate::traffic::{set_timer_slack, stop_flag};
use clap::{Args, ValueEnum};
use config::units::{parse_count, parse_duration_ns, parse_size};
use dataplane::time::Instant;
use roce::wire::AtomicOperation;
use roce::work::{Operation, Remote};
use std::net::IpAddr;

/// Arguments of `bench`.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// The other side: `knotless roce recv`, or a server of perftest (`ib_write_bw`, ...)
    peer: IpAddr,
    #[command(flatten)]
    link: LinkArgs,
    /// The operation
    #[arg(long, value_enum, default_value = "write")]
    op: Op,
    /// Bytes of one operation; 8 for atomics
    #[arg(long, default_value = "64KiB", value_parser = parse_size)]
    size: u64,
    /// Operations in all [default: until --duration]
    #[arg(long, value_parser = parse_count, value_name = "COUNT")]
    ops: Option<u64>,
    /// How long to go on after the warm-up [default: 10s without --ops]
    #[arg(long, value_parser = parse_duration_ns, value_name = "TIME")]
    duration: Option<u64>,
    /// How long to go on before measuring
    #[arg(long, default_value = "0s", value_parser = parse_duration_ns, value_name = "TIME")]
    warmup: u64,
    /// Operations in flight on a queue pair
    #[arg(long, default_value_t = 16, value_name = "COUNT",
          value_parser = clap::value_parser!(u32).range(1..=1_000))]
    depth: u32,
}

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Op {
    /// Write to the peer's memory
    Write,
    /// Read the peer's memory
    Read,
    /// Send messages into the peer's receive buffers
    Send,
    /// Add 1 to a number in the peer's memory
    FetchAdd,
    /// Compare and swap a number in the peer's memory
    CompareSwap,
}

impl Op {
    const fn is_atomic(self) -> bool {
        matches!(self, Self::FetchAdd | Self::CompareSwap)
    }

    const fn on(self, remote: Remote) -> Operation {
        match self {
            Self::Write => Operation::Write { remote, immediate: None },
            Self::Read => Operation::Read { remote },
            Self::Send => Operation::Send { immediate: None },
            Self::FetchAdd => {
                Operation::Atomic { remote, operation: AtomicOperation::FetchAdd { add: 1 } }
            }
            Self::CompareSwap => {
                let operation = AtomicOperation::CompareSwap { compare: 0, swap: 1 };
                Operation::Atomic { remote, operation }
            }
        }
    }
}

/// How long without `--ops` and `--duration`.
const DURATION_NS: u64 = 10_000_000_000;
/// What memory begins with.
const FILL: u8 = 0x5A;

/// Runs the command.
pub(super) fn run(arguments: &BenchArgs) -> Result<(), RoceError> {
    let link = &arguments.link;
    link.check()?;
    let stop = stop_flag()?;
    set_timer_slack()?;
    let size = if arguments.op.is_atomic() { 8 } else { arguments.size };
    let bytes = u32::try_from(size)
        .ok()
        .filter(|&bytes| bytes <= 1 << 30)
        .ok_or_else(|| RoceError::Arguments(format!("--size: {size} bytes are more than 1 GiB")))?;
    let memory = vec![FILL; usize::try_from(size.max(8)).unwrap_or(0)];
    let sends = arguments.op == Op::Send;
    let mut requester = Requester::connect(link, arguments.peer, memory, sends)?;
    let depth = usize::try_from(arguments.depth).unwrap_or(1);
    let operation = |remote| Some((arguments.op.on(remote), 0, bytes));
    let start = requester.driver.now();
    if arguments.warmup > 0 {
        requester.run(depth, start + arguments.warmup, &stop, false, operation)?;
    }
    requester.measure();
    let start = requester.driver.now();
    let paused_before_ns = requester.driver.paused_ns();
    let mut left = arguments.ops.unwrap_or(u64::MAX);
    let duration_ns = match (arguments.ops, arguments.duration) {
        (None, None) => Some(DURATION_NS),
        (_, duration_ns) => duration_ns,
    };
    let until = duration_ns.map_or(Instant::NEVER, |ns| start + ns);
    // What completes after the time is over is not measured, but waited for.
    let is_timed = duration_ns.is_some();
    requester.run(depth, until, &stop, !is_timed, |remote| {
        left = left.checked_sub(1)?;
        operation(remote)
    })?;
    let elapsed_ns = requester.driver.now().ns_since(start);
    let by_pair = requester.bytes();
    let (ops, latency_ns) = (requester.ops, latency(&requester.latencies));
    let paused_ns = requester.driver.paused_ns() - paused_before_ns;
    requester.run(depth, start, &stop, true, |_| None)?;
    let mut endpoint = EndpointReport::of(&requester.driver)?;
    endpoint.paused_ns = paused_ns;
    let report = BenchReport {
        interface: link.dev.clone(),
        peer: arguments.peer,
        op: arguments.op.to_possible_value().map_or_else(String::new, |it| it.get_name().into()),
        size,
        mtu: requester.mtu,
        qps: link.qps,
        ops,
        elapsed_ns,
        goodput_bps: rate_bps(by_pair.iter().sum(), elapsed_ns),
        goodput_bps_by_qp: goodputs(&by_pair, elapsed_ns),
        latency_ns,
        endpoint,
    };
    report.print(link.json)?;
    requester.end()
}
