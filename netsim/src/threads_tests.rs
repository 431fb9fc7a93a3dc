//! A run is the same in any number of threads.

use crate::event_driven_tests::network;
use std::num::NonZeroUsize;

const US: u64 = 1_000_000;

#[test]
fn the_run_is_the_same_in_any_number_of_threads() {
    for seed in 0..20 {
        let of = |threads: usize| {
            let mut network = network(seed, false, NonZeroUsize::new(threads).unwrap());
            assert_eq!(network.parts.len(), threads.min(network.switches));
            for _ in 0..10 {
                network.run_for(30 * US);
                network.check().unwrap();
            }
            let counters: Vec<_> =
                network.switch_reports().map(|(_, report)| format!("{report:?}")).collect();
            let flows: Vec<_> = network.flows().map(|flow| flow.counters.clone()).collect();
            let hosts: Vec<_> = network.hosts().map(|host| host.counters()).collect();
            let sums = [network.hops(), network.data_hops(), network.switch_hops()];
            let pauses: u64 = network.pauses().map(|span| span.to_ps - span.from_ps).sum();
            let hash = network.trace_hash();
            (hash, sums, network.frames_inside(), pauses, flows.len(), hosts, counters)
        };
        let alone = of(1);
        for threads in [2, 3, 5] {
            assert_eq!(of(threads), alone, "seed {seed}, {threads} threads");
        }
    }
}
