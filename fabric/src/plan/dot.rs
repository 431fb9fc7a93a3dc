//! An order as Graphviz: the reconfiguration paper's configuration dependency graph (Fig. 5).

use super::change::{Change, Kind};
use super::order::Order;
use crate::network::u32_of;
use std::fmt::Write;

/// The order in the DOT language, for `dot -Tsvg`: the operations of `change` that wait or are
/// waited for, and how many others there are.
pub fn dot(change: &Change, order: &Order) -> String {
    let mut text =
        String::from("digraph plan {\n  rankdir=LR;\n  node [shape=box, style=rounded];\n");
    let mut write = |line: String| {
        writeln!(text, "  {line}").expect("a String takes all that is written to it");
    };
    let waits = order.waits();
    let is_bound = |number: u32| waits[number as usize] > 0 || !order.after(number).is_empty();
    let mut free = [0_usize; 2];
    for (number, operation) in (0..).zip(&change.operations) {
        if !is_bound(number) {
            free[usize::from(operation.kind == Kind::Add)] += 1;
            continue;
        }
        let colour = if operation.kind == Kind::Add { "darkgreen" } else { "firebrick" };
        let label = format!("{} {}", operation.kind.name(), operation.path.name);
        let label = label.replace(['\\', '"'], "'");
        write(format!("o{} [label=\"{label}\", color={colour}];", number + 1));
    }
    let first = u32_of(order.operations());
    for barrier in (first..).take(order.barriers()) {
        write(format!("o{} [label=\"\", shape=point];", barrier + 1));
    }
    for &(before, after) in order.pairs() {
        write(format!("o{} -> o{};", before + 1, after + 1));
    }
    if free != [0, 0] {
        let label = format!("at any time: {} removes, {} adds", free[0], free[1]);
        write(format!("free [label=\"{label}\", style=dashed];"));
    }
    text + "}\n"
}
