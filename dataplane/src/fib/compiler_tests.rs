//! A table that changes answers as one that is built from scratch, and moves no flow that it need
//! not.

use super::tests::{address, hops_of, interface, ip, leaf, net, port, prefix, station_mac};
use super::*;
use alloc::format;
use alloc::vec::Vec;
use core::net::IpAddr;
use ipnet::IpNet;
use proptest::prelude::*;

/// One change of a routing table.
#[derive(Clone, Debug)]
enum Edit {
    Static(IpNet, Vec<IpAddr>),
    Learned(IpNet, Vec<Path>),
    /// A route by one of three named groups.
    Named(IpNet, usize),
    Blackhole(IpNet),
    Unlearn(IpNet),
    Group(usize, Vec<Path>),
    Neighbor(IpAddr, u8, u8),
    NoNeighbor(IpAddr),
    Interface(IpNet, u8),
    /// Nothing: the other table takes over.
    Apply,
}

fn path() -> impl Strategy<Value = Path> {
    (proptest::option::weighted(0.8, address()), proptest::option::of(1..4_usize), 1..4_u16)
        .prop_map(|(gateway, number, weight)| Path {
            gateway,
            port: if gateway.is_none() {
                Some(port(number.unwrap_or(1)))
            } else {
                number.map(port)
            },
            weight,
        })
}

fn edit() -> impl Strategy<Value = Edit> {
    let paths = || proptest::collection::vec(path(), 1..5);
    prop_oneof![
        2 => (prefix(), proptest::collection::vec(address(), 1..4))
            .prop_map(|(prefix, via)| Edit::Static(prefix, via)),
        6 => (prefix(), paths()).prop_map(|(prefix, paths)| Edit::Learned(prefix, paths)),
        3 => (prefix(), 0..3_usize).prop_map(|(prefix, group)| Edit::Named(prefix, group)),
        1 => prefix().prop_map(Edit::Blackhole),
        4 => prefix().prop_map(Edit::Unlearn),
        2 => (0..3_usize, proptest::collection::vec(path(), 0..5))
            .prop_map(|(group, paths)| Edit::Group(group, paths)),
        4 => (address(), 1..4_u8, 0..9_u8).prop_map(|(it, port, mac)| Edit::Neighbor(it, port, mac)),
        2 => address().prop_map(Edit::NoNeighbor),
        1 => (prefix(), 1..4_u8).prop_map(|(net, port)| Edit::Interface(net, port)),
        6 => Just(Edit::Apply),
    ]
}

/// A table that is edited, and the two tables of the packet path.
struct Bench {
    routes: Routes,
    named: Vec<GroupId>,
    compiler: Compiler,
    fibs: [Fib; 2],
}

impl Bench {
    fn new() -> Self {
        let mut routes = Routes::new();
        let one = Path { gateway: Some(ip("10.0.0.9")), port: None, weight: 1 };
        let named = (0..3).map(|_| routes.add_group(&[one]).unwrap()).collect();
        Self { routes, named, compiler: Compiler::new(), fibs: [Fib::default(), Fib::default()] }
    }

    fn learn(&mut self, prefix: IpNet, target: Target) {
        let route = Learned { target, protocol: 186, mark: 0 };
        self.routes.set_learned(prefix, route).unwrap();
    }

    fn edit(&mut self, edit: &Edit) {
        match edit {
            Edit::Static(prefix, via) => {
                self.routes.set_route(*prefix, Route::Via(via.clone())).unwrap();
            }
            Edit::Learned(prefix, paths) => {
                let group = self.routes.group_of(paths).unwrap();
                self.learn(*prefix, Target::Group(group));
            }
            Edit::Named(prefix, group) => self.learn(*prefix, Target::Group(self.named[*group])),
            Edit::Blackhole(prefix) => self.learn(*prefix, Target::Blackhole),
            Edit::Unlearn(prefix) => {
                self.routes.remove_learned(*prefix);
            }
            Edit::Group(group, paths) => {
                self.routes.set_group(self.named[*group], paths).unwrap();
            }
            Edit::Neighbor(address, number, mac) => {
                let (port, mac) = (port((*number).into()), station_mac(*mac));
                self.routes.set_neighbor(*address, port, mac).unwrap();
            }
            Edit::NoNeighbor(address) => {
                self.routes.remove_neighbor(*address);
            }
            Edit::Interface(net, number) => {
                self.routes
                    .set_interface(Interface { net: *net, ..interface("10.0.0.1/24", *number) });
            }
            Edit::Apply => self.apply(),
        }
    }

    fn apply(&mut self) {
        self.compiler.update(&mut self.routes);
        self.compiler.apply(&mut self.fibs[0]);
        self.fibs.swap(0, 1);
    }

    /// Both tables answer as one from scratch.
    fn check(&mut self) -> Result<(), TestCaseError> {
        let truth = self.routes.compile();
        for _ in 0..2 {
            self.apply();
            let fib = &self.fibs[1];
            for n in 0..64_u8 {
                let v6 = IpAddr::from([0xFD00, 0, 0, 0, 0, 0, 0, n.into()]);
                for address in [IpAddr::from([10, 0, 0, n]), v6] {
                    let found = hops_of(fib, leaf(fib, address));
                    let truth = hops_of(&truth, leaf(&truth, address));
                    let is_same =
                        found.len() == truth.len() && found.iter().all(|it| truth.contains(it));
                    prop_assert!(is_same, "{}: {:?} is not {:?}", address, found, truth);
                }
            }
        }
        Ok(())
    }
}

proptest! {
    #[test]
    fn changed_step_by_step_is_as_from_scratch(edits in proptest::collection::vec(edit(), 1..80)) {
        let mut bench = Bench::new();
        for edit in &edits {
            bench.edit(edit);
            if matches!(edit, Edit::Apply) {
                bench.check()?;
            }
        }
        bench.check()?;
    }
}

/// Four gateways on four ports, all known.
fn four_ways() -> (Bench, Vec<Path>) {
    let mut bench = Bench::new();
    for number in 1..=4_u8 {
        bench.routes.set_interface(interface(&format!("10.0.{number}.1/24"), number));
        let gateway = IpAddr::from([10, 0, number, 2]);
        bench.routes.set_neighbor(gateway, port(number.into()), station_mac(number)).unwrap();
    }
    let path = |number: u8| Path {
        gateway: Some(IpAddr::from([10, 0, number, 2])),
        port: None,
        weight: 1,
    };
    (bench, (1..=4).map(path).collect())
}

/// The port that each of many flows takes.
fn flows(fib: &Fib, to: &str) -> Vec<Hop> {
    let leaf = leaf(fib, ip(to));
    (0..=u32::MAX).step_by(1 << 18).map(|hash| *fib.hop(leaf, hash)).collect()
}

#[test]
fn a_path_that_goes_moves_its_own_flows_only() {
    let (mut bench, paths) = four_ways();
    let to = net("20.0.0.0/8");
    bench.edit(&Edit::Learned(to, paths.clone()));
    bench.apply();
    let before = flows(&bench.fibs[1], "20.1.1.1");
    // The daemon gives the route another group, of three.
    bench.edit(&Edit::Learned(to, [&paths[..1], &paths[2..]].concat()));
    bench.apply();
    let after = flows(&bench.fibs[1], "20.1.1.1");
    let gone = forward(&bench, 2);
    for (old, new) in before.iter().zip(&after) {
        assert!(*new != gone && (*old == gone || old == new));
    }
    for number in [1, 3, 4] {
        let hop = forward(&bench, number);
        let share = after.iter().filter(|it| **it == hop).count();
        assert!(share.abs_diff(after.len() / 3) < after.len() / 32, "{number}: {share}");
    }
    // It comes back: a quarter of the flows moves to it, no other.
    bench.edit(&Edit::Learned(to, paths));
    bench.apply();
    let again = flows(&bench.fibs[1], "20.1.1.1");
    for (old, new) in after.iter().zip(&again) {
        assert!(old == new || *new == gone);
    }
    assert_eq!(again.iter().filter(|it| **it == gone).count(), again.len() / 4);
}

fn forward(bench: &Bench, number: u8) -> Hop {
    let station = bench.routes.stations(IpAddr::from([10, 0, number, 2]));
    Hop::Forward(spreads::adjacency(&station[0]).unwrap())
}

#[test]
fn a_neighbor_that_changes_changes_all_routes_and_no_prefix() {
    let (mut bench, paths) = four_ways();
    for n in 0..200_u8 {
        let prefix = IpNet::new(IpAddr::from([30, n, 0, 0]), 16).unwrap();
        bench.edit(&Edit::Learned(prefix, paths[..2].to_vec()));
    }
    bench.apply();
    bench.apply();
    let leaf_before = leaf(&bench.fibs[1], ip("30.7.1.1"));
    bench.edit(&Edit::Neighbor(ip("10.0.1.2"), 1, 99));
    bench.apply();
    for n in 0..200_u8 {
        let leaf = leaf(&bench.fibs[1], IpAddr::from([30, n, 1, 1]));
        assert_eq!(leaf, leaf_before);
        assert!(hops_of(&bench.fibs[1], leaf).contains(&forward(&bench, 1)));
    }
}

#[test]
fn a_held_group_may_grow_beyond_its_run() {
    let (mut bench, paths) = four_ways();
    let group = bench.named[0];
    bench.routes.set_group(group, &paths[..1]).unwrap();
    bench.edit(&Edit::Named(net("20.0.0.0/8"), 0));
    bench.apply();
    assert_eq!(hops_of(&bench.fibs[1], leaf(&bench.fibs[1], ip("20.1.1.1"))).len(), 1);
    bench.edit(&Edit::Group(0, paths));
    bench.apply();
    assert_eq!(hops_of(&bench.fibs[1], leaf(&bench.fibs[1], ip("20.1.1.1"))).len(), 4);
}
