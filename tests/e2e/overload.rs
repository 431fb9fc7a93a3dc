//! Two hosts send twice what the port of a third carries.

use crate::account::Load;
use crate::lab::{Lab, Setup};
use crate::load_seconds;
use crate::pfc_frames::{Capture, PfcSeen};
use switch::control::stats::Stats;

/// One lossless and one lossy flow of a host to h3: at 160 + 120 Mb/s for two hosts, nearly three
/// times what h3's port carries.
fn flows(host: usize) -> String {
    format!(
        "--flow name=lossless-{host},dst-ip=10.1.3.2,dscp=26,size=1000,rate=80M \
         --flow name=lossy-{host},dst-ip=10.1.3.2,dscp=0,size=1000,rate=60M"
    )
}

/// Has h1 and h2 overload h3 for `seconds`, each with the flows of its number.
pub(crate) fn overload(lab: &mut Lab, seconds: u64, flows: impl Fn(usize) -> String) -> Load {
    // Neighbors are found before anything is counted.
    lab.host(1).ping("10.1.3.2");
    lab.host(2).ping("10.1.3.2");
    let before = lab.switch.settled();
    let receiver = lab.host(3).recv("");
    let senders = [1, 2].map(|number| {
        let how = format!("--speed 1G --duration {seconds}s {}", flows(number));
        lab.host(number).send(&how)
    });
    let sent = senders.map(crate::host::Sender::report).into();
    let received = receiver.report();
    Load { sent, received, before, after: lab.switch.settled() }
}

#[test]
fn overload_loses_nothing_lossless_and_every_frame_is_accounted_for() {
    let Some(mut lab) = Setup::new().start() else { return };
    let captures = [1, 2].map(|number| Capture::start(lab.host(number), lab.directory.path()));
    let load = overload(&mut lab, load_seconds(5), flows);
    load.check();

    // The lossy class was overloaded and says where.
    let dropped = load.dropped();
    assert_eq!(dropped.keys().copied().collect::<Vec<_>>(), ["tail_drop"]);
    assert_eq!(load.after.ports[2].drops["tail_drop"], dropped["tail_drop"]);
    // Both classes got their half of the port, as long as there was any load.
    let [lossy, .., lossless] = &load.after.ports[2].tx_frames[..4] else {
        panic!("eight classes")
    };
    assert!(lossless * 3 > lossy * 2 && lossy * 3 > lossless * 2, "{lossless} and {lossy}");

    for (port, capture) in captures.into_iter().enumerate() {
        check_wire(&capture.stop(), &load.before, &load.after, port);
        let heard = &load.sent[port].priorities;
        for priority in heard.iter().filter(|heard| heard.priority != 3) {
            assert_eq!((priority.xoff, priority.paused_ns), (0, 0), "{priority:?}");
        }
        // Two thirds of the time, where the machine lets them send as fast as they would.
        let paused = heard[3].paused_ns * 10 > load.sent[port].elapsed_ns;
        assert!(heard[3].xoff > 0 && paused, "{:?}", heard[3]);
    }
    lab.stop();
}

/// The lossy class is dropped early where it cannot be marked, and its queue is never full.
#[test]
fn early_drops_keep_a_lossy_queue_short_and_spare_what_is_marked() {
    let curve = "priority = 0\nkmin = \"20KB\"\nkmax = \"60KB\"\npmax = 0.2\n";
    let setup = Setup::new().head(&format!("[[ecn]]\n{curve}[[wred]]\n{curve}"));
    let Some(mut lab) = setup.start() else { return };
    let flows = |host: usize| {
        format!(
            "--flow name=lossless-{host},dst-ip=10.1.3.2,dscp=26,size=1000,rate=80M \
             --flow name=plain-{host},dst-ip=10.1.3.2,dscp=0,ecn=0,size=1000,rate=60M \
             --flow name=capable-{host},dst-ip=10.1.3.2,dscp=0,ecn=2,size=1000,rate=5M"
        )
    };
    let load = overload(&mut lab, load_seconds(5), flows);
    load.check();
    let dropped = load.dropped();
    assert_eq!(dropped.keys().copied().collect::<Vec<_>>(), ["wred_drop"]);
    let lost = |name: &str| {
        let (received, sent) = load.flow(name);
        sent - received.frames
    };
    assert_eq!([lost("capable-1"), lost("capable-2")], [0, 0]);
    assert_eq!(lost("plain-1") + lost("plain-2"), dropped["wred_drop"]);
    let marked = |stats: &Stats| stats.ports[2].ecn_marked_frames;
    assert!(marked(&load.after)[0] > marked(&load.before)[0]);
    assert_eq!(marked(&load.after)[1..], [0; 7]);
    lab.stop();
}

/// What tshark saw on a host's wire is what the switch says it sent there, in class 3 alone.
fn check_wire(seen: &[PfcSeen], before: &Stats, after: &Stats, port: usize) {
    let (before, after) = (&before.ports[port], &after.ports[port]);
    for frame in seen {
        assert_eq!((frame.opcode, frame.classes), (0x0101, 1 << 3), "{frame:?}");
        assert_eq!(frame.destination, "01:80:c2:00:00:01");
        assert_eq!((&frame.source, frame.frame_bytes), (&after.mac, 60), "{frame:?}");
        let others = frame.quanta.iter().enumerate().filter(|&(class, _)| class != 3);
        assert!(others.map(|(_, &quanta)| quanta).all(|quanta| quanta == 0), "{frame:?}");
    }
    let count = |quanta| seen.iter().filter(|frame| frame.quanta[3] == quanta).count() as u64;
    let (xoff, xon) = (count(0xFFFF), count(0));
    assert_eq!(xoff, after.pfc.tx_xoff[3] - before.pfc.tx_xoff[3]);
    assert_eq!(xon, after.pfc.tx_xon[3] - before.pfc.tx_xon[3]);
    assert_eq!(xoff + xon, seen.len() as u64, "XOFF says the longest time there is, XON none");
    assert!(xoff > 10 && xon > 10, "{xoff} XOFF and {xon} XON in an overload of seconds");
}
