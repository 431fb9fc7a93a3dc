//! Section VI-C: a network that grows, and the switches whose rules change.
//!
//! Fat-trees get pods at free ports of their cores. Jellyfish networks get a switch: a random link
//! for each two of its ports is cut, and its two ends are joined to the new switch (Singla et al.,
//! 2012).

use super::PAPER;
use super::compiled::{Case, is_whole};
use crate::plot::{Line, Plot};
use crate::row::{Row, Verdict};
use bench::stats::{Interval, SEEDS_MIN};
use fabric::compile::{Algorithm, Budget, Grown, Options, compile_keeping};
use fabric::network::{End, Link};
use fabric::paths::{PathKind, PathSpec};
use fabric::{Network, PathSet, RuleSet};
use random::Draw;
use rayon::prelude::*;
use std::error::Error;
use std::time::Duration;

/// Ports of a switch of the fat-trees.
const FAT_TREE_PORTS: usize = 8;
/// Switches of the Jellyfish networks before they grow.
const SIZES: [usize; 3] = [20, 50, 100];
/// Ports of their switches; half of them lead to other switches.
const JELLYFISH_PORTS: usize = 12;
/// For the search of one network.
const BUDGET: Duration = Duration::from_secs(10);

/// How many of the old switches change.
#[derive(Clone, Copy, Debug)]
struct Changed {
    changed: usize,
    /// The same if all rules are compiled anew.
    changed_anew: usize,
    old: usize,
    /// Whether all paths that can be are lossless, and no buffer can wait for itself.
    is_sound: bool,
}

impl Changed {
    /// Rules are compared with the old ones one by one: what the compiler says of them is checked.
    fn of(case: &Case, old: &[RuleSet], grown: &Grown) -> Result<Self, Box<dyn Error>> {
        let changes = |new: &[RuleSet]| old.iter().filter(|rules| !new.contains(rules)).count();
        let changed = changes(&grown.compiled.rules);
        Ok(Self {
            changed,
            changed_anew: changes(&case.compile(Algorithm::UpDown)?.rules),
            old: old.len(),
            is_sound: is_whole(&grown.compiled) && changed == grown.changes.len(),
        })
    }

    fn percent(self) -> f64 {
        self.changed as f64 * 100.0 / self.old.max(1) as f64
    }
}

/// The row, with a plot of the Jellyfish networks.
pub(super) fn row() -> Result<Row, Box<dyn Error>> {
    eprintln!("  growth");
    let pods = fat_tree()?;
    let jellyfish = SIZES.map(|size| {
        let seeds: Vec<u64> = (1..=SEEDS_MIN as u64).collect();
        let all = seeds.par_iter().map(|&seed| jellyfish(size, seed).map_err(|e| e.to_string()));
        Ok((size, all.collect::<Result<Vec<Changed>, String>>()?))
    });
    let jellyfish: Vec<(usize, Vec<Changed>)> =
        jellyfish.into_iter().collect::<Result<_, String>>()?;
    Ok(of(&pods, &jellyfish))
}

fn of(pods: &[Changed], jellyfish: &[(usize, Vec<Changed>)]) -> Row {
    let changed: usize = pods.iter().map(|step| step.changed).sum();
    let all = || pods.iter().chain(jellyfish.iter().flat_map(|(_, all)| all));
    let is_sound = all().all(|step| step.is_sound && step.changed <= step.old);
    let in_jellyfish = |of: fn(&Changed) -> usize| -> usize {
        jellyfish.iter().flat_map(|(_, all)| all).map(of).sum()
    };
    let (kept, anew) = (in_jellyfish(|it| it.changed), in_jellyfish(|it| it.changed_anew));
    let percents = |all: &[Changed]| -> Vec<f64> { all.iter().map(|it| it.percent()).collect() };
    let means: Vec<(f64, Option<Interval>)> =
        jellyfish.iter().map(|(size, all)| (*size as f64, Interval::of(&percents(all)))).collect();
    let shown = means.iter().map(|(size, interval)| {
        let text = interval.map_or_else(String::new, |it| format!("{:.0}", it.mean));
        format!("Jellyfish {size} and one more: {text} %")
    });
    let ours = format!(
        "fat-tree of {FAT_TREE_PORTS} ports, 2 to {FAT_TREE_PORTS} pods: {changed} old switches \
         change; {}; compiled anew {:.1} x as many",
        shown.collect::<Vec<_>>().join(", "),
        anew as f64 / kept.max(1) as f64
    );
    let verdict = Verdict::holds_if(
        changed == 0 && pods.len() == FAT_TREE_PORTS - 2 && is_sound && 2 * kept < anew,
        "an old switch of a fat-tree changes, the rules that are kept are not right, or hardly any \
         are kept in a Jellyfish",
    );
    let points = means.iter().filter_map(|(size, it)| Some((*size, it.as_ref()?.mean)));
    let line = Line { name: "mean of 20 seeds".to_owned(), points: points.collect() };
    let item = "VI-C: growth";
    let value = "new pods leave the rules of old switches as they are; Jellyfish may not";
    Row {
        interval: means.last().and_then(|(_, interval)| *interval),
        plots: vec![Plot {
            title: "Growth by a switch: old switches that change, %".to_owned(),
            x_label: "switches before".to_owned(),
            is_logarithmic: false,
            lines: vec![line],
        }],
        ..Row::new(PAPER, item, value, ours, verdict)
    }
}

/// Pod after pod: each step keeps what the step before wrote.
fn fat_tree() -> Result<Vec<Changed>, Box<dyn Error>> {
    let case = |pods: usize| {
        Case::parse(&format!(
            "[generate]\nkind = 'fat-tree'\nk = {FAT_TREE_PORTS}\npods = {pods}\n\
             [paths]\nkind = 'up-down'\nbounces = 1\n"
        ))
    };
    let mut rules = case(2)?.compile(Algorithm::UpDown)?.rules;
    let mut steps = Vec::new();
    for pods in 3..=FAT_TREE_PORTS {
        let case = case(pods)?;
        let grown = grow(&case, &rules)?;
        steps.push(Changed::of(&case, &rules, &grown)?);
        rules = grown.compiled.rules;
    }
    Ok(steps)
}

fn jellyfish(switches: usize, seed: u64) -> Result<Changed, Box<dyn Error>> {
    let before = Case::parse(&format!(
        "[generate]\nkind = 'jellyfish'\nswitches = {switches}\nports = {JELLYFISH_PORTS}\n\
         network_ports = {}\nseed = {seed}\n[paths]\nkind = 'shortest-trees'\n",
        JELLYFISH_PORTS / 2
    ))?;
    let rules = before.compile(Algorithm::UpDown)?.rules;
    let network = with_one_more(&before.network, seed)?;
    let paths = PathSet::build(&network, &PathSpec::new(PathKind::ShortestTrees))?;
    let case = Case { network, paths };
    Changed::of(&case, &rules, &grow(&case, &rules)?)
}

/// The rules after the network has grown.
fn grow(case: &Case, rules: &[RuleSet]) -> Result<Grown, Box<dyn Error>> {
    let known = |switch: u32| {
        let name = case.network.switch_name(switch);
        rules.iter().find(|rules| rules.switch == name).cloned()
    };
    let old = case.network.all_switches().map(known).collect();
    let options =
        Options { algorithm: Algorithm::UpDown, lossless_max: 7, budget: Budget::Time(BUDGET) };
    Ok(compile_keeping(&case.network, &case.paths, &options, old, &|_| {})?)
}

/// The network with one more switch, on cut links; every old port stays where it was.
fn with_one_more(old: &Network, seed: u64) -> Result<Network, Box<dyn Error>> {
    let mut network = Network::new();
    for switch in old.all_switches() {
        network.add_switch(old.switch_name(switch).to_owned(), old.ports(switch));
    }
    let new = network.add_switch("NEW".to_owned(), JELLYFISH_PORTS);
    for host in (0..).take(old.hosts()) {
        let end = End::Host(network.add_host(old.host_name(host).to_owned()));
        let slot = old.host_slot(host).ok_or("a host without a link")?;
        network.add_link(Link { ends: [end, End::Slot(slot)], speed: None, length: None })?;
    }
    let mut links: Vec<[u32; 2]> = old
        .all_switches()
        .flat_map(|switch| old.neighbors(switch))
        .filter(|(slot, far)| slot < far)
        .map(|(slot, far)| [slot, far])
        .collect();
    let mut rng = random::substream(seed, 0);
    let (mut free, mut joined) = (network.slots_of(new), Vec::new());
    for _ in 0..JELLYFISH_PORTS / 4 {
        let cut = links.swap_remove(rng.index(links.len()));
        for (end, port) in cut.into_iter().zip(free.by_ref()) {
            joined.push([end, port]);
        }
    }
    let hosts = (1..=JELLYFISH_PORTS / 2).map(|number| format!("NEW-H{number}"));
    for (name, port) in hosts.zip(free) {
        let ends = [End::Host(network.add_host(name)), End::Slot(port)];
        network.add_link(Link { ends, speed: None, length: None })?;
    }
    for ends in links.into_iter().chain(joined) {
        let ends = ends.map(End::Slot);
        network.add_link(Link { ends, speed: None, length: None })?;
    }
    Ok(network)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_grows_by_a_switch_on_cut_links() {
        let changed = jellyfish(10, 1).unwrap();
        assert_eq!(changed.old, 10);
        assert!(changed.is_sound && changed.changed <= 10, "{changed:?}");
    }

    #[test]
    fn the_row_fails_if_an_old_switch_of_a_tree_changes_or_rules_are_wrong() {
        let good = Changed { changed: 0, changed_anew: 9, old: 10, is_sound: true };
        let some = Changed { changed: 4, ..good };
        let row = |pods: &[Changed], jellyfish: Changed| of(pods, &[(20, vec![jellyfish; 20])]);
        assert!(!row(&[good; 6], some).verdict.is_failure());
        assert!(row(&[some; 6], some).verdict.is_failure());
        assert!(row(&[good; 5], some).verdict.is_failure(), "a step is missing");
        assert!(row(&[good; 6], Changed { is_sound: false, ..some }).verdict.is_failure());
        let all = Changed { changed: 9, ..some };
        assert!(row(&[good; 6], all).verdict.is_failure(), "nothing is kept");
    }
}
