//! Requests of clients.

use super::{ROUTED, Rig};
use crate::control::protocol::{MacTable, Reply, Request};
use crate::service_manager::ServiceManager;
use dataplane::testing::wire::Udp;
use dataplane::wire::MacAddress;
use std::collections::BTreeSet;

const BRIDGED: &str = r#"
name = "s1"
[control]
socket = "s1.sock"
[[port]]
name = "a"
device = "net_null0"
mac = "02:00:00:00:00:01"
vlan = 7
[[port]]
name = "b"
device = "net_null1"
mac = "02:00:00:00:00:02"
vlan = 7
[workers]
count = 2
"#;

#[test]
fn the_stats_are_the_sum_of_all_workers_and_each_port_has_its_own() {
    let mut rig = Rig::new(BRIDGED);
    rig.turns(3);
    for sequence in 0..10 {
        rig.arrive(1, &Udp { sequence, ..Udp::bridged(1, 2, 0) }.bytes());
    }
    rig.turns(3);
    for _ in 0..4 {
        rig.arrive(2, &Udp::bridged(2, 1, 0).bytes());
    }
    rig.turns(4);
    let stats = rig.stats();
    assert_eq!((stats.name.as_str(), stats.pid), ("s1", std::process::id()));
    assert_eq!(stats.uptime_ns, rig.now().ns);
    let frames = |port: usize| {
        let port = &stats.ports[port];
        (port.rx_frames.iter().sum::<u64>(), port.tx_frames.iter().sum::<u64>())
    };
    assert_eq!((frames(0), frames(1)), ((10, 4), (4, 10)));
    assert_eq!(stats.ports[1].worker, 1);
    assert_eq!(stats.ports[0].driver, "memory");
    assert_eq!(stats.ports[1].device_counters.rx_missed_frames, 2);
    assert_eq!(stats.ports[1].device_losses.tx_segmented_frames, 7, "as the test's device says");

    assert_eq!(stats.workers.len(), 2);
    assert_eq!(stats.totals.received, 14);
    assert_eq!(stats.totals.sent, 14);
    assert_eq!((stats.totals.handoff_tx, stats.totals.handoff_rx), (14, 14));
    let held: Vec<u64> = stats.workers.iter().map(|worker| worker.totals.received).collect();
    assert_eq!(held, [10, 4]);
    assert_eq!(stats.mac_addresses, 2);
    assert_eq!((stats.burst_frames.count, stats.burst_frames.max), (2, 10));
    assert_eq!(stats.latency_ns.count, 14);
    assert_eq!(stats.buffer.size_bytes, 12_000_000);
    assert_eq!(stats.totals.imbalance, 0);
}

#[test]
fn counters_never_fall_from_one_answer_to_the_next() {
    let mut rig = Rig::new(BRIDGED);
    let mut before = rig.stats();
    for sequence in 0..50 {
        rig.arrive(1, &Udp { sequence, ..Udp::bridged(1, 2, 0) }.bytes());
        let now = rig.stats();
        assert!(now.totals.received >= before.totals.received);
        assert!(now.latency_ns.count >= before.latency_ns.count);
        assert!(now.workers[0].turns > before.workers[0].turns);
        assert_eq!(now.totals.imbalance, 0);
        before = now;
    }
    rig.turns(3);
    assert_eq!(rig.stats().latency_ns.count, 50);
}

fn mac_table(rig: &mut Rig, offset: usize) -> MacTable {
    match rig.ask(Request::Mac { offset }) {
        Reply::Mac(table) => table,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_mac_table_holds_each_address_once_with_its_port() {
    let mut rig = Rig::new(BRIDGED);
    for n in 0..200_u8 {
        let src_mac = MacAddress([2, 0, 0, 9, n % 2, n]);
        let from = usize::from(n % 2) + 1;
        rig.arrive(from, &Udp { src_mac, ..Udp::bridged(1, 2, 0) }.bytes());
        rig.turn();
    }
    rig.turns(3);
    let table = mac_table(&mut rig, 0);
    assert_eq!((table.total, table.addresses.len()), (200, 200));
    let macs: BTreeSet<&str> = table.addresses.iter().map(|row| row.mac.as_str()).collect();
    assert_eq!(macs.len(), 200);
    for row in &table.addresses {
        let port = if row.mac.starts_with("02:00:00:09:00") { "a" } else { "b" };
        assert_eq!((row.vlan, row.port.as_str()), (7, port));
    }
    let rest = mac_table(&mut rig, 150);
    assert_eq!((rest.total, rest.addresses.len()), (200, 50));
    assert_eq!(mac_table(&mut rig, 999).addresses, []);
}

#[test]
fn static_stations_are_listed_first_and_once() {
    let text = format!("{BRIDGED}[[static_mac]]\nmac = '02:00:00:09:00:07'\nport = 'b'\n");
    let mut rig = Rig::new(&text);
    let src_mac = MacAddress([2, 0, 0, 9, 0, 8]);
    rig.arrive(1, &Udp { src_mac, ..Udp::bridged(1, 2, 0) }.bytes());
    rig.turns(3);
    let rows = mac_table(&mut rig, 0).addresses;
    let rows: Vec<_> =
        rows.iter().map(|row| (row.mac.as_str(), row.port.as_str(), row.is_static)).collect();
    assert_eq!(rows, [("02:00:00:09:00:07", "b", true), ("02:00:00:09:00:08", "a", false)]);
    assert_eq!(mac_table(&mut rig, 1).addresses.len(), 1);
}

#[test]
fn several_clients_are_answered_each() {
    let mut rig = Rig::new(BRIDGED);
    let calls: Vec<_> = (0..5)
        .flat_map(|_| [rig.call(Request::Stats), rig.call(Request::Mac { offset: 0 })])
        .collect();
    // The first has gone before its answer is there.
    let calls = calls.into_iter().skip(1).collect::<Vec<_>>();
    rig.turns(4_000);
    for (number, answer) in calls.iter().enumerate() {
        assert!(answer.try_recv().is_ok(), "call {number}");
    }
}

#[test]
fn a_worker_that_does_not_answer_is_named() {
    let mut rig = Rig::new(BRIDGED);
    let answer = rig.call(Request::Stats);
    for _ in 0..10 {
        rig.turn_control();
        rig.turn_worker(0);
    }
    assert!(answer.try_recv().is_err(), "patience");
    for _ in 0..5 {
        rig.memory.now.set(rig.memory.now.get() + 800_000_000);
        rig.turn_control();
    }
    let Ok(Reply::Failed(failed)) = answer.try_recv() else { panic!("no answer") };
    assert!(failed.error.contains("worker 1 does not answer"), "{}", failed.error);

    let again = rig.call(Request::Stats);
    rig.turn_control();
    assert!(matches!(again.try_recv(), Ok(Reply::Failed(_))), "it owes an answer still");
    rig.turns(3);
    assert_eq!(rig.stats().totals.imbalance, 0, "and is well again");
}

#[test]
fn the_operator_takes_a_port_out_of_service_and_back() {
    let mut rig = Rig::new(BRIDGED);
    rig.turns(2);
    let set = rig.ask(Request::Link { port: "b".to_owned(), up: false });
    assert!(matches!(set, Reply::LinkSet(ref set) if set.port == "b" && !set.up), "{set:?}");
    rig.arrive(1, &Udp::bridged(1, 2, 0).bytes());
    rig.turns(4);
    assert_eq!(rig.sent(2).len(), 0);
    let stats = rig.stats();
    assert!(!stats.ports[1].up && stats.ports[1].link && !stats.ports[1].in_service);
    assert_eq!(stats.ports[1].drops["port_down"], 1);

    rig.arrive(2, &Udp::bridged(2, 1, 0).bytes());
    rig.turns(4);
    assert_eq!(rig.sent(1).len(), 0, "nothing comes in there either");
    assert_eq!(rig.stats().ports[1].drops["port_down"], 2);
    rig.assert_balanced();

    rig.ask(Request::Link { port: "2".to_owned(), up: true });
    rig.arrive(1, &Udp::bridged(1, 2, 0).bytes());
    rig.turns(4);
    assert_eq!(rig.sent(2).len(), 1);
    let unknown = rig.ask(Request::Link { port: "c".to_owned(), up: true });
    assert!(
        matches!(unknown, Reply::Failed(ref f) if f.error.contains("number, 1 to 2")),
        "{unknown:?}"
    );
    rig.assert_balanced();
}

#[test]
fn connected_networks_and_rules_are_shown_as_they_are() {
    let mut rig = Rig::new(ROUTED);
    let Reply::Routes(routes) = rig.ask(Request::Routes { offset: 0 }) else { panic!() };
    let prefixes: Vec<&str> = routes.routes.iter().map(|row| row.prefix.as_str()).collect();
    assert_eq!(prefixes, ["10.0.1.0/24", "10.0.2.0/24", "fd00:1::/64", "fd00:2::/64", "fe80::/64"]);
    assert_eq!(routes.total, 5);
    assert_eq!(routes.routes[4].via.len(), 2, "link-local on both ports");
    let Reply::Routes(rest) = rig.ask(Request::Routes { offset: 4 }) else { panic!() };
    assert_eq!((rest.total, rest.routes.len()), (5, 1));

    let Reply::Rules(rules) = rig.ask(Request::Rules) else { panic!() };
    assert_eq!((rules.file, rules.entries.len()), (None, 0));
    assert_eq!(rules.tags.iter().map(|row| (row.tag, row.priority)).collect::<Vec<_>>(), [(3, 3)]);
}

#[test]
fn a_client_can_end_the_switch() {
    let mut rig = Rig::new(ROUTED);
    let reply = rig.ask(Request::Stop);
    assert!(matches!(reply, Reply::Stopping(ref s) if s.stopping == std::process::id()));
    let (_calls, none) = crossbeam::channel::unbounded();
    let mut nobody = ServiceManager::default();
    rig.control.run(&none, &super::super::Signals::default(), &mut nobody);
}
