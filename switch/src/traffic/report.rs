//! The reports of the commands: a text table or one JSON object.

pub use super::pause_generator::PauseCounters;

use super::TrafficError;
use super::ttl_probe::Reroutes;
use crate::bounces::{BounceCounts, Provision};
use comfy_table::{CellAlignment, Table, presets};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::IpAddr;

/// The report of `send`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SendReport {
    /// The interface.
    pub interface: String,
    /// From the start to the end.
    pub elapsed_ns: u64,
    /// Frames that the device took, all flows together. Nothing is to be subtracted from them.
    pub frames: u64,
    /// Bytes in them, without FCS.
    pub bytes: u64,
    /// Bursts that the interface did not take whole, and that were tried again.
    pub refused: u64,
    /// What the interface itself counts as dropped meanwhile, whoever sent it: `refused`, and
    /// frames of others on this machine, such as the kernel's ARP. Never a part of `frames`: a
    /// driver tells the sender what it drops (but a veth before Linux 6.2 does not).
    pub interface_tx_dropped: u64,
    /// False with `--ignore-pfc`.
    pub pfc_obeyed: bool,
    /// Link-level PAUSE frames received, and not obeyed.
    pub link_pause_frames: u64,
    /// PFC received, by priority.
    pub priorities: Vec<PrioritySent>,
    /// The flows.
    pub flows: Vec<FlowSent>,
}

/// One priority of a sender.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PrioritySent {
    /// 0 to 7.
    pub priority: u8,
    /// Times above 0 received, refreshes included.
    pub xoff: u64,
    /// Times of 0 received.
    pub xon: u64,
    /// Times it went from sending to paused.
    pub pauses: u64,
    /// Time spent paused.
    pub paused_ns: u64,
}

/// One flow of a sender.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FlowSent {
    /// Its name.
    pub name: String,
    /// Its number.
    pub flow: u8,
    /// From where.
    pub source: IpAddr,
    /// To where.
    pub destination: IpAddr,
    /// To which MAC.
    pub destination_mac: String,
    /// The priority whose pauses stop it.
    pub priority: u8,
    /// Its DSCP.
    pub dscp: u8,
    /// Frames that the device took.
    pub frames: u64,
    /// Bytes in them, without FCS.
    pub bytes: u64,
    /// Bits per second of whole frames.
    pub rate_bps: u64,
    /// Bits per second of UDP payload.
    pub goodput_bps: u64,
    /// The time for which frames were not sent because the sender was late.
    pub forfeited_ns: u64,
}

/// The report of `recv`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RecvReport {
    /// The interface.
    pub interface: String,
    /// How long it listened.
    pub elapsed_ns: u64,
    /// Test frames, all flows together.
    pub frames: u64,
    /// Bytes in them, without FCS.
    pub bytes: u64,
    /// Test frames to another station's MAC.
    pub misdelivered: u64,
    /// Test frames with a corrupt header.
    pub damaged_headers: u64,
    /// Frames of others.
    pub other_frames: u64,
    /// Frames that reached this socket while its buffer was full: lost here, not on the way.
    pub dropped_by_own_socket: u64,
    /// Link-level PAUSE frames received.
    pub link_pause_frames: u64,
    /// PFC received, by priority.
    pub priorities: Vec<PriorityReceived>,
    /// The pauses sent.
    pub pauser: Option<PauseReport>,
    /// Times without a test frame, with `--outages`.
    #[serde(default)]
    pub outages_ns: Option<Vec<u64>>,
    /// Reroutes, with `--bounces`.
    #[serde(default)]
    pub bounces: Option<BouncesReport>,
    /// The flows.
    pub flows: Vec<FlowReceived>,
}

/// PFC received for one priority.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PriorityReceived {
    /// 0 to 7.
    pub priority: u8,
    /// Times above 0.
    pub xoff: u64,
    /// Times of 0.
    pub xon: u64,
}

/// The pauses that a receiver sent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PauseReport {
    /// For which priorities.
    pub priorities: Vec<u8>,
    /// Their counters.
    #[serde(flatten)]
    pub counters: PauseCounters,
}

/// How often frames were rerouted, by their TTLs (Tagger, Table I).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BouncesReport {
    /// How often frames bounced: a frame whose TTL is two less than the highest of its flow bounced
    /// once.
    #[serde(flatten)]
    pub counts: BounceCounts,
    /// Measurements.
    pub measurements: u64,
    /// Measurements of which not all frames had the same TTL.
    pub rerouted_measurements: u64,
    /// The share of frames that may bounce more often than provided for.
    pub share: f64,
    /// The number of bounces to provide for.
    pub provision: Provision,
}

impl BouncesReport {
    pub(super) fn new(reroutes: Reroutes, share: f64) -> Self {
        let Reroutes { counts, measurements, rerouted_measurements } = reroutes;
        let provision = counts.provision(share);
        Self { counts, measurements, rerouted_measurements, share, provision }
    }

    fn lines(&self) -> String {
        let share = |part: u64, of: u64| match of {
            0 => "-".to_owned(),
            _ => format!("{:.1e}", part as f64 / of as f64),
        };
        let rerouted = self.counts.at_least.first().copied().unwrap_or(0);
        format!(
            "\nrerouted: {rerouted} of {} frames ({}), {} of {} measurements ({})\n{}",
            self.counts.frames,
            share(rerouted, self.counts.frames),
            self.rerouted_measurements,
            self.measurements,
            share(self.rerouted_measurements, self.measurements),
            self.counts.describe(self.share),
        )
    }
}

/// One flow of a receiver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowReceived {
    /// Its name, as far as its frames have room for it; by its number if they have none.
    pub name: String,
    /// Its number.
    pub flow: u8,
    /// From where.
    pub source: IpAddr,
    /// To where.
    pub destination: IpAddr,
    /// The priority in the test payload.
    pub priority: u8,
    /// Frames received, duplicates included.
    pub frames: u64,
    /// Bytes in them, without FCS.
    pub bytes: u64,
    /// Bits per second of UDP payload, from the first frame to the last.
    pub goodput_bps: u64,
    /// The highest sequence number; they start at 0.
    pub highest_sequence: u64,
    /// Missing numbers below it. Losses after it are known from the sender's count only.
    pub lost: u64,
    /// Frames that came for the first time after a higher number (RFC 4737).
    pub reordered: u64,
    /// How many frames late the latest of them was.
    pub reorder_extent_max: u64,
    /// Frames that came again.
    pub duplicates: u64,
    /// Frames whose payload or checksums were damaged.
    pub corrupt: u64,
    /// Frames marked Congestion Experienced.
    pub ecn_ce: u64,
    /// DSCPs seen, and how often.
    pub dscp: BTreeMap<usize, u64>,
    /// PCPs seen, and how often.
    pub pcp: BTreeMap<usize, u64>,
    /// The lowest TTL seen.
    pub ttl_min: u8,
    /// The highest TTL seen.
    pub ttl_max: u8,
    /// From the sender's hand-over to its kernel to the arrival in the receiver's kernel.
    pub latency_ns: Latency,
    /// When the first frame came, after the start.
    pub first_ns: u64,
    /// When the last frame came, after the start.
    pub last_ns: u64,
}

/// A distribution, to three digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    /// The least.
    pub min: u64,
    /// The median.
    pub p50: u64,
    /// 99 in 100 are below.
    pub p99: u64,
    /// 999 in 1,000 are below.
    pub p999: u64,
    /// The most.
    pub max: u64,
}

/// Bits per second of `bytes` in `elapsed_ns`; 0 if no time passed.
pub(crate) fn rate_bps(bytes: u64, elapsed_ns: u64) -> u64 {
    let bits = u128::from(bytes) * 8 * 1_000_000_000;
    let bps = bits.checked_div(u128::from(elapsed_ns)).unwrap_or(0);
    u64::try_from(bps).unwrap_or(u64::MAX)
}

/// Prints `report` as one JSON object.
pub(crate) fn print_json(report: &impl Serialize) -> Result<(), TrafficError> {
    let text = serde_json::to_string(report).map_err(|error| written(error.into()))?;
    print(&text)
}

/// Prints names and values, one pair a line.
pub(crate) fn print_table(rows: &[(&str, String)]) -> Result<(), TrafficError> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    for (name, value) in rows {
        table.add_row([*name, value]);
    }
    print(&table.to_string())
}

fn print(text: &str) -> Result<(), TrafficError> {
    writeln!(io::stdout().lock(), "{text}").map_err(written)
}

fn written(source: io::Error) -> TrafficError {
    TrafficError::System { what: "write the report", source }
}

/// A table with `heads` over columns of which all but the first `names` hold numbers.
fn columns(heads: &[&str], names: usize, rows: impl Iterator<Item = Vec<String>>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(heads.to_vec());
    for row in rows {
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(names) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn megabits(bps: u64) -> String {
    format!("{}.{:01} Mb/s", bps / 1_000_000, bps / 100_000 % 10)
}

fn microseconds(ns: u64) -> String {
    format!("{}.{:01}", ns / 1_000, ns / 100 % 10)
}

fn list(counts: &BTreeMap<usize, u64>) -> String {
    let values: Vec<String> = counts.keys().map(ToString::to_string).collect();
    values.join(" ")
}

impl SendReport {
    /// Prints it as text.
    pub fn print(&self) -> Result<(), TrafficError> {
        let heads =
            ["flow", "to", "priority", "DSCP", "frames", "bytes", "rate", "goodput", "late us"];
        let rows = self.flows.iter().map(|flow| {
            vec![
                flow.name.clone(),
                flow.destination.to_string(),
                flow.priority.to_string(),
                flow.dscp.to_string(),
                flow.frames.to_string(),
                flow.bytes.to_string(),
                megabits(flow.rate_bps),
                megabits(flow.goodput_bps),
                microseconds(flow.forfeited_ns),
            ]
        });
        print(&columns(&heads, 2, rows).to_string())?;
        let received = |class: &&PrioritySent| class.xoff + class.xon > 0;
        let rows = self.priorities.iter().filter(received).map(|class| {
            vec![
                class.priority.to_string(),
                class.xoff.to_string(),
                class.xon.to_string(),
                class.pauses.to_string(),
                microseconds(class.paused_ns),
            ]
        });
        let heads = ["priority", "XOFF", "XON", "pauses", "paused us"];
        let table = columns(&heads, 0, rows);
        if !table.is_empty() {
            print(&format!("\n{table}"))?;
        }
        print(&format!(
            "\n{} frames in {} us on {}; {} refused and tried again{}",
            self.frames,
            microseconds(self.elapsed_ns),
            self.interface,
            self.refused,
            if self.pfc_obeyed { "" } else { "; PFC ignored" },
        ))
    }
}

impl RecvReport {
    /// Prints it as text.
    pub fn print(&self) -> Result<(), TrafficError> {
        let heads = [
            "flow",
            "from",
            "frames",
            "goodput",
            "lost",
            "reordered",
            "duplicate",
            "corrupt",
            "CE",
            "DSCP",
            "p50 us",
            "p99 us",
            "p99.9 us",
            "max us",
        ];
        let rows = self.flows.iter().map(|flow| {
            vec![
                flow.name.clone(),
                flow.source.to_string(),
                flow.frames.to_string(),
                megabits(flow.goodput_bps),
                flow.lost.to_string(),
                flow.reordered.to_string(),
                flow.duplicates.to_string(),
                flow.corrupt.to_string(),
                flow.ecn_ce.to_string(),
                list(&flow.dscp),
                microseconds(flow.latency_ns.p50),
                microseconds(flow.latency_ns.p99),
                microseconds(flow.latency_ns.p999),
                microseconds(flow.latency_ns.max),
            ]
        });
        print(&columns(&heads, 2, rows).to_string())?;
        if let Some(PauseReport { counters, .. }) = &self.pauser {
            print(&format!(
                "\n{} pauses asked for, {} lapses; at most {} bytes came after an XOFF, the last {} us \
                 later",
                counters.pauses,
                counters.lapses,
                counters.bytes_after_xoff_max,
                microseconds(counters.ns_after_xoff_max),
            ))?;
        }
        if let Some(outages_ns) = &self.outages_ns {
            let longest_ns = outages_ns.iter().max().copied().unwrap_or_default();
            let (count, longest) = (outages_ns.len(), microseconds(longest_ns));
            print(&format!("\n{count} outages, the longest {longest} us"))?;
        }
        if let Some(bounces) = &self.bounces {
            print(&bounces.lines())?;
        }
        print(&format!(
            "\n{} frames in {} us on {}; {} dropped by this socket, {} misdelivered, \
             {} damaged headers, {} other frames",
            self.frames,
            microseconds(self.elapsed_ns),
            self.interface,
            self.dropped_by_own_socket,
            self.misdelivered,
            self.damaged_headers,
            self.other_frames,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_bits_a_second() {
        assert_eq!(rate_bps(1_000, 8_000), 1_000_000_000);
        assert_eq!(rate_bps(1_000, 0), 0);
        assert_eq!(rate_bps(u64::MAX, 1), u64::MAX);
    }

    #[test]
    fn numbers_are_printed_with_their_unit() {
        assert_eq!(megabits(49_960_000), "49.9 Mb/s");
        assert_eq!(microseconds(12_345), "12.3");
        assert_eq!(list(&BTreeMap::from([(26, 3), (4, 1)])), "4 26");
    }
}
