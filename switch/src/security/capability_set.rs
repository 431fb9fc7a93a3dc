//! Sets of capabilities (capabilities(7)).

use std::fmt;

/// A set of capabilities, a bit for each, by its number in `linux/capability.h`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CapabilitySet(pub(super) u64);

impl CapabilitySet {
    /// Pass the rights of files and folders.
    pub(super) const DAC_OVERRIDE: Self = Self(1 << 1);
    /// Read a file without being its owner.
    pub(super) const DAC_READ_SEARCH: Self = Self(1 << 2);
    /// Set an interface up and down, and ask for one in another network namespace.
    pub(super) const NET_ADMIN: Self = Self(1 << 12);
    /// Free the maps of the program that steers frames to an `AF_XDP` socket.
    pub(super) const BPF: Self = Self(1 << 39);

    pub(super) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl fmt::Display for CapabilitySet {
    /// The names of those that have one here.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = [
            (Self::DAC_OVERRIDE, "cap_dac_override"),
            (Self::DAC_READ_SEARCH, "cap_dac_read_search"),
            (Self::NET_ADMIN, "cap_net_admin"),
            (Self::BPF, "cap_bpf"),
        ];
        let names = named.iter().filter(|(one, _)| self.and(*one) == *one).map(|(_, name)| *name);
        f.write_str(&names.collect::<Vec<_>>().join(","))
    }
}
