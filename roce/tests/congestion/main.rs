//! Congestion control against the papers' text in floats, with timers that tick one by one.

mod dcqcn;
mod hpcc;
mod swift;
mod timely;

/// Whether two rates or windows are the same but for rounding.
fn is_near(ours: u64, theirs: f64) -> bool {
    (ours as f64 - theirs).abs() <= 1e-4 * theirs + 16.0
}
