//! Queues that the peer has paused or that wait for their own rate, and the pauses that follow
//! upstream.

use super::{Rig, bridged};
use crate::control::protocol::{Reply, Request};
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

/// A reload gives a running queue a peak rate: its frames wait for that, and no peer does.
#[test]
fn a_queue_that_waits_for_its_own_rate_is_listed_as_one_that_no_peer_pauses() {
    let text = bridged(3, "");
    let mut rig = Rig::new(&text);
    rig.turns(3);
    rig.arrive(2, &Udp::bridged(2, 1, 0).bytes());
    rig.turns(3);
    // A frame of 1,004 octets is 803 ms at 10 kb/s.
    let shaper = "[[shaper]]\npriority = 3\nports = ['b']\npeak_rate = '10k'\npeak_burst = 0\n";
    rig.write(&format!("{text}{shaper}"));
    assert!(matches!(rig.ask(Request::Reload), Reply::Reloaded(_)));
    load(&mut rig, 1, 9);
    let stats = rig.stats();
    let [wait] = &stats.waits[..] else { panic!("one queue: {:?}", stats.waits) };
    assert_eq!((wait.port, wait.priority, wait.frames), (2, 3, 8));
    assert_eq!((wait.own_rate, wait.paused_for_ns), (true, 0));
    let [a] = &wait.origins[..] else { panic!("one port: {:?}", wait.origins) };
    assert_eq!((a.port, a.paused), (1, true), "its senders are paused");
    let (port, queue) = (&stats.ports[1], &stats.ports[1].queues[3]);
    assert_eq!((port.peak_rate_used_up[3], queue.peak_limited), (1, true));
    rig.write(&text);
    assert!(matches!(rig.ask(Request::Reload), Reply::Reloaded(_)));
    rig.turns(4);
    let stats = rig.stats();
    assert_eq!((stats.waits.len(), stats.ports[1].tx_frames[3]), (0, 9));
    rig.assert_balanced();
}
