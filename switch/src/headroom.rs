//! `knotless headroom`: the headroom of a lossless port by several models.

use crate::ctl::tables::{numbers, text};
use crate::output;
use clap::{Args, ValueEnum};
use config::gfc;
use config::headroom::{
    Link, Software, SonicAsic, charged_bytes, needed_bytes, paper, response_quanta, sonic, standard,
};
use config::units::{Length, parse_length, parse_size, parse_speed, show_size};
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

/// The models by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Model {
    /// Eq. 14 of the TTL paper: a response time of 60 quanta at every speed
    Paper,
    /// Eq. 14 with the response time that IEEE 802.3 allows at this speed
    #[value(name = "802.3")]
    Standard,
    /// SONiC's formula, for Spectrum-2
    Sonic,
    /// Gentle flow control (GFC): the free space that it needs below a full queue
    Gfc,
}

fn speed(word: &str) -> Result<Speed, String> {
    parse_speed(word).map_err(|error| error.to_string())
}

fn length(word: &str) -> Result<Length, String> {
    parse_length(word).map_err(|error| error.to_string())
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

fn lines(link: &Link, senders: u64) -> Vec<Line> {
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
    let by_sonic = sonic(link, &SonicAsic::SPECTRUM_2);
    let cells = "Spectrum-2, all frames short, whole cells of 144 B";
    let (theorem, staged) = (gfc::theorem(by_standard), gfc::staged(by_standard));
    let frame_bytes = u64::from(link.mtu_bytes);
    let tight = gfc::tight(by_standard) + frame_bytes;
    let slack = gfc::slack(frame_bytes, senders, 0);
    let spread = format!("XOFF - Bm at least: a frame, and a byte for each of {senders} senders");
    let queues =
        format!("the same for {senders} queues up to XOFF, which the buffer must hold together");
    vec![
        line(Model::Paper, "paper, eq. 14", "paper", by_paper, &safe),
        line(Model::Standard, "IEEE 802.3", "802.3", by_standard, &safer),
        line(Model::Sonic, "SONiC", "sonic", by_sonic, cells),
        line(Model::Gfc, "GFC, C tau", "gfc_c_tau", by_standard, &gfc_messages(link, by_standard)),
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
    ]
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
    let link = Link { speed: arguments.speed, length: arguments.length, mtu_bytes: arguments.mtu };
    let wanted = |line: &Line| arguments.model.is_none_or(|model| model == line.model);
    let lines: Vec<Line> = lines(&link, arguments.senders).into_iter().filter(wanted).collect();
    let (software, needed) = (software(&link), needed_bytes(&link, &software(&link), CELL_BYTES));
    if arguments.json {
        let models = lines.iter().map(|line| (line.key.to_owned(), json!(line.bytes)));
        let mut object: serde_json::Map<String, serde_json::Value> = models.collect();
        object.insert("software".to_owned(), json!(software.bytes(link.speed)));
        object.insert("needed".to_owned(), json!(needed));
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
    let wire = standard(&link).saturating_add(software.bytes(link.speed));
    rows.add_row([
        "Knotless, default".to_owned(),
        show_size(needed),
        format!(
            "802.3 and software, {} as frames of 64 B that each take a cell of {CELL_BYTES} B",
            show_size(wire.min(charged_bytes(wire, CELL_BYTES)))
        ),
    ]);
    output::print(text(&rows));
    ExitCode::SUCCESS
}
