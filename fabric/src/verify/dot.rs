//! A cycle as Graphviz: switches as boxes, buffers that wait for each other as nodes in them.

use super::Hop;
use crate::network::Network;
use std::fmt::Write;

/// The cycle in the DOT language, for `dot -Tsvg`.
pub fn dot(network: &Network, cycle: &[Hop]) -> String {
    let mut text = String::from("digraph cycle {\n  rankdir=LR;\n  node [shape=box];\n");
    let mut write = |line: String| {
        writeln!(text, "  {line}").expect("a String takes all that is written to it");
    };
    for (at, hop) in cycle.iter().enumerate() {
        let label = format!("{}\\ntag {}", network.show(hop.input), hop.tag);
        write(format!("n{at} [label=\"{label}\"];"));
    }
    for (at, hop) in cycle.iter().enumerate() {
        let next = (at + 1) % cycle.len();
        let port = network.port(hop.output);
        write(format!("n{at} -> n{next} [label=\"out {port}, tag {}\"];", hop.new_tag));
    }
    text + "}\n"
}
