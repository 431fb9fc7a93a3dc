//! What cannot be built is refused, with what is wrong and what would be right.

use crate::support::{US, lossless_network, tag};
use netsim::builder::NetworkBuilder;
use netsim::flow::FlowSpec;
use netsim::flow::Way;
use netsim::link::LinkSpec;
use netsim::switch_spec::SwitchSpec;
use netsim::topology::{HostId, SwitchId};

const LINK: LinkSpec = LinkSpec::new(10, 10);

/// Switches S and T, linked, and hosts a at S and b at T; `change` breaks it. Why it cannot be
/// built.
fn refused(change: impl FnOnce(&mut NetworkBuilder, [SwitchId; 2], [HostId; 2])) -> Option<String> {
    let mut builder = lossless_network(1, 1);
    let switches = ["S", "T"].map(|name| builder.switch(name, SwitchSpec::default()));
    let hosts = ["a", "b"].map(|name| builder.host(name));
    builder.link(switches[0].port(1), switches[1].port(1), LINK);
    builder.link(switches[0].port(2), hosts[0], LINK);
    builder.link(switches[1].port(2), hosts[1], LINK);
    change(&mut builder, switches, hosts);
    builder.build().err().map(|error| error.to_string())
}

#[test]
fn every_mistake_is_named() {
    type Change = fn(&mut NetworkBuilder, [SwitchId; 2], [HostId; 2]);
    let cases: [(Change, &str); 11] = [
        (|b, [s, t], _| b.link(s.port(3), t.port(1), LINK), "T:1 has two links; a port has one"),
        (|b, [s, t], _| b.link(s.port(3), t.port(0), LINK), "T has no port 0; ports are 1 to 256"),
        (|b, [s, _], [a, _]| b.link(s.port(3), a, LINK), "host a has two links; a host has one"),
        (|b, _, [a, c]| b.link(a, c, LINK), "host a is linked to a host; link it to a switch"),
        (
            |b, _, _| {
                b.host("d");
            },
            "host d has no link; link it to a switch",
        ),
        (
            |b, _, [a, c]| {
                b.flow(FlowSpec { frame_bytes: 59, ..FlowSpec::new(a, c, tag(1)) });
            },
            "a frame of 59 bytes; this network carries 60 to 1514",
        ),
        (
            |b, _, [a, _]| {
                let (island, castaway) = (b.switch("I", SwitchSpec::default()), b.host("d"));
                b.link(island.port(1), castaway, LINK);
                b.flow(FlowSpec::new(a, castaway, tag(1)));
            },
            "there is no way from host a to host d",
        ),
        (
            |b, [s, _], [a, c]| {
                b.flow(FlowSpec { way: Way::Through(vec![s]), ..FlowSpec::new(a, c, tag(1)) });
            },
            "a way from host a to host b must begin at S and end at T",
        ),
        (
            |b, [s, t], [a, c]| {
                let way = Way::Through(vec![s, t, s, t]);
                b.flow(FlowSpec { way, ..FlowSpec::new(a, c, tag(1)) });
            },
            "a way goes through S twice; a switch sends a flow one way only",
        ),
        (
            |b, [s, t], [a, c]| {
                let island = b.switch("I", SwitchSpec::default());
                let way = Way::Through(vec![s, island, t]);
                b.flow(FlowSpec { way, ..FlowSpec::new(a, c, tag(1)) });
            },
            "a way leads from S to I, which are not linked",
        ),
        (
            |b, [s, _], _| {
                let small = SwitchSpec { buffer_bytes: 3_040_000, ..SwitchSpec::default() };
                let tight = b.switch("U", small);
                b.link(tight.port(1), s.port(3), LINK);
                b.link(tight.port(3), s.port(4), LINK);
            },
            // Two ports, each 1,514 B of reserve and 85 cells of headroom: eq. 14 is 7,121 B here.
            "U promises 3046548 bytes in reserves, headrooms and for lossy traffic, of a buffer of \
             3040000; give it 6548 more",
        ),
    ];
    for (change, expected) in cases {
        assert_eq!(refused(change).as_deref(), Some(expected));
    }
    assert_eq!(refused(|_, _, _| {}), None, "and what is right is built");
}

#[test]
fn ports_between_may_have_no_link_and_are_down() {
    let mut builder = lossless_network(1, 1);
    let switch = builder.switch("S", SwitchSpec::default());
    let [a, b] = ["a", "b"].map(|name| builder.host(name));
    builder.link(switch.port(2), a, LINK);
    builder.link(switch.port(5), b, LINK);
    let flow = builder.flow(FlowSpec::new(a, b, tag(1)));
    let mut network = builder.build().unwrap();
    network.run_until(100 * US);
    let up: Vec<bool> = network.switch(switch).ports.iter().map(|port| port.up).collect();
    assert_eq!(up, [false, true, false, false, true]);
    assert!(network.flow(flow).received_frames > 70);
    assert_eq!(network.check(), Ok(()));
}
