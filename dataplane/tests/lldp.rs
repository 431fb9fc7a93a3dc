//! LLDP at a worker: handed on, and no more of it than a neighbor needs to send; data beside it
//! does not notice.

use dataplane::counters::DropReason;
use dataplane::punt::PuntReason;
use dataplane::testing::wire::Udp;
use dataplane::testing::{Rig, RigBuilder};
use dataplane::wire::{MacAddress, ethernet};

const SECOND_NS: u64 = 1_000_000_000;

fn lldp() -> Vec<u8> {
    let mut frame = [&MacAddress::LLDP.0[..], &[2, 0xBA, 0xD0, 0, 0, 1]].concat();
    frame.extend(ethernet::LLDP.to_be_bytes());
    frame.resize(60, 0);
    frame
}

/// What the control thread was handed.
fn punted(rig: &mut Rig) -> Vec<PuntReason> {
    let mut all = Vec::new();
    while let Ok(punted) = rig.control[0].punted.pop() {
        all.push(punted.reason);
    }
    all
}

#[test]
fn lldp_is_handed_on_by_routed_and_bridged_ports_alike() {
    for builder in [RigBuilder::routed(2), RigBuilder::bridged(2)] {
        let mut rig = builder.build();
        rig.arrive(1, &lldp());
        rig.settle();
        assert_eq!(punted(&mut rig), [PuntReason::Lldp]);
        assert_eq!(
            rig.counters(),
            ["p1 rx_frames[0] = 1", "p1 rx_bytes[0] = 60", "p1 punted_frames = 1"]
        );
    }
}

#[test]
fn a_flood_ends_at_its_port_and_data_and_other_ports_do_not_notice() {
    let mut rig = RigBuilder::routed(3).build();
    let data = Udp::routed(1, 3, 26).bytes();
    for number in 0..1_000 {
        rig.arrive(1, &lldp());
        rig.arrive(1, &data);
        if number % 16 == 15 {
            rig.turn();
        }
    }
    rig.arrive(2, &lldp());
    rig.settle();
    assert_eq!(rig.sent(3).len(), 1_000);
    assert_eq!(punted(&mut rig).len(), 33, "32 of the flood, and the other port's");
    assert_eq!(rig.dropped(1, DropReason::PuntPoliced), 968);
    assert_eq!(rig.dropped(2, DropReason::PuntPoliced), 0);
    let totals = rig.totals();
    assert_eq!(
        (totals.dropped, totals.punted, totals.sent, totals.imbalance()),
        (968, 33, 1_000, 0)
    );
    // A second later a neighbor is heard again.
    rig.wait(SECOND_NS);
    (0..40).for_each(|_| rig.arrive(1, &lldp()));
    rig.settle();
    assert_eq!(punted(&mut rig).len(), 32);
}
