//! What hardware chips reserve: eq. 14 with a response time and a cell occupancy.
//!
//! SONiC publishes a profile for each switch, speed and cable (`pg_profile_lookup.ini`). Its `xoff`
//! is headroom. 190 files of November 2026 hold 3,559 rows at 10G and above, at an MTU of 9,100 B.
//! Their `xoff` over [`standard`](super::standard) has a median of 1.47 and deciles of 0.78 to 4.7.
//! Two figures that 802.3 does not know explain the rows above 1:
//!
//! - **Cell occupancy.** A frame takes whole cells, so a byte on the wire can take more than one in
//!   the buffer. The slope of `xoff` over the cable's length gives it for each chip: deciles 1.0 to
//!   4.0 (64-byte frames in cells of 208 or 254 B: 3.3 or 4.0).
//! - **Response time.** What is left at a length of 0 gives it: 1.0 to 4.5 us at 200G and above,
//!   where IEEE 802.3 allows 0.6 to 1.2 us.
//!
//! Rows below 1 are those of chips for whose lossless frames SONiC assumes an MTU of 1,024 or
//! 1,500 B, and of files with one figure for every speed and length.

use super::{Link, PFC_BYTES};

/// A hardware chip, as far as headroom depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chip {
    /// Time from the arrival of the pause to the last bit, in nanoseconds.
    pub response_ns: u64,
    /// Bytes of the buffer that a byte on the wire takes at worst, in percent: 100 and more.
    pub occupancy_percent: u64,
}

impl Chip {
    /// Holds 54 % of the 3,559 published rows.
    pub const HALF: Self = Self { response_ns: 2_200, occupancy_percent: 150 };
    /// Holds 90 % of them, and 211 of the 221 rows at 800G.
    pub const MOST: Self = Self { response_ns: 4_500, occupancy_percent: 300 };

    /// Headroom on `link` in bytes, at this chip's response time:
    ///
    /// ```text
    /// MTU + PFC + (MTU + PFC + 2 cable + response) x occupancy
    /// ```
    ///
    /// Eq. 14, but for occupancy. As SONiC has it, that counts for what is on its way: the frame
    /// that is in the way of the pause is one long frame.
    pub fn headroom_bytes(&self, link: &Link) -> u64 {
        let frame = u64::from(link.mtu_bytes) + PFC_BYTES;
        let on_its_way = frame
            .saturating_add(link.cable_bytes())
            .saturating_add(link.bytes_in_ns(self.response_ns));
        let occupied = u128::from(on_its_way) * u128::from(self.occupancy_percent);
        let occupied = u64::try_from(occupied.div_ceil(100)).unwrap_or(u64::MAX);
        frame.saturating_add(occupied)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headroom::eq_14;
    use crate::units::Length;
    use dataplane::time::Speed;

    #[test]
    fn with_an_occupancy_of_one_it_is_eq_14() {
        let link = Link::new(Speed::from_gbps(400), Length::from_metres(40), 9_100);
        let chip = Chip { response_ns: 2_345, occupancy_percent: 100 };
        let with_response = Link { response_ns: Some(2_345), ..link };
        assert_eq!(chip.headroom_bytes(&link), eq_14(&with_response));
    }

    #[test]
    fn each_assumption_moves_the_figure_by_itself() {
        // 800G, 5 m, MTU 9,100: 9,164 + (9,164 + 5,000 + 4.5 us = 450,000) x 3.
        let link = Link::new(Speed::from_gbps(800), Length::from_metres(5), 9_100);
        assert_eq!(Chip::MOST.headroom_bytes(&link), 9_164 + 464_164 * 3);
        let quick = Chip { response_ns: 0, ..Chip::MOST };
        assert_eq!(quick.headroom_bytes(&link), 9_164 + 14_164 * 3);
        let whole = Chip { occupancy_percent: u64::MAX, response_ns: u64::MAX };
        assert_eq!(whole.headroom_bytes(&link), u64::MAX);
    }
}
