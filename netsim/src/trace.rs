//! A hash of 64 bits over all arrivals: two runs with one hash had the same frames at the same
//! places at the same picoseconds.

use crate::event::Picoseconds;
use crate::frame::WRITTEN_BYTES;
use crate::link::Endpoint;
use dataplane::frame::Frame;

/// Constants of wyhash (public domain), odd and without pattern.
const KEYS: [u64; 4] =
    [0xA076_1D64_78BD_642F, 0xE703_7ED1_A0B4_28DB, 0x8EBC_6AF0_9C88_C6E3, 0x5899_65CC_7537_4CC3];

/// A rolling hash of every arrival, for each node by itself, since the nodes of a lookahead window
/// are run one after the other, or in several threads.
#[derive(Clone, Debug)]
pub(crate) struct Trace {
    hashes: Vec<u64>,
    arrivals: u64,
}

impl Trace {
    /// The empty trace of `nodes` nodes.
    pub(crate) fn new(nodes: usize) -> Self {
        Self { hashes: vec![0; nodes], arrivals: 0 }
    }

    /// A frame arrived.
    #[inline(always)]
    pub(crate) fn arrival<F: Frame>(&mut self, now_ps: Picoseconds, at: Endpoint, frame: &F) {
        self.arrivals += 1;
        let place = (at.port.index() as u64) << 16 | frame.len() as u64;
        // The hash of the bytes does not depend on earlier arrivals, so that arrivals overlap in
        // the CPU.
        let head = frame.head();
        let bytes = match head.first_chunk() {
            Some(written) => hash_bytes(written),
            None => hash_short(head),
        };
        let hash = &mut self.hashes[at.node()];
        *hash = fold(*hash ^ bytes ^ now_ps, place ^ KEYS[0]);
    }

    /// The hash so far of a node.
    pub(crate) fn hash_of(&self, node: usize) -> u64 {
        self.hashes[node]
    }

    /// How many frames have arrived anywhere: packet-hops.
    pub(crate) const fn arrivals(&self) -> u64 {
        self.arrivals
    }
}

/// The hash of a network from those of all its nodes in their order.
pub(crate) fn combined(hashes: impl Iterator<Item = u64>) -> u64 {
    hashes.fold(0, |sum, hash| fold(sum ^ hash, KEYS[1]))
}

#[inline(never)]
fn hash_short(head: &[u8]) -> u64 {
    let mut written = [0; WRITTEN_BYTES];
    written[..head.len()].copy_from_slice(head);
    hash_bytes(&written)
}

#[inline(always)]
fn hash_bytes(written: &[u8; WRITTEN_BYTES]) -> u64 {
    let (pairs, _) = written.as_chunks::<16>();
    pairs.iter().zip(KEYS).fold(0, |sum, (pair, key)| {
        let [low, high] = words(pair);
        sum ^ fold(low ^ key, high ^ key.rotate_left(32))
    })
}

#[inline(always)]
fn words(pair: &[u8; 16]) -> [u64; 2] {
    let (words, _) = pair.as_chunks::<8>();
    [u64::from_le_bytes(words[0]), u64::from_le_bytes(words[1])]
}

/// A product of 128 bits, folded: every bit of either factor reaches every bit of the result.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "both halves are used")]
const fn fold(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Pool;
    use dataplane::ids::PortId;
    use std::collections::BTreeSet;

    /// When, at which node, which head of how many bytes.
    type Arrival<'a> = (u64, u32, &'a [u8], u16);

    fn hash(arrivals: &[Arrival<'_>]) -> u64 {
        let mut trace = Trace::new(2);
        for &(now_ps, node, head, frame_bytes) in arrivals {
            let at = Endpoint { node, port: PortId::FIRST };
            trace.arrival(now_ps, at, &Pool::default().take(head, frame_bytes));
        }
        assert_eq!(trace.arrivals(), arrivals.len() as u64);
        combined((0..2).map(|node| trace.hash_of(node)))
    }

    #[test]
    fn every_part_of_an_arrival_counts_and_so_does_the_order() {
        let mut flipped_last = [7_u8; 128];
        flipped_last[63] = 6;
        let mut flipped_first = [7_u8; 128];
        flipped_first[0] = 6;
        let traces: [&[Arrival<'_>]; 9] = [
            &[],
            &[(1, 0, &[7; 128], 200)],
            &[(2, 0, &[7; 128], 200)],
            &[(1, 1, &[7; 128], 200)],
            &[(1, 0, &[7; 128], 201)],
            &[(1, 0, &flipped_last, 200)],
            &[(1, 0, &flipped_first, 200)],
            &[(1, 0, &[7; 128], 200), (1, 0, &[7; 128], 201)],
            &[(1, 0, &[7; 128], 201), (1, 0, &[7; 128], 200)],
        ];
        let hashes: BTreeSet<u64> = traces.iter().map(|trace| hash(trace)).collect();
        assert_eq!(hashes.len(), traces.len());
        let nodes =
            [[0, 1], [1, 0]].map(|nodes| hash(&nodes.map(|node| (1, node, &[7; 128][..], 200))));
        assert_eq!(nodes[0], nodes[1], "but not between nodes, which do not wait for each other");
        assert_eq!(hash(traces[7]), hash(traces[7]));
    }
}
