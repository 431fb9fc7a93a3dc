//! Routing as a whole: what is put into [`Routes`] and what the packet path gets out of the
//! [`Fib`].

use super::*;
use crate::ids::PortId;
use crate::l2::Vid;
use crate::wire::MacAddress;
use alloc::vec;
use alloc::vec::Vec;
use core::net::IpAddr;
use ipnet::IpNet;
use proptest::prelude::*;
use std::collections::BTreeSet;

pub(super) fn port(number: usize) -> PortId {
    PortId::from_number(number).unwrap()
}

pub(super) fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

pub(super) fn net(text: &str) -> IpNet {
    text.parse().unwrap()
}

pub(super) const fn our_mac(number: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, 0, number])
}

pub(super) const fn station_mac(number: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, 1, number])
}

pub(super) fn interface(text: &str, number: u8) -> Interface {
    Interface {
        net: net(text),
        port: port(number.into()),
        vlan: None,
        mac: our_mac(number),
        frame_bytes_max: 1514,
    }
}

fn via(gateways: &[&str]) -> Route {
    Route::Via(gateways.iter().map(|gateway| ip(gateway)).collect())
}

/// The adjacency of station `station` behind port `number`.
fn forward(number: u8, station: u8) -> Hop {
    let (dst, src) = (station_mac(station), our_mac(number));
    Hop::Forward(Adjacency::new(port(number.into()), None, 1514, dst, src))
}

pub(super) fn leaf(fib: &Fib, address: IpAddr) -> Leaf {
    match address {
        IpAddr::V4(address) => fib.v4(address.octets()),
        IpAddr::V6(address) => fib.v6(address.octets()),
    }
}

/// The hops that the flows to `address` take, in the order of their first hashes.
fn hops(fib: &Fib, address: &str) -> Vec<Hop> {
    hops_of(fib, leaf(fib, ip(address)))
}

pub(super) fn hops_of(fib: &Fib, leaf: Leaf) -> Vec<Hop> {
    let mut hops = Vec::new();
    for hash in (0..=u32::MAX).step_by(1 << 24) {
        let hop = *fib.hop(leaf, hash);
        if !hops.contains(&hop) {
            hops.push(hop);
        }
    }
    hops
}

/// Port 1: 10.0.1.0/24 and fd00:1::/64; port 2: 10.0.2.0/24 and fd00:2::/64. One known host each.
fn two_networks() -> Routes {
    let mut routes = Routes::new();
    for (net, number) in
        [("10.0.1.1/24", 1), ("fd00:1::1/64", 1), ("10.0.2.1/24", 2), ("fd00:2::1/64", 2)]
    {
        assert_eq!(routes.set_interface(interface(net, number)), None);
    }
    for (host, number) in [("10.0.1.10", 1), ("fd00:1::10", 1), ("10.0.2.10", 2), ("fd00:2::10", 2)]
    {
        assert_eq!(
            routes.set_neighbor(ip(host), port(number.into()), station_mac(number)),
            Ok(true)
        );
    }
    routes
}

#[test]
fn an_interface_brings_its_network_its_address_and_its_neighbors() {
    let fib = two_networks().compile();
    for (address, hop) in [
        ("10.0.1.10", forward(1, 1)),
        ("10.0.1.11", Hop::Resolve { port: port(1) }),
        ("10.0.1.1", Hop::Local),
        ("10.0.1.255", Hop::Discard),
        ("10.0.1.0", Hop::Discard),
        ("10.0.2.10", forward(2, 2)),
        ("10.0.3.1", Hop::NoRoute),
        ("fd00:1::10", forward(1, 1)),
        ("fd00:1::11", Hop::Resolve { port: port(1) }),
        ("fd00:1::1", Hop::Local),
        ("fd00:2::", Hop::Resolve { port: port(2) }),
        ("fd00:3::1", Hop::NoRoute),
    ] {
        assert_eq!(hops(&fib, address), [hop], "{address}");
    }
}

#[test]
fn a_subnet_of_two_or_one_has_no_broadcast_address() {
    let mut routes = Routes::new();
    routes.set_interface(interface("10.0.0.0/31", 1));
    routes.set_interface(interface("10.0.0.5/32", 2));
    routes.set_interface(interface("10.0.0.9/30", 3));
    let fib = routes.compile();
    assert_eq!(hops(&fib, "10.0.0.0"), [Hop::Local]);
    assert_eq!(hops(&fib, "10.0.0.1"), [Hop::Resolve { port: port(1) }]);
    assert_eq!(hops(&fib, "10.0.0.5"), [Hop::Local]);
    assert_eq!(hops(&fib, "10.0.0.10"), [Hop::Resolve { port: port(3) }]);
    assert_eq!(hops(&fib, "10.0.0.11"), [Hop::Discard]);
}

#[test]
fn a_group_has_the_gateways_that_are_known() {
    let mut routes = two_networks();
    let gateways = ["10.0.1.10", "10.0.2.11", "10.0.2.10"];
    routes.set_route(net("20.0.0.0/8"), via(&gateways)).unwrap();
    assert_eq!(hops(&routes.compile(), "20.1.1.1"), [forward(1, 1), forward(2, 2)]);
    let unresolved = routes.unresolved_gateways();
    assert_eq!(unresolved.len(), 1, "the group goes on, and the one left out is asked for");
    assert_eq!((unresolved[0].address, unresolved[0].interface.port), (ip("10.0.2.11"), port(2)));

    routes.set_neighbor(ip("10.0.2.11"), port(2), station_mac(9)).unwrap();
    let fib = routes.compile();
    assert_eq!(hops(&fib, "20.1.1.1"), [forward(1, 1), forward(2, 9), forward(2, 2)]);
    assert!(leaf(&fib, ip("20.1.1.1")).is_group());
    assert_eq!(routes.unresolved_gateways(), []);

    for gateway in gateways {
        assert!(routes.remove_neighbor(ip(gateway)).is_some());
    }
    let fib = routes.compile();
    assert_eq!(hops(&fib, "20.1.1.1"), [Hop::Resolve { port: port(1) }]);
    let asked: Vec<(IpAddr, PortId)> =
        routes.next_hops(ip("20.1.1.1")).iter().map(|n| (n.address, n.interface.port)).collect();
    let all = [("10.0.1.10", 1), ("10.0.2.11", 2), ("10.0.2.10", 2)];
    assert_eq!(asked, all.map(|(gateway, number)| (ip(gateway), port(number))));
}

#[test]
fn a_gateway_outside_every_network_or_our_own_is_no_way() {
    let mut routes = two_networks();
    routes.set_route(net("20.0.0.0/8"), via(&["10.0.9.1", "10.0.1.1"])).unwrap();
    assert_eq!(hops(&routes.compile(), "20.1.1.1"), [Hop::NoRoute]);
    assert_eq!(routes.next_hops(ip("20.1.1.1")), []);
    routes.set_route(net("20.0.0.0/8"), via(&["10.0.9.1", "10.0.1.10"])).unwrap();
    assert_eq!(hops(&routes.compile(), "20.1.1.1"), [forward(1, 1)]);
}

#[test]
fn a_v4_route_may_have_a_link_local_v6_gateway() {
    let mut routes = two_networks();
    for number in [1, 2] {
        routes.set_interface(interface("fe80::1/64", number));
    }
    routes.set_route(net("20.0.0.0/8"), via(&["fe80::7"])).unwrap();
    let asked: Vec<PortId> =
        routes.next_hops(ip("20.1.1.1")).iter().map(|n| n.interface.port).collect();
    assert_eq!(asked, [port(1), port(2)], "it can be on either port");
    routes.set_neighbor(ip("fe80::7"), port(2), station_mac(7)).unwrap();
    let fib = routes.compile();
    assert_eq!(hops(&fib, "20.1.1.1"), [forward(2, 7)]);
    assert_eq!(hops(&fib, "fe80::7"), [Hop::Discard], "link-local addresses are not forwarded to");
    assert_eq!(hops(&fib, "fe80::1"), [Hop::Local]);
}

#[test]
fn the_stronger_of_two_answers_for_one_prefix_wins() {
    let mut routes = two_networks();
    // A connected network over a static route, an address of ours and a neighbor over all.
    routes.set_route(net("10.0.1.0/24"), Route::Blackhole).unwrap();
    routes.set_route(net("10.0.1.1/32"), Route::Blackhole).unwrap();
    let fib = routes.compile();
    assert_eq!(hops(&fib, "10.0.1.77"), [Hop::Resolve { port: port(1) }]);
    assert_eq!(hops(&fib, "10.0.1.10"), [forward(1, 1)]);
    assert_eq!(hops(&fib, "10.0.1.1"), [Hop::Local]);
}

#[test]
fn a_longer_static_route_inside_a_network_keeps_its_right() {
    let mut routes = two_networks();
    routes.set_route(net("10.0.1.8/29"), via(&["10.0.2.10"])).unwrap();
    assert_eq!(hops(&routes.compile(), "10.0.1.10"), [forward(2, 2)], "though .10 is known");
    assert_eq!(routes.next_hops(ip("10.0.1.10"))[0].address, ip("10.0.2.10"));
    let without = two_networks();
    assert_eq!(hops(&without.compile(), "10.0.1.10"), [forward(1, 1)]);
}

#[test]
fn what_no_router_forwards_is_discarded_even_with_a_default_route() {
    let mut routes = two_networks();
    routes.set_route(net("0.0.0.0/0"), via(&["10.0.1.10"])).unwrap();
    routes.set_route(net("::/0"), via(&["fd00:1::10"])).unwrap();
    let fib = routes.compile();
    assert_eq!(hops(&fib, "8.8.8.8"), [forward(1, 1)]);
    assert_eq!(hops(&fib, "2001:db8::1"), [forward(1, 1)]);
    for never in
        ["0.0.0.1", "127.0.0.1", "169.254.9.9", "224.0.0.5", "239.1.1.1", "255.255.255.255"]
    {
        assert_eq!(hops(&fib, never), [Hop::Discard], "{never}");
    }
    for never in ["::", "::1", "fe80::1", "ff02::1"] {
        assert_eq!(hops(&fib, never), [Hop::Discard], "{never}");
    }
}

#[test]
fn a_neighbor_that_moved_leaves_by_its_new_port_with_that_ports_header() {
    let mut routes = two_networks();
    let tagged = Interface { vlan: Vid::new(7), ..interface("10.0.1.2/24", 3) };
    routes.set_interface(tagged);
    assert_eq!(routes.set_neighbor(ip("10.0.1.10"), port(1), station_mac(1)), Ok(false), "no news");
    assert_eq!(routes.set_neighbor(ip("10.0.1.10"), port(3), station_mac(1)), Ok(true));
    let adjacency = Adjacency::new(port(3), Vid::new(7), 1514, station_mac(1), our_mac(3));
    assert_eq!(hops(&routes.compile(), "10.0.1.10"), [Hop::Forward(adjacency)]);
    // On a port that is not in its network it is as good as unknown.
    routes.set_neighbor(ip("10.0.1.10"), port(2), station_mac(1)).unwrap();
    assert_eq!(hops(&routes.compile(), "10.0.1.10"), [Hop::Resolve { port: port(1) }]);
}

#[test]
fn interfaces_are_replaced_and_removed_one_by_one() {
    let mut routes = two_networks();
    let wider = Interface { frame_bytes_max: 9014, ..interface("10.0.1.1/16", 1) };
    assert_eq!(routes.set_interface(wider), Some(interface("10.0.1.1/24", 1)));
    assert_eq!(hops(&routes.compile(), "10.0.77.1"), [Hop::Resolve { port: port(1) }]);
    assert_eq!(routes.remove_interface(port(2), None, ip("10.0.1.1")), None, "another port's");
    assert_eq!(routes.remove_interface(port(1), None, ip("10.0.1.1")), Some(wider));
    assert_eq!(hops(&routes.compile(), "10.0.1.10"), [Hop::NoRoute]);
    assert_eq!(routes.interfaces().count(), 3);
    assert!(!routes.is_ours(ip("10.0.1.1")) && routes.is_ours(ip("fd00:1::1")));
}

#[test]
fn what_cannot_be_is_refused_and_changes_nothing() {
    let mut routes = Routes::new();
    let any = net("0.0.0.0/0");
    assert_eq!(routes.set_route(any, Route::Via(vec![])), Err(RoutesError::NoGateway));
    let crowd = Route::Via(vec![ip("10.0.0.1"); 65]);
    assert_eq!(routes.set_route(any, crowd), Err(RoutesError::TooManyGateways(65)));
    let group = MacAddress([1, 0, 0, 0, 0, 1]);
    let refused = Err(RoutesError::MulticastNeighbor(group));
    assert_eq!(routes.set_neighbor(ip("10.0.0.1"), port(1), group), refused);
    assert_eq!((routes.routes().count(), routes.neighbors().count()), (0, 0));
}

/// What [`Routes`] means, as slowly and plainly as it can be said.
struct Plain {
    interfaces: Vec<Interface>,
    routes: Vec<(IpNet, Route)>,
    neighbors: Vec<(IpAddr, PortId, MacAddress)>,
}

impl Plain {
    fn connected(&self, address: IpAddr) -> Vec<&Interface> {
        let around = self.interfaces.iter().filter(|i| i.net.contains(&address));
        let longest = around.clone().map(|i| i.net.prefix_len()).max();
        around.filter(|i| Some(i.net.prefix_len()) == longest).collect()
    }

    fn station(&self, address: IpAddr) -> Option<Hop> {
        if self.interfaces.iter().any(|i| i.net.addr() == address) {
            return None;
        }
        let around = self.connected(address);
        let known = self.neighbors.iter().find(|(station, ..)| *station == address);
        let known = known.and_then(|&(_, port, mac)| {
            let i = around.iter().find(|i| i.port == port)?;
            Some(Hop::Forward(Adjacency::new(port, i.vlan, i.frame_bytes_max, mac, i.mac)))
        });
        known.or_else(|| around.first().map(|i| Hop::Resolve { port: i.port }))
    }

    /// The set of hops that flows to `address` may take.
    fn hops(&self, address: IpAddr) -> Vec<Hop> {
        if self.interfaces.iter().any(|i| i.net.addr() == address) {
            return vec![Hop::Local];
        }
        let has_broadcast = |i: &&Interface| i.net.prefix_len() <= 30;
        let mut v4 =
            self.interfaces.iter().filter(|i| i.net.addr().is_ipv4()).filter(has_broadcast);
        if v4.any(|i| i.net.network() == address || i.net.broadcast() == address) {
            return vec![Hop::Discard];
        }
        let longest = self.routes.iter().filter(|(prefix, _)| prefix.contains(&address));
        let longest = longest.max_by_key(|(prefix, _)| prefix.prefix_len());
        let near = self.connected(address).first().map(|i| i.net.prefix_len());
        match longest {
            Some((prefix, Route::Blackhole)) if Some(prefix.prefix_len()) > near => {
                vec![Hop::Discard]
            }
            Some((prefix, Route::Via(gateways))) if Some(prefix.prefix_len()) > near => {
                let hops: Vec<Hop> = gateways.iter().filter_map(|&g| self.station(g)).collect();
                let is_known = |hop: &&Hop| matches!(hop, Hop::Forward(_));
                let known: Vec<Hop> = hops.iter().filter(is_known).copied().collect();
                let first = || hops.first().copied().unwrap_or(Hop::NoRoute);
                if known.is_empty() { vec![first()] } else { known }
            }
            _ => vec![self.station(address).unwrap_or(Hop::NoRoute)],
        }
    }
}

/// One of 64 addresses in 10.0.0.0/26 or fd00::/122, so that everything meets everything.
pub(super) fn address() -> impl Strategy<Value = IpAddr> {
    (any::<bool>(), 0..64_u8).prop_map(|(v6, n)| {
        if v6 { IpAddr::from([0xFD00, 0, 0, 0, 0, 0, 0, n.into()]) } else { [10, 0, 0, n].into() }
    })
}

pub(super) fn prefix() -> impl Strategy<Value = IpNet> {
    (address(), 0..=8_u8).prop_map(|(address, shorter)| {
        let bits = if address.is_ipv4() { 32 } else { 128 };
        IpNet::new(address, bits - shorter).unwrap()
    })
}

fn interfaces() -> impl Strategy<Value = Vec<Interface>> {
    let one = (prefix(), 1..4_u8)
        .prop_map(|(net, number)| Interface { net, ..interface("10.0.0.1/24", number) });
    proptest::collection::vec(one, 0..6).prop_map(|mut list| {
        // An address can be ours only once; which of two the table keeps is tested elsewhere.
        let mut seen = BTreeSet::new();
        list.retain(|interface| seen.insert(interface.net.addr()));
        list
    })
}

proptest! {
    #[test]
    fn the_packet_path_does_what_the_plain_reading_says(
        interfaces in interfaces(),
        routes in proptest::collection::vec(
            (prefix(), proptest::collection::vec(address(), 0..4)), 0..6),
        neighbors in proptest::collection::vec((address(), 1..4_u8, 0..9_u8), 0..30),
    ) {
        let mut table = Routes::new();
        let mut fast_path = Plain { interfaces, routes: vec![], neighbors: vec![] };
        for interface in &fast_path.interfaces {
            table.set_interface(*interface);
        }
        for (prefix, gateways) in routes {
            let route =
                if gateways.is_empty() { Route::Blackhole } else { Route::Via(gateways) };
            fast_path.routes.retain(|(old, _)| *old != prefix.trunc());
            fast_path.routes.push((prefix.trunc(), route.clone()));
            table.set_route(prefix, route).unwrap();
        }
        for (address, number, mac) in neighbors {
            let (port, mac) = (port(number.into()), station_mac(mac));
            fast_path.neighbors.retain(|(old, ..)| *old != address);
            fast_path.neighbors.push((address, port, mac));
            table.set_neighbor(address, port, mac).unwrap();
        }
        let fib = table.compile();
        for n in 0..64_u8 {
            for address in
                [IpAddr::from([10, 0, 0, n]), IpAddr::from([0xFD00, 0, 0, 0, 0, 0, 0, n.into()])]
            {
                let leaf = leaf(&fib, address);
                let truth = fast_path.hops(address);
                let found = hops_of(&fib, leaf);
                prop_assert!(truth.iter().all(|hop| found.contains(hop)), "{}", address);
                prop_assert!(found.iter().all(|hop| truth.contains(hop)), "{}", address);
                // The slow path asks for whatever the packet path could not send.
                let unknown = table.next_hops(address).iter().any(|hop| hop.mac.is_none());
                let resolves = matches!(found[0], Hop::Resolve { .. });
                prop_assert!(unknown || !resolves, "{} resolves, but nobody is asked", address);
            }
        }
    }
}
