//! LLDP on a running switch: what it sends and learns, and rules that change under traffic.

use super::slow_path::introduction;
use super::{ROUTED, Rig};
use crate::control::protocol::{LldpTable, Reply, Request, Rules};
use agents::lldp::{
    AllowedPeer, Device, LldpAgent, LldpSettings, Output, PortRole, PortSettings, System,
};
use dataplane::ids::PortId;
use dataplane::testing::wire::{Udp, sequence};
use dataplane::time::Instant;
use dataplane::wire::MacAddress;
use fabric::compile::port_roles;

/// Port a faces hosts, port b a switch.
fn fabric_rig() -> Rig {
    let text = ROUTED.replacen("priority = 3", "priority = 1\n[[lossless]]\npriority = 2", 1);
    let text = text.replacen("name = \"b\"", "name = \"b\"\ntrusted = true", 1);
    let mut rig = Rig::new(&format!("{text}\n[fabric]\n"));
    rig.turns(5);
    rig
}

/// An agent at the other end of a port, which says what the test has it say.
struct Other(LldpAgent);

impl Other {
    fn new(device: Device, level: Option<u8>) -> Self {
        let mac = MacAddress([2, 0xEE, 0, 0, 0, 1]);
        let port = PortSettings {
            mac,
            name: "x".to_owned(),
            description: String::new(),
            max_frame_bytes: 1_518,
            pfc_bits: Some(0b110),
            allowed_peer: AllowedPeer::Any,
        };
        let system = System { chassis: mac, name: "other".to_owned(), ..System::default() };
        let settings = LldpSettings { device, level, ..LldpSettings::default() };
        let mut agent = LldpAgent::new(system, vec![port], settings);
        agent.handle_link(Instant::ZERO, PortId::FIRST, true);
        Self(agent)
    }

    /// Takes what the switch sent it, and answers, until both have said all.
    fn converse(&mut self, rig: &mut Rig, number: usize) {
        for _ in 0..8 {
            for frame in rig.sent(number).iter().filter(|frame| is_lldp(frame)) {
                self.0.handle_frame(rig.now(), PortId::FIRST, frame);
            }
            self.0.handle_timeout(rig.now());
            while let Some(output) = self.0.poll_output() {
                if let Output::Send { frame, .. } = output {
                    rig.arrive(number, &frame);
                }
            }
            rig.turns(3);
        }
    }
}

fn is_lldp(frame: &[u8]) -> bool {
    frame[12..14] == [0x88, 0xCC]
}

fn table(rig: &mut Rig) -> LldpTable {
    match rig.ask(Request::Lldp) {
        Reply::Lldp(table) => table,
        other => panic!("{other:?}"),
    }
}

fn rules(rig: &mut Rig) -> Rules {
    match rig.ask(Request::Rules) {
        Reply::Rules(rules) => rules,
        other => panic!("{other:?}"),
    }
}

/// The rules in use are those that follow from `facings`.
#[track_caller]
fn assert_rules(rig: &mut Rig, facings: &[PortRole]) {
    let expected = port_roles::entries(facings, 1);
    let found = rules(rig).entries;
    let of = |set: &dataplane::rules::PortSet| set.iter().map(PortId::number).collect::<Vec<_>>();
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!((found.tag, found.new_tag), (expected.tag.value, expected.new_tag.value()));
        assert_eq!(
            (&found.input, &found.output),
            (&of(&expected.in_ports), &of(&expected.out_ports))
        );
    }
}

#[test]
fn without_lldp_nothing_is_sent_and_no_neighbor_is_known() {
    let mut rig = Rig::new(ROUTED);
    rig.turns(9);
    assert!(!rig.sent(1).iter().any(|frame| is_lldp(frame)));
    assert_eq!(table(&mut rig), LldpTable::default());
    Other::new(Device::Bridge, Some(2)).converse(&mut rig, 1);
    assert_eq!(rig.stats().lldp, None);
    rig.assert_balanced();
}

#[test]
fn a_leaf_learns_its_level_and_writes_its_rules() {
    let mut rig = fabric_rig();
    assert_rules(&mut rig, &[PortRole::Downlink, PortRole::Uplink]);
    let mut host = Other::new(Device::EndStation, None);
    host.converse(&mut rig, 1);
    let mut spine = Other::new(Device::Router, Some(2));
    spine.converse(&mut rig, 2);
    let stats = rig.stats();
    assert_eq!(stats.lldp.as_ref().unwrap().level, Some(1));
    let types: Vec<String> =
        stats.ports.iter().map(|port| port.lldp.as_ref().unwrap().orientation.clone()).collect();
    assert_eq!(types, ["downlink", "uplink"]);
    let known = table(&mut rig);
    assert_eq!((known.enabled, known.learns, known.level), (true, true, Some(1)));
    assert_eq!(known.neighbors.len(), 2);
    let above = &known.neighbors[1];
    assert_eq!(
        (&*above.port, above.device.as_deref(), above.level),
        ("b", Some("router"), Some(2))
    );
    assert_eq!(above.its_orientation.as_deref(), Some("downlink"), "it has heard us");
    assert_eq!(above.pfc_priorities.as_deref(), Some(&[1, 2][..]));
    assert_rules(&mut rig, &[PortRole::Downlink, PortRole::Uplink]);
    rig.assert_balanced();
}

#[test]
fn rules_follow_a_neighbor_that_turns_out_to_be_below() {
    let mut rig = fabric_rig();
    Other::new(Device::Router, Some(1)).converse(&mut rig, 2);
    assert_eq!(rig.stats().lldp.unwrap().level, Some(2));
    assert_rules(&mut rig, &[PortRole::Downlink, PortRole::Downlink]);
    // A reload keeps what was learned.
    let before = rig.stats().epoch;
    rig.ask(Request::Reload);
    rig.turns(5);
    assert!(rig.stats().epoch > before);
    assert_rules(&mut rig, &[PortRole::Downlink, PortRole::Downlink]);
}

#[test]
fn rules_are_swapped_under_traffic_and_no_frame_is_lost_or_overtaken() {
    let mut rig = fabric_rig();
    rig.arrive(1, &introduction(1));
    rig.arrive(2, &introduction(2));
    rig.turns(9);
    rig.sent(2);
    let (mut sent, mut passed) = (0, Vec::new());
    let before = rig.stats().epoch;
    for round in 0..60_u32 {
        // Below, above, below: each time other rules, for frames that go on all the time.
        if round.is_multiple_of(6) {
            let level = Some(if round.is_multiple_of(12) { 1 } else { 3 });
            let mut other = Other::new(Device::Router, level);
            while let Some(output) = other.0.poll_output() {
                if let Output::Send { frame, .. } = output {
                    rig.arrive(2, &agreeing(&frame, level == Some(1)));
                }
            }
        }
        for _ in 0..5 {
            rig.arrive(1, &Udp { sequence: sent, tos: 1 << 2, ..Udp::routed(1, 2, 0) }.bytes());
            sent += 1;
        }
        rig.turns(3);
        passed.extend(rig.sent(2).iter().filter(|f| f[12..14] == [8, 0]).map(|f| sequence(f)));
    }
    rig.turns(9);
    passed.extend(rig.sent(2).iter().filter(|f| f[12..14] == [8, 0]).map(|f| sequence(f)));
    assert_eq!(passed, (0..sent).collect::<Vec<_>>());
    let stats = rig.stats();
    assert!(stats.epoch >= before + 5, "{} tables", stats.epoch - before);
    assert_eq!(stats.totals.dropped, 0, "{:?}", stats.ports);
    // All that is missing is what the devices of this rig always say that they lost.
    let causes: Vec<&str> = stats.lossless_drops_by_cause().into_keys().collect();
    assert_eq!(causes, ["rx_missed", "tx_segmented"]);
    rig.assert_balanced();
}

#[test]
fn a_link_that_comes_up_passes_frames_only_by_rules_that_know_of_it() {
    let mut rig = fabric_rig();
    rig.memory.down.set(0b10);
    rig.pass(300_000_000);
    assert_rules(&mut rig, &[PortRole::Downlink, PortRole::NoLink]);
    rig.memory.down.set(0);
    rig.pass(300_000_000);
    assert_rules(&mut rig, &[PortRole::Downlink, PortRole::Uplink]);
    assert!(rig.sent(2).iter().any(|frame| is_lldp(frame)), "and it says who it is");
}

#[test]
fn all_neighbors_get_a_shutdown_frame_at_the_end() {
    let mut rig = fabric_rig();
    rig.sent(1);
    rig.control.send_lldp_shutdown();
    rig.turn_worker(0);
    for number in [1, 2] {
        let sent = rig.sent(number);
        let goodbye: Vec<_> = sent.iter().filter(|frame| is_lldp(frame)).collect();
        // The TTL stands behind chassis and port id.
        assert_eq!(goodbye.last().unwrap()[27..31], [0x06, 2, 0, 0], "{goodbye:02x?}");
    }
}

/// The frame, with the port type that agrees with the switch: it leads up to us, or down.
fn agreeing(frame: &[u8], leads_up: bool) -> Vec<u8> {
    let head = [0xFE, 7, 0, 0x80, 0xC2, 0x14];
    let at = frame.windows(6).position(|window| window == head).expect("it says its level");
    let mut frame = frame.to_vec();
    frame[at + 8] = u8::from(!leads_up);
    frame
}

/// As many LLDP frames as a flood brings are dropped by the worker, which counts them, and the
/// other port's neighbor is heard all the same.
#[test]
fn a_flood_at_one_port_costs_another_nothing() {
    let mut rig = fabric_rig();
    let mut liar = Other::new(Device::Router, Some(1));
    let Some(Output::Send { frame, .. }) = std::iter::from_fn(|| liar.0.poll_output())
        .find(|output| matches!(output, Output::Send { .. }))
    else {
        panic!("it says who it is")
    };
    for number in 0..1_000_u32 {
        let mut frame = frame.clone();
        frame[17..21].copy_from_slice(&number.to_be_bytes());
        rig.arrive(1, &frame);
        if number.is_multiple_of(50) {
            rig.turn();
        }
    }
    rig.turns(9);
    Other::new(Device::Router, Some(2)).converse(&mut rig, 2);
    let stats = rig.stats();
    let lldp = stats.lldp.clone().unwrap();
    assert_eq!(lldp.level, Some(3), "port a believes no switch, port b does");
    let limited = stats.ports[0].drops["punt_policed"];
    assert_eq!((limited, stats.ports[0].punted_frames), (968, 32));
    assert_eq!((lldp.counters["inserted"], lldp.counters["too_many"]), (4 + 1, 28));
    rig.assert_balanced();
}
