//! IPv6: the traffic class spread over two octets, and the hop limit.

/// The fixed header.
pub const HEADER_BYTES: usize = 40;
/// [`HEADER_BYTES`], as lengths in headers are.
pub(crate) const HEADER_LENGTH: u8 = 40;
/// Offset of the length of what follows the header.
pub(crate) const PAYLOAD_LENGTH: usize = 4;
const HOP_LIMIT: usize = 7;
/// Offset of the destination address.
pub(crate) const DESTINATION_OFFSET: usize = 24;

/// The traffic class (DSCP and ECN).
#[inline(always)]
pub const fn traffic_class(header: &[u8; HEADER_BYTES]) -> u8 {
    header[0] << 4 | header[1] >> 4
}

/// Sets the traffic class and the hop limit; the flow label stays.
#[inline(always)]
pub(crate) const fn set_class_and_hops(header: &mut [u8; HEADER_BYTES], class: u8, hops: u8) {
    header[0] = header[0] & 0xF0 | class >> 4;
    header[1] = header[1] & 0x0F | class << 4;
    header[HOP_LIMIT] = hops;
}

/// Marks congestion experienced if the frame is ECN-capable; whether it was marked (or was before).
pub(crate) const fn mark_congestion(header: &mut [u8; HEADER_BYTES]) -> bool {
    let class = traffic_class(header);
    if class & 0b11 == 0 {
        return false;
    }
    set_class_and_hops(header, class | 0b11, header[HOP_LIMIT]);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn class_and_hops_change_and_nothing_else(before: [[u8; 20]; 2], class: u8, hops: u8) {
            let before: [u8; 40] = before.concat().try_into().unwrap();
            let mut after = before;
            set_class_and_hops(&mut after, class, hops);
            prop_assert_eq!((traffic_class(&after), after[7]), (class, hops));
            set_class_and_hops(&mut after, traffic_class(&before), before[7]);
            prop_assert_eq!(after, before);
        }
    }

    #[test]
    fn only_ecn_capable_frames_are_marked() {
        let mut header = [0x60; 40];
        set_class_and_hops(&mut header, 0x68, 64);
        assert!(!mark_congestion(&mut header));
        set_class_and_hops(&mut header, 0x6A, 64);
        assert!(mark_congestion(&mut header));
        assert_eq!(traffic_class(&header), 0x6B);
    }
}
