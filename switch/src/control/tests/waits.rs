//! Queues that the peer has paused, and the pauses that follow upstream.

use super::{Rig, bridged};
use crate::control::stats::Origin;
use dataplane::testing::wire::Udp;

/// Three bridged ports, `b` with a worker of its own.
fn rig() -> Rig {
    Rig::new(&(bridged(3, "") + "[workers]\ncount = 2\n"))
}

/// `count` frames of 1,000 bytes to the host behind port 2, whose address is known by now.
fn load(rig: &mut Rig, from: u8, count: u32) {
    for sequence in 0..count {
        let frame = Udp { frame_bytes: 1_000, sequence, ..Udp::bridged(from, 2, 3) };
        rig.arrive(from.into(), &frame.bytes());
        rig.turn();
    }
    rig.turns(4);
}

#[test]
fn a_paused_queue_lists_its_ingress_ports_and_whether_they_pause_their_peers() {
    let mut rig = rig();
    rig.turns(3);
    rig.arrive(2, &Udp::bridged(2, 1, 0).bytes());
    rig.turns(3);
    load(&mut rig, 1, 1);
    assert_eq!(rig.stats().waits, [], "nothing is paused");
    rig.pause(2, 0xFFFF);
    rig.turns(3);
    assert_eq!(rig.stats().waits, [], "nothing waits");

    load(&mut rig, 1, 9);
    load(&mut rig, 3, 2);
    let stats = rig.stats();
    let [wait] = &stats.waits[..] else { panic!("one queue: {:?}", stats.waits) };
    assert_eq!((wait.port, wait.name.as_str(), wait.priority), (2, "b", 3));
    assert_eq!((wait.frames, wait.bytes, wait.has_more_origins), (11, 11_000, false));
    assert!(wait.paused_for_ns > 0);
    let [a, c] = &wait.origins[..] else { panic!("two ports: {:?}", wait.origins) };
    assert_eq!((a.port, a.name.as_str(), a.priority, a.paused), (1, "a", 3, true));
    assert!((1..wait.paused_for_ns).contains(&a.paused_for_ns), "{a:?}");
    let below_xoff = Origin { port: 3, name: "c".to_owned(), priority: 3, ..Origin::default() };
    assert_eq!(*c, below_xoff);

    rig.pause(2, 0);
    rig.turns(4);
    assert_eq!(rig.stats().waits, []);
}
