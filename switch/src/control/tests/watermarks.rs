//! Watermarks, read and cleared by kind, and the peaks of the statistics beside them.

use super::{Rig, bridged};
use crate::control::protocol::{Reply, Request};
use crate::control::watermarks::{WatermarkKind, Watermarks};
use dataplane::testing::wire::Udp;

/// Two bridged ports: 2,000 bytes for each group, XOFF above 5,000.
fn rig() -> Rig {
    Rig::new(&bridged(2, "size = \"2KB\""))
}

fn pause(rig: &mut Rig, quanta: u16) {
    rig.pause(2, quanta);
    rig.turns(3);
}

/// `count` frames of 1,000 bytes for the station behind `b`.
fn load(rig: &mut Rig, count: u32) {
    for sequence in 0..count {
        rig.arrive(1, &Udp { frame_bytes: 1_000, sequence, ..Udp::bridged(1, 2, 3) }.bytes());
    }
    rig.turns(4);
}

fn watermarks(rig: &mut Rig, kind: WatermarkKind, clear: bool) -> Watermarks {
    match rig.ask(Request::Watermarks { kind, clear }) {
        Reply::Watermarks(watermarks) => watermarks,
        other => panic!("{other:?}"),
    }
}

/// Each port's group shared, group headroom and queue, of class 3.
fn rows(watermarks: &Watermarks) -> Vec<(&str, [u32; 3])> {
    let of_class = watermarks.queues.iter().filter(|row| row.priority == 3);
    let bytes = of_class.map(|row| {
        let all = [row.group_shared_bytes, row.group_headroom_bytes, row.queue_bytes];
        (row.port.as_str(), all)
    });
    bytes.collect()
}

#[test]
fn each_kind_of_watermark_is_cleared_by_itself() {
    use WatermarkKind::{Persistent, User};
    let mut rig = rig();
    rig.turns(3);
    rig.arrive(2, &Udp::bridged(2, 1, 0).bytes());
    rig.turns(3);
    assert_eq!(rows(&watermarks(&mut rig, User, false)), []);

    pause(&mut rig, 0xFFFF);
    load(&mut rig, 4);
    let read = watermarks(&mut rig, User, false);
    assert_eq!(rows(&read), [("a", [2_000, 0, 0]), ("b", [0, 0, 4_000])]);
    let pool = read.ingress_lossless_pool;
    assert_eq!((pool.bytes, pool.headroom_bytes), (2_000, 0));
    load(&mut rig, 5);
    let full = [("a", [3_000, 4_000, 0]), ("b", [0, 0, 9_000])];
    assert_eq!(rows(&watermarks(&mut rig, User, false)), full);

    // They stay until they are cleared, and are told once more then.
    pause(&mut rig, 0);
    assert_eq!(rows(&watermarks(&mut rig, User, true)), full);
    assert_eq!(rows(&watermarks(&mut rig, User, false)), []);
    assert_eq!(rows(&watermarks(&mut rig, Persistent, false)), full);

    pause(&mut rig, 0xFFFF);
    load(&mut rig, 3);
    let new = [("a", [1_000, 0, 0]), ("b", [0, 0, 3_000])];
    assert_eq!(rows(&watermarks(&mut rig, User, true)), new);
    // What is held when they are cleared counts from the start.
    assert_eq!(rows(&watermarks(&mut rig, User, false)), new);
    assert_eq!(rows(&watermarks(&mut rig, Persistent, true)), full);
    assert_eq!(rows(&watermarks(&mut rig, Persistent, false)), new);

    // The statistics go on from the start.
    let stats = rig.stats();
    let queues = [0, 1].map(|port: usize| stats.ports[port].queues[3]);
    assert_eq!((queues[0].viq_peak_bytes, queues[0].headroom_peak_bytes), (9_000, 4_000));
    assert_eq!((queues[0].shared_peak_bytes, queues[1].veq_peak_bytes), (3_000, 9_000));
    assert_eq!((stats.buffer.shared_peak_bytes, stats.buffer.headroom_peak_bytes), (3_000, 4_000));
}
