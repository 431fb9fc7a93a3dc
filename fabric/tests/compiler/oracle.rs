//! The slow way: every pair of ports a lookup, every path walked.

use crate::slow_proof::answer;
use crate::support::{generated, path_spec, triangle};
use fabric::paths::Walks;
use fabric::{Network, PathSet, RuleSet};
use std::ops::ControlFlow;

/// A network and its paths.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) network: Network,
    pub(crate) paths: PathSet,
}

impl Case {
    /// From the lines of `[generate]` and of `[paths]`.
    pub(crate) fn new(topology: &str, paths: &str) -> Self {
        let network = generated(topology);
        let paths = PathSet::build(&network, &path_spec(paths)).unwrap();
        Self { network, paths }
    }

    /// The example of the Tagger paper.
    pub(crate) fn triangle() -> Self {
        let (network, paths) = triangle();
        Self { network, paths }
    }
}

/// Expected paths, and those that are lossless: one after the other, and that tags never fall.
/// Every host of a switch is looked at.
pub(crate) fn walk(case: &Case, rules: &[RuleSet]) -> (u64, u64) {
    let network = &case.network;
    let walks = Walks::grouped(network, &case.paths, |slot| slot);
    let (mut count, mut lossless) = (0, 0);
    let _ = walks.visit(0, &mut |turns| {
        count += 1;
        let mut tag = rules[0].initial_tag;
        let kept = turns.iter().all(|&(input, output)| {
            let new_tag = answer(network, rules, input, output, tag);
            let is_lossless = new_tag != rules[0].lossy_tag;
            assert!(!is_lossless || new_tag >= tag, "a tag falls");
            tag = new_tag;
            is_lossless
        });
        lossless += u64::from(kept);
        ControlFlow::Continue(())
    });
    (count, lossless)
}
