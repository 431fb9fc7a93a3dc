//! SONiC's formula for `xoff`, which is called headroom here.

use super::{Link, QUANTUM_BYTES, response_quanta};
use dataplane::time::Speed;

/// A switch chip as SONiC describes one (`ASIC_TABLE`), the traffic that it expects
/// (`LOSSLESS_TRAFFIC_PATTERN`) and the port's PHY (`PERIPHERAL_TABLE`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SonicAsic {
    /// `cell_size`: bytes of a buffer cell.
    pub cell_bytes: u64,
    /// `mac_phy_delay` in thousandths of 1,024 bytes: what is on its way through MAC and PHY.
    /// SONiC writes 0.8.
    pub mac_phy_milli_kib: u64,
    /// `small_packet_percentage`: share of 64-byte frames in lossless traffic, in percent.
    pub small_packet_percent: u64,
    /// `mtu` of `LOSSLESS_TRAFFIC_PATTERN`: the longest lossless frame. `None`: the port's MTU.
    pub lossless_mtu_bytes: Option<u32>,
    /// `gearbox_delay` in nanoseconds, once for each direction. 0: no gearbox.
    pub gearbox_ns: u64,
}

impl SonicAsic {
    /// SONiC's figures for Spectrum-2, all frames short and lossless frames as long as any.
    pub const SPECTRUM_2: Self = Self {
        cell_bytes: 144,
        mac_phy_milli_kib: 800,
        small_packet_percent: 100,
        lossless_mtu_bytes: None,
        gearbox_ns: 0,
    };
}

/// SONiC's formula for `xoff` (`buffer_headroom_mellanox.lua`), rounded up to 1,024 bytes:
///
/// ```text
/// lossless mtu + (port mtu + 2 cable + 2 gearbox + mac_phy + response) x cell occupancy
/// ```
///
/// Taken over as it is: its own quanta ([`sonic_quanta`]), light at 1.98e8 m/s, and bytes on cable
/// and gearbox that come out 2.4 % short because the script divides by 1,024 where it should by
/// 1,000. A response time of the link replaces the quanta, as the chip's `peer_response_time` does.
/// The result is exact where the script's floating point is.
pub fn sonic(link: &Link, asic: &SonicAsic) -> u64 {
    // Every term in bytes / SCALE: 198 for the light, 8 x 1,024 for the cable's bits and the
    // script's divisor, 1,000,000 for thousandths of KiB and Mb/s.
    const SCALE: u128 = 198 * 8 * 1_024 * 1_000_000;
    let bps = u128::from(link.speed.bps());
    let cable = bps * 2 * u128::from(link.length.millimetres());
    let gearbox = 2 * bps * u128::from(asic.gearbox_ns) * 198;
    let mac_phy = u128::from(asic.mac_phy_milli_kib) * 1_024 * (SCALE / 1_000);
    let response = link
        .response_ns
        .map_or_else(|| sonic_quanta(link.speed) * QUANTUM_BYTES, |ns| link.bytes_in_ns(ns));
    let frame_and_response = u128::from(link.mtu_bytes) + u128::from(response);
    let delayed = frame_and_response * SCALE + cable + gearbox + mac_phy;
    // Occupancy is a ratio: `small` percent of the frames take `worst` times their bytes.
    let cell = u128::from(asic.cell_bytes);
    let (worst, over) = if cell > 128 { (cell, 64) } else { (2 * cell, 1 + cell) };
    let small = u128::from(asic.small_packet_percent.min(100));
    let occupied = delayed.saturating_mul((100 - small) * over + small * worst);
    let lossless = u128::from(asic.lossless_mtu_bytes.unwrap_or(link.mtu_bytes));
    let kib = (lossless * SCALE * 100 * over)
        .saturating_add(occupied)
        .div_ceil(SCALE * 100 * over * 1_024);
    u64::try_from(kib.saturating_mul(1_024)).unwrap_or(u64::MAX)
}

/// The script's quanta: those of IEEE 802.3, but 67 at 10G, 2 at 1G and 1 at 100M. A speed that
/// the script does not list takes IEEE 802.3's.
fn sonic_quanta(speed: Speed) -> u64 {
    match speed.bps() {
        10_000_000_000 => 67,
        1_000_000_000 => 2,
        100_000_000 => 1,
        _ => response_quanta(speed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headroom::paper;
    use crate::units::Length;

    fn link(gbps: u64, metres: u32, mtu_bytes: u32) -> Link {
        Link::new(Speed::from_gbps(gbps), Length::from_metres(metres), mtu_bytes)
    }

    #[test]
    fn the_formula_step_by_step() {
        // 2 x 300 m at 40 Gb/s: 24e6 / (0.198 x 8192) = 14,796.4 B; 118 quanta = 7,552 B; 0.8 KiB
        // = 819.2 B; 1500 + 14796.4 + 819.2 + 7552 = 24,667.6; x 144/64 = 55,502; + 1500 -> 56 KiB.
        assert_eq!(sonic(&link(40, 300, 1_500), &SonicAsic::SPECTRUM_2), 57_344);
        // The same with cells of 96: 2 x 96 / 97 = 1.979; 48,826 + 1500 = 50,326 -> 50 KiB.
        let spectrum = SonicAsic { cell_bytes: 96, ..SonicAsic::SPECTRUM_2 };
        assert_eq!(sonic(&link(40, 300, 1_500), &spectrum), 51_200);
        // Without small packets nothing is multiplied: 24,667 + 1,500 -> 26 KiB.
        let large = SonicAsic { small_packet_percent: 0, ..spectrum };
        assert_eq!(sonic(&link(40, 300, 1_500), &large), 26_624);
        // 10G has 67 quanta there, not 60: 1500 + 61 + 819 + 4288 + 1500 = 8,168 -> 8 KiB.
        assert_eq!(sonic(&link(10, 5, 1_500), &large), 8_192);
        // 1G has 2: 1500 + 6 + 819 + 128 + 1500 = 3,953 -> 4 KiB.
        assert_eq!(sonic(&link(1, 5, 1_500), &large), 4_096);
        // A gearbox of 400 ns: 2 x 40000 x 400 / 8192 = 3,906 B more: 30,074 -> 30 KiB.
        let gearbox = SonicAsic { gearbox_ns: 400, ..large };
        assert_eq!(sonic(&link(40, 300, 1_500), &gearbox), 30_720);
        // Lossless frames of 1,024 B on a port of 9,100: 9100 + 14796 + 819 + 7552 + 1024 = 33,291.
        let short = SonicAsic { lossless_mtu_bytes: Some(1_024), ..large };
        assert_eq!(sonic(&link(40, 300, 9_100), &short), 33_792);
        // 1 us at 40G is 5,000 B instead of 7,552: 24,667 - 2,552 + 1,500 = 23,615 -> 24 KiB.
        let quick = Link { response_ns: Some(1_000), ..link(40, 300, 1_500) };
        assert_eq!(sonic(&quick, &large), 24_576);
    }

    /// The script's own arithmetic, in floating point as there.
    #[test]
    fn it_is_the_scripts_arithmetic() {
        for (gbps, metres, mtu) in
            [(10, 5, 9_100), (25, 40, 9_216), (100, 300, 1_500), (800, 7, 64)]
        {
            for (cell, small, gearbox) in [(96, 100, 0), (144, 50, 365), (192, 3, 400), (256, 0, 1)]
            {
                let quanta = if gbps == 10 { 67 } else { response_quanta(Speed::from_gbps(gbps)) };
                let (cell_f, small_f) = (f64::from(cell), f64::from(small));
                let worst = if cell > 128 { cell_f / 64.0 } else { 2.0 * cell_f / (1.0 + cell_f) };
                let occupancy = (100.0 - small_f + small_f * worst) / 100.0;
                let mbps = f64::from(u32::try_from(gbps * 1_000).unwrap());
                let gear = mbps * f64::from(gearbox) / (8.0 * 1_024.0);
                let cable = 2.0 * f64::from(metres) * mbps * 1e9 / 198e6 / (8.0 * 1_024.0);
                let response = f64::from(u32::try_from(quanta).unwrap()) * 512.0 / 8.0;
                let delay = f64::from(mtu) + cable + 2.0 * gear + 0.8 * 1_024.0 + response;
                let kib = ((1_024.0 + delay * occupancy) / 1_024.0).ceil();
                let asic = SonicAsic {
                    cell_bytes: u64::try_from(cell).unwrap(),
                    mac_phy_milli_kib: 800,
                    small_packet_percent: u64::try_from(small).unwrap(),
                    lossless_mtu_bytes: Some(1_024),
                    gearbox_ns: u64::try_from(gearbox).unwrap(),
                };
                let ours = sonic(&link(gbps, metres, mtu), &asic) / 1_024;
                let ours = f64::from(u32::try_from(ours).unwrap());
                assert!((ours - kib).abs() < 0.5, "{gbps}G {metres} m: {ours} KiB, not {kib}");
            }
        }
    }

    #[test]
    fn sonic_reserves_more_than_the_paper() {
        for gbps in [10, 25, 40, 100, 400] {
            let link = link(gbps, 300, 1_500);
            assert!(sonic(&link, &SonicAsic::SPECTRUM_2) > 2 * paper(&link), "{gbps}G");
        }
    }
}
