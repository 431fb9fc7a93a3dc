//! The other ways out of a deadlock on real ports: classes by hops, and gentle flow control, under
//! an overload that loses nothing; and the watchdog, which does.

use crate::account::Load;
use crate::lab::{Lab, Setup};
use nix::sys::signal::Signal;
use std::time::Duration;
use switch::control::stats::Stats;

/// Has h1 and h2 send 60 Mb/s each, which obey pauses of `priority`, to h3, whose port carries 100,
/// for three seconds.
fn overload(lab: &mut Lab, how: &str, priority: u8) -> Load {
    lab.host(1).ping("10.1.3.2");
    lab.host(2).ping("10.1.3.2");
    let before = lab.switch.settled();
    let receiver = lab.host(3).recv("");
    let senders = [1, 2].map(|host| {
        let flow = format!(
            "--flow name=from-{host},dst-ip=10.1.3.2,dscp=26,priority={priority},size=1000,rate=60M"
        );
        lab.host(host).send(&format!("--speed 1G --duration 3s {how} {flow}"))
    });
    let sent = senders.map(crate::host::Sender::report).into();
    let received = receiver.report();
    Load { sent, received, before, after: lab.switch.settled() }
}

/// What hosts send with TTL 64 is class 1 here, priority 3; that is what waits and what leaves, and
/// upstream is told to stop class 0, priority 1.
#[test]
fn classes_by_hops_lose_nothing_in_an_overload() {
    // DSCP 26 says lossless.
    let setup = Setup::by_hops();
    let Some(mut lab) = setup.start() else { return };
    let load = overload(&mut lab, "", 1);
    load.check();
    assert!(load.dropped().is_empty(), "{:?}", load.dropped());
    for (port, sent) in load.after.ports.iter().zip(&load.sent) {
        let came = port.rx_frames[3];
        assert!(came == sent.frames && port.queues[3].lossless, "{:?}", port.rx_frames);
        assert!(port.pfc.tx_xoff[1] > 0 && port.pfc.tx_xoff[3] == 0, "{:?}", port.pfc);
        assert!(sent.priorities[1].xoff > 0, "{:?}", sent.priorities[1]);
    }
    let left = load.after.ports[2].tx_frames[3];
    assert_eq!(left, load.received.frames, "{:?}", load.after.ports[2].tx_frames);
    lab.stop();
}

/// Senders that obey rates hardly ever have to stop: only where the machine does not wake one
/// within the time that the switch was told of, which then costs a pause and no frame. PFC alone
/// would pause them for a sixth of the time.
#[test]
fn gentle_flow_control_loses_nothing_in_an_overload_and_slows_instead_of_stopping() {
    let Some(mut lab) = Setup::gfc().start() else { return };
    let load = overload(&mut lab, "--gfc", 3);
    load.check();
    assert!(load.dropped().is_empty(), "{:?}", load.dropped());
    for (port, sent) in load.after.ports.iter().zip(&load.sent) {
        assert!(port.pfc.tx_slowed[3] > 0, "{:?}", port.pfc);
        assert!(port.pfc.tx_slowed[3] > 10 * port.pfc.tx_xoff[3], "{:?}", port.pfc);
        let paused_ns = sent.priorities[3].paused_ns;
        assert!(paused_ns * 10 < sent.elapsed_ns, "{:?}", sent.priorities[3]);
    }
    let [one, two] = ["from-1", "from-2"].map(|name| load.flow(name).0.frames);
    assert!(one < 3 * two && two < 3 * one, "{one} and {two} frames: both got through");
    lab.stop();
}

/// h3 pauses without end: after 300 ms what waits for it is dropped, and h1 can go on.
#[test]
fn a_watchdog_drops_what_waits_for_a_host_that_pauses_without_end() {
    let watchdog = "[watchdog]\ndetection_time = \"300ms\"\nrestoration_time = \"300ms\"\n";
    let setup = Setup::new().head(watchdog).port(1, "trusted = true");
    let Some(mut lab) = setup.start() else { return };
    lab.host(1).ping("10.1.3.2");
    let pauser = lab.host(3).pause("--classes 3:65535 --repeat 50ms");
    lab.switch.stats_when("the pause", |stats| stats.ports[2].queues[3].rx_paused);
    let flows = "--flow name=three,dst-ip=10.1.3.2,dscp=26,size=1000,rate=30M \
                 --flow name=four,dst-ip=10.1.3.2,dscp=34,size=1000,rate=20M";
    let sender = lab.host(1).send(&format!("--speed 1G --duration 120s {flows}"));
    let dropped = |stats: &Stats| stats.ports[2].drops.get("watchdog").copied().unwrap_or_default();
    let during = lab.switch.stats_when("a storm, and frames that it does not stop", |stats| {
        let is_free = !stats.ports[0].queues[3].tx_paused;
        is_free && dropped(stats) > 500 && stats.ports[2].tx_frames[4] > 500
    });
    assert!(during.ports[2].queues[3].stormed && !during.ports[2].queues[4].stormed);
    drop(sender.stop());
    pauser.signal(Signal::SIGTERM);
    pauser.end(Duration::from_secs(30)).success();
    lab.host(3).traffic("pfc", "--classes 3:0").end(Duration::from_secs(30)).success();
    lab.switch.stats_when("the end of the storm", |stats| stats.ports[2].pfc.restored[3] > 0);
    let after = lab.switch.settled();
    let port = &after.ports[2];
    assert_eq!((port.pfc.storms[3], port.pfc.restored[3], port.pfc.storms[4]), (1, 1, 0));
    assert_eq!(after.ports[0].drops.get("watchdog"), None);
    lab.stop();
}
