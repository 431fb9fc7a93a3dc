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

/// CPU time of all threads of this process so far, in seconds: what other processes on the machine
/// take is not in it.
///
/// # Panics
/// If the kernel does not count it.
pub fn cpu_seconds() -> f64 {
    let clock = nix::time::ClockId::CLOCK_PROCESS_CPUTIME_ID;
    let now = nix::time::clock_gettime(clock).expect("Linux counts it");
    now.tv_sec() as f64 + now.tv_nsec() as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_cpu_time() {
        let begun = cpu_seconds();
        ghz();
        assert!(cpu_seconds() - begun > 0.005);
    }
}
