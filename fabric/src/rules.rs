//! The rules of one switch, as the compiler writes them and the switch loads them.

use dataplane::ids::{Priority, Tag};
use dataplane::rules::TcamEntry;
use std::collections::BTreeMap;

/// The rules of one switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleSet {
    /// The switch's name.
    pub switch: String,
    /// How many ports it has.
    pub ports: usize,
    /// The tag of frames that lost their right to be lossless. Never in `priorities`.
    pub lossy_tag: Tag,
    /// The tag a frame starts with. Always in `priorities`, unless that is empty.
    pub initial_tag: Tag,
    /// By application class (Tagger, VI-A): the tag that frames start with, first `initial_tag`.
    /// Empty: the classes, if there are several, start with the lossless tags in order, from
    /// `initial_tag` on, and an untrusted port gives every lossless frame `initial_tag`.
    pub initial_tags: Vec<Tag>,
    /// The lossless tags, and the priority of each.
    pub priorities: BTreeMap<Tag, Priority>,
    /// First match wins; no match is `lossy_tag`.
    pub entries: Vec<TcamEntry>,
}
