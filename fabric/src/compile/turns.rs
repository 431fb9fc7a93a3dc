//! What paths do at each switch: which turns they take, in which states, and how often.

use crate::network::Network;
use crate::paths::Walks;
use dataplane::ids::PortId;
use dataplane::rules::PortSet;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The turns that are taken, by state: for each slot and state, the ports that frames go out by.
#[derive(Debug)]
pub(super) struct UsedTurns {
    states: usize,
    words: usize,
    /// By slot, state and word: one bit a port.
    bits: Vec<AtomicU64>,
}

impl UsedTurns {
    /// Follows all paths from `start` through `turn`, and remembers the turns taken in each of
    /// `states` states. A path is lost, and followed no further, in state `states`.
    pub(super) fn collect(
        walks: &Walks<'_>,
        start: u8,
        states: usize,
        turn: impl Fn(u32, u32, u8) -> u8 + Sync,
    ) -> Self {
        let used = Self::new(walks.network, states);
        used.add(1, walks, start, turn);
        used
    }

    /// The turns that some of the paths take, one group of them in `stride`.
    pub(super) fn sample(stride: usize, walks: &Walks<'_>) -> Self {
        let used = Self::new(walks.network, 1);
        used.add(stride, walks, 0, |_, _, _| 0);
        used
    }

    fn new(network: &Network, states: usize) -> Self {
        let ports =
            (0..network.switches()).map(|switch| network.ports(crate::network::u32_of(switch)));
        let words = ports.max().unwrap_or(0).div_ceil(64);
        let bits = (0..network.slots() * states * words).map(|_| AtomicU64::new(0)).collect();
        Self { states, words, bits }
    }

    /// Follows paths once more, one group of them in `stride`, from another state.
    pub(super) fn add(
        &self,
        stride: usize,
        walks: &Walks<'_>,
        start: u8,
        turn: impl Fn(u32, u32, u8) -> u8 + Sync,
    ) {
        walks.tally_some(stride, start, self.states + 1, |input, output, state, _| {
            if usize::from(state) == self.states {
                return state;
            }
            let port = usize::from(walks.network.port_index(output));
            let row = input as usize * self.states + usize::from(state);
            let word = &self.bits[row * self.words + port / 64];
            let bit = 1 << (port % 64);
            // Most turns are known by now, and a look is cheaper than a locked write.
            if word.load(Ordering::Relaxed) & bit == 0 {
                word.fetch_or(bit, Ordering::Relaxed);
            }
            turn(input, output, state)
        });
    }

    /// The ports that frames in `state` from `input` go out by.
    pub(super) fn outputs(&self, input: u32, state: usize) -> PortSet {
        let row = (input as usize * self.states + state) * self.words;
        let words = self.bits[row..row + self.words].iter().enumerate();
        words
            .flat_map(|(at, word)| {
                let word = word.load(Ordering::Relaxed);
                (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| at * 64 + bit)
            })
            .filter_map(PortId::from_index)
            .collect()
    }
}

/// How many paths take each turn between switches.
#[derive(Debug)]
pub(super) struct TurnWeights {
    /// The most ports of any switch.
    ports: usize,
    /// By slot and out port.
    weights: Vec<AtomicU32>,
}

impl TurnWeights {
    /// More turns than this are not weighed: a gigabyte.
    const TURNS_MAX: usize = 1 << 28;

    /// Counts, on a sample if there are many paths; `None` if the network is too large.
    pub(super) fn of(walks: &Walks<'_>) -> Option<Self> {
        let network = walks.network;
        let ports =
            (0..network.switches()).map(|switch| network.ports(crate::network::u32_of(switch)));
        let ports = ports.max().unwrap_or(0);
        let turns = network.slots() * ports;
        if turns > Self::TURNS_MAX {
            return None;
        }
        let weights: Vec<AtomicU32> = (0..turns).map(|_| AtomicU32::new(0)).collect();
        let stride = walks.paths.sample_stride();
        walks.tally_some(stride, 0, 1, |input, output, _, paths| {
            if network.far_slot(input).is_some() && network.far_slot(output).is_some() {
                let at = input as usize * ports + usize::from(network.port_index(output));
                let paths = u32::try_from(paths).unwrap_or(u32::MAX);
                let before = weights[at].fetch_add(paths, Ordering::Relaxed);
                if before.checked_add(paths).is_none() {
                    weights[at].store(u32::MAX / 2, Ordering::Relaxed);
                }
            }
            0
        });
        Some(Self { ports, weights })
    }

    /// How many paths come in by `input` and go out by `output`.
    pub(super) fn get(&self, network: &Network, input: u32, output: u32) -> u64 {
        let at = input as usize * self.ports + usize::from(network.port_index(output));
        u64::from(self.weights[at].load(Ordering::Relaxed))
    }
}
