//! How fast this core is just now, which on a shared or a warm machine differs from minute to
//! minute.

use std::hint::black_box;
use std::time::Instant;

/// Steps of one reading: some 30 ms.
const STEPS: u64 = 20_000_000;
/// Shifts and exclusive-ors of a step, each of which needs the one before: a cycle each, on all
/// that this runs on.
const CYCLES_A_STEP: u64 = 6;

/// Billions of dependent operations a second, which is the clock in GHz.
pub fn ghz() -> f64 {
    let start = Instant::now();
    let mut state = black_box(0x9E37_79B9_7F4A_7C15_u64);
    for _ in 0..STEPS {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    black_box(state);
    (STEPS * CYCLES_A_STEP) as f64 / start.elapsed().as_secs_f64() / 1e9
}
