//! TTL classes in a switch and in a network: what a pause names, how the buffer is divided, that no
//! cycle closes whatever the scheduler is, and what a tree saves.

use crate::row::{Paper, Row, Verdict};
use bench::stats::SEEDS_MIN;
use config::scenario::{SchemeKind, feasibility};
use config::{ScenarioConfig, SwitchConfig};
use dataplane::buffer::lossless_shared_bytes;
use dataplane::ids::Priority;
use dataplane::testing::RigBuilder;
use dataplane::testing::wire::{Udp, port_mac};
use dataplane::ttl_class::{Parity, TtlClasses};
use dataplane::wire::mac_control::{MacControl, Pfc};
use netsim::scenario::{Options, run};
use random::Draw;
use rayon::prelude::*;
use std::error::Error;
use std::path::{Path, PathBuf};

const PAPER: Paper = Paper::TtlClasses;

/// Scenarios that deadlock under plain PFC.
const CYCLES: [&str; 5] = ["ring", "ring-dynamic", "tagger-bounce", "levels-two", "levels-three"];
/// Flows start within so long of their time, by seed.
const JITTER_NS: u64 = 20_000;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn load(name: &str) -> Result<ScenarioConfig, Box<dyn Error>> {
    Ok(ScenarioConfig::load(&root().join(format!("netsim/scenarios/{name}.toml")))?)
}

/// Section 1.2: for each class j, frames that fill a VIQ of class j make the switch pause class
/// j - 1, and no other.
pub(crate) fn pauses() -> Row {
    let named: Vec<(u8, Option<u8>)> = (1..8).map(|class| (class, paused_class(class))).collect();
    let holds = named.iter().all(|&(class, paused)| paused == Some(class - 1));
    let ours: Vec<String> = named
        .iter()
        .map(|(class, paused)| match paused {
            Some(paused) => format!("{class}: {paused}"),
            None => format!("{class}: none or several"),
        })
        .collect();
    let ours = format!("VIQ class: paused class, {}", ours.join(", "));
    let verdict = Verdict::holds_if(holds, "a pause names another class");
    let item = "1.2, Fig. 1(b): modified PFC";
    Row::new(PAPER, item, "a VIQ of class j pauses class j - 1 upstream", ours, verdict)
}

/// The one class that a switch pauses when class `class` cannot leave.
fn paused_class(class: u8) -> Option<u8> {
    let mut builder = RigBuilder::routed(2);
    let ttl_classes =
        TtlClasses { ttl0: 64, priorities: Priority::all().collect(), parity: Parity::All };
    let viq = builder.settings.ports[0].lossless[3];
    for port in &mut builder.settings.ports {
        let is_held = |p: &Priority| ttl_classes.lossless_bits() & p.bit() != 0;
        port.lossless = Priority::EACH.map(|p| viq.filter(|_| is_held(&p)));
        port.upstream = ttl_classes.upstream();
    }
    builder.forwarding.iter_mut().for_each(|port| port.trust.trusted = true);
    builder.tags.ttl_classes = Some(ttl_classes);
    let mut rig = builder.build();
    let stop = Pfc::default().with(Priority::from_low_bits(class), u16::MAX);
    rig.arrive(2, &stop.to_frame(port_mac(9)));
    rig.turn();
    let frame = Udp { ttl: 65 - class, frame_bytes: 1_000, ..Udp::routed(1, 2, 26) };
    for _ in 0..30 {
        rig.arrive(1, &frame.bytes());
    }
    rig.settle();
    let mut bits = 0;
    for frame in rig.sent(1) {
        if let MacControl::Pfc(pfc) = MacControl::parse(&frame) {
            bits |= pfc.enabled_bits;
        }
    }
    (bits.count_ones() == 1).then(|| u8::try_from(bits.trailing_zeros()).ok()).flatten()
}

/// Section 1.3: k >= d classes, each partition at least ports x MTU, by `config/examples/ttl.toml`
/// with `partitions`.
pub(crate) fn division() -> Result<Row, Box<dyn Error>> {
    let file = root().join("config/examples/ttl.toml");
    let text = std::fs::read_to_string(&file)?.replacen("[ttl]", "[ttl]\npartitions = true", 1);
    let settings = SwitchConfig::parse(&file, &text)?.settings;
    let sizes = settings.buffer.partition_bytes.unwrap_or_default();
    let ports = || settings.ports.iter();
    let mtus: u64 = ports().map(|port| u64::from(port.frame_bytes_max)).sum();
    let mut least = u64::MAX;
    for priority in Priority::all() {
        let viqs = || ports().filter_map(|port| port.lossless[priority.index()]);
        if viqs().next().is_some() {
            let reserves: u64 = viqs().map(|viq| u64::from(viq.reserved_bytes)).sum();
            least = least.min(sizes[priority.index()] + reserves);
        }
    }
    // The parts are all of the pool, and as large as each other.
    let lossless = || sizes.iter().filter(|&&size| size > 0);
    let pool = lossless_shared_bytes(&settings);
    let whole = lossless().sum::<u64>() <= pool
        && lossless().all(|&size| size == pool / lossless().count() as u64);
    let is_divided = lossless().count() > 1 && whole;
    // A class for each link of the longest path, or the network is refused.
    let refused = feasibility::check(&load("ttl-hosts")?, SchemeKind::Ttl).is_ok()
        && feasibility::classes(&with_classes("ttl-hosts", 2)?).is_err();
    let ours = format!("least partition {least} B, ports x MTU {mtus} B; k < d is refused");
    let verdict = Verdict::holds_if(
        least != u64::MAX && least >= mtus && refused && is_divided,
        format!("{ours}: {refused}; the parts make up the pool: {is_divided}"),
    );
    let item = "1.3: buffer division";
    Ok(Row::new(PAPER, item, "k >= d partitions of n x MTU each", ours, verdict)
        .by("knotless check config/examples/ttl.toml"))
}

fn with_classes(name: &str, classes: u8) -> Result<ScenarioConfig, Box<dyn Error>> {
    let mut config = load(name)?;
    config.scheme.classes = Some(classes);
    Ok(config)
}

/// Section 1.4.4: scenarios that deadlock under plain PFC, by seed with queues in order of arrival
/// or served by ingress port, with one pool or with partitions.
pub(crate) fn claim() -> Result<Row, Box<dyn Error>> {
    let mut cases = Vec::new();
    for name in CYCLES {
        let config = load(name)?;
        cases.extend((0..SEEDS_MIN).map(|seed| {
            let mut config = config.clone();
            config.buffers.fair = Some(seed % 2 == 0);
            config.scheme.partitions = seed / 2 % 2 == 0;
            (config, seed)
        }));
    }
    let outcomes: Result<Vec<(bool, bool)>, String> =
        cases.par_iter().map(|(config, seed)| one(config, *seed)).collect();
    let outcomes = outcomes?;
    let sound = outcomes.iter().filter(|(_, sound)| *sound).count();
    let canaries = outcomes.iter().filter(|(deadlock, _)| *deadlock).count();
    let ours = format!(
        "{sound} of {} runs drain and overrun nothing; plain PFC deadlocks in {canaries} of them",
        outcomes.len()
    );
    // Where queues serve ingress ports in turn, most of these cycles do not lock up.
    let holds = sound == outcomes.len() && canaries * 5 >= outcomes.len() * 2;
    let verdict = Verdict::holds_if(holds, ours.clone());
    let value = "free of deadlock whatever the scheduler";
    Ok(Row::new(PAPER, "1.4.4: claim", value, ours, verdict))
}

/// Whether plain PFC deadlocks, and whether TTL classes drain without an overrun. Links that fail
/// in a scenario lose what is on them under any scheme.
fn one(config: &ScenarioConfig, seed: usize) -> Result<(bool, bool), String> {
    let mut config = config.clone();
    let mut rng = random::substream(seed as u64, 1);
    for flow in &mut config.flows {
        flow.pace.start_ns += rng.below(JITTER_NS);
    }
    let simulate = |kind| {
        let options = Options { scheme: Some(kind), ..Options::default() };
        run(&config, options).map_err(|error| error.to_string())
    };
    let outcome = simulate(SchemeKind::Ttl)?;
    let is_sound = outcome.deadlock.is_none()
        && outcome.drained_ps.is_some()
        && outcome.headroom_overruns == 0
        && outcome.violations.is_empty();
    Ok((simulate(SchemeKind::Pfc)?.deadlock.is_some(), is_sound))
}

/// Section 2.1: on a tree a switch holds every second class, and reserves for no other.
pub(crate) fn tree() -> Result<Row, Box<dyn Error>> {
    let mut reserved = Vec::new();
    let mut is_sound = true;
    for tree in [false, true] {
        let mut config = load("tagger-bounce")?;
        config.scheme.tree = tree;
        let options = Options { scheme: Some(SchemeKind::Ttl), ..Options::default() };
        let outcome = run(&config, options)?;
        is_sound &= outcome.lossless_drops == 0 && outcome.drained_ps.is_some();
        reserved.push(outcome.reserved_bytes);
    }
    let ours = format!("{} B of {} B with 7 classes in switches", reserved[1], reserved[0]);
    // Of classes 1 to 7 four are odd and three are even.
    let holds = is_sound && reserved[1] * 7 == reserved[0] * 4;
    let verdict = Verdict::holds_if(holds, format!("{ours}; lossless: {is_sound}"));
    let value = "consecutive classes never meet in a switch";
    Ok(Row::new(PAPER, "2.1: classes on a tree", value, ours, verdict))
}
