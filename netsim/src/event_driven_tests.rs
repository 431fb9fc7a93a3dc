//! Optimizations that must not change a run: event-driven turns, and lookahead windows. The same
//! network runs with and without each, and the results are equal to the bit.

use crate::builder::NetworkBuilder;
use crate::flow::{FlowSpec, Pace};
use crate::link::LinkSpec;
use crate::network::Network;
use crate::sink::Drain;
use crate::switch_spec::SwitchSpec;
use dataplane::ids::{Priority, Tag};
use dataplane::settings::Threshold;
use dataplane::time::Speed;
use random::Draw;
use std::num::NonZeroUsize;

const US: u64 = 1_000_000;

/// A ring of four or five switches, bipartite or not, with wires in the order of their ports or
/// not. It has two hosts at each switch, flows of all paces, one slow host, two lossless classes
/// and a lossy one, so that pauses begin, end and expire everywhere.
pub(crate) fn network(seed: u64, polls_all_ports: bool, threads: NonZeroUsize) -> Network {
    let mut rng = random::seeded(seed);
    let mut builder = NetworkBuilder::new(seed);
    let tags = [1, 2, 3].map(Tag::from_low_bits);
    builder.lossless(tags[0], Priority::from_low_bits(3));
    builder.lossless(tags[1], Priority::from_low_bits(4));
    let threshold = match rng.below(3) {
        0 => Threshold::dynamic(-4),
        _ => Threshold::Static { xoff_bytes: 8_000 },
    };
    let spec = SwitchSpec { threshold, lossy_queue_bytes: 20_000, ..SwitchSpec::default() };
    let ring = if seed.is_multiple_of(2) { 4 } else { 5 };
    let switches: Vec<_> =
        (0..ring).map(|n| builder.switch(&format!("S{n}"), spec.clone())).collect();
    let mut hosts = Vec::new();
    for (at, switch) in switches.iter().enumerate() {
        let gbps = 10 + rng.below(30);
        let next = (at + 1) % ring;
        let (out, into) = match seed.is_multiple_of(3) {
            true => (if at == 0 { 1 } else { 2 }, if next == 0 { 5 } else { 1 }),
            false => (1, 2),
        };
        builder.link(switch.port(out), switches[next].port(into), LinkSpec::new(gbps, 100));
        for port in [3, 4] {
            let host = builder.host(&format!("h{at}{port}"));
            builder.link(switch.port(port), host, LinkSpec::new(10, 3));
            hosts.push(host);
        }
    }
    let slow = Drain {
        speed: Some(Speed::from_gbps(1)),
        xoff_bytes: 20_000,
        xon_bytes: 10_000,
        capacity_bytes: 100_000,
    };
    builder.slow_down(hosts[3], slow);
    for _ in 0..12 {
        let mut any = || usize::try_from(rng.below(10)).unwrap_or_default();
        let (from, to) = (any() % hosts.len(), any() % hosts.len());
        if from == to {
            continue;
        }
        let tag = tags[any() % 3];
        let pace = match any() % 3 {
            0 => Pace::BackToBack,
            1 => Pace::Steady(Speed::from_gbps(3)),
            _ => Pace::Random(Speed::from_gbps(6)),
        };
        let frame_bytes = 64 + u16::try_from(rng.below(1_400)).unwrap_or_default();
        let flow = FlowSpec::new(hosts[from], hosts[to], tag);
        builder.flow(FlowSpec { pace, frame_bytes, ..flow });
    }
    builder.threads(threads);
    let mut network = builder.build().unwrap();
    assert_eq!(network.parts[0].has_order, seed.is_multiple_of(3));
    for switch in network.parts.iter_mut().flat_map(|part| &mut part.switches) {
        switch.polls_all_ports = polls_all_ports;
    }
    network
}

#[test]
fn event_driven_turns_change_nothing() {
    let mut pauses = 0;
    for seed in 0..30 {
        let [some, all] = [false, true].map(|polls_all_ports| {
            let mut network = network(seed, polls_all_ports, NonZeroUsize::MIN);
            // Long enough for pauses to be refreshed.
            network.run_until(900 * US);
            network.check().unwrap();
            let reports = network.switch_reports().flat_map(|(_, report)| report.ports);
            let sent: u64 = reports.map(|port| port.counters.pfc.tx_frames).sum();
            (network.trace_hash(), network.hops(), network.frames_inside(), sent)
        });
        assert_eq!(some, all, "seed {seed}");
        pauses += some.3;
    }
    assert!(pauses > 10_000, "{pauses} PFC frames: nothing was congested");
}

/// The oracle of lookahead: windows of a picosecond are the plain order of events.
#[test]
fn the_run_is_the_same_whatever_the_lookahead() {
    for seed in 0..20 {
        let [wide, narrow] = [None, Some(1)].map(|span_ps| {
            let mut network = network(seed, false, NonZeroUsize::MIN);
            if let Some(span_ps) = span_ps {
                network.set_lookahead(span_ps);
            }
            // Stops between runs must not matter either.
            let mut rng = random::seeded(seed);
            while network.now_ps() < 300 * US {
                let rest_ps = 300 * US - network.now_ps();
                let step_ps = if span_ps.is_some() { rest_ps } else { rng.below(2 * US) };
                network.run_for(step_ps.min(rest_ps));
            }
            network.check().unwrap();
            let counters: Vec<_> =
                network.switch_reports().map(|(_, report)| format!("{:?}", report.ports)).collect();
            (network.trace_hash(), network.hops(), network.frames_inside(), counters)
        });
        assert_eq!(wide, narrow, "seed {seed}");
    }
}
