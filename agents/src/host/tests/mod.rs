//! Tests of the whole agent in virtual time: frames in, outputs and counters out.

mod arp;
mod golden;
mod icmp;
mod ndisc;
mod neighbors;
mod properties;
mod wire;

use super::{AgentSettings, HostAgent, Interface, NeighborKey, NeighborState, Outcome, Output};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use dataplane::ids::PortId;
use dataplane::l2::Vid;
use dataplane::punt::PuntReason;
use dataplane::time::Instant;
use dataplane::wire::MacAddress;
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    ArpOperation, ArpPacket, ArpRepr, EthernetAddress, EthernetFrame, EthernetProtocol,
    Icmpv6Packet, Icmpv6Repr, IpProtocol, Ipv4Packet, Ipv4Repr, Ipv6Packet, Ipv6Repr,
};

const SECOND: u64 = 1_000_000_000;
/// The host of the goldens and of most tests: 10.0.N.9 and 2001:db8:N::9 on port N.
const HOST: MacAddress = MacAddress([0x02, 0xAA, 0, 0, 0, 9]);
const OTHER: MacAddress = MacAddress([0x02, 0xBB, 0, 0, 0, 7]);

/// The port with number `number`.
fn port(number: usize) -> PortId {
    PortId::from_number(number).unwrap()
}

/// Our MAC address at port `number`.
fn ours(number: u8) -> MacAddress {
    MacAddress([0x02, 0, 0, 0, number, 1])
}

fn v4(text: &str) -> Ipv4Addr {
    text.parse().unwrap()
}

fn v6(text: &str) -> Ipv6Addr {
    text.parse().unwrap()
}

/// The neighbor with `address` at port `number`.
fn at(number: usize, address: &str) -> NeighborKey {
    NeighborKey { port: port(number), address: address.parse().unwrap() }
}

/// 10.0.N.1/24 and 2001:db8:N::1/64 on port N; port 2 has an MTU of 1400, port 3 is in VLAN 7.
fn interfaces() -> Vec<Interface> {
    [(1, None, 1500), (2, None, 1400), (3, Some(7), 1500)]
        .map(|(number, vlan, mtu_bytes)| Interface {
            port: port(number.into()),
            mac: ours(number),
            vlan: vlan.and_then(Vid::new),
            addresses: vec![
                format!("10.0.{number}.1/24").parse().unwrap(),
                format!("2001:db8:{number}::1/64").parse().unwrap(),
            ],
            mtu_bytes,
            has_tap: false,
        })
        .into()
}

/// An agent at one minute past the origin. Its announcements have been taken.
struct Bench {
    agent: HostAgent,
    now: Instant,
    counted: BTreeMap<&'static str, u64>,
}

impl Bench {
    fn new() -> Self {
        Self::with(interfaces(), AgentSettings::default())
    }

    fn with(interfaces: Vec<Interface>, settings: AgentSettings) -> Self {
        let agent = HostAgent::new(interfaces, settings);
        let mut bench =
            Self { agent, now: Instant::from_ns(60 * SECOND), counted: BTreeMap::new() };
        bench.outputs();
        bench.counted();
        bench
    }

    /// Hands in a frame to us at port `number`. Returns the outcome and the outputs.
    fn receive(&mut self, number: usize, frame: &[u8]) -> (Outcome, Vec<Output>) {
        self.punt(number, PuntReason::ForUs, frame, None)
    }

    /// Hands in a frame whose next hop is unresolved. Returns the outcome and the outputs.
    fn unresolved(&mut self, frame: &[u8], next_hop: NeighborKey) -> (Outcome, Vec<Output>) {
        self.punt(1, PuntReason::Unresolved, frame, Some(next_hop))
    }

    fn punt(
        &mut self,
        number: usize,
        reason: PuntReason,
        frame: &[u8],
        next_hop: Option<NeighborKey>,
    ) -> (Outcome, Vec<Output>) {
        let outcome = self.agent.handle_frame(
            self.now,
            port(number),
            reason,
            frame,
            next_hop.map(Into::into),
        );
        (outcome, self.outputs())
    }

    /// Advances the time, and returns the outputs, each with the seconds since the call.
    fn wait(&mut self, seconds: u64) -> Vec<(u64, Output)> {
        let start = self.now;
        let end = start + seconds * SECOND;
        let mut all = Vec::new();
        while let Some(due) = self.agent.poll_timeout().filter(|&due| due <= end) {
            self.now = self.now.max(due);
            self.agent.handle_timeout(self.now);
            let elapsed = self.now.ns_since(start) / SECOND;
            all.extend(self.outputs().into_iter().map(|output| (elapsed, output)));
        }
        self.now = end;
        all
    }

    fn outputs(&mut self) -> Vec<Output> {
        core::iter::from_fn(|| self.agent.poll_output()).collect()
    }

    /// The counters that changed since the last call, each with the difference, by name.
    fn counted(&mut self) -> Vec<(&'static str, u64)> {
        let now: BTreeMap<_, _> = self.agent.counters().iter().collect();
        let before = core::mem::replace(&mut self.counted, now);
        let moved = self
            .counted
            .iter()
            .map(|(name, value)| (*name, value - before.get(name).copied().unwrap_or_default()));
        moved.filter(|&(name, value)| value != 0 && name != "frames_in").collect()
    }

    fn state(&self, key: NeighborKey) -> Option<(NeighborState, Option<MacAddress>)> {
        let found = self.agent.neighbors(self.now).find(|neighbor| neighbor.key == key)?;
        Some((found.state, found.mac))
    }
}

/// `HOST` sends an ARP request for our address at port `number`, and becomes a neighbor.
fn introduce(bench: &mut Bench, number: u8) {
    let (theirs, ours_v4) = (format!("10.0.{number}.9"), format!("10.0.{number}.1"));
    let request = arp(ArpOperation::Request, (HOST, &theirs), &ours_v4, MacAddress::BROADCAST);
    assert_eq!(bench.receive(number.into(), &request).0, Outcome::ArpAnswered);
}

fn ethernet(
    (source, destination): (MacAddress, MacAddress),
    ethertype: EthernetProtocol,
    payload_bytes: usize,
    fill: impl FnOnce(&mut [u8]),
) -> Vec<u8> {
    let mut frame = EthernetFrame::new_unchecked(vec![0; 14 + payload_bytes]);
    frame.set_src_addr(EthernetAddress(source.0));
    frame.set_dst_addr(EthernetAddress(destination.0));
    frame.set_ethertype(ethertype);
    let mut bytes = frame.into_inner();
    fill(&mut bytes[14..]);
    bytes
}

fn arp(
    operation: ArpOperation,
    sender: (MacAddress, &str),
    target: &str,
    destination: MacAddress,
) -> Vec<u8> {
    let repr = ArpRepr::EthernetIpv4 {
        operation,
        source_hardware_addr: EthernetAddress(sender.0.0),
        source_protocol_addr: v4(sender.1),
        target_hardware_addr: EthernetAddress(destination.0),
        target_protocol_addr: v4(target),
    };
    ethernet((sender.0, destination), EthernetProtocol::Arp, repr.buffer_len(), |payload| {
        repr.emit(&mut ArpPacket::new_unchecked(payload));
    })
}

/// A frame with an IP packet from one of `ends` to the other.
fn ip(
    macs: (MacAddress, MacAddress),
    ends: (IpAddr, IpAddr),
    (next_header, hop_limit): (IpProtocol, u8),
    payload: &[u8],
) -> Vec<u8> {
    let payload_len = payload.len();
    match ends {
        (IpAddr::V4(src_addr), IpAddr::V4(dst_addr)) => {
            let repr = Ipv4Repr { src_addr, dst_addr, next_header, payload_len, hop_limit };
            ethernet(macs, EthernetProtocol::Ipv4, 20 + payload_len, |bytes| {
                let mut packet = Ipv4Packet::new_unchecked(bytes);
                repr.emit(&mut packet, &ChecksumCapabilities::default());
                packet.payload_mut().copy_from_slice(payload);
            })
        }
        (IpAddr::V6(src_addr), IpAddr::V6(dst_addr)) => {
            let repr = Ipv6Repr { src_addr, dst_addr, next_header, payload_len, hop_limit };
            ethernet(macs, EthernetProtocol::Ipv6, 40 + payload_len, |bytes| {
                let mut packet = Ipv6Packet::new_unchecked(bytes);
                repr.emit(&mut packet);
                packet.payload_mut().copy_from_slice(payload);
            })
        }
        _ => panic!("one family at a time"),
    }
}

/// A UDP packet from `HOST` at port 1 that is to be forwarded.
fn transit(source: &str, destination: &str, marker: u8) -> Vec<u8> {
    let ends = (source.parse().unwrap(), destination.parse().unwrap());
    ip((HOST, ours(1)), ends, (IpProtocol::Udp, 64), &[marker; 40])
}

/// A frame with an ICMPv6 message and a correct checksum.
fn icmp6(
    macs: (MacAddress, MacAddress),
    (source, destination): (Ipv6Addr, Ipv6Addr),
    hop_limit: u8,
    repr: &Icmpv6Repr<'_>,
) -> Vec<u8> {
    let mut bytes = vec![0; repr.buffer_len()];
    let mut message = Icmpv6Packet::new_unchecked(&mut bytes[..]);
    repr.emit(&source, &destination, &mut message, &ChecksumCapabilities::default());
    ip(macs, (source.into(), destination.into()), (IpProtocol::Icmpv6, hop_limit), &bytes)
}

/// Inserts a VLAN tag with this TCI into a frame.
fn tagged(frame: &[u8], tci: u16) -> Vec<u8> {
    let (macs, rest) = frame.split_at(12);
    [macs, &0x8100_u16.to_be_bytes(), &tci.to_be_bytes(), rest].concat()
}

/// The frames sent, as (port number, frame).
fn sent(outputs: &[Output]) -> Vec<(usize, &[u8])> {
    let sent = outputs.iter().filter_map(|output| match output {
        Output::Send { port, frame } => Some((port.number(), &frame[..])),
        _ => None,
    });
    sent.collect()
}
