//! Headroom: the bytes that still arrive after XOFF was due.
//!
//! Three models of the wire, each as its source gives it, and what software adds. `knotless
//! headroom` prints them; a port's default is [`standard`] plus [`Software`], in charged bytes
//! ([`charged_bytes`]).
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
/// let link = Link { speed: parse_speed("40G")?, length: parse_length("300m")?, mtu_bytes: 1500 };
/// assert_eq!(paper(&link), 21_968);
/// assert_eq!(standard(&link), 25_680);
/// # Ok::<(), config::units::UnitError>(())
/// ```
pub fn paper(link: &Link) -> u64 {
    equation_14(link, PAPER_QUANTA)
}

/// Eq. 14 with the quanta that IEEE 802.3 allows at the link's speed: the safe one of the two.
pub fn standard(link: &Link) -> u64 {
    equation_14(link, response_quanta(link.speed))
}

fn equation_14(link: &Link, quanta: u64) -> u64 {
    let there_and_back = bytes_in_ps(link.speed, 2 * link.length.delay_ps());
    2 * (u64::from(link.mtu_bytes) + PFC_BYTES) + there_and_back + quanta * QUANTUM_BYTES
}

/// Bytes that arrive in `ps` picoseconds, rounded up.
fn bytes_in_ps(speed: Speed, ps: u64) -> u64 {
    let bytes = (u128::from(speed.bps()) * u128::from(ps)).div_ceil(8_000_000_000_000);
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// A switch chip as SONiC describes one (`ASIC_TABLE`), and the traffic it expects
/// (`LOSSLESS_TRAFFIC_PATTERN`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SonicAsic {
    /// Bytes of a buffer cell.
    pub cell_bytes: u64,
    /// Bytes on their way through MAC and PHY.
    pub mac_phy_bytes: u64,
    /// Share of 64-byte frames in lossless traffic, in percent; SONiC ships 100.
    pub small_packet_percent: u64,
}

impl SonicAsic {
    /// SONiC's figures for Spectrum-2.
    pub const SPECTRUM_2: Self =
        Self { cell_bytes: 144, mac_phy_bytes: 819, small_packet_percent: 100 };
}

/// SONiC's formula for `xoff` (`buffer_headroom_mellanox.lua`; its `xoff` is what is called
/// headroom here), rounded up to 1,024 bytes:
///
/// ```text
/// mtu + (mtu + 2 cable + mac_phy + response quanta x 64) x cell occupancy
/// ```
///
/// Taken over as it is: 67 quanta at 10G, light at 1.98e8 m/s, and bytes on the cable that come out
/// 2.4 % short because the script divides by 1,024 where it should by 1,000.
pub fn sonic(link: &Link, asic: &SonicAsic) -> u64 {
    let mtu = u128::from(link.mtu_bytes);
    let quanta = if link.speed == Speed::from_gbps(10) { 67 } else { response_quanta(link.speed) };
    let cable = u128::from(link.speed.bps()) * 2 * u128::from(link.length.millimetres())
        / (198_000_000 * 8 * 1_024);
    let delayed = mtu + cable + u128::from(asic.mac_phy_bytes + quanta * QUANTUM_BYTES);
    // Occupancy is a ratio: `small` percent of the frames take `worst` times their bytes.
    let cell = u128::from(asic.cell_bytes);
    let (worst, over) = if cell > 128 { (cell, 64) } else { (2 * cell, 1 + cell) };
    let small = u128::from(asic.small_packet_percent.min(100));
    let occupied = delayed * ((100 - small) * over + small * worst);
    let xoff = mtu + occupied.div_ceil(100 * over);
    u64::try_from(xoff.next_multiple_of(1_024)).unwrap_or(u64::MAX)
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
        bytes_in_ps(speed, ns.saturating_mul(1_000))
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
    charged_bytes(standard(link).saturating_add(software.bytes(link.speed)), cell_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(gbps: u64, metres: u32, mtu_bytes: u32) -> Link {
        Link { speed: Speed::from_gbps(gbps), length: Length::from_metres(metres), mtu_bytes }
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
    fn sonics_formula_step_by_step() {
        // 2 x 300 m at 40 Gb/s: 24e6 / (0.198 x 8192) = 14,796 B; 118 quanta = 7,552 B;
        // 1500 + 14796 + 819 + 7552 = 24,667; x 144/64 = 55,501 rounded up; + 1500 = 57,001 -> 56
        // KiB.
        assert_eq!(sonic(&link(40, 300, 1_500), &SonicAsic::SPECTRUM_2), 57_344);
        // The same with cells of 96: 2 x 96 / 97 = 1.979; 48,826 + 1500 = 50,326 -> 50 KiB.
        let spectrum = SonicAsic { cell_bytes: 96, ..SonicAsic::SPECTRUM_2 };
        assert_eq!(sonic(&link(40, 300, 1_500), &spectrum), 51_200);
        // Without small packets nothing is multiplied: 24,667 + 1,500 -> 26 KiB.
        let large = SonicAsic { small_packet_percent: 0, ..spectrum };
        assert_eq!(sonic(&link(40, 300, 1_500), &large), 26_624);
        // 10G has 67 quanta there, not 60: 1500 + 61 + 819 + 4288 + 1500 = 8,168 -> 8 KiB.
        assert_eq!(sonic(&link(10, 5, 1_500), &large), 8_192);
    }

    #[test]
    fn sonic_reserves_more_than_the_paper() {
        for gbps in [10, 25, 40, 100, 400] {
            let link = link(gbps, 300, 1_500);
            assert!(sonic(&link, &SonicAsic::SPECTRUM_2) > 2 * paper(&link), "{gbps}G");
        }
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
