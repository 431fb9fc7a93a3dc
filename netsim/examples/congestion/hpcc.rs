//! Incasts in the fat tree of HPCC's evaluation (Y. Li et al., SIGCOMM 2019, section 5.1), beside
//! what its authors' simulator says of them.
//!
//! The network and the flows are written in the simulator's own formats and imported, as its users
//! would. Its figures were measured once: version of 2022 of its public sources, built with gcc 12,
//! parameters of its `run.py` at 100 Gb/s (`--cc hp --hpai 50`, `--cc dcqcn`). Here the parameters
//! are the same; a packet carries 1,024 bytes of payload instead of 1,000, and preamble and gap
//! take time on the wire, which theirs leaves out.

use crate::emulate;
use config::import::{ScenarioOptions, hpcc, scenario_text};
use netsim::outcome::Outcome;
use std::error::Error;
use std::fmt::Write;

const HOSTS: usize = 320;
/// Leaf, aggregation and core switches, which have numbers after those of the hosts.
const LEAVES: usize = 20;
const AGGREGATIONS: usize = 20;
const CORES: usize = 16;
const PODS: usize = 5;

/// What their simulator says of an incast.
struct Theirs {
    senders: usize,
    size_bytes: u64,
    congestion: &'static str,
    last_us: f64,
    slowdown_p50: f64,
    /// PFC frames, those that end a pause included.
    pauses: u64,
    /// The deepest queue, at the receiver's leaf.
    deepest_kb: u64,
}

const THEIRS: [Theirs; 4] = [
    Theirs {
        senders: 16,
        size_bytes: 2_000_000,
        congestion: "hpcc",
        last_us: 2_949.1,
        slowdown_p50: 15.5,
        pauses: 0,
        deepest_kb: 2_401,
    },
    Theirs {
        senders: 16,
        size_bytes: 2_000_000,
        congestion: "dcqcn",
        last_us: 3_542.2,
        slowdown_p50: 18.6,
        pauses: 0,
        deepest_kb: 6_705,
    },
    Theirs {
        senders: 60,
        size_bytes: 500_000,
        congestion: "hpcc",
        last_us: 2_713.9,
        slowdown_p50: 49.1,
        pauses: 0,
        deepest_kb: 9_197,
    },
    Theirs {
        senders: 60,
        size_bytes: 500_000,
        congestion: "dcqcn",
        last_us: 2_494.1,
        slowdown_p50: 39.7,
        pauses: 90,
        deepest_kb: 22089,
    },
];

/// `topology.txt`: 320 hosts at 100 Gb/s, 16 a leaf; leaf to aggregation to core at 400 Gb/s; 1 us
/// each.
fn topology() -> String {
    let (leaves, per_pod) = (HOSTS, LEAVES / PODS);
    let (aggregations, cores) = (leaves + LEAVES, leaves + LEAVES + AGGREGATIONS);
    let nodes = cores + CORES;
    let mut links = Vec::new();
    for host in 0..HOSTS {
        links.push((host, leaves + host / (HOSTS / LEAVES), "100Gbps"));
    }
    for leaf in 0..LEAVES {
        for number in 0..per_pod {
            let aggregation = leaf / per_pod * per_pod + number;
            links.push((leaves + leaf, aggregations + aggregation, "400Gbps"));
        }
    }
    for aggregation in 0..AGGREGATIONS {
        for number in 0..CORES / per_pod {
            let core = aggregation % per_pod * per_pod + number;
            links.push((aggregations + aggregation, cores + core, "400Gbps"));
        }
    }
    let mut text = format!("{nodes} {} {}\n", nodes - HOSTS, links.len());
    let switches: Vec<String> = (HOSTS..nodes).map(|number| number.to_string()).collect();
    text += &(switches.join(" ") + "\n");
    for (one, other, speed) in links {
        // Writing to a String does not fail.
        let _never = writeln!(text, "{one} {other} {speed} 1000ns 0.000000");
    }
    text
}

/// `flow.txt`: `senders` that are spread over the leaves to host 0, at once.
fn flows(senders: usize, size_bytes: u64) -> String {
    let step = HOSTS / (senders + 1);
    (1..=senders).fold(format!("{senders}\n"), |mut text, number| {
        let _never = writeln!(text, "{} 0 3 100 {size_bytes} 2", number * step);
        text
    })
}

/// Their parameters, in our words.
fn parameters(congestion: &str) -> String {
    let own = match congestion {
        "hpcc" => "base_rtt = '13us'\n[roce.hpcc]\nadditive = 81\nstages = 0\n",
        _ => {
            "cnp_interval = '4us'\n[roce.dcqcn]\nalpha_interval = '1us'\n\
             increase_interval = '300us'\nincrease_bytes = '1GB'\nfast_recovery = 1\n\
             additive = '20M'\nhyper = '200M'\nminimum = '1G'\nclamp_target = false\n"
        }
    };
    format!("[roce]\ncongestion = '{congestion}'\n{own}[routing]\nkind = 'ecmp'\n")
}

fn incast(theirs: &Theirs) -> Result<Outcome, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let files = [folder.path().join("topology.txt"), folder.path().join("flow.txt")];
    std::fs::write(&files[0], topology())?;
    std::fs::write(&files[1], flows(theirs.senders, theirs.size_bytes))?;
    let congestion = theirs.congestion.to_owned();
    let options = ScenarioOptions { name: "incast".to_owned(), congestion, after_us: 10_000 };
    let text = scenario_text(&hpcc::load(&files[0], &files[1])?, &options);
    let imported = format!("[roce]\ncongestion = \"{}\"\n", theirs.congestion);
    let switches = "size = \"32MB\"\n";
    // Theirs gives ports four times as fast as hosts' four times the share of 1/8.
    let marks = "dynamic_th = -1\necn = { kmin = '400KB', kmax = '1600KB', pmax = 0.2 }\n";
    let text = replaced(&text, &imported, &parameters(theirs.congestion))?;
    emulate(&replaced(&text, switches, &format!("{switches}{marks}"))?)
}

/// What the importer wrote, with `new` in place of `old`, which must be there.
fn replaced(text: &str, old: &str, new: &str) -> Result<String, Box<dyn Error>> {
    match text.matches(old).count() {
        1 => Ok(text.replace(old, new)),
        count => Err(format!("`{old}` stands in the imported scenario {count} times").into()),
    }
}

/// What the receiver's leaf held at once, KB: all queues there are for the receiver.
fn deepest_kb(outcome: &Outcome) -> u64 {
    let leaf = format!("s{HOSTS}:");
    let of_leaf = outcome.timeline.queues.iter().filter(|queue| queue.port.starts_with(&leaf));
    let queues: Vec<&Vec<u64>> = of_leaf.map(|queue| &queue.bytes).collect();
    let steps = queues.iter().map(|bytes| bytes.len()).max().unwrap_or(0);
    let sum = |step: usize| queues.iter().filter_map(|bytes| bytes.get(step)).sum::<u64>();
    (0..steps).map(sum).max().unwrap_or(0) / 1_000
}

/// Prints the table; whether HPCC does here what it does there.
pub(crate) fn compare(
    json: &mut serde_json::Map<String, serde_json::Value>,
) -> Result<bool, Box<dyn Error>> {
    let mut holds = true;
    println!("\nincasts in HPCC's fat tree of 320 hosts: theirs, ours\n");
    println!(
        "| senders | congestion control | last byte, us | slowdown p50 | PFC frames | deepest queue, KB |"
    );
    println!("|---|---|---|---|---|---|");
    for theirs in &THEIRS {
        let outcome = incast(theirs)?;
        let last_ps = outcome.flows.iter().map(|flow| flow.finished_ps).max().flatten();
        let last_us = last_ps.unwrap_or(0) as f64 / 1e6;
        let roce = outcome.roce.clone().unwrap_or_default();
        let p50 = roce.slowdown_p50_permille.unwrap_or(0) as f64 / 1e3;
        let (pauses, deepest) = (outcome.pfc_frames, deepest_kb(&outcome));
        let Theirs { senders, congestion, .. } = theirs;
        let last = format!("{:.0}, {last_us:.0}", theirs.last_us);
        let slowdown = format!("{:.1}, {p50:.1}", theirs.slowdown_p50);
        let (their_pauses, their_deepest) = (theirs.pauses, theirs.deepest_kb);
        println!(
            "| {senders} of {} KB | {congestion} | {last} | {slowdown} | {their_pauses}, {pauses} | \
             {their_deepest}, {deepest} |",
            theirs.size_bytes / 1_000,
        );
        if *congestion == "hpcc" {
            let is_as_long = (last_us / theirs.last_us - 1.0).abs() <= 0.1;
            holds &= pauses == 0 && is_as_long && deepest * 10 <= theirs.deepest_kb * 11;
        }
        json.insert(
            format!("fat tree {senders} {congestion}"),
            serde_json::json!({
                "last_us": last_us, "slowdown_p50": p50, "pfc_frames": pauses,
                "deepest_kb": deepest, "their_last_us": theirs.last_us,
                "their_slowdown_p50": theirs.slowdown_p50, "their_pauses": theirs.pauses,
                "their_deepest_kb": theirs.deepest_kb,
            }),
        );
    }
    Ok(holds)
}
