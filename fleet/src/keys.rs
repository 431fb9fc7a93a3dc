//! Where things are in the store.
//!
//! | key, after `/knotless/NETWORK/` | value | who writes it |
//! |---|---|---|
//! | `head` | newest and running revision, the rollout | operators, by compare-and-swap |
//! | `driver` | who works on the rollout, under a lease | `rollout`, `resume`, `rollback` |
//! | `network` | NETWORK.toml with its path file | `init` |
//! | `manifest/REVISION` | a manifest | `push`; never changed |
//! | `rules/HASH` | the rules of one switch | `push`; never changed |
//! | `want/SWITCH` | the rules that the switch is to have | rollouts |
//! | `ack/SWITCH` | what it has, under a lease | the switch |
//! | `seen/SWITCH` | what it sees: neighbors, waits, alarms | the switch |

/// The keys of one network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keys {
    root: String,
}

impl Keys {
    /// Of the network `name`, which has no slash in it.
    pub fn new(name: &str) -> Self {
        Self { root: format!("/knotless/{name}/") }
    }

    /// What all keys begin with.
    pub fn root(&self) -> &str {
        &self.root
    }

    pub(crate) fn head(&self) -> String {
        format!("{}head", self.root)
    }

    pub(crate) fn driver(&self) -> String {
        format!("{}driver", self.root)
    }

    pub(crate) fn network(&self) -> String {
        format!("{}network", self.root)
    }

    /// Of a revision; the order of keys is that of revisions.
    pub(crate) fn manifest(&self, revision: u64) -> String {
        format!("{}manifest/{revision:010}", self.root)
    }

    /// Of rules by their hash; of all rules without one.
    pub(crate) fn rules(&self, hash: &str) -> String {
        format!("{}rules/{hash}", self.root)
    }

    pub(crate) fn want(&self, switch: &str) -> String {
        format!("{}want/{switch}", self.root)
    }

    pub(crate) fn ack(&self, switch: &str) -> String {
        format!("{}ack/{switch}", self.root)
    }

    pub(crate) fn seen(&self, switch: &str) -> String {
        format!("{}seen/{switch}", self.root)
    }
}
