//! Which answer wins where several would do.
//!
//! For one prefix the last of these wins: what no router forwards (RFC 1812 5.3.7, RFC 4291 2.5), a
//! learned route, a static route, a connected network, a neighbor's own prefix (/32 or /128), the
//! two broadcast addresses of an IPv4 network, our own addresses. Between prefixes, the longest
//! wins. A neighbor gets its own prefix only where the connected network is what its address would
//! be routed by: a longer route inside that network keeps its right.

use super::changes::GroupKey;
use super::prefix_map::{covering, longest_match};
use super::route::{AnyRoute, Route, Target};
use super::routes::{NextHop, Routes};
use crate::ids::PortId;
use crate::tunnel::TunnelId;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// What no router forwards: "this network", loopback, link-local, multicast, limited broadcast.
const NEVER_FORWARDED_V4: [Ipv4Net; 5] = [
    Ipv4Net::new_assert(Ipv4Addr::new(0, 0, 0, 0), 8),
    Ipv4Net::new_assert(Ipv4Addr::new(127, 0, 0, 0), 8),
    Ipv4Net::new_assert(Ipv4Addr::new(169, 254, 0, 0), 16),
    Ipv4Net::new_assert(Ipv4Addr::new(224, 0, 0, 0), 4),
    Ipv4Net::new_assert(Ipv4Addr::BROADCAST, 32),
];

/// What no router forwards: unspecified, loopback, link-local, multicast.
const NEVER_FORWARDED_V6: [Ipv6Net; 4] = [
    Ipv6Net::new_assert(Ipv6Addr::UNSPECIFIED, 128),
    Ipv6Net::new_assert(Ipv6Addr::LOCALHOST, 128),
    Ipv6Net::new_assert(Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, 0), 10),
    Ipv6Net::new_assert(Ipv6Addr::new(0xFF00, 0, 0, 0, 0, 0, 0, 0), 8),
];

/// What a prefix leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Dropped in silence.
    Discard,
    /// The switch itself.
    Local,
    /// As if there were no route.
    NoRoute,
    /// The destination, which has to be asked for on this port.
    Resolve(PortId),
    /// This station, whose MAC address is known.
    Neighbor(NextHop),
    /// One of these.
    Group(GroupKey),
    /// This tunnel.
    Tunnel(TunnelId),
}

impl Routes {
    /// The prefixes of all families that may have an answer, some of them more than once.
    pub(super) fn prefixes(&self) -> impl Iterator<Item = IpNet> {
        let never = NEVER_FORWARDED_V4.map(IpNet::V4).into_iter();
        let never = never.chain(NEVER_FORWARDED_V6.map(IpNet::V6));
        let learned = self.learned.keys().copied();
        let fixed = self.routes.keys().copied();
        let connected = self.connected.keys().copied();
        let neighbors = self.neighbors.keys().map(|&address| IpNet::from(address));
        let own = self.interfaces().flat_map(|interface| {
            let net = interface.net;
            [net.addr(), net.network(), net.broadcast()].map(IpNet::from)
        });
        let locals = self.locals.iter().map(|&address| IpNet::from(address));
        never.chain(learned).chain(fixed).chain(connected).chain(neighbors).chain(own).chain(locals)
    }

    /// The answer of exactly this prefix, if it has one.
    pub(super) fn answer(&self, prefix: IpNet) -> Option<Answer> {
        if prefix.prefix_len() == prefix.max_prefix_len()
            && let Some(answer) = self.answer_of_host(prefix.addr())
        {
            return Some(answer);
        }
        let connected = self.connected.get(&prefix).filter(|_| !is_ambiguous(&prefix));
        if let Some(interface) = connected.and_then(|claims| claims.first()) {
            return Some(Answer::Resolve(interface.port));
        }
        if let Some(fixed) = self.routes.get(&prefix) {
            return Some(match (&fixed.route, fixed.group) {
                (Route::Tunnel { id, .. }, _) => Answer::Tunnel(*id),
                (_, Some(group)) => Answer::Group(GroupKey::Static(group)),
                (_, None) => Answer::Discard,
            });
        }
        if let Some(route) = self.learned.get(&prefix) {
            return Some(match route.target {
                Target::Group(group) => Answer::Group(GroupKey::Learned(group)),
                Target::Blackhole => Answer::Discard,
                Target::Unreachable => Answer::NoRoute,
            });
        }
        let is_never_forwarded = match prefix {
            IpNet::V4(net) => NEVER_FORWARDED_V4.contains(&net),
            IpNet::V6(net) => NEVER_FORWARDED_V6.contains(&net),
        };
        is_never_forwarded.then_some(Answer::Discard)
    }

    /// What a host's prefix has beyond a route.
    fn answer_of_host(&self, address: IpAddr) -> Option<Answer> {
        if self.is_ours(address) {
            return Some(Answer::Local);
        }
        // A /31 or /32 has no broadcast address (RFC 3021).
        let is_broadcast = |net: &IpNet| {
            address.is_ipv4()
                && net.prefix_len() <= 30
                && (net.network() == address || net.broadcast() == address)
        };
        if covering(&self.connected, address).any(|(net, _)| is_broadcast(&net)) {
            return Some(Answer::Discard);
        }
        self.station_at(address).filter(|station| station.mac.is_some()).map(Answer::Neighbor)
    }

    /// The station that a neighbor's own prefix leads to.
    fn station_at(&self, address: IpAddr) -> Option<NextHop> {
        if !self.neighbors.contains_key(&address) {
            return None;
        }
        let near = longest_match(&self.connected, address).map(|(near, _)| near);
        if near.is_some_and(|near| is_ambiguous(&near)) {
            return None;
        }
        let far = self.route_to(address);
        let far_len = far.as_ref().map(|(far, _)| far.prefix_len());
        if near.is_some() && far_len <= near.map(|near| near.prefix_len()) {
            return self.stations(address).into_iter().next();
        }
        // A network that a learned route says is on the link.
        let Some((_, AnyRoute::Learned(Target::Group(group)))) = far else { return None };
        let on_link = self.groups.paths(group).iter().find(|path| path.gateway.is_none())?;
        self.stations_by(on_link, address).into_iter().next()
    }
}

/// IPv6 link-local networks are on every port at once, so an address in them says nothing about the
/// way; they serve as gateways, whose port their neighbor entry tells, and are never forwarded to.
fn is_ambiguous(net: &IpNet) -> bool {
    matches!(net, IpNet::V6(net) if net.addr().is_unicast_link_local())
}
