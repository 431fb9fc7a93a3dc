//! Any bytes as a capture, or as a request of `knotless trace`: nothing panics, and each frame that
//! is walked through the tables has an end.

/// Does what the bytes say.
pub fn run(bytes: &[u8]) {
    for ends in switch::trace::feed(bytes).into_iter().flatten() {
        assert!(ends > 0, "a frame has no end");
    }
}
