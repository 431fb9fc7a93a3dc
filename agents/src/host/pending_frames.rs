//! Frames that wait for the MAC address of their next hop.

use super::neighbor::NeighborKey;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use dataplane::ids::PortId;

/// A frame that waits, as received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PendingFrame {
    /// The port that received it.
    pub(super) port: PortId,
    pub(super) frame: Vec<u8>,
}

/// All frames that wait, by neighbor, in the order of arrival.
#[derive(Clone, Debug)]
pub(super) struct PendingFrames {
    frames_max: usize,
    bytes_max: usize,
    waiting: BTreeMap<NeighborKey, Vec<PendingFrame>>,
    bytes: usize,
}

impl PendingFrames {
    /// Room for `frames_max` frames per neighbor and `bytes_max` bytes in total.
    pub(super) fn new(frames_max: usize, bytes_max: usize) -> Self {
        Self { frames_max, bytes_max, waiting: BTreeMap::new(), bytes: 0 }
    }

    /// Keeps a copy of a frame. Returns false if there is no room; no waiting frame is replaced.
    pub(super) fn push(&mut self, key: NeighborKey, port: PortId, frame: &[u8]) -> bool {
        let waiting = self.waiting.get(&key).map_or(0, Vec::len);
        if waiting >= self.frames_max || self.bytes_max - self.bytes < frame.len() {
            return false;
        }
        self.bytes += frame.len();
        self.waiting.entry(key).or_default().push(PendingFrame { port, frame: frame.into() });
        true
    }

    /// Removes the frames that wait for `key`, in the order of arrival.
    pub(super) fn take(&mut self, key: NeighborKey) -> Vec<PendingFrame> {
        let pending = self.waiting.remove(&key).unwrap_or_default();
        self.bytes -= pending.iter().map(|pending| pending.frame.len()).sum::<usize>();
        pending
    }

    /// The number of frames.
    pub(super) fn frames(&self) -> usize {
        self.waiting.values().map(Vec::len).sum()
    }

    /// Their bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use core::net::Ipv4Addr;

    fn key(last: u8) -> NeighborKey {
        NeighborKey { port: PortId::default(), address: Ipv4Addr::new(10, 0, 0, last).into() }
    }

    #[test]
    fn frames_leave_in_order_of_arrival_and_the_newest_is_refused() {
        let mut pending = PendingFrames::new(3, 1_000);
        let port = PortId::default();
        for byte in 0..3 {
            assert!(pending.push(key(1), port, &[byte; 60]));
        }
        assert!(!pending.push(key(1), port, &[3; 60]), "three a neighbor");
        assert!(pending.push(key(2), port, &[4; 60]), "another neighbor has room of its own");
        assert_eq!((pending.frames(), pending.bytes()), (4, 240));
        let frames: Vec<_> = pending.take(key(1)).into_iter().map(|p| p.frame).collect();
        assert_eq!(frames, [vec![0; 60], vec![1; 60], vec![2; 60]]);
        assert_eq!(pending.take(key(1)), []);
        assert_eq!((pending.frames(), pending.bytes()), (1, 60));
    }

    #[test]
    fn bytes_are_limited_over_all_neighbors() {
        let mut pending = PendingFrames::new(64, 100);
        let port = PortId::default();
        assert!(pending.push(key(1), port, &[0; 60]));
        assert!(!pending.push(key(2), port, &[0; 41]));
        assert!(pending.push(key(2), port, &[0; 40]), "to the last byte");
        pending.take(key(1));
        assert!(pending.push(key(3), port, &[0; 60]), "taken frames free their bytes");
    }
}
