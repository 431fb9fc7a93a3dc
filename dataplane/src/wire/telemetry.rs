//! In-band network telemetry for congestion control: what each switch on a packet's path writes
//! about the port that the packet leaves by. The fields are those of HPCC (Y. Li et al., SIGCOMM
//! 2019, figure 7); the place is ours.
//!
//! A sender leaves room for it: a packet to UDP port [`UDP_PORT`] begins, after UDP, with
//! [`BYTES`] bytes of a [`Stack`], and goes on with what it would be without. So a packet keeps its
//! length on the way, and needs no more MTU at one switch than at the one before.
//!
//! ```text
//!  0        4                       16
//! | hops: 4 | path: 12               |   switches passed, XOR of their numbers
//! | speed: 4 | time: 24 | sent: 20 | queue: 16 |   of each of the first five switches
//! ```

use super::array_at;
use crate::time::{Instant, Speed};

/// The UDP port of packets with telemetry; that of RoCEv2 is 4791.
pub const UDP_PORT: u16 = 4799;
/// Switches of which a packet has room.
pub const HOPS: usize = 5;
/// Bytes of telemetry after the UDP header.
pub const BYTES: usize = 2 + 8 * HOPS;

/// Numbers that switches can have: 12 bits.
pub const SWITCH_NUMBERS: u16 = 1 << 12;
/// The count of switches stops here.
const COUNT_MAX: usize = 15;
const TIME_MASK: u64 = (1 << 24) - 1;
const SENT_MASK: u64 = (1 << 20) - 1;
/// Units of the fields, bytes.
const SENT_UNIT_BYTES: u64 = 128;
const QUEUE_UNIT_BYTES: u32 = 80;

/// Speeds by their codes, megabits a second; the first five are those of HPCC's own simulator.
const SPEED_MBPS: [u32; 15] = [
    25_000, 50_000, 100_000, 200_000, 400_000, 800_000, 40_000, 10_000, 5_000, 2_500, 1_000, 500,
    200, 100, 10,
];
/// The code of a speed that has none.
pub(crate) const SPEED_UNKNOWN: u8 = 15;

/// Nanoseconds in a unit of time, a power of two. HPCC's is one, which wraps around in 16.7 ms:
/// more than lies between two packets of a flow on fast links. Slower ones have coarser units.
const fn time_shift(speed: u8) -> u32 {
    match SPEED_MBPS[if speed < SPEED_UNKNOWN { speed as usize } else { 0 }] {
        0..=1_000 => 8,
        1_001..=10_000 => 4,
        _ => 0,
    }
}

/// The code of a speed; `None` if it has none.
pub fn speed_code(speed: Speed) -> Option<u8> {
    let code = SPEED_MBPS.iter().position(|&mbps| u64::from(mbps) * 1_000_000 == speed.bps())?;
    u8::try_from(code).ok()
}

/// What a packet has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stack([u8; BYTES]);

/// What one switch wrote. Time and bytes sent wrap around: [`Hop::since`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    bits: u64,
}

impl Hop {
    /// A packet that leaves at `now` by a port with the code `speed` for its speed, when
    /// `sent_bytes` have left by it, and `queued_bytes` are queued behind.
    pub fn new(speed: u8, now: Instant, sent_bytes: u64, queued_bytes: u32) -> Self {
        let speed = speed.min(SPEED_UNKNOWN);
        let time = (now.ns_since(Instant::ZERO) >> time_shift(speed)) & TIME_MASK;
        let sent = (sent_bytes / SENT_UNIT_BYTES) & SENT_MASK;
        let queued = u64::from((queued_bytes / QUEUE_UNIT_BYTES).min(u32::from(u16::MAX)));
        Self { bits: u64::from(speed) << 60 | time << 36 | sent << 16 | queued }
    }

    const fn speed(self) -> u8 {
        (self.bits >> 60) as u8
    }

    /// The port's speed, bits a second; `None` if its code means nothing.
    #[inline]
    pub fn speed_bps(self) -> Option<u64> {
        SPEED_MBPS.get(usize::from(self.speed())).map(|&mbps| u64::from(mbps) * 1_000_000)
    }

    /// Bytes that were queued, to the next lower multiple of 80; 5,242,800 for that or more.
    #[inline]
    pub const fn queued_bytes(self) -> u64 {
        (self.bits & 0xFFFF) * QUEUE_UNIT_BYTES as u64
    }

    /// Nanoseconds, and bytes that the port has sent, since `earlier`, what the same switch wrote
    /// into an earlier packet: right for less than 134 MB, and less than 16.7 ms, 268 ms below 25
    /// Gb/s and 4.3 s up to 1 Gb/s.
    #[inline]
    pub fn since(self, earlier: Self) -> (u64, u64) {
        let time = |hop: Self| hop.bits >> 36 & TIME_MASK;
        let sent = |hop: Self| hop.bits >> 16 & SENT_MASK;
        let units = time(self).wrapping_sub(time(earlier)) & TIME_MASK;
        let ns = units << time_shift(self.speed());
        let bytes = (sent(self).wrapping_sub(sent(earlier)) & SENT_MASK) * SENT_UNIT_BYTES;
        (ns, bytes)
    }
}

impl Stack {
    /// Of a packet that has passed no switch.
    pub const EMPTY: Self = Self([0; BYTES]);

    /// The stack at the front of `bytes`, if they are enough.
    #[inline]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        array_at(bytes, 0).map(|stack| Self(*stack))
    }

    /// As it stands in a packet.
    pub const fn as_bytes(&self) -> &[u8; BYTES] {
        &self.0
    }

    /// Switches that the packet has passed; 15 for that or more.
    pub const fn count(&self) -> usize {
        (self.0[0] >> 4) as usize
    }

    /// The XOR of the numbers of these switches: which path it was.
    pub const fn path(&self) -> u16 {
        u16::from_be_bytes([self.0[0] & 0x0F, self.0[1]])
    }

    /// What the first [`HOPS`] switches wrote.
    pub fn hops(&self) -> impl ExactSizeIterator<Item = Hop> + '_ {
        (0..self.count().min(HOPS)).map(|number| {
            let bits = array_at(&self.0, place(number)).copied().unwrap_or_default();
            Hop { bits: u64::from_be_bytes(bits) }
        })
    }

    /// Writes what the switch with the number `switch` says. Returns false if there was no room for
    /// it, and only the count and the path now say that the packet was there.
    pub fn push(&mut self, switch: u16, hop: Hop) -> bool {
        let count = self.count();
        self.set_head((count + 1).min(COUNT_MAX), switch);
        let room = self.0.get_mut(place(count)..).and_then(<[u8]>::first_chunk_mut);
        room.map(|room| *room = hop.bits.to_be_bytes()).is_some()
    }

    /// Takes back what the last [`Self::push`] of this switch wrote, and returns what that did.
    pub(crate) fn pop(&mut self, switch: u16) -> bool {
        let count = self.count().saturating_sub(1);
        self.set_head(count, switch);
        let room = self.0.get_mut(place(count)..).and_then(<[u8]>::first_chunk_mut::<8>);
        room.map(|room| *room = [0; 8]).is_some()
    }

    fn set_head(&mut self, count: usize, switch: u16) {
        let [high, low] = (self.path() ^ switch).to_be_bytes();
        self.0[0] = u8::try_from(count).unwrap_or(0) << 4 | high & 0x0F;
        self.0[1] = low;
    }
}

/// Where the hop with this number stands.
const fn place(number: usize) -> usize {
    2 + 8 * number
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn each_speed_has_a_code_of_its_own_and_others_have_none() {
        for (code, mbps) in (0..).zip(SPEED_MBPS) {
            let speed = Speed::from_bps(u64::from(mbps) * 1_000_000);
            assert_eq!(speed_code(speed), Some(code));
            let hop = Hop::new(code, Instant::from_ns(0), 0, 0);
            assert_eq!(hop.speed_bps(), Some(speed.bps()));
        }
        assert_eq!(speed_code(Speed::from_bps(123_000_000)), None);
        assert_eq!(Hop::new(SPEED_UNKNOWN, Instant::from_ns(0), 0, 0).speed_bps(), None);
    }

    #[test]
    fn a_hop_is_written_as_the_papers_figure_says() {
        let mut stack = Stack::EMPTY;
        let hop = Hop::new(2, Instant::from_ns(0x0012_3456), 128 * 0xA_BCDE, 80 * 0x1234);
        assert!(stack.push(0x0F05, hop));
        let bytes = stack.as_bytes();
        assert_eq!(bytes[..10], [0x1F, 0x05, 0x21, 0x23, 0x45, 0x6A, 0xBC, 0xDE, 0x12, 0x34]);
        assert!(bytes[10..].iter().all(|&octet| octet == 0));
        assert_eq!(Stack::read(bytes), Some(stack));
        assert_eq!((stack.count(), stack.path()), (1, 0x0F05));
        let found: Vec<_> = stack.hops().collect();
        assert_eq!(found, [hop]);
        assert_eq!(
            (found[0].speed_bps(), found[0].queued_bytes()),
            (Some(100_000_000_000), 372_800)
        );
    }

    #[test]
    fn differences_hold_across_the_wrap_of_both_fields() {
        let wrap = 1 << 24;
        let earlier = Hop::new(2, Instant::from_ns(wrap - 5), (1 << 27) - 256, 0);
        let later = Hop::new(2, Instant::from_ns(wrap + 95), (1 << 27) + 1_024, 0);
        assert_eq!(later.since(earlier), (100, 1_280));
    }

    #[test]
    fn slow_ports_say_the_time_in_coarser_units() {
        for (mbps, wraps_ns) in [(100_000, 1 << 24), (10_000, 1 << 28), (100, 1_u64 << 32)] {
            let code = speed_code(Speed::from_bps(mbps * 1_000_000)).expect("it has one");
            let hop = |ns| Hop::new(code, Instant::from_ns(ns), 0, 0);
            assert_eq!(hop(wraps_ns + 4_096).since(hop(0)).0, 4_096, "{mbps} Mb/s");
            assert_eq!(hop(wraps_ns - 256).since(hop(0)).0, wraps_ns - 256, "{mbps} Mb/s");
        }
    }

    #[test]
    fn a_queue_beyond_what_the_field_can_say_is_said_as_the_most() {
        let hop = Hop::new(2, Instant::from_ns(0), 0, u32::MAX);
        assert_eq!(hop.queued_bytes(), 65_535 * 80);
    }

    #[test]
    fn a_sixth_switch_is_counted_and_what_it_takes_back_is_no_other_switchs() {
        let mut stack = Stack::EMPTY;
        let hop = |number: u16| Hop::new(2, Instant::from_ns(u64::from(number)), 0, 0);
        let mut before = Vec::new();
        for number in 1..=20 {
            before.push(stack);
            assert_eq!(stack.push(number, hop(number)), number <= 5, "switch {number}");
        }
        assert_eq!(stack.count(), 15);
        assert!(stack.hops().eq((1..=5).map(hop)));
        let mut stack = before[10];
        for number in (1..=10).rev() {
            assert_eq!(stack.pop(number), number <= 5, "switch {number}");
            assert_eq!(stack, before[usize::from(number) - 1], "switch {number}");
        }
    }

    #[test]
    fn too_few_bytes_are_no_stack() {
        assert_eq!(Stack::read(&[0; BYTES - 1]), None);
        assert_eq!(Stack::read(&[0; BYTES + 1]), Some(Stack::EMPTY));
    }
}
