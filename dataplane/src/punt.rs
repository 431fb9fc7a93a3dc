//! Why a frame leaves the packet path for the control thread.

use strum::{IntoStaticStr, VariantArray};

/// Why the packet path gave a frame to the control thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum PuntReason {
    /// ARP, neighbor discovery, or IP to one of our addresses.
    ForUs,
    /// The TTL or hop limit does not allow one more hop.
    TtlExpired,
    /// The MAC address of the next hop is not known.
    Unresolved,
    /// Longer than the IP MTU of the egress port.
    TooBig,
    /// No route leads to the destination.
    NoRoute,
    /// To the LLDP group address.
    Lldp,
    /// A copy of a lossless frame that waits on the packet path for its next hop, whose MAC address
    /// is to be asked for. The control thread does not queue it.
    Resolve,
    /// A lossless frame that waited for its next hop until it was given up.
    Unreachable,
    /// At a port with a TAP: what the switch itself does not handle, such as OSPF and IS-IS.
    Host,
}

impl PuntReason {
    /// All of them, in the order of their numbers.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// Its name, as captures show it.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
