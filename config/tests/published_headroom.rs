//! Rows that SONiC publishes for its switches, each with what explains it.
//!
//! The figures are `xoff` of `pg_profile_lookup.ini` (sonic-net/sonic-buildimage, `device/`), at a
//! port MTU of 9,100 B, in November 2026.

use config::headroom::{Chip, Link, SonicAsic, sonic, standard};
use config::units::Length;
use dataplane::time::Speed;

const MTU_BYTES: u32 = 9_100;

fn link(gbps: u64, metres: u32, mtu_bytes: u32) -> Link {
    Link::new(Speed::from_gbps(gbps), Length::from_metres(metres), mtu_bytes)
}

/// A chip at one speed: three cable lengths and what explains them.
struct Published {
    profile: &'static str,
    gbps: u64,
    /// Metres and `xoff` in bytes.
    rows: [(u32, u64); 3],
    /// MTU, response time and occupancy with which [`Chip`] gives the three rows.
    mtu_bytes: u32,
    chip: Chip,
    /// The first row over our figure by 802.3, in percent.
    over_802_3_percent: u64,
}

#[rustfmt::skip]
const PUBLISHED: [Published; 13] = [
    // Slow chips: 3.3 to 4.5 us where 802.3 allows 0.6 to 2.0 us, and cells of which a short frame
    // fills a third.
    row("arista_7060_cx32s", 100, [(5, 165_568), (40, 177_632), (300, 268_736)], 3_690, 280, 374),
    row("dellemc_s5224f", 100, [(5, 162_048), (40, 173_568), (300, 272_640)], 3_290, 300, 366),
    row("nokia_ixr7220_h5", 400, [(5, 307_848), (40, 330_200), (300, 499_618)], 4_370, 130, 390),
    row("nokia_ixr7220_h5", 800, [(5, 572_516), (40, 614_172), (300, 929_132)], 4_520, 121, 704),
    row("common/td2", 40, [(5, 45_136), (40, 47_216), (300, 62_816)], 4_130, 120, 172),
    // The most of all rows at 800G: cells of which a short frame fills a fifth.
    row("nexthop_4210", 800, [(5, 1_249_080), (40, 1_424_220), (300, 2_724_120)], 2_340, 500, 1537),
    row("dell_z9864f", 800, [(5, 729_488), (40, 835_406), (300, 1_621_536)], 2_240, 302, 897),
    row("dell_z9864f", 200, [(5, 229_362), (40, 255_778), (300, 452_374)], 2_500, 302, 472),
    // No occupancy to speak of: what is left is the response time, 2.2 us at 800G and 1.1 us.
    row("marvell_d64p512t", 800, [(5, 247_424), (40, 285_312), (300, 550_528)], 2_210, 102, 304),
    row("supermicro_t7132s", 400, [(5, 117_536), (40, 135_520), (300, 268_640)], 1_890, 102, 149),
    row("nvidia_sn6600", 800, [(5, 147_456), (40, 186_368), (300, 473_088)], 1_120, 110, 181),
    // The response time of 802.3, and cells of 192 B.
    row("nvidia_sn5600", 800, [(5, 257_024), (40, 362_496), (300, 1_150_976)], 680, 303, 316),
    // Below ours: lossless frames are at most 1,500 B long, whatever the port's MTU.
    Published { mtu_bytes: 1_500,
        ..row("wedge100bf_32qs", 100, [(5, 18_432), (40, 35_840), (300, 165_888)], 162, 400, 41) },
];

const fn row(
    profile: &'static str,
    gbps: u64,
    rows: [(u32, u64); 3],
    response_ns: u64,
    occupancy_percent: u64,
    over_802_3_percent: u64,
) -> Published {
    let chip = Chip { response_ns, occupancy_percent };
    Published { profile, gbps, rows, mtu_bytes: MTU_BYTES, chip, over_802_3_percent }
}

#[test]
fn response_time_and_occupancy_explain_published_rows_to_one_percent() {
    for Published { profile, gbps, rows, mtu_bytes, chip, over_802_3_percent } in PUBLISHED {
        for (metres, xoff) in rows {
            let ours = chip.headroom_bytes(&link(gbps, metres, mtu_bytes));
            let off = ours.abs_diff(xoff) * 100;
            assert!(off <= xoff, "{profile} {gbps}G {metres} m: {ours}, published {xoff}");
        }
        let (metres, xoff) = rows[0];
        let percent = xoff * 100 / standard(&link(gbps, metres, MTU_BYTES));
        assert_eq!(percent, over_802_3_percent, "{profile} {gbps}G");
    }
}

#[test]
fn the_greater_of_the_two_defaults_holds_all_but_the_widest_cells() {
    let holds = |chip: Chip, row: &Published| {
        let within = |&(metres, xoff): &(u32, u64)| {
            chip.headroom_bytes(&link(row.gbps, metres, MTU_BYTES)) >= xoff
        };
        row.rows.iter().all(within)
    };
    let beyond = PUBLISHED.iter().filter(|row| !holds(Chip::MOST, row));
    let beyond: Vec<&str> = beyond.map(|row| row.profile).collect();
    // Only an occupancy of five is more than its three.
    assert_eq!(beyond, ["nexthop_4210"]);
    let half = PUBLISHED.iter().filter(|row| holds(Chip::HALF, row)).count();
    assert_eq!(half, 3, "of {}", PUBLISHED.len());
}

/// SN4700-C128 at 5 and 40 m, exactly: Spectrum-3 (cells of 144 B), lossless frames of 1,024 B of
/// which half are short, 0.8 KiB in MAC and PHY, MTU 9,216.
#[test]
fn sonics_formula_gives_published_rows_exactly() {
    let spectrum_3 = SonicAsic {
        small_packet_percent: 50,
        lossless_mtu_bytes: Some(1_024),
        ..SonicAsic::SPECTRUM_2
    };
    #[rustfmt::skip]
    let rows = [
        (10, 24_576, 25_600), (25, 26_624, 28_672), (40, 30_720, 33_792), (50, 33_792, 36_864),
        (100, 59_392, 66_560), (200, 66_560, 80_896), (400, 115_712, 144_384),
    ];
    for (gbps, at_5_m, at_40_m) in rows {
        assert_eq!(sonic(&link(gbps, 5, 9_216), &spectrum_3), at_5_m, "{gbps}G");
        assert_eq!(sonic(&link(gbps, 40, 9_216), &spectrum_3), at_40_m, "{gbps}G");
    }
    // Rows at 300 m were made by a version that divides by 1,000, not by 1,024: up to 2.4 % more
    // cable.
    for (gbps, at_300_m) in [(100, 120_832), (200, 188_416), (400, 358_400)] {
        let ours = sonic(&link(gbps, 300, 9_216), &spectrum_3);
        assert!(ours < at_300_m && at_300_m - ours <= at_300_m * 24 / 1_000, "{gbps}G: {ours}");
    }
}

/// ACS-MSN2700: the first Spectrum (cells of 96 B), every frame short, MTU 9,100, 1 KiB in MAC and
/// PHY, and 60 quanta at every speed: 3,840 B.
#[test]
fn the_same_formula_with_sixty_quanta_gives_the_oldest_rows() {
    let spectrum = SonicAsic {
        cell_bytes: 96,
        mac_phy_milli_kib: 1_000,
        lossless_mtu_bytes: Some(1_024),
        ..SonicAsic::SPECTRUM_2
    };
    #[rustfmt::skip]
    let rows = [
        (10, 5, 29_696), (10, 40, 29_696), (10, 300, 36_864), (25, 5, 29_696), (25, 40, 31_744),
        (40, 5, 29_696), (40, 40, 32_768), (50, 5, 29_696), (50, 40, 33_792), (100, 5, 30_720),
        (100, 40, 38_912),
    ];
    for (gbps, metres, xoff) in rows {
        let response_ns = Some(3_840 * 8 / gbps);
        let link = Link { response_ns, ..link(gbps, metres, MTU_BYTES) };
        assert_eq!(sonic(&link, &spectrum), xoff, "{gbps}G {metres} m");
    }
}
