//! The hops of all groups, each a run in one list. A group's run stays where it is while it
//! changes, so no route notices.

use super::{Hop, Leaf};
use crate::limits::ECMP_MAX;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Hops by index, and the runs among them that are free.
#[derive(Clone, Debug)]
pub(super) struct Runs {
    hops: Vec<Hop>,
    /// By length.
    free: BTreeMap<usize, Vec<Leaf>>,
    /// Runs that have other hops than at the last [`Self::take_changed`].
    changed: Vec<Leaf>,
}

impl Default for Runs {
    fn default() -> Self {
        // The index of [`Leaf::NO_ROUTE`].
        Self { hops: Vec::from([Hop::NoRoute]), free: BTreeMap::new(), changed: Vec::new() }
    }
}

impl Runs {
    pub(super) fn as_slice(&self) -> &[Hop] {
        &self.hops
    }

    pub(super) fn into_vec(self) -> Vec<Hop> {
        self.hops
    }

    /// A run with these hops, 1 to [`ECMP_MAX`].
    pub(super) fn add(&mut self, hops: &[Hop]) -> Leaf {
        debug_assert!((1..=ECMP_MAX).contains(&hops.len()), "{} hops", hops.len());
        if let Some(leaf) = self.free.get_mut(&hops.len()).and_then(Vec::pop) {
            self.set(leaf, hops);
            return leaf;
        }
        let leaf = Leaf::new(self.hops.len(), hops.len());
        let leaf = leaf.expect("`Routes` holds no more than a leaf can name");
        self.hops.extend_from_slice(hops);
        self.changed.push(leaf);
        leaf
    }

    /// Gives the run of `leaf` other hops, as many as it has.
    pub(super) fn set(&mut self, leaf: Leaf, hops: &[Hop]) {
        let run = &mut self.hops[leaf.first()..leaf.first() + leaf.members()];
        if run != hops {
            run.copy_from_slice(hops);
            self.changed.push(leaf);
        }
    }

    /// The runs that have other hops than the last time.
    pub(super) fn take_changed(&mut self) -> Vec<Leaf> {
        core::mem::take(&mut self.changed)
    }

    /// The run of `leaf` is nobody's any more.
    pub(super) fn release(&mut self, leaf: Leaf) {
        self.free.entry(leaf.members()).or_default().push(leaf);
    }
}
