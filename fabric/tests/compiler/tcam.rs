//! Compression: what comes out of the entries is what went in.

use dataplane::ids::{PortId, Tag};
use dataplane::rules::PortSet;
use fabric::compile::demand::Demand;
use fabric::compile::tcam::{compress, expand};
use proptest::prelude::*;

const PORTS: usize = 5;

fn tag(value: u8) -> Tag {
    Tag::new(value).unwrap()
}

fn port(index: usize) -> PortId {
    PortId::from_index(index).unwrap()
}

/// By tag 1 to 3, in port and out port: the answer, and whether it is free.
fn cells() -> impl Strategy<Value = Vec<(u8, bool)>> {
    proptest::collection::vec((0..4_u8, proptest::bool::weighted(0.2)), 3 * PORTS * PORTS)
}

fn demand(cells: &[(u8, bool)], with_free: bool) -> Demand {
    let mut demand = Demand::new(PORTS, tag(0));
    for (at, &(answer, is_free)) in cells.iter().enumerate() {
        let cell = (at / PORTS / PORTS + 1, at / PORTS % PORTS, at % PORTS);
        let outputs: PortSet = [port(cell.2)].into_iter().collect();
        let matched = tag(u8::try_from(cell.0).unwrap());
        if is_free && with_free {
            demand.may(matched, port(cell.1), outputs, tag(answer));
        } else {
            demand.must(matched, port(cell.1), outputs, tag(answer));
        }
    }
    demand
}

proptest! {
    #[test]
    fn expanding_undoes_compressing(cells in cells()) {
        let entries = compress(&demand(&cells, false));
        for (matched, input, output, answer) in expand(&entries, PORTS, tag(0)) {
            let at = match matched.value() {
                value @ 1..=3 => usize::from(value) - 1,
                _ => {
                    prop_assert_eq!(answer, tag(0), "a tag that no rule was for");
                    continue;
                }
            };
            let (wanted, _) = cells[(at * PORTS + input.index()) * PORTS + output.index()];
            prop_assert_eq!(answer, tag(wanted), "tag {} {} to {}", matched, input, output);
        }
    }

    #[test]
    fn what_is_free_gets_an_answer_that_is_allowed(cells in cells()) {
        let demand = demand(&cells, true);
        let entries = compress(&demand);
        for (matched, input, output, answer) in expand(&entries, PORTS, tag(0)) {
            prop_assert!(demand.allows(matched, input, output, answer));
        }
    }
}

fn set(numbers: impl IntoIterator<Item = usize>) -> PortSet {
    numbers.into_iter().map(port).collect()
}

#[test]
fn the_papers_example_is_one_entry() {
    // Fig. 9: from ports 0, 1 and 3 to port 2.
    let mut demand = Demand::new(4, tag(0));
    for input in [0, 1, 3] {
        demand.must(tag(1), port(input), set([2]), tag(2));
    }
    let entries = compress(&demand);
    assert_eq!(entries.len(), 1);
    assert_eq!((entries[0].in_ports, entries[0].out_ports), (set([0, 1, 3]), set([2])));
}

#[test]
fn rules_that_differ_in_the_tag_only_share_an_entry() {
    let mut demand = Demand::new(2, tag(0));
    demand.must(tag(2), port(0), set([1]), tag(3));
    demand.must(tag(3), port(0), set([1]), tag(3));
    let entries = compress(&demand);
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0].tag.mask, 0b11_1110);
    // Tags 1 and 2 have no mask of their own: it would match 0 and 3 too.
    let mut demand = Demand::new(2, tag(0));
    demand.must(tag(1), port(0), set([1]), tag(2));
    demand.must(tag(2), port(0), set([1]), tag(2));
    assert_eq!(compress(&demand).len(), 2);
}

#[test]
fn first_match_lets_a_later_entry_take_everything() {
    // Down-to-up turns rise; everything else stays: two entries, whatever the number of ports.
    let mut demand = Demand::new(64, tag(0));
    for input in 0..64 {
        let came_down = input >= 40;
        let up = set(40..64);
        let down = set(0..40);
        demand.must(tag(1), port(input), down, tag(1));
        demand.must(tag(1), port(input), up, tag(if came_down { 2 } else { 1 }));
    }
    assert_eq!(compress(&demand).len(), 2);
}
