//! Any bytes of an FPM peer: nothing panics, and the table that was changed frame by frame answers
//! for each route as one that is compiled from scratch.

/// Does what the bytes say.
pub fn run(bytes: &[u8]) {
    for (address, [changed, scratch]) in switch::fpm::feed(bytes) {
        assert_eq!(changed, scratch, "{address}");
    }
}
