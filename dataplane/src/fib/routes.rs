//! The control thread's routing table: interfaces, static routes and neighbors, each added,
//! replaced and removed alone. `compiler.rs` compiles it for the packet path.

use super::capacity::{GROUPS_MAX, NEIGHBORS_MAX, ROUTES_MAX, RoutesError};
use super::changes::{Change, Changes, GroupKey};
use super::groups::{GroupId, Groups, Path};
use super::prefix_map::{PrefixMap, covering, longest_match};
use super::route::{AnyRoute, Learned, Route, RoutedBy, Target};
use crate::ids::PortId;
use crate::l2::Vid;
use crate::limits::ECMP_MAX;
use crate::tunnel::TunnelId;
use crate::wire::MacAddress;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::net::IpAddr;
use ipnet::IpNet;

const _: () = assert!(
    (ROUTES_MAX + GROUPS_MAX) * ECMP_MAX + NEIGHBORS_MAX + 2 * crate::limits::PORTS_MAX
        < super::leaf::HOPS_MAX,
    "every hop of a full table has an index"
);

/// An address of the switch on a port, and with it the network that is connected there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Our address, with the length of the network's prefix.
    pub net: IpNet,
    /// The port that the network is on.
    pub port: PortId,
    /// The VLAN that the network is on, if its frames are tagged.
    pub vlan: Option<Vid>,
    /// Our MAC address there: the source of what is routed to this network.
    pub mac: MacAddress,
    /// The longest frame sent there, Ethernet header included, VLAN tags and FCS not.
    pub frame_bytes_max: u16,
}

/// A station that frames to some destination are handed to: a gateway, or the destination itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextHop {
    /// Its address: whom to ask for a MAC address if `mac` is `None`.
    pub address: IpAddr,
    /// Its MAC address, if known.
    pub mac: Option<MacAddress>,
    /// Ours in its network: where to ask, and whose addresses to ask with.
    pub interface: Interface,
}

/// Where a neighbor was heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Neighbor {
    pub(super) port: PortId,
    pub(super) mac: MacAddress,
}

/// A static route, and the group of its gateways.
#[derive(Clone, Debug)]
pub(super) struct Static {
    pub(super) route: Route,
    pub(super) group: Option<GroupId>,
}

/// The control thread's routing table.
#[derive(Clone, Debug)]
pub struct Routes {
    /// By network; several ports or VLANs may claim the same one, as with IPv6's fe80::/64.
    pub(super) connected: PrefixMap<Vec<Interface>>,
    /// Our addresses that are on no port.
    pub(super) locals: BTreeSet<IpAddr>,
    pub(super) routes: PrefixMap<Static>,
    /// The gateways of static routes.
    static_groups: Groups,
    pub(super) learned: PrefixMap<Learned>,
    /// The paths of learned routes.
    pub(super) groups: Groups,
    pub(super) neighbors: BTreeMap<IpAddr, Neighbor>,
    pub(super) changes: Changes,
}

impl Default for Routes {
    fn default() -> Self {
        Self {
            connected: PrefixMap::new(),
            locals: BTreeSet::new(),
            routes: PrefixMap::new(),
            static_groups: Groups::new(ROUTES_MAX),
            learned: PrefixMap::new(),
            groups: Groups::new(GROUPS_MAX),
            neighbors: BTreeMap::new(),
            changes: Changes::default(),
        }
    }
}

impl Routes {
    /// A table without anything in it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an interface; one with the same address on the same port and VLAN is replaced and
    /// returned.
    pub fn set_interface(&mut self, interface: Interface) -> Option<Interface> {
        let Interface { net, port, vlan, .. } = interface;
        let old = self.remove_interface(port, vlan, net.addr());
        self.connected.entry(net.trunc()).or_default().push(interface);
        self.changes = Changes::Everything;
        old
    }

    /// Removes and returns the interface with this address.
    pub fn remove_interface(
        &mut self,
        port: PortId,
        vlan: Option<Vid>,
        address: IpAddr,
    ) -> Option<Interface> {
        let same = |i: &Interface| i.port == port && i.vlan == vlan && i.net.addr() == address;
        let removed = self.connected.values_mut().find_map(|claims| {
            let at = claims.iter().position(same)?;
            Some(claims.remove(at))
        });
        self.connected.retain(|_, claims| !claims.is_empty());
        self.changes = Changes::Everything;
        removed
    }

    /// Replaces the addresses of the switch that are on no port (SONiC: LOOPBACK_INTERFACE).
    pub fn set_locals(&mut self, addresses: impl IntoIterator<Item = IpAddr>) {
        self.locals = addresses.into_iter().collect();
        self.changes = Changes::Everything;
    }

    /// All interfaces, by network.
    pub fn interfaces(&self) -> impl Iterator<Item = &Interface> {
        self.connected.values().flatten()
    }

    /// Adds a static route; one for the same prefix is replaced and returned. Address bits beyond
    /// the prefix do not matter. A connected network wins over a route with the same prefix.
    pub fn set_route(&mut self, prefix: IpNet, route: Route) -> Result<Option<Route>, RoutesError> {
        let prefix = prefix.trunc();
        if let Route::Via(gateways) = &route {
            match gateways.len() {
                0 => return Err(RoutesError::NoGateway),
                1..=ECMP_MAX => {}
                count => return Err(RoutesError::TooManyGateways(count)),
            }
        }
        if self.routes.len() >= ROUTES_MAX && !self.routes.contains_key(&prefix) {
            return Err(RoutesError::RoutesFull);
        }
        let group = match &route {
            Route::Blackhole | Route::Tunnel { .. } => None,
            Route::Via(gateways) => {
                let path = |&gateway| Path { gateway: Some(gateway), port: None, weight: 1 };
                let paths: Vec<Path> = gateways.iter().map(path).collect();
                let group = self.static_groups.of_paths(&paths)?;
                self.static_groups.add_route(group);
                Some(group)
            }
        };
        let old = self.routes.insert(prefix, Static { route, group });
        if let Some(Static { group: Some(group), .. }) = old {
            self.static_groups.remove_route(group);
        }
        self.changed(Change::Route(prefix));
        Ok(old.map(|old| old.route))
    }

    /// Notes a change. Without a compiler that follows it nothing has to be kept for one.
    pub(super) fn changed(&mut self, change: Change) {
        self.changes.push(change);
        if self.changes.is_everything() {
            self.static_groups.recycle();
            self.groups.recycle();
        }
    }

    /// The paths of a group of either kind.
    pub(super) fn paths_of(&self, key: GroupKey) -> &[Path] {
        match key {
            GroupKey::Static(group) => self.static_groups.paths(group),
            GroupKey::Learned(group) => self.groups.paths(group),
        }
    }

    /// The groups that no route points to any more. From now on their numbers may be others'.
    pub(super) fn take_freed(&mut self) -> Vec<GroupKey> {
        let fixed = self.static_groups.recycle().into_iter().map(GroupKey::Static);
        fixed.chain(self.groups.recycle().into_iter().map(GroupKey::Learned)).collect()
    }

    /// All static routes, by prefix.
    pub fn routes(&self) -> impl Iterator<Item = (IpNet, &Route)> {
        self.routes.iter().map(|(&prefix, fixed)| (prefix, &fixed.route))
    }

    /// Notes the MAC address of a neighbor and the port it answered on. Returns whether that is
    /// news, so that nothing need be compiled if it is not.
    pub fn set_neighbor(
        &mut self,
        address: IpAddr,
        port: PortId,
        mac: MacAddress,
    ) -> Result<bool, RoutesError> {
        if mac.is_multicast() {
            return Err(RoutesError::MulticastNeighbor(mac));
        }
        if self.neighbors.len() >= NEIGHBORS_MAX && !self.neighbors.contains_key(&address) {
            return Err(RoutesError::NeighborsFull);
        }
        let neighbor = Neighbor { port, mac };
        let is_news = self.neighbors.insert(address, neighbor) != Some(neighbor);
        if is_news {
            self.changed(Change::Neighbor(address));
        }
        Ok(is_news)
    }

    /// Forgets a neighbor; returns where it was.
    pub fn remove_neighbor(&mut self, address: IpAddr) -> Option<(PortId, MacAddress)> {
        let old = self.neighbors.remove(&address)?;
        self.changed(Change::Neighbor(address));
        Some((old.port, old.mac))
    }

    /// All neighbors, by address.
    pub fn neighbors(&self) -> impl Iterator<Item = (IpAddr, PortId, MacAddress)> {
        self.neighbors.iter().map(|(&address, n)| (address, n.port, n.mac))
    }

    /// What leads to `destination`.
    pub fn routed_by(&self, destination: IpAddr) -> RoutedBy<'_> {
        if self.is_ours(destination) {
            return RoutedBy::Ours;
        }
        let connected = longest_match(&self.connected, destination).map(|(net, _)| net);
        let length = connected.map(|net| net.prefix_len());
        let longer = self.route_to(destination).filter(|(to, _)| Some(to.prefix_len()) > length);
        match (longer, connected) {
            (Some((prefix, AnyRoute::Static(route))), _) => RoutedBy::Static(prefix, route),
            (Some((prefix, AnyRoute::Learned(target))), _) => RoutedBy::Learned(prefix, target),
            (None, Some(net)) => RoutedBy::Connected(net),
            (None, None) => RoutedBy::Nothing,
        }
    }

    /// The stations that a frame to `destination` may be handed to: all gateways of its route, or
    /// the destination itself in a connected network. Empty if there is no such route, and for our
    /// own addresses.
    pub fn next_hops(&self, destination: IpAddr) -> Vec<NextHop> {
        match self.routed_by(destination) {
            RoutedBy::Static(_, &Route::Tunnel { remote, .. }) => {
                let remote = IpAddr::V4(remote);
                // No tunnel leads through another.
                let is_nested = self.tunnel_to(remote).is_some();
                if is_nested { Vec::new() } else { self.next_hops(remote) }
            }
            RoutedBy::Static(_, Route::Via(gateways)) => {
                gateways.iter().flat_map(|&it| self.stations(it)).collect()
            }
            RoutedBy::Learned(_, Target::Group(group)) => {
                let paths = self.groups.paths(group).iter();
                paths.flat_map(|path| self.stations_by(path, destination)).collect()
            }
            RoutedBy::Connected(_) => self.stations(destination),
            RoutedBy::Ours
            | RoutedBy::Static(_, Route::Blackhole)
            | RoutedBy::Learned(_, Target::Blackhole | Target::Unreachable)
            | RoutedBy::Nothing => Vec::new(),
        }
    }

    /// The tunnel that the route of `destination` leads into, if it does.
    pub fn tunnel_to(&self, destination: IpAddr) -> Option<TunnelId> {
        match self.routed_by(destination) {
            RoutedBy::Static(_, Route::Tunnel { id, .. }) => Some(*id),
            _ => None,
        }
    }

    /// Whether `address` is one of the switch's own.
    pub fn is_ours(&self, address: IpAddr) -> bool {
        self.locals.contains(&address)
            || covering(&self.connected, address)
                .any(|(_, claims)| claims.iter().any(|interface| interface.net.addr() == address))
    }

    /// The gateways of all routes whose MAC address is unknown, each once. While another gateway
    /// of its group is known no frame asks for them, so the control thread must do so by itself.
    pub fn unresolved_gateways(&self) -> Vec<NextHop> {
        let groups = self.static_groups.iter().chain(self.groups.iter());
        let paths: BTreeSet<(IpAddr, Path)> = groups
            .flatten()
            .filter_map(|path| Some((path.gateway?, Path { weight: 1, ..*path })))
            .collect();
        let stations = paths.iter().flat_map(|(gateway, path)| self.stations_by(path, *gateway));
        stations.filter(|station| station.mac.is_none()).collect()
    }

    /// The stations that a frame to `destination` may be handed to by this path: as
    /// [`Self::stations`], and on the path's port also without a connected network there.
    pub(super) fn stations_by(&self, path: &Path, destination: IpAddr) -> Vec<NextHop> {
        let address = path.gateway.unwrap_or(destination);
        let Some(port) = path.port else { return self.stations(address) };
        if self.is_ours(address) {
            return Vec::new();
        }
        let claims = longest_match(&self.connected, address).map_or(&[][..], |(_, claims)| claims);
        let near = claims.iter().find(|claim| claim.port == port);
        let Some(&interface) = near.or_else(|| self.interface_on(port, address)) else {
            return Vec::new();
        };
        let known = self.neighbors.get(&address).filter(|neighbor| neighbor.port == port);
        Vec::from([NextHop { address, mac: known.map(|neighbor| neighbor.mac), interface }])
    }

    /// An interface on `port` to ask for `address` by, of its family if there is one.
    fn interface_on(&self, port: PortId, address: IpAddr) -> Option<&Interface> {
        let there = || self.interfaces().filter(|interface| interface.port == port);
        let alike = there().find(|it| it.net.addr().is_ipv4() == address.is_ipv4());
        alike.or_else(|| there().next())
    }

    /// `address`, a station in a connected network: one next hop if its MAC address is known,
    /// otherwise one for each interface where it may be; none if it is ours or in no such network.
    pub(super) fn stations(&self, address: IpAddr) -> Vec<NextHop> {
        let Some((_, claims)) = longest_match(&self.connected, address) else { return Vec::new() };
        if self.is_ours(address) {
            return Vec::new();
        }
        let known = self.neighbors.get(&address).and_then(|neighbor| {
            let there = claims.iter().find(|claim| claim.port == neighbor.port)?;
            Some(NextHop { address, mac: Some(neighbor.mac), interface: *there })
        });
        let unknown = |&interface| NextHop { address, mac: None, interface };
        known.map_or_else(|| claims.iter().map(unknown).collect(), |station| Vec::from([station]))
    }
}
