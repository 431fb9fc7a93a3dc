//! VLAN identifiers and sets of them (IEEE 802.1Q-2018, 9.6).

use core::num::NonZeroU16;
use derive_more::Display;

/// A VLAN: 1 to 4094. An `Option<Vid>` is two bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Display)]
pub struct Vid(NonZeroU16);

impl Vid {
    /// The VLAN of a bridge that was told nothing else.
    pub const DEFAULT: Self = Self(NonZeroU16::MIN);

    /// The VLAN `value`; `None` for 0, which marks a frame that has a priority but no VLAN, and
    /// from 4095 on, which is reserved.
    pub const fn new(value: u16) -> Option<Self> {
        match NonZeroU16::new(value) {
            Some(value) if value.get() < 4095 => Some(Self(value)),
            _ => None,
        }
    }

    /// 1 to 4094.
    pub const fn value(self) -> u16 {
        self.0.get()
    }

    /// 1 to 4094, in a form the compiler knows to be below 4096.
    #[inline(always)]
    pub const fn index(self) -> usize {
        (self.0.get() & 0xFFF) as usize
    }

    /// All 4094, 1 first.
    pub fn all() -> impl Iterator<Item = Self> {
        (1..4095).filter_map(Self::new)
    }
}

/// A set of VLANs: one bit each, 512 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VidSet {
    words: [u64; 64],
}

impl VidSet {
    /// No VLAN.
    pub const EMPTY: Self = Self { words: [0; 64] };

    /// Adds `vid`.
    pub const fn insert(&mut self, vid: Vid) {
        self.words[vid.index() / 64] |= 1 << (vid.index() % 64);
    }

    /// Takes `vid` out.
    pub const fn remove(&mut self, vid: Vid) {
        self.words[vid.index() / 64] &= !(1 << (vid.index() % 64));
    }

    /// Whether `vid` is in the set.
    #[inline(always)]
    pub const fn contains(&self, vid: Vid) -> bool {
        self.words[vid.index() / 64] >> (vid.index() % 64) & 1 == 1
    }
}

impl Default for VidSet {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl FromIterator<Vid> for VidSet {
    fn from_iter<I: IntoIterator<Item = Vid>>(vids: I) -> Self {
        let mut set = Self::EMPTY;
        vids.into_iter().for_each(|vid| set.insert(vid));
        set
    }
}

const _: () = assert!(size_of::<Option<Vid>>() == 2, "an adjacency keeps its VLAN in two bytes");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_and_the_reserved_value_are_no_vlans() {
        for (value, is_vlan) in [(0, false), (1, true), (4094, true), (4095, false), (4096, false)]
        {
            assert_eq!(Vid::new(value).is_some(), is_vlan, "{value}");
        }
        assert_eq!(Vid::all().count(), 4094);
    }

    #[test]
    fn a_set_holds_what_was_put_in_and_nothing_else() {
        let odd: VidSet = Vid::all().filter(|vid| vid.value() % 2 == 1).collect();
        for vid in Vid::all() {
            assert_eq!(odd.contains(vid), vid.value() % 2 == 1, "{vid}");
        }
        let mut less = odd.clone();
        less.remove(Vid::DEFAULT);
        assert!(!less.contains(Vid::DEFAULT));
        less.insert(Vid::DEFAULT);
        assert_eq!(less, odd);
    }
}
