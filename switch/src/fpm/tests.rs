//! Messages of a real zebra (`scripts/fpm/record.sh`, FRR 8.4.4 of Debian 12), and what a hostile
//! peer may send.

use super::frame::Frames;
use super::ports::PortIndexes;
use super::state::{Effect, Refusal, State};
use dataplane::fib::{Interface, Learned, Path, Routes, Target};
use dataplane::ids::PortId;
use dataplane::wire::MacAddress;
use ipnet::IpNet;
use proptest::prelude::*;

/// With next-hop groups, zebra's default, and without.
const RECORDS: [&str; 2] =
    [include_str!("recorded/frr-8.4-groups.hex"), include_str!("recorded/frr-8.4-inline.hex")];

/// A zebra that starts while the kernel has the routes of the one before it: all that it says until
/// BGP is back (`make fabric DEBIAN=13`, a leaf).
const RESTARTED: &str = include_str!("recorded/frr-10.3-restart.hex");

/// The interfaces of a record: p1, p2 and p3.
#[derive(Debug)]
struct Recorded([u32; 3]);

impl PortIndexes for Recorded {
    fn port_of(&mut self, interface: u32) -> Option<PortId> {
        let place = self.0.iter().position(|&index| index == interface)?;
        PortId::from_index(place)
    }
}

fn frames(record: &str) -> Vec<Vec<u8>> {
    let octet = |line: &str, at: usize| u8::from_str_radix(&line[at..at + 2], 16).unwrap();
    let frame = |line: &str| (0..line.len()).step_by(2).map(|at| octet(line, at)).collect();
    record.lines().map(frame).collect()
}

/// A table and what zebra changes in it.
struct Bench {
    state: State,
    routes: Routes,
    effects: Vec<Effect>,
}

impl Bench {
    fn new() -> Self {
        Self::with_interfaces([3, 5, 7])
    }

    fn with_interfaces(indexes: [u32; 3]) -> Self {
        let mut routes = Routes::new();
        for number in 1..=3 {
            let port = PortId::from_number(number).unwrap();
            for net in [format!("10.0.{number}.1/24"), format!("fd00:{number}::1/64")] {
                routes.set_interface(Interface {
                    net: net.parse().unwrap(),
                    port,
                    vlan: None,
                    mac: MacAddress([2, 0, 0, 0, 0, 1]),
                    frame_bytes_max: 1514,
                });
            }
        }
        let mut state = State::new(Box::new(Recorded(indexes)));
        state.begin_session(&mut routes);
        Self { state, routes, effects: Vec::new() }
    }

    /// Feeds whole frames; the effects of the last one stay.
    fn feed(&mut self, frames: &[Vec<u8>]) {
        let mut cut = Frames::default();
        for frame in frames {
            cut.push(frame);
            let content = cut.take().unwrap().expect("a whole frame");
            self.effects.clear();
            let Self { state, routes, effects } = self;
            state.handle(content, routes, |effect, _| effects.push(effect)).unwrap();
        }
    }

    fn at(&self, prefix: &str) -> Option<&Learned> {
        self.routes.learned_at(prefix.parse().unwrap())
    }

    /// Gateway and port of each path.
    fn paths(&self, prefix: &str) -> Vec<(Option<String>, usize)> {
        let Some(Learned { target: Target::Group(group), .. }) = self.at(prefix) else {
            return Vec::new();
        };
        let path = |path: &Path| {
            (path.gateway.map(|it| it.to_string()), path.port.map_or(0, PortId::number))
        };
        self.routes.paths(*group).iter().map(path).collect()
    }
}

fn via(gateway: &str, port: usize) -> (Option<String>, usize) {
    (Some(gateway.to_owned()), port)
}

#[test]
fn the_messages_of_a_real_zebra_give_its_routes() {
    for record in RECORDS {
        let (mut bench, frames) = (Bench::new(), frames(record));
        bench.feed(&frames);
        // As `ip route` had it at the end.
        assert_eq!(bench.paths("10.2.0.0/16"), [via("10.0.2.2", 2), via("10.0.3.2", 3)]);
        assert_eq!(bench.paths("10.5.0.0/16"), [(None, 3)]);
        assert_eq!(bench.paths("fd02::/48"), [via("fe80::2", 2)]);
        assert_eq!(bench.paths("10.0.1.0/24"), [(None, 1)], "a connected network");
        let target = |prefix| bench.at(prefix).map(|route| (route.target, route.protocol));
        assert_eq!(target("10.3.0.0/16"), Some((Target::Blackhole, 196)));
        assert_eq!(target("10.4.0.0/16"), Some((Target::Unreachable, 196)));
        for removed in ["10.1.0.0/16", "fd01::/48"] {
            assert_eq!(bench.at(removed), None, "{removed}");
        }
        assert_eq!(bench.at("fe80::/64"), None, "link-local networks are every port's own");
        let refused: u64 = bench.state.refused.values().sum();
        assert_eq!((refused, bench.state.stale(&bench.routes)), (0, 0));
    }
}

#[test]
fn a_removal_and_its_successor_come_in_one_frame() {
    for record in RECORDS {
        let mut bench = Bench::new();
        let frames = frames(record);
        let at = |bench: &mut Bench, frame: &[Vec<u8>]| {
            let before = bench.state.messages;
            bench.feed(frame);
            let is_there = bench.at("10.2.0.0/16").is_some();
            (bench.state.messages - before, bench.effects.len(), is_there)
        };
        let steps: Vec<_> = frames.chunks(1).map(|frame| at(&mut bench, frame)).collect();
        let first = steps.iter().position(|&(.., is_there)| is_there).expect("it is added once");
        assert!(steps[first..].iter().all(|&(.., is_there)| is_there), "it is never away");
        let pairs = steps.iter().filter(|&&(messages, effects, _)| (messages, effects) == (2, 1));
        assert_eq!(pairs.count(), 2);
    }
}

#[test]
fn routes_of_an_earlier_session_stay_until_the_sweep() {
    let (mut bench, frames) = (Bench::new(), frames(RECORDS[0]));
    bench.feed(&frames);
    let before = bench.routes.learned().len();
    let two_paths = bench.paths("10.2.0.0/16");
    bench.state.begin_session(&mut bench.routes);
    assert_eq!(bench.state.stale(&bench.routes), before);
    // The new session gives the numbers of the old one other meanings: 0x1c leads by p1 now.
    let mut other = frames.iter().find(|frame| frame[..].ends_with(&[5, 0, 0, 0])).unwrap().clone();
    let group = frames.iter().find(|frame| frame.windows(4).any(|it| it == [0x2b, 0, 0, 0]));
    assert!(group.is_some());
    other[4 + 16 + 8 + 4] = 0x1c;
    let end = other.len();
    other[end - 4] = 3;
    bench.feed(&[other]);
    assert_eq!(bench.paths("10.2.0.0/16"), two_paths, "a stale route keeps its own meaning");
    let kept: Vec<Vec<u8>> = frames[..12].to_vec();
    bench.feed(&kept);
    let fresh = before - bench.state.stale(&bench.routes);
    assert!(fresh > 0);
    assert_eq!(bench.state.sweep(&mut bench.routes), before - fresh);
    assert_eq!((bench.routes.learned().len(), bench.state.stale(&bench.routes)), (fresh, 0));
    assert_eq!(bench.at("10.3.0.0/16"), None);
}

#[test]
fn a_restarted_zebra_takes_no_gateway_from_a_route() {
    const BGP: u8 = 186;
    let mut bench = Bench::with_interfaces([5, 6, 7]);
    let path = |gateway: &str, port| Path {
        gateway: Some(gateway.parse().unwrap()),
        port: PortId::from_number(port),
        weight: 1,
    };
    // As `ctl routes` of the leaf had them before, and 10.1.3.0/24 of another daemon.
    let paths = [path("fe80::1b:49ff:fe1c:9f02", 2), path("fe80::1b:49ff:fe1e:5202", 3)];
    for (prefix, protocol) in [("10.1.1.0/24", BGP), ("10.1.3.0/24", 196), ("10.1.4.0/24", BGP)] {
        let target = Target::Group(bench.routes.group_of(&paths).unwrap());
        let route = Learned { target, protocol, mark: 1 };
        bench.routes.set_learned(prefix.parse().unwrap(), route).unwrap();
    }
    bench.state.begin_session(&mut bench.routes);
    bench.feed(&frames(RESTARTED));
    let unnumbered = [via("fe80::1b:49ff:fe1c:9f02", 2), via("fe80::1b:49ff:fe1e:5202", 3)];
    assert_eq!(bench.paths("10.1.1.0/24"), unnumbered);
    assert_eq!(bench.paths("10.1.4.0/24"), unnumbered);
    assert_eq!(bench.paths("10.1.3.0/24"), [(None, 2), (None, 3)], "what another daemon says");
    assert_eq!(bench.paths("fd00:1:1::/48"), []);
    assert_eq!(bench.paths("fd00:1:1::/64"), unnumbered, "of its own family zebra knows it");
    assert_eq!(bench.state.stale(&bench.routes), 0, "they are routes of this session");
    assert_eq!(bench.at("10.1.4.0/24").map(|route| route.protocol), Some(BGP));
}

#[test]
fn a_number_that_changes_its_meaning_changes_its_routes() {
    let (mut bench, frames) = (Bench::new(), frames(RECORDS[0]));
    let until = frames.iter().position(|frame| frame.len() == 100).unwrap();
    bench.feed(&frames[..until]);
    assert_eq!(bench.paths("10.2.0.0/16"), [via("10.0.1.2", 1), via("10.0.2.2", 2)]);
    // Number 0x1c, a member of the group, gets the gateway 10.0.2.9.
    let is_member = |frame: &&Vec<u8>| frame.ends_with(&[5, 0, 0, 0]) && frame.contains(&0x1c);
    let mut other = frames.iter().find(is_member).unwrap().clone();
    let gateway = other.windows(4).position(|it| it == [10, 0, 2, 2]).unwrap();
    other[gateway + 3] = 9;
    bench.feed(&[other]);
    assert_eq!(bench.effects, [Effect { changed: true, route: None }]);
    assert_eq!(bench.paths("10.2.0.0/16"), [via("10.0.1.2", 1), via("10.0.2.9", 2)]);
}

#[test]
fn a_route_waits_for_its_next_hop_and_the_old_one_stays() {
    let (mut bench, frames) = (Bench::new(), frames(RECORDS[0]));
    bench.feed(&frames);
    let (before, bench_len) = (bench.paths("10.2.0.0/16"), bench.routes.learned().len());
    bench.state.begin_session(&mut bench.routes);
    // The frame that has the last route for 10.2.0.0/16, and the one before with its next hop.
    let last = frames.iter().rposition(|frame| frame.len() == 100).unwrap();
    bench.feed(&frames[last..=last]);
    assert_eq!(bench.paths("10.2.0.0/16"), before, "though a removal came with it");
    assert_eq!(bench.state.sweep(&mut bench.routes), bench_len - 1, "and it is no stale one");
    bench.feed(&frames[last - 1..last]);
    assert_eq!(bench.paths("10.2.0.0/16"), before, "the group's members are unknown, too");
    let members = frames.iter().filter(|frame| frame.len() == 52);
    bench.feed(&members.cloned().collect::<Vec<_>>());
    assert_eq!(bench.paths("10.2.0.0/16"), before);
    assert_eq!(bench.effects, [Effect { changed: true, route: None }], "by its own group now");
    // A removed route does not come back with its next hop.
    let gone = frames.iter().find(|frame| frame.len() == 48 && frame[20 + 7] == 0).unwrap();
    let route = frames.iter().find(|frame| frame.ends_with(&[0x17, 0, 0, 0])).unwrap();
    bench.state.begin_session(&mut bench.routes);
    bench.feed(&[route.clone(), gone.clone()]);
    let next_hop = frames.iter().find(|frame| frame.len() == 52 && frame.contains(&0x17));
    bench.feed(&[next_hop.unwrap().clone()]);
    assert_eq!(bench.at("10.1.0.0/16"), None);
}

#[test]
fn routes_that_cannot_be_taken_are_refused_and_counted() {
    let mut bench = Bench::new();
    let frames = frames(RECORDS[1]);
    let route = frames.iter().find(|frame| frame.windows(4).any(|it| it == [10, 1, 0, 0])).unwrap();
    let refused = |bench: &mut Bench, at: usize, value: u8| {
        let mut other = route.clone();
        other[at] = value;
        bench.feed(&[other]);
        bench.effects[0].route
    };
    let end = route.len();
    assert_eq!(refused(&mut bench, 0, 1), Some(Ok(())), "as it was recorded");
    assert_eq!(refused(&mut bench, 4 + 16 + 4, 100), Some(Err(Refusal::OtherTable)));
    assert!(bench.at("10.1.0.0/16").is_some(), "another table's route says nothing of this one");
    assert_eq!(refused(&mut bench, 4 + 16 + 7, 5), Some(Err(Refusal::Unsupported)), "multicast");
    assert_eq!(bench.at("10.1.0.0/16"), None, "what it replaced is gone");
    assert_eq!(refused(&mut bench, end - 4, 99), Some(Err(Refusal::NotOurs)));
    assert_eq!(bench.state.refused.values().sum::<u64>(), 3);
}

proptest! {
    #[test]
    fn no_bytes_of_a_peer_end_the_switch(
        record in 0..2_usize,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..40),
        noise in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let mut bytes = frames(RECORDS[record]).concat();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        for bytes in [bytes, noise] {
            let (mut bench, mut cut) = (Bench::new(), Frames::default());
            cut.push(&bytes);
            while let Ok(Some(content)) = cut.take() {
                let content = content.to_vec();
                if bench.state.handle(&content, &mut bench.routes, |_, _| {}).is_err() {
                    break;
                }
            }
            // Whatever it gave can be compiled.
            let fib = bench.routes.compile();
            let nets = bench.routes.learned().map(|(net, _)| net);
            for net in nets.collect::<Vec<IpNet>>() {
                if let IpNet::V4(net) = net {
                    fib.v4(net.addr().octets());
                }
            }
        }
    }
}
