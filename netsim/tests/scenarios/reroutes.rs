//! How often frames bounce (Tagger, Table I): what switches count is what the checkers see in the
//! tags of the frames, hop by hop.

use config::ScenarioConfig;
use config::scenario::SchemeKind;
use netsim::outcome::Outcome;
use netsim::scenario::{Options, run};
use std::path::Path;

/// A fat-tree of 4-port switches that has lost some links; each flow takes a random shortest way
/// and bounces where a link on it is down.
fn scenario(seed: u64) -> ScenarioConfig {
    let text = format!(
        "duration = '200us'\nseed = {seed}\n[generate]\nkind = 'fat-tree'\nk = 4\n\
         [paths]\nkind = 'up-down'\nbounces = 2\n[scheme]\nkind = 'tagger'\n\
         [routing]\nkind = 'pinned'\nreroute = '0us'\nfailed_share = 0.2\n\
         [[traffic]]\nkind = 'random'\nflows = 60\nrate = '200M'\nframe = 256\n"
    );
    ScenarioConfig::parse(Path::new("reroutes.toml"), &text).unwrap_or_else(|e| panic!("{e}"))
}

fn simulate(seed: u64) -> Outcome {
    let options = Options { scheme: Some(SchemeKind::Tagger), ..Options::default() };
    run(&scenario(seed), options).unwrap_or_else(|error| panic!("{error}"))
}

/// Frames that switches counted as leaving this tag, for a higher one or for the lossy one.
fn left(outcome: &Outcome, tag: u8) -> u64 {
    outcome.tag_changes.iter().filter(|change| change.tag == tag).map(|change| change.frames).sum()
}

/// The checkers compare the counters with the tags on the frames at every hop; here frames bounced,
/// and nothing was lost on the way, so each number must be the same.
#[test]
fn switches_count_the_bounces_that_frames_show() {
    let mut bounced = 0;
    for seed in 1..=6 {
        let outcome = simulate(seed);
        assert!(outcome.violations.is_empty(), "seed {seed}: {:?}", outcome.violations);
        assert!(outcome.drained_ps.is_some() && outcome.drops.is_empty(), "seed {seed}");
        let sent: u64 = outcome.flows.iter().map(|flow| flow.sent_frames).sum();
        assert!(left(&outcome, 1) >= left(&outcome, 2) && left(&outcome, 1) < sent);
        bounced += left(&outcome, 1);
    }
    assert!(bounced > 100, "{bounced} frames bounced");
}
