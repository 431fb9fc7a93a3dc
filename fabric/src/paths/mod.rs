//! The expected lossless paths, held so that a hundred million need not be a hundred million lists.
//!
//! A path begins at a host's port, makes a **turn** in every switch, from the slot it comes in by
//! to the slot it goes out by, and ends at a host. What is asked of paths is nearly always the same
//! question: what becomes of a small state, a tag or a count of raises, that every turn may change?
//! [`Walks::tally`] answers it for all paths at once: where paths meet in the same port with the
//! same state they go on as one, with a count. [`Walks::visit`] is the slow, obvious way: one
//! path after the other, turn by turn.
//!
//! The hosts of a switch are alike to all but a path file, so one host's port stands for all of
//! them, or one for each group that the rules treat differently.

mod build;
mod dags;
mod edge_ports;
mod error;
mod k_shortest;
mod listed;
mod random;
mod simple;
mod spec;
mod trees;
mod updown;

pub use error::PathsError;
pub use listed::{Listed, PathCollector, SWITCHES_MAX};
pub use spec::{PathKind, PathSpec};

use crate::network::Network;
use dags::Dags;
use edge_ports::EdgePorts;
use rayon::prelude::*;
use std::borrow::Cow;
use std::ops::ControlFlow;
use trees::Trees;
use updown::UpDownPaths;
pub(crate) use updown::levels;

/// A turn: the slot a path comes in by, and the slot it goes out by.
pub type Turn = (u32, u32);

/// A set of paths. Built by [`PathSet::build`].
#[derive(Clone, Debug)]
pub struct PathSet {
    parts: Vec<Part>,
    classes: u8,
    /// By class; empty if all paths are those of every class.
    class_bounces: Vec<u8>,
}

/// Paths held in one way.
#[derive(Clone, Debug)]
enum Part {
    Trees(Trees),
    Dags(Dags),
    UpDown(UpDownPaths),
    Listed(Listed),
}

/// The paths of a set, as they are walked in a network.
#[derive(Debug)]
pub struct Walks<'a> {
    pub(crate) network: &'a Network,
    pub(crate) paths: &'a PathSet,
    edges: EdgePorts,
}

/// What a walk over many paths at once goes by.
struct WalkContext<'a> {
    walks: &'a Walks<'a>,
    /// The state in which hosts send.
    start: u8,
    /// States are below this.
    states: usize,
}

/// Memory that walks of one thread share, all zero between them.
#[derive(Default)]
struct Scratch {
    counts: Vec<u64>,
    /// By switch: one bit for each state that is there.
    present: Vec<u64>,
    order: Vec<u32>,
}

impl PathSet {
    /// Application classes.
    pub const fn classes(&self) -> u8 {
        self.classes
    }

    /// How often a path of a class, counted from 0, may turn from down to up, if the classes differ
    /// in that.
    pub(crate) fn class_bounces(&self, class: u8) -> Option<u8> {
        self.class_bounces.get(usize::from(class)).copied()
    }

    /// The paths that a class, counted from 0, is to keep lossless.
    pub fn of_class(&self, class: u8) -> Cow<'_, Self> {
        let Some(bounces) = self.class_bounces(class) else { return Cow::Borrowed(self) };
        let parts = self.parts.iter().map(|part| match part {
            Part::UpDown(updown) => Part::UpDown(updown.with_bounces(bounces)),
            other => other.clone(),
        });
        let parts = parts.collect();
        Cow::Owned(Self { parts, classes: 1, class_bounces: Vec::new() })
    }

    /// A stride for [`Walks::tally_some`] that leaves about a thousand groups: enough to judge
    /// all.
    pub(crate) fn sample_stride(&self) -> usize {
        let groups = self.parts.iter().map(Part::groups).max().unwrap_or(1);
        groups.div_ceil(1_000).max(1)
    }

    /// Switches on the longest path.
    pub fn longest(&self, network: &Network) -> usize {
        let lengths = self.parts.iter().map(|part| match part {
            Part::Trees(trees) => trees.longest(),
            Part::Dags(dags) => dags.longest(),
            Part::UpDown(updown) => updown.longest(network),
            Part::Listed(listed) => listed.longest(),
        });
        lengths.max().unwrap_or(0)
    }

    /// Whether what holds for one host of a switch holds for all of them.
    pub(crate) fn hosts_alike(&self) -> bool {
        self.parts.iter().all(|part| match part {
            Part::Listed(listed) => listed.hosts_alike(),
            Part::Trees(_) | Part::Dags(_) | Part::UpDown(_) => true,
        })
    }

    /// How often a path may turn from down to up, if the paths are given by that and not one by
    /// one.
    pub fn bounces(&self) -> Option<u8> {
        self.parts.iter().find_map(|part| match part {
            Part::UpDown(updown) => Some(updown.bounces()),
            _ => None,
        })
    }
}

impl<'a> Walks<'a> {
    /// One host port of each switch stands for all of its hosts.
    pub fn alike(network: &'a Network, paths: &'a PathSet) -> Self {
        Self::grouped(network, paths, |_| 0)
    }

    /// One host port stands for those of its switch for which `group` gives the same value.
    pub fn grouped(network: &'a Network, paths: &'a PathSet, group: impl Fn(u32) -> u32) -> Self {
        Self { network, paths, edges: EdgePorts::grouped(network, group) }
    }

    /// Follows every path from `start`, through the states that `turn(input, output, state)` gives,
    /// and returns how many paths end in each of `states` states. Counts stop at `u64::MAX`.
    ///
    /// `turn` is called at least once for every turn and state that any path comes to; it must
    /// return states below `states`.
    pub fn tally<F>(&self, start: u8, states: usize, turn: F) -> Vec<u64>
    where
        F: Fn(u32, u32, u8, u64) -> u8 + Sync,
    {
        self.tally_some(1, start, states, turn)
    }

    /// As [`Walks::tally`], for one group of paths in `stride` only: a group is the paths to one
    /// destination, or from one source.
    pub(crate) fn tally_some<F>(&self, stride: usize, start: u8, states: usize, turn: F) -> Vec<u64>
    where
        F: Fn(u32, u32, u8, u64) -> u8 + Sync,
    {
        let context = WalkContext { walks: self, start, states };
        let mut total = vec![0; states];
        for part in &self.paths.parts {
            let ends = (0..part.groups())
                .into_par_iter()
                .step_by(stride.max(1))
                .fold(
                    || (Scratch::default(), vec![0; states]),
                    |(mut scratch, mut ends), group| {
                        let turn = &mut |i, o, state, paths| turn(i, o, state, paths);
                        part.walk(group, &context, &mut scratch, turn, &mut ends);
                        (scratch, ends)
                    },
                )
                .map(|(_, ends)| ends)
                .reduce(|| vec![0; states], |one, other| sum(one, &other));
            total = sum(total, &ends);
        }
        total
    }

    /// As [`Walks::tally`], in a fixed order, for a `turn` that remembers.
    pub fn tally_in_order(
        &self,
        start: u8,
        states: usize,
        turn: &mut impl FnMut(u32, u32, u8, u64) -> u8,
    ) -> Vec<u64> {
        let context = WalkContext { walks: self, start, states };
        let mut ends = vec![0; states];
        let mut scratch = Scratch::default();
        for part in &self.paths.parts {
            for group in 0..part.groups() {
                part.walk(group, &context, &mut scratch, turn, &mut ends);
            }
        }
        ends
    }

    /// How many paths there are; `u64::MAX` for that many or more.
    pub fn count(&self) -> u64 {
        self.tally(0, 1, |_, _, _, _| 0)[0]
    }

    /// Calls `look` with the turns of one path after the other, of `switches_min` switches or more,
    /// until it breaks.
    pub fn visit(
        &self,
        switches_min: usize,
        look: &mut impl FnMut(&[Turn]) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for part in &self.paths.parts {
            match part {
                Part::Trees(trees) => trees.visit(self, switches_min, look)?,
                Part::Dags(dags) => dags.visit(self, switches_min, look)?,
                Part::UpDown(updown) => updown.visit(self, switches_min, look)?,
                Part::Listed(listed) => listed.visit(self, switches_min, look)?,
            }
        }
        ControlFlow::Continue(())
    }
}

impl Part {
    /// Groups of paths that can be walked apart.
    fn groups(&self) -> usize {
        match self {
            Self::Trees(trees) => trees.groups(),
            Self::Dags(dags) => dags.groups(),
            Self::UpDown(_) => 1,
            Self::Listed(listed) => listed.groups(),
        }
    }

    fn walk(
        &self,
        group: usize,
        context: &WalkContext<'_>,
        scratch: &mut Scratch,
        turn: &mut impl FnMut(u32, u32, u8, u64) -> u8,
        ends: &mut [u64],
    ) {
        match self {
            Self::Trees(trees) => trees.walk(group, context, scratch, turn, ends),
            Self::Dags(dags) => dags.walk(group, context, scratch, turn, ends),
            Self::UpDown(updown) => updown.walk(context, scratch, turn, ends),
            Self::Listed(listed) => listed.walk(group, context, turn, ends),
        }
    }
}

fn sum(mut one: Vec<u64>, other: &[u64]) -> Vec<u64> {
    one.iter_mut().zip(other).for_each(|(one, &other)| *one = one.saturating_add(other));
    one
}

/// Adds `paths` to `count`, which stops at its maximum.
fn add(count: &mut u64, paths: u64) {
    *count = count.saturating_add(paths);
}
