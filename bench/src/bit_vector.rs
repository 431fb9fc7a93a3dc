//! Rules the other way: one bit vector for each tag, in port and out port, with a bit for each
//! entry that matches it. The AND of three vectors is the set of matching entries, its lowest bit
//! the first.
//!
//! This is how a TCAM is usually put into software. It needs memory for `(64 + 2 x ports) x
//! entries` bits, less than the flat array once ports are many, and looks at up to `entries / 64`
//! words of each vector where that looks at one byte.

use dataplane::ids::{PortId, Tag};
use dataplane::limits::TAGS;
use dataplane::rules::TcamEntry;

/// The same answers as `dataplane::rules::RuleTable`.
#[derive(Clone, Debug)]
pub struct BitVectorRules {
    /// Words of one vector.
    words: usize,
    by_tag: Vec<u64>,
    by_input: Vec<u64>,
    by_output: Vec<u64>,
    new_tags: Vec<Tag>,
    lossy_tag: Tag,
}

impl BitVectorRules {
    /// Compiles `entries` for a switch of `ports` ports; first match wins, no match is `lossy_tag`,
    /// and what is lossy stays so.
    pub fn compile(entries: &[TcamEntry], ports: usize, lossy_tag: Tag) -> Self {
        let words = entries.len().div_ceil(64);
        let mut rules = Self {
            words,
            by_tag: vec![0; TAGS * words],
            by_input: vec![0; ports * words],
            by_output: vec![0; ports * words],
            new_tags: entries.iter().map(|entry| entry.new_tag).collect(),
            lossy_tag,
        };
        for (number, entry) in entries.iter().enumerate() {
            let (word, bit) = (number / 64, 1 << (number % 64));
            for tag in Tag::all().filter(|&tag| tag != lossy_tag && entry.tag.matches(tag)) {
                rules.by_tag[tag.index() * words + word] |= bit;
            }
            for port in entry.in_ports.iter().filter(|port| port.index() < ports) {
                rules.by_input[port.index() * words + word] |= bit;
            }
            for port in entry.out_ports.iter().filter(|port| port.index() < ports) {
                rules.by_output[port.index() * words + word] |= bit;
            }
        }
        rules
    }

    /// The tag that a frame with `tag` from `input` to `output` goes on with.
    #[inline]
    pub fn lookup(&self, tag: Tag, input: PortId, output: PortId) -> Tag {
        let vector = |index: usize| index * self.words..(index + 1) * self.words;
        let tags = &self.by_tag[vector(tag.index())];
        let inputs = &self.by_input[vector(input.index())];
        let outputs = &self.by_output[vector(output.index())];
        for (word, ((tag, input), output)) in tags.iter().zip(inputs).zip(outputs).enumerate() {
            let matching = tag & input & output;
            if matching != 0 {
                return self.new_tags[word * 64 + matching.trailing_zeros() as usize];
            }
        }
        self.lossy_tag
    }

    /// Bytes of memory behind the vectors.
    pub fn memory_bytes(&self) -> usize {
        8 * (self.by_tag.len() + self.by_input.len() + self.by_output.len()) + self.new_tags.len()
    }
}
