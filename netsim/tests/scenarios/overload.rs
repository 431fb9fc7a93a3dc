//! More is sent than fits: lossless traffic is paused and arrives whole, lossy traffic is dropped
//! by name, and neither harms the other.

use crate::support::{MS, US, drops, lossless_network, megabits, port_of, run_checked, tag};
use config::headroom::{Link, standard};
use dataplane::time::Speed;
use netsim::builder::NetworkBuilder;
use netsim::flow::{FlowSpec, Pace};
use netsim::link::LinkSpec;
use netsim::sink::Drain;
use netsim::switch_spec::SwitchSpec;
use netsim::topology::SwitchId;

/// A switch with hosts a, b and c at ports 1, 2 and 3.
fn star(builder: &mut NetworkBuilder, link: LinkSpec) -> (SwitchId, [netsim::topology::HostId; 3]) {
    let switch = builder.switch("S", SwitchSpec::default());
    let hosts = ["a", "b", "c"].map(|name| builder.host(name));
    for (number, host) in (1..).zip(hosts) {
        builder.link(switch.port(number), host, link);
    }
    (switch, hosts)
}

#[test]
fn two_hosts_overload_a_third_and_every_frame_arrives() {
    let link = LinkSpec::new(10, 300);
    let mut builder = lossless_network(1, 1);
    let (switch, [a, b, c]) = star(&mut builder, link);
    let flows = [a, b].map(|from| builder.flow(FlowSpec::new(from, c, tag(1))));
    let mut network = builder.build().unwrap();

    run_checked(&mut network, 4 * MS, 100 * US);

    // 1,514 of every 1,538 bytes on the wire, shared to the frame.
    let received = flows.map(|flow| network.flow(flow).received_bytes);
    let gigabits = megabits(received.iter().sum(), 4 * MS);
    assert!((9_800..=9_844).contains(&gigabits), "{gigabits} Mb/s of 9,844");
    assert!(received[0].abs_diff(received[1]) < received[0] / 10, "{received:?}");
    assert_eq!(drops(&network, switch), []);
    let needed = standard(&Link::new(link.speed, link.length, 1_514));
    for (number, host) in [(1, a), (2, b)] {
        let port = port_of(&network, switch, number);
        assert!(port.counters.pfc.tx_pauses[3] > 10, "{:?}", port.counters.pfc);
        assert_eq!(port.counters.pfc.tx_frames, network.host(host).pfc.rx_frames);
        assert_eq!(
            port.counters.pfc.tx_xoff[3] + port.counters.pfc.tx_xon[3],
            port.counters.pfc.tx_frames
        );
        // What is on its way when XOFF goes out is there, and no more than eq. 14 says: the hosts
        // react at once, so not even the 60 quanta of it.
        let peak = u64::from(port.queues[3].headroom_peak_bytes);
        assert!(peak >= 3_000 && peak <= needed - 60 * 64, "{peak} of {needed} B");
        assert!(port.queues[3].viq_peak_bytes > 40_000);
    }
    assert_eq!(port_of(&network, switch, 3).counters.pfc.tx_frames, 0, "c sends nothing");

    network.drain(MS).unwrap();
    network.check().unwrap();
    for flow in flows {
        assert_eq!(network.flow(flow).missing_frames(), 0);
        assert!(network.flow(flow).sent_frames > 1_500);
    }
    let paused = port_of(&network, switch, 1).queues[3];
    assert!(!paused.tx_paused && paused.viq_bytes == 0 && paused.headroom_bytes == 0);
}

#[test]
fn a_slow_receiver_pauses_the_switch_and_the_switch_its_sender() {
    let mut builder = lossless_network(1, 1);
    let (switch, [a, b, c]) = star(&mut builder, LinkSpec::new(10, 10));
    let drain = Drain {
        speed: Some(Speed::from_gbps(4)),
        xoff_bytes: 60_000,
        xon_bytes: 50_000,
        capacity_bytes: 70_000,
    };
    builder.slow_down(c, drain);
    let slow = builder.flow(FlowSpec::new(a, c, tag(1)));
    let fast = builder.flow(FlowSpec::new(b, a, tag(1)));
    let mut network = builder.build().unwrap();
    run_checked(&mut network, 4 * MS, 100 * US);

    let gigabits = megabits(network.flow(slow).received_bytes, 4 * MS);
    assert!((3_900..=4_200).contains(&gigabits), "{gigabits} Mb/s into 4 Gb/s and a buffer");
    let untouched = megabits(network.flow(fast).received_bytes, 4 * MS);
    assert!(untouched > 9_800, "{untouched} Mb/s of a flow that shares nothing");
    let towards_c = port_of(&network, switch, 3).counters.pfc;
    assert!(towards_c.rx_pauses[3] > 10 && towards_c.rx_paused_ns[3] > 1_000_000, "{towards_c:?}");
    assert_eq!(towards_c.rx_frames, network.host(c).pfc.tx_frames);
    assert!(network.host(a).pfc.rx_pauses[3] > 10);
    assert_eq!(network.host(b).pfc.rx_frames, 0);
    network.drain(MS).unwrap();
    network.check().unwrap();
    assert_eq!(network.flow(slow).missing_frames(), 0);
}

#[test]
fn a_receiver_with_too_little_room_loses_frames_and_the_checker_says_so() {
    let mut builder = lossless_network(1, 1);
    let (_, [a, _, c]) = star(&mut builder, LinkSpec::new(10, 300));
    let drain = Drain {
        speed: Some(Speed::from_gbps(4)),
        xoff_bytes: 60_000,
        xon_bytes: 50_000,
        capacity_bytes: 62_000,
    };
    builder.slow_down(c, drain);
    builder.flow(FlowSpec::new(a, c, tag(1)));
    let mut network = builder.build().unwrap();
    network.run_until(MS);
    let violation = network.check().unwrap_err().to_string();
    assert!(violation.starts_with("host c lost "), "{violation}");
}

#[test]
fn lossy_overload_is_dropped_by_name_beside_lossless_traffic_that_is_not() {
    let mut builder = lossless_network(1, 1);
    let (switch, [a, b, c]) = star(&mut builder, LinkSpec::new(10, 10));
    let lossless = builder.flow(FlowSpec::new(a, c, tag(1)));
    let lossy = [a, b].map(|from| builder.flow(FlowSpec::new(from, c, tag(0))));
    let mut network = builder.build().unwrap();
    run_checked(&mut network, 6 * MS, 500 * US);

    // Two priorities, equal quanta: half the wire each.
    let half = megabits(network.flow(lossless).received_bytes, 6 * MS);
    assert!((4_850..=5_000).contains(&half), "{half} Mb/s");
    network.drain(MS).unwrap();
    network.check().unwrap();
    let missing: u64 = lossy.iter().map(|&flow| network.flow(flow).missing_frames()).sum();
    assert!(missing > 1_000, "{missing}");
    assert_eq!(drops(&network, switch), [("tail_drop", missing)]);
    assert_eq!(network.flow(lossless).missing_frames(), 0);
    assert_eq!(port_of(&network, switch, 2).counters.pfc.tx_frames, 0, "b sends lossy frames only");
}

#[test]
fn an_open_loop_below_the_wire_never_pauses_and_arrives_at_its_rate() {
    let mut builder = lossless_network(5, 1);
    let (switch, [a, b, c]) = star(&mut builder, LinkSpec::new(10, 10));
    let mut paced = |from, pace| {
        builder.flow(FlowSpec { pace, frame_bytes: 600, ..FlowSpec::new(from, c, tag(1)) })
    };
    let steady = paced(a, Pace::Steady(Speed::from_gbps(3)));
    let random = paced(b, Pace::Random(Speed::from_gbps(3)));
    let mut network = builder.build().unwrap();
    run_checked(&mut network, 10 * MS, MS);
    // 624 bytes on the wire for 600: 1.664 us a frame. The first is due at 0; the last two have not
    // arrived yet.
    assert_eq!(network.flow(steady).sent_frames, 10_000_000_000_u64.div_ceil(1_664_000));
    let random = network.flow(random).sent_frames;
    assert!(random.abs_diff(6_010) < 200 && random != 6_010, "{random}");
    assert_eq!(port_of(&network, switch, 1).counters.pfc.tx_frames, 0);
    assert_eq!(network.drain(MS).map(|_| network.frames_inside()), Ok(0));
}
