//! What was dropped at a port between two readings.

use super::stats::PortStats;
use std::collections::{BTreeMap, BTreeSet};

/// Frames dropped for one cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NewDrops<'a> {
    /// The name of the counter.
    pub cause: &'a str,
    /// All of them.
    pub frames: u64,
    /// Those of lossless classes.
    pub lossless_frames: u64,
}

/// By each cause that has ever occurred at the port, what was dropped since `before`.
pub(crate) fn new_drops<'a>(
    before: &'a PortStats,
    now: &'a PortStats,
) -> impl Iterator<Item = NewDrops<'a>> {
    let since = |before: &BTreeMap<String, u64>, now: &BTreeMap<String, u64>, cause: &str| {
        let count = |counters: &BTreeMap<String, u64>| counters.get(cause).copied();
        count(now).unwrap_or_default().saturating_sub(count(before).unwrap_or_default())
    };
    let causes: BTreeSet<&String> =
        now.drops.keys().chain(now.lossless_drops_by_cause.keys()).collect();
    causes.into_iter().map(move |cause| {
        let lossless_frames =
            since(&before.lossless_drops_by_cause, &now.lossless_drops_by_cause, cause);
        // What a device lost is in the second figure only.
        let frames = since(&before.drops, &now.drops, cause).max(lossless_frames);
        NewDrops { cause, frames, lossless_frames }
    })
}
