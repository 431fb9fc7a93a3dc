//! A link: two wires, each with a rate and a delay, exact to the picosecond.
//!
//! A frame occupies the wire for its preamble, its bytes, its FCS and the gap. It has left when the
//! gap is over, and has arrived when the last bit of its FCS has. There is no cut-through, and a
//! frame that has started is never interrupted, by a pause neither.

use crate::event::Picoseconds;
use crate::frame::SimFrame;
use config::units::Length;
use dataplane::ids::PortId;
use dataplane::limits::{FRAME_BYTES_MIN, WIRE_OVERHEAD_BYTES};
use dataplane::time::Speed;
use random::SplitMix64;
use std::collections::VecDeque;

/// The least gap between two frames (IEEE 802.3 clause 4.4.2), part of [`WIRE_OVERHEAD_BYTES`].
const GAP_BYTES: u64 = 12;
const PS_PER_SECOND: u64 = 1_000_000_000_000;

/// What a link is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkSpec {
    /// Rate of both wires.
    pub speed: Speed,
    /// Length of the cable, which is the delay.
    pub length: Length,
}

impl LinkSpec {
    /// A link of `gigabits` gigabits per second over `metres` metres.
    pub const fn new(gigabits: u64, metres: u32) -> Self {
        Self { speed: Speed::from_gbps(gigabits), length: Length::from_metres(metres) }
    }
}

/// One end of a wire, at its sender: what is being sent, and until when.
#[derive(Clone, Debug)]
pub(crate) struct Transmitter {
    bits_per_second: u64,
    /// Picoseconds of a byte where that is a whole number, as it is at all usual speeds; else 0.
    byte_ps: u64,
    free_at_ps: Picoseconds,
    /// The part of the busy time beyond `free_at_ps`, in 1/`bits_per_second` picoseconds, so that
    /// frames back to back take exactly as long as their bits.
    fraction: u64,
}

impl Transmitter {
    /// An idle sender of `speed`.
    pub(crate) fn new(speed: Speed) -> Self {
        let byte = 8 * PS_PER_SECOND;
        let whole = byte.is_multiple_of(speed.bps());
        Self {
            bits_per_second: speed.bps(),
            byte_ps: if whole { byte / speed.bps() } else { 0 },
            free_at_ps: 0,
            fraction: 0,
        }
    }

    /// When the next frame may start.
    #[inline(always)]
    pub(crate) const fn free_at_ps(&self) -> Picoseconds {
        self.free_at_ps
    }

    /// Whether a frame may start at `now_ps`.
    #[inline(always)]
    pub(crate) const fn is_free(&self, now_ps: Picoseconds) -> bool {
        self.free_at_ps <= now_ps
    }

    /// Starts a frame of `frame_bytes`, FCS not counted, at `now_ps`, when the wire is free.
    /// Returns when its last bit leaves.
    #[inline]
    pub(crate) fn start(&mut self, frame_bytes: usize, now_ps: Picoseconds) -> Picoseconds {
        debug_assert!(self.is_free(now_ps), "the wire is busy until {}", self.free_at_ps);
        let bytes = (frame_bytes + WIRE_OVERHEAD_BYTES) as u64;
        if self.byte_ps != 0 {
            self.free_at_ps = now_ps + bytes * self.byte_ps;
            return self.free_at_ps - GAP_BYTES * self.byte_ps;
        }
        let before = if self.free_at_ps == now_ps { self.fraction } else { 0 };
        let (last_bit_ps, _) = self.span_ps(bytes - GAP_BYTES, before);
        let (span_ps, fraction) = self.span_ps(bytes, before);
        self.free_at_ps = now_ps + span_ps;
        self.fraction = fraction;
        now_ps + last_bit_ps
    }

    /// How long `bytes` take beyond a start that is `before` late: whole picoseconds and the rest.
    fn span_ps(&self, bytes: u64, before: u64) -> (u64, u64) {
        let total = u128::from(bytes) * u128::from(8 * PS_PER_SECOND) + u128::from(before);
        let rate = u128::from(self.bits_per_second);
        let whole = u64::try_from(total / rate).unwrap_or(u64::MAX);
        (whole, u64::try_from(total % rate).unwrap_or_default())
    }
}

/// Where a wire ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// Index of the node: switches first, then hosts.
    pub(crate) node: u32,
    /// Its port.
    pub(crate) port: PortId,
}

/// Both ends of a wire, by their numbers in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ends {
    pub(crate) from: Endpoint,
    pub(crate) to: Endpoint,
}

/// Which of the two near frames is older, how many there are, and whether more are behind. A wire
/// has none, one or two in any order, so no code branches on it.
#[derive(Clone, Copy, Debug)]
struct InNear(u8);

impl InNear {
    const OLDEST: u8 = 1;
    const FRAME: u8 = 2;
    const BEHIND: u8 = 8;

    #[inline(always)]
    const fn is_full(self) -> bool {
        self.0 >= 2 * Self::FRAME
    }

    #[inline(always)]
    const fn oldest(self) -> usize {
        (self.0 & Self::OLDEST) as usize
    }

    /// Where the next frame goes, if there is room.
    #[inline(always)]
    const fn next(self) -> usize {
        (((self.0 / Self::FRAME) ^ self.0) & 1) as usize
    }
}

/// One direction of a link. What is in flight arrives in the order in which it was sent. What every
/// frame needs comes first, in one cache line, and the frames too as far as they fit: a short wire
/// holds few.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Wire {
    /// The first two frames in flight, the oldest at `oldest`; the others are `behind`.
    near: [Option<SimFrame>; 2],
    /// Where it ends, once the network is built: the node's number in its part.
    pub(crate) to: Endpoint,
    pub(crate) delay_ps: u64,
    /// Bytes that arrived.
    pub(crate) arrived_bytes: u64,
    /// Arrivals still planned of frames that were in flight when the link went down.
    pub(crate) lost_in_flight: u32,
    /// Why a frame does not just go on this wire: the number of reasons for which the link is down,
    /// [`Self::LEADS_AWAY`] and [`Self::IS_RECORDED`].
    obstacles: u16,
    in_near: InNear,
    /// Whether the sender is paused in any class.
    pub(crate) is_paused: bool,
    behind: VecDeque<SimFrame>,
    /// The part of the network to which a wire leads that leads away.
    pub(crate) part: usize,
    pub(crate) speed: Speed,
    /// What happens to PFC frames on this wire, and the generator that decides for each.
    pub(crate) pfc_fault: Option<PfcFault>,
    pub(crate) rng: SplitMix64,
    /// The capture that gets what arrives.
    pub(crate) capture: Option<u16>,
    /// What of this wire is recorded of the switch at one of its ends.
    pub(crate) record: Option<Recorded>,
    /// Frames of data and of PFC that the wire lost.
    pub(crate) lost: [u64; 2],
    /// Of the data frames, those of lossless priorities.
    pub(crate) lossless_lost: u64,
}

const _: () =
    assert!(std::mem::offset_of!(Wire, behind) == 64, "what every frame needs is a cache line");

/// What of a wire is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recorded {
    /// Frames that arrive at the switch.
    Arrivals,
    /// Frames that leave the switch by this port.
    Departures(PortId),
}

impl Endpoint {
    /// The index of the node.
    #[inline(always)]
    pub(crate) const fn node(self) -> usize {
        self.node as usize
    }
}

impl Wire {
    /// Set in the obstacles of a wire that leads to another part of the network.
    const LEADS_AWAY: u16 = 1 << 15;
    /// Set in those of a wire whose departures are recorded.
    const IS_RECORDED: u16 = 1 << 14;

    /// A sound wire `to` an end, with nothing on it.
    pub(crate) fn new(to: Endpoint, spec: LinkSpec, rng: SplitMix64) -> Self {
        Self {
            near: [None, None],
            to,
            delay_ps: spec.length.delay_ps(),
            arrived_bytes: 0,
            lost_in_flight: 0,
            obstacles: 0,
            in_near: InNear(0),
            is_paused: false,
            behind: VecDeque::new(),
            part: 0,
            speed: spec.speed,
            pfc_fault: None,
            rng,
            capture: None,
            record: None,
            lost: [0; 2],
            lossless_lost: 0,
        }
    }

    /// A frame goes on the wire.
    #[inline(always)]
    pub(crate) fn push(&mut self, frame: SimFrame) {
        if self.in_near.is_full() {
            return self.push_behind(frame);
        }
        self.near[self.in_near.next()] = Some(frame);
        self.in_near.0 += InNear::FRAME;
    }

    #[inline(never)]
    fn push_behind(&mut self, frame: SimFrame) {
        self.behind.push_back(frame);
        self.in_near.0 |= InNear::BEHIND;
    }

    /// The oldest frame comes off the wire.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<SimFrame> {
        let at = self.in_near.oldest();
        let oldest = self.near[at].take()?;
        if self.in_near.0 & InNear::BEHIND == 0 {
            self.in_near.0 -= InNear::FRAME;
        } else {
            self.move_up(at);
        }
        self.in_near.0 ^= InNear::OLDEST;
        Some(oldest)
    }

    #[inline(never)]
    fn move_up(&mut self, at: usize) {
        self.near[at] = self.behind.pop_front();
        if self.behind.is_empty() {
            self.in_near.0 &= !InNear::BEHIND;
        }
    }

    /// The oldest frame.
    #[inline(always)]
    pub(crate) const fn first(&self) -> Option<&SimFrame> {
        self.near[self.in_near.oldest()].as_ref()
    }

    /// The frames in flight, the oldest first.
    pub(crate) fn in_flight(&self) -> impl Iterator<Item = &SimFrame> {
        let oldest = self.in_near.oldest();
        self.near[oldest].iter().chain(&self.near[oldest ^ 1]).chain(&self.behind)
    }

    /// Whether nothing keeps the link down.
    pub(crate) const fn is_up(&self) -> bool {
        self.obstacles & !(Self::LEADS_AWAY | Self::IS_RECORDED) == 0
    }

    /// Whether it leads to a node of another part.
    pub(crate) const fn leads_away(&self) -> bool {
        self.obstacles & Self::LEADS_AWAY != 0
    }

    /// Records what arrives by it, or departs on it.
    pub(crate) const fn record(&mut self, what: Recorded) {
        self.record = Some(what);
        if let Recorded::Departures(_) = what {
            self.obstacles |= Self::IS_RECORDED;
        }
    }

    /// Whether the link is up, not recorded, and leads to a node of the same part.
    #[inline(always)]
    pub(crate) const fn is_plain(&self) -> bool {
        self.obstacles == 0
    }

    /// The link has one reason more to be down, or one less.
    pub(crate) const fn set_up(&mut self, up: bool) {
        if !up {
            self.obstacles += 1;
        } else if !self.is_up() {
            self.obstacles -= 1;
        }
    }

    /// The wire as its sender has it, which leads to a node of `part`.
    pub(crate) fn lead_to(&mut self, part: usize) {
        self.part = part;
        self.obstacles |= Self::LEADS_AWAY;
    }
}

impl LinkSpec {
    /// The shortest time from when a frame starts until it has arrived whole.
    pub(crate) fn least_ps(&self) -> Picoseconds {
        let bytes = (FRAME_BYTES_MIN + WIRE_OVERHEAD_BYTES) as u64 - GAP_BYTES;
        self.length.delay_ps() + self.speed.bytes_ps(bytes)
    }
}

/// A fault of a wire that affects PFC frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PfcFault {
    /// Whether a bit is flipped; if not, the frame is lost.
    pub is_corruption: bool,
    /// The share of PFC frames affected, in millionths.
    pub millionths: u32,
}

/// A frame that a node has put on one of its wires.
#[derive(Debug)]
pub(crate) struct Launch {
    /// Index of the wire.
    pub(crate) wire: u32,
    pub(crate) frame: SimFrame,
    /// When its last bit leaves.
    pub(crate) last_bit_ps: Picoseconds,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Pool;
    use dataplane::frame::Frame;
    use proptest::prelude::*;

    #[test]
    fn a_minimum_frame_at_10g_takes_67_2_ns_and_its_last_bit_leaves_9_6_ns_before() {
        let mut sender = Transmitter::new(Speed::from_gbps(10));
        assert_eq!(sender.start(60, 5), 5 + 57_600);
        assert_eq!(sender.free_at_ps(), 5 + 67_200);
        assert!(!sender.is_free(67_204) && sender.is_free(67_205));
        let times = [25, 40, 100, 400, 1_600].map(|gbps| {
            let mut sender = Transmitter::new(Speed::from_gbps(gbps));
            (sender.start(1_514, 0), sender.free_at_ps())
        });
        let expected = [
            (488_320, 492_160),
            (305_200, 307_600),
            (122_080, 123_040),
            (30_520, 30_760),
            (7_630, 7_690),
        ];
        assert_eq!(times, expected);
    }

    proptest! {
        /// Whatever the speed, frames back to back take as long as all their bits in one go.
        #[test]
        fn no_rate_error_builds_up(
            bps in 1_000_000_u64..=1_600_000_000_000,
            sizes in proptest::collection::vec(60_usize..9_000, 1..60), start_ps in 0_u64..1 << 50,
        ) {
            let mut sender = Transmitter::new(Speed::from_bps(bps));
            let mut now_ps = start_ps;
            for &bytes in &sizes {
                let last_bit_ps = sender.start(bytes, now_ps);
                prop_assert!(now_ps < last_bit_ps && last_bit_ps < sender.free_at_ps());
                now_ps = sender.free_at_ps();
            }
            let bits: u128 = sizes.iter().map(|&bytes| (bytes as u128 + 24) * 8).sum();
            let exact = bits * 1_000_000_000_000 / u128::from(bps);
            prop_assert_eq!(u128::from(now_ps - start_ps), exact);
            // An idle wire starts on the picosecond, with nothing left over from before.
            let mut fresh = Transmitter::new(Speed::from_bps(bps));
            prop_assert_eq!(sender.start(60, now_ps + 9) - 9, fresh.start(60, now_ps));
        }
    }

    proptest! {
        /// The oracle: a deque.
        #[test]
        fn frames_leave_a_wire_as_they_came(steps in proptest::collection::vec(0_u8..5, 1..200)) {
            let end = Endpoint { node: 0, port: PortId::FIRST };
            let mut wire = Wire::new(end, LinkSpec::new(10, 1), random::seeded(1));
            let (mut oracle, pool) = (VecDeque::new(), Pool::default());
            let numbers = |frame: &SimFrame| frame.head()[0];
            for (number, step) in (0_u8..).zip(steps) {
                // Rarely more come than go, so that a wire is often empty, or has few.
                if step < 2 || step == 2 && oracle.len() < 2 {
                    wire.push(pool.take(&[number; 60], 60));
                    oracle.push_back(number);
                } else {
                    prop_assert_eq!(wire.pop().as_ref().map(numbers), oracle.pop_front());
                }
                prop_assert_eq!(wire.first().map(numbers), oracle.front().copied());
                prop_assert!(wire.in_flight().map(numbers).eq(oracle.iter().copied()));
            }
        }
    }

    #[test]
    fn a_metre_is_five_nanoseconds() {
        assert_eq!(LinkSpec::new(10, 300).length.delay_ps(), 1_500_000);
    }
}
