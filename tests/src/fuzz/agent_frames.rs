//! Any frames, for any reason, at the agent: nothing panics, every frame has one outcome, and what
//! the agent sends is sound, from the switch, and no longer than the link carries.

use agents::host::{AgentSettings, HostAgent, Interface, NeighborKey, Outcome, Output};
use dataplane::ids::PortId;
use dataplane::l2::Vid;
use dataplane::limits::FRAME_BYTES_MIN;
use dataplane::punt::PuntReason;
use dataplane::testing::Script;
use dataplane::time::Instant;
use dataplane::wire::MacAddress;
use dataplane::wire::parse::{Kind, parse};
use std::net::IpAddr;

const PORTS: u8 = 3;
const FRAME_BYTES_MAX: usize = 600;
/// Ethernet header and a VLAN tag.
const HEADER_BYTES_MAX: usize = 18;

/// A router of two ports, the second in a VLAN; the third port is bridged.
fn interfaces() -> Vec<Interface> {
    let interface = |number: u8, vlan, mtu_bytes| {
        let networks = [format!("10.0.{number}.254/24"), format!("fd00:0:0:{number}::fe/64")];
        Interface {
            port: port(number),
            mac: mac(number),
            vlan,
            addresses: networks.iter().filter_map(|net| net.parse().ok()).collect(),
            mtu_bytes,
            has_tap: false,
        }
    };
    vec![interface(1, None, 1_500), interface(2, Vid::new(20), 1_280)]
}

fn port(number: u8) -> PortId {
    PortId::from_number(usize::from(number)).unwrap_or_default()
}

const fn mac(number: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, 0, number])
}

/// Does what `data` says.
pub fn run(data: &[u8]) {
    let mut script = Script::new(data);
    let settings = AgentSettings {
        neighbors_max: 16,
        pending_frames_max: 4,
        pending_bytes_max: 2_000,
        icmp_errors_per_second: 10,
        ..AgentSettings::default()
    };
    let mut agent = HostAgent::new(interfaces(), settings);
    let mut now = Instant::from_ns(1_000);
    let mut pending_bytes_max = 0;
    while step(&mut agent, &mut script, &mut now).is_some() {
        take_outputs(&mut agent);
        let counters = agent.counters();
        let pending = u64::try_from(agent.pending_frames()).unwrap_or(u64::MAX);
        assert_eq!(counters.frames_in, counters.frames_ended() + pending);
        pending_bytes_max = pending_bytes_max.max(agent.pending_bytes());
        assert!(pending_bytes_max <= 2_000 && agent.neighbors(now).count() <= 16);
    }
}

fn step(agent: &mut HostAgent, script: &mut Script<'_>, now: &mut Instant) -> Option<()> {
    let operation = script.octet()?;
    let number = 1 + script.below(PORTS)?;
    match operation % 16 {
        0 => {
            *now = *now + u64::from(script.word()?) * 1_000_000;
            agent.handle_timeout(*now);
        }
        1 => {
            // As the driver would: exactly when it is due.
            let due = agent.poll_timeout()?;
            *now = (*now).max(due);
            agent.handle_timeout(*now);
        }
        2 => agent.handle_link(*now, port(number), script.octet()? % 2 == 0),
        3 => {
            let (neighbor, mac) = (neighbor(script)?, mac(script.octet()?));
            let full = agent.add_static_neighbor(*now, neighbor, mac).is_err();
            assert!(!full || agent.neighbors(*now).count() >= 4);
        }
        4 => agent.remove_static_neighbor(neighbor(script)?),
        5 => agent.set_interfaces(interfaces().split_off(usize::from(script.below(2)?))),
        _ => {
            let reason = PuntReason::ALL[usize::from(script.below(9)?)];
            let next_hop = neighbor(script).map(Into::into);
            let bytes = script.piece(FRAME_BYTES_MAX)?;
            let outcome = agent.handle_frame(*now, port(number), reason, bytes, next_hop);
            assert!(outcome != Outcome::OutputsFull, "the outputs were taken");
        }
    }
    Some(())
}

/// A neighbor that can be, or one that cannot.
fn neighbor(script: &mut Script<'_>) -> Option<NeighborKey> {
    let (number, host) = (1 + script.below(PORTS)?, script.octet()?);
    let text = match host % 4 {
        0 => format!("fd00:0:0:{number}::{host:x}"),
        1 => format!("fe80::{host:x}"),
        _ => format!("10.0.{number}.{host}"),
    };
    let address: IpAddr = text.parse().ok()?;
    Some(NeighborKey { port: port(number), address })
}

fn take_outputs(agent: &mut HostAgent) {
    while let Some(output) = agent.poll_output() {
        let Output::Send { port: at, frame } = output else { continue };
        assert!(frame.len() >= FRAME_BYTES_MIN, "{} bytes", frame.len());
        let interface = interfaces().into_iter().find(|interface| interface.port == at);
        let Some(interface) = interface else { panic!("sent at port {at}, which does not route") };
        assert_eq!(frame[6..12], interface.mac.0, "from another's address");
        let longest = usize::from(interface.mtu_bytes) + HEADER_BYTES_MAX;
        assert!(frame.len() <= longest, "{} bytes", frame.len());
        let parsed = parse(&frame, frame.len());
        assert!(matches!(parsed.kind, Kind::Ipv4 | Kind::Ipv6 | Kind::Arp), "{parsed:?}");
        assert_eq!(parsed.is_tagged(), interface.vlan.is_some());
    }
}
