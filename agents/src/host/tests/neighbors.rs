//! The states of a neighbor in virtual time, and the frames that wait for it.

use super::*;
use ArpOperation::{Reply, Request};
use NeighborState::{Failed, Incomplete, Reachable, Stale, Static};

const HOST_IP: &str = "10.0.2.9";

/// `HOST` answers our request at port 2.
fn answer(bench: &mut Bench) -> Vec<Output> {
    let reply = arp(Reply, (HOST, HOST_IP), "10.0.2.1", ours(2));
    let (outcome, outputs) = bench.receive(2, &reply);
    assert_eq!(outcome, Outcome::NeighborHeard);
    outputs
}

fn up(number: usize, address: &str, mac: MacAddress) -> Output {
    Output::NeighborUp { neighbor: at(number, address), mac }
}

fn down(number: usize, address: &str) -> Output {
    Output::NeighborDown { neighbor: at(number, address) }
}

/// The times of the frames sent, with their ports.
fn times(outputs: &[(u64, Output)]) -> Vec<(u64, usize)> {
    let sent = outputs.iter().filter_map(|(second, output)| match output {
        Output::Send { port, .. } => Some((*second, port.number())),
        _ => None,
    });
    sent.collect()
}

#[test]
fn frames_wait_for_their_next_hop_and_are_released_in_order() {
    let mut bench = Bench::new();
    let frames: Vec<_> = (0..3).map(|marker| transit("10.0.1.9", HOST_IP, marker)).collect();
    for frame in &frames {
        assert_eq!(bench.unresolved(frame, at(2, HOST_IP)).0, Outcome::Pending);
    }
    assert_eq!(bench.counted(), [("pending", 3), ("requests_sent", 1)], "one question for all");
    assert_eq!((bench.agent.pending_frames(), bench.agent.pending_bytes()), (3, 3 * 74));

    let released = frames.iter().map(|f| Output::Release { port: port(1), frame: f.clone() });
    let expected: Vec<_> = [up(2, HOST_IP, HOST)].into_iter().chain(released).collect();
    assert_eq!(answer(&mut bench), expected);
    assert_eq!(bench.counted(), [("neighbor_heard", 1), ("neighbors_up", 1), ("released", 3)]);
    assert_eq!((bench.agent.pending_frames(), bench.agent.pending_bytes()), (0, 0));

    let late = bench.unresolved(&frames[0], at(2, HOST_IP));
    let again = Output::Release { port: port(1), frame: frames[0].clone() };
    assert_eq!(late, (Outcome::Released, vec![again]), "punted before the route was in place");
}

#[test]
fn a_next_hop_that_does_not_answer_gets_three_requests_and_is_held_down() {
    let mut bench = Bench::new();
    let frame = transit("10.0.1.9", HOST_IP, 0);
    let (_, first) = bench.unresolved(&frame, at(2, HOST_IP));
    assert_eq!(sent(&first).len(), 1);
    let outputs = bench.wait(3);
    assert_eq!(times(&outputs), [(1, 2), (2, 2), (3, 1)], "two more questions, and the report");
    assert_eq!(
        bench.counted(),
        [
            ("errors_sent", 1),
            ("host_unreachable", 1),
            ("neighbors_failed", 1),
            ("pending", 1),
            ("requests_sent", 3),
        ]
    );
    assert_eq!(bench.state(at(2, HOST_IP)), Some((Failed, None)));

    assert_eq!(bench.wait(4), []);
    let held = bench.unresolved(&frame, at(2, HOST_IP));
    assert_eq!((held.0, sent(&held.1)[0].0), (Outcome::HostUnreachable, 1), "reported at once");
    assert_eq!(bench.counted(), [("errors_sent", 1), ("host_unreachable", 1)]);

    assert_eq!(bench.wait(1), []);
    assert_eq!(bench.state(at(2, HOST_IP)), None, "five seconds after it failed");
    assert_eq!(
        bench.unresolved(&frame, at(2, HOST_IP)).0,
        Outcome::Pending,
        "a new request is sent"
    );
    assert_eq!(bench.counted(), [("pending", 1), ("requests_sent", 1)]);
}

#[test]
fn a_gateway_can_be_resolved_before_frames_need_it() {
    let mut bench = Bench::new();
    for _ in 0..3 {
        bench.agent.resolve(bench.now, at(2, HOST_IP));
        bench.agent.resolve(bench.now, at(2, "10.0.2.1"));
        bench.agent.resolve(bench.now, at(9, HOST_IP));
    }
    assert_eq!(sent(&bench.outputs()).len(), 1);
    assert_eq!(bench.counted(), [("requests_sent", 1)]);
    assert_eq!(answer(&mut bench), [up(2, HOST_IP, HOST)]);
    bench.agent.resolve(bench.now, at(2, HOST_IP));
    assert_eq!(bench.outputs(), []);

    bench.agent.resolve(bench.now, at(2, "10.0.2.8"));
    assert_eq!(sent(&bench.outputs()).len(), 1);
    assert_eq!(times(&bench.wait(5)), [(1, 2), (2, 2)], "no frame waits, so no error is sent");
    bench.agent.resolve(bench.now, at(2, "10.0.2.8"));
    assert_eq!(sent(&bench.outputs()), [], "held down");
}

#[test]
fn a_late_answer_is_accepted() {
    let mut bench = Bench::new();
    bench.unresolved(&transit("10.0.1.9", HOST_IP, 0), at(2, HOST_IP));
    bench.wait(4);
    assert_eq!(bench.state(at(2, HOST_IP)), Some((Failed, None)));
    assert_eq!(answer(&mut bench), [up(2, HOST_IP, HOST)]);
    assert_eq!(bench.state(at(2, HOST_IP)), Some((Reachable, Some(HOST))));
}

#[test]
fn a_neighbor_that_stops_answering_is_probed_and_removed() {
    let mut bench = Bench::new();
    bench.unresolved(&transit("10.0.1.9", HOST_IP, 0), at(2, HOST_IP));
    answer(&mut bench);
    bench.counted();
    assert_eq!(bench.wait(59), []);
    assert_eq!(bench.state(at(2, HOST_IP)), Some((Reachable, Some(HOST))));

    let outputs = bench.wait(4);
    assert_eq!(times(&outputs), [(1, 2), (2, 2), (3, 2)]);
    for (_, output) in &outputs[..3] {
        let Output::Send { frame, .. } = output else { panic!("{output:?}") };
        assert_eq!(frame[..6], HOST.0, "a probe is for the neighbor alone");
    }
    assert_eq!(outputs[3..], [(4, down(2, HOST_IP))]);
    assert_eq!(bench.counted(), [("neighbors_lost", 1), ("probes_sent", 3)]);
    assert_eq!(bench.agent.poll_timeout(), None, "no timeout is pending");
}

#[test]
fn a_neighbor_that_answers_probes_stays() {
    let mut bench = Bench::new();
    bench.unresolved(&transit("10.0.1.9", HOST_IP, 0), at(2, HOST_IP));
    answer(&mut bench);
    bench.counted();
    for round in 1..=50 {
        let outputs = bench.wait(62);
        assert_eq!(times(&outputs), [(60, 2), (61, 2), (62, 2)], "round {round}");
        assert_eq!(bench.state(at(2, HOST_IP)), Some((Stale, Some(HOST))));
        assert_eq!(answer(&mut bench), [], "no route changes");
        assert_eq!(bench.state(at(2, HOST_IP)), Some((Reachable, Some(HOST))));
    }
    assert_eq!(bench.counted(), [("neighbor_heard", 50), ("probes_sent", 150)]);
}

#[test]
fn a_neighbor_that_never_answered_is_probed_soon() {
    let mut bench = Bench::new();
    introduce(&mut bench, 2);
    assert_eq!(bench.state(at(2, HOST_IP)), Some((Stale, Some(HOST))));
    let outputs = bench.wait(8);
    assert_eq!(times(&outputs), [(5, 2), (6, 2), (7, 2)]);
    assert_eq!(
        outputs.last(),
        Some(&(8, down(2, HOST_IP))),
        "a neighbor that does not exist is removed"
    );
}

#[test]
fn the_table_shows_state_and_age() {
    let mut bench = Bench::new();
    bench.unresolved(&transit("10.0.1.9", HOST_IP, 0), at(2, HOST_IP));
    bench.wait(2);
    introduce(&mut bench, 1);
    let pinned = at(3, "10.0.3.9");
    bench.agent.add_static_neighbor(bench.now, pinned, OTHER).unwrap();
    let table = |bench: &Bench| -> Vec<_> {
        let rows = bench.agent.neighbors(bench.now);
        rows.map(|n| (n.key, n.mac, n.state, n.age_ns / SECOND)).collect()
    };
    let others = [(at(1, "10.0.1.9"), Some(HOST), Stale, 0), (pinned, Some(OTHER), Static, 0)];
    assert_eq!(table(&bench), [others[0], (at(2, HOST_IP), None, Incomplete, 2), others[1]]);
    answer(&mut bench);
    assert_eq!(table(&bench)[1], (at(2, HOST_IP), Some(HOST), Reachable, 0));
    bench.wait(4);
    assert_eq!(table(&bench)[1].3, 4);
}

#[test]
fn the_newest_frame_is_refused() {
    let mut bench = Bench::new();
    for marker in 0..70 {
        let frame = transit("10.0.1.9", HOST_IP, marker);
        let expected = if marker < 64 { Outcome::Pending } else { Outcome::PendingFull };
        assert_eq!(bench.unresolved(&frame, at(2, HOST_IP)).0, expected);
    }
    assert_eq!(bench.counted(), [("pending", 64), ("pending_full", 6), ("requests_sent", 1)]);
    let markers: Vec<_> = answer(&mut bench)
        .into_iter()
        .filter_map(|output| match output {
            Output::Release { frame, .. } => frame.last().copied(),
            _ => None,
        })
        .collect();
    assert_eq!(markers, (0..64).collect::<Vec<_>>());
}

#[test]
fn no_request_is_sent_for_an_address_that_cannot_be_a_neighbor() {
    let cases = [
        (None, Outcome::NoNextHop),
        (Some(at(9, HOST_IP)), Outcome::NoInterface),
        (Some(at(2, "10.0.2.1")), Outcome::NoNextHop),
        (Some(at(2, "10.0.1.1")), Outcome::NoNextHop),
        (Some(at(2, "10.0.2.255")), Outcome::NoNextHop),
        (Some(at(2, "10.0.2.0")), Outcome::NoNextHop),
        (Some(at(2, "224.0.0.1")), Outcome::NoNextHop),
        (Some(at(2, "ff02::1")), Outcome::NoNextHop),
        (Some(at(2, "::")), Outcome::NoNextHop),
    ];
    for (next_hop, expected) in cases {
        let mut bench = Bench::new();
        let frame = transit("10.0.1.9", HOST_IP, 0);
        let ended = bench.punt(1, PuntReason::Unresolved, &frame, next_hop);
        assert_eq!(ended, (expected, vec![]), "{next_hop:?}");
        assert_eq!(bench.counted(), [(expected.name(), 1)]);
    }
}

#[test]
fn a_link_of_two_has_no_broadcast_address() {
    let mut links = interfaces();
    links[1].addresses = vec!["10.0.2.2/31".parse().unwrap()];
    let mut bench = Bench::with(links, AgentSettings::default());
    let frame = transit("10.0.1.9", "10.0.2.3", 0);
    assert_eq!(bench.unresolved(&frame, at(2, "10.0.2.3")).0, Outcome::Pending, "RFC 3021");
}

#[test]
fn a_scan_fills_a_fifth_of_the_table_only() {
    let settings = AgentSettings { neighbors_max: 64, ..AgentSettings::default() };
    let mut bench = Bench::with(interfaces(), settings);
    introduce(&mut bench, 2);
    for host in 20..120 {
        let target = format!("10.0.2.{host}");
        let frame = transit("10.0.1.9", &target, 0);
        let (outcome, _) = bench.unresolved(&frame, at(2, &target));
        let expected = if host < 33 { Outcome::Pending } else { Outcome::NeighborsFull };
        assert_eq!(outcome, expected, "{target}");
    }
    assert_eq!(bench.state(at(2, HOST_IP)), Some((Stale, Some(HOST))));
    introduce(&mut bench, 1);
    assert_eq!(bench.state(at(1, "10.0.1.9")), Some((Stale, Some(HOST))), "there is still room");
}

#[test]
fn a_port_has_a_share_of_the_table_and_what_is_known_stays() {
    let settings = AgentSettings { neighbors_max: 10, ..AgentSettings::default() };
    let mut bench = Bench::with(interfaces(), settings);
    for host in 20..40 {
        let sender = format!("10.0.1.{host}");
        let request = arp(Request, (HOST, &sender), "10.0.1.1", MacAddress::BROADCAST);
        assert_eq!(bench.receive(1, &request).0, Outcome::ArpAnswered, "answered in any case");
    }
    let expected = [("arp_answered", 20), ("neighbors_refused", 12), ("neighbors_up", 8)];
    assert_eq!(bench.counted(), expected);
    assert_eq!(bench.agent.neighbors_at(port(1)), (8, 12));
    let first: Vec<_> = bench.agent.neighbors(bench.now).map(|n| n.key).collect();
    assert_eq!(first, (20..28).map(|host| at(1, &format!("10.0.1.{host}"))).collect::<Vec<_>>());
    introduce(&mut bench, 2);
    assert_eq!(bench.agent.neighbors_at(port(2)), (1, 0), "another port finds room");
    // The operator's own need not keep to a share.
    assert_eq!(bench.agent.add_static_neighbor(bench.now, at(1, "10.0.1.8"), HOST), Ok(()));
    let full = bench.agent.add_static_neighbor(bench.now, at(1, "10.0.1.9"), HOST).unwrap_err();
    assert_eq!(format!("{full}"), "the neighbor table is full: it holds 10 neighbors");
    assert_eq!(bench.agent.add_static_neighbor(bench.now, first[0], OTHER), Ok(()), "in its place");
}

#[test]
fn nothing_changes_a_static_neighbor() {
    let mut bench = Bench::new();
    let key = at(2, HOST_IP);
    bench.unresolved(&transit("10.0.1.9", HOST_IP, 0), key);
    bench.agent.add_static_neighbor(bench.now, key, HOST).unwrap();
    let outputs = bench.outputs();
    assert_eq!(outputs[0], up(2, HOST_IP, HOST));
    assert!(matches!(outputs[1..], [Output::Release { .. }]), "{outputs:?}");
    bench.counted();

    let forged = arp(Reply, (OTHER, HOST_IP), "10.0.2.1", ours(2));
    assert_eq!(bench.receive(2, &forged), (Outcome::Spoofed, vec![]));
    assert_eq!(bench.counted(), [("spoofed", 1)]);
    assert_eq!(bench.wait(1_000), [], "it is not probed");
    bench.agent.handle_link(bench.now, port(2), false);
    bench.agent.set_interfaces(interfaces().split_off(2));
    assert_eq!(bench.outputs(), []);
    assert_eq!(bench.state(key), Some((Static, Some(HOST))));

    bench.agent.add_static_neighbor(bench.now, key, HOST).unwrap();
    assert_eq!(bench.outputs(), [], "nothing new");
    bench.agent.add_static_neighbor(bench.now, key, OTHER).unwrap();
    assert_eq!(bench.outputs(), [up(2, HOST_IP, OTHER)]);
    bench.agent.remove_static_neighbor(key);
    bench.agent.remove_static_neighbor(key);
    assert_eq!(bench.outputs(), [down(2, HOST_IP)]);
    assert_eq!(bench.state(key), None);
}

#[test]
fn neighbors_are_removed_when_their_link_goes_down() {
    let mut bench = Bench::new();
    introduce(&mut bench, 1);
    introduce(&mut bench, 2);
    bench.unresolved(&transit("10.0.1.9", "10.0.2.8", 0), at(2, "10.0.2.8"));
    bench.counted();
    bench.agent.handle_link(bench.now, port(2), false);
    assert_eq!(bench.outputs(), [down(2, HOST_IP)], "who was never up does not go down");
    assert_eq!(bench.counted(), [("interface_gone", 1)]);
    assert_eq!(bench.agent.pending_bytes(), 0);
    assert_eq!(bench.agent.neighbors(bench.now).count(), 1);

    bench.agent.handle_link(bench.now, port(2), true);
    assert_eq!(sent(&bench.outputs()).len(), 3, "our three addresses there");
    assert_eq!(bench.counted(), [("announcements_sent", 3)]);
}

#[test]
fn who_has_not_answered_is_asked_again_when_the_link_comes_up() {
    let mut bench = Bench::new();
    let frame = transit("10.0.1.9", HOST_IP, 0);
    // Nobody answers: three requests, then the neighbor is held down.
    bench.agent.resolve(bench.now, at(2, HOST_IP));
    bench.outputs();
    bench.wait(4);
    assert_eq!(bench.state(at(2, HOST_IP)), Some((Failed, None)));
    // Of another one the first request was lost.
    bench.agent.resolve(bench.now, at(2, "10.0.2.8"));
    bench.agent.resolve(bench.now, at(1, "10.0.1.8"));
    bench.outputs();
    bench.counted();

    bench.agent.handle_link(bench.now, port(2), true);
    assert_eq!(sent(&bench.outputs()).len(), 3 + 2, "our addresses, and the two that are silent");
    assert_eq!(bench.counted(), [("announcements_sent", 3), ("requests_sent", 2)]);
    assert_eq!(bench.state(at(2, HOST_IP)), Some((Incomplete, None)));
    assert_eq!(bench.unresolved(&frame, at(2, HOST_IP)).0, Outcome::Pending);
    let released = Output::Release { port: port(1), frame };
    assert_eq!(answer(&mut bench), [up(2, HOST_IP, HOST), released]);

    // The other one gets its three requests from now on, and fails as ever.
    assert_eq!(times(&bench.wait(10)), [(1, 1), (1, 2), (2, 1), (2, 2)]);
    assert_eq!(bench.state(at(2, "10.0.2.8")), None);
}

#[test]
fn new_interfaces_keep_the_neighbors_that_are_still_there() {
    let mut bench = Bench::new();
    for number in [1, 2] {
        introduce(&mut bench, number);
    }
    bench.counted();
    bench.agent.set_interfaces(interfaces());
    assert_eq!(bench.outputs(), [], "nothing has changed");

    let mut links = interfaces();
    links[0].addresses.push("192.0.2.1/24".parse().unwrap());
    bench.agent.set_interfaces(links.clone());
    assert_eq!(sent(&bench.outputs()).len(), 4, "the interface announces itself anew");
    assert_eq!(bench.agent.neighbors(bench.now).count(), 2);

    links[0].addresses.remove(0);
    bench.agent.set_interfaces(links.clone());
    assert_eq!(bench.outputs()[0], down(1, "10.0.1.9"), "no longer on the link");

    links[1].vlan = Vid::new(9);
    bench.agent.set_interfaces(links.clone());
    assert_eq!(bench.outputs()[0], down(2, HOST_IP), "in another VLAN it is another link");
    links[1].vlan = None;
    bench.agent.set_interfaces(links.clone());
    introduce(&mut bench, 2);
    bench.outputs();
    links[2].addresses.push("10.0.2.9/32".parse().unwrap());
    bench.agent.set_interfaces(links.clone());
    assert_eq!(bench.outputs()[0], down(2, HOST_IP), "its address is ours now");
    links[2].addresses.pop();
    bench.agent.set_interfaces(links);
    introduce(&mut bench, 2);
    bench.outputs();
    bench.agent.set_interfaces(vec![]);
    assert_eq!(bench.outputs(), [down(2, HOST_IP)]);
}

#[test]
fn a_message_in_one_vlan_changes_no_neighbor_of_another() {
    let mut links = interfaces();
    links[2].port = port(2);
    let mut bench = Bench::with(links, AgentSettings::default());
    introduce(&mut bench, 2);
    let forged = arp(Request, (OTHER, HOST_IP), HOST_IP, MacAddress::BROADCAST);
    assert_eq!(bench.receive(2, &tagged(&forged, 7)), (Outcome::NotForUs, vec![]));
    assert_eq!(bench.state(at(2, HOST_IP)), Some((Stale, Some(HOST))));

    let (_, outputs) = bench.unresolved(&transit("10.0.1.9", "10.0.3.9", 0), at(2, "10.0.3.9"));
    assert_eq!(sent(&outputs)[0].1[12..16], [0x81, 0, 0xC0, 7], "asked for in its VLAN");
}

#[test]
fn a_full_output_queue_stops_the_agent() {
    let mut bench = Bench::new();
    let request = arp(Request, (HOST, "10.0.1.9"), "10.0.1.1", MacAddress::BROADCAST);
    for _ in 0..10_000 {
        bench.agent.handle_frame(bench.now, port(1), PuntReason::ForUs, &request, None);
    }
    let refused = bench.agent.counters().frames(Outcome::OutputsFull);
    bench.agent.handle_timeout(Instant::NEVER);
    assert_eq!(bench.outputs().len() as u64, 10_000 - refused + 1, "the answers, and one neighbor");
    assert!(refused > 5_000);
    assert_eq!(bench.receive(1, &request).0, Outcome::ArpAnswered);
}
