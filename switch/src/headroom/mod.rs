//! `knotless headroom`: the headroom of a lossless port by several models.

mod assumptions;

use crate::ctl::tables::{numbers, text};
use crate::output;
use clap::{Args, ValueEnum};
use config::gfc;
use config::headroom::{
    Chip, Link, Software, SonicAsic, charged_bytes, eq_14, needed_bytes, paper, response_quanta,
    sonic, standard,
};
use config::units::{Length, parse_duration_ns, parse_length, parse_size, parse_speed, show_size};
use dataplane::queue::pacer::CATCH_UP_NS;
use dataplane::time::Speed;
use serde_json::json;
use std::process::ExitCode;

/// The polling gap that the switch assumes by default.
const POLL_NS: u64 = 20_000;
/// Its buffer cell.
const CELL_BYTES: u16 = 256;

/// `knotless headroom`
#[derive(Debug, Args)]
pub struct HeadroomArgs {
    /// Speed of the link, such as 40G
    #[arg(long, value_parser = speed)]
    speed: Speed,
    /// Length of the cable, such as 300m
    #[arg(long, value_parser = length)]
    length: Length,
    /// The longest frame, in bytes
    #[arg(long, value_parser = mtu)]
    mtu: u32,
    /// Time that the peer takes to stop, such as 4.5us, instead of the quanta of 802.3
    #[arg(long, value_name = "TIME", value_parser = duration)]
    response: Option<u64>,
    /// Bytes of a chip's buffer that a byte on the wire takes at worst, such as 2.25
    #[arg(long, value_name = "RATIO", value_parser = ratio)]
    occupancy: Option<u64>,
    #[command(flatten)]
    asic: AsicArgs,
    /// Show one model only
    #[arg(long, value_enum)]
    model: Option<Model>,
    /// Ports of the switch, for the total headroom of section 2.1 of the TTL paper
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u64).range(1..=256))]
    ports: u64,
    /// Lossless classes of the switch, for the total of a whole switch
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=8))]
    classes: u64,
    /// GFC: senders that may share an egress port, over all switches of a path
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..=4096))]
    senders: u64,
    /// Buffer of the switch, of which that total is shown as a share
    #[arg(long, default_value = "12MB", value_parser = size)]
    buffer: u64,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// What SONiC's formula knows of a chip; the defaults are Spectrum-2.
#[derive(Clone, Debug, Args)]
struct AsicArgs {
    /// SONiC: bytes of a buffer cell
    #[arg(long, value_name = "SIZE", default_value = "144", value_parser = cell)]
    cell: u64,
    /// SONiC: share of 64-byte frames in lossless traffic, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 100,
        value_parser = clap::value_parser!(u64).range(0..=100))]
    small_packets: u64,
    /// SONiC: the longest lossless frame, in bytes [default: the MTU]
    #[arg(long, value_name = "SIZE", value_parser = mtu)]
    lossless_mtu: Option<u32>,
    /// SONiC: delay of a gearbox, for each direction
    #[arg(long, value_name = "TIME", default_value = "0us", value_parser = duration)]
    gearbox: u64,
}

impl AsicArgs {
    fn asic(&self) -> SonicAsic {
        SonicAsic {
            cell_bytes: self.cell,
            small_packet_percent: self.small_packets,
            lossless_mtu_bytes: self.lossless_mtu,
            gearbox_ns: self.gearbox,
            ..SonicAsic::SPECTRUM_2
        }
    }
}

/// The models by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Model {
    /// Eq. 14 of the TTL paper: a response time of 60 quanta at every speed
    Paper,
    /// Eq. 14 with the response time that IEEE 802.3 allows at this speed
    #[value(name = "802.3")]
    Standard,
    /// SONiC's formula; `--cell`, `--small-packets`, `--lossless-mtu` and `--gearbox` are its chip
    Sonic,
    /// Eq. 14 with response time and cell occupancy of hardware chips
    Chip,
    /// Gentle flow control (GFC): the free space that it needs below a full queue
    Gfc,
}

fn speed(word: &str) -> Result<Speed, String> {
    parse_speed(word).map_err(|error| error.to_string())
}

fn length(word: &str) -> Result<Length, String> {
    parse_length(word).map_err(|error| error.to_string())
}

fn duration(word: &str) -> Result<u64, String> {
    let ns = parse_duration_ns(word).map_err(|error| error.to_string())?;
    let longest_ns = 1_000_000_000;
    let is_short = ns <= longest_ns;
    is_short.then_some(ns).ok_or_else(|| format!("`{word}` is out of range; use at most 1s"))
}

/// A ratio of 1 to 100, in percent.
fn ratio(word: &str) -> Result<u64, String> {
    let value = word.parse::<f64>().ok().filter(|value| (1.0..=100.0).contains(value));
    let percent = value.map(|value| format!("{:.0}", value * 100.0)).and_then(|p| p.parse().ok());
    percent.ok_or_else(|| format!("`{word}` is not an occupancy; use 1 to 100, such as 2.25"))
}

fn cell(word: &str) -> Result<u64, String> {
    let bytes = parse_size(word).map_err(|error| error.to_string())?;
    let is_cell = (1..=65_536).contains(&bytes);
    is_cell.then_some(bytes).ok_or_else(|| format!("`{word}` is not a cell; use 1 to 65536"))
}

fn mtu(word: &str) -> Result<u32, String> {
    let bytes = parse_size(word).map_err(|error| error.to_string())?;
    let bytes = u32::try_from(bytes).ok().filter(|bytes| (64..=65_535).contains(bytes));
    bytes.ok_or_else(|| format!("`{word}` is not an MTU; use 64 to 65535"))
}

fn size(word: &str) -> Result<u64, String> {
    let bytes = parse_size(word).map_err(|error| error.to_string())?;
    if bytes < 1_000 {
        Err(format!("`{word}` is not a buffer size; use 1KB or more"))
    } else {
        Ok(bytes)
    }
}

/// The total of section 2.1 of the TTL paper: the headroom of all ports and classes of a switch, in
/// KB rounded up for each; half of it on a tree; and its share of the buffer.
struct Whole {
    switch_kb: u64,
    tree_kb: u64,
    /// Thousandths of the buffer, the half's. The TTL paper counts 1,024 KB to the MB.
    tree_permille: u64,
}

impl Whole {
    fn of(headroom_bytes: u64, arguments: &HeadroomArgs) -> Self {
        let switch_kb = headroom_bytes.div_ceil(1_000) * arguments.ports * arguments.classes;
        let buffer_kb = (arguments.buffer / 1_000) * 1_024 / 1_000;
        let tree_permille = (switch_kb / 2 * 1_000).checked_div(buffer_kb).unwrap_or(0);
        Self { switch_kb, tree_kb: switch_kb / 2, tree_permille }
    }
}

/// One line of the answer.
struct Line {
    model: Model,
    name: &'static str,
    key: &'static str,
    bytes: u64,
    remark: String,
}

fn lines(link: &Link, arguments: &HeadroomArgs) -> Vec<Line> {
    let line = |model, name, key, bytes, remark: &str| {
        let remark = remark.to_owned();
        Line { model, name, key, bytes, remark }
    };
    let quanta = response_quanta(link.speed);
    let (by_paper, by_standard) = (paper(link), standard(link));
    let safe = if by_paper < by_standard {
        format!("too small at this speed: 802.3 allows {quanta} quanta")
    } else {
        "60 quanta are enough at this speed".to_owned()
    };
    let safer = format!("eq. 14 with {quanta} quanta: the safe one of the two");
    let asic = arguments.asic.asic();
    let by_sonic = sonic(link, &asic);
    let cells = if asic == SonicAsic::SPECTRUM_2 {
        "Spectrum-2, all frames short, whole cells of 144 B".to_owned()
    } else {
        format!("cells of {} B, {} % of frames short", asic.cell_bytes, asic.small_packet_percent)
    };
    let delay = eq_14(link);
    let senders = arguments.senders;
    let (theorem, staged) = (gfc::theorem(delay), gfc::staged(delay));
    let frame_bytes = u64::from(link.mtu_bytes);
    let tight = gfc::tight(delay) + frame_bytes;
    let slack = gfc::slack(frame_bytes, senders, 0);
    let spread = format!("XOFF - Bm at least: a frame, and a byte for each of {senders} senders");
    let queues =
        format!("the same for {senders} queues up to XOFF, which the buffer must hold together");
    let mut lines = vec![
        line(Model::Paper, "paper, eq. 14", "paper", by_paper, &safe),
        line(Model::Standard, "IEEE 802.3", "802.3", by_standard, &safer),
        line(Model::Sonic, "SONiC", "sonic", by_sonic, &cells),
        line(Model::Gfc, "GFC, C tau", "gfc_c_tau", delay, &gfc_messages(link, delay)),
        line(Model::Gfc, "GFC, theorem 4.1", "gfc_theorem", theorem, "Bm - B0 at least, 4 C tau"),
        line(Model::Gfc, "GFC, tight", "gfc_tight", tight, "the same, e C tau and a frame"),
        line(Model::Gfc, "GFC, in stages", "gfc_staged", staged, "Bm - B1 at least, 2 C tau"),
        line(Model::Gfc, "GFC, slack", "gfc_slack", slack, &spread),
        line(
            Model::Gfc,
            "GFC, below XOFF",
            "gfc_below_xoff",
            staged + slack,
            "XOFF - B1 at least, stages and slack: no pause then",
        ),
        line(Model::Gfc, "GFC, all senders", "gfc_buffer", senders * (staged + slack), &queues),
    ];
    lines.splice(3..3, chip_lines(link, arguments));
    if let Some(ns) = link.response_ns {
        let remark = format!("eq. 14 with a response of {}", microseconds(ns));
        lines.insert(2, line(Model::Standard, "response", "response", delay, &remark));
    }
    lines
}

/// What hardware chips reserve: half and most of SONiC's published profiles, or the chip that the
/// command line describes.
fn chip_lines(link: &Link, arguments: &HeadroomArgs) -> Vec<Line> {
    let line = |name, key, chip: Chip, which: &str| {
        let (whole, cents) = (chip.occupancy_percent / 100, chip.occupancy_percent % 100);
        let response = microseconds(chip.response_ns);
        let remark = format!("{which}: response {response}, occupancy {whole}.{cents:02}");
        Line { model: Model::Chip, name, key, bytes: chip.headroom_bytes(link), remark }
    };
    match assumptions::chip(arguments.response, arguments.occupancy) {
        Some(chip) => vec![line("chip", "chip", chip, "as given")],
        None => vec![
            line("chips, half", "chip_half", Chip::HALF, "holds 54 % of SONiC's published rows"),
            line("chips, most", "chip_most", Chip::MOST, "holds 90 % of them"),
        ],
    }
}

/// Nanoseconds as `4.5 us`.
fn microseconds(ns: u64) -> String {
    let decimals = format!("{:03}", ns % 1_000);
    let decimals = decimals.trim_end_matches('0');
    let point = if decimals.is_empty() { "" } else { "." };
    format!("{}{point}{decimals} us", ns / 1_000)
}

/// The delay of gentle flow control on this link, in which it sends `delay_bytes`, and the
/// bandwidth of its frames.
fn gfc_messages(link: &Link, delay_bytes: u64) -> String {
    let tau_ps = link.speed.bytes_ps(delay_bytes);
    let mbps = |bps: u64| format!("{}.{} Mb/s", bps / 1_000_000, bps / 100_000 % 10);
    format!(
        "tau {}.{} us; GFC frames take {} at most, {} in steady state",
        tau_ps / 1_000_000,
        tau_ps / 100_000 % 10,
        mbps(gfc::worst_load_bps(tau_ps)),
        mbps(gfc::steady_load_bps(tau_ps))
    )
}

/// The bytes that software at both ends adds, with the defaults of SWITCH.toml.
fn software(link: &Link) -> Software {
    let poll = Software { poll_ns: POLL_NS, ..Software::default() };
    let ring_bytes = poll.bytes(link.speed).max(2 * u64::from(link.mtu_bytes));
    Software {
        poll_ns: POLL_NS,
        tx_limit_bytes: ring_bytes,
        peer_poll_ns: POLL_NS,
        peer_tx_limit_bytes: ring_bytes,
        peer_catch_up_ns: CATCH_UP_NS,
    }
}

/// Prints the headroom.
pub fn run(arguments: &HeadroomArgs) -> ExitCode {
    let link = Link {
        response_ns: arguments.response,
        ..Link::new(arguments.speed, arguments.length, arguments.mtu)
    };
    let wanted = |line: &Line| arguments.model.is_none_or(|model| model == line.model);
    let lines: Vec<Line> = lines(&link, arguments).into_iter().filter(wanted).collect();
    let (software, needed) = (software(&link), needed_bytes(&link, &software(&link), CELL_BYTES));
    if arguments.json {
        let models = lines.iter().map(|line| (line.key.to_owned(), json!(line.bytes)));
        let mut object: serde_json::Map<String, serde_json::Value> = models.collect();
        object.insert("software".to_owned(), json!(software.bytes(link.speed)));
        object.insert("needed".to_owned(), json!(needed));
        if arguments.model.is_none() {
            let changes = assumptions::changes(&link).into_iter();
            let changes = changes.map(|change| (change.key.to_owned(), json!(change.bytes)));
            object.insert("adds".to_owned(), serde_json::Value::Object(changes.collect()));
        }
        if lines.iter().any(|line| line.model == Model::Paper) {
            let whole = Whole::of(paper(&link), arguments);
            let switch = json!({
                "ports": arguments.ports,
                "classes": arguments.classes,
                "headroom_kb": whole.switch_kb,
                "tree_headroom_kb": whole.tree_kb,
                "tree_permille_of_buffer": whole.tree_permille,
            });
            object.insert("paper_switch".to_owned(), switch);
        }
        output::print(serde_json::Value::Object(object));
        return ExitCode::SUCCESS;
    }
    let mut rows = numbers(["model", "headroom", ""], 1);
    if let Some(column) = rows.column_mut(2) {
        column.set_cell_alignment(comfy_table::CellAlignment::Left);
    }
    let has_paper = lines.iter().any(|line| line.model == Model::Paper);
    for line in lines {
        rows.add_row([line.name.to_owned(), show_size(line.bytes), line.remark]);
    }
    if has_paper {
        let whole = Whole::of(paper(&link), arguments);
        rows.add_row([
            "paper, a whole switch".to_owned(),
            format!("{} KB", whole.switch_kb),
            format!("{} ports of {} classes", arguments.ports, arguments.classes),
        ]);
        rows.add_row([
            "paper, on a tree".to_owned(),
            format!("{} KB", whole.tree_kb),
            format!(
                "every second class by hops: {}.{} % of {}",
                whole.tree_permille / 10,
                whole.tree_permille % 10,
                show_size(arguments.buffer)
            ),
        ]);
    }
    rows.add_row([
        "software adds".to_owned(),
        show_size(software.bytes(link.speed)),
        format!("polling gaps of {} us and full transmit rings at both ends", POLL_NS / 1_000),
    ]);
    let wire = eq_14(&link).saturating_add(software.bytes(link.speed));
    rows.add_row([
        "Knotless, default".to_owned(),
        show_size(needed),
        format!(
            "{} and software, {} as frames of 64 B that each take a cell of {CELL_BYTES} B",
            if link.response_ns.is_some() { "that response" } else { "802.3" },
            show_size(wire.min(charged_bytes(wire, CELL_BYTES)))
        ),
    ]);
    if arguments.model.is_none() {
        for change in assumptions::changes(&link) {
            let bytes = format!("+ {}", show_size(change.bytes));
            rows.add_row([change.assumption, bytes, "added to eq. 14".to_owned()]);
        }
    }
    output::print(text(&rows));
    ExitCode::SUCCESS
}
