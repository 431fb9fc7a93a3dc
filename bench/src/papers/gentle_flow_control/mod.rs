//! Gentle Flow Control: Avoiding Deadlock in Lossless Networks. Of this paper sections 3.2 to 5
//! are at hand, so its evaluation has no rows.

mod fluid;
mod incast;

use crate::experiments::Experiments;
use crate::plot::{Line, Plot};
use crate::row::{Paper, Row, Verdict};
use config::gfc::{slack, staged, steady_load_bps, theorem, tight, worst_load_bps};
use dataplane::gfc::{Form, RateAdjuster, RateMap};
use dataplane::ids::Priority;
use dataplane::time::{Instant, Speed};
use dataplane::wire::MacAddress;
use dataplane::wire::mac_control::{MacControl, Pfc};
use fluid::Mapping;
use incast::{C_TAU, FRAME_BYTES, SEEDS, SENDERS, Seen, Setting, below};
use std::collections::BTreeMap;

type Error = Box<dyn std::error::Error>;

const PAPER: Paper = Paper::GentleFlowControl;
/// `tau` of section 5.4 at 10G.
const TAU_PS: u64 = 7_400_000;

/// Every theorem, table and figure of the sections at hand.
pub(crate) fn rows(experiments: &Experiments) -> Result<Vec<Row>, Error> {
    let mut rows = vec![
        experiments.row(
            PAPER,
            "3.2 and Fig. 1: a cycle that flows",
            "hosts at half the line rate pass through the cycle for ever; PFC locks it up",
            &[("gentle-ring", "pfc"), ("gentle-ring", "gfc")],
        ),
        Row::no_claim(PAPER, "Fig. 4: conceptual design", "shows the parts and the mapping"),
        experiments.row(
            PAPER,
            "Fig. 5(a): 2-to-1 under PFC",
            "the queue swings around 77 to 80 KB, the rate between 0 and full",
            &[("gentle-figure-5", "pfc")],
        ),
        figure_5(experiments),
        figure_5_bound(),
        theorem_4_1()?,
        tight_bound()?,
    ];
    let stages = Setting::new(below(staged(C_TAU)));
    let seen = incast::all(&stages)?;
    rows.push(stages_row(&seen, &incast::all(&stages.mixed())?));
    rows.push(below_the_bound()?);
    rows.push(last_stage()?);
    rows.extend(messages(&seen));
    rows.push(message_type());
    Ok(rows)
}

/// The least part of the receiver's link that was in use.
fn least_share(seen: &[Seen]) -> f64 {
    seen.iter().map(|seen| seen.share).fold(1.0, f64::min)
}

/// What runs at a bound must show: no XOFF, no queue above the slack, and a link in use.
fn at_bound(seen: &[Seen]) -> (String, bool) {
    let xoffs: u64 = seen.iter().map(|seen| seen.xoffs).sum();
    let excess = seen.iter().map(Seen::excess_bytes).fold(f64::NEG_INFINITY, f64::max);
    let slack = slack(FRAME_BYTES, *SENDERS.end(), 0);
    let share = least_share(seen);
    let text = format!(
        "2 to 64 senders x {SEEDS} seeds: {xoffs} XOFFs, queues up to Bm {excess:+} B (slack {slack}), link \
         {:.1} % in use at least",
        100.0 * share
    );
    (text, xoffs == 0 && excess <= slack as f64 && share > 0.95)
}

/// Fig. 5(b): the expectations of the scenario, and the fill at which the queues settle.
fn figure_5(experiments: &Experiments) -> Row {
    let row = experiments.row(
        PAPER,
        "Fig. 5(b): 2-to-1 under gentle flow control",
        "the queue settles at 75 KB, the rate at half",
        &[("gentle-figure-5", "gfc")],
    );
    let is_it = |run: &&crate::runs::Run| run.name == "gentle-figure-5" && run.scheme == "gfc";
    let Some(run) = experiments.runs.iter().find(is_it) else { return row };
    let timeline = &run.outcome.timeline;
    let sending = usize::try_from(run.outcome.duration_ps / timeline.step_ps).unwrap_or(0);
    let late = |bytes: &Vec<u64>| bytes[sending / 2..sending].to_vec();
    let depths: Vec<u64> = timeline.queues.iter().take(2).flat_map(|q| late(&q.bytes)).collect();
    let (least, most) =
        (depths.iter().min().copied().unwrap_or(0), depths.iter().max().copied().unwrap_or(0));
    let settles = 71_000 < least && most < 79_000;
    let ours = format!("{}; queues {least} to {most} B in the second half", row.ours);
    let why = format!("the queues are at {least} to {most} B, not at 75 KB");
    let verdict = if settles { row.verdict } else { Verdict::Fails(why) };
    Row { ours, verdict, ..row }
}

/// Fig. 5 has 50 KB between B0 and Bm.
fn figure_5_bound() -> Row {
    let c_tau = Speed::from_gbps(10).bps() * 25 / 8_000_000;
    let (has, needs) = (50_000, theorem(c_tau));
    let stopped = |spans: f64| fluid::holds(Mapping::Line, spans, fluid::Drain::Stopped);
    let overflows = !stopped(has as f64 / c_tau as f64);
    Row::new(
        PAPER,
        "Fig. 5 against Theorem 4.1",
        "Bm - B0 = 50 KB at C tau = 31.25 KB",
        format!(
            "the theorem asks for {needs} B; a queue that nothing drains overflows: {overflows}"
        ),
        Verdict::differs_if(
            has < needs && overflows,
            "the example breaks its own theorem; it settles because each queue drains at half speed",
            "the example keeps the bound",
        ),
    )
}

fn theorem_4_1() -> Result<Row, Error> {
    let [four, ..] = fluid::bounds();
    let is_safe = fluid::drains().into_iter().all(|drain| fluid::holds(Mapping::Line, four, drain));
    let setting = Setting::new(format!("form = 'conceptual'\n{}", below(theorem(C_TAU))));
    let (ours, holds) =
        at_bound(&[incast::all(&setting)?, incast::all(&setting.mixed())?].concat());
    Ok(Row::new(
        PAPER,
        "Theorem 4.1",
        "no hold and wait if B0 <= Bm - 4 C tau",
        format!("fluid: never full with {} drains; packets, {ours}", fluid::drains().len()),
        Verdict::holds_if(is_safe && holds, format!("fluid safe: {is_safe}; packets: {holds}")),
    ))
}

fn tight_bound() -> Result<Row, Error> {
    let [_, e, _] = fluid::bounds();
    let least = fluid::least_span(Mapping::Line);
    let setting = Setting::new(format!("form = 'conceptual'\n{}", below(tight(C_TAU))));
    let (ours, holds) = at_bound(&incast::all(&setting.mixed())?);
    let is_tight = least <= e && e - least < 0.02;
    Ok(Row::new(
        PAPER,
        "Theorem 4.1, the least that holds",
        "4 C tau (a sufficient condition)",
        format!("fluid: {least:.3} C tau, which is e; packets at e C tau, {ours}"),
        Verdict::differs_if(
            is_tight && holds,
            "e C tau is enough, a third less, and no less is",
            format!("the least span is {least:.3}, the bound {e:.3}; packets: {holds}"),
        ),
    ))
}

fn stages_row(seen: &[Seen], mixed: &[Seen]) -> Row {
    let [.., span] = fluid::bounds();
    let is_safe =
        fluid::drains().into_iter().all(|drain| fluid::holds(Mapping::Stages, span, drain));
    let all = [seen, mixed].concat();
    let (ours, holds) = at_bound(&all);
    let over = all.iter().map(|seen| (seen.senders, seen.excess_bytes()));
    let plot = Plot {
        title: "GFC: the fullest queue above Bm, bytes".to_owned(),
        x_label: "senders".to_owned(),
        is_logarithmic: false,
        lines: vec![
            Line { name: "slack".to_owned(), points: slacks() },
            Line { name: "most of 40 runs".to_owned(), points: most_by_senders(over) },
        ],
    };
    let row = Row::new(
        PAPER,
        "4.2, eqs. 1 to 5, Fig. 6: stages",
        "R_k = C / 2^k is safe if Bm - B1 >= 2 C tau",
        format!("fluid: never full; packets with a frame and a byte a sender above Bm, {ours}"),
        Verdict::holds_if(is_safe && holds, format!("fluid safe: {is_safe}; packets: {holds}")),
    );
    Row { plots: vec![plot], ..row }
}

fn slacks() -> Vec<(f64, f64)> {
    SENDERS.map(|senders| (senders as f64, slack(FRAME_BYTES, senders, 0) as f64)).collect()
}

/// The most for each number of senders, along the axis.
fn most_by_senders(points: impl Iterator<Item = (u64, f64)>) -> Vec<(f64, f64)> {
    let mut most = BTreeMap::new();
    for (senders, value) in points {
        let entry = most.entry(senders).or_insert(value);
        *entry = value.max(*entry);
    }
    most.into_iter().map(|(senders, value)| (senders as f64, value)).collect()
}

/// Below the bound each number of senders is paused.
fn below_the_bound() -> Result<Row, Error> {
    let mut unpaused = Vec::new();
    for senders in SENDERS {
        let seen = incast::some(&incast::below_the_bound(senders), senders, 1)?;
        if seen.iter().any(|seen| seen.xoffs == 0) {
            unpaused.push(senders.to_string());
        }
    }
    Ok(Row::new(
        PAPER,
        "4.2, below the bound",
        "too short a stage exhausts the buffer",
        format!(
            "XOFF - B1 = C (1 - 1/n) 2 t_wire less three frames: {} of {} numbers of senders paused",
            SENDERS.count() - unpaused.len(),
            SENDERS.count()
        ),
        Verdict::holds_if(unpaused.is_empty(), format!("not paused: {}", unpaused.join(", "))),
    ))
}

/// N: the last stage, and that its rate is kept exactly.
fn last_stage() -> Result<Row, Error> {
    let span = u32::try_from(2 * staged(C_TAU))?;
    let last = RateMap::stages(span);
    let is_last = f64::from(span) / f64::from(last).exp2() <= 1.0
        && f64::from(span) / f64::from(last - 1).exp2() > 1.0;
    let speed = Speed::from_gbps(10);
    let mut adjuster = RateAdjuster::new(Form::Staged, speed, 0);
    let priority = Priority::from_low_bits(1);
    adjuster.hear(priority, u16::from(last), Instant::ZERO);
    let mut now = Instant::ZERO;
    for _ in 0..100 {
        adjuster.sent(priority, 1_226, now);
        now = adjuster.free_at(u8::MAX);
    }
    // 1,226 bytes are 1 us of the wire at full speed.
    let ideal_ns = 100 * (1_000_u64 << last);
    let no_slack = Setting::new(format!("slack = '0B'\n{}", below(staged(C_TAU))));
    let seen = incast::some(&no_slack, 64, SEEDS)?;
    let paused = seen.iter().filter(|seen| seen.xoffs > 0).count();
    let ours = format!(
        "N = {last} at Bm - B0 = {span} B; 100 frames at C / 2^{last} take {:.6} s, exactly {:.6}; with \
         XOFF at Bm {paused} of {SEEDS} runs of 64 senders are paused",
        now.ns as f64 / 1e9,
        ideal_ns as f64 / 1e9
    );
    let holds = is_last && now.ns == ideal_ns && paused > 0;
    Ok(Row::new(
        PAPER,
        "4.2, N",
        "stages end where one is 8 bits long",
        ours,
        Verdict::differs_if(
            holds,
            "frames are not divisible, so XOFF stands a frame above the last stage",
            "N, the rate of its stage, or the need for the slack is another",
        ),
    ))
}

fn messages(seen: &[Seen]) -> Vec<Row> {
    let tau_ps = Speed::from_gbps(10).bytes_ps(C_TAU);
    let bounds = [worst_load_bps, steady_load_bps].map(|load| load(tau_ps) as f64 / 1e6);
    let papers = [worst_load_bps, steady_load_bps].map(|load| load(TAU_PS) as f64 / 1e6);
    let figures = [
        ("4.2, occupied bandwidth at first", "m / tau: 69 Mb/s at 10G, tau = 7.4 us", 0),
        ("4.2, occupied bandwidth when steady", "m / 8 tau: 8.6 Mb/s at 10G, tau = 7.4 us", 1),
    ];
    let row = |(item, paper_value, which): (&'static str, &str, usize)| {
        let figure = |seen: &Seen| if which == 0 { seen.start_mbps } else { seen.steady_mbps };
        let most = seen.iter().map(figure).fold(0.0, f64::max);
        let worst = incast::worst(seen, figure);
        let senders = worst.map_or(0, |(senders, _)| senders);
        let ours = format!(
            "formula {:.1} Mb/s; measured at tau = {:.2} us, where it is {:.1}: {most:.1} at most in any run, most on \
             average with {senders} senders",
            papers[which],
            tau_ps as f64 / 1e6,
            bounds[which]
        );
        let holds = most <= bounds[which] && most > 0.0;
        let why = format!("{most:.2} Mb/s is more than {:.2}", bounds[which]);
        let by_senders = |seen: &Seen| (seen.senders, figure(seen));
        let plot = Plot {
            title: format!(
                "GFC: messages, Mb/s, {}",
                if which == 0 { "at first" } else { "steady" }
            ),
            x_label: "senders".to_owned(),
            is_logarithmic: false,
            lines: vec![Line {
                name: "most of 20 runs".to_owned(),
                points: most_by_senders(seen.iter().map(by_senders)),
            }],
        };
        let row = Row::new(PAPER, item, paper_value, ours, Verdict::holds_if(holds, why));
        Row { interval: worst.map(|(_, interval)| interval), plots: vec![plot], ..row }
    };
    figures.map(row).to_vec()
}

/// Fig. 7: a stage in the time field of a PFC frame, read back from its bytes.
fn message_type() -> Row {
    let stage = 5;
    let priority = Priority::from_low_bits(3);
    let pfc = Pfc::default().with(priority, stage);
    let frame = pfc.to_frame(MacAddress([2, 0, 0, 0, 0, 1]));
    let is_pfc = frame[12..16] == [0x88, 0x08, 0x01, 0x01];
    let time = u16::from_be_bytes([frame[18 + 6], frame[19 + 6]]);
    let is_read = matches!(MacControl::parse(&frame), MacControl::Pfc(read) if read == pfc);
    Row::new(
        PAPER,
        "Fig. 7: PFC message type",
        "a PFC frame's time field carries the stage",
        format!("opcode 0x0101: {is_pfc}; time of class 3: {time}; read back: {is_read}"),
        Verdict::holds_if(is_pfc && time == stage && is_read, "the frame has another form"),
    )
}
