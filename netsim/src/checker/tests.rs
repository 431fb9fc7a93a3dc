//! Each checker finds what it is there for: a sound network, one thing tampered with.

use crate::builder::NetworkBuilder;
use crate::flow::FlowSpec;
use crate::flow::Way;
use crate::frame::{Pool, SimFrame};
use crate::link::LinkSpec;
use crate::network::Network;
use crate::switch_spec::SwitchSpec;
use dataplane::frame::Frame;
use dataplane::ids::{Priority, Tag};
use dataplane::wire::ipv4::set_tos_and_ttl;

/// Two hosts that overload a third for 100 us: data and PFC on wires, frames in the switch. Switch
/// S is node 0; hosts a, b, c are at its ports 1, 2, 3; wires 2n lead to host n, 2n + 1 from it.
fn network() -> Network {
    let mut builder = NetworkBuilder::new(1);
    let tag = Tag::from_low_bits(1);
    builder.lossless(tag, Priority::from_low_bits(3));
    let switch = builder.switch("S", SwitchSpec::default());
    let hosts = ["a", "b", "c"].map(|name| builder.host(name));
    for (number, host) in (1..).zip(hosts) {
        builder.link(switch.port(number), host, LinkSpec::new(10, 1_000));
    }
    builder.flow(FlowSpec::new(hosts[0], hosts[2], tag));
    let way = Way::Through(vec![switch]);
    builder.flow(FlowSpec { way, ..FlowSpec::new(hosts[1], hosts[2], tag) });
    let mut network = builder.build().unwrap();
    network.run_until(100_000_000);
    network
}

/// What the checkers say of the network after `change`.
fn verdict(change: impl FnOnce(&mut Network)) -> String {
    let mut network = network();
    change(&mut network);
    network.check().map_or_else(|violation| violation.to_string(), |()| "sound".to_owned())
}

/// Changes what is in flight on a wire.
fn edit(network: &mut Network, wire: usize, change: impl FnOnce(&mut Vec<SimFrame>)) {
    let wire = &mut network.parts[0].links.wires[wire];
    let mut frames: Vec<SimFrame> = std::iter::from_fn(|| wire.pop()).collect();
    change(&mut frames);
    frames.into_iter().for_each(|frame| wire.push(frame));
}

#[test]
fn nothing_is_found_where_nothing_is_wrong() {
    assert_eq!(verdict(|_| {}), "sound");
    let network = network();
    assert!(
        network.parts[0].links.wires[4].in_flight().count() > 3,
        "a kilometre holds four frames"
    );
    assert!(network.parts[0].switches[0].worker.totals().held > 20);
}

#[test]
fn a_frame_lost_on_a_wire_or_made_up_is_missed() {
    let lost = verdict(|network| edit(network, 4, |frames| drop(frames.pop())));
    assert!(lost.contains("data frames were sent and"), "{lost}");
    let doubled = verdict(|network| {
        edit(network, 4, |frames| frames.push(Pool::default().copy(&frames[0])));
    });
    assert!(doubled.contains("data frames were sent and"), "{doubled}");
    let lost = verdict(|network| network.parts[0].hosts[0].counters.pfc.tx_frames += 1);
    assert!(lost.contains("PFC frames were sent and"), "{lost}");
}

#[test]
fn a_frame_between_a_wire_and_a_worker_is_missed() {
    let lost = verdict(|network| network.parts[0].switches[0].delivered_frames += 1);
    assert!(lost.starts_with("S: frames delivered and received are "), "{lost}");
}

#[test]
fn frames_out_of_order_or_at_the_wrong_host_are_reported() {
    // Frames of both flows are on the wire to c.
    let swapped = verdict(|network| {
        network.stop_sources();
        edit(network, 4, |frames| {
            let flow = |at: usize| crate::flow::mark(&frames[at]).unwrap().flow;
            let mut pairs = (0..frames.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
            let (a, b) = pairs.find(|&(a, b)| flow(a) == flow(b)).unwrap();
            frames.swap(a, b);
        });
        network.run_for(50_000_000);
    });
    assert!(swapped.starts_with("flow ") && swapped.contains(" after later ones"), "{swapped}");
    let stray = verdict(|network| {
        network.parts[0].flows[0].to = crate::topology::HostId(1);
        network.run_for(50_000_000);
    });
    assert!(stray.starts_with("host c got ") && stray.ends_with(" frames of others"), "{stray}");
}

#[test]
fn a_tag_that_falls_is_reported_with_the_switch_that_sent_it() {
    let fallen = verdict(|network| {
        // A frame from S to c carries tag 1; say that it had tag 2 before.
        while network.parts[0].links.wires[4].first().is_none() {
            network.run_for(1_000_000);
        }
        edit(network, 4, |frames| frames[0].set_tag_rank(2));
        network.run_for(100_000_000);
    });
    assert_eq!(fallen, "S:3 sent a frame with tag 1 that had tag 2");
}

#[test]
fn headroom_that_is_too_small_is_reported_by_port_and_priority() {
    let mut builder = NetworkBuilder::new(1);
    let tag = Tag::from_low_bits(1);
    builder.lossless(tag, Priority::from_low_bits(3));
    let switch = builder.switch("S", SwitchSpec::default());
    let hosts = ["a", "b", "c"].map(|name| builder.host(name));
    for (number, host) in (1..).zip(hosts) {
        builder.link(switch.port(number), host, LinkSpec::new(10, 10));
    }
    for from in [0, 1] {
        builder.flow(FlowSpec::new(hosts[from], hosts[2], tag));
    }
    let mut network = builder.build().unwrap();
    // The cable grows by 10 km after the headroom was worked out: 50 us each way, 125 KB.
    network.parts[0].links.wires.iter_mut().for_each(|wire| wire.delay_ps += 50_000_000);
    network.run_until(1_000_000_000);
    let violation = network.check().unwrap_err().to_string();
    assert!(violation.starts_with("S:1 lost "), "{violation}");
    assert!(violation.ends_with(" lossless frames of priority 3"), "{violation}");
}

#[test]
fn frames_that_a_switch_hands_to_its_control_thread_are_accounted_for_however_many() {
    let mut network = network();
    for _ in 0..400 {
        while network.parts[0].links.wires[1].first().is_none() {
            network.run_for(1_000_000);
        }
        edit(&mut network, 1, |frames| {
            let head = frames[0].head_mut();
            let (tos, ip) = (head[15], head[14..].first_chunk_mut().unwrap());
            set_tos_and_ttl(ip, tos, 1);
        });
        network.run_for(10_000_000);
    }
    let totals = network.parts[0].switches[0].worker.totals();
    assert_eq!((totals.punted, totals.dropped), (400, 0));
    assert_eq!(network.check(), Ok(()));
}
