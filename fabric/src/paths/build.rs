//! From what NETWORK.toml asks for to a set of paths.

use super::dags::Dags;
use super::trees::Trees;
use super::updown::UpDownPaths;
use super::{Part, PathKind, PathSet, PathSpec, PathsError, k_shortest, random, simple};
use crate::network::Network;

impl PathSet {
    /// The paths of `spec`.
    ///
    /// # Errors
    /// There are too many, or random ones were not found.
    pub fn build(network: &Network, spec: &PathSpec) -> Result<Self, PathsError> {
        let part = match &spec.kind {
            PathKind::ShortestTrees => Part::Trees(Trees::new(network)),
            PathKind::Shortest => Part::Dags(Dags::new(network)),
            &PathKind::UpDown { bounces } => Part::UpDown(UpDownPaths::new(network, bounces)),
            &PathKind::KShortest { k } => Part::Listed(k_shortest::paths(network, k)),
            PathKind::AllSimple => Part::Listed(simple::all(network)?),
            PathKind::File(listed) => Part::Listed(listed.clone()),
        };
        let mut paths = Self {
            parts: vec![part],
            classes: spec.classes,
            class_bounces: spec.class_bounces.clone(),
        };
        if spec.random > 0 {
            let switches = spec.random_switches.unwrap_or_else(|| paths.longest(network));
            let switches = switches.clamp(1, super::listed::SWITCHES_MAX);
            let listed =
                random::paths(network, spec.random, switches, spec.seed, paths.hosts_alike())?;
            paths.parts.push(Part::Listed(listed));
        }
        Ok(paths)
    }
}
