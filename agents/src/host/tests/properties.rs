//! Properties for any input: no panic, every frame accounted for, limits kept, outputs consistent
//! with the neighbor cache.

use super::golden::*;
use super::*;
use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use proptest::prelude::*;
use smoltcp::wire::{
    ArpPacket, Icmpv4Packet, Icmpv4Repr, NdiscNeighborFlags, NdiscRepr, RawHardwareAddress,
};

const GOLDENS: [&str; 10] = [
    ARP_REQUEST_VLAN,
    ARP_HOST_REPLY,
    SOLICITATION,
    DUPLICATE_CHECK,
    HOST_ADVERTISEMENT,
    PING,
    PING6,
    TRACEROUTE,
    TIME_EXCEEDED,
    PACKET_TOO_BIG6,
];
const NEIGHBORS_MAX: usize = 16;
const PENDING_FRAMES_MAX: usize = 3;
const PENDING_BYTES_MAX: usize = 700;
const ERRORS_PER_SECOND: u32 = 5;

fn settings() -> AgentSettings {
    AgentSettings {
        neighbors_max: NEIGHBORS_MAX,
        pending_frames_max: PENDING_FRAMES_MAX,
        pending_bytes_max: PENDING_BYTES_MAX,
        icmp_errors_per_second: ERRORS_PER_SECOND,
        ..AgentSettings::default()
    }
}

fn reasons() -> impl Strategy<Value = PuntReason> {
    prop::sample::select(PuntReason::ALL.to_vec())
}

fn next_hops() -> impl Strategy<Value = Option<NeighborKey>> {
    let v4 = any::<u32>().prop_map(|bits| IpAddr::from(Ipv4Addr::from_bits(bits)));
    let v6 = any::<u128>().prop_map(|bits| IpAddr::from(Ipv6Addr::from_bits(bits)));
    let near = (1_usize..4, 0..3_u8).prop_map(|(n, h)| at(n, &format!("10.0.{n}.{h}")).address);
    let key = (1_usize..5, prop_oneof![v4, v6, near])
        .prop_map(|(number, address)| NeighborKey { port: port(number), address });
    prop::option::of(key)
}

/// Bytes that reach different depths of the parsers: random bytes; random bytes behind a header to
/// us; and a valid frame with some bytes changed and its end removed.
fn frames() -> impl Strategy<Value = Vec<u8>> {
    let anything = prop::collection::vec(any::<u8>(), 0..200);
    let types = prop::sample::select(vec![0x0806_u16, 0x0800, 0x86DD, 0x8100]);
    let addressed = (types, prop::collection::vec(any::<u8>(), 0..200)).prop_map(|(kind, rest)| {
        [&ours(1).0[..], &HOST.0[..], &kind.to_be_bytes()[..], &rest[..]].concat()
    });
    let changes = prop::collection::vec((0_usize..120, any::<u8>()), 0..4);
    let mutated = (0..GOLDENS.len(), changes, 0_usize..40).prop_map(|(which, changes, cut)| {
        let mut frame = wire::bytes(GOLDENS[which]);
        for (place, byte) in changes {
            let length = frame.len();
            frame[place % length] = byte;
        }
        frame.truncate(frame.len() - if cut < 20 { 0 } else { cut });
        frame
    });
    prop_oneof![anything, addressed, mutated]
}

/// An input of an agent.
#[derive(Clone, Debug)]
enum Event {
    Arp { number: u8, host: u8, mac: u8, target: u8, is_reply: bool },
    Advertisement { number: u8, host: u8, mac: u8, flags: u8 },
    Solicitation { number: u8, host: u8, mac: u8, target: u8 },
    Unresolved { number: u8, host: u8, is_v6: bool },
    Punt { reason: PuntReason },
    Wait { ms: u64 },
    Link { number: u8, is_up: bool },
    Interfaces { mask: u8 },
    Pin { number: u8, host: u8, mac: u8 },
    Unpin { number: u8, host: u8 },
}

fn events() -> impl Strategy<Value = Event> {
    let (number, host, mac) = (1..4_u8, 0..12_u8, 0..4_u8);
    let arp = (number.clone(), host.clone(), mac.clone(), 0..3_u8, any::<bool>());
    let advertisement = (number.clone(), host.clone(), mac.clone(), any::<u8>());
    let solicitation = (number.clone(), host.clone(), mac.clone(), 0..3_u8);
    let pin = (number.clone(), host.clone(), mac);
    prop_oneof![
        6 => arp.prop_map(|(number, host, mac, target, is_reply)| {
            Event::Arp { number, host, mac, target, is_reply }
        }),
        4 => advertisement.prop_map(|(number, host, mac, flags)| {
            Event::Advertisement { number, host, mac, flags }
        }),
        4 => solicitation.prop_map(|(number, host, mac, target)| {
            Event::Solicitation { number, host, mac, target }
        }),
        12 => (number.clone(), host.clone(), any::<bool>())
            .prop_map(|(number, host, is_v6)| Event::Unresolved { number, host, is_v6 }),
        4 => reasons().prop_map(|reason| Event::Punt { reason }),
        6 => (0..9_000_u64).prop_map(|ms| Event::Wait { ms }),
        1 => (number.clone(), any::<bool>())
            .prop_map(|(number, is_up)| Event::Link { number, is_up }),
        1 => (0..8_u8).prop_map(|mask| Event::Interfaces { mask }),
        1 => pin.prop_map(|(number, host, mac)| Event::Pin { number, host, mac }),
        1 => (number, host).prop_map(|(number, host)| Event::Unpin { number, host }),
    ]
}

fn host_v4(number: u8, host: u8) -> String {
    format!("10.0.{number}.{host}")
}

fn host_v6(number: u8, host: u8) -> String {
    if host < 4 { format!("fe80::{host:x}") } else { format!("2001:db8:{number}::{host:x}") }
}

fn host_mac(mac: u8) -> MacAddress {
    MacAddress([0x02, 0xCC, 0, 0, 0, mac])
}

/// An agent, and a simple model of what its caller may rely on.
struct CheckedAgent {
    bench: Bench,
    /// The routes that follow from the outputs.
    routes: BTreeMap<NeighborKey, MacAddress>,
    /// The frames that wait. The last bytes of a frame are its number.
    pending: BTreeSet<u32>,
    next_number: u32,
}

impl CheckedAgent {
    fn new() -> Self {
        let bench = Bench::with(interfaces(), settings());
        Self { bench, routes: BTreeMap::new(), pending: BTreeSet::new(), next_number: 0 }
    }

    fn apply(&mut self, event: &Event) {
        match *event {
            Event::Arp { number, host, mac, target, is_reply } => {
                let operation = if is_reply { ArpOperation::Reply } else { ArpOperation::Request };
                let sender = (host_mac(mac), host_v4(number, host));
                let sender = (sender.0, &*sender.1);
                let frame = arp(operation, sender, &host_v4(number, target), ours(number));
                self.receive(number, &frame);
            }
            Event::Advertisement { number, host, mac, flags } => {
                let repr = NdiscRepr::NeighborAdvert {
                    flags: NdiscNeighborFlags::from_bits_truncate(flags),
                    target_addr: v6(&host_v6(number, host)),
                    lladdr: (flags & 1 == 0).then(|| link_address(mac)),
                };
                self.receive_ndisc(number, host, mac, &repr);
            }
            Event::Solicitation { number, host, mac, target } => {
                let repr = NdiscRepr::NeighborSolicit {
                    target_addr: v6(&format!("2001:db8:{number}::{target}")),
                    lladdr: Some(link_address(mac)),
                };
                self.receive_ndisc(number, host, mac, &repr);
            }
            Event::Unresolved { number, host, is_v6 } => self.unresolved(number, host, is_v6),
            Event::Punt { reason } => {
                let frame = transit("10.0.1.9", "198.51.100.7", 0);
                self.bench.punt(1, reason, &frame, None);
            }
            Event::Wait { ms } => {
                self.bench.now = self.bench.now + ms * 1_000_000;
                self.bench.agent.handle_timeout(self.bench.now);
                let next = self.bench.agent.poll_timeout();
                assert!(
                    next.is_none_or(|next| next > self.bench.now),
                    "everything due was handled"
                );
            }
            Event::Link { number, is_up } => {
                self.bench.agent.handle_link(self.bench.now, port(number.into()), is_up)
            }
            Event::Interfaces { mask } => {
                let mut links = interfaces();
                links.retain(|interface| mask >> interface.port.index() & 1 == 0);
                self.bench.agent.set_interfaces(links);
            }
            Event::Pin { number, host, mac } => {
                let key = at(number.into(), &host_v4(number, host));
                let is_known = self.bench.state(key).is_some();
                let is_full = self.bench.agent.neighbors(self.bench.now).count() == NEIGHBORS_MAX;
                let pinned =
                    self.bench.agent.add_static_neighbor(self.bench.now, key, host_mac(mac));
                assert_eq!(pinned.is_err(), is_full && !is_known);
            }
            Event::Unpin { number, host } => {
                let key = at(number.into(), &host_v4(number, host));
                self.bench.agent.remove_static_neighbor(key);
            }
        }
        self.take_outputs();
        self.check();
    }

    fn receive(&mut self, number: u8, frame: &[u8]) {
        let frame = if number == 3 { tagged(frame, 7) } else { frame.to_vec() };
        let (agent, now) = (&mut self.bench.agent, self.bench.now);
        agent.handle_frame(now, port(number.into()), PuntReason::ForUs, &frame, None);
    }

    fn receive_ndisc(&mut self, number: u8, host: u8, mac: u8, repr: &NdiscRepr<'_>) {
        let link_local = interfaces()[usize::from(number) - 1].link_local();
        let destination = match repr {
            NdiscRepr::NeighborSolicit { target_addr, .. } => *target_addr,
            _ => link_local,
        };
        let ends = (v6(&host_v6(number, host)), destination);
        let frame = icmp6((host_mac(mac), ours(number)), ends, 255, &Icmpv6Repr::Ndisc(*repr));
        self.receive(number, &frame);
    }

    fn unresolved(&mut self, number: u8, host: u8, is_v6: bool) {
        let target = if is_v6 { host_v6(number, host) } else { host_v4(number, host) };
        let source = if is_v6 { "2001:db8:1::9" } else { "10.0.1.9" };
        let mut frame = transit(source, &target, 0);
        self.next_number += 1;
        frame.extend(self.next_number.to_be_bytes());
        let key = at(number.into(), &target);
        let (agent, now) = (&mut self.bench.agent, self.bench.now);
        let reason = PuntReason::Unresolved;
        match agent.handle_frame(now, port(1), reason, &frame, Some(key.into())) {
            Outcome::Pending | Outcome::Released => assert!(self.pending.insert(self.next_number)),
            _ => {}
        }
    }

    fn take_outputs(&mut self) {
        for output in self.bench.outputs() {
            match output {
                Output::NeighborUp { neighbor, mac } => {
                    assert_ne!(
                        self.routes.insert(neighbor, mac),
                        Some(mac),
                        "each output is a change"
                    );
                }
                Output::NeighborDown { neighbor } => {
                    assert!(self.routes.remove(&neighbor).is_some(), "it was up before");
                }
                Output::Release { port: ingress, frame } => {
                    let number = u32::from_be_bytes(*frame.last_chunk().unwrap());
                    assert!(self.pending.remove(&number), "released once, unchanged");
                    assert_eq!(ingress, port(1));
                }
                Output::Send { port, frame } => assert_sound(port.number(), &frame),
            }
        }
    }

    fn check(&mut self) {
        let agent = &self.bench.agent;
        let (counters, held) = (agent.counters(), agent.pending_frames());
        assert_eq!(counters.frames_in, counters.frames_ended() + held as u64, "no frame is lost");
        assert!(self.pending.len() >= held, "the other frames were dropped");

        let neighbors: Vec<_> = agent.neighbors(self.bench.now).collect();
        let resolved = neighbors.iter().filter_map(|n| Some((n.key, n.mac?)));
        assert_eq!(
            resolved.collect::<BTreeMap<_, _>>(),
            self.routes,
            "the routes follow from the neighbors"
        );
        assert!(neighbors.len() <= NEIGHBORS_MAX);
        assert!(neighbors.iter().filter(|n| n.mac.is_none()).count() <= NEIGHBORS_MAX / 4);
        let waiting = neighbors.iter().filter(|n| n.state == NeighborState::Incomplete).count();
        assert!(
            held <= waiting * PENDING_FRAMES_MAX,
            "frames wait only for neighbors that are being resolved"
        );
        assert!(agent.pending_bytes() <= PENDING_BYTES_MAX);

        let elapsed_s = self.bench.now.ns_since(Instant::from_ns(60 * SECOND)) / SECOND + 1;
        let limit = u64::from(ERRORS_PER_SECOND) * (elapsed_s + 1);
        assert!(counters.errors_sent <= limit * 3, "three interfaces");
    }
}

fn link_address(mac: u8) -> RawHardwareAddress {
    EthernetAddress(host_mac(mac).0).into()
}

/// Asserts that a frame of ours is accepted by a strict receiver.
fn assert_sound(number: usize, frame: &[u8]) {
    assert!(frame.len() >= 60);
    assert_eq!(frame[6..12], interfaces()[number - 1].mac.0, "from our MAC address");
    let start = if number == 3 { 18 } else { 14 };
    assert_eq!(frame[12..14] == [0x81, 0], number == 3, "a tag where there is a VLAN");
    let payload = &frame[start..];
    let checks = ChecksumCapabilities::default();
    match (frame[start - 2], frame[start - 1]) {
        (0x08, 0x06) => {
            ArpRepr::parse(&ArpPacket::new_checked(payload).unwrap()).unwrap();
        }
        (0x08, 0x00) => {
            let packet = Ipv4Packet::new_checked(payload).unwrap();
            Ipv4Repr::parse(&packet, &checks).unwrap();
            // smoltcp parses only errors that quote a whole packet, so only the checksum is
            // checked.
            assert!(Icmpv4Packet::new_checked(packet.payload()).unwrap().verify_checksum());
        }
        (0x86, 0xDD) => {
            let packet = Ipv6Packet::new_checked(payload).unwrap();
            Ipv6Repr::parse(&packet).unwrap();
            let message = Icmpv6Packet::new_checked(packet.payload()).unwrap();
            let (source, destination) = (packet.src_addr(), packet.dst_addr());
            Icmpv6Repr::parse(&source, &destination, &message, &checks).unwrap();
        }
        other => panic!("ethertype {other:x?}"),
    }
}

proptest! {
    #[test]
    fn no_bytes_cause_a_panic_or_a_wrong_count(
        inputs in prop::collection::vec((frames(), reasons(), next_hops(), 1_usize..5), 1..30)
    ) {
        let mut bench = Bench::with(interfaces(), settings());
        for (frame, reason, next_hop, number) in inputs {
            let (_, outputs) = bench.punt(number, reason, &frame, next_hop);
            for (number, frame) in sent(&outputs) {
                prop_assert!(frame.len() >= 60 && number < 4);
            }
            bench.now = bench.now + SECOND / 3;
            bench.agent.handle_timeout(bench.now);
            let (counters, held) = (bench.agent.counters(), bench.agent.pending_frames());
            prop_assert_eq!(counters.frames_in, counters.frames_ended() + held as u64);
            prop_assert!(bench.agent.pending_bytes() <= PENDING_BYTES_MAX);
        }
    }

    #[test]
    fn outputs_are_consistent_for_any_sequence_of_inputs(
        events in prop::collection::vec(events(), 1..120)
    ) {
        let mut checked = CheckedAgent::new();
        for event in &events {
            checked.apply(event);
        }
        // Without further input every neighbor that is not static is removed, and no frame waits.
        for _ in 0..20 {
            checked.apply(&Event::Wait { ms: 10_000 });
        }
        prop_assert_eq!(checked.bench.agent.pending_frames(), 0);
        prop_assert_eq!(checked.bench.agent.poll_timeout(), None);
        let mut left = checked.bench.agent.neighbors(checked.bench.now);
        prop_assert!(left.all(|neighbor| neighbor.state == NeighborState::Static));
    }

    #[test]
    fn an_echo_comes_back_as_smoltcp_sent_it(
        ident: u16,
        seq_no: u16,
        dscp in 0..64_u8,
        data in prop::collection::vec(any::<u8>(), 0..1400),
        is_v6: bool,
    ) {
        let checks = ChecksumCapabilities::default();
        let mut bench = Bench::new();
        if is_v6 {
            let ends = (v6("2001:db8:1::9"), v6("2001:db8:1::1"));
            let repr = Icmpv6Repr::EchoRequest { ident, seq_no, data: &data };
            let mut frame = icmp6((HOST, ours(1)), ends, 64, &repr);
            Ipv6Packet::new_unchecked(&mut frame[14..]).set_traffic_class(dscp << 2);
            let (_, outputs) = bench.receive(1, &frame);
            let reply = Ipv6Packet::new_checked(&sent(&outputs)[0].1[14..]).unwrap();
            prop_assert_eq!((reply.src_addr(), reply.dst_addr()), (ends.1, ends.0));
            prop_assert_eq!(reply.traffic_class(), dscp << 2);
            let message = Icmpv6Packet::new_checked(reply.payload()).unwrap();
            let answer = Icmpv6Repr::parse(&ends.1, &ends.0, &message, &checks);
            prop_assert_eq!(answer, Ok(Icmpv6Repr::EchoReply { ident, seq_no, data: &data }));
        } else {
            let repr = Icmpv4Repr::EchoRequest { ident, seq_no, data: &data };
            let mut bytes = vec![0; repr.buffer_len()];
            repr.emit(&mut Icmpv4Packet::new_unchecked(&mut bytes[..]), &checks);
            let ends = ("10.0.1.9".parse().unwrap(), "10.0.1.1".parse().unwrap());
            let mut frame = ip((HOST, ours(1)), ends, (IpProtocol::Icmp, 64), &bytes);
            let mut header = Ipv4Packet::new_unchecked(&mut frame[14..]);
            header.set_dscp(dscp);
            header.fill_checksum();
            let (_, outputs) = bench.receive(1, &frame);
            let reply = Ipv4Packet::new_checked(&sent(&outputs)[0].1[14..]).unwrap();
            prop_assert_eq!(reply.src_addr().to_string(), "10.0.1.1");
            prop_assert_eq!(reply.dscp(), dscp);
            let message = Icmpv4Packet::new_checked(reply.payload()).unwrap();
            let answer = Icmpv4Repr::parse(&message, &checks);
            prop_assert_eq!(answer, Ok(Icmpv4Repr::EchoReply { ident, seq_no, data: &data }));
        }
    }
}
