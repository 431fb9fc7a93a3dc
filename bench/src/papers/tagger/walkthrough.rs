//! The walk-through example of section V: a triangle of switches and every loop-free path between
//! its hosts; and the compression of rules.

use super::PAPER;
use super::compiled::Case;
use crate::row::{Row, Verdict};
use dataplane::ids::{PortId, Tag};
use dataplane::rules::PortSet;
use fabric::compile::{Algorithm, Compiled, demand::Demand, tcam};
use std::error::Error;

/// Tag, in port, out port, new tag: a line of a table of the Tagger paper; all else is lossy.
type Line = (u8, usize, usize, u8);

/// The rules of switches A, B and C under Algorithm 1.
const TABLE_III: [&[Line]; 3] = [
    &[
        (1, 2, 3, 2),
        (1, 2, 4, 2),
        (2, 3, 2, 3),
        (2, 3, 4, 3),
        (2, 4, 2, 3),
        (2, 4, 3, 3),
        (3, 3, 2, 4),
        (3, 4, 2, 4),
    ],
    &[
        (1, 2, 1, 2),
        (1, 2, 4, 2),
        (2, 1, 2, 3),
        (2, 1, 4, 3),
        (2, 4, 1, 3),
        (2, 4, 2, 3),
        (3, 1, 2, 4),
        (3, 4, 2, 4),
    ],
    &[
        (1, 4, 1, 2),
        (1, 4, 3, 2),
        (2, 1, 3, 3),
        (2, 1, 4, 3),
        (2, 3, 1, 3),
        (2, 3, 4, 3),
        (3, 1, 4, 4),
        (3, 3, 4, 4),
    ],
];

/// The same under Algorithm 2.
const TABLE_IV: [&[Line]; 3] = [
    &[(1, 2, 3, 1), (1, 2, 4, 1), (1, 3, 2, 1), (1, 3, 4, 2), (1, 4, 2, 1), (1, 4, 3, 1)],
    &[(1, 1, 2, 1), (1, 1, 4, 2), (1, 2, 1, 1), (1, 2, 4, 1), (1, 4, 1, 1), (1, 4, 2, 1)],
    &[
        (1, 1, 3, 1),
        (1, 1, 4, 1),
        (1, 3, 1, 1),
        (1, 3, 4, 1),
        (1, 4, 1, 1),
        (1, 4, 3, 1),
        (2, 1, 4, 2),
        (2, 3, 4, 2),
    ],
];

/// The network of Fig. 5(a), with the ports that Tables III and IV name.
const TRIANGLE: &str = "
[[switch]]
name = 'A'
ports = 4
[[switch]]
name = 'B'
ports = 4
[[switch]]
name = 'C'
ports = 4
[[host]]
name = 'D'
[[host]]
name = 'E'
[[host]]
name = 'F'
[[link]]
ends = ['A:2', 'D']
[[link]]
ends = ['B:2', 'E']
[[link]]
ends = ['C:4', 'F']
[[link]]
ends = ['A:3', 'B:1']
[[link]]
ends = ['A:4', 'C:1']
[[link]]
ends = ['B:4', 'C:3']
[paths]
kind = 'all-simple'
";

/// Fig. 5 with Tables III and IV.
pub(crate) fn rows() -> Result<Vec<Row>, Box<dyn Error>> {
    let [first, second] = [Algorithm::BruteForce, Algorithm::Greedy].map(triangle);
    let (first, second) = (first?, second?);
    let table = |item, name, compiled: &Compiled, table: &[&[Line]; 3]| {
        let wrong = (0..3).filter(|&switch| lines(compiled, switch) != table[switch]).count();
        let ours = format!("{} of 3 switches have these rules, to the letter", 3 - wrong);
        let verdict = Verdict::holds_if(wrong == 0, "the rules are not those of the table");
        Row::new(PAPER, item, name, ours, verdict)
    };
    let priorities = [&first, &second].map(|compiled| compiled.lossless_priorities);
    Ok(vec![
        Row::new(
            PAPER,
            "Algorithms 1, 2, Fig. 5",
            "3 and 2 priorities",
            format!("{} and {} priorities", priorities[0], priorities[1]),
            Verdict::holds_if(priorities == [3, 2], "other numbers of priorities"),
        ),
        table("Table III: rules of Algorithm 1", "24 lines", &first, &TABLE_III),
        table("Table IV: rules of Algorithm 2", "20 lines", &second, &TABLE_IV),
    ])
}

pub(super) fn triangle(algorithm: Algorithm) -> Result<Compiled, Box<dyn Error>> {
    Case::parse(TRIANGLE)?.compile(algorithm)
}

/// The rules of a switch, line by line.
pub(super) fn lines(compiled: &Compiled, switch: usize) -> Vec<Line> {
    let rules = &compiled.rules[switch];
    tcam::expand(&rules.entries, rules.ports, rules.lossy_tag)
        .filter(|&(_, _, _, new_tag)| new_tag != Tag::default())
        .map(|(tag, i, o, new_tag)| (tag.value(), i.number(), o.number(), new_tag.value()))
        .collect()
}

/// Three rules that differ in their ingress port.
pub(crate) fn fig_9() -> Row {
    let port = |number| PortId::from_index(number).expect("ports 0 to 3 are ports");
    let tag = |value| Tag::new(value).expect("1 and 2 are tags");
    let mut demand = Demand::new(4, Tag::default());
    for input in [0, 1, 3] {
        demand.must(tag(1), port(input), std::iter::once(port(2)).collect(), tag(2));
    }
    let entries = tcam::compress(&demand);
    let inputs: PortSet = [0, 1, 3].map(port).into_iter().collect();
    let is_it = entries.len() == 1 && entries[0].in_ports == inputs;
    let ours = format!("{} entry", entries.len());
    let verdict = Verdict::holds_if(is_it, "the rules are not one entry of ports 0, 1 and 3");
    Row::new(PAPER, "Fig. 9: rule compression", "3 rules are one TCAM entry", ours, verdict)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_fails_for_the_rules_of_another_algorithm() {
        let rows = rows().unwrap();
        assert!(rows.iter().all(|row| row.verdict == Verdict::Holds), "{rows:?}");
        let ours = triangle(Algorithm::UpDown).unwrap();
        assert!((0..3).any(|switch| lines(&ours, switch) != TABLE_IV[switch]));
        assert_eq!(fig_9().verdict, Verdict::Holds);
    }
}
