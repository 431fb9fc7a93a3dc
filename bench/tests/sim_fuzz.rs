//! `make sim-fuzz`, bounded: the same seeds in every run.

use bench::sim_fuzz::{Judged, judge};
use config::scenario::SchemeKind;
use rayon::prelude::*;

const SEEDS: u64 = 60;
/// Every so many are run twice.
const TWICE_EVERY: u64 = 10;

#[test]
fn pfc_is_found_deadlocking_and_no_safe_scheme_ever_is() {
    let seeds = (1..=SEEDS).into_par_iter();
    let judged: Vec<Judged> =
        seeds.map(|seed| judge(seed, seed.is_multiple_of(TWICE_EVERY))).collect();
    let (mut deadlocks, mut by_hops) = (0, 0);
    for Judged { seed, runs } in &judged {
        for run in runs {
            let kind = run.kind.name();
            assert!(run.wrong.is_empty(), "seed {seed}, {kind}: {:#?}", run.wrong);
            // Paths may be longer than there are classes by hops.
            let Some(outcome) = &run.outcome else {
                assert_eq!(run.kind, SchemeKind::Ttl, "seed {seed}, {kind}");
                continue;
            };
            by_hops += usize::from(run.kind == SchemeKind::Ttl);
            let is_pfc = run.kind == SchemeKind::Pfc;
            assert!(is_pfc || outcome.drained_ps.is_some(), "seed {seed}, {kind}");
            deadlocks += usize::from(is_pfc && outcome.deadlock.is_some());
        }
    }
    assert!(by_hops > 30, "{by_hops} networks with classes by hops");
    assert!(deadlocks > 0, "plain PFC never deadlocked in {SEEDS} seeds");
    let hops = judged.iter().flat_map(|judged| &judged.runs).filter_map(|run| run.outcome.as_ref());
    assert!(
        hops.map(|outcome| outcome.packet_hops).sum::<u64>() > 100_000,
        "hardly anything was sent"
    );
}
