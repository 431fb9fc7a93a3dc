//! The switch as a host and as a router that has to find its neighbors.

use super::{ROUTED, Rig};
use crate::control::protocol::{Reply, Request};
use dataplane::testing::wire::{Udp, host_mac, host_v4, port_mac, sequence};
use dataplane::wire::MacAddress;

const REQUEST: u16 = 1;
const REPLY: u16 = 2;

/// An ARP message of host 1 on `port`.
fn arp(port: u8, dst: MacAddress, operation: u16, target: [u8; 4]) -> Vec<u8> {
    let mut frame = [&dst.0[..], &host_mac(port, 1).0, &[8, 6, 0, 1, 8, 0, 6, 4]].concat();
    frame.extend(operation.to_be_bytes());
    frame.extend([&host_mac(port, 1).0[..], &host_v4(port, 1), &[0; 6], &target].concat());
    frame.resize(60, 0);
    frame
}

/// Host 1 on `port` asks for the switch, and so says where it is itself.
pub(super) fn introduction(port: u8) -> Vec<u8> {
    arp(port, MacAddress::BROADCAST, REQUEST, [10, 0, port, 254])
}

fn is_arp(frame: &[u8], operation: u16) -> bool {
    frame[12..14] == [8, 6] && frame[20..22] == operation.to_be_bytes()
}

fn is_data(frame: &[u8]) -> bool {
    frame[12..14] == [8, 0] && frame[23] == 17
}

/// Both ports' announcements are out of the way.
fn quiet_rig() -> Rig {
    let mut rig = Rig::new(ROUTED);
    rig.turns(5);
    rig.sent(1);
    rig.sent(2);
    rig
}

#[test]
fn it_announces_itself_and_answers_arp() {
    let mut rig = Rig::new(ROUTED);
    rig.turns(3);
    for (number, address) in [(1, [10, 0, 1, 254]), (2, [10, 0, 2, 254])] {
        let sent = rig.sent(number);
        assert!(sent.iter().any(|frame| is_arp(frame, REQUEST) && frame[28..32] == address));
    }
    rig.arrive(1, &introduction(1));
    rig.turns(4);
    let sent = rig.sent(1);
    assert_eq!(sent.len(), 1);
    assert!(is_arp(&sent[0], REPLY));
    assert_eq!(sent[0][..6], host_mac(1, 1).0);
    assert_eq!(sent[0][22..28], port_mac(1).0);
    rig.assert_balanced();
}

#[test]
fn frames_to_an_unknown_neighbor_wait_for_it_and_pass_in_order() {
    let mut rig = quiet_rig();
    for number in 0..5 {
        rig.arrive(1, &Udp { sequence: number, ..Udp::routed(1, 2, 0) }.bytes());
    }
    rig.turns(4);
    let asked = rig.sent(2);
    assert_eq!(asked.iter().filter(|frame| is_arp(frame, REQUEST)).count(), 1, "asked once");
    assert!(!asked.iter().any(|frame| is_data(frame)));

    rig.arrive(2, &arp(2, port_mac(2), REPLY, [10, 0, 2, 254]));
    rig.turns(4);
    let passed: Vec<Vec<u8>> = rig.sent(2).into_iter().filter(|frame| is_data(frame)).collect();
    assert_eq!(passed.iter().map(|f| sequence(f)).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    for frame in &passed {
        assert_eq!(frame[..6], host_mac(2, 1).0);
        assert_eq!(frame[6..12], port_mac(2).0);
        assert_eq!(frame[22], 63, "one hop");
    }

    rig.arrive(1, &Udp { sequence: 9, ..Udp::routed(1, 2, 0) }.bytes());
    rig.turn();
    assert_eq!(rig.sent(2).iter().map(|f| sequence(f)).collect::<Vec<_>>(), [9], "no detour now");
    let stats = rig.stats();
    assert_eq!(stats.ports[0].rx_frames.iter().sum::<u64>(), 6, "each was received once");
    assert_eq!(stats.ports[0].punted_frames, 5);
    assert_eq!(stats.neighbors, 1);
    rig.assert_balanced();
}

#[test]
fn a_frame_that_comes_back_before_its_tables_goes_round_and_is_not_lost() {
    let mut rig = quiet_rig();
    rig.arrive(1, &Udp::routed(1, 2, 0).bytes());
    rig.turns(4);
    rig.arrive(2, &arp(2, port_mac(2), REPLY, [10, 0, 2, 254]));
    // Two frames of the same flow: one punted before the answer is heard, one behind it.
    rig.arrive(1, &Udp { sequence: 1, ..Udp::routed(1, 2, 0) }.bytes());
    rig.turns(6);
    let passed: Vec<u32> = rig.sent(2).iter().filter(|f| is_data(f)).map(|f| sequence(f)).collect();
    assert_eq!(passed, [0, 1]);
    rig.assert_balanced();
}

#[test]
fn a_link_that_goes_down_takes_its_neighbors_along() {
    let mut rig = quiet_rig();
    rig.arrive(2, &introduction(2));
    rig.turns(4);
    rig.arrive(1, &Udp::routed(1, 2, 0).bytes());
    rig.turns(2);
    assert!(rig.sent(2).iter().any(|frame| is_data(frame)), "the host introduced itself");

    rig.memory.down.set(0b10);
    rig.pass(200_000_000);
    let stats = rig.stats();
    assert!(!stats.ports[1].up && !stats.ports[1].link && stats.ports[1].in_service);
    assert_eq!(stats.neighbors, 0);
    assert!(stats.epoch >= 3, "once for the neighbor's coming, once for its going");
    rig.arrive(1, &Udp::routed(1, 2, 0).bytes());
    rig.turns(4);
    assert!(!rig.sent(2).iter().any(|frame| is_data(frame)));
    rig.assert_balanced();
}

#[test]
fn gateways_are_asked_for_before_any_frame_needs_them() {
    let text = format!("{ROUTED}\n[[route]]\nto = '0.0.0.0/0'\nvia = ['10.0.2.1', '10.0.1.7']\n");
    let mut rig = Rig::new(&text);
    rig.turns(4);
    let asks = |frames: Vec<Vec<u8>>, target: [u8; 4]| {
        frames.iter().any(|frame| is_arp(frame, REQUEST) && frame[38..42] == target)
    };
    assert!(asks(rig.sent(2), [10, 0, 2, 1]));
    assert!(asks(rig.sent(1), [10, 0, 1, 7]));
    rig.arrive(2, &arp(2, port_mac(2), REPLY, [10, 0, 2, 254]));
    rig.turns(4);
    let Reply::Routes(routes) = rig.ask(Request::Routes { offset: 0 }) else { panic!() };
    let default = routes.routes.iter().find(|row| row.prefix == "0.0.0.0/0").unwrap();
    assert_eq!((default.via.len(), default.resolved), (2, 1));
    assert_eq!(default.via, ["10.0.2.1%b", "10.0.1.7%a"]);
}

#[test]
fn without_a_buffer_an_answer_is_counted_and_the_switch_goes_on() {
    let mut rig = quiet_rig();
    rig.memory.frames_left.set(Some(0));
    rig.arrive(1, &introduction(1));
    rig.turns(4);
    assert_eq!(rig.sent(1).len(), 0);
    assert_eq!(rig.stats().agent.unmade_frames, 1);
    rig.memory.frames_left.set(None);
    rig.arrive(1, &introduction(1));
    rig.turns(4);
    assert_eq!(rig.sent(1).len(), 1);
    rig.assert_balanced();
}
