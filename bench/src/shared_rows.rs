//! Rules as rows of new tags, one for each (tag, in port), where equal rows are stored once.
//!
//! Most rows of a switch are alike (all up-links have the same rules), so this takes a tenth of the
//! memory of the flat array of `dataplane::rules::RuleTable`; it also takes a third load, which
//! depends on the second.

use dataplane::ids::{PortId, Tag};
use dataplane::limits::TAGS;
use dataplane::rules::{TcamEntry, linear};
use std::collections::BTreeMap;

/// The same answers as `dataplane::rules::RuleTable`.
#[derive(Clone, Debug)]
pub struct SharedRows {
    /// For each tag, where its in ports begin in `row_starts`.
    tag_starts: [u32; TAGS],
    /// For each in port, where its row begins in `new_tags`.
    row_starts: Box<[u32]>,
    /// Rows of new tags by out port.
    new_tags: Box<[Tag]>,
    ports: u32,
    lossy_tag: Tag,
}

impl SharedRows {
    /// Compiles `entries` for a switch of `ports` ports; first match wins, no match is `lossy_tag`,
    /// and what is lossy stays so.
    pub fn compile(entries: &[TcamEntry], ports: usize, lossy_tag: Tag) -> Self {
        let all_ports = || (0..ports).filter_map(PortId::from_index);
        let (mut rows, mut tags) = (Interned::default(), Interned::default());
        let lossy_row = rows.start_of(vec![lossy_tag; ports]);
        let mut tag_starts = [tags.start_of(vec![lossy_row; ports]); TAGS];
        for tag in Tag::all().filter(|&tag| entries.iter().any(|entry| entry.tag.matches(tag))) {
            let row = |input| {
                let new_tag = |output| linear::lookup(entries, lossy_tag, tag, input, output);
                all_ports().map(new_tag).collect::<Vec<Tag>>()
            };
            let starts = all_ports().map(|input| rows.start_of(row(input))).collect();
            tag_starts[tag.index()] = tags.start_of(starts);
        }
        Self {
            tag_starts,
            row_starts: tags.all.into_boxed_slice(),
            new_tags: rows.all.into_boxed_slice(),
            ports: u32::try_from(ports).expect("256 ports at the most"),
            lossy_tag,
        }
    }

    /// The tag that a frame with `tag` from `input` to `output` goes on with.
    #[inline(always)]
    pub fn lookup(&self, tag: Tag, input: PortId, output: PortId) -> Tag {
        let ports = self.ports as usize;
        if input.index() >= ports || output.index() >= ports {
            return self.lossy_tag;
        }
        let row = self.tag_starts[tag.index()] as usize + input.index();
        let start = self.row_starts.get(row).map_or(usize::MAX, |&start| start as usize);
        *self.new_tags.get(start.wrapping_add(output.index())).unwrap_or(&self.lossy_tag)
    }

    /// Bytes of memory of the table.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(self) + size_of_val(&*self.row_starts) + size_of_val(&*self.new_tags)
    }
}

/// Sequences one behind the other, equal ones once.
#[derive(Default)]
struct Interned<T> {
    starts: BTreeMap<Vec<T>, u32>,
    all: Vec<T>,
}

impl<T: Copy + Ord> Interned<T> {
    /// Where `sequence` begins.
    fn start_of(&mut self, sequence: Vec<T>) -> u32 {
        *self.starts.entry(sequence).or_insert_with_key(|sequence| {
            let start = u32::try_from(self.all.len()).expect("64 tags, 256 x 256 ports");
            self.all.extend_from_slice(sequence);
            start
        })
    }
}
