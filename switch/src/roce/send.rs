//! `knotless roce send`: a file to a `recv`, message by message.

use super::RoceError;
use super::args::LinkArgs;
use super::client::Requester;
use super::report::{BenchReport, EndpointReport, goodputs, latency};
use crate::traffic::report::rate_bps;
use crate::traffic::{set_timer_slack, stop_flag};
use clap::Args;
use config::units::parse_size;
use dataplane::time::Instant;
use roce::work::Operation;
use std::net::IpAddr;
use std::path::PathBuf;

/// Arguments of `send`.
#[derive(Debug, Args)]
pub struct SendArgs {
    /// The file
    file: PathBuf,
    /// The other side: `knotless roce recv --to FILE`
    peer: IpAddr,
    #[command(flatten)]
    link: LinkArgs,
    /// Bytes of one message, at most the `recv --size` of the other side
    #[arg(long, default_value = "64KiB", value_parser = parse_size)]
    size: u64,
}

/// Messages in flight: no more than a receiver's buffers, so that none is refused.
const DEPTH: usize = 16;

/// Runs the command.
pub(super) fn run(arguments: &SendArgs) -> Result<(), RoceError> {
    let link = &arguments.link;
    link.check()?;
    if link.qps != 1 {
        let what = "--qps: a file goes by one queue pair, whose messages come in order";
        return Err(RoceError::Arguments(what.to_owned()));
    }
    let stop = stop_flag()?;
    set_timer_slack()?;
    let file = &arguments.file;
    let bytes =
        std::fs::read(file).map_err(|source| RoceError::File { file: file.clone(), source })?;
    let total = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    let size = arguments.size.clamp(1, 1 << 30);
    let mut requester = Requester::connect(link, arguments.peer, bytes, true)?;
    let start = requester.driver.now();
    let mut sent = 0;
    let mut is_over = false;
    requester.run(DEPTH, Instant::NEVER, &stop, true, |_| {
        if is_over {
            return None;
        }
        let (from, message) = (sent, size.min(total - sent));
        sent += message;
        is_over = sent == total;
        // The last one says so.
        let operation = Operation::Send { immediate: is_over.then_some(0) };
        Some((operation, from, u32::try_from(message).unwrap_or(0)))
    })?;
    let elapsed_ns = requester.driver.now().ns_since(start);
    let by_pair = requester.bytes();
    let report = BenchReport {
        interface: link.dev.clone(),
        peer: arguments.peer,
        op: "send".to_owned(),
        size,
        mtu: requester.mtu,
        qps: 1,
        ops: requester.ops,
        elapsed_ns,
        goodput_bps: rate_bps(by_pair.iter().sum(), elapsed_ns),
        goodput_bps_by_qp: goodputs(&by_pair, elapsed_ns),
        latency_ns: latency(&requester.latencies),
        endpoint: EndpointReport::of(&requester.driver)?,
    };
    report.print(link.json)?;
    requester.end()?;
    if sent < total { Err(RoceError::Stopped) } else { Ok(()) }
}
