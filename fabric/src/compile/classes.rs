//! Application classes that share tags (Tagger, VI-A).
//!
//! The classes start with neighboring tags, and a bounce raises the tag of each. So a frame that
//! bounced shares a priority with frames of the next class that did not, and N classes that may
//! bounce M times need M + N tags instead of N (M + 1). Tagger prints M + N - 1, and in the same
//! sentence uses the tags up to M + 2 for two classes, which are M + 2: its example is right and
//! its formula is not. With one class the formula says M, and Tagger's own section IV-D proves that
//! M + 1 are needed. `fabric/tests/compiler/classes.rs` has the counterexamples.
//!
//! Classes that tolerate fewer bounces can save tags: the class with the most starts lowest, so
//! that the k-th of them, counted from 0, needs the tags up to k + 1 + its own raises.

use crate::paths::{PathSet, Walks};

/// By class: the state in which its frames start. The class with the most bounces starts lowest;
/// of those with as many, the first.
pub(super) fn starts(paths: &PathSet) -> Vec<u8> {
    let bounces = |class: &u8| paths.class_bounces(*class).unwrap_or(0);
    let mut by_bounces: Vec<u8> = (0..paths.classes()).collect();
    by_bounces.sort_by_key(|class| std::cmp::Reverse(bounces(class)));
    let mut starts = vec![0; by_bounces.len()];
    for (start, class) in (0..).zip(by_bounces) {
        starts[usize::from(class)] = start;
    }
    starts
}

/// The tags that all classes together need, if `raises_max` gives the most raises on any of the
/// paths that it is asked about, for frames that start in the state it is told, and if there are
/// `all_raises_max` raises at the most on any path of frames that start in the last one.
pub(super) fn tags_wanted(
    walks: &Walks<'_>,
    all_raises_max: u8,
    raises_max: impl Fn(&Walks<'_>, u8) -> u8,
) -> u8 {
    let Walks { network, paths, .. } = *walks;
    let all = (0..paths.classes()).zip(starts(paths)).map(|(class, start)| {
        let raises = match paths.class_bounces(class) {
            Some(_) => raises_max(&Walks::alike(network, &paths.of_class(class)), start),
            None => all_raises_max,
        };
        start + raises + 1
    });
    all.max().unwrap_or(1)
}
