//! A part of a MAC table, copied out for the control thread between two turns: so small that no
//! frame waits for it.

use super::mac_table::MacTable;
use super::{MacEntry, Origin};
use alloc::vec::Vec;

/// Slots of the table that one slice covers: 4 KB, which are read in about a microsecond.
pub(crate) const SLICE_SLOTS: usize = 256;

/// What the slots from one on hold of the addresses that their worker has learned by itself; the
/// tables of all workers together then hold each address once.
#[derive(Clone, Debug)]
pub struct MacSlice {
    begin: usize,
    next: Option<usize>,
    entries: Vec<MacEntry>,
}

impl Default for MacSlice {
    /// A slice that begins with the table, with all the memory it will ever use.
    fn default() -> Self {
        Self { begin: 0, next: None, entries: Vec::with_capacity(SLICE_SLOTS) }
    }
}

impl MacSlice {
    /// Empties it; it will hold what stands from `slot` on.
    pub fn begin_at(&mut self, slot: usize) {
        *self = Self { begin: slot, next: None, entries: core::mem::take(&mut self.entries) };
        self.entries.clear();
    }

    /// Copies its part of `table`.
    pub fn fill(&mut self, table: &MacTable) {
        let end = self.begin.saturating_add(SLICE_SLOTS);
        let entries = table.entries(self.begin..end.min(table.slots()));
        self.entries.extend(entries.filter(|entry| entry.origin == Origin::Local));
        self.next = (end < table.slots()).then_some(end);
    }

    /// The addresses.
    pub fn entries(&self) -> &[MacEntry] {
        &self.entries
    }

    /// Where the next slice begins; `None` if this was the last.
    pub const fn next(&self) -> Option<usize> {
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::PortId;
    use crate::l2::Vid;
    use crate::settings::MacTableSettings;
    use crate::time::Instant;
    use crate::wire::MacAddress;
    use alloc::collections::BTreeSet;

    #[test]
    fn slices_together_hold_every_address_learnt_here_once() {
        let settings = MacTableSettings { entries_max: 3_000, age_ns: 1_000_000_000, hold_ns: 0 };
        let mut table = MacTable::with_capacity(settings, 7);
        let mac = |n: u16| MacAddress([2, 0, 0, 0, n.to_be_bytes()[0], n.to_be_bytes()[1]]);
        for n in 0..2_000 {
            table.learn(Vid::DEFAULT, mac(n), PortId::FIRST, Instant::ZERO);
        }
        for n in 5_000..5_500 {
            table.remote_learn(Vid::DEFAULT, mac(n), PortId::FIRST, Instant::ZERO);
        }
        let (mut seen, mut slice, mut slot) = (BTreeSet::new(), MacSlice::default(), Some(0));
        while let Some(begin) = slot {
            slice.begin_at(begin);
            slice.fill(&table);
            assert!(slice.entries().len() <= SLICE_SLOTS);
            for entry in slice.entries() {
                assert!(seen.insert(entry.mac), "{} stands in two slices", entry.mac);
            }
            slot = slice.next();
        }
        assert_eq!(seen, (0..2_000).map(mac).collect());
    }

    #[test]
    fn a_slice_beyond_the_end_is_empty_and_the_last() {
        let settings = MacTableSettings { entries_max: 8, age_ns: 1_000_000_000, hold_ns: 0 };
        let table = MacTable::with_capacity(settings, 7);
        let mut slice = MacSlice::default();
        for begin in [16, 1_000, usize::MAX] {
            slice.begin_at(begin);
            slice.fill(&table);
            assert_eq!((slice.entries().len(), slice.next()), (0, None));
        }
    }
}
