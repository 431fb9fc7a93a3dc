//! The proof, from the rules alone: no buffer can ever wait for itself, and the expected paths are
//! lossless.
//!
//! Nothing is taken from the compiler. Rules may be of any origin, by hand too; every turn that
//! they allow counts, u-turns and routing loops too, with every lossless tag on every port, whether
//! an expected path comes to it or not. Where several tags share a priority they share a buffer.

mod dot;
pub mod forwarding;
#[cfg(test)]
mod forwarding_tests;
mod mixture;
mod rule_set;
mod table;
mod waits;

pub use dot::{dot, dot_paths};
pub use mixture::{MixtureError, MixtureVerdict, Mixtures, common_rules};
pub use rule_set::NetworkRules;
pub use waits::Hop;

use crate::network::Network;
use crate::paths::{PathSet, Turn, Walks};
use dataplane::ids::Tag;
use std::ops::ControlFlow;
pub(crate) use table::Table;
use waits::Waits;

/// Lossy paths that are named.
const NAMED_MAX: usize = 10;
/// Paths looked at one by one for those: a handful is all that is wanted.
const LOOKED_AT_MAX: u64 = 2_000_000;

/// What was proven, or what stands against it.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The shortest cycle of buffers that was found; none if there is no cycle.
    pub cycle: Vec<Hop>,
    /// Expected paths, of the application class of which the most are lossy.
    pub paths: u64,
    /// Those that are lossless from host to host in that class.
    pub lossless_paths: u64,
    /// The same of each application class.
    pub classes: Vec<ClassVerdict>,
    /// A few of those that are not.
    pub lossy: Vec<LossyPath>,
}

/// The expected paths of one application class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassVerdict {
    /// The tag that its frames start with; `None` if there are fewer lossless tags.
    pub initial_tag: Option<Tag>,
    /// Its expected paths.
    pub paths: u64,
    /// Those that are lossless from host to host.
    pub lossless_paths: u64,
}

/// An expected path that is not lossless.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LossyPath {
    /// The application class of frames that are lossy on it, counted from 0.
    pub class: u8,
    /// Its turns.
    pub turns: Vec<Turn>,
    /// The turn that no rule keeps lossless, by its place in `turns`.
    pub lost_at: usize,
}

impl Verdict {
    /// Whether no buffer can wait for itself.
    pub const fn is_deadlock_free(&self) -> bool {
        self.cycle.is_empty()
    }
}

/// Proves that the rules are free of deadlock, or finds a cycle; and follows every path.
pub fn verify(network: &Network, rules: &NetworkRules, paths: &PathSet) -> Verdict {
    let table = Table::new(network, rules);
    let cycle = find_cycle(network, rules, &table);
    let mut verdict =
        Verdict { cycle, paths: 0, lossless_paths: 0, classes: Vec::new(), lossy: Vec::new() };
    for class in 0..paths.classes() {
        let own = paths.of_class(class);
        // Hosts of a switch that the rules treat alike are one.
        let walks = Walks::grouped(network, &own, |slot| {
            let classes = [&table.in_classes, &table.out_classes].map(|of| of[slot as usize]);
            u32::from(classes[0]) << 8 | u32::from(classes[1])
        });
        let start = start_state(rules, &table, class);
        let turn = |input, output, state, _| table.turn(network, input, output, state);
        let ends = walks.tally(start, table.states(), turn);
        let (lossy, lossless) =
            ends.split_last().map_or((0, &[][..]), |(last, rest)| (*last, rest));
        let lossless_paths = lossless.iter().fold(0, |sum: u64, &paths| sum.saturating_add(paths));
        let paths = lossless_paths.saturating_add(lossy);
        let initial_tag = table.tags.get(usize::from(start)).copied();
        verdict.classes.push(ClassVerdict { initial_tag, paths, lossless_paths });
        if class == 0 || lossy > verdict.paths - verdict.lossless_paths {
            (verdict.paths, verdict.lossless_paths) = (paths, lossless_paths);
            verdict.lossy =
                if lossy > 0 { name_lossy(&walks, &table, class, start) } else { Vec::new() };
        }
    }
    verdict
}

/// The shortest cycle of buffers that rules let wait for each other; empty if there is none.
pub fn verify_rules(network: &Network, rules: &NetworkRules) -> Vec<Hop> {
    find_cycle(network, rules, &Table::new(network, rules))
}

/// The state in which hosts send frames of a class: that of the class's initial tag. Where the
/// rules have one initial tag only, the classes start with the lossless tags in order, from it on.
pub(crate) fn start_state(rules: &NetworkRules, table: &Table, class: u8) -> u8 {
    let state_of = |tag| table.tags.binary_search(tag).ok();
    let start = if rules.initial_tags.is_empty() {
        let initial = state_of(&rules.initial_tag);
        initial.map(|at| at + usize::from(class)).filter(|&at| at < table.tags.len())
    } else {
        rules.initial_tags.get(usize::from(class)).and_then(state_of)
    };
    start.and_then(|at| u8::try_from(at).ok()).unwrap_or_else(|| table.lossy())
}

/// The shortest cycle of buffers that wait for each other; empty if there is none.
fn find_cycle(network: &Network, rules: &NetworkRules, table: &Table) -> Vec<Hop> {
    let waits = Waits::new(network, rules, table);
    let on_cycles = waits.on_cycles();
    if on_cycles.is_empty() { Vec::new() } else { waits.shortest_cycle(&on_cycles) }
}

fn name_lossy(walks: &Walks<'_>, table: &Table, class: u8, start: u8) -> Vec<LossyPath> {
    let mut named = Vec::new();
    let mut looked_at = 0;
    let _named_enough = walks.visit(0, &mut |turns| {
        looked_at += 1;
        let mut state = start;
        let lost_at = turns.iter().position(|&(input, output)| {
            state = table.turn(walks.network, input, output, state);
            state == table.lossy()
        });
        if let Some(lost_at) = lost_at {
            named.push(LossyPath { class, turns: turns.to_vec(), lost_at });
        }
        if named.len() == NAMED_MAX || looked_at == LOOKED_AT_MAX {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    named
}

/// A path as files name it: `H1 A B:3 H2`, with the port where it comes in.
pub fn show_path(network: &Network, turns: &[Turn]) -> String {
    use crate::network::Peer;
    let host = |slot| match network.peer(slot) {
        Peer::Host(host) => network.host_name(host).to_owned(),
        Peer::None | Peer::Slot(_) => network.show(slot),
    };
    let (Some(first), Some(last)) = (turns.first(), turns.last()) else { return String::new() };
    let switches = turns.iter().enumerate().map(|(at, &(input, _))| {
        if at == 0 {
            network.switch_name(network.owner(input)).to_owned()
        } else {
            network.show(input)
        }
    });
    let words = [host(first.0)].into_iter().chain(switches).chain([host(last.1)]);
    words.collect::<Vec<_>>().join(" ")
}
