//! Integer identifiers, each with its own type so that they cannot be confused.

use crate::limits::{PORTS_MAX, PRIORITIES, TAGS};
use derive_more::Display;

/// A port of this switch, counted from 0. Users and files count from 1: see [`PortId::number`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Display)]
#[display("{}", self.number())]
pub struct PortId(u16);

impl PortId {
    /// The first port.
    pub const FIRST: Self = Self(0);

    /// The port with this index, counted from 0; `None` from [`PORTS_MAX`] on.
    pub const fn from_index(index: usize) -> Option<Self> {
        #[expect(clippy::cast_possible_truncation, reason = "below PORTS_MAX")]
        if index < PORTS_MAX { Some(Self(index as u16)) } else { None }
    }

    /// The port with the number that users and files use, counted from 1.
    pub const fn from_number(number: usize) -> Option<Self> {
        if number == 0 { None } else { Self::from_index(number - 1) }
    }

    /// The index, counted from 0.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The index, counted from 0, as it is stored.
    pub const fn index_u16(self) -> u16 {
        self.0
    }

    /// The number that users and files use, counted from 1.
    pub const fn number(self) -> usize {
        self.0 as usize + 1
    }
}

/// A priority, also called a PFC class: 0 to 7.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Display)]
pub struct Priority(u8);

impl Priority {
    /// All priorities, each at its own index.
    pub const EACH: [Self; PRIORITIES] =
        [Self(0), Self(1), Self(2), Self(3), Self(4), Self(5), Self(6), Self(7)];

    /// The priority `value`; `None` above 7.
    pub const fn new(value: u8) -> Option<Self> {
        if (value as usize) < PRIORITIES { Some(Self(value)) } else { None }
    }

    /// The priority in the low three bits of `value`.
    pub const fn from_low_bits(value: u8) -> Self {
        Self(value & 7)
    }

    /// 0 to 7.
    pub const fn index(self) -> usize {
        (self.0 & 7) as usize
    }

    /// 0 to 7.
    pub const fn value(self) -> u8 {
        self.0
    }

    /// The bit of this priority in a class-enable vector.
    pub const fn bit(self) -> u8 {
        1 << (self.0 & 7)
    }

    /// The priorities whose bits are set, 0 first.
    #[inline]
    pub fn in_bits(mut bits: u8) -> impl Iterator<Item = Self> {
        core::iter::from_fn(move || {
            let lowest = Self::EACH.get(bits.trailing_zeros() as usize).copied()?;
            bits &= bits - 1;
            Some(lowest)
        })
    }

    /// All eight priorities, 0 first.
    pub fn all() -> impl DoubleEndedIterator<Item = Self> {
        (0..8).map(Self)
    }
}

/// A deadlock-prevention tag: 0 to 63, carried in the DSCP (or PCP). Not a VLAN tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Display)]
pub struct Tag(u8);

impl Tag {
    /// The tag `value`; `None` above 63.
    pub const fn new(value: u8) -> Option<Self> {
        if (value as usize) < TAGS { Some(Self(value)) } else { None }
    }

    /// The tag in the low six bits of `value`.
    pub const fn from_low_bits(value: u8) -> Self {
        Self(value & 63)
    }

    /// 0 to 63.
    pub const fn index(self) -> usize {
        (self.0 & 63) as usize
    }

    /// 0 to 63.
    pub const fn value(self) -> u8 {
        self.0
    }

    /// All 64 tags, 0 first.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..64).map(Self)
    }
}

/// A worker, counted from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkerId(pub u8);

impl WorkerId {
    /// The index, counted from 0.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}
