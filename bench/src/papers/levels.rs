//! PFC Deadlock Free in Data Center Network: levels of a Clos network, learned by LLDP.

use crate::experiments::Experiments;
use crate::lldp_chain::Chain;
use crate::row::{Paper, Row, Verdict};
use agents::lldp::{LEVEL_MAX, Orientation, PortRole, Profile};
use config::scenario::SchemeKind;
use config::{ScenarioConfig, SwitchConfig};
use dataplane::ids::{PortId, Tag};
use fabric::compile::port_roles;
use netsim::scenario::{Options, run};
use std::error::Error;
use std::path::{Path, PathBuf};

const PAPER: Paper = Paper::Levels;

/// Every slide that states something.
pub(crate) fn rows(experiments: &Experiments) -> Result<Vec<Row>, Box<dyn Error>> {
    let both =
        |item, value, name| experiments.row(PAPER, item, value, &[(name, "pfc"), (name, "updown")]);
    Ok(vec![
        both(
            "reproduce, case 1: two levels",
            "CBD of two spines and two leaves: deadlock",
            "levels-two",
        ),
        both(
            "reproduce, case 2: three levels",
            "CBD of two aggregation switches and two spines: deadlock",
            "levels-three",
        ),
        reactive()?,
        down_up()?,
        steps(),
        tlv(),
        beyond_eight(),
    ])
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A watchdog that breaks a cycle again and again, beside rules that exclude it.
fn reactive() -> Result<Row, Box<dyn Error>> {
    let mut config = ScenarioConfig::load(&root().join("netsim/scenarios/ring.toml"))?;
    config.duration_ns = 10_000_000;
    config.scheme.watchdog.detection_ns = 200_000;
    config.scheme.watchdog.restoration_ns = 200_000;
    let simulate = |kind| run(&config, Options { scheme: Some(kind), ..Options::default() });
    let (watchdog, rules) = (simulate(SchemeKind::Watchdog)?, simulate(SchemeKind::Tagger)?);
    let gbps = |outcome: &netsim::outcome::Outcome| {
        let bytes: u64 = outcome.flows.iter().map(|flow| flow.received_bytes).sum();
        bytes as f64 * 8_000.0 / outcome.duration_ps as f64
    };
    let (with_watchdog, with_rules) = (gbps(&watchdog), gbps(&rules));
    let ours = format!(
        "{} storms and {} lossless frames lost in 10 ms, {with_watchdog:.1} Gb/s; with rules none, \
         {with_rules:.1} Gb/s",
        watchdog.storms, watchdog.watchdog_drops
    );
    // The ring has three ports in its cycle: more storms than ports are a deadlock that returned.
    let holds = watchdog.storms > 6
        && watchdog.watchdog_drops > 0
        && rules.lossless_drops == 0
        && with_watchdog < with_rules * 0.8;
    let verdict = Verdict::holds_if(holds, format!("{ours}: the cycle does not return"));
    let value = "after recovery the deadlock returns at once, and throughput suffers";
    Ok(Row::new(PAPER, "current mechanism, reactive", value, ours, verdict)
        .by("knotless simulate netsim/scenarios/ring.toml --scheme watchdog"))
}

/// Queue 5 to queue 6 at the switch that turns up again, by `config/examples/fabric.toml`.
fn down_up() -> Result<Row, Box<dyn Error>> {
    let config = SwitchConfig::load(&root().join("config/examples/fabric.toml"))?;
    let roles = [PortRole::Downlink, PortRole::Downlink, PortRole::Uplink, PortRole::Uplink];
    let entries = port_roles::entries(&roles, 1);
    let tags = &config.tag_map;
    let shown = |tag: Tag| (tags.priority[tag.index()].value(), tags.dscp[tag.index()]);
    let turn = |input: usize, output: usize| {
        let port = |index| PortId::from_index(index).unwrap_or_default();
        let is_it = |entry: &&dataplane::rules::TcamEntry| {
            entry.matches(Tag::from_low_bits(1), port(input), port(output))
        };
        entries.iter().find(is_it).map(|entry| shown(entry.new_tag))
    };
    let (before, up_again) = (shown(Tag::from_low_bits(1)), turn(2, 3));
    let kept = [turn(0, 2), turn(2, 0), turn(0, 1)];
    let holds = before == (5, 40)
        && up_again == Some((6, 48))
        && kept.iter().all(|&kept| kept == Some(before));
    let ours =
        format!("queue and DSCP {before:?} to {up_again:?} from uplink to uplink, else kept");
    let verdict = Verdict::holds_if(holds, format!("{ours}: {kept:?}"));
    let value = "the switch that turns up changes queue 5 to 6 and the DSCP";
    Ok(Row::new(PAPER, "down-up change", value, ours, verdict)
        .by("knotless check config/examples/fabric.toml"))
}

/// Steps 1 to 4, from a host upward.
fn steps() -> Row {
    let chain = Chain::run(4, 8, Profile::Slides, 30);
    let levels: Vec<Option<u8>> = (1..=4).map(|number| chain.level(number)).collect();
    let ports: Vec<Vec<Orientation>> = (1..=4).map(|number| chain.orientations(number)).collect();
    let (down, up) = (Orientation::Downlink, Orientation::Uplink);
    let holds = levels == [Some(1), Some(2), Some(3), Some(4)]
        && ports == [vec![down, up], vec![down, up], vec![down, up], vec![down]]
        && chain.level(0) == Some(0);
    let ours =
        format!("levels {:?}, ports down and up", levels.iter().flatten().collect::<Vec<_>>());
    let verdict = Verdict::holds_if(holds, format!("{levels:?} {ports:?}"));
    let value = "levels and port types follow from hosts upward; a host ignores levels";
    Row::new(PAPER, "LLDP steps 1 to 4", value, ours, verdict)
        .by("cargo test -p knotless-fabric --test levels")
}

/// The TLV of the slides, and the standard's that came of it.
fn tlv() -> Row {
    let topology = |profile, oui: [u8; 3], subtype: u8| {
        let chain = Chain::run(3, 8, profile, 30);
        let tlvs = chain.organizational_tlvs(2);
        let head = [&oui[..], &[subtype]].concat();
        tlvs.into_iter().find_map(|tlv| tlv.strip_prefix(&head[..]).map(<[u8]>::to_vec))
    };
    let slides = topology(Profile::Slides, [0x0A, 0x6B, 0x6E], 1);
    let standard = topology(Profile::Standard, [0x00, 0x80, 0xC2], 0x14);
    // A switch of level 2, at its uplink.
    let holds =
        slides.as_deref() == Some(&[1, 2, 1][..]) && standard.as_deref() == Some(&[1, 2, 0][..]);
    let ours = format!("slides {slides:?}, IEEE 802.1Qcz {standard:?}: device, level, port");
    let reason = "the slides give no OUI, and their subtype 1 is taken; ours has an OUI of its own";
    let verdict = Verdict::differs_if(holds, reason, format!("{ours} is another TLV"));
    Row::new(PAPER, "TLV format", "type 127, subtype 1: device, level, port", ours, verdict)
}

/// Levels to the TLV's last.
fn beyond_eight() -> Row {
    let switches = usize::from(LEVEL_MAX) + 1;
    let chain = Chain::run(switches, LEVEL_MAX, Profile::Standard, 60);
    let right = (1..=switches).filter(|&number| {
        chain.level(number) == u8::try_from(number).ok().filter(|&level| level <= LEVEL_MAX)
    });
    let right = right.count();
    let low = Chain::run(10, 8, Profile::Standard, 60);
    let limited = (low.level(8), low.level(9)) == (Some(8), None);
    let ours = format!("levels 1 to {LEVEL_MAX}, none above: {right} of {switches} switches right");
    let why = format!("{ours}; with 8 levels the ninth switch has none: {limited}");
    let verdict = Verdict::holds_if(right == switches && limited, why);
    Row::new(PAPER, "levels beyond 8", "a level is an octet", ours, verdict)
        .by("cargo test -p knotless-fabric --test levels")
}
