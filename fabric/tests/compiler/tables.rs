//! The Tagger paper's walk-through example, to the letter.

use crate::oracle::Case;
use dataplane::ids::Tag;
use fabric::compile::{Algorithm, Budget, Compiled, Options, compile, tcam};

/// Tag, in port, out port, new tag: a line of a table in the Tagger paper; all else is lossy.
type Line = (u8, usize, usize, u8);

/// Table III: switches A, B and C under Algorithm 1.
const TABLE_III: [[Line; 8]; 3] = [
    [
        (1, 2, 3, 2),
        (1, 2, 4, 2),
        (2, 3, 2, 3),
        (2, 3, 4, 3),
        (2, 4, 2, 3),
        (2, 4, 3, 3),
        (3, 3, 2, 4),
        (3, 4, 2, 4),
    ],
    [
        (1, 2, 1, 2),
        (1, 2, 4, 2),
        (2, 1, 2, 3),
        (2, 1, 4, 3),
        (2, 4, 1, 3),
        (2, 4, 2, 3),
        (3, 1, 2, 4),
        (3, 4, 2, 4),
    ],
    [
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

/// Table IV: the same under Algorithm 2.
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

fn compiled(algorithm: Algorithm) -> Compiled {
    let case = Case::triangle();
    let options = Options { algorithm, lossless_max: 7, budget: Budget::Work };
    compile(&case.network, &case.paths, &options, &|_| {}).unwrap()
}

/// What the rule files say, cell by cell.
fn lines(compiled: &Compiled, switch: usize) -> Vec<Line> {
    let rules = &compiled.rules[switch];
    let cells = tcam::expand(&rules.entries, rules.ports, rules.lossy_tag);
    cells
        .filter(|&(_, _, _, new_tag)| new_tag != Tag::default())
        .map(|(tag, i, o, new_tag)| (tag.value(), i.number(), o.number(), new_tag.value()))
        .collect()
}

#[test]
fn algorithm_1_gives_table_iii() {
    let compiled = compiled(Algorithm::BruteForce);
    for (switch, table) in TABLE_III.iter().enumerate() {
        assert_eq!(lines(&compiled, switch), table);
    }
    assert_eq!(compiled.lossless_priorities, 3, "tag 4 is seen by hosts only");
    assert_eq!((compiled.verdict.paths, compiled.verdict.lossless_paths), (12, 12));
}

#[test]
fn algorithm_2_gives_table_iv() {
    let compiled = compiled(Algorithm::Greedy);
    for (switch, table) in TABLE_IV.iter().enumerate() {
        assert_eq!(lines(&compiled, switch), *table);
    }
    assert_eq!(compiled.lossless_priorities, 2);
    assert_eq!(compiled.conflicts, Some(0));
    assert_eq!((compiled.verdict.paths, compiled.verdict.lossless_paths), (12, 12));
}

#[test]
fn an_order_needs_two_as_well_and_no_fewer() {
    let compiled = compiled(Algorithm::UpDown);
    assert_eq!((compiled.lossless_priorities, compiled.priorities_min), (2, 2));
    assert_eq!(compiled.verdict.lossless_paths, 12);
    assert!(compiled.rules_max() <= 4);
}
