//! N bursts of one frame have the result of one burst of N frames: over random switches, frames and
//! faults.

use dataplane::testing::bursts;
use proptest::collection::vec;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, ..ProptestConfig::default() })]

    #[test]
    fn bursts_of_any_length_send_punt_and_count_the_same(data in vec(any::<u8>(), 20..800)) {
        bursts::run(&data);
    }
}
