//! The reports of the commands.

use super::RoceError;
use super::driver::Driver;
use crate::traffic::report::{Latency, print_json, print_table, rate_bps};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// The report of `bench` and `send`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BenchReport {
    /// The interface.
    pub interface: String,
    /// The other side.
    pub peer: IpAddr,
    /// What was done: `write`, `read`, `send`, `fetch-add` or `compare-swap`.
    pub op: String,
    /// Bytes of one operation.
    pub size: u64,
    /// Payload bytes of a full packet.
    pub mtu: u32,
    /// Queue pairs.
    pub qps: u32,
    /// Operations that were completed in the measured time.
    pub ops: u64,
    /// The measured time: from the end of the warm-up to the last completion.
    pub elapsed_ns: u64,
    /// Bits a second of payload.
    pub goodput_bps: u64,
    /// The same, by queue pair.
    pub goodput_bps_by_qp: Vec<u64>,
    /// From the posting of an operation to its completion.
    pub latency_ns: Latency,
    /// What is common to all commands.
    #[serde(flatten)]
    pub endpoint: EndpointReport,
}

/// The report of `recv`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RecvReport {
    /// The interface.
    pub interface: String,
    /// How long it listened.
    pub elapsed_ns: u64,
    /// Peers that came and went.
    pub sessions: u64,
    /// Messages received by SEND.
    pub messages: u64,
    /// Bytes in them.
    pub message_bytes: u64,
    /// What is common to all commands.
    #[serde(flatten)]
    pub endpoint: EndpointReport,
}

/// What an endpoint has counted.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EndpointReport {
    /// Times its priority was paused.
    pub pauses: u64,
    /// For how long.
    pub paused_ns: u64,
    /// Pauses that it made, because it could not keep up.
    pub pauses_made: u64,
    /// Bursts that the interface did not take whole, and that were tried again.
    pub refused: u64,
    /// Frames that reached its socket while the buffer was full.
    pub dropped_by_own_socket: u64,
    /// The endpoint's counters.
    pub counters: BTreeMap<String, u64>,
}

impl EndpointReport {
    /// Of a driver, now.
    ///
    /// # Errors
    /// The system call fails.
    pub(super) fn of(driver: &Driver) -> Result<Self, RoceError> {
        let (pauses, pauses_made) = driver.pauses();
        let counters = driver.endpoint.counters().named();
        Ok(Self {
            pauses,
            paused_ns: driver.paused_ns(),
            pauses_made,
            refused: driver.refused,
            dropped_by_own_socket: driver.socket_drops()?,
            counters: counters.map(|(name, value)| (name.to_owned(), value)).collect(),
        })
    }

    /// What is not zero.
    fn rows(&self) -> Vec<(&str, String)> {
        let mut rows = vec![
            ("pauses of its priority", self.pauses.to_string()),
            ("paused us", microseconds(self.paused_ns)),
        ];
        let more = [
            ("pauses made", self.pauses_made),
            ("refused by the interface and tried again", self.refused),
            ("dropped by its own socket", self.dropped_by_own_socket),
        ];
        let counters = self.counters.iter().map(|(name, value)| (name.as_str(), *value));
        let not_zero = more.into_iter().chain(counters).filter(|(_, value)| *value > 0);
        rows.extend(not_zero.map(|(name, value)| (name, value.to_string())));
        rows
    }
}

/// Percentiles of a histogram.
pub(super) fn latency(histogram: &Histogram<u64>) -> Latency {
    let at = |quantile| histogram.value_at_quantile(quantile);
    Latency {
        min: histogram.min(),
        p50: at(0.5),
        p99: at(0.99),
        p999: at(0.999),
        max: histogram.max(),
    }
}

/// Bits a second, by queue pair.
pub(super) fn goodputs(bytes: &[u64], elapsed_ns: u64) -> Vec<u64> {
    bytes.iter().map(|&bytes| rate_bps(bytes, elapsed_ns)).collect()
}

fn microseconds(ns: u64) -> String {
    format!("{}.{:01}", ns / 1_000, ns / 100 % 10)
}

fn megabits(bps: u64) -> String {
    format!("{}.{:01} Mb/s", bps / 1_000_000, bps / 100_000 % 10)
}

impl BenchReport {
    /// Prints it, as text or as JSON.
    pub(super) fn print(&self, json: bool) -> Result<(), RoceError> {
        if json {
            return Ok(print_json(self)?);
        }
        let Latency { min, p50, p99, p999, max } = self.latency_ns;
        let slowest = self.goodput_bps_by_qp.iter().copied().min().unwrap_or(0);
        let mut rows = vec![
            ("interface", self.interface.clone()),
            ("peer", self.peer.to_string()),
            ("operation", format!("{} of {} bytes, MTU {}", self.op, self.size, self.mtu)),
            ("queue pairs", self.qps.to_string()),
            ("operations", format!("{} in {} us", self.ops, microseconds(self.elapsed_ns))),
            ("goodput", megabits(self.goodput_bps)),
            ("goodput of the slowest queue pair", megabits(slowest)),
            (
                "latency us: min, median, 99 %, 99.9 %, max",
                [min, p50, p99, p999, max].map(microseconds).join(", "),
            ),
        ];
        rows.extend(self.endpoint.rows());
        Ok(print_table(&rows)?)
    }
}

impl RecvReport {
    /// Prints it, as text or as JSON.
    pub(super) fn print(&self, json: bool) -> Result<(), RoceError> {
        if json {
            return Ok(print_json(self)?);
        }
        let mut rows = vec![
            ("interface", self.interface.clone()),
            ("listened us", microseconds(self.elapsed_ns)),
            ("sessions", self.sessions.to_string()),
            ("messages", self.messages.to_string()),
            ("bytes in messages", self.message_bytes.to_string()),
        ];
        rows.extend(self.endpoint.rows());
        Ok(print_table(&rows)?)
    }
}
