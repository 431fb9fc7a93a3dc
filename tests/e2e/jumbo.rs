//! Frames of 9,014 bytes. DPDK's taps carry none so long; `net_pcap` on a veth does.

use crate::account::Load;
use crate::can_run;
use crate::host::Host;
use crate::lab::{HEAD, knotless};
use crate::namespace::Namespace;
use crate::switch::Switch;

const PORTS: &str = r#"
[[port]]
name = "h1"
device = "net_pcap1,rx_iface_in=kt1,tx_iface=kt1"
addresses = ["10.1.1.1/24", "fd00:1:1::1/64"]
mtu = 9000

[[port]]
name = "h2"
device = "net_pcap2,rx_iface_in=kt2,tx_iface=kt2"
addresses = ["10.1.2.1/24", "fd00:1:2::1/64"]
mtu = 9000
speed = "10M"
"#;

/// A host on a veth, whose other end stays with the switch as `ktN`.
fn host(switch: &Namespace, number: usize, directory: &std::path::Path) -> Host {
    let host = Host::new("eth", directory, knotless());
    let (end, there) = (format!("kt{number}"), host.namespace.path());
    let other = format!("type veth peer name eth mtu 9000 netns {there}");
    switch.ip(&format!("link add {end} mtu 9000 {other}"));
    switch.ip(&format!("link set {end} addrgenmode none"));
    switch.ip(&format!("link set {end} up"));
    host.settle(&[&format!("10.1.{number}.2/24"), &format!("fd00:1:{number}::2/64")]);
    host.route_by(&format!("10.1.{number}.1"));
    host.route_by(&format!("fd00:1:{number}::1"));
    host
}

#[test]
fn jumbo_frames_pass_whole_and_are_paused_for() {
    if !can_run() {
        return;
    }
    let directory = tempfile::tempdir().expect("there is room");
    let namespace = Namespace::new();
    let hosts = [1, 2].map(|number| {
        let folder = directory.path().join(number.to_string());
        std::fs::create_dir(&folder).expect("the directory is ours");
        host(&namespace, number, &folder)
    });
    let toml = format!("name = \"lab\"\n{HEAD}{PORTS}");
    let mut switch = Switch::start(knotless(), &namespace, directory.path(), "lab", &toml);
    let [one, two] = &hosts;
    // 9,000 bytes of IPv4 or IPv6, unfragmented.
    one.ping("-s 8972 -M do 10.1.2.2");
    one.ping("-s 8952 -M do fd00:1:2::2");

    let before = switch.settled();
    let receiver = two.recv("");
    // libpcap keeps some 30 frames of this length. At this rate that is a tenth of a second, for
    // which a busy machine may forget the switch.
    let flow = "name=jumbo,dst-ip=10.1.2.2,dscp=26,size=9014,rate=15M";
    let sent = vec![one.send(&format!("--duration 2s --flow {flow}")).report()];
    let received = receiver.report();
    let load = Load { sent, received, before, after: switch.settled() };
    load.check();
    let (flow, sent) = load.flow("jumbo");
    assert_eq!(flow.frames, sent);
    assert_eq!(flow.bytes, sent * 9_014);
    assert!(load.sent[0].priorities[3].xoff > 0, "one and a half times what the port carries");
    switch.stop();
}
