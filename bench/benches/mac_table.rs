//! The MAC table, half full and full, answers checked against a `BTreeMap`; what one step of aging
//! and one flush cost.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use dataplane::ids::PortId;
use dataplane::l2::{Learned, MacTable, Vid};
use dataplane::settings::MacTableSettings;
use dataplane::time::Instant;
use dataplane::wire::MacAddress;
use random::{Draw, SplitMix64};
use std::collections::BTreeMap;
use std::hint::black_box;

const PORTS: usize = 64;
const AGE_NS: u64 = 300_000_000_000;

type Station = (Vid, MacAddress);

fn random_station(rng: &mut SplitMix64) -> Station {
    let mut octets = rng.octets::<6>();
    octets[0] = octets[0] & 0xFC | 2;
    let vid = Vid::new(1 + rng.u16() % 4094).unwrap_or(Vid::DEFAULT);
    (vid, MacAddress(octets))
}

/// A table for `entries_max` stations with `count` in it, and those.
fn table(entries_max: usize, count: usize) -> (MacTable, Vec<Station>) {
    let mut rng = random::seeded(count as u64);
    let settings = MacTableSettings { entries_max, age_ns: AGE_NS, hold_ns: 0 };
    let mut table = MacTable::with_capacity(settings, 1);
    let mut known = BTreeMap::new();
    while known.len() < count {
        let (vid, mac) = random_station(&mut rng);
        let port = PortId::from_index(rng.index(PORTS)).expect("64 ports");
        if known.insert((vid, mac), port).is_none() {
            assert_eq!(table.learn(vid, mac, port, Instant::ZERO), Learned::New);
        }
    }
    for (&(vid, mac), &port) in &known {
        assert_eq!(table.lookup(vid, mac), Some(port));
    }
    // In an order that has nothing to do with where they are.
    let mut stations: Vec<Station> = known.into_keys().collect();
    for at in (1..stations.len()).rev() {
        stations.swap(at, rng.index(at + 1));
    }
    (table, stations)
}

fn frames(c: &mut Criterion) {
    let mut group = c.benchmark_group("mac_table");
    for entries_max in [1_024, 65_536] {
        // A port may have four times what is free, so the table is never quite full.
        let (mut table, stations) = table(entries_max, entries_max / 8 * 7);
        let port = PortId::from_index(1).expect("64 ports");
        group.throughput(Throughput::Elements(stations.len() as u64));
        group.bench_function(format!("{entries_max}/lookup_known"), |b| {
            b.iter(|| {
                for &(vid, mac) in &stations {
                    black_box(table.lookup(vid, mac));
                }
            });
        });
        let mut rng = random::seeded(99);
        let strangers: Vec<Station> = stations.iter().map(|_| random_station(&mut rng)).collect();
        assert!(strangers.iter().all(|&(vid, mac)| table.lookup(vid, mac).is_none()));
        group.bench_function(format!("{entries_max}/lookup_unknown"), |b| {
            b.iter(|| {
                for &(vid, mac) in &strangers {
                    black_box(table.lookup(vid, mac));
                }
            });
        });
        group.bench_function(format!("{entries_max}/learn_known"), |b| {
            b.iter(|| {
                for &(vid, mac) in &stations {
                    black_box(table.learn(vid, mac, port, Instant::from_ns(1)));
                }
            });
        });
        group.bench_function(format!("{entries_max}/learn_all_into_empty"), |b| {
            let settings = MacTableSettings { entries_max, age_ns: AGE_NS, hold_ns: 0 };
            b.iter_batched_ref(
                || MacTable::with_capacity(settings, 1),
                |table| {
                    for (&(vid, mac), at) in stations.iter().zip(0..) {
                        let port = PortId::from_index(at % PORTS).expect("64 ports");
                        black_box(table.learn(vid, mac, port, Instant::ZERO));
                    }
                    assert_eq!(table.len(), stations.len());
                },
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

fn upkeep(c: &mut Criterion) {
    let mut group = c.benchmark_group("mac_table_upkeep");
    let (full, stations) = table(65_536, 65_536);
    let mut table = full.clone();
    group.bench_function("age_16_slots_of_65536_entries", |b| {
        b.iter(|| table.age(Instant::ZERO, 16, |_| unreachable!("nothing is due")));
    });
    group.bench_function("age_out_65536_entries", |b| {
        b.iter_batched_ref(
            || full.clone(),
            |table| {
                let mut forgotten = 0;
                while !table.is_empty() {
                    forgotten += table.age(Instant::from_ns(2 * AGE_NS), 64, |_| ());
                }
                assert_eq!(forgotten, stations.len());
            },
            BatchSize::LargeInput,
        );
    });
    group.bench_function("flush_one_port_of_64", |b| {
        let port = PortId::from_index(7).expect("64 ports");
        b.iter_batched_ref(
            || full.clone(),
            |table| assert!(table.flush_port(port, |_| ()) > 500),
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

criterion_group!(benches, frames, upkeep);
criterion_main!(benches);
