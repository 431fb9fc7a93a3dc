//! Times as people read them.

/// The time of day, UTC: `13:05:02.123`.
pub(crate) fn clock(unix_ms: u64) -> String {
    let (s, ms) = (unix_ms / 1_000, unix_ms % 1_000);
    format!("{:02}:{:02}:{:02}.{ms:03} UTC", s / 3_600 % 24, s / 60 % 60, s % 60)
}

/// Seconds, to a tenth.
pub(super) fn seconds(ns: u64) -> String {
    format!("{}.{} s", ns / 1_000_000_000, ns / 100_000_000 % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        assert_eq!(clock(1_700_000_000_123), "22:13:20.123 UTC");
        assert_eq!(seconds(4_250_000_000), "4.2 s");
    }
}
