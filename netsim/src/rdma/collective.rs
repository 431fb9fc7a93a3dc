//! What a rank of a collective sends, and what it must have received before.
//!
//! A program is a formula, not a list: a ring of 1,024 ranks sends two million messages. Its
//! messages are in one or two streams, each in order.

use config::scenario::CollectiveKind;

/// A rank's messages to others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Program {
    pub(crate) kind: CollectiveKind,
    pub(crate) rank: u32,
    pub(crate) ranks: u32,
    pub(crate) bytes: u64,
    pub(crate) chunks: u32,
    pub(crate) rounds: u32,
}

/// A message, to each of one or two slots. A slot is a connection of the rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) to: Vec<u32>,
    pub(crate) bytes: u64,
    /// So many messages must have come by these slots.
    pub(crate) needs: Vec<(u32, u64)>,
    /// So many messages of its own must have arrived.
    pub(crate) needs_sent: u64,
}

/// A slot of a rank.
pub(crate) type Place = (u32, u32);

/// The connections of a collective: the slots at both ends.
pub(crate) fn connections(kind: CollectiveKind, ranks: u32) -> Vec<(Place, Place)> {
    match kind {
        CollectiveKind::AllReduceRing => {
            (0..ranks).map(|rank| ((rank, 0), ((rank + 1) % ranks, 1))).collect()
        }
        CollectiveKind::Pipeline => (1..ranks).map(|rank| ((rank - 1, 0), (rank, 1))).collect(),
        CollectiveKind::AllReduceTree => {
            (1..ranks).map(|rank| ((rank, 0), ((rank - 1) / 2, 1 + (rank - 1) % 2))).collect()
        }
        CollectiveKind::AllReduceHalvingDoubling => {
            let levels = ranks.ilog2();
            let of_level = |level: u32| {
                let distance = ranks >> (level + 1);
                let lower = move |rank: &u32| rank & distance == 0;
                (0..ranks).filter(lower).map(move |rank| ((rank, level), (rank ^ distance, level)))
            };
            (0..levels).flat_map(of_level).collect()
        }
        CollectiveKind::AllToAll => {
            let pair = |one: u32| {
                (one + 1..ranks)
                    .map(move |other| ((one, other - one - 1), (other, ranks + one - other - 1)))
            };
            (0..ranks).flat_map(pair).collect()
        }
    }
}

impl Program {
    /// The number of slots, used or not.
    pub(crate) const fn slots(&self) -> u32 {
        match self.kind {
            CollectiveKind::AllReduceRing | CollectiveKind::Pipeline => 2,
            CollectiveKind::AllReduceTree => 3,
            CollectiveKind::AllReduceHalvingDoubling => self.ranks.ilog2(),
            CollectiveKind::AllToAll => self.ranks - 1,
        }
    }

    /// Steps of a round of its stream.
    fn steps_a_round(&self, stream: usize) -> u64 {
        let (ranks, chunks) = (u64::from(self.ranks), u64::from(self.chunks));
        match (self.kind, stream) {
            (CollectiveKind::AllReduceRing, 0) => 2 * (ranks - 1),
            (CollectiveKind::AllReduceHalvingDoubling, 0) => 2 * u64::from(self.ranks.ilog2()),
            (CollectiveKind::AllToAll, 0) => ranks - 1,
            (CollectiveKind::Pipeline, 0) if self.rank + 1 < self.ranks => chunks,
            (CollectiveKind::AllReduceTree, 0) if self.rank > 0 => chunks,
            (CollectiveKind::AllReduceTree, 1) if self.has_child(1) => chunks,
            _ => 0,
        }
    }

    /// The number of steps of a stream.
    pub(crate) fn steps(&self, stream: usize) -> u64 {
        self.steps_a_round(stream) * u64::from(self.rounds)
    }

    /// Messages that it receives in all.
    pub(crate) fn receives(&self) -> u64 {
        let (ranks, chunks) = (u64::from(self.ranks), u64::from(self.chunks));
        let of_round = match self.kind {
            CollectiveKind::AllReduceRing => 2 * (ranks - 1),
            CollectiveKind::AllReduceHalvingDoubling => 2 * u64::from(self.ranks.ilog2()),
            CollectiveKind::AllToAll => ranks - 1,
            CollectiveKind::Pipeline => chunks * u64::from(self.rank > 0),
            CollectiveKind::AllReduceTree => {
                let children = u64::from(self.has_child(1)) + u64::from(self.has_child(2));
                chunks * (children + u64::from(self.rank > 0))
            }
        };
        of_round * u64::from(self.rounds)
    }

    const fn has_child(&self, slot: u32) -> bool {
        2 * self.rank as u64 + (slot as u64) < self.ranks as u64
    }

    fn children(&self) -> impl Iterator<Item = u32> + use<> {
        let program = *self;
        (1..=2).filter(move |&slot| program.has_child(slot))
    }

    /// Step `number` of a stream.
    pub(crate) fn step(&self, stream: usize, number: u64) -> Step {
        let of_round = self.steps_a_round(stream).max(1);
        let (round, at) = (number / of_round, number % of_round);
        match self.kind {
            CollectiveKind::AllReduceRing => self.ring(number, at),
            CollectiveKind::AllReduceHalvingDoubling => self.halving_doubling(number, at),
            CollectiveKind::AllToAll => self.all_to_all(number, at),
            CollectiveKind::Pipeline => Step {
                to: vec![0],
                bytes: part(self.bytes, self.chunks, at),
                needs: if self.rank == 0 { Vec::new() } else { vec![(1, number + 1)] },
                needs_sent: 0,
            },
            CollectiveKind::AllReduceTree => {
                let bytes = part(self.bytes, self.chunks, at);
                let mut needs: Vec<(u32, u64)> =
                    self.children().map(|slot| (slot, number + 1)).collect();
                if stream == 0 {
                    // The sum of the round before is here.
                    needs.push((0, round * u64::from(self.chunks)));
                    return Step { to: vec![0], bytes, needs, needs_sent: 0 };
                }
                let needs = if self.rank == 0 { needs } else { vec![(0, number + 1)] };
                Step { to: self.children().collect(), bytes, needs, needs_sent: 0 }
            }
        }
    }

    /// Chunk rank - at goes on to the next rank: summed up for n - 1 steps, then as it is.
    fn ring(&self, number: u64, at: u64) -> Step {
        let ranks = u64::from(self.ranks);
        let chunk = (u64::from(self.rank) + 2 * ranks - at) % ranks;
        let bytes = part(self.bytes, self.ranks, chunk);
        Step { to: vec![0], bytes, needs: vec![(1, number)], needs_sent: 0 }
    }

    fn halving_doubling(&self, number: u64, at: u64) -> Step {
        let levels = u64::from(self.ranks.ilog2());
        let level = |at: u64| if at < levels { at } else { 2 * levels - 1 - at };
        let slot = |at: u64| u32::try_from(level(at)).unwrap_or(0);
        let bytes = self.bytes >> (level(at) + 1);
        // What the step before received; its own start waited for all before.
        let needs = number.checked_sub(1).map(|before| {
            let (round, at) = (before / (2 * levels), before % (2 * levels));
            (slot(at), 2 * round + if at < levels { 1 } else { 2 })
        });
        Step {
            to: vec![slot(at)],
            bytes: bytes.max(1),
            needs: needs.into_iter().collect(),
            needs_sent: 0,
        }
    }

    /// At step s to the rank s + 1 further, while that far before sends here.
    fn all_to_all(&self, number: u64, at: u64) -> Step {
        let others = u64::from(self.ranks) - 1;
        let peer = (u64::from(self.rank) + at + 1) % u64::from(self.ranks);
        let needs = number.checked_sub(1).map(|before| {
            let (round, at) = (before / others, before % others);
            (u32::try_from(others - 1 - at).unwrap_or(0), round + 1)
        });
        Step {
            to: vec![u32::try_from(at).unwrap_or(0)],
            bytes: part(self.bytes, self.ranks, peer),
            needs: needs.into_iter().collect(),
            needs_sent: number,
        }
    }
}

/// Part `at` of `bytes` cut into `parts` that are equal but for a byte.
fn part(bytes: u64, parts: u32, at: u64) -> u64 {
    let parts = u64::from(parts.max(1));
    bytes / parts + u64::from(at < bytes % parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet, VecDeque};

    const KINDS: [CollectiveKind; 5] = [
        CollectiveKind::AllReduceRing,
        CollectiveKind::AllReduceTree,
        CollectiveKind::AllReduceHalvingDoubling,
        CollectiveKind::AllToAll,
        CollectiveKind::Pipeline,
    ];

    fn program(kind: CollectiveKind, rank: u32, ranks: u32, rounds: u32) -> Program {
        Program { kind, rank, ranks, bytes: 960, chunks: 3, rounds }
    }

    /// Runs all ranks; messages arrive at once. Returns, by rank, the bytes sent and the messages
    /// received.
    fn run(kind: CollectiveKind, ranks: u32, rounds: u32) -> Vec<(u64, u64)> {
        let mut far = BTreeMap::new();
        for (one, other) in connections(kind, ranks) {
            assert_eq!((far.insert(one, other), far.insert(other, one)), (None, None));
        }
        let mut received: BTreeMap<Place, u64> = BTreeMap::new();
        let mut next = vec![[0_u64; 2]; ranks as usize];
        let mut totals = vec![(0, 0); ranks as usize];
        let mut sent = vec![0; ranks as usize];
        let mut ready: VecDeque<u32> = (0..ranks).collect();
        while let Some(rank) = ready.pop_front() {
            let program = program(kind, rank, ranks, rounds);
            for stream in [0, 1] {
                while next[rank as usize][stream] < program.steps(stream) {
                    let step = program.step(stream, next[rank as usize][stream]);
                    let has = |&(slot, count): &(u32, u64)| {
                        count == 0 || received.get(&(rank, slot)).is_some_and(|&has| has >= count)
                    };
                    if !step.needs.iter().all(has) || sent[rank as usize] < step.needs_sent {
                        break;
                    }
                    next[rank as usize][stream] += 1;
                    for slot in step.to {
                        assert!(slot < program.slots());
                        let to = far[&(rank, slot)];
                        *received.entry(to).or_insert(0) += 1;
                        totals[rank as usize].0 += step.bytes;
                        totals[to.0 as usize].1 += 1;
                        sent[rank as usize] += 1;
                        ready.push_back(to.0);
                    }
                    ready.push_back(rank);
                }
            }
        }
        for rank in 0..ranks {
            let program = program(kind, rank, ranks, rounds);
            let steps = [program.steps(0), program.steps(1)];
            assert_eq!(next[rank as usize], steps, "{kind:?}: rank {rank} waits for ever");
            assert_eq!(totals[rank as usize].1, program.receives(), "{kind:?}, rank {rank}");
        }
        totals
    }

    #[test]
    fn every_rank_ends_whatever_the_kind() {
        for kind in KINDS {
            for ranks in [2, 4, 8, 16] {
                for rounds in [1, 3] {
                    run(kind, ranks, rounds);
                }
            }
        }
        for kind in KINDS.into_iter().filter(|&it| it != CollectiveKind::AllReduceHalvingDoubling) {
            [3, 5, 7].into_iter().for_each(|ranks| drop(run(kind, ranks, 2)));
        }
    }

    #[test]
    fn ranks_send_as_much_as_the_textbook_says() {
        // 2 (n - 1) / n of the bytes.
        for kind in [CollectiveKind::AllReduceRing, CollectiveKind::AllReduceHalvingDoubling] {
            assert!(run(kind, 8, 1).iter().all(|rank| rank.0 == 2 * 960 * 7 / 8), "{kind:?}");
        }
        assert!(run(CollectiveKind::AllToAll, 8, 1).iter().all(|rank| rank.0 == 960 * 7 / 8));
        let line = run(CollectiveKind::Pipeline, 4, 1);
        assert_eq!(line, [(960, 0), (960, 3), (960, 3), (0, 3)]);
        let tree = run(CollectiveKind::AllReduceTree, 7, 1);
        // The root sends down to two; inner ranks also up; leaves up only.
        assert_eq!(
            tree.iter().map(|rank| rank.0).collect::<Vec<_>>(),
            [1_920, 2_880, 2_880, 960, 960, 960, 960]
        );
    }

    /// The oracle: sets of who has summed up what. A ring's chunk must hold all ranks' parts when
    /// it goes around as a sum.
    #[test]
    fn a_ring_sums_every_chunk_before_it_hands_it_on() {
        let ranks = 5_u32;
        let mut holds: Vec<Vec<BTreeSet<u32>>> =
            (0..ranks).map(|rank| vec![BTreeSet::from([rank]); ranks as usize]).collect();
        for at in 0..2 * (ranks - 1) {
            let before = holds.clone();
            for rank in 0..ranks {
                // The chunk of a ring's step is not said by the step: it is the one that the
                // length tells, with lengths that differ.
                let sizes =
                    Program { bytes: 2, ..program(CollectiveKind::AllReduceRing, rank, ranks, 1) };
                let chunk = (rank + 2 * ranks - at) % ranks;
                assert_eq!(sizes.step(0, at.into()).bytes, u64::from(chunk < 2));
                let to = ((rank + 1) % ranks) as usize;
                let sent = before[rank as usize][chunk as usize].clone();
                holds[to][chunk as usize].extend(sent);
            }
        }
        assert!(holds.iter().flatten().all(|parts| parts.len() == ranks as usize));
    }
}
