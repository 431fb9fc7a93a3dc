//! Pauses from a host: the class they name stops, and no other.

use crate::account::Load;
use crate::lab::Setup;
use nix::sys::signal::Signal;
use std::time::Duration;

/// 30 + 20 + 10 Mb/s into a port of 100: without pauses nothing would wait.
const FLOWS: &str = "--speed 1G --duration 5s \
    --flow name=three,dst-ip=10.1.3.2,dscp=26,size=1000,rate=30M \
    --flow name=four,dst-ip=10.1.3.2,dscp=34,size=1000,rate=20M \
    --flow name=zero,dst-ip=10.1.3.2,dscp=0,size=1000,rate=10M";

#[test]
fn a_paused_class_stops_and_no_other_does() {
    // h1 may say which lossless class its frames are in.
    let Some(mut lab) = Setup::new().port(1, "trusted = true").start() else { return };
    lab.host(1).ping("10.1.3.2");
    let before = lab.switch.settled();
    let sink = lab.host(3).sink("");
    let sender = lab.host(1).send(FLOWS);
    // 65,535 quanta last a third of a second at 100 Mb/s.
    let pauser = lab.host(3).traffic("pfc", "--classes 3:65535 --repeat 50ms");
    std::thread::sleep(Duration::from_millis(700));
    let begin = lab.switch.stats();
    std::thread::sleep(Duration::from_millis(1_500));
    let end = lab.switch.stats();
    pauser.signal(Signal::SIGTERM);
    pauser.end(Duration::from_secs(5)).success();

    let sent = |class: usize| end.ports[2].tx_frames[class] - begin.ports[2].tx_frames[class];
    assert_eq!(sent(3), 0, "class 3 is paused");
    // 2,500 and 1,250 frames a second, if the machine lets them.
    assert!(sent(4) > 1_000 && sent(0) > 500, "{} and {} frames", sent(4), sent(0));
    assert!(end.ports[2].queues[3].rx_paused && !end.ports[2].queues[4].rx_paused);
    // The pause goes on upstream, in its class alone, once the threshold is reached.
    assert!(end.ports[0].queues[3].tx_paused, "{:?}", end.ports[0].queues[3]);
    assert_eq!(end.ports[0].pfc.tx_xoff[4], 0);

    lab.host(3).traffic("pfc", "--classes 3:0").end(Duration::from_secs(5)).success();
    let sent = vec![sender.report()];
    let received = sink.report();
    let load = Load { sent, received, before, after: lab.switch.settled() };
    load.check();
    assert!(load.dropped().is_empty(), "nothing was too much: {:?}", load.dropped());
    let upstream = &load.sent[0].priorities;
    assert!(upstream[3].paused_ns > 1_000_000_000, "{:?}", upstream[3]);
    assert_eq!((upstream[4].paused_ns, upstream[0].paused_ns), (0, 0));
    let paused_ns = load.after.ports[2].pfc.rx_paused_ns;
    assert!(paused_ns[3] > 1_500_000_000, "{paused_ns:?}");
    assert_eq!(paused_ns.iter().sum::<u64>(), paused_ns[3]);
    lab.stop();
}

#[test]
fn a_pause_of_a_lossy_class_is_not_obeyed() {
    let Some(mut lab) = Setup::new().start() else { return };
    lab.host(1).ping("10.1.3.2");
    let before = lab.switch.settled();
    let sink = lab.host(3).sink("");
    let pauser = lab.host(3).traffic("pfc", "--classes 0:65535,7:65535 --repeat 20ms");
    let flow = "--duration 1s --flow name=zero,dst-ip=10.1.3.2,dscp=0,size=1000,rate=10M";
    let sent = vec![lab.host(1).send(flow).report()];
    let received = sink.report();
    pauser.signal(Signal::SIGTERM);
    pauser.end(Duration::from_secs(5)).success();
    let load = Load { sent, received, before, after: lab.switch.settled() };
    load.check();
    let (flow, sent) = load.flow("zero");
    assert_eq!(flow.frames, sent, "nothing waited until it was too much");
    let pfc = &load.after.ports[2].pfc;
    assert!(pfc.rx_ignored[0] > 10 && pfc.rx_ignored[7] > 10, "{pfc:?}");
    assert_eq!(pfc.rx_paused_ns, [0; 8]);
    lab.stop();
}
