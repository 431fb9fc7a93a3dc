//! The table of learned addresses of one worker: (VLAN, MAC) -> port.
//!
//! Every worker has its own table, so no frame waits for another core. What a worker learns by its
//! own ports ("local") it tells the others, which note it as "remote"; only the worker that learned
//! an address lets it age, and tells the others when it is gone.
//!
//! The table is open addressing with linear probing and deletion by backward shift, written here
//! instead of taken from `hashbrown` for one reason: time. `hashbrown` marks deleted slots, and
//! when the marks have used up its room an insertion rehashes the whole table, a millisecond or
//! more in which a lossless port overruns its headroom. Backward shift leaves no marks, so
//! learning, moving and forgetting cost a few slots each at any age of the table; and aging can
//! walk the slots a few at a time. A slot is 16 bytes and at most half of them are used: a lookup
//! is one cache line, nearly always.
//!
//! Nothing allocates after creation. The hash is seeded, so that a host that picks its own
//! addresses cannot pick them to collide; should a run of used slots still grow longer than
//! [`PROBES_MAX`], addresses that would lengthen it are not learned, and no frame ever costs more
//! than that.

use super::Vid;
use super::mac_slot::{Key, MacEntry, Origin, STAMP_NS, Slot};
use crate::ids::PortId;
use crate::limits::PORTS_MAX;
use crate::report::MacPortCounts;
use crate::settings::MacTableSettings;
use crate::share;
use crate::time::Instant;
use crate::wire::MacAddress;
use alloc::boxed::Box;
use alloc::vec;
use core::hash::BuildHasher;
use core::ops::Range;
use foldhash::fast::FixedState;

/// Slots that a lookup reads at the most. At half load, runs of this length do not happen by
/// chance.
const PROBES_MAX: usize = 128;

/// Entries of one table at the most, whatever the settings ask for: 512 MB of slots.
const ENTRIES_MAX: usize = 1 << 24;

/// What came of learning an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Learned {
    /// It was unknown, and is known now.
    New,
    /// It was known on another port, and is known on this one now.
    Moved {
        /// The port it was on.
        from: PortId,
    },
    /// It was known here already.
    Refreshed,
    /// It stays on another port: it is static there, or has been heard there lately.
    Kept {
        /// The port it is on.
        on: PortId,
    },
    /// It stays unknown: its port has its share of the table, or the table is full.
    Full,
    /// The table is as it was: no station can have this address (it is a multicast address, or
    /// zero), or the news is older than what is known.
    Ignored,
}

/// Learned addresses of one worker.
#[derive(Clone, Debug)]
pub struct MacTable {
    slots: Box<[Slot]>,
    hash: FixedState,
    /// What takes a hash to the index of a slot: 64 less the number of bits of such an index.
    hash_shift: u32,
    entries_max: usize,
    age_ns: u64,
    hold_ns: u64,
    len: usize,
    /// The slot that aging looks at next.
    cursor: usize,
    /// By port.
    counts: Box<[MacPortCounts]>,
}

/// Where a key is, or could be put.
enum Place {
    At(usize),
    Free(usize),
    Nowhere,
}

impl MacTable {
    /// An empty table, with all the memory it will ever use: 32 bytes an entry, rounded up to a
    /// power of two. Tables with different seeds put the same addresses in different slots.
    pub fn with_capacity(settings: MacTableSettings, seed: u64) -> Self {
        let entries_max = settings.entries_max.min(ENTRIES_MAX);
        let slots = (2 * entries_max).next_power_of_two().max(16);
        Self {
            slots: vec![Slot::EMPTY; slots].into_boxed_slice(),
            hash: FixedState::with_seed(seed),
            hash_shift: 64 - slots.trailing_zeros(),
            entries_max,
            age_ns: settings.age_ns,
            hold_ns: settings.hold_ns,
            len: 0,
            cursor: 0,
            counts: vec![MacPortCounts::default(); PORTS_MAX].into_boxed_slice(),
        }
    }

    /// The port that `mac` is on.
    #[inline]
    pub fn lookup(&self, vid: Vid, mac: MacAddress) -> Option<PortId> {
        match self.place(Key::new(vid, mac)) {
            Place::At(at) => Some(self.slot(at).port()),
            Place::Free(_) | Place::Nowhere => None,
        }
    }

    /// Notes that a frame from `mac` came in by `port`, one of this worker's.
    #[inline]
    pub fn learn(&mut self, vid: Vid, mac: MacAddress, port: PortId, now: Instant) -> Learned {
        self.put(mac, Slot::new(Key::new(vid, mac), port, Origin::Local, now))
    }

    /// Notes what another worker has learned: that `mac` came to `port` at `since`.
    ///
    /// Between the news of two other workers the later wins, in whatever order they arrive. An
    /// address of our own gives way to any news: if it has come back to us since, its next frame
    /// says so, whereas a straggler that we heard after it had left would keep it here for good.
    pub(crate) fn remote_learn(
        &mut self,
        vid: Vid,
        mac: MacAddress,
        port: PortId,
        since: Instant,
    ) -> Learned {
        self.put(mac, Slot::new(Key::new(vid, mac), port, Origin::Remote, since))
    }

    /// Notes what another worker has learned of an address that was elsewhere. Within the hold time
    /// an address of our own does not give way: the worker that moved it did not know when we heard
    /// it last.
    pub(crate) fn remote_move(
        &mut self,
        vid: Vid,
        mac: MacAddress,
        port: PortId,
        since: Instant,
    ) -> Learned {
        let news = Slot::new(Key::new(vid, mac), port, Origin::Remote, since);
        let known = self.find(news.key()).map(|at| self.slot(at));
        match known.filter(|known| known.is_local() && self.is_held(*known, news)) {
            Some(known) => Learned::Kept { on: known.port() },
            None => self.put(mac, news),
        }
    }

    /// Notes that the worker of `port` keeps `mac` there, whatever another has said: it heard it
    /// within the hold time before `since`.
    pub(crate) fn remote_keep(&mut self, vid: Vid, mac: MacAddress, port: PortId, since: Instant) {
        let slot = Slot::new(Key::new(vid, mac), port, Origin::Remote, since);
        if let Some(at) = self.find(slot.key()).filter(|&at| !self.slot(at).is_static()) {
            self.write(at, slot);
        }
    }

    /// Notes that the operator says that `mac` is on `port`: it is there until
    /// [`MacTable::remove_static`]. It need not keep to the size of the settings, and where the run
    /// of used slots is too long, the address that stands first in it gives way.
    pub(crate) fn put_static(&mut self, vid: Vid, mac: MacAddress, port: PortId) {
        let slot = Slot::new(Key::new(vid, mac), port, Origin::Static, Instant::ZERO);
        match self.place(slot.key()) {
            Place::At(at) => self.write(at, slot),
            Place::Free(at) => self.fill(at, slot),
            Place::Nowhere => self.write(self.home(slot.key()), slot),
        }
    }

    /// Forgets an address of the operator's.
    pub(crate) fn remove_static(&mut self, vid: Vid, mac: MacAddress) {
        if let Some(at) = self.find(Key::new(vid, mac)).filter(|&at| self.slot(at).is_static()) {
            self.remove(at);
        }
    }

    #[inline(always)]
    fn put(&mut self, mac: MacAddress, slot: Slot) -> Learned {
        // No station has a group address, or the address 0.
        if mac.is_multicast() || mac == MacAddress::default() {
            return Learned::Ignored;
        }
        match self.place(slot.key()) {
            Place::At(at) if !slot.is_local() && self.is_newer_news(at, slot) => Learned::Ignored,
            Place::At(at) => self.replace(at, slot),
            Place::Free(at) => self.insert(at, slot),
            Place::Nowhere => self.refuse(slot),
        }
    }

    /// Notes that the worker of `port` has forgotten `mac`. True if it is forgotten here too; false
    /// if it has been learned elsewhere meanwhile.
    pub(crate) fn remote_forget(&mut self, vid: Vid, mac: MacAddress, port: PortId) -> bool {
        if let Place::At(at) = self.place(Key::new(vid, mac)) {
            let slot = self.slot(at);
            if slot.is_learned_on(port) && !slot.is_local() {
                self.remove(at);
                return true;
            }
        }
        false
    }

    /// Looks at the next `budget` slots, forgets the local addresses there that have not been heard
    /// for the age of the settings, and hands each to `forgotten`. Returns how many those were.
    ///
    /// An address is never forgotten before its age. It is forgotten in the pass over all slots
    /// ([`MacTable::slots`]) that begins after it, or at the latest in the one after that: a
    /// deletion elsewhere can shift it to a slot that the pass has left behind.
    pub fn age(
        &mut self,
        now: Instant,
        budget: usize,
        mut forgotten: impl FnMut(MacEntry),
    ) -> usize {
        let before = self.len;
        // A stamp was rounded down by less than its resolution: round the age up by as much.
        let limit_ns = self.age_ns.saturating_add(STAMP_NS - 1);
        for _ in 0..budget {
            let slot = self.slot(self.cursor);
            if now.ns_since(slot.seen()) > limit_ns && slot.is_local() {
                // The slot is looked at again: another entry may have been shifted into it.
                self.remove(self.cursor);
                slot.entry().into_iter().for_each(&mut forgotten);
            } else {
                self.cursor = (self.cursor + 1) & self.mask();
            }
        }
        before - self.len
    }

    /// Forgets every address learned on `port`, by whomever, and hands each to `forgotten`. Walks
    /// the whole table: for a port that went down, not for the packet path.
    pub fn flush_port(&mut self, port: PortId, mut forgotten: impl FnMut(MacEntry)) -> usize {
        let before = self.len;
        let mut at = 0;
        while let Some(&slot) = self.slots.get(at) {
            if slot.is_learned_on(port) {
                // As in aging, the slot is looked at again.
                self.remove(at);
                slot.entry().into_iter().for_each(&mut forgotten);
            } else {
                at += 1;
            }
        }
        before - self.len
    }

    /// What the table has of `port`.
    pub fn counts(&self, port: PortId) -> MacPortCounts {
        self.counts[port.index()]
    }

    /// Addresses in the table, local and remote.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether the table has no address.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Slots of the table, used or not: what one pass of aging walks over.
    pub const fn slots(&self) -> usize {
        self.slots.len()
    }

    /// All addresses, in no order.
    pub fn iter(&self) -> impl Iterator<Item = MacEntry> + '_ {
        self.slots.iter().filter_map(|slot| slot.entry())
    }

    /// The addresses in `slots`, of those there are.
    pub(super) fn entries(&self, slots: Range<usize>) -> impl Iterator<Item = MacEntry> + '_ {
        let slots = self.slots.get(slots).unwrap_or_default();
        slots.iter().filter_map(|slot| slot.entry())
    }

    #[inline(always)]
    fn mask(&self) -> usize {
        self.slots.len() - 1
    }

    /// The slot at `at`, counted around the table's end.
    #[inline(always)]
    pub(super) fn slot(&self, at: usize) -> Slot {
        self.slots[at & (self.slots.len() - 1)]
    }

    /// [`Self::slot`], to be written.
    #[inline(always)]
    pub(super) fn slot_mut(&mut self, at: usize) -> &mut Slot {
        let mask = self.mask();
        &mut self.slots[at & mask]
    }

    /// Where `key` is, if it is known.
    #[inline(always)]
    pub(super) fn find(&self, key: Key) -> Option<usize> {
        let home = self.home(key);
        if self.slot(home).holds(key) { Some(home) } else { self.find_behind(key) }
    }

    /// [`Self::find`] for a key that is not where the search begins.
    #[inline(never)]
    pub(super) fn find_behind(&self, key: Key) -> Option<usize> {
        match self.place(key) {
            Place::At(at) => Some(at),
            Place::Free(_) | Place::Nowhere => None,
        }
    }

    /// The slot where the search for `key` begins.
    #[inline(always)]
    pub(super) fn home(&self, key: Key) -> usize {
        #[expect(clippy::cast_possible_truncation, reason = "the shift leaves a slot's index")]
        let home = (self.hash.hash_one(key.bits()) >> self.hash_shift) as usize;
        home
    }

    #[inline(always)]
    fn place(&self, key: Key) -> Place {
        let home = self.home(key);
        for at in home..home + PROBES_MAX {
            let slot = self.slot(at);
            if slot.holds(key) {
                return Place::At(at & self.mask());
            }
            if slot.is_empty() {
                return Place::Free(at & self.mask());
            }
        }
        Place::Nowhere
    }

    /// Whether slot `at` holds news from another worker that is later than `news`.
    fn is_newer_news(&self, at: usize, news: Slot) -> bool {
        let known = self.slot(at);
        !known.is_local() && known.seen() > news.seen()
    }

    #[inline(always)]
    fn replace(&mut self, at: usize, slot: Slot) -> Learned {
        if !self.slots[at].is_learned_on(slot.port()) {
            return self.replace_other(at, slot);
        }
        self.slots[at] = slot;
        Learned::Refreshed
    }

    /// [`Self::replace`] for a slot that is static, or of another port.
    #[cold]
    fn replace_other(&mut self, at: usize, slot: Slot) -> Learned {
        let old = self.slots[at];
        if old.port() == slot.port() {
            return Learned::Refreshed;
        }
        let count = u64::from(slot.is_local());
        if old.is_static() || slot.is_local() && self.is_held(old, slot) {
            self.counts[slot.port().index()].held_frames += count;
            return Learned::Kept { on: old.port() };
        }
        self.counts[slot.port().index()].moves += count;
        self.write(at, slot);
        Learned::Moved { from: old.port() }
    }

    /// Whether `known` was heard so lately on its port that it may not move to that of `news`.
    fn is_held(&self, known: Slot, news: Slot) -> bool {
        known.port() != news.port() && news.seen().ns_since(known.seen()) < self.hold_ns
    }

    /// Replaces the used slot `at`.
    fn write(&mut self, at: usize, slot: Slot) {
        let old = core::mem::replace(&mut self.slots[at], slot);
        self.counts[old.port().index()].addresses -= 1;
        self.counts[slot.port().index()].addresses += 1;
    }

    fn insert(&mut self, at: usize, slot: Slot) -> Learned {
        // What another worker has learned is within its port's share already.
        let own = self.counts[slot.port().index()].addresses as usize;
        let may_add = !slot.is_local() || share::may_add(own, self.len, self.entries_max);
        if self.len >= self.entries_max || !may_add {
            return self.refuse(slot);
        }
        self.fill(at, slot);
        Learned::New
    }

    /// Writes the empty slot `at`.
    fn fill(&mut self, at: usize, slot: Slot) {
        self.slots[at] = slot;
        self.len += 1;
        self.counts[slot.port().index()].addresses += 1;
    }

    /// Counts an address that stays unknown.
    fn refuse(&mut self, slot: Slot) -> Learned {
        self.counts[slot.port().index()].refused_frames += u64::from(slot.is_local());
        Learned::Full
    }

    /// Empties slot `at`, and moves back what had to make way for it: every entry of the run behind
    /// it whose home is not between the hole and where it is now. There is always an empty slot to
    /// end the run, since half of them are.
    fn remove(&mut self, at: usize) {
        self.len -= 1;
        self.counts[self.slots[at].port().index()].addresses -= 1;
        let mask = self.mask();
        let (mut hole, mut next) = (at, at);
        loop {
            next = (next + 1) & mask;
            let slot = self.slot(next);
            if slot.is_empty() {
                break;
            }
            let from_home = next.wrapping_sub(self.home(slot.key())) & mask;
            let from_hole = next.wrapping_sub(hole) & mask;
            if from_home >= from_hole {
                self.slots[hole] = slot;
                hole = next;
            }
        }
        self.slots[hole] = Slot::EMPTY;
    }
}

#[cfg(test)]
#[path = "mac_table_tests.rs"]
mod tests;
