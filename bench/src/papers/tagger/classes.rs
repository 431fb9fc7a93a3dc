//! Tagger, VI-A: application classes that share tags.

use super::PAPER;
use crate::row::{Row, Verdict};
use config::scenario::SchemeKind;
use config::{NetworkConfig, ScenarioConfig};
use dataplane::ids::Tag;
use fabric::compile::port_roles::{self, PortRole};
use fabric::compile::{Algorithm, Budget, Options, compile};
use fabric::network::Peer;
use fabric::verify::{NetworkRules, Verdict as Proof, verify};
use fabric::{Network, PathSet, RuleSet};
use netsim::scenario::{self, run};
use std::error::Error;
use std::path::Path;

const COMMAND: &str = "cargo test -p knotless-fabric --test compiler -- classes";

/// How many tags, and whether a paused class delays another one.
pub(super) fn rows() -> Result<Vec<Row>, Box<dyn Error>> {
    Ok(vec![tags()?, bounces_by_class()?, isolation()?])
}

/// A leaf-spine network; its leaves come first in the file.
const LEAVES: u32 = 4;

fn network(paths: &str) -> Result<(Network, PathSet), Box<dyn Error>> {
    let generate = format!("[generate]\nkind = 'clos'\nleaves = {LEAVES}\nspines = 3\nhosts = 1\n");
    let text = format!("{generate}[paths]\nkind = 'up-down'\n{paths}\n");
    let config = NetworkConfig::parse("classes.toml".as_ref(), &text)?;
    let paths = PathSet::build(&config.network, &config.paths)?;
    Ok((config.network, paths))
}

/// What Tagger's scheme with `tags` tags proves for M bounces and N classes: one tag more at each
/// turn from down to up, and class i starts with tag i.
fn under_taggers_scheme(bounces: u8, classes: u8, tags: u8) -> Result<Proof, Box<dyn Error>> {
    let (network, paths) = network(&format!("bounces = {bounces}\nclasses = {classes}"))?;
    let leads_up = |slot: u32| match network.peer(slot) {
        Peer::Slot(far) => is_leaf(&network, slot) && !is_leaf(&network, far),
        _ => false,
    };
    let rules = network.all_switches().map(|switch| {
        let role = |slot| if leads_up(slot) { PortRole::Uplink } else { PortRole::Downlink };
        let roles: Vec<PortRole> = network.slots_of(switch).map(role).collect();
        let rules = port_roles::rules(network.switch_name(switch), &roles, tags - 1);
        RuleSet { initial_tags: (1..=classes).filter_map(Tag::new).collect(), ..rules }
    });
    let rules = NetworkRules::new(&network, rules.collect()).map_err(|(_, why)| why)?;
    Ok(verify(&network, &rules, &paths))
}

fn is_leaf(network: &Network, slot: u32) -> bool {
    let mut slots = network.slots_of(network.owner(slot));
    slots.any(|slot| matches!(network.peer(slot), Peer::Host(_)))
}

fn tags() -> Result<Row, Box<dyn Error>> {
    let mut wrong = Vec::new();
    let mut cases = 0;
    for (m, n) in (0..=2_u8).flat_map(|m| (1..=3_u8).map(move |n| (m, n))) {
        let enough = under_taggers_scheme(m, n, m + n)?;
        if !enough.is_deadlock_free() || enough.lossless_paths != enough.paths {
            wrong.push(format!("M + N do not do for M = {m}, N = {n}"));
        }
        // With M = 0 and N = 1 the formula says no tag at all.
        if m + n > 1 {
            let printed = under_taggers_scheme(m, n, m + n - 1)?;
            if printed.lossless_paths == printed.paths {
                wrong.push(format!("M + N - 1 do for M = {m}, N = {n}"));
            }
        }
        cases += 1;
    }
    let ours = format!("M + N, and no fewer in its scheme, in {cases} of {cases} cases");
    let reason =
        "the formula is a slip: Tagger's own example of two classes has the tags 1 to M + 2";
    let verdict = Verdict::differs_if(wrong.is_empty(), reason, wrong.join("; "));
    let item = "VI-A: application classes";
    Ok(Row::new(PAPER, item, "N classes and M bounces need M + N - 1 tags", ours, verdict)
        .by(COMMAND))
}

fn bounces_by_class() -> Result<Row, Box<dyn Error>> {
    let mut priorities = Vec::new();
    for bounces in ["[1, 1]", "[1, 0]"] {
        let (network, paths) = network(&format!("class_bounces = {bounces}"))?;
        let options =
            Options { algorithm: Algorithm::UpDown, lossless_max: 7, budget: Budget::Work };
        let compiled = compile(&network, &paths, &options, &|_| {})?;
        let is_lossless = compiled.verdict.lossless_paths == compiled.verdict.paths;
        priorities.push(if is_lossless { compiled.lossless_priorities } else { usize::MAX });
    }
    let ours = format!(
        "two classes with a bounce each: {} priorities; one of them without: {}",
        priorities[0], priorities[1]
    );
    let holds = priorities[1] < priorities[0];
    let verdict = Verdict::holds_if(holds, "fewer bounces of a class save no priority");
    let item = "VI-A: classes with fewer bounces";
    Ok(Row::new(PAPER, item, "can be further reduced", ours, verdict).by(COMMAND))
}

/// What the notifications carry in the last quarter of the time while data is paused, in their own
/// class and in that of the data, in Gb/s.
fn isolation() -> Result<Row, Box<dyn Error>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../netsim/scenarios/classes.toml");
    let mut config = ScenarioConfig::load(&file)?;
    let apart = notified(&config)?;
    for flow in &mut config.flows {
        flow.pace.class = 1;
    }
    let together = notified(&config)?;
    let ours = format!("{apart:.2} Gb/s of 1; in the paused class {together:.2}");
    let holds = apart > 0.8 && together < 0.01;
    let why = "a paused class delays the other one, or the scenario pauses nothing";
    let item = "VI-A: a class does not hold up another one";
    let command = "knotless simulate netsim/scenarios/classes.toml";
    let paper = "notifications are not held up by data";
    Ok(Row::new(PAPER, item, paper, ours, Verdict::holds_if(holds, why)).by(command))
}

fn notified(config: &ScenarioConfig) -> Result<f64, Box<dyn Error>> {
    let options = scenario::Options { scheme: Some(SchemeKind::Tagger), ..Default::default() };
    let outcome = run(config, options)?;
    let flows = outcome.flows.iter().filter(|flow| flow.name.starts_with("notify"));
    let quarter_ps = outcome.duration_ps as f64 / 4.0;
    let rates = flows.map(|flow| flow.late_bytes as f64 * 8_000.0 / quarter_ps);
    Ok(rates.fold(f64::INFINITY, f64::min))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_tag_fewer_leaves_the_last_class_lossy_and_no_other() {
        let printed = under_taggers_scheme(1, 2, 2).unwrap();
        let lossy: Vec<bool> =
            printed.classes.iter().map(|class| class.lossless_paths < class.paths).collect();
        assert_eq!(lossy, [false, true]);
        let rows = rows().unwrap();
        assert!(rows[0].verdict.text().starts_with("differs"), "{:?}", rows[0]);
        assert!(rows[1..].iter().all(|row| row.verdict == Verdict::Holds), "{rows:?}");
    }
}
