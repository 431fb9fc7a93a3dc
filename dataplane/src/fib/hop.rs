//! What a route ends in: a frame's way out, or why it has none.

use crate::ids::PortId;
use crate::l2::Vid;
use crate::tunnel::TunnelId;
use crate::wire::MacAddress;

/// The fate of a frame whose destination address was looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hop {
    /// Rewrite the Ethernet header and send.
    Forward(Adjacency),
    /// The next hop is on this port and its MAC address is unknown: the control thread has to ask
    /// for it. [`Routes::next_hops`](super::Routes::next_hops) says whom.
    Resolve {
        /// Where the next hop is.
        port: PortId,
    },
    /// One of the switch's own addresses.
    Local,
    /// To be dropped in silence: a blackhole route, a broadcast address, or an address that no
    /// router may forward to.
    Discard,
    /// Into a tunnel: add an outer header, and look up where that goes.
    Tunnel(TunnelId),
    /// No route.
    NoRoute,
}

/// A neighbor as the rewrite needs it. The two MAC addresses lie side by side, in the order of the
/// wire, so that the rewrite is one copy of 12 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adjacency {
    macs: [u8; 12],
    /// Where to send.
    pub out: PortId,
    /// The VLAN to tag the frame with, if any.
    pub vlan: Option<Vid>,
    /// The longest frame sent this way, Ethernet header included, VLAN tags and FCS not.
    pub frame_bytes_max: u16,
}

impl Adjacency {
    /// The neighbor with `dst_mac` behind port `out`, reached from our `src_mac`.
    pub const fn new(
        out: PortId,
        vlan: Option<Vid>,
        frame_bytes_max: u16,
        dst_mac: MacAddress,
        src_mac: MacAddress,
    ) -> Self {
        let ([a, b, c, d, e, f], [g, h, i, j, k, l]) = (dst_mac.0, src_mac.0);
        Self { macs: [a, b, c, d, e, f, g, h, i, j, k, l], out, vlan, frame_bytes_max }
    }

    /// Destination and source address: the first 12 bytes of a frame sent this way.
    #[inline(always)]
    pub const fn macs(&self) -> &[u8; 12] {
        &self.macs
    }
}

const _: () = assert!(size_of::<Hop>() <= 32, "two hops or more fit a cache line");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_macs_lie_as_on_the_wire() {
        let (dst, src) = (MacAddress([1, 2, 3, 4, 5, 6]), MacAddress([7, 8, 9, 10, 11, 12]));
        let port = PortId::from_number(3).unwrap();
        let adjacency = Adjacency::new(port, Vid::new(7), 1514, dst, src);
        assert_eq!(adjacency.macs(), &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    }
}
