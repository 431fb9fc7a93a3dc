//! Ports with two receive queues, each of another worker: everything that one queue promises.

use crate::lab::Setup;
use crate::load_seconds;
use crate::overload::overload;

/// Flows of a host to h3 that the kernel spreads over the queues of its tap by their ports; twice
/// what h3's port carries.
fn flows(host: usize) -> String {
    let flow = |number: usize| {
        format!(
            "--flow name=lossless-{host}-{number},dst-ip=10.1.3.2,dscp=26,size=1000,rate=12M,\
             src-port={}",
            10_000 + 7 * number
        )
    };
    let lossless: Vec<String> = (0..8).map(flow).collect();
    format!(
        "{} --flow name=lossy-{host},dst-ip=10.1.3.2,dscp=0,size=1000,rate=10M",
        lossless.join(" ")
    )
}

#[test]
fn two_queues_a_port_lose_nothing_lossless_and_keep_the_order_of_flows() {
    let setup = Setup::new().workers(2).port(1, "queues = 2").port(2, "queues = 2");
    let Some(mut lab) = setup.start() else { return };
    let load = overload(&mut lab, load_seconds(5), flows);
    load.check();
    for (port, sent) in load.sent.iter().enumerate() {
        let (before, after) = (&load.before.ports[port], &load.after.ports[port]);
        assert!(after.pfc.tx_xoff[3] > before.pfc.tx_xoff[3], "port {}: paused", port + 1);
        assert!(sent.priorities[3].xoff > 0, "and the host heard it");
    }
    // Each worker polls a queue of both ports, so both received.
    let received = |at: usize| -> u64 {
        let of = |stats: &switch::control::stats::Stats| stats.workers[at].totals.frames.received;
        of(&load.after) - of(&load.before)
    };
    let all = received(0) + received(1);
    assert!(received(0) * 10 > all && received(1) * 10 > all, "{} of {all}", received(0));
    lab.stop();
}
