//! Two switches in a row, two processes joined by shared memory (`net_memif`): a pause at the far
//! end goes back hop by hop to the host that sends too much.

use crate::account::Load;
use crate::can_run;
use crate::host::Host;
use crate::lab::{HEAD, knotless};
use crate::namespace::Namespace;
use crate::switch::Switch;
use std::path::Path;

/// `near` and `far` with the host on one port and each other on the other.
fn toml(name: &str, host: usize, speed: &str, directory: &Path) -> String {
    let (role, own, peer, other) =
        if name == "near" { ("server", 0, 1, 3) } else { ("client", 1, 0, 1) };
    let socket = directory.join("memif.sock");
    format!(
        r#"name = "{name}"
{HEAD}
[[port]]
name = "host"
device = "net_tap{host},iface=kt{host}"
addresses = ["10.1.{host}.1/24"]
speed = "{speed}"

[[port]]
name = "peer"
device = "net_memif0,role={role},socket={},socket-abstract=no"
addresses = ["10.9.0.{own}/31"]
speed = "200M"
trusted = true

[[route]]
to = "10.1.{other}.0/24"
via = ["10.9.0.{peer}"]
"#,
        socket.display()
    )
}

fn host(namespace: &Namespace, number: usize, directory: &Path) -> Host {
    let host = Host::new(&format!("kt{number}"), directory, knotless());
    namespace.hand_over(&host.dev, &host.namespace);
    host.settle(&[&format!("10.1.{number}.2/24")]);
    host.route_by(&format!("10.1.{number}.1"));
    host
}

const FLOWS: &str = "--speed 1G --duration 4s \
    --flow name=lossless,dst-ip=10.1.3.2,dscp=26,size=1000,rate=60M \
    --flow name=lossy,dst-ip=10.1.3.2,dscp=0,size=1000,rate=60M";

#[test]
fn a_pause_goes_back_hop_by_hop_and_nothing_is_lost_on_the_way() {
    if !can_run() {
        return;
    }
    let directory = tempfile::tempdir().expect("there is room");
    let directory = directory.path();
    let namespace = Namespace::new();
    let start = |name: &str, host, speed| {
        let toml = toml(name, host, speed, directory);
        Switch::start(knotless(), &namespace, directory, name, &toml)
    };
    let mut near = start("near", 1, "1G");
    let mut far = start("far", 3, "50M");
    let (one, three) = (host(&namespace, 1, directory), host(&namespace, 3, directory));
    near.await_links();
    far.await_links();
    near.await_gateways();
    far.await_gateways();
    one.ping("10.1.3.2");
    let said = one.run("traceroute", "-n -q 1 -w 10 10.1.3.2").success();
    let hops: Vec<&str> =
        said.lines().skip(1).filter_map(|line| line.split_whitespace().nth(1)).collect();
    assert_eq!(hops, ["10.1.1.1", "10.9.0.1", "10.1.3.2"], "{said}");

    let (near_before, before) = (near.settled(), far.settled());
    let receiver = three.recv("");
    let sent = vec![one.send(FLOWS).report()];
    let received = receiver.report();
    let near_end = near.settled();
    let load = Load { sent, received, before, after: far.settled() };
    // What is too much of the lossy class is dropped at the far switch; at the near one only if the
    // far one went without a core.
    load.check_behind(&[(&near_before, &near_end)]);
    assert_eq!(load.flow("lossless").0.frames, load.flow("lossless").1);
    assert!(load.dropped()["tail_drop"] > 0, "{:?}", load.dropped());

    let [to_host, to_far] = &near_end.ports[..] else { panic!("two ports") };
    let to_near = &load.after.ports[1];
    assert!(to_near.pfc.tx_xoff[3] > 0, "the far switch pauses the near one: {:?}", to_near.pfc);
    assert_eq!(to_far.pfc.rx_xoff, to_near.pfc.tx_xoff, "which hears each of its frames");
    assert_eq!(to_far.pfc.rx_xon, to_near.pfc.tx_xon);
    // Half of the time, where the machine lets the host send as fast as it would.
    let elapsed_ns = load.sent[0].elapsed_ns;
    assert!(to_far.pfc.rx_paused_ns[3] * 10 > elapsed_ns, "{:?} in {elapsed_ns}", to_far.pfc);
    assert!(to_host.pfc.tx_xoff[3] > 0, "and pauses the host: {:?}", to_host.pfc);
    // The last of them may come when it has sent all it had.
    let heard = &load.sent[0].priorities;
    assert!((1..=to_host.pfc.tx_xoff[3]).contains(&heard[3].xoff), "{:?}", heard[3]);
    assert_eq!(heard[0].xoff, 0);
    near.stop();
    far.stop();
}
