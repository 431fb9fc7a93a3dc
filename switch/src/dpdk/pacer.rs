//! How many bytes may be given to a device, so that the bytes behind the scheduler, which a pause
//! cannot stop, stay below a cap.
//!
//! A NIC does not report how many bytes it holds: drivers count descriptors, reclaim them in
//! batches, and disagree on the meaning of `rte_eth_tx_descriptor_status`. But a NIC whose own flow
//! control is off always sends at link speed. So it holds at most the bytes given to it less those
//! that the link has carried since. The pacer assumes 200 ppm less than the nominal speed, twice
//! the clock tolerance of IEEE 802.3, so that the estimate is conservative and its error cannot
//! accumulate while a port is busy.

use dataplane::limits::WIRE_OVERHEAD_BYTES;
use dataplane::time::{Instant, Speed};

/// A cap on the bytes in a device's transmit ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxCap {
    /// The rate of the device. Must not exceed the link's speed, or the cap does not hold.
    pub speed: Speed,
    /// Frames and what each costs on the wire besides, in bytes; at most [`CAP_BYTES_MAX`].
    pub bytes: u32,
}

/// The largest cap; headroom calculations never need more in a ring.
pub(crate) const CAP_BYTES_MAX: u32 = 1 << 30;

/// An upper estimate of the bytes that a device holds.
#[derive(Clone, Copy, Debug)]
pub struct Pacer {
    /// Bits a second, 200 ppm below nominal: what leaves, in [`UNITS_PER_BYTE`], every nanosecond.
    units_per_ns: u64,
    cap_units: u64,
    held_units: u64,
    as_of: Instant,
}

/// So that one nanosecond at one bit a second is one unit, and nothing is ever rounded.
const UNITS_PER_BYTE: u64 = 8_000_000_000;

impl Pacer {
    /// An empty device at the start of time.
    pub fn new(cap: TxCap) -> Self {
        let bps = cap.speed.bps();
        Self {
            units_per_ns: (bps - bps / 5_000).max(1),
            cap_units: u64::from(cap.bytes.min(CAP_BYTES_MAX)) * UNITS_PER_BYTE,
            held_units: 0,
            as_of: Instant::ZERO,
        }
    }

    /// Bytes that may be handed over now.
    #[inline]
    pub fn room_bytes(&mut self, now: Instant) -> u32 {
        let drained = now.ns_since(self.as_of).saturating_mul(self.units_per_ns);
        self.held_units = self.held_units.saturating_sub(drained);
        self.as_of = self.as_of.max(now);
        let room = self.cap_units.saturating_sub(self.held_units) / UNITS_PER_BYTE;
        u32::try_from(room).unwrap_or(u32::MAX)
    }

    /// Notes that `frames` of `bytes` in all were handed over at the time of the last
    /// [`Self::room_bytes`].
    #[inline]
    pub const fn sent(&mut self, frames: usize, bytes: usize) {
        let overhead = (frames as u64).saturating_mul(WIRE_OVERHEAD_BYTES as u64);
        let wire_bytes = (bytes as u64).saturating_add(overhead);
        let units = wire_bytes.saturating_mul(UNITS_PER_BYTE);
        self.held_units = self.held_units.saturating_add(units);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Instant {
        Instant::from_ns(ns)
    }

    #[test]
    fn a_full_device_has_no_room_until_the_link_has_carried_something() {
        let mut pacer = Pacer::new(TxCap { speed: Speed::from_gbps(10), bytes: 6_096 });
        assert_eq!(pacer.room_bytes(at(0)), 6_096);
        pacer.sent(4, 4 * 1_500);
        assert_eq!(pacer.room_bytes(at(0)), 0, "4 x (1500 + 24)");
        // A frame of 1524 bytes takes 1219.2 ns at 10 Gb/s, 1219.44 at 200 ppm less.
        assert_eq!(pacer.room_bytes(at(1_219)), 1_523);
        assert_eq!(pacer.room_bytes(at(1_220)), 1_524);
        assert_eq!(pacer.room_bytes(at(1_000_000)), 6_096, "never more than the cap");
    }

    #[test]
    fn an_hour_of_back_to_back_polls_loses_and_gains_nothing() {
        // One poll every 7 ns, each handing over all there is room for, carries exactly the rate.
        let mut pacer = Pacer::new(TxCap { speed: Speed::from_gbps(25), bytes: 10_000 });
        let (mut handed, mut now) = (0_u64, 0);
        while now < 7_000_000 {
            let room = pacer.room_bytes(at(now));
            handed += u64::from(room);
            pacer.sent(0, room as usize);
            now += 7;
        }
        let carried = (now - 7) * (25_000_000_000 - 5_000_000) / 8_000_000_000;
        assert_eq!(handed, 10_000 + carried);
    }

    #[test]
    fn time_that_stands_still_or_goes_back_gives_no_room() {
        let mut pacer = Pacer::new(TxCap { speed: Speed::from_gbps(1), bytes: 1_000 });
        assert_eq!(pacer.room_bytes(at(500)), 1_000);
        pacer.sent(1, 976);
        assert_eq!(pacer.room_bytes(at(100)), 0);
        assert_eq!(pacer.room_bytes(at(500)), 0);
    }

    #[test]
    fn the_largest_numbers_do_not_overflow() {
        let mut pacer = Pacer::new(TxCap { speed: Speed::from_bps(u64::MAX), bytes: u32::MAX });
        assert_eq!(pacer.room_bytes(Instant::NEVER), CAP_BYTES_MAX);
        pacer.sent(usize::MAX, usize::MAX / 64);
        assert_eq!(pacer.room_bytes(Instant::NEVER), 0);
    }
}
