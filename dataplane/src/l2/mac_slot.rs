//! One slot of the MAC table: key, port, origin and time stamp in 16 bytes.

use super::Vid;
use crate::ids::PortId;
use crate::limits::PORTS_MAX;
use crate::time::Instant;
use crate::wire::MacAddress;

/// Who learned an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// This worker, by a frame on a port of its own.
    Local,
    /// Another worker, which told this one.
    Remote,
    /// Nobody: the operator says where it is. It neither ages nor moves.
    Static,
}

/// One entry, for people to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MacEntry {
    /// The VLAN it was seen in.
    pub vid: Vid,
    /// The address.
    pub mac: MacAddress,
    /// The port it is on.
    pub port: PortId,
    /// Its last frame, if local; when it came to its port, if remote. Rounded down to
    /// [`STAMP_NS`].
    pub seen: Instant,
    /// Who learned it.
    pub origin: Origin,
}

/// Resolution of time stamps.
pub(crate) const STAMP_NS: u64 = 1 << STAMP_SHIFT;
const STAMP_SHIFT: u32 = 11;

/// Bit 63 is set in a used slot; then 3 zero bits, 12 bits of VLAN, 48 bits of address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key(u64);

impl Key {
    #[inline(always)]
    pub(super) const fn new(vid: Vid, mac: MacAddress) -> Self {
        Self::of_bits(vid, mac.to_u64())
    }

    /// The key of the address in the low 48 bits of `mac_bits`, the first octet highest.
    #[inline(always)]
    pub(super) const fn of_bits(vid: Vid, mac_bits: u64) -> Self {
        Self(1 << 63 | (vid.index() as u64) << 48 | mac_bits)
    }

    #[inline(always)]
    pub(super) const fn bits(self) -> u64 {
        self.0
    }
}

/// A slot: the key, and the state: from the lowest bit 8 bits of port, 2 bits of origin, 1 bit that
/// is set in a used slot, 53 bits of time stamp (which last as long as 64 bits of nanoseconds).
/// Walks over the table ask the state alone, in one compare: which slots are used is random, and no
/// branch should hang on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    key: Key,
    state: u64,
}

const PORT: u64 = 0xFF;
const REMOTE: u64 = 1 << 8;
const STATIC: u64 = 1 << 9;
const USED: u64 = 1 << 10;

impl Slot {
    pub(super) const EMPTY: Self = Self { key: Key(0), state: 0 };

    #[inline(always)]
    pub(super) const fn new(key: Key, port: PortId, origin: Origin, seen: Instant) -> Self {
        let origin = match origin {
            Origin::Local => 0,
            Origin::Remote => REMOTE,
            Origin::Static => STATIC,
        };
        Self {
            key,
            state: seen.ns >> STAMP_SHIFT << STAMP_SHIFT | USED | origin | port.index() as u64,
        }
    }

    #[inline(always)]
    pub(super) const fn key(self) -> Key {
        self.key
    }

    #[inline(always)]
    pub(super) const fn is_empty(self) -> bool {
        self.key.0 == 0
    }

    #[inline(always)]
    pub(super) const fn holds(self, key: Key) -> bool {
        self.key.0 == key.0
    }

    #[inline(always)]
    pub(super) const fn port(self) -> PortId {
        match PortId::from_index((self.state & PORT) as usize) {
            Some(port) => port,
            None => unreachable!(), // 8 bits are below `PORTS_MAX`, asserted at compile time.
        }
    }

    /// Whether the slot is used, and by an address that was learned on `port`.
    #[inline(always)]
    pub(super) const fn is_learned_on(self, port: PortId) -> bool {
        self.state & (USED | STATIC | PORT) == USED | port.index() as u64
    }

    /// Whether the slot is used, and by an address of this worker's own.
    #[inline(always)]
    pub(super) const fn is_local(self) -> bool {
        self.state & (USED | REMOTE | STATIC) == USED
    }

    /// Whether the slot is used, and by an address of the operator's.
    #[inline(always)]
    pub(super) const fn is_static(self) -> bool {
        self.state & (USED | STATIC) == USED | STATIC
    }

    /// The slot after a frame of its address came in by its port at `now`, which is of this worker.
    #[inline(always)]
    pub(super) const fn heard(self, port: PortId, now: Instant) -> Self {
        let heard = Self::new(self.key, port, Origin::Local, now);
        Self { key: self.key, state: heard.state | self.state & STATIC }
    }

    #[inline(always)]
    pub(super) const fn seen(self) -> Instant {
        Instant::from_ns(self.state >> STAMP_SHIFT << STAMP_SHIFT)
    }

    /// What is in the slot, if anything.
    pub(super) fn entry(self) -> Option<MacEntry> {
        if self.is_empty() {
            return None;
        }
        let [_, _, a, b, c, d, e, f] = self.key.0.to_be_bytes();
        Some(MacEntry {
            vid: u16::try_from(self.key.0 >> 48 & 0xFFF).ok().and_then(Vid::new)?,
            mac: MacAddress([a, b, c, d, e, f]),
            port: self.port(),
            seen: self.seen(),
            origin: match self.state & (REMOTE | STATIC) {
                0 => Origin::Local,
                REMOTE => Origin::Remote,
                _ => Origin::Static,
            },
        })
    }
}

const _: () = assert!(USED << 1 == STAMP_NS, "the stamp's cut-off bits are the other fields");
const _: () = assert!(PORTS_MAX == 256, "a port is any value of 8 bits");
const _: () = assert!(size_of::<Slot>() == 16, "four slots fit a cache line");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_gives_back_what_was_put_in() {
        let seen = Instant::from_ns(u64::MAX >> STAMP_SHIFT << STAMP_SHIFT);
        for origin in [Origin::Local, Origin::Remote, Origin::Static] {
            for (vid, port) in [(1, 1), (4094, 256), (2048, 100)] {
                let entry = MacEntry {
                    vid: Vid::new(vid).unwrap(),
                    mac: MacAddress([0xFE, 0xFF, 0, 0xFF, 1, 0xFF]),
                    port: PortId::from_number(port).unwrap(),
                    seen,
                    origin,
                };
                let key = Key::new(entry.vid, entry.mac);
                let slot = Slot::new(key, entry.port, origin, seen + (STAMP_NS - 1));
                assert_eq!(slot.entry(), Some(entry));
            }
        }
        assert_eq!(Slot::EMPTY.entry(), None);
    }
}
