//! A threshold found by search, as sonic-mgmt's probing tests find one: doubled until it is passed,
//! then halved until one frame is between the bounds.

/// The least number of frames for which `is_over` holds; each trial is a switch of its own.
///
/// # Panics
/// If there is none below a million.
pub(crate) fn threshold(is_over: impl Fn(u32) -> bool) -> u32 {
    let mut over = 1;
    while !is_over(over) {
        over *= 2;
        assert!(over < 1_000_000, "no threshold below {over} frames");
    }
    let mut under = over / 2;
    while over - under > 1 {
        let middle = u32::midpoint(under, over);
        if is_over(middle) {
            over = middle;
        } else {
            under = middle;
        }
    }
    over
}

#[test]
fn a_threshold_is_found_wherever_it_is() {
    for at in [1, 2, 3, 64, 65, 999, 40_000] {
        assert_eq!(threshold(|frames| frames >= at), at);
    }
}
