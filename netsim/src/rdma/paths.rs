//! The round trip of an idle path: HPCC and Swift begin with it, and slowdowns are measured by it.

use crate::event::Picoseconds;
use crate::topology::{Peer, SwitchId, Topology};
use dataplane::limits::WIRE_OVERHEAD_BYTES;
use std::collections::{BTreeMap, VecDeque};

/// Bytes of a frame that carries an acknowledgment.
const ACK_BYTES: u64 = 62;
/// What the time of bytes is stored for, so that a byte's needs no fraction.
const UNIT_BYTES: u64 = 1_000_000;

/// Of a shortest path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PathLength {
    /// Switches on it.
    pub(crate) switches: u32,
    /// What the cables take.
    delay_ps: Picoseconds,
    /// What a million bytes take to be sent, once on each link.
    unit_ps: Picoseconds,
}

impl PathLength {
    /// From the first bit of a frame of `frame_bytes` to its last bit's arrival.
    pub(crate) fn there_ps(&self, frame_bytes: u64) -> Picoseconds {
        let bytes = frame_bytes + WIRE_OVERHEAD_BYTES as u64;
        let sent_ps = u128::from(self.unit_ps) * u128::from(bytes) / u128::from(UNIT_BYTES);
        self.delay_ps.saturating_add(u64::try_from(sent_ps).unwrap_or(u64::MAX))
    }

    /// The same, until its acknowledgment is back.
    pub(crate) fn round_trip_ps(&self, frame_bytes: u64) -> Picoseconds {
        self.there_ps(frame_bytes).saturating_add(self.there_ps(ACK_BYTES))
    }

    const fn and(self, link: Self) -> Self {
        Self {
            switches: self.switches + link.switches,
            delay_ps: self.delay_ps + link.delay_ps,
            unit_ps: self.unit_ps + link.unit_ps,
        }
    }
}

/// Lengths of shortest paths, by the switches where they begin.
#[derive(Debug)]
pub(crate) struct PathLengths<'a> {
    topology: &'a Topology,
    is_down: Vec<bool>,
    by_start: BTreeMap<SwitchId, Vec<Option<PathLength>>>,
}

impl<'a> PathLengths<'a> {
    /// Over links that are not in `down`.
    pub(crate) fn new(topology: &'a Topology, down: &[usize]) -> Self {
        let mut is_down = vec![false; topology.links.len()];
        down.iter().for_each(|&link| is_down[link] = true);
        Self { topology, is_down, by_start: BTreeMap::new() }
    }

    /// Between two hosts, each by its switch and link; `None` if there is no path.
    pub(crate) fn between(
        &mut self,
        (start, link): (SwitchId, usize),
        (end, last_link): (SwitchId, usize),
    ) -> Option<PathLength> {
        if !self.by_start.contains_key(&start) {
            let lengths = self.from(start);
            self.by_start.insert(start, lengths);
        }
        let between = self.by_start.get(&start)?[end.0]?;
        Some(self.over(link, 0).and(between).and(self.over(last_link, 0)))
    }

    /// A link, with the switches behind it.
    fn over(&self, link: usize, switches: u32) -> PathLength {
        let spec = self.topology.links[link].spec;
        let unit_ps = spec.speed.bytes_ps(UNIT_BYTES);
        PathLength { switches, delay_ps: spec.length.delay_ps(), unit_ps }
    }

    fn from(&self, start: SwitchId) -> Vec<Option<PathLength>> {
        let mut lengths = vec![None; self.topology.ports.len()];
        let mut frontier = VecDeque::from([start]);
        lengths[start.0] = Some(PathLength { switches: 1, ..PathLength::default() });
        while let Some(at) = frontier.pop_front() {
            let Some(here) = lengths[at.0] else { continue };
            for (_, attachment) in self.topology.attachments(at) {
                let Peer::Switch(next, _) = attachment.peer else { continue };
                if self.is_down[attachment.link] || lengths[next.0].is_some() {
                    continue;
                }
                lengths[next.0] = Some(here.and(self.over(attachment.link, 1)));
                frontier.push_back(next);
            }
        }
        lengths
    }
}
