//! Any bytes as a frame: nothing panics, nothing points past the end, and what is called IP is what
//! another implementation calls IP. PFC that is read is PFC when written.

use dataplane::counters::DropReason;
use dataplane::frame::HEAD_BYTES;
use dataplane::wire::MacAddress;
use dataplane::wire::mac_control::MacControl;
use dataplane::wire::parse::{Kind, Parsed, flow_ports, parse};
use smoltcp::wire::{Ipv4Packet, Ipv6Packet};

/// Parses `data` as a frame: whole, and as the first piece of a longer one.
pub fn run(data: &[u8]) {
    check(data, data.len());
    check(&data[..data.len().min(HEAD_BYTES)], data.len());
    for longer in [1, 1_000, 9_728] {
        check(data, data.len() + longer);
    }
    if let MacControl::Pfc(pfc) = MacControl::parse(data) {
        let written = pfc.to_frame(MacAddress([2, 0, 0, 0, 0, 9]));
        assert_eq!(MacControl::parse(&written), MacControl::Pfc(pfc));
        assert!(data.len() >= 34, "PFC ends with its eighth time");
    }
}

fn check(head: &[u8], frame_bytes: usize) {
    let parsed = parse(head, frame_bytes);
    let l3 = usize::from(parsed.l3);
    let ethertype = |at: usize| {
        let two = head.get(at..).and_then(|rest| rest.first_chunk());
        two.map(|two| u16::from_be_bytes(*two))
    };
    let is_tag = |kind: Option<u16>| matches!(kind, Some(0x8100 | 0x88A8));
    match parsed.kind {
        Kind::Bad(reason) => {
            use DropReason::{BadChecksum, BadHeader, Truncated};
            assert!(matches!(reason, Truncated | BadHeader | BadChecksum), "{reason:?}");
            return;
        }
        Kind::Ipv4 => assert_eq!(ethertype(l3 - 2), Some(0x0800)),
        Kind::Ipv6 => assert_eq!(ethertype(l3 - 2), Some(0x86DD)),
        Kind::Arp => assert_eq!(ethertype(l3 - 2), Some(0x0806)),
        Kind::MacControl => assert_eq!(ethertype(l3 - 2), Some(0x8808)),
        Kind::Lldp | Kind::Other => {
            assert!(!matches!(ethertype(l3 - 2), Some(0x0800 | 0x86DD | 0x0806)))
        }
    }
    assert!([14, 18, 22].contains(&l3) && l3 <= head.len(), "{l3} of {}", head.len());
    assert_eq!(parsed.is_tagged(), is_tag(ethertype(12)));
    let said = foreign(head, frame_bytes, l3);
    let ours = matches!(parsed.kind, Kind::Ipv4 | Kind::Ipv6);
    assert_eq!(ours.then_some((parsed.tos, parsed.ttl)), said, "{parsed:?}");
    check_flow(head, &parsed);
}

/// TOS and TTL of the IP packet at `l3`, if smoltcp finds one in the frame that `head` begins.
fn foreign(head: &[u8], frame_bytes: usize, l3: usize) -> Option<(u8, u8)> {
    let ethertype = u16::from_be_bytes([head[l3 - 2], head[l3 - 1]]);
    // smoltcp wants the whole packet; what is beyond the first piece does not matter to it.
    let mut packet = head[l3..].to_vec();
    packet.resize(frame_bytes - l3, 0);
    match ethertype {
        0x0800 => {
            let packet = Ipv4Packet::new_checked(&packet[..]).ok()?;
            let header_bytes = packet.header_len();
            // A header of which a part lies beyond the first piece cannot be judged.
            let is_visible = l3 + usize::from(header_bytes) <= head.len();
            let is_sound = packet.version() == 4 && header_bytes >= 20 && packet.verify_checksum();
            let tos = packet.dscp() << 2 | packet.ecn();
            (is_visible && is_sound).then_some((tos, packet.hop_limit()))
        }
        0x86DD => {
            let packet = Ipv6Packet::new_checked(&packet[..]).ok()?;
            let is_sound = packet.version() == 6 && l3 + 40 <= head.len();
            is_sound.then_some((packet.traffic_class(), packet.hop_limit()))
        }
        _ => None,
    }
}

/// The ports that flows are told apart by are in the frame, and the same for all fragments.
fn check_flow(head: &[u8], parsed: &Parsed) {
    let l3 = usize::from(parsed.l3);
    let flow = flow_ports(head, parsed.kind, l3);
    let has_ports = flow.ports != (0, 0);
    match parsed.kind {
        Kind::Ipv4 => {
            assert_eq!(flow.protocol, head[l3 + 9]);
            let is_fragment = u16::from_be_bytes([head[l3 + 6], head[l3 + 7]]) & 0x3FFF != 0;
            assert!(!has_ports || !is_fragment, "a fragment by its ports");
        }
        Kind::Ipv6 => assert_eq!(flow.protocol, head[l3 + 6]),
        _ => assert!(!has_ports),
    }
    if has_ports {
        assert!(matches!(flow.protocol, 6 | 17 | 132));
        let ports = [flow.ports.0.to_be_bytes(), flow.ports.1.to_be_bytes()].concat();
        assert!(head[l3..].windows(4).any(|four| four == ports), "{flow:?}");
    }
}
