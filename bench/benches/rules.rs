//! The rule table against the ways not taken, 4 to 4096 entries, every answer checked against the
//! linear search; and what compiling costs.

use bench::bit_vector::BitVectorRules;
use bench::rules::{LOSSY, random_entries, random_queries};
use bench::shared_rows::SharedRows;
use criterion::measurement::WallTime;
use criterion::{
    BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main,
};
use dataplane::ids::{PortId, Tag};
use dataplane::rules::{RuleTable, linear};
use std::hint::black_box;

const QUERIES: usize = 4096;

fn lookups(c: &mut Criterion) {
    for ports in [64, 256] {
        let mut group = c.benchmark_group(format!("rules_{ports}_ports"));
        group.throughput(Throughput::Elements(QUERIES as u64));
        for count in [4, 16, 64, 256, 1024, 4096] {
            let mut rng = random::seeded(count as u64);
            let entries = random_entries(&mut rng, ports, count);
            let queries = random_queries(&mut rng, ports, QUERIES);
            let table = RuleTable::compile(&entries, ports, LOSSY);
            let shared = SharedRows::compile(&entries, ports, LOSSY);
            let vectors = BitVectorRules::compile(&entries, ports, LOSSY);
            println!(
                "{ports} ports, {count} entries: table {} bytes, shared rows {}, bit vectors {}",
                table.memory_bytes(),
                shared.memory_bytes(),
                vectors.memory_bytes()
            );
            let truth: Vec<Tag> = queries
                .iter()
                .map(|&(tag, from, to)| linear::lookup(&entries, LOSSY, tag, from, to))
                .collect();
            let mut run = Run { group: &mut group, count, queries: &queries, truth: &truth };
            run.measure("table", |tag, from, to| table.lookup(tag, from, to));
            run.measure("shared_rows", |tag, from, to| shared.lookup(tag, from, to));
            run.measure("bit_vector", |tag, from, to| vectors.lookup(tag, from, to));
            run.measure("linear", |tag, from, to| linear::lookup(&entries, LOSSY, tag, from, to));
        }
        group.finish();
    }
}

/// The same questions for every design.
struct Run<'a, 'c> {
    group: &'a mut BenchmarkGroup<'c, WallTime>,
    count: usize,
    queries: &'a [(Tag, PortId, PortId)],
    truth: &'a [Tag],
}

impl Run<'_, '_> {
    /// Checks every answer, then times them.
    fn measure(&mut self, name: &str, lookup: impl Fn(Tag, PortId, PortId) -> Tag) {
        for (&(tag, from, to), &truth) in self.queries.iter().zip(self.truth) {
            assert_eq!(lookup(tag, from, to), truth, "{name}: {tag} from {from} to {to}");
        }
        self.group.bench_function(BenchmarkId::new(name, self.count), |b| {
            b.iter(|| {
                for &(tag, from, to) in self.queries {
                    black_box(lookup(tag, from, to));
                }
            });
        });
    }
}

fn compiling(c: &mut Criterion) {
    let mut group = c.benchmark_group("rules_compile");
    group.sample_size(10);
    for (ports, count) in [(64, 4), (64, 256), (256, 4096)] {
        let entries = random_entries(&mut random::seeded(1), ports, count);
        group.bench_function(format!("{ports}_ports_{count}_entries"), |b| {
            b.iter(|| RuleTable::compile(black_box(&entries), ports, LOSSY));
        });
    }
    group.finish();
}

criterion_group!(benches, lookups, compiling);
criterion_main!(benches);
