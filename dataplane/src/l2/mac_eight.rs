//! Eight frames between stations that are known: the common case of a bridge, in which the table
//! stays as it is but for time stamps.
//!
//! The slots of all eight are found before any of them is written, so that the processor waits for
//! them together, and not for one after the other.

use super::Vid;
use super::mac_slot::{Key, Slot};
use super::mac_table::MacTable;
use crate::ids::PortId;
use crate::time::Instant;

/// Frames at a time.
const COUNT: usize = 8;

/// The addresses and the VLANs of eight frames.
#[derive(Debug)]
pub(crate) struct Stations {
    sources: [Key; COUNT],
    destinations: [Key; COUNT],
}

impl Default for Stations {
    fn default() -> Self {
        let none = Slot::EMPTY.key();
        Self { sources: [none; COUNT], destinations: [none; COUNT] }
    }
}

impl Stations {
    /// Sets the addresses of frame `at`, which has `vid` and starts with `macs`.
    #[inline(always)]
    pub(crate) fn set(&mut self, at: usize, vid: Vid, macs: &[u8; 12]) {
        // Two overlapping words, each of one load.
        let [first, last] = [macs.first_chunk(), macs.last_chunk()]
            .map(|octets| octets.copied().map_or(0, u64::from_be_bytes));
        self.destinations[at % COUNT] = Key::of_bits(vid, first >> 16);
        self.sources[at % COUNT] = Key::of_bits(vid, last & (u64::MAX >> 16));
    }
}

impl MacTable {
    /// Learns the sources of eight frames that came in by `input`, and returns the ports of their
    /// destinations. `None`, and the table is as it was, unless all sources are known at `input`
    /// and all destinations elsewhere: then it matters in which order frames are taken.
    #[inline(always)]
    pub(crate) fn refresh(
        &mut self,
        stations: &Stations,
        input: PortId,
        now: Instant,
    ) -> Option<[PortId; COUNT]> {
        let Stations { sources, destinations } = stations;
        let (mut places, missing) = self.homes(sources);
        let (mut ways, missing_ways) = self.homes(destinations);
        if missing | missing_ways != 0 {
            self.find_missing(sources, missing, &mut places)?;
            self.find_missing(destinations, missing_ways, &mut ways)?;
        }
        let mut outputs = [input; COUNT];
        let mut are_known = true;
        for lane in 0..COUNT {
            outputs[lane] = self.slot(ways[lane]).port();
            are_known &= self.slot(places[lane]).port() == input;
            are_known &= outputs[lane] != input;
        }
        if !are_known {
            return None;
        }
        for place in places {
            let slot = self.slot_mut(place);
            *slot = slot.heard(input, now);
        }
        Some(outputs)
    }

    /// Where the search for each key begins. Bit i is set if key i is not there.
    ///
    /// No branch and no call, so that the searches of all keys are under way together.
    #[inline(always)]
    fn homes(&self, keys: &[Key; COUNT]) -> ([usize; COUNT], u32) {
        let (mut places, mut missing) = ([0; COUNT], 0);
        for (lane, (place, &key)) in places.iter_mut().zip(keys).enumerate() {
            *place = self.home(key);
            missing |= u32::from(!self.slot(*place).holds(key)) << lane;
        }
        (places, missing)
    }

    /// Finds the keys whose bits are set in `missing`. `None` if one is unknown.
    #[inline(never)]
    fn find_missing(
        &self,
        keys: &[Key; COUNT],
        missing: u32,
        places: &mut [usize; COUNT],
    ) -> Option<()> {
        for (lane, (place, &key)) in places.iter_mut().zip(keys).enumerate() {
            if missing >> lane & 1 == 1 {
                *place = self.find_behind(key)?;
            }
        }
        Some(())
    }
}
