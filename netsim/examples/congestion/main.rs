//! `make bench-congestion`: DCQCN in the emulator against the fluid model of its paper, and what
//! each congestion control makes of an incast.
//!
//! Two flows share a link of 40 Gb/s and begin apart (Y. Zhu et al., SIGCOMM 2015, section 5 and
//! figures 10 to 13). The fluid model is integrated here from the paper's equations 5 to 9, in
//! floats, from 40 and 5 Gb/s; the emulator runs packets through the dataplane, and the integers of
//! crate `roce`. There a burst of three other hosts slows one flow down just before the other
//! starts at line rate. Among the parameters are those that the paper rejects: QCN's byte counter
//! and timer, which let two flows stay apart. `hpcc` compares incasts in HPCC's fat tree with what
//! its authors' simulator makes of them. Writes `target/bench/congestion.json`.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts of steps, which are small and positive"
)]

mod hpcc;

use config::ScenarioConfig;
use netsim::outcome::Outcome;
use netsim::scenario::{Options, run};
use std::error::Error;
use std::process::ExitCode;

/// Parameters of both: packets and seconds.
struct Setting {
    name: &'static str,
    /// What the paper says of it.
    paper: &'static str,
    /// The gap over the sum that it must and may have in the end, in the model and here.
    gap: std::ops::Range<f64>,
    /// The byte counter and the timer.
    increase_kb: f64,
    increase_us: f64,
    /// Marking.
    kmin_kb: f64,
    kmax_kb: f64,
    pmax: f64,
}

const SETTINGS: [Setting; 4] = [
    Setting {
        name: "deployed: B 10 MB, T 55 us, K 5 to 200 KB, P 1 %",
        paper: "converges",
        gap: 0.0..0.2,
        increase_kb: 10_000.0,
        increase_us: 55.0,
        kmin_kb: 5.0,
        kmax_kb: 200.0,
        pmax: 0.01,
    },
    Setting {
        name: "strawman: B 150 KB, T 1.5 ms, K 40 KB",
        paper: "stays apart",
        gap: 0.5..1.0,
        increase_kb: 150.0,
        increase_us: 1_500.0,
        kmin_kb: 40.0,
        kmax_kb: 40.0,
        pmax: 1.0,
    },
    Setting {
        name: "faster timer: B 10 MB, T 55 us, K 40 KB",
        paper: "closer (fig. 11)",
        gap: 0.0..0.5,
        increase_kb: 10_000.0,
        increase_us: 55.0,
        kmin_kb: 40.0,
        kmax_kb: 40.0,
        pmax: 1.0,
    },
    Setting {
        name: "marks softly: B 150 KB, T 1.5 ms, K 5 to 200 KB, P 1 %",
        paper: "closer (fig. 11)",
        gap: 0.0..0.5,
        increase_kb: 150.0,
        increase_us: 1_500.0,
        kmin_kb: 5.0,
        kmax_kb: 200.0,
        pmax: 0.01,
    },
];

const LINK_BPS: f64 = 40e9;
/// A full frame on the wire, and the payload in it.
const WIRE_BYTES: f64 = 1_106.0;
const PAYLOAD_BYTES: f64 = 1_024.0;
/// The second flow starts at this time, and the rates of the last part are compared.
const SECOND_MS: f64 = 10.0;
const END_MS: f64 = 200.0;
const LAST_MS: f64 = 50.0;

/// What came out: mean rates of the last part in Gb/s on the wire, the gap between the two over
/// their sum, and when the gap was first and for good below a fifth.
#[derive(Clone, Copy, Debug)]
struct Result {
    rates: [f64; 2],
    gap: f64,
    settled_ms: Option<f64>,
}

impl Result {
    /// From the rates of both flows, sampled every `step_ms`, of which windows of 5 ms are taken.
    fn of(samples: &[[f64; 2]], step_ms: f64) -> Self {
        let mean = |part: &[[f64; 2]]| {
            let sum = part.iter().fold([0.0; 2], |sum, it| [sum[0] + it[0], sum[1] + it[1]]);
            sum.map(|sum| sum / part.len().max(1) as f64)
        };
        let gap = |rates: [f64; 2]| (rates[0] - rates[1]).abs() / (rates[0] + rates[1]).max(1e-9);
        let last = samples.len() - (LAST_MS / step_ms) as usize;
        let rates = mean(&samples[last..]);
        let window = ((5.0 / step_ms) as usize).max(1);
        let first = (SECOND_MS / step_ms) as usize;
        let windows: Vec<f64> =
            samples[first..].chunks(window).map(|part| gap(mean(part))).collect();
        let apart = windows.iter().rposition(|&gap| gap > 0.2).map_or(0, |at| at + 1);
        let settled_ms = (apart < windows.len()).then_some(apart as f64 * window as f64 * step_ms);
        Self { rates, gap: gap(rates), settled_ms }
    }
}

/// The fluid model: equations 5 to 9 of the paper, by Euler's method. Rates are in packets a
/// second, the queue in packets.
fn fluid(setting: &Setting) -> Result {
    let capacity = LINK_BPS / 8.0 / WIRE_BYTES;
    let (g, tau, tau_alpha) = (1.0 / 256.0, 50e-6, 55e-6);
    // The control loop's delay: the paper's 50 us, at most one CNP interval.
    let (dt, delay) = (1e-6_f64, 50e-6);
    let packets = |kb: f64| kb * 1_000.0 / (WIRE_BYTES - 24.0);
    let (kmin, kmax) = (packets(setting.kmin_kb), packets(setting.kmax_kb));
    let (b, t, f) = (packets(setting.increase_kb), setting.increase_us * 1e-6, 5.0);
    let additive = 40e6 / 8.0 / WIRE_BYTES;
    let lag = (delay / dt) as usize;
    let steps = (END_MS * 1e-3 / dt) as usize;
    let start = [0, 0];
    let begin = [capacity, capacity / 8.0];
    let (mut rc, mut rt, mut alpha) = (begin, begin, [1.0_f64; 2]);
    let mut queue = 0.0_f64;
    let mut past = vec![(0.0, [capacity; 2]); lag];
    let mut samples = Vec::new();
    let per_sample = (0.1e-3 / dt) as usize;
    let mut sums = [0.0; 2];
    for step in 0..steps {
        let is_on = start.map(|at| step >= at);
        let mark = if queue <= kmin {
            0.0
        } else if queue <= kmax && kmax > kmin {
            (queue - kmin) / (kmax - kmin) * setting.pmax
        } else {
            1.0
        };
        let (p, old) = past[step % lag];
        past[step % lag] = (mark, rc);
        let sum: f64 = (0..2).filter(|&i| is_on[i]).map(|i| rc[i]).sum();
        queue = (queue + (sum - capacity) * dt).max(0.0);
        for i in (0..2).filter(|&i| is_on[i]) {
            let r = old[i];
            let keeps = |packets: f64| (1.0 - p).powf(packets);
            let cut = 1.0 - keeps(tau * r);
            // Events of the byte counter and of the timer a second, without a mark between.
            let events = |packets: f64| {
                if p <= 0.0 {
                    r / packets
                } else if p >= 1.0 {
                    0.0
                } else {
                    r * p / (keeps(-packets) - 1.0)
                }
            };
            let (of_bytes, of_timer) = (events(b), events(t * r));
            let [rise_b, rise_t] = [keeps(f * b) * of_bytes, keeps(f * t * r) * of_timer];
            alpha[i] += dt * g / tau_alpha * (1.0 - keeps(tau_alpha * r) - alpha[i]);
            let target = -(rt[i] - rc[i]) / tau * cut + additive * (rise_b + rise_t);
            let half = (rt[i] - rc[i]) / 2.0 * (of_bytes + of_timer);
            let rate = -rc[i] * alpha[i] / (2.0 * tau) * cut + half;
            rt[i] = (rt[i] + dt * target).clamp(1.0, capacity);
            rc[i] = (rc[i] + dt * rate).clamp(1.0, capacity);
        }
        for i in (0..2).filter(|&i| is_on[i]) {
            sums[i] += rc[i] * WIRE_BYTES * 8.0 / 1e9 / per_sample as f64;
        }
        if (step + 1) % per_sample == 0 {
            samples.push(std::mem::take(&mut sums));
        }
    }
    Result::of(&samples, 0.1)
}

/// Hosts under one switch.
fn star(hosts: usize, speed: &str) -> String {
    let mut text = format!("[[switch]]\nname = 'S'\nports = {hosts}\n[links]\nspeed = '{speed}'\n");
    for host in 1..=hosts {
        text += &format!("[[host]]\nname = 'h{host}'\n[[link]]\nends = ['S:{host}', 'h{host}']\n");
    }
    text
}

fn emulate(text: &str) -> std::result::Result<Outcome, Box<dyn Error>> {
    let config = ScenarioConfig::parse("congestion.toml".as_ref(), text)?;
    let outcome = run(&config, Options::default())?;
    match outcome.violations.first() {
        Some(violation) => Err(violation.clone().into()),
        None => Ok(outcome),
    }
}

/// Slow the first flow down before the second one starts.
const BURSTS: &str = "[[traffic]]\nkind = 'incast'\nfrom = ['h4', 'h5', 'h6']\nto = 'h3'\n\
                      size = '1MB'\nstart = '9ms'\ntransport = 'roce'\n";

fn emulated(setting: &Setting) -> std::result::Result<Result, Box<dyn Error>> {
    let Setting { increase_kb, increase_us, kmin_kb, kmax_kb, pmax, .. } = setting;
    let outcome = emulate(&format!(
        "duration = '{END_MS}ms'\n[switches]\nstatic_th = '4MB'\n\
         ecn = {{ kmin = '{kmin_kb}KB', kmax = '{kmax_kb}KB', pmax = {pmax:?} }}\n\
         [roce]\ncongestion = 'dcqcn'\n\
         [roce.dcqcn]\nincrease_bytes = '{increase_kb}KB'\nincrease_interval = '{increase_us}us'\n\
         [[flow]]\nfrom = 'h1'\nto = 'h3'\ntransport = 'roce'\n{BURSTS}\
         [[flow]]\nfrom = 'h2'\nto = 'h3'\ntransport = 'roce'\nstart = '{SECOND_MS}ms'\n{}",
        star(6, "40G")
    ))?;
    let step_ms = outcome.timeline.step_ps as f64 / 1e9;
    let gbps = |bytes: u64| bytes as f64 * 8.0 / step_ms / 1e6 * WIRE_BYTES / PAYLOAD_BYTES;
    let [one, other] = [0, 1].map(|flow| &outcome.timeline.flow_bytes[flow]);
    let samples = one.iter().zip(other).map(|(&one, &other)| [gbps(one), gbps(other)]);
    let steps = (END_MS / step_ms) as usize;
    Ok(Result::of(&samples.take(steps).collect::<Vec<_>>(), step_ms))
}

/// What an incast of 16 to 1 at 100 Gb/s comes to: 2 MB from each.
fn incast(congestion: &str) -> std::result::Result<[f64; 5], Box<dyn Error>> {
    let outcome = emulate(&format!(
        "duration = '20ms'\n[switches]\ndynamic_th = -3\n\
         ecn = {{ kmin = '100KB', kmax = '400KB', pmax = 0.2 }}\n\
         [roce]\ncongestion = '{congestion}'\n[roce.dcqcn]\nadditive = '100M'\nhyper = '1G'\n\
         [roce.timely]\nadditive = '50M'\n\
         [[traffic]]\nkind = 'incast'\nto = 'h1'\nsize = '2MB'\ntransport = 'roce'\n{}",
        star(17, "100G")
    ))?;
    let last_ps = outcome.flows.iter().map(|flow| flow.finished_ps).max().flatten();
    let deepest = outcome.timeline.queues.iter().flat_map(|queue| &queue.bytes).max();
    let roce = outcome.roce.unwrap_or_default();
    let thousandth = |value: Option<u64>| value.unwrap_or(0) as f64 / 1e3;
    Ok([
        last_ps.unwrap_or(0) as f64 / 1e6,
        thousandth(roce.slowdown_p50_permille),
        thousandth(roce.slowdown_p99_permille),
        roce.paused_millionths as f64 / 1e4,
        deepest.copied().unwrap_or(0) as f64 / 1e3,
    ])
}

fn settled(result: &Result) -> String {
    result.settled_ms.map_or_else(|| "never".to_owned(), |ms| format!("{ms:.0} ms"))
}

fn all() -> std::result::Result<bool, Box<dyn Error>> {
    let mut json = serde_json::Map::new();
    let mut holds = true;
    println!(
        "two flows, 40 Gb/s, the second from {SECOND_MS} ms; means of the last {LAST_MS} ms\n"
    );
    println!(
        "| parameters | paper | fluid model, Gb/s | gap below 0.2 after | emulator, Gb/s | gap below 0.2 after |"
    );
    println!("|---|---|---|---|---|---|");
    for setting in &SETTINGS {
        let (model, ours) = (fluid(setting), emulated(setting)?);
        println!(
            "| {} | {} | {:.1} and {:.1} | {} | {:.1} and {:.1} | {} |",
            setting.name,
            setting.paper,
            model.rates[0],
            model.rates[1],
            settled(&model),
            ours.rates[0],
            ours.rates[1],
            settled(&ours)
        );
        holds &= setting.gap.contains(&ours.gap) && setting.gap.contains(&model.gap);
        let row = serde_json::json!({
            "fluid_gbps": model.rates, "fluid_gap": model.gap, "fluid_settled_ms": model.settled_ms,
            "emulator_gbps": ours.rates, "emulator_gap": ours.gap,
            "emulator_settled_ms": ours.settled_ms,
        });
        json.insert(setting.name.to_owned(), row);
    }
    println!("\nincast of 16 to 1, 100 Gb/s, 2 MB from each host\n");
    println!(
        "| congestion control | last byte, us | slowdown p50 | p99 | hosts paused, % | deepest VIQ seen, KB |"
    );
    println!("|---|---|---|---|---|---|");
    for congestion in ["none", "dcqcn", "timely", "hpcc", "swift"] {
        let [last, p50, p99, paused, deepest] = incast(congestion)?;
        println!("| {congestion} | {last:.0} | {p50:.1} | {p99:.1} | {paused:.2} | {deepest:.0} |");
        json.insert(
            format!("incast {congestion}"),
            serde_json::json!({
                "last_us": last, "slowdown_p50": p50, "slowdown_p99": p99,
                "paused_percent": paused, "deepest_kb": deepest,
            }),
        );
    }
    let is_like_theirs = hpcc::compare(&mut json)?;
    println!(
        "\nmust: model and emulator converge, or stay apart, as the paper says: {}",
        if holds { "yes" } else { "NO" }
    );
    println!(
        "must: with HPCC no host is paused, last bytes within 10 % of theirs, queues no deeper: {}",
        if is_like_theirs { "yes" } else { "NO" }
    );
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/bench");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("congestion.json"), serde_json::to_string_pretty(&json)?)?;
    Ok(holds && is_like_theirs)
}

fn main() -> ExitCode {
    match all() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
