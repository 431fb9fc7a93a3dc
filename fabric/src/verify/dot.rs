//! Buffers that wait for each other, as Graphviz: a cycle, or those of the expected paths.

use super::rule_set::NetworkRules;
use super::table::Table;
use super::{Hop, start_state};
use crate::network::Network;
use crate::paths::{PathSet, Walks};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::ops::ControlFlow;

/// Paths that [`dot_paths`] draws of each class: more than a reader can follow.
const DRAWN_MAX: usize = 200;

/// The cycle in the DOT language, for `dot -Tsvg`.
pub fn dot(network: &Network, cycle: &[Hop]) -> String {
    let next = cycle.iter().cycle().skip(1);
    let waits = cycle.iter().zip(next).map(|(hop, next)| Wait {
        from: (hop.input, hop.tag.value()),
        output: hop.output,
        to: (next.input, hop.new_tag.value()),
    });
    draw(network, "cycle", &waits.collect())
}

/// The buffers that frames of the expected paths are in, and which of them wait for which, in the
/// DOT language: of at most [`DRAWN_MAX`] paths of each class.
pub fn dot_paths(network: &Network, rules: &NetworkRules, paths: &PathSet) -> String {
    let table = Table::new(network, rules);
    let mut waits = BTreeSet::new();
    for class in 0..paths.classes() {
        let own = paths.of_class(class);
        let walks = Walks::grouped(network, &own, |slot| slot);
        let start = start_state(rules, &table, class);
        let mut drawn = 0;
        let _drawn_enough = walks.visit(0, &mut |turns| {
            let mut state = start;
            for two in turns.windows(2) {
                let ((input, output), (next_input, _)) = (two[0], two[1]);
                let next = table.turn(network, input, output, state);
                if next == table.lossy() {
                    break;
                }
                let tag = |state: u8| table.tags[usize::from(state)].value();
                let (from, to) = ((input, tag(state)), (next_input, tag(next)));
                waits.insert(Wait { from, output, to });
                state = next;
            }
            drawn += 1;
            if drawn < DRAWN_MAX { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
    }
    draw(network, "paths", &waits)
}

/// That the buffer `from` waits for `to`. A buffer: the slot that frames come in by, and their tag.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Wait {
    from: (u32, u8),
    output: u32,
    to: (u32, u8),
}

fn draw(network: &Network, name: &str, waits: &BTreeSet<Wait>) -> String {
    let mut text = format!("digraph {name} {{\n  rankdir=LR;\n  node [shape=box];\n");
    let mut write = |line: String| {
        writeln!(text, "  {line}").expect("a String takes all that is written to it");
    };
    let buffers: BTreeSet<_> = waits.iter().flat_map(|wait| [wait.from, wait.to]).collect();
    let number = |buffer| buffers.iter().position(|&other| other == buffer).unwrap_or_default();
    for (at, &(input, tag)) in buffers.iter().enumerate() {
        write(format!("n{at} [label=\"{}\\ntag {tag}\"];", network.show(input)));
    }
    for Wait { from, output, to } in waits {
        let (port, tag) = (network.port(*output), to.1);
        write(format!("n{} -> n{} [label=\"out {port}, tag {tag}\"];", number(*from), number(*to)));
    }
    text + "}\n"
}
