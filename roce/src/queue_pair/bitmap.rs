//! Packets of a window that have arrived: a bit for each number, around a circle.

use crate::psn::Psn;

/// Windows are at most this long, in packets.
const PACKETS_MAX: u32 = 1 << 14;

/// The bits. Numbers of one window at a time only.
#[derive(Clone, Debug)]
pub(super) struct Bitmap {
    words: Vec<u64>,
    mask: u32,
}

impl Bitmap {
    /// For windows of `packets`.
    pub(super) fn new(packets: u32) -> Self {
        // A power of two, so that it divides the circle of the numbers.
        let len = packets.clamp(64, PACKETS_MAX).next_power_of_two();
        Self { words: vec![0; usize::try_from(len / 64).unwrap_or(1)], mask: len - 1 }
    }

    /// Numbers that fit.
    pub(super) const fn packets(&self) -> u32 {
        self.mask + 1
    }

    /// Where the bit of `psn` stands, and anything else that is kept for it.
    pub(super) fn slot(&self, psn: Psn) -> usize {
        usize::try_from(psn.value() & self.mask).unwrap_or(0)
    }

    pub(super) fn has(&self, psn: Psn) -> bool {
        let slot = self.slot(psn);
        self.words[slot / 64] >> (slot % 64) & 1 == 1
    }

    pub(super) fn set(&mut self, psn: Psn) {
        let slot = self.slot(psn);
        self.words[slot / 64] |= 1 << (slot % 64);
    }

    pub(super) fn clear(&mut self, psn: Psn) {
        let slot = self.slot(psn);
        self.words[slot / 64] &= !(1 << (slot % 64));
    }

    /// Clears from `from` until before `to`.
    pub(super) fn clear_until(&mut self, from: Psn, to: Psn) {
        if to.since(from) > self.mask {
            self.words.fill(0);
            return;
        }
        let mut psn = from;
        while psn != to {
            self.clear(psn);
            psn = psn.plus(1);
        }
    }
}
