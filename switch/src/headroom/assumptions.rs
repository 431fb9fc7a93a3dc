//! What one assumption changes of the headroom on a link.

use config::headroom::{Chip, Link, eq_14};
use config::units::Length;
use dataplane::time::Speed;

/// Response time and occupancy of a chip, as the command line gives them; the rest is of
/// [`Chip::HALF`].
pub(super) fn chip(response_ns: Option<u64>, occupancy_percent: Option<u64>) -> Option<Chip> {
    (response_ns.is_some() || occupancy_percent.is_some()).then(|| Chip {
        response_ns: response_ns.unwrap_or(Chip::HALF.response_ns),
        occupancy_percent: occupancy_percent.unwrap_or(Chip::HALF.occupancy_percent),
    })
}

/// One assumption more than IEEE 802.3's figure makes, and the bytes that it adds.
pub(super) struct Change {
    /// Its key in the JSON object.
    pub(super) key: &'static str,
    /// What is assumed.
    pub(super) assumption: String,
    /// Bytes that it adds to eq. 14.
    pub(super) bytes: u64,
}

/// What each assumption by itself adds to eq. 14 on `link`.
pub(super) fn changes(link: &Link) -> Vec<Change> {
    let response_ns = link.response_ns.unwrap_or_else(|| standard_response_ns(link.speed));
    let link = &Link { response_ns: Some(response_ns), ..*link };
    let base = eq_14(link);
    let change = |key, assumption: &str, other: u64| Change {
        key,
        assumption: assumption.to_owned(),
        bytes: other.saturating_sub(base),
    };
    let slower = Link { response_ns: Some(response_ns.saturating_add(1_000)), ..*link };
    // A gearbox delays the pause in one direction and frames in the other.
    let gearbox = Link { response_ns: Some(response_ns.saturating_add(800)), ..*link };
    let longer = Length::from_millimetres(link.length.millimetres() + 100_000);
    let half = link.mtu_bytes.saturating_add(1_000);
    let occupancy = Chip { response_ns, occupancy_percent: 200 };
    vec![
        change("response_1us", "1 us more response", eq_14(&slower)),
        change("occupancy_2", "cell occupancy 2 instead of 1", occupancy.headroom_bytes(link)),
        change("mtu_1000", "1,000 B more MTU", eq_14(&Link { mtu_bytes: half, ..*link })),
        change("gearbox_400ns", "a gearbox of 400 ns", eq_14(&gearbox)),
        change("cable_100m", "100 m more cable", eq_14(&Link { length: longer, ..*link })),
    ]
}

/// The response time that IEEE 802.3 allows, in nanoseconds, rounded up.
pub(super) fn standard_response_ns(speed: Speed) -> u64 {
    let bytes = config::headroom::response_quanta(speed) * 64;
    speed.bytes_ps(bytes).div_ceil(1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_is_the_bytes_that_pass_meanwhile() {
        let link = Link::new(Speed::from_gbps(100), Length::from_metres(40), 9_100);
        let bytes: Vec<_> = changes(&link).iter().map(|c| (c.key, c.bytes)).collect();
        // 100G is 12.5 B in a nanosecond; 394 quanta are 2,017.3 ns, rounded up: 25,225 B.
        let expected = [
            ("response_1us", 12_500),
            ("occupancy_2", 9_164 + 5_000 + 25_225),
            ("mtu_1000", 2_000),
            ("gearbox_400ns", 10_000),
            ("cable_100m", 12_500),
        ];
        assert_eq!(bytes, expected);
    }

    #[test]
    fn a_chip_takes_from_the_default_what_is_not_given() {
        assert_eq!(chip(None, None), None);
        let slow = chip(Some(9_000), None);
        assert_eq!(slow, Some(Chip { response_ns: 9_000, ..Chip::HALF }));
    }
}
