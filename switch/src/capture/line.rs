//! A line for each event, for people.

use super::explain::Explainer;
use super::stream::Captured;
use dataplane::ids::Priority;
use dataplane::wire::MacAddress;
use dataplane::wire::mac_control::MacControl;
use dataplane::wire::parse::{Kind, Parsed, addresses, flow_ports, parse};
use std::net::IpAddr;

const NS_PER_S: u64 = 1_000_000_000;

/// The line of an event. Times are UTC.
pub(super) fn of(event: &Captured, explainer: &Explainer) -> String {
    let unix_ns = explainer.unix_ns(&event.record);
    let (seconds, ns) = (unix_ns / NS_PER_S % 86_400, unix_ns % NS_PER_S);
    let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
    let port = explainer.port(event.record.port);
    let kind = Explainer::kind(&event.record);
    let frame = frame(&event.bytes, event.record.frame_bytes as usize);
    let length = event.record.frame_bytes;
    let words = explainer.words(event);
    format!(
        "{hours:02}:{minutes:02}:{:02}.{ns:09} {port} {kind}: {frame}, length {length}: {words}",
        seconds % 60
    )
}

/// What a frame is, as far as a line has room for it.
fn frame(head: &[u8], frame_bytes: usize) -> String {
    let parsed = parse(head, frame_bytes);
    let vlan =
        if parsed.is_tagged() { format!("vlan {} ", parsed.tci & 0xFFF) } else { String::new() };
    let l3 = usize::from(parsed.l3);
    let rest = match parsed.kind {
        Kind::Ipv4 => addresses(head, parsed.kind, l3).map(|both| ip("IP", both, &parsed, head)),
        Kind::Ipv6 => addresses(head, parsed.kind, l3).map(|both| ip("IP6", both, &parsed, head)),
        Kind::Arp => Some("ARP".to_owned()),
        Kind::Lldp => Some("LLDP".to_owned()),
        Kind::MacControl => Some(control(head)),
        Kind::Other | Kind::Bad(_) => None,
    };
    let rest = rest.or_else(|| ethernet(head)).unwrap_or_else(|| "a piece of a frame".to_owned());
    format!("{vlan}{rest}")
}

fn ip(name: &str, (from, to): (IpAddr, IpAddr), parsed: &Parsed, head: &[u8]) -> String {
    let flow = flow_ports(head, parsed.kind, usize::from(parsed.l3));
    let protocol = match flow.protocol {
        1 | 58 => "ICMP".to_owned(),
        6 => "TCP".to_owned(),
        17 => "UDP".to_owned(),
        other => format!("protocol {other}"),
    };
    let (dscp, ttl) = (parsed.tos >> 2, parsed.ttl);
    let ports = match flow.ports {
        (0, 0) => String::new(),
        (from, to) => format!(" {from} > {to}"),
    };
    format!("{name} {from} > {to} {protocol}{ports} dscp {dscp} ttl {ttl}")
}

fn control(head: &[u8]) -> String {
    match MacControl::parse(head) {
        MacControl::Pfc(pfc) => {
            let named = Priority::in_bits(pfc.enabled_bits);
            let named = named.map(|class| format!("{class}:{}", pfc.quanta[class.index()]));
            format!("PFC {}", named.collect::<Vec<_>>().join(","))
        }
        MacControl::Pause => "PAUSE".to_owned(),
        MacControl::Unknown | MacControl::Truncated => "MAC control".to_owned(),
    }
}

fn ethernet(head: &[u8]) -> Option<String> {
    let mac = |at: usize| Some(MacAddress(*head.get(at..)?.first_chunk()?));
    let (to, from) = (mac(0)?, mac(6)?);
    let &[high, low] = head.get(12..)?.first_chunk()?;
    Some(format!("{from} > {to} ethertype {:#06x}", u16::from_be_bytes([high, low])))
}

#[cfg(test)]
mod tests {
    use super::super::explain::tests::{event, explainer};
    use super::*;
    use dataplane::capture::record::{Ending, Kind as EventKind};

    #[test]
    fn a_line_says_when_where_what_and_why() {
        let mut event = event(EventKind::In, Ending::Forwarded);
        event.bytes = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 9, 0x88, 0xB5];
        event.record.frame_bytes = 64;
        let line = of(&event, &explainer());
        let expected = "22:13:21.234567890 h1 in: 02:00:00:00:00:09 > 02:00:00:00:00:01 ethertype \
                        0x88b5, length 64: forwarded from h1 priority 3 tag 1 to up1 priority 4 \
                        tag 2 by rule 2";
        assert!(line.starts_with(expected), "{line}");
        event.bytes.truncate(5);
        assert!(of(&event, &explainer()).contains("a piece of a frame, length 64"));
    }
}
