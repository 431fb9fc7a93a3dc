//! Polling and event-driven workers do the same: over random switches, frames and faults.

use dataplane::testing::drivers;
use proptest::collection::vec;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, ..ProptestConfig::default() })]

    #[test]
    fn both_drivers_send_punt_and_count_the_same(data in vec(any::<u8>(), 20..600)) {
        drivers::run(&data);
    }
}
