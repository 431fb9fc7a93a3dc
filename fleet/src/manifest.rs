//! A revision: which switch is to have which rules, and the stages on the way to it.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The longest manifest: etcd takes requests of 1.5 MiB, with some room for the rest of one.
pub const MANIFEST_BYTES_MAX: usize = (3 << 19) - (16 << 10);

/// A revision. It is never changed once it is in the store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Its number, from 1.
    pub revision: u64,
    /// The revision that its stages begin at; none for the first, of which nothing is known before.
    pub parent: Option<u64>,
    /// By switch, in the network's order: its name, and the hash of its rules.
    pub switches: Vec<(String, String)>,
    /// The stages from the parent.
    pub stages: Vec<Stage>,
    /// What was proven of it.
    pub proof: Proof,
    /// What the operator said of it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// When it was made: seconds since 1970.
    pub time_unix_s: u64,
}

/// Switches that change at once, in any order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stage {
    /// `lossless`, `lossy` or `detour`.
    pub kind: String,
    /// The switches, by their place in [`Manifest::switches`].
    pub switches: Vec<u32>,
    /// The hashes that they get if these are not those of the revision, in the same order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hashes: Vec<String>,
    /// Expected paths that may be lossy at some moment of the stage.
    pub lossy_paths: u64,
    /// Whether every mixture of before and after was proven free of deadlock.
    pub proven: bool,
}

/// What was proven of the rules that the manifest names, as they are in the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// Whether no buffer can wait for itself.
    pub deadlock_free: bool,
    /// Expected paths.
    pub paths: u64,
    /// Those that are lossless.
    pub lossless_paths: u64,
}

impl Manifest {
    /// The hashes of all switches after the first `stages` stages, on top of those of the parent.
    pub fn hashes_after(&self, parent: &[Option<String>], stages: usize) -> Vec<Option<String>> {
        let mut hashes = parent.to_vec();
        hashes.resize(self.switches.len(), None);
        for stage in self.stages.iter().take(stages) {
            for (at, &switch) in stage.switches.iter().enumerate() {
                let own = self.switches.get(switch as usize).map(|(_, hash)| hash);
                let hash = stage.hashes.get(at).or(own);
                if let Some(slot) = hashes.get_mut(switch as usize) {
                    *slot = hash.cloned();
                }
            }
        }
        hashes
    }

    /// The hashes of all switches by name.
    pub fn by_name(&self) -> BTreeMap<&str, &str> {
        self.switches.iter().map(|(name, hash)| (name.as_str(), hash.as_str())).collect()
    }

    /// The hashes of all switches, in the network's order.
    pub fn own_hashes(&self) -> Vec<&str> {
        self.switches.iter().map(|(_, hash)| hash.as_str()).collect()
    }

    /// The same, as [`Self::hashes_after`] has them.
    pub fn hashes(&self) -> Vec<Option<String>> {
        self.switches.iter().map(|(_, hash)| Some(hash.clone())).collect()
    }

    /// Each set of rules that it names, once.
    pub fn all_hashes(&self) -> Vec<&str> {
        let stages = self.stages.iter().flat_map(|stage| stage.hashes.iter().map(String::as_str));
        let all: BTreeSet<&str> = self.own_hashes().into_iter().chain(stages).collect();
        all.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(switches: u32) -> Manifest {
        let name = |at: u32| format!("pod{:03}-rack{:03}-leaf{at:05}", at / 100, at % 100);
        Manifest {
            revision: 1_000_000,
            switches: (0..switches).map(|at| (name(at), "f".repeat(64))).collect(),
            stages: vec![Stage {
                kind: "lossless".into(),
                switches: (0..switches).collect(),
                ..Stage::default()
            }],
            ..Manifest::default()
        }
    }

    #[test]
    fn ten_thousand_switches_fit_in_one_request() {
        let bytes = serde_json::to_string(&manifest(10_000)).unwrap().len();
        assert!((700_000..MANIFEST_BYTES_MAX).contains(&bytes), "{bytes}");
    }

    #[test]
    fn stages_lead_from_the_parent_to_the_revision() {
        let mut manifest = manifest(3);
        let detour = Stage {
            switches: vec![0, 2],
            hashes: vec!["a".into(), "b".into()],
            ..Stage::default()
        };
        manifest.stages.insert(0, detour);
        let parent = vec![None, Some("p".to_owned()), None];
        let at = |stages| manifest.hashes_after(&parent, stages);
        assert_eq!(at(0), parent);
        assert_eq!(at(1), [Some("a".into()), Some("p".into()), Some("b".to_owned())]);
        assert_eq!(at(2), manifest.hashes());
        assert_eq!(manifest.all_hashes().len(), 3);
    }
}
