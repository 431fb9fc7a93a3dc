//! Which paths are expected to be lossless (Tagger's ELP, section VI-B).

use super::Listed;

/// Which paths are expected to be lossless.
#[derive(Clone, Debug)]
pub struct PathSpec {
    /// The kind, with its parameter.
    pub kind: PathKind,
    /// So many random loop-free paths in addition.
    pub random: usize,
    /// Switches on a random path; `None` for as many as on the longest other path.
    pub random_switches: Option<usize>,
    /// Which random paths.
    pub seed: u64,
    /// Application classes, 1 at the least: frames of class i start with tag i, unless
    /// `class_bounces` puts them in another order.
    pub classes: u8,
    /// By class: how often its paths may turn from down to up. Empty: all paths are those of every
    /// class. For [`PathKind::UpDown`], whose own number is the largest of these.
    pub class_bounces: Vec<u8>,
}

/// A kind of path set.
#[derive(Clone, Debug)]
pub enum PathKind {
    /// To each switch with hosts a tree of shortest paths. Where several neighbors are as near, a
    /// path goes to the one that comes first in the file.
    ShortestTrees,
    /// All shortest paths (ECMP).
    Shortest,
    /// Up, then down, and so again up to `bounces` times. A link leads up if it leads away from
    /// the hosts.
    UpDown {
        /// How often a path may turn from down to up.
        bounces: u8,
    },
    /// The `k` shortest loop-free paths of each pair of switches with hosts.
    KShortest {
        /// How many.
        k: usize,
    },
    /// All loop-free paths.
    AllSimple,
    /// The paths of a file.
    File(Listed),
}

impl PathSpec {
    /// The paths of `kind`, in one class, and no random ones.
    pub const fn new(kind: PathKind) -> Self {
        Self {
            kind,
            random: 0,
            random_switches: None,
            seed: 1,
            classes: 1,
            class_bounces: Vec::new(),
        }
    }
}
