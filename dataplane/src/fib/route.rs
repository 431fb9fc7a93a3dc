//! Where routes lead.

use super::groups::GroupId;
use crate::tunnel::TunnelId;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr};
use ipnet::IpNet;

/// Where a static route leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// To one of these gateways, by the flow's hash. A gateway has to be in a connected network, of
    /// either address family; one listed twice gets twice the flows. Those with an unknown MAC
    /// address are left out as long as one other is known.
    Via(Vec<IpAddr>),
    /// Nowhere: dropped in silence.
    Blackhole,
    /// Into a tunnel. The way to its other end is looked up for each frame.
    Tunnel {
        /// The tunnel.
        id: TunnelId,
        /// Its other end.
        remote: Ipv4Addr,
    },
}

/// Where a learned route leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// By a path of this group, chosen by the flow's hash.
    Group(GroupId),
    /// Nowhere: dropped in silence.
    Blackhole,
    /// Nowhere: as if there were no route.
    Unreachable,
}

/// A learned route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Learned {
    /// Where it leads.
    pub target: Target,
    /// Who gave it to the daemon: a number of `rtnetlink`(7), such as 186 for BGP.
    pub protocol: u8,
    /// Whatever the caller wants to know of it later.
    pub mark: u32,
}

/// What a destination is routed by: the longest prefix that it is in, and of one prefix a connected
/// network before a static route before a learned one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoutedBy<'a> {
    /// Nothing: it is one of the switch's own addresses.
    Ours,
    /// A connected network.
    Connected(IpNet),
    /// A static route.
    Static(IpNet, &'a Route),
    /// A learned route.
    Learned(IpNet, Target),
    /// No route.
    Nothing,
}

/// A route of either kind.
pub(super) enum AnyRoute<'a> {
    Static(&'a Route),
    Learned(Target),
}
