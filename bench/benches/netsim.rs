//! What a packet-hop of the emulator costs, all in: wire, events, a whole turn of a real worker,
//! checks at the receiver. Each network is checked when it has been timed.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use dataplane::ids::{Priority, Tag};
use dataplane::time::Speed;
use netsim::builder::NetworkBuilder;
use netsim::event::Picoseconds;
use netsim::flow::{FlowSpec, Pace};
use netsim::link::LinkSpec;
use netsim::network::Network;
use netsim::switch_spec::SwitchSpec;
use std::time::{Duration, Instant};

const LINK: LinkSpec = LinkSpec::new(10, 10);
const STEP_PS: Picoseconds = 10_000_000;

fn builder() -> (NetworkBuilder, Tag) {
    let mut builder = NetworkBuilder::new(1);
    let tag = Tag::from_low_bits(1);
    builder.lossless(tag, Priority::from_low_bits(3));
    (builder, tag)
}

/// One switch and `hosts` hosts: host n sends to host `to(n)`.
fn star(hosts: usize, pace: Pace, to: impl Fn(usize) -> Option<usize>) -> Network {
    let (mut builder, tag) = builder();
    let switch = builder.switch("S", SwitchSpec::default());
    let ids: Vec<_> = (0..hosts).map(|number| builder.host(&format!("h{number}"))).collect();
    for (number, &host) in (1..).zip(&ids) {
        builder.link(switch.port(number), host, LINK);
    }
    for from in 0..hosts {
        if let Some(to) = to(from) {
            builder.flow(FlowSpec { pace, ..FlowSpec::new(ids[from], ids[to], tag) });
        }
    }
    builder.build().expect("a sound network")
}

/// Four leaves with four hosts each under four spines; every host sends 8 Gb/s to one of another
/// leaf.
fn leaf_spine() -> Network {
    let (mut builder, tag) = builder();
    let spines: Vec<_> =
        (0..4).map(|n| builder.switch(&format!("spine{n}"), SwitchSpec::default())).collect();
    let mut hosts = Vec::new();
    for leaf in 0..4 {
        let switch = builder.switch(&format!("leaf{leaf}"), SwitchSpec::default());
        for (number, spine) in spines.iter().enumerate() {
            builder.link(spine.port(leaf + 1), switch.port(number + 1), LinkSpec::new(40, 10));
        }
        for number in 0..4 {
            let host = builder.host(&format!("h{leaf}.{number}"));
            builder.link(switch.port(number + 5), host, LINK);
            hosts.push(host);
        }
    }
    let pace = Pace::Steady(Speed::from_gbps(8));
    for (number, &from) in hosts.iter().enumerate() {
        let to = hosts[(number + 4) % hosts.len()];
        builder.flow(FlowSpec { pace, ..FlowSpec::new(from, to, tag) });
    }
    builder.build().expect("a sound network")
}

/// Runs for at least `hops` packet-hops; how long so many take.
fn time(network: &mut Network, hops: u64) -> Duration {
    let (start, before) = (Instant::now(), network.hops());
    while network.hops() - before < hops {
        network.run_for(STEP_PS);
    }
    let took = start.elapsed().as_secs_f64();
    Duration::from_secs_f64(took * hops as f64 / (network.hops() - before) as f64)
}

fn packet_hops(criterion: &mut Criterion) {
    let steady = Pace::Steady(Speed::from_gbps(8));
    let networks = [
        ("star-4", star(4, steady, |from| Some((from + 1) % 4))),
        ("star-32", star(32, steady, |from| Some((from + 1) % 32))),
        ("incast-4", star(5, Pace::BackToBack, |from| (from != 4).then_some(4))),
        ("leaf-spine", leaf_spine()),
    ];
    let mut group = criterion.benchmark_group("netsim");
    group.throughput(Throughput::Elements(1));
    for (name, mut network) in networks {
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|hops| time(&mut network, hops));
        });
        network.check().expect("all that must hold");
    }
    group.finish();
}

criterion_group!(benches, packet_hops);
criterion_main!(benches);
