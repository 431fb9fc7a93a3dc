//! Frames sent and received, and neighbors that expire.

use super::*;
use alloc::vec;

#[test]
fn a_switch_without_a_level_sends_fast_and_then_slowly() {
    let mut agent = LldpAgent::new(system(), ports(), LldpSettings::default());
    assert_eq!((agent.poll_timeout(), agent.poll_output()), (None, None), "all ports are down");
    agent.handle_link(Instant::from_ns(0), port(2), true);
    let mut bench = Bench { agent, now: Instant::from_ns(0), counted: BTreeMap::new() };
    let mut frames =
        sent(&bench.outputs()).into_iter().map(|advertised| (0, advertised)).collect::<Vec<_>>();
    for (at, output) in bench.wait(70) {
        frames.extend(sent(&[output]).into_iter().map(|advertised| (at, advertised)));
    }
    let times: Vec<u64> = frames.iter().map(|(at, _)| *at).collect();
    assert_eq!(times, [0, 1, 2, 3, 33, 63]);
    for (_, (number, pdu)) in frames {
        assert_eq!((number, pdu.ttl_s), (2, 120));
        assert_eq!(pdu.system_name.as_deref(), Some("leaf"));
        let unknown = Topology { device: Device::Bridge, ..Topology::default() };
        assert_eq!(pdu.topology, Some(unknown));
    }
    assert_eq!(bench.counted(), [("frames_out", 6)]);
}

#[test]
fn a_neighbor_is_inserted_refreshed_changed_and_deleted() {
    let mut bench = Bench::new();
    let spine = switch(7, Some(3), Orientation::Unknown);
    let (outcome, outputs) = bench.receive(3, &spine);
    assert_eq!((outcome, outputs[0].clone()), (Outcome::Inserted, Output::Changed));
    let levels: Vec<_> =
        sent(&outputs).into_iter().map(|(n, pdu)| (n, pdu.topology.unwrap())).collect();
    let topology = |orientation| Topology { device: Device::Bridge, level: Some(4), orientation };
    let unknown = topology(Orientation::Unknown);
    assert_eq!(
        levels,
        [(1, unknown), (2, unknown), (3, topology(Orientation::Downlink)), (4, unknown)]
    );
    assert_eq!(
        bench.counted(),
        [("frames_in", 1), ("frames_out", 4), ("inserted", 1), ("level_changes", 1)]
    );

    assert_eq!(bench.receive(3, &spine), (Outcome::Refreshed, vec![]));
    assert_eq!(bench.counted(), [("frames_in", 1), ("refreshed", 1)]);

    let other = Pdu { system_name: Some("spine".to_owned()), ..spine.clone() };
    assert_eq!(bench.receive(3, &other), (Outcome::Changed, vec![]), "the same to the fabric");
    assert_eq!(bench.counted(), [("changed", 1), ("frames_in", 1)]);

    let shutdown = Pdu { ttl_s: 0, ..spine };
    let (outcome, outputs) = bench.receive(3, &shutdown);
    assert_eq!((outcome, outputs[0].clone()), (Outcome::Deleted, Output::Changed));
    assert_eq!((bench.agent.level(), bench.neighbors(3)), (None, 0));
    assert_eq!(bench.receive(3, &shutdown).0, Outcome::Unknown);
    assert_eq!(
        bench.counted(),
        [("deleted", 1), ("frames_in", 2), ("frames_out", 4), ("level_changes", 1), ("unknown", 1)]
    );
}

#[test]
fn a_neighbor_that_stops_sending_expires() {
    let mut bench = Bench::new();
    bench.receive(1, &host(9));
    assert_eq!(bench.agent.level(), Some(1));
    bench.wait(119);
    assert_eq!((bench.agent.level(), bench.orientation(1)), (Some(1), Orientation::Downlink));
    bench.counted();
    bench.wait(1);
    assert_eq!((bench.agent.level(), bench.orientation(1)), (None, Orientation::Unknown));
    assert_eq!(bench.role(1), PortRole::Downlink, "the operator said that hosts are there");
    assert_eq!(bench.counted(), [("aged_out", 1), ("frames_out", 4), ("level_changes", 1)]);
}

#[test]
fn a_link_that_goes_down_removes_its_neighbor() {
    let mut bench = Bench::new();
    bench.receive(1, &host(9));
    bench.receive(2, &switch(5, Some(2), Orientation::Downlink));
    assert_eq!(bench.orientation(2), Orientation::Uplink);
    bench.counted();
    bench.agent.handle_link(bench.now, port(2), false);
    assert_eq!((bench.neighbors(2), bench.role(2)), (0, PortRole::NoLink));
    let outputs = bench.outputs();
    assert_eq!(
        (outputs[0].clone(), sent(&outputs)),
        (Output::Changed, vec![]),
        "nothing is sent to the removed neighbor"
    );
    let outcome = bench.receive(2, &switch(5, Some(2), Orientation::Downlink));
    assert_eq!(outcome, (Outcome::PortDown, vec![]));
    assert_eq!(bench.counted(), [("frames_in", 1), ("port_down", 1), ("unlinked", 1)]);
}

#[test]
fn a_shutdown_is_sent_once_and_nothing_for_two_seconds_after_it() {
    let mut bench = Bench::new();
    bench.agent.shut_down(bench.now);
    let shutdowns: Vec<_> = sent(&bench.outputs());
    assert_eq!(shutdowns.len(), 4);
    for (_, pdu) in shutdowns {
        assert_eq!((pdu.ttl_s, pdu.system_name, pdu.topology), (0, None, None));
    }
    bench.receive(1, &host(9));
    assert_eq!(sent(&bench.outputs()), []);
    bench.agent.handle_link(bench.now, port(2), false);
    bench.agent.handle_link(bench.now, port(2), true);
    let first =
        bench.wait(10).into_iter().find(|(_, output)| matches!(output, Output::Send { .. }));
    assert_eq!(first.map(|(at, _)| at), Some(2));
}

#[test]
fn a_new_neighbor_gets_a_frame_at_once_though_nothing_changed() {
    let mut bench = Bench::with(LldpSettings { learns: false, ..LldpSettings::default() });
    let (_, outputs) = bench.receive(2, &plain_pdu(8, 120));
    let frames = sent(&outputs);
    assert_eq!(frames.len(), 1);
    assert_eq!((frames[0].0, frames[0].1.topology), (2, None), "levels are not learned here");
    let later: Vec<u64> = bench.wait(5).into_iter().map(|(at, _)| at).collect();
    assert!(later.starts_with(&[1, 2, 3]), "{later:?}");
}

#[test]
fn a_host_has_level_0_whatever_it_receives() {
    let host = LldpSettings { device: Device::EndStation, ..LldpSettings::default() };
    let mut bench = Bench::with(host);
    let (_, outputs) = bench.receive(3, &switch(5, Some(1), Orientation::Downlink));
    let edge = Topology { device: Device::EndStation, level: Some(0), ..Topology::default() };
    let advertised: Vec<_> =
        sent(&outputs).into_iter().filter_map(|(_, pdu)| pdu.topology).collect();
    assert_eq!((advertised, bench.agent.level()), (vec![edge], Some(0)));
    assert_eq!(bench.orientation(3), Orientation::Unknown);
}

#[test]
fn the_advertised_system_can_change() {
    let mut bench = Bench::new();
    bench.agent.set_system(bench.now, system());
    assert_eq!(bench.outputs(), [], "nothing did");
    let renamed = System { name: "other".to_owned(), ..system() };
    bench.agent.set_system(bench.now, renamed);
    let advertised = sent(&bench.outputs());
    assert_eq!(advertised.len(), 4);
    assert!(advertised.iter().all(|(_, pdu)| pdu.system_name.as_deref() == Some("other")));
}
