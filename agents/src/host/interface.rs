//! An IP interface: which addresses are ours, and which are on its link.

use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use dataplane::ids::PortId;
use dataplane::l2::Vid;
use dataplane::wire::MacAddress;
use ipnet::{IpNet, Ipv4Net};

/// A routed port, or a VLAN of one. The switch is a host there and can be a gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// The port. Several interfaces may share one, in different VLANs.
    pub port: PortId,
    /// Our MAC address there.
    pub mac: MacAddress,
    /// The VLAN tag of our frames. If the port has no interface without a VLAN, received frames
    /// without a tag and priority-tagged frames (VID 0) belong to this interface too.
    pub vlan: Option<Vid>,
    /// Our addresses, with the prefixes that are on the link. The IPv6 link-local address that
    /// follows from the MAC address is always ours and need not be listed.
    pub addresses: Vec<IpNet>,
    /// The longest IP packet that the link carries.
    pub mtu_bytes: u16,
    /// Whether the host has a TAP for the port. Then its kernel answers for our addresses, and the
    /// agent only learns from what it hears, and asks for what forwarding needs.
    pub has_tap: bool,
}

impl Interface {
    /// The link-local address of the interface: fe80::/64 and the modified EUI-64 of its MAC
    /// address (RFC 4291, appendix A). The packet path must punt frames to it: hosts send their
    /// answers and their probes there.
    pub fn link_local(&self) -> Ipv6Addr {
        let [a, b, c, d, e, f] = self.mac.0;
        let halves = [[a ^ 0x02, b], [c, 0xFF], [0xFE, d], [e, f]].map(u16::from_be_bytes);
        let [w, x, y, z] = halves;
        Ipv6Addr::new(0xFE80, 0, 0, 0, w, x, y, z)
    }

    /// Whether `address` is an address of this interface.
    pub(super) fn owns(&self, address: IpAddr) -> bool {
        address == self.link_local() || self.addresses.iter().any(|net| net.addr() == address)
    }

    /// Whether a station with `address` can be on this link.
    pub(super) fn is_on_link(&self, address: IpAddr) -> bool {
        is_link_local(address) || self.addresses.iter().any(|net| net.contains(&address))
    }

    /// The source address for packets to `peer`: an address whose prefix contains `peer`; else the
    /// first of its family; else, for IPv6, the link-local address. `None` if there is no address
    /// of its family.
    pub(super) fn source_for(&self, peer: IpAddr) -> Option<IpAddr> {
        let of_family =
            || self.addresses.iter().filter(|net| net.addr().is_ipv4() == peer.is_ipv4());
        let link_local = IpAddr::V6(self.link_local());
        if is_link_local(peer) {
            return Some(link_local);
        }
        of_family()
            .find(|net| net.contains(&peer))
            .or_else(|| of_family().find(|net| !is_link_local(net.addr())))
            .map(IpNet::addr)
            .or_else(|| peer.is_ipv6().then_some(link_local))
    }

    /// Whether `address` is the broadcast address of this link, or the obsolete one of all zeros
    /// (RFC 1812, 4.2.3.1 and 5.3.5). Prefixes of 31 and 32 bits have neither (RFC 3021).
    pub(super) fn is_broadcast(&self, address: Ipv4Addr) -> bool {
        let is_end = |net: &Ipv4Net| {
            net.prefix_len() < 31 && (net.broadcast() == address || net.network() == address)
        };
        address.is_broadcast()
            || self.addresses.iter().any(|net| matches!(net, IpNet::V4(net) if is_end(net)))
    }

    /// Whether `address` can belong to a single host that is reached through this interface.
    pub(super) fn is_host(&self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(v4) => {
                // 0/8 is "this network", 240/4 is reserved (RFC 1812, 4.2.2.11).
                let [first, ..] = v4.octets();
                (1..224).contains(&first) && !v4.is_loopback() && !self.is_broadcast(v4)
            }
            IpAddr::V6(v6) => !v6.is_unspecified() && !v6.is_multicast() && !v6.is_loopback(),
        }
    }
}

/// Whether `address` is an IPv6 link-local address.
pub(super) fn is_link_local(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local())
}
