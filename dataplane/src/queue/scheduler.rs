//! Selects the priority to serve: strict ones first, the others by deficit round robin (Shreedhar
//! and Varghese, 1996), weighted by their quantum.
//!
//! A paused priority is not eligible: it is skipped and keeps its deficit. An empty priority loses
//! its deficit, so that no priority accumulates credit while idle.

use crate::limits::PRIORITIES;
use crate::settings::SchedulerSettings;

/// The scheduler of one port.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Scheduler {
    strict_bits: u8,
    /// Priorities that have received credit and may have some left.
    credit_bits: u8,
    /// Whether the current priority has received its quantum in this round.
    credited: bool,
    /// The priority that is served now.
    current: usize,
    quantum_bytes: [u32; PRIORITIES],
    deficit_bytes: [u32; PRIORITIES],
}

impl Scheduler {
    /// A scheduler with no credit given yet. A quantum of 0 counts as 1.
    pub fn new(settings: &SchedulerSettings) -> Self {
        Self {
            strict_bits: settings.strict_bits,
            quantum_bytes: settings.quantum_bytes.map(|quantum| quantum.max(1)),
            deficit_bytes: [0; PRIORITIES],
            credit_bits: 0,
            current: 0,
            credited: false,
        }
    }

    /// The priority to serve, of those in `eligible_bits` (not empty, not paused); `None` if that
    /// is 0. `front_bytes` gives the length of a priority's first frame. Charges that frame.
    #[inline]
    pub fn pick(&mut self, eligible_bits: u8, front_bytes: impl Fn(usize) -> u32) -> Option<usize> {
        let strict = eligible_bits & self.strict_bits;
        if strict != 0 {
            return Some(7 - strict.leading_zeros() as usize);
        }
        if eligible_bits == 0 {
            return None;
        }
        // Only one priority is eligible: no credit is needed.
        if eligible_bits.is_power_of_two() {
            return Some(eligible_bits.trailing_zeros() as usize);
        }
        loop {
            if eligible_bits >> self.current & 1 == 1 {
                if !self.credited {
                    self.deficit_bytes[self.current] += self.quantum_bytes[self.current];
                    self.credit_bits |= 1 << self.current;
                    self.credited = true;
                }
                let bytes = front_bytes(self.current);
                if self.deficit_bytes[self.current] >= bytes {
                    self.deficit_bytes[self.current] -= bytes;
                    return Some(self.current);
                }
            }
            self.current = (self.current + 1) % PRIORITIES;
            self.credited = false;
        }
    }

    /// Resets the deficit of `priority`, which has no frames left.
    #[inline(always)]
    pub(crate) fn emptied(&mut self, priority: usize) {
        let bit = 1 << (priority % PRIORITIES);
        if self.credit_bits & bit != 0 {
            self.deficit_bytes[priority % PRIORITIES] = 0;
            self.credit_bits &= !bit;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn scheduler(strict_bits: u8, quantum_bytes: [u32; 8]) -> Scheduler {
        Scheduler::new(&SchedulerSettings { strict_bits, quantum_bytes, fair: false })
    }

    #[test]
    fn strict_priorities_go_first_the_highest_first() {
        let mut scheduler = scheduler(0b1100_0000, [1500; 8]);
        assert_eq!(scheduler.pick(0b1100_0001, |_| 100), Some(7));
        assert_eq!(scheduler.pick(0b0100_0001, |_| 100), Some(6));
        assert_eq!(scheduler.pick(0b0000_0001, |_| 100), Some(0));
        assert_eq!(scheduler.pick(0, |_| 100), None);
    }

    #[test]
    fn a_paused_priority_neither_blocks_nor_gains() {
        let mut scheduler = scheduler(0, [3000; 8]);
        for _ in 0..1000 {
            assert_ne!(scheduler.pick(0b0000_0110, |_| 1500), Some(3), "3 is paused");
        }
        let first_100 =
            (0..100).filter(|_| scheduler.pick(0b0000_1110, |_| 1500) == Some(3)).count();
        assert!((32..=36).contains(&first_100), "a third, no credit from the pause: {first_100}");
    }

    proptest! {
        /// Over a long run each backlogged priority gets its quantum's share, whatever the frame
        /// sizes.
        #[test]
        fn shares_follow_the_quanta(
            quanta in proptest::array::uniform8(1_u32..16), sizes in proptest::array::uniform8(60_u32..9000),
            active: u8,
        ) {
            prop_assume!(active.count_ones() >= 2);
            let mut scheduler = scheduler(0, quanta.map(|weight| weight * 1500));
            let mut sent = [0_u64; 8];
            for _ in 0..40_000 {
                let p = scheduler.pick(active, |p| sizes[p]).unwrap();
                prop_assert!(active >> p & 1 == 1);
                sent[p] += u64::from(sizes[p]);
            }
            let weight: u32 = (0..8).filter(|p| active >> p & 1 == 1).map(|p| quanta[p]).sum();
            let total: u64 = sent.iter().sum();
            for p in (0..8).filter(|p| active >> p & 1 == 1) {
                let share = sent[p] as f64 / total as f64;
                let due = f64::from(quanta[p]) / f64::from(weight);
                prop_assert!((share - due).abs() < 0.02, "priority {} got {} of {}", p, share, due);
            }
        }
    }
}
