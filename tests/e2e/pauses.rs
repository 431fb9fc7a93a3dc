//! Pauses from a host: the class they name stops, and no other.

use crate::account::Load;
use crate::lab::{Lab, Setup};
use nix::sys::signal::Signal;
use std::time::Duration;
use switch::control::stats::Stats;

/// How long a process may take to end.
const PATIENCE: Duration = Duration::from_secs(30);

/// 30 + 20 + 10 Mb/s into a port of 100: without pauses nothing would wait. They end when told to.
const FLOWS: &str = "--speed 1G --duration 120s \
    --flow name=three,dst-ip=10.1.3.2,dscp=26,size=1000,rate=30M \
    --flow name=four,dst-ip=10.1.3.2,dscp=34,size=1000,rate=20M \
    --flow name=zero,dst-ip=10.1.3.2,dscp=0,size=1000,rate=10M";

/// `static_th` of both lossless classes.
const XOFF_BYTES: u32 = 200_000;

/// Frames of the classes that are not paused which must pass while class 3 is.
const PASSING: u64 = 500;

/// The switch at the beginning and at the end of a time in which its port 3 was paused in class 3
/// without a break, and in which other classes sent. A pauser that gets no core lets a pause run
/// out: that begins anew.
fn while_paused(lab: &mut Lab) -> (Stats, Stats) {
    let is_paused = |stats: &Stats| stats.ports[2].queues[3].rx_paused;
    let mut begin = lab.switch.stats_when("a pause of class 3", is_paused);
    loop {
        let passed = |stats: &Stats, class: usize| {
            stats.ports[2].tx_frames[class] - begin.ports[2].tx_frames[class]
        };
        let end = lab.switch.stats_when("all that is to happen in a pause", |stats| {
            let others = passed(stats, 4) >= PASSING && passed(stats, 0) >= PASSING;
            !is_paused(stats) || others && stats.ports[0].queues[3].tx_paused
        });
        let elapsed_ns = end.uptime_ns - begin.uptime_ns;
        if end.ports[2].queues[3].rx_paused_for_ns >= elapsed_ns {
            return (begin, end);
        }
        begin = lab.switch.stats_when("another pause of class 3", is_paused);
    }
}

#[test]
fn a_paused_class_stops_and_no_other_does() {
    // h1 may say which lossless class its frames are in.
    let Some(mut lab) = Setup::new().port(1, "trusted = true").start() else { return };
    lab.host(1).ping("10.1.3.2");
    let before = lab.switch.settled();
    let receiver = lab.host(3).recv("");
    let sender = lab.host(1).send(FLOWS);
    // 65,535 quanta last a third of a second at 100 Mb/s.
    let pauser = lab.host(3).pause("--classes 3:65535 --repeat 50ms");
    let (begin, end) = while_paused(&mut lab);
    pauser.signal(Signal::SIGTERM);
    pauser.end(PATIENCE).success();

    let sent = |class: usize| end.ports[2].tx_frames[class] - begin.ports[2].tx_frames[class];
    assert_eq!(sent(3), 0, "class 3 is paused");
    assert!(sent(4) >= PASSING && sent(0) >= PASSING, "{} and {} frames", sent(4), sent(0));
    assert!(!end.ports[2].queues[4].rx_paused && !end.ports[2].queues[0].rx_paused);
    // The pause goes on upstream, in its class alone, once the threshold is reached.
    assert!(end.ports[0].queues[3].tx_paused, "{:?}", end.ports[0].queues[3]);

    lab.host(3).traffic("pfc", "--classes 3:0").end(PATIENCE).success();
    lab.switch.stats_when("class 3 again", |stats| {
        stats.ports[2].tx_frames[3] > end.ports[2].tx_frames[3]
    });
    let sent = vec![sender.stop()];
    let received = receiver.report();
    let load = Load { sent, received, before, after: lab.switch.settled() };
    load.check();
    for name in ["three", "four"] {
        assert_eq!(load.flow(name).0.frames, load.flow(name).1, "{name}");
    }
    // What came while the switch had no core can be too much for the queue of a lossy class.
    let lost = load.flow("zero").1 - load.flow("zero").0.frames;
    let dropped = load.dropped();
    assert_eq!(dropped.values().sum::<u64>(), lost, "{dropped:?}");
    assert!(dropped.keys().all(|&cause| cause == "tail_drop"), "{dropped:?}");
    let upstream = &load.sent[0].priorities;
    assert!(upstream[3].xoff > 0 && upstream[3].paused_ns > 0, "{:?}", upstream[3]);
    assert_eq!(upstream[0].paused_ns, 0);
    // A switch that had no core for a while pauses class 4 for what came meanwhile, and only then.
    let port = &load.after.ports[0];
    assert!(port.pfc.tx_xoff[4] == 0 || port.queues[4].viq_peak_bytes >= XOFF_BYTES, "{port:?}");
    assert!(upstream[4].paused_ns == 0 || port.pfc.tx_xoff[4] > 0, "{:?}", upstream[4]);
    let paused_ns = load.after.ports[2].pfc.rx_paused_ns;
    assert!(paused_ns[3] >= end.uptime_ns - begin.uptime_ns, "{paused_ns:?}");
    assert_eq!(paused_ns.iter().sum::<u64>(), paused_ns[3]);
    lab.stop();
}

#[test]
fn a_pause_of_a_lossy_class_is_not_obeyed() {
    let Some(mut lab) = Setup::new().start() else { return };
    lab.host(1).ping("10.1.3.2");
    let before = lab.switch.settled();
    let receiver = lab.host(3).recv("");
    let pauser = lab.host(3).pause("--classes 0:65535,7:65535 --repeat 20ms");
    let flow = "--duration 120s --flow name=zero,dst-ip=10.1.3.2,dscp=0,size=1000,rate=10M";
    let sender = lab.host(1).send(flow);
    lab.switch.stats_when("ten pauses of lossy classes", |stats| {
        let port = &stats.ports[2];
        port.pfc.rx_ignored[0] > 10 && port.pfc.rx_ignored[7] > 10 && port.tx_frames[0] > PASSING
    });
    let sent = vec![sender.stop()];
    let received = receiver.report();
    pauser.signal(Signal::SIGTERM);
    pauser.end(PATIENCE).success();
    let load = Load { sent, received, before, after: lab.switch.settled() };
    load.check();
    let (flow, sent) = load.flow("zero");
    assert_eq!(flow.frames, sent, "nothing waited until it was too much");
    assert_eq!(load.after.ports[2].pfc.rx_paused_ns, [0; 8]);
    lab.stop();
}
