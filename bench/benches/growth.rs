//! What it costs to grow: ports, routes, classes, rules, and ports that one burst spreads over. The
//! core alone, one worker, full bursts at every port; each row beside the one before it. It fails
//! if an axis does not keep to its [`Limit`] in [`ATTEMPTS`] either.
//!
//! All rows of an axis take turns, so that a noisy machine is as noisy to each, and all receive
//! equally many different frames, so that what the bench itself takes of the caches stays the same.
//! Every row proves its answer before it is timed, and its books afterwards.
//!
//! `cargo bench -p knotless-bench --bench growth -- ports routes` runs these axes alone.

use bench::line_switch::LineSwitch;
use bench::loop_device::LoopDevice;
use bench::table::{fast_median, nanoseconds, save};
use comfy_table::{CellAlignment, Table, presets};

use dataplane::report::Report;
use dataplane::testing::wire::{host_mac, port_mac};
use dataplane::time::Instant;
use dataplane::wire::ipv4;
use dataplane::worker::Worker;
use std::process::ExitCode;

/// What a row may cost.
#[derive(Clone, Copy)]
enum Limit {
    /// So many times the row before: tables of another size, or ports without frames for each
    /// other, should change nothing.
    Step(f64),
    /// So many times the first row. A burst is accounted for by group of frames that leave alike:
    /// twice as many ports to leave by are twice as many groups, so a step costs more and more.
    /// How much more depends on how fast a machine does the rest.
    Whole(f64),
}

impl Limit {
    fn of(axis: &str) -> Self {
        if axis == "outputs" { Self::Whole(2.5) } else { Self::Step(1.3) }
    }
}

/// How often an axis is timed that does not keep to it: a neighbor on the machine may take the
/// caches from one row and not from another.
const ATTEMPTS: u32 = 3;
/// Frames that are timed at a time: enough that starting and stopping the clock does not show.
const FRAMES: u64 = 1 << 16;
const ROUNDS: usize = 100;
/// Different frames that arrive, at all ports together.
const TEMPLATES: u32 = 4_096;

/// A switch of some size, and what its rounds took.
struct Row {
    size: u32,
    switch: LineSwitch,
    worker: Worker<LoopDevice>,
    clock_ns: u64,
    turns: u64,
    took: Vec<f64>,
}

impl Row {
    fn new(size: u32, switch: LineSwitch) -> Self {
        let switch = LineSwitch { templates: TEMPLATES, ..switch };
        let worker = switch.build();
        let mut row = Self { size, switch, worker, clock_ns: 0, turns: 0, took: Vec::new() };
        row.check_frames();
        row
    }

    /// Receives `frames` frames, and what a turn leaves undone.
    fn run(&mut self, frames: u64) {
        let frames_a_turn = u64::from(self.switch.ports) * self.switch.burst_frames as u64;
        for _ in 0..frames / frames_a_turn {
            // As long as the frames of one port take at line rate of 40G.
            self.clock_ns += 1_000;
            self.worker.turn(Instant::from_ns(self.clock_ns));
            self.turns += 1;
        }
    }

    /// Lets each port receive bursts of every length, and looks at the last frame that each sent.
    fn check_frames(&mut self) {
        self.worker.device_mut().keep_last = true;
        for burst_frames in (1..=self.switch.burst_frames).rev() {
            self.worker.device_mut().burst_frames = burst_frames;
            self.clock_ns += 1_000;
            self.worker.turn(Instant::from_ns(self.clock_ns));
            let last = self.worker.device().last.iter();
            for (to, frame) in (1..).zip(last).filter(|(_, frame)| !frame.is_empty()) {
                // Where it came from, and its number there.
                let from = frame[28];
                let number = u32::from(u16::from_be_bytes([frame[34], frame[35]]));
                assert_eq!(self.switch.out(from, number), to);
                assert_eq!(frame[..12], [host_mac(to, 1).0, port_mac(to).0].concat());
                assert_eq!((frame[22], frame[15]), (63, self.switch.dscp(number) << 2));
                assert!(ipv4::checksum_holds(&frame[14..34]));
            }
        }
        let device = self.worker.device_mut();
        assert!(device.last.iter().all(|frame| !frame.is_empty()));
        assert_eq!(device.taken.iter().sum::<u64>(), self.worker.totals().received);
        let device = self.worker.device_mut();
        device.keep_last = false;
        device.burst_frames = self.switch.burst_frames;
        device.taken.fill(0);
    }

    /// One timed round, after one that fetches into the caches what the other rows drove out.
    fn round(&mut self) {
        self.run(2 * u64::from(TEMPLATES));
        let took = nanoseconds(FRAMES, || self.run(FRAMES));
        self.took.push(took);
    }

    /// Every frame came out, at the port it had to, and nothing else moved.
    fn check_books(&self) {
        let totals = self.worker.totals();
        assert_eq!((totals.imbalance(), totals.dropped, totals.held), (0, 0, 0));
        assert_eq!(totals.sent, totals.received);
        let each = self.turns * self.switch.burst_frames as u64;
        assert!(self.worker.device().taken.iter().all(|&taken| taken == each));
        let mut report = Report::default();
        self.worker.report(&mut report, Instant::from_ns(self.clock_ns));
        for port in &report.ports {
            let classes = port.counters.tx_frames.iter().filter(|&&frames| frames > 0).count();
            assert_eq!(classes, usize::from(self.switch.classes), "each class has its priority");
            assert_eq!(port.counters.pfc.tx_frames, 0);
        }
        assert_eq!(report.ports.len(), usize::from(self.switch.ports));
    }
}

/// Times `rows`, of one axis, smallest first, and adds the figures to `pairs`; returns whether they
/// keep to the axis's limit.
fn grow(axis: &str, mut rows: Vec<Row>, pairs: &mut Vec<(String, f64)>) -> bool {
    for _ in 0..ROUNDS {
        rows.iter_mut().for_each(Row::round);
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header([axis, "ns a frame", "step"]);
    table.column_iter_mut().for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    let (mut before, mut largest, mut first) = (None, 0.0_f64, None);
    for row in rows {
        row.check_books();
        let each_ns = fast_median(row.took);
        pairs.push((format!("{axis}_{}_ns", row.size), each_ns));
        let step = before.map(|before: f64| each_ns / before);
        if let Some(step) = step {
            pairs.push((format!("{axis}_{}_step", row.size), step));
            largest = largest.max(step);
        }
        let step = step.map_or(String::new(), |step| format!("{step:.2} x"));
        table.add_row([row.size.to_string(), format!("{each_ns:.1}"), step]);
        first = first.or(Some(each_ns));
        before = Some(each_ns);
    }
    let (what, found, limit) = match Limit::of(axis) {
        Limit::Step(limit) => ("the largest step is", largest, limit),
        Limit::Whole(limit) => {
            let whole = before.zip(first).map_or(0.0, |(last, first)| last / first);
            ("from the first row to the last it is", whole, limit)
        }
    };
    let verdict = if found <= limit { "within" } else { "BEYOND" };
    println!("{table}\n{what} {found:.2} x, {verdict} {limit} x\n");
    found <= limit
}

/// The rows of the axis called `name`.
fn rows(name: &str) -> Vec<Row> {
    let base = LineSwitch::default();
    let of_ports = |ports: u8| (ports.into(), LineSwitch { ports, ..base });
    // Beyond what is asked: the price of a burst whose frames go many ways.
    let of_outputs = |outputs: u8| (outputs.into(), LineSwitch { ports: 64, outputs, ..base });
    let of_routes = |routes| (routes, LineSwitch { routes, ..base });
    let of_rules = |rules| (rules, LineSwitch { rules, ..base });
    let of_classes = |classes: u8| (classes.into(), LineSwitch { classes, ..base });
    let sizes: Vec<(u32, LineSwitch)> = match name {
        "ports" => [2, 4, 8, 16, 32, 64].map(of_ports).into(),
        "outputs" => [1, 2, 4, 8, 16, 32].map(of_outputs).into(),
        "routes" => [1, 10, 100, 1_000, 10_000, 100_000].map(of_routes).into(),
        "rules" => [2, 64, 512, 4_096].map(of_rules).into(),
        _ => [1, 2, 4, 8].map(of_classes).into(),
    };
    sizes.into_iter().map(|(size, switch)| Row::new(size, switch)).collect()
}

/// Whether an axis keeps to its limit in one of [`ATTEMPTS`]; adds the last one's figures to
/// `pairs`.
fn keeps_to_limit(axis: &str, pairs: &mut Vec<(String, f64)>) -> bool {
    let before = pairs.len();
    (1..=ATTEMPTS).any(|attempt| {
        pairs.truncate(before);
        if attempt > 1 {
            println!("{axis}: beyond the limit; attempt {attempt} of {ATTEMPTS}");
        }
        grow(axis, rows(axis), pairs)
    })
}

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let mut pairs = Vec::new();
    let mut beyond = Vec::new();
    for axis in ["ports", "routes", "rules", "classes", "outputs"] {
        let is_wanted = wanted.is_empty() || wanted.iter().any(|word| word == axis);
        if is_wanted && !keeps_to_limit(axis, &mut pairs) {
            beyond.push(axis);
        }
    }
    save("growth", &pairs);
    if beyond.is_empty() {
        return ExitCode::SUCCESS;
    }
    eprintln!("beyond the limit: {}", beyond.join(", "));
    ExitCode::FAILURE
}
