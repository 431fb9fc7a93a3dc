//! A run is the same in any number of threads.

use crate::event_driven_tests::network;
use crate::flow::FlowId;
use crate::network::Network;
use crate::scenario::build_for;
use config::ScenarioConfig;
use dataplane::frame::Frame;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

const US: u64 = 1_000_000;

fn in_threads(seed: u64, threads: usize) -> Network {
    let mut network = network(seed, false, NonZeroUsize::new(threads).unwrap());
    network.exchange.always_use_threads();
    network
}

#[test]
fn the_run_is_the_same_in_any_number_of_threads() {
    for seed in 0..20 {
        let of = |threads: usize| {
            let mut network = in_threads(seed, threads);
            assert_eq!(network.parts.len(), threads.min(network.switches));
            for _ in 0..10 {
                network.run_for(30 * US);
                network.check().unwrap();
            }
            let counters: Vec<_> =
                network.switch_reports().map(|(_, report)| format!("{report:?}")).collect();
            let flows = (0..network.flows().len()).map(|flow| network.flow(FlowId(flow)));
            let flows: Vec<_> = flows.collect();
            let hosts: Vec<_> = network.hosts().map(|host| host.counters()).collect();
            let sums = [network.hops(), network.data_hops(), network.switch_hops()];
            let pauses: u64 = network.pauses().map(|span| span.to_ps - span.from_ps).sum();
            let hash = network.trace_hash();
            (hash, sums, network.frames_inside(), pauses, flows, hosts, counters)
        };
        let alone = of(1);
        for threads in [2, 3, 5] {
            assert_eq!(of(threads), alone, "seed {seed}, {threads} threads");
        }
    }
}

/// What a thread that took frames in another order would do: the hash shows it, on wires between
/// parts and within one.
#[test]
fn two_frames_of_a_wire_in_another_order_change_the_hash() {
    let mut swapped = [0; 2];
    for seed in 0..20 {
        let mut undisturbed = in_threads(seed, 2);
        undisturbed.run_for(100 * US);
        let hash = undisturbed.trace_hash();
        for wire in 0..undisturbed.ends.len() {
            let mut network = in_threads(seed, 2);
            network.run_for(50 * US);
            let frames: Vec<&[u8]> = network.wire_to(wire).in_flight().map(Frame::head).collect();
            if frames.len() != 2 || frames[0] == frames[1] {
                continue;
            }
            let on_wire = &mut network.links_to(wire).wires[wire];
            let [first, second] = [(); 2].map(|()| on_wire.pop().unwrap());
            on_wire.push(second);
            on_wire.push(first);
            network.run_for(50 * US);
            assert_ne!(network.trace_hash(), hash, "seed {seed}, wire {wire}");
            let ends = network.ends[wire];
            let parts = [ends.from, ends.to].map(|end| network.places[end.node()].part);
            swapped[usize::from(parts[0] != parts[1])] += 1;
        }
    }
    assert!(swapped.iter().all(|&count| count > 3), "{swapped:?}");
}

#[test]
fn a_panic_in_any_thread_ends_the_run_with_its_message() {
    for part in 0..3 {
        let mut network = in_threads(1, 3);
        network.run_for(US);
        // The next frame that a host of this part sends is of no flow.
        network.parts[part].flows.clear();
        let panic = catch_unwind(AssertUnwindSafe(|| network.run_for(1_000 * US))).unwrap_err();
        let message = panic.downcast_ref::<String>().map_or("", |message| message);
        assert!(message.contains("index out of bounds"), "part {part}: {message}");
    }
}

/// In threads, however little a window holds; `tests/threads.rs` has whole runs.
#[test]
fn shipped_scenarios_are_the_same_in_threads_all_the_way() {
    let mut hashes = std::collections::BTreeSet::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    for entry in std::fs::read_dir(folder).unwrap() {
        let file = entry.unwrap().path();
        if file.extension().is_none_or(|end| end != "toml") {
            continue;
        }
        let config = ScenarioConfig::load(&file).unwrap_or_else(|error| panic!("{error}"));
        let of = |threads: usize| {
            let threads = NonZeroUsize::new(threads).unwrap();
            let mut network = build_for(&config, None, None, threads).unwrap().network;
            network.exchange.always_use_threads();
            network.run_for(60 * US);
            (network.trace_hash(), network.hops(), network.frames_inside())
        };
        let alone = of(1);
        assert_eq!([of(2), of(3)], [alone; 2], "{}", config.name);
        hashes.insert(alone.0);
    }
    assert!(hashes.len() >= 12, "{} scenarios", hashes.len());
}
