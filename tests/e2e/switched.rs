//! Ports that bridge: VLANs on access ports and a trunk, learned addresses, lossless classes by
//! PCP.

use crate::account::Load;
use crate::host::Host;
use crate::lab::{Lab, Setup};
use serde_json::json;
use std::collections::BTreeSet;
use switch::control::stats::Stats;

/// h1 and h2 are in VLAN 10, untagged; h3 is in 10 and 20, tagged.
fn mode(number: usize) -> String {
    let trunk = "vlans = [10, 20]\nclassify = \"pcp\"\ntrusted = true";
    ["vlan = 10", "vlan = 10", trunk][number - 1].to_owned()
}

fn lab() -> Option<Lab> {
    let lab = Setup::with_ports(mode).start_switch()?;
    for (number, host) in (1..).zip(&lab.hosts) {
        host.namespace.ipv4_only();
        lab.namespace.hand_over(&host.dev, &host.namespace);
        host.settle(&[&format!("10.7.0.{number}/24")]);
    }
    lab.switch.await_links();
    Some(lab)
}

fn mac(host: &Host) -> String {
    let said = host.run("ip", &format!("-oneline link show dev {}", host.dev)).success();
    let mut words = said.split_whitespace().skip_while(|word| *word != "link/ether");
    words.nth(1).expect("an Ethernet address").to_owned()
}

/// Ten frames of h3 in `vlan` to `mac`: a flow with the keys of `knotless traffic send`.
fn tagged(lab: &Lab, vlan: u16, mac: &str) {
    let flow = format!("dst-ip=10.7.0.1,dst-mac={mac},vlan={vlan},pcp=3,dscp=26,count=10,fps=1000");
    assert_eq!(lab.host(3).send(&format!("--flow {flow}")).report().frames, 10);
}

/// Frames that came in at h3 and ended there for `cause`.
fn dropped(stats: &Stats, cause: &str) -> u64 {
    stats.ports[2].drops.get(cause).copied().unwrap_or_default()
}

#[test]
fn vlans_are_kept_apart_and_addresses_are_learnt_in_each() {
    let Some(mut lab) = lab() else { return };
    let said = lab.host(1).ping("10.7.0.2");
    assert!(said.contains("ttl=64"), "no router between: {said}");
    let macs = [1, 2, 3].map(|number| mac(lab.host(number)));

    // In VLAN 10 h1 is there, in VLAN 20 nobody is, and VLAN 30 does not exist.
    let receiver = lab.host(1).recv("");
    for vlan in [10, 20, 30] {
        tagged(&lab, vlan, &macs[0]);
    }
    let received = receiver.report();
    assert_eq!((received.frames, received.misdelivered), (10, 0));
    assert_eq!(received.flows[0].pcp, [].into(), "an access port takes the tag off");
    let stats = lab.switch.settled();
    assert_eq!(dropped(&stats, "no_flood_members"), 10);
    assert_eq!(dropped(&stats, "vlan_not_allowed"), 10);

    let table = lab.switch.ask(&json!({ "request": "mac" }));
    let rows = table["addresses"].as_array().expect("rows").iter();
    let learned: BTreeSet<String> = rows
        .map(|row| format!("{} {} {}", row["vlan"], row["mac"], row["port"]).replace('"', ""))
        .collect();
    let [one, two, three] = macs;
    let expected = [
        format!("10 {one} h1"),
        format!("10 {two} h2"),
        format!("10 {three} h3"),
        format!("20 {three} h3"),
    ];
    assert_eq!(learned, expected.into());
    assert_eq!(stats.totals.imbalance, 0);
    lab.stop();
}

#[test]
fn a_class_stays_lossless_from_an_access_port_to_a_trunk_that_is_too_slow() {
    let Some(mut lab) = lab() else { return };
    let three = mac(lab.host(3));
    // To nobody: it is flooded, and h3 is known from then on.
    tagged(&lab, 10, "02:00:00:00:00:99");
    let before = lab.switch.settled();
    let receiver = lab.host(3).recv("");
    let flow = format!("name=up,dst-ip=10.7.0.3,dst-mac={three},dscp=26,size=1000,rate=150M");
    let sent = vec![lab.host(1).send(&format!("--speed 1G --duration 2s --flow {flow}")).report()];
    let received = receiver.report();
    let load = Load { sent, received, before, after: lab.switch.settled() };
    load.check();
    let (flow, sent) = load.flow("up");
    assert_eq!((flow.frames, &flow.pcp), (sent, &[(3, sent)].into()), "tagged, in its class");
    assert!(load.sent[0].priorities[3].xoff > 0, "half as much again as the trunk carries");
    assert_eq!(load.after.totals.copied, load.before.totals.copied, "learned: nothing is flooded");
    lab.stop();
}
