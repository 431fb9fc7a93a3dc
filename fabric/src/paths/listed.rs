//! Paths one by one, in a byte for each hop: the port they go out by.

use super::{Turn, WalkContext, Walks, add};
use crate::network::Network;
use std::ops::ControlFlow;

/// Paths of a list. Those that begin at the same port stand together.
#[derive(Clone, Debug, Default)]
pub struct Listed {
    batches: Vec<Batch>,
    /// Whether the hosts of a switch are alike: if not, each path is for its own two hosts only.
    hosts_alike: bool,
}

/// Paths that begin at one port.
#[derive(Clone, Debug, Default)]
pub(super) struct Batch {
    /// The host's port they come in by.
    input: u32,
    /// Switches on each path.
    lengths: Vec<u8>,
    /// The index of the port by which a path leaves each of its switches, path after path.
    outputs: Vec<u8>,
}

/// Switches on a path at the most.
pub const SWITCHES_MAX: usize = u8::MAX as usize;

impl Batch {
    pub(super) fn new(input: u32) -> Self {
        Self { input, ..Self::default() }
    }

    /// Adds a path by the slots it goes out by, [`SWITCHES_MAX`] at the most.
    pub(super) fn push(&mut self, network: &Network, outputs: impl IntoIterator<Item = u32>) {
        let before = self.outputs.len();
        self.outputs.extend(outputs.into_iter().map(|slot| network.port_index(slot)));
        let length = u8::try_from(self.outputs.len() - before);
        self.lengths.push(length.expect("paths of more switches are refused before"));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// The outputs of one path after the other.
    fn paths(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = &self.outputs[..];
        self.lengths.iter().map(move |&length| {
            let (path, others) = rest.split_at(usize::from(length));
            rest = others;
            path
        })
    }
}

impl Listed {
    /// These paths, each by its turns, from a host to a host over 255 switches at the most. Each is
    /// for its own two hosts only.
    ///
    /// # Panics
    /// A path has more switches.
    pub fn of(network: &Network, paths: &[&[Turn]]) -> Self {
        let mut collector = PathCollector::default();
        paths.iter().for_each(|turns| collector.push(network, turns));
        collector.finish(false)
    }

    pub(super) const fn new(batches: Vec<Batch>, hosts_alike: bool) -> Self {
        Self { batches, hosts_alike }
    }

    pub(super) const fn groups(&self) -> usize {
        self.batches.len()
    }

    pub(super) const fn hosts_alike(&self) -> bool {
        self.hosts_alike
    }

    /// Switches on the longest path.
    pub fn longest(&self) -> usize {
        let lengths = self.batches.iter().flat_map(|batch| &batch.lengths);
        lengths.max().map_or(0, |&length| usize::from(length))
    }

    /// How many paths there are.
    pub fn len(&self) -> usize {
        self.batches.iter().map(|batch| batch.lengths.len()).sum()
    }

    /// Whether there is no path.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn walk(
        &self,
        group: usize,
        context: &WalkContext<'_>,
        turn: &mut impl FnMut(u32, u32, u8, u64) -> u8,
        ends: &mut [u64],
    ) {
        let batch = &self.batches[group];
        for path in batch.paths() {
            self.with_ends(context.walks, batch.input, path, &mut |input, last| {
                let mut state = context.start;
                follow(context.walks.network, input, path, last, &mut |input, output| {
                    state = turn(input, output, state, 1);
                });
                add(&mut ends[usize::from(state)], 1);
            });
        }
    }

    pub(super) fn visit(
        &self,
        walks: &Walks<'_>,
        switches_min: usize,
        look: &mut impl FnMut(&[Turn]) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let network = walks.network;
        let mut turns = Vec::new();
        let mut flow = ControlFlow::Continue(());
        for batch in &self.batches {
            for path in batch.paths().filter(|path| path.len() >= switches_min) {
                self.with_ends(walks, batch.input, path, &mut |input, last| {
                    turns.clear();
                    follow(network, input, path, last, &mut |i, o| turns.push((i, o)));
                    if flow.is_continue() {
                        flow = look(&turns);
                    }
                });
                flow?;
            }
        }
        flow
    }

    /// Calls `each` with the first and the last port of the path: as listed, or for each port that
    /// stands for hosts of the same switch.
    fn with_ends(
        &self,
        walks: &Walks<'_>,
        input: u32,
        path: &[u8],
        each: &mut impl FnMut(u32, u32),
    ) {
        let Walks { network, edges, .. } = walks;
        let source = network.owner(input);
        let mut last_switch = source;
        for &output in &path[..path.len().saturating_sub(1)] {
            let far = network.far_slot(network.slot_at(last_switch, output));
            last_switch = far.map_or(last_switch, |far| network.owner(far));
        }
        let last = network.slot_at(last_switch, path.last().copied().unwrap_or_default());
        if !self.hosts_alike {
            each(input, last);
        } else if path.len() == 1 {
            edges.local(source).iter().for_each(|&(input, output)| each(input, output));
        } else {
            for &input in edges.of(source) {
                edges.of(last_switch).iter().for_each(|&last| each(input, last));
            }
        }
    }
}

/// Calls `turn` for each turn of a path from `input`, the last one out by `last`.
fn follow(
    network: &Network,
    mut input: u32,
    path: &[u8],
    last: u32,
    turn: &mut impl FnMut(u32, u32),
) {
    let inner = path.len().saturating_sub(1);
    for &output in &path[..inner] {
        let output = network.slot_at(network.owner(input), output);
        turn(input, output);
        let Some(far) = network.far_slot(output) else { return };
        input = far;
    }
    turn(input, last);
}

/// Paths one at a time, brought into batches.
#[derive(Debug, Default)]
pub struct PathCollector {
    batches: std::collections::BTreeMap<u32, Batch>,
}

impl PathCollector {
    /// Adds a path by its turns, over 255 switches at the most.
    ///
    /// # Panics
    /// It has more switches.
    pub fn push(&mut self, network: &Network, turns: &[Turn]) {
        let Some(&(input, _)) = turns.first() else { return };
        let batch = self.batches.entry(input).or_insert_with(|| Batch::new(input));
        batch.push(network, turns.iter().map(|&(_, output)| output));
    }

    /// The paths. `hosts_alike`: each stands for all hosts of its two switches.
    pub fn finish(self, hosts_alike: bool) -> Listed {
        Listed::new(self.batches.into_values().collect(), hosts_alike)
    }
}

/// The turn from one host to another of a switch, if it has two: the path that stays there.
pub(super) fn local_turn(network: &Network, switch: u32) -> Option<Turn> {
    let mut hosts = network.host_slots_of(switch);
    Some((hosts.next()?, hosts.next()?))
}

/// The first host port of a switch, which stands for all of them.
pub(super) fn first_host(network: &Network, switch: u32) -> Option<u32> {
    network.host_slots_of(switch).next()
}
