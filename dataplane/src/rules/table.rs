//! The compiled form: a flat array of new tags, indexed by (tag, in port, out port).
//!
//! A TCAM answers in one cycle because it asks every entry at once. Software gets the same by
//! asking them all beforehand: tags are six bits and ports few, so every question fits an array. A
//! tag takes a square of `ports` by `ports` bytes; tags that the same entries match share one, and
//! so do all that no entry matches, which are lossy everywhere. A table with two tags and 64 ports
//! is 12 KB and stays in the first-level cache.
//!
//! `benches/rules.rs` measures it against the ways not taken: sharing equal rows between ports (a
//! tenth of the memory, a third load), bit vectors, and the linear search.

use super::{PortSet, TcamEntry};
use crate::ids::{PortId, Tag};
use crate::limits::{PORTS_MAX, TAGS};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

/// An immutable rule table for the packet path. [`RuleTable::lookup`] costs two loads, whatever the
/// number of entries.
#[derive(Clone, Debug)]
pub struct RuleTable {
    /// Where each tag's square begins in `new_tags`.
    starts: [u32; TAGS],
    /// Squares of `ports` rows, one for each in port, of `ports` new tags, one for each out port.
    new_tags: Box<[Tag]>,
    ports: u32,
    lossy_tag: Tag,
}

impl RuleTable {
    /// Compiles `entries` for a switch of `ports` ports, [`PORTS_MAX`] at the most. First match
    /// wins, no match is `lossy_tag`, and a frame that is lossy stays so whatever the entries say.
    pub fn compile(entries: &[TcamEntry], ports: usize, lossy_tag: Tag) -> Self {
        let ports = ports.min(PORTS_MAX);
        let mut new_tags = vec![lossy_tag; ports * ports];
        // By the numbers of the entries that a tag matches: its square.
        let mut squares: BTreeMap<Vec<usize>, u32> = BTreeMap::from([(Vec::new(), 0)]);
        let mut starts = [0; TAGS];
        for tag in Tag::all().filter(|&tag| tag != lossy_tag) {
            let matching = (0..entries.len()).filter(|&number| entries[number].tag.matches(tag));
            starts[tag.index()] =
                *squares.entry(matching.collect()).or_insert_with_key(|matching| {
                    let start = new_tags.len();
                    new_tags.resize(start + ports * ports, lossy_tag);
                    fill(&mut new_tags[start..], ports, entries, matching);
                    u32::try_from(start).expect("64 squares of 256 ports fit 32 bits")
                });
        }
        Self {
            starts,
            new_tags: new_tags.into_boxed_slice(),
            ports: u32::try_from(ports).expect("PORTS_MAX at the most"),
            lossy_tag,
        }
    }

    /// The tag that a frame with `tag` from `input` to `output` goes on with. A port that the
    /// switch does not have is lossy in both directions.
    #[inline(always)]
    pub fn lookup(&self, tag: Tag, input: PortId, output: PortId) -> Tag {
        let ports = self.ports as usize;
        // Without this, a port beyond the last would read another port's answer, or another tag's.
        if input.index() >= ports || output.index() >= ports {
            return self.lossy_tag;
        }
        let at = self.starts[tag.index()] as usize + input.index() * ports + output.index();
        *self.new_tags.get(at).unwrap_or(&self.lossy_tag)
    }

    /// The tag of the lossy class.
    pub const fn lossy_tag(&self) -> Tag {
        self.lossy_tag
    }

    /// Bytes of memory of the table.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(self) + size_of_val(&*self.new_tags)
    }
}

/// Writes into a lossy square what the entries with the numbers `matching` say: each pair of ports
/// is decided by the first that has it.
fn fill(square: &mut [Tag], ports: usize, entries: &[TcamEntry], matching: &[usize]) {
    let all: PortSet = (0..ports).filter_map(PortId::from_index).collect();
    let mut undecided = vec![all; ports];
    for entry in matching.iter().map(|&number| &entries[number]) {
        for input in all.intersection(&entry.in_ports).iter().map(PortId::index) {
            for output in undecided[input].intersection(&entry.out_ports).iter() {
                square[input * ports + output.index()] = entry.new_tag;
            }
            undecided[input] = undecided[input].difference(&entry.out_ports);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{TagMatch, linear};
    use proptest::prelude::*;

    const LOSSY: Tag = Tag::from_low_bits(0);

    fn port(number: usize) -> PortId {
        PortId::from_number(number).unwrap()
    }

    fn ports(numbers: impl IntoIterator<Item = usize>) -> PortSet {
        numbers.into_iter().map(port).collect()
    }

    fn entry(tag: u8, from: PortSet, to: PortSet, new_tag: u8) -> TcamEntry {
        TcamEntry {
            tag: TagMatch { value: tag, mask: 63 },
            in_ports: from,
            out_ports: to,
            new_tag: Tag::from_low_bits(new_tag),
        }
    }

    fn check(entries: &[TcamEntry], ports: usize, lossy: Tag) -> Result<(), TestCaseError> {
        let table = RuleTable::compile(entries, ports, lossy);
        for tag in Tag::all() {
            for (input, output) in (1..=ports).flat_map(|i| (1..=ports).map(move |o| (i, o))) {
                let (input, output) = (port(input), port(output));
                let truth = linear::lookup(entries, lossy, tag, input, output);
                let found = table.lookup(tag, input, output);
                prop_assert_eq!(found, truth, "{}: {} to {}", tag, input, output);
            }
        }
        Ok(())
    }

    /// Sets of every kind a TCAM sees: none, one port, some, all.
    fn port_set() -> impl Strategy<Value = PortSet> {
        prop_oneof![
            Just(PortSet::EMPTY),
            (1..=64_usize).prop_map(|number| ports([number])),
            any::<u64>().prop_map(|bits| ports((1..=64).filter(move |n| bits >> (n - 1) & 1 == 1))),
            Just(ports(1..=64)),
        ]
    }

    /// Values and masks of six bits, some with bits beyond; few tags, so that entries overlap.
    fn any_entry() -> impl Strategy<Value = TcamEntry> {
        let value = prop_oneof![0..8_u8, any::<u8>()];
        let mask = prop_oneof![3 => Just(63_u8), 1 => Just(0), 1 => any::<u8>()];
        (value, mask, port_set(), port_set(), 0..64_u8).prop_map(
            |(value, mask, in_ports, out_ports, new_tag)| TcamEntry {
                tag: TagMatch { value, mask },
                in_ports,
                out_ports,
                new_tag: Tag::from_low_bits(new_tag),
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn the_table_answers_as_the_linear_search(
            entries in proptest::collection::vec(any_entry(), 0..24),
            ports in 1..=64_usize,
            lossy in 0..64_u8,
        ) {
            check(&entries, ports, Tag::from_low_bits(lossy))?;
        }
    }

    /// Every table of up to two entries that one tag, two ports and two answers allow, any of them
    /// lossy: 1 + 33 + 33 x 33 tables, all tags, all pairs of ports.
    #[test]
    fn every_small_table_answers_as_the_linear_search() {
        let sets =
            || (0..4_usize).map(|bits| ports((1..=2).filter(move |n| bits >> (n - 1) & 1 == 1)));
        let mut entries = Vec::from([None]);
        for (from, to) in sets().flat_map(|from| sets().map(move |to| (from, to))) {
            entries.extend([0, 2].map(|new_tag| Some(entry(1, from, to, new_tag))));
        }
        for first in &entries {
            for second in &entries {
                let list: Vec<TcamEntry> = first.iter().chain(second).copied().collect();
                check(&list, 2, LOSSY).unwrap();
            }
        }
    }

    /// Tagger, Table III (a): tag, in port, out port, new tag; others are lossy.
    const TABLE_III_A: [(u8, usize, usize, u8); 8] = [
        (1, 2, 3, 2),
        (1, 2, 4, 2),
        (2, 3, 2, 3),
        (2, 3, 4, 3),
        (2, 4, 2, 3),
        (2, 4, 3, 3),
        (3, 3, 2, 4),
        (3, 4, 2, 4),
    ];

    #[test]
    fn the_paper_s_switch_a_rewrites_as_printed() {
        let entries = TABLE_III_A.map(|(tag, i, o, new)| entry(tag, ports([i]), ports([o]), new));
        let table = RuleTable::compile(&entries, 4, LOSSY);
        let mut printed = Vec::new();
        for tag in Tag::all() {
            for (i, o) in (1..=4).flat_map(|i| (1..=4).map(move |o| (i, o))) {
                let new_tag = table.lookup(tag, port(i), port(o));
                if new_tag != LOSSY {
                    printed.push((tag.value(), i, o, new_tag.value()));
                }
            }
        }
        assert_eq!(printed, TABLE_III_A);
    }

    #[test]
    fn a_port_beyond_the_table_is_lossy_and_not_another_port() {
        let all = ports(1..=64);
        let table = RuleTable::compile(&[entry(1, all, all, 1)], 4, LOSSY);
        let tag = Tag::from_low_bits(1);
        assert_eq!(table.lookup(tag, port(4), port(4)), tag);
        for (input, output) in [(5, 1), (1, 5), (256, 256), (4, 6)] {
            assert_eq!(table.lookup(tag, port(input), port(output)), LOSSY, "{input} to {output}");
        }
    }

    #[test]
    fn memory_is_a_square_for_each_set_of_entries() {
        let all = ports(1..=64);
        let two = [entry(1, all, all, 2), entry(2, all, all, 2)];
        let fixed = size_of::<RuleTable>();
        assert_eq!(RuleTable::compile(&[], 64, LOSSY).memory_bytes(), fixed + 64 * 64);
        assert_eq!(RuleTable::compile(&two, 64, LOSSY).memory_bytes(), fixed + 3 * 64 * 64);
        let any_tag = TcamEntry { tag: TagMatch { value: 0, mask: 0 }, ..two[0] };
        let shared = RuleTable::compile(&[any_tag], 64, LOSSY);
        assert_eq!(shared.memory_bytes(), fixed + 2 * 64 * 64, "63 tags that are treated alike");
        assert!(RuleTable::compile(&two, 64, LOSSY).memory_bytes() < 13 * 1024);
    }

    #[test]
    fn the_largest_table_fits_its_indices() {
        // Every lossless tag has entries of its own: 64 squares.
        let entries: Vec<TcamEntry> = (1..64_u8)
            .flat_map(|tag| (1..=256).map(move |n| entry(tag, ports([n]), ports([n]), tag)))
            .collect();
        let table = RuleTable::compile(&entries, 256, LOSSY);
        assert_eq!(table.memory_bytes(), size_of::<RuleTable>() + 64 * 256 * 256);
        for entry in entries.iter().step_by(17) {
            let (tag, at) =
                (Tag::from_low_bits(entry.tag.value), entry.in_ports.iter().next().unwrap());
            assert_eq!(table.lookup(tag, at, at), entry.new_tag);
        }
    }
}
