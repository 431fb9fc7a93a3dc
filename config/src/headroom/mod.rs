//! Headroom: the bytes that still arrive after XOFF was due.
//!
//! Models of the wire, each as its source gives it, and what software adds. `knotless headroom`
//! prints them; a port's default is [`eq_14`] plus [`Software`], in charged bytes
//! ([`charged_bytes`]). What hardware chips reserve is in [`Chip`] and [`sonic`].
//!
//! Eq. 14 of "Deadlock-free PFC by TTL-based buffer management"
//! (`papers/ttl-buffer-management.md`):
//!
//! ```text
//! headroom = 2 (MTU + PFC + rate x t_wire) + rate x t_pro
//! ```
//!
//! One MTU is leaving when the PAUSE wants to, one has just started at the peer when it arrives;
//! the PAUSE itself takes its 64 bytes at either end; the wire is full both ways; and `t_pro` is
//! the time the peer may take to react, which IEEE 802.3 states in quanta of 512 bit times, so in
//! steps of 64 bytes at any speed.

mod chips;
mod sonic;

pub use chips::Chip;
pub use sonic::{SonicAsic, sonic};

use crate::units::Length;
use dataplane::limits::{FRAME_BYTES_MIN, WIRE_OVERHEAD_BYTES};
use dataplane::time::Speed;

/// A PFC frame with its FCS.
const PFC_BYTES: u64 = 64;
/// Bytes of a quantum, 512 bit times.
const QUANTUM_BYTES: u64 = 64;
/// Quanta that the TTL paper allows a peer, at every speed. It is the figure of 10G.
const PAPER_QUANTA: u64 = 60;

/// What a port's headroom depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Rate of the wire.
    pub speed: Speed,
    /// Length of the cable.
    pub length: Length,
    /// The longest frame: the MTU in the papers' formulas.
    pub mtu_bytes: u32,
    /// How long the peer takes to stop after it has the pause. `None`: as long as IEEE 802.3 allows
    /// ([`response_quanta`]). A chip above 200G often takes longer than that.
    pub response_ns: Option<u64>,
}

impl Link {
    /// A link whose peer responds as IEEE 802.3 demands.
    pub const fn new(speed: Speed, length: Length, mtu_bytes: u32) -> Self {
        Self { speed, length, mtu_bytes, response_ns: None }
    }

    /// Bytes that the peer sends until it stops, in its response time.
    fn response_bytes(&self) -> u64 {
        let standard = || response_quanta(self.speed) * QUANTUM_BYTES;
        self.response_ns.map_or_else(standard, |ns| self.bytes_in_ns(ns))
    }

    /// Bytes that pass in `ns` nanoseconds, rounded up.
    fn bytes_in_ns(&self, ns: u64) -> u64 {
        bytes_in_ps(self.speed, u128::from(ns) * 1_000)
    }

    /// Bytes that are on the cable there and back, rounded up.
    fn cable_bytes(&self) -> u64 {
        bytes_in_ps(self.speed, 2 * u128::from(self.length.delay_ps()))
    }
}

/// Longest time, in quanta, that a station may take to stop after a PAUSE (IEEE 802.3 31B.3.7).
///
/// A speed between two of the standard's takes the faster one's figure, and one above the table
/// grows with the speed. Below 10G the standard allows less than 60; 60 errs on the side of room.
pub fn response_quanta(speed: Speed) -> u64 {
    const GBPS: u64 = 1_000_000_000;
    const TABLE: [(u64, u64); 8] = [
        (10 * GBPS, 60),
        (25 * GBPS, 80),
        (40 * GBPS, 118),
        (50 * GBPS, 147),
        (100 * GBPS, 394),
        (200 * GBPS, 453),
        (400 * GBPS, 905),
        (800 * GBPS, 905),
    ];
    let listed = TABLE.iter().find(|&&(bps, _)| speed.bps() <= bps).map(|&(_, quanta)| quanta);
    listed.unwrap_or_else(|| (speed.bps() / GBPS).saturating_mul(905).div_ceil(800))
}

/// Eq. 14 as printed: 60 quanta, whatever the speed. Too small above 10G.
///
/// ```
/// use config::headroom::{Link, paper, standard};
/// use config::units::{parse_length, parse_speed};
/// let link = Link::new(parse_speed("40G")?, parse_length("300m")?, 1500);
/// assert_eq!(paper(&link), 21_968);
/// assert_eq!(standard(&link), 25_680);
/// # Ok::<(), config::units::UnitError>(())
/// ```
pub fn paper(link: &Link) -> u64 {
    frames_and_cable(link) + PAPER_QUANTA * QUANTUM_BYTES
}

/// Eq. 14 with the quanta that IEEE 802.3 allows at the link's speed: the safe one of the two.
pub fn standard(link: &Link) -> u64 {
    frames_and_cable(link) + response_quanta(link.speed) * QUANTUM_BYTES
}

/// Eq. 14 with the response time of this link's peer; [`standard`] unless one is given.
///
/// ```
/// use config::headroom::{Link, eq_14};
/// use config::units::{parse_length, parse_speed};
/// let link = Link::new(parse_speed("800G")?, parse_length("5m")?, 9100);
/// assert_eq!(eq_14(&link), 81_248);
/// assert_eq!(eq_14(&Link { response_ns: Some(4_500), ..link }), 473_328);
/// # Ok::<(), config::units::UnitError>(())
/// ```
pub fn eq_14(link: &Link) -> u64 {
    frames_and_cable(link).saturating_add(link.response_bytes())
}

/// What eq. 14 adds to the response.
fn frames_and_cable(link: &Link) -> u64 {
    2 * (u64::from(link.mtu_bytes) + PFC_BYTES) + link.cable_bytes()
}

/// Bytes that arrive in `ps` picoseconds, rounded up.
fn bytes_in_ps(speed: Speed, ps: u128) -> u64 {
    let bytes = (u128::from(speed.bps()) * ps).div_ceil(8_000_000_000_000);
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// What a switch in software adds, at either end of the link: bytes that no model of the wire
/// knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Software {
    /// The longest time from one look at the port's receive ring to the next: what arrived in it is
    /// not yet counted when the pause could have been due.
    pub poll_ns: u64,
    /// Bytes in the transmit ring ahead of our PFC frame.
    pub tx_limit_bytes: u64,
    /// The same of the neighbor, who sees the PFC frame when it polls; 0 for a NIC.
    pub peer_poll_ns: u64,
    /// Bytes that the neighbor can no longer hold back; 0 for a NIC.
    pub peer_tx_limit_bytes: u64,
    /// How much wire time a neighbor that paces itself may send at once, to make up for a late
    /// poll ([`CATCH_UP_NS`](dataplane::queue::pacer::CATCH_UP_NS)); 0 where a wire paces it.
    pub peer_catch_up_ns: u64,
}

impl Software {
    /// `rate x (both polls + catch-up) + both transmit rings`. While our ring empties, as many
    /// bytes come in.
    pub fn bytes(&self, speed: Speed) -> u64 {
        let times_ns = [self.poll_ns, self.peer_poll_ns, self.peer_catch_up_ns];
        let ns = times_ns.into_iter().fold(0, u64::saturating_add);
        bytes_in_ps(speed, u128::from(ns) * 1_000)
            .saturating_add(self.tx_limit_bytes)
            .saturating_add(self.peer_tx_limit_bytes)
    }
}

/// What `wire_bytes` can cost the buffer at worst, when they are all frames of the least length:
/// each takes 84 bytes of the wire and a whole cell.
pub fn charged_bytes(wire_bytes: u64, cell_bytes: u16) -> u64 {
    let frame = (FRAME_BYTES_MIN + WIRE_OVERHEAD_BYTES) as u64;
    let frames = wire_bytes.div_ceil(frame);
    frames.saturating_mul(u64::from(cell_bytes)).max(wire_bytes)
}

/// The headroom of a lossless priority on a port, unless its file says otherwise.
pub fn needed_bytes(link: &Link, software: &Software, cell_bytes: u16) -> u64 {
    charged_bytes(eq_14(link).saturating_add(software.bytes(link.speed)), cell_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(gbps: u64, metres: u32, mtu_bytes: u32) -> Link {
        Link::new(Speed::from_gbps(gbps), Length::from_metres(metres), mtu_bytes)
    }

    #[test]
    fn the_papers_figure_and_its_share_of_a_12_mb_buffer() {
        let headroom = paper(&link(40, 300, 1_500));
        assert_eq!(headroom, 21_968);
        // The TTL paper rounds up to 22 KB: 32 ports of 8 classes, halved on a tree, are 2,816 KB.
        let tree_kb = headroom.div_ceil(1_000) * 32 * 8 / 2;
        assert_eq!(tree_kb, 2_816);
        assert_eq!(tree_kb * 1_000 / (12 * 1_024), 229, "22.9 % of 12 MB");
    }

    #[test]
    fn with_the_standards_quanta_40g_needs_more_and_10g_does_not() {
        assert_eq!(standard(&link(40, 300, 1_500)), 25_680);
        assert_eq!(standard(&link(10, 300, 1_500)), paper(&link(10, 300, 1_500)));
        for (gbps, bytes) in [(10, 10_718), (25, 17_623), (100, 65_844), (400, 211_048)] {
            assert_eq!(standard(&link(gbps, 300, 1_500)), bytes, "{gbps}G");
        }
    }

    #[test]
    fn a_speed_between_two_takes_the_faster_ones_quanta() {
        let quanta = |bps| response_quanta(Speed::from_bps(bps));
        assert_eq!(quanta(200_000_000), 60);
        assert_eq!(quanta(10_000_000_001), 80);
        assert_eq!(quanta(56_000_000_000), 394);
        assert_eq!(quanta(800_000_000_000), 905);
        assert_eq!(quanta(1_600_000_000_000), 1_810);
    }

    #[test]
    fn a_response_time_replaces_the_quanta_in_what_a_port_gets() {
        let quick = link(100, 10, 1_500);
        let slow = Link { response_ns: Some(4_000), ..quick };
        // 394 quanta are 25,216 B; 4 us at 100G are 50,000 B.
        assert_eq!(eq_14(&slow) - eq_14(&quick), 50_000 - 25_216);
        assert_eq!((standard(&slow), paper(&slow)), (standard(&quick), paper(&quick)));
        let needed = |link: &Link| needed_bytes(link, &Software::default(), 64);
        assert_eq!(needed(&slow) - needed(&quick), 50_000 - 25_216);
        assert_eq!(eq_14(&Link { response_ns: Some(u64::MAX), ..quick }), u64::MAX);
    }

    #[test]
    fn a_long_cable_is_counted_there_and_back() {
        // 120 km, as SONiC has it for chassis: 600 us one way, 15 MB at 100G.
        let long = standard(&link(100, 120_000, 9_100));
        assert_eq!(long, 2 * 9_164 + 394 * 64 + 15_000_000);
        let longest = link(1_600, 1_000_000, 9_216);
        assert!(standard(&longest) < u64::from(u32::MAX), "a VIQ's headroom is 32 bits");
    }

    #[test]
    fn software_adds_polls_catch_up_and_both_rings() {
        let software = Software {
            poll_ns: 20_000,
            tx_limit_bytes: 3_000,
            peer_poll_ns: 10_000,
            peer_tx_limit_bytes: 500,
            peer_catch_up_ns: 1_000,
        };
        assert_eq!(software.bytes(Speed::from_gbps(10)), 37_500 + 1_250 + 3_500);
        assert_eq!(Software::default().bytes(Speed::from_gbps(10)), 0);
    }

    #[test]
    fn short_frames_cost_whole_cells() {
        assert_eq!(charged_bytes(84, 256), 256);
        assert_eq!(charged_bytes(85, 256), 512);
        assert_eq!(charged_bytes(8_400, 64), 8_400, "never less than the bytes themselves");
        assert_eq!(charged_bytes(u64::MAX, 256), u64::MAX);
    }
}
