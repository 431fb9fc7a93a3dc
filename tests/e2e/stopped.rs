//! A switch that is stopped for a while, on devices that are no taps: a file that has no end, and a
//! ring whose one end is its other. (Taps: `examples`.)

use crate::can_run;
use crate::lab::knotless;
use crate::namespace::Namespace;
use crate::switch::Switch;
use nix::sys::signal::Signal;
use std::time::Duration;
use switch::control::stats::Stats;

/// What a `net_ring` holds.
const RING_FRAMES: u64 = 1_023;
/// Bytes of a frame, without FCS.
const FRAME_BYTES: u8 = 200;

/// Port 1 reads a file again and again; all of it is lossless, and for a station that nobody knows.
/// So it is flooded: to port 2, whose ring brings it back, and to port 3, which is slow. What comes
/// back is flooded once more. Both ports 1 and 2 bring more than port 3 takes.
const SWITCH: &str = r#"
name = "stopped"
[buffer]
size = "4MB"
[[lossless]]
priority = 3
[workers]
idle = "sleep"
[memory]
hugepages = "never"
[[port]]
device = "net_pcap0,rx_pcap=in.pcap,infinite_rx=1"
vlan = 10
classify = "port"
default_tag = 3
[[port]]
device = "net_ring0"
vlan = 10
classify = "port"
default_tag = 3
[[port]]
device = "net_null0,no-rx=1"
speed = "400M"
vlan = 10
classify = "port"
default_tag = 3
"#;

/// 64 frames from as many stations.
fn frames() -> Vec<Vec<u8>> {
    let frame = |station| {
        let mut frame = vec![0; usize::from(FRAME_BYTES)];
        frame[..14].copy_from_slice(&[2, 9, 9, 9, 9, 9, 2, 1, 1, 1, 1, station, 0x88, 0xB5]);
        frame
    };
    (0..64).map(frame).collect()
}

#[test]
fn nothing_lossless_is_lost_on_files_and_rings_when_the_switch_is_stopped_for_a_while() {
    if !can_run() {
        return;
    }
    let directory = tempfile::tempdir().expect("there is room");
    let file = directory.path().join("in.pcap");
    tests::pcap::write_frames(&file, &frames()).expect("the directory is ours");
    let namespace = Namespace::new();
    let toml = SWITCH.replace("in.pcap", file.to_str().expect("a path of ours"));
    let mut switch = Switch::start(knotless(), &namespace, directory.path(), "stopped", &toml);
    let came = |stats: &Stats, port: usize| stats.ports[port].rx_frames[3];
    let mut before = switch.stats_when("frames", |stats| came(stats, 1) > 1_000);
    for _ in 0..5 {
        switch.signal(Signal::SIGSTOP);
        std::thread::sleep(Duration::from_millis(100));
        switch.signal(Signal::SIGCONT);
        before = switch.stats_when("more frames", |stats| {
            (0..2).all(|port| came(stats, port) > came(&before, port) + 1_000)
        });
    }
    let after = switch.stats();
    assert_eq!(after.lossless_dropped(), 0, "{:?}", after.lossless_drops_by_cause());
    assert_eq!((after.totals.dropped, after.totals.imbalance), (0, 0), "{:?}", after.totals);
    let paused = |port: usize| after.ports[port].pfc.tx_xoff[3] > 0;
    assert!(paused(0) && paused(1), "nobody was paused, so nothing was tested");
    // The ring, which the switch does not count, has what was sent there and has not come back.
    let ring = &after.ports[1];
    let in_ring = ring.tx_frames[3].checked_sub(ring.rx_frames[3]);
    assert!(in_ring.is_some_and(|frames| frames <= RING_FRAMES), "{in_ring:?} frames in the ring");
    switch.signal(Signal::SIGTERM);
    let ended = switch.end();
    assert!(ended.stdout.contains("imbalance 0"), "{}", ended.stdout);
    ended.success();
}
