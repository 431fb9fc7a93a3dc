//! The other way round: what was recorded of the emulator's switch is what the program does.

use super::configurations::{ALL, Configuration};
use super::{chosen, replay, write_files};
use crate::can_run;
use config::SwitchConfig;
use dataplane::counters::DropReason;
use dataplane::ids::{Priority, Tag};
use dataplane::report::Report;
use netsim::builder::NetworkBuilder;
use netsim::flow::FlowSpec;
use netsim::link::LinkSpec;
use netsim::sink::Drain;
use netsim::switch_spec::SwitchSpec;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use switch::control::stats::PortStats;

/// How long the hosts send: as long as h3's port takes for a thousand frames and some.
const SEND_PS: u64 = 100_000_000_000;
/// How long the switch then has for what it holds.
const DRAIN_PS: u64 = 2_000_000_000_000;

/// Runs the switch of `configuration` in the emulator under load, and records it in `directory`;
/// returns what it counted.
fn record(configuration: &Configuration, directory: &Path) -> Report {
    let config = SwitchConfig::load(&directory.join("switch.toml")).expect("it is right");
    let mut builder = NetworkBuilder::new(7);
    for (dscp, priority) in [(26, 3), (34, 4)] {
        builder.lossless(Tag::from_low_bits(dscp), Priority::from_low_bits(priority));
    }
    let switch = builder.switch("S", SwitchSpec::default());
    builder.configure(switch, config);
    let hosts = ["h1", "h2", "h3"].map(|name| builder.host(name));
    for (number, host) in (1..).zip(hosts) {
        let mut link = LinkSpec::new(1, 10);
        if number == 3 {
            link.speed = dataplane::time::Speed::from_bps(100_000_000);
        }
        builder.link(switch.port(number), host, link);
    }
    if configuration.recv.contains("--pause-class") {
        let speed = Some(dataplane::time::Speed::from_bps(50_000_000));
        let (xoff_bytes, xon_bytes, capacity_bytes) = (50_000, 20_000, 1_000_000);
        builder.slow_down(hosts[2], Drain { speed, xoff_bytes, xon_bytes, capacity_bytes });
    }
    for host in [hosts[0], hosts[1]] {
        for dscp in configuration.dscps {
            let flow = FlowSpec::new(host, hosts[2], Tag::from_low_bits(*dscp));
            builder.flow(FlowSpec { frame_bytes: 1_000, stop_ps: SEND_PS, ..flow });
        }
    }
    let mut network = builder.build().expect("it is sound");
    network.record(switch);
    network.run_until(SEND_PS);
    network.run_until(SEND_PS + DRAIN_PS);
    let recording = network.take_recording(switch);
    let file = File::create(directory.join("ports.pcapng")).expect("it is ours");
    recording.write(std::io::BufWriter::new(file)).expect("there is room");
    network.switch(switch)
}

#[test]
fn what_was_recorded_of_the_emulated_switch_is_what_the_program_does() {
    if !can_run() {
        return;
    }
    for configuration in chosen() {
        let name = configuration.name;
        let directory = tempfile::tempdir().expect("there is room");
        let directory = directory.path();
        write_files(configuration, directory, false);
        let report = record(configuration, directory);
        let replayed = replay(directory, &[]);
        assert_eq!(replayed["first_difference"], serde_json::Value::Null, "{name}");
        assert_eq!(replayed["equal"], true, "{name}");
        let ports: Vec<PortStats> =
            serde_json::from_value(replayed["replayed"]["ports"].clone()).expect("its own form");
        let (received, sent) = (report.totals.received, report.totals.sent);
        println!("{name}: {received} received, {sent} sent");
        assert!(received > 2_000 && sent > 1_000, "{name}: too little happened");
        assert_eq!(replayed["replayed"]["totals"]["dropped"], report.totals.dropped, "{name}");
        for (emulated, port) in report.ports.iter().zip(ports) {
            let drops: BTreeMap<String, u64> = DropReason::ALL
                .iter()
                .map(|&reason| (reason.name().to_owned(), emulated.counters.dropped(reason)))
                .filter(|(_, frames)| *frames > 0)
                .collect();
            assert_eq!(port.drops, drops, "{name}");
            let mut counters = emulated.counters.clone();
            // Drops are compared above; the page of a switch has them by name alone.
            counters.drops = port.counters.drops;
            counters.lossless_drops = port.counters.lossless_drops;
            assert_eq!(port.counters.pfc, counters.pfc, "{name}, port {}", port.number);
            assert_eq!(port.counters, counters, "{name}, port {}", port.number);
        }
    }
}

#[test]
fn there_are_twenty_configurations_with_names_of_their_own() {
    let names: std::collections::BTreeSet<&str> = ALL.iter().map(|one| one.name).collect();
    assert_eq!(names.len(), 20);
}
