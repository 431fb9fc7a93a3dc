//! What gentle flow control needs of a buffer, and what its messages cost.
//!
//! `tau` is the time from a message's cause to its effect at the queue that sent it: `2 MTU / C + 2
//! t_wire + t_proc` (Gentle Flow Control, section 5.4), which is what headroom allows for, so `C
//! tau` in bytes is [`headroom`](crate::headroom)'s figure.
//!
//! Three bounds on how far below `Bm` slowing down must begin, for a queue that is a fluid:
//!
//! - [`theorem`]: `Bm - B0 >= 4 C tau`, the GFC paper's Theorem 4.1 for the conceptual form;
//! - [`tight`]: `e C tau`. The room that is left, `x = Bm - q`, follows `x'(t) = -k x(t - tau)`
//!   plus what drains, with `k = C / (Bm - B0)`, and such a quantity never crosses zero if and only
//!   if `k tau <= 1 / e`;
//! - [`staged`]: `Bm - B1 >= 2 C tau`, equation 5.
//!
//! And one on how far above `Bm` XOFF must stand, because frames are not divisible: [`slack`].
//! Decision 065 proves it. In short, with `A` the bytes that a sender has begun and `b` its debt,
//! at most a frame `L` and a credit `K`:
//!
//! 1. `G = A - b` grows continuously, at most at the rate in force; `A - L <= G <= A + K`.
//! 2. `x = G - K - D`, `D` being what left the queue, is at most the queue `q` and at least `q - (L
//!    + K)`. So the rate, which follows `q`, is at most that of a fluid queue of `x`, and `x` keeps
//!    each bound above. In stages: while `x` is in stage k, the rate is that of stage k - 1 at
//!    most, because `x` has been in stage k - 1 or above for `tau`.
//! 3. Hence `q <= Bm + L + K`, whatever drains. Every sender has a queue of its own, so the number
//!    of senders `n` does not multiply `L`; it sets how slowly a queue drains, `C / n`.
//! 4. The rate of the last stage is not zero. While the round robin serves the other queues, for
//!    `5 n L / C` at most, it adds `5 n L / 2^N`, less than `n` bytes, as `2^N >= Bm - B0 >= 8 L`.

use dataplane::gfc::RateMap;

/// A PFC frame with its FCS, in bits.
const MESSAGE_BITS: u64 = 512;
/// e, in millionths, rounded up.
const E_MILLIONTHS: u64 = 2_718_282;

/// Theorem 4.1: `4 C tau`.
pub const fn theorem(delay_bytes: u64) -> u64 {
    4 * delay_bytes
}

/// `e C tau`: a third less than [`theorem`], and no less will do.
pub const fn tight(delay_bytes: u64) -> u64 {
    (delay_bytes * E_MILLIONTHS).div_ceil(1_000_000)
}

/// Equation 5: `Bm - B1` of the staged form, `2 C tau`.
pub const fn staged(delay_bytes: u64) -> u64 {
    2 * delay_bytes
}

/// `Bm - B0 >= (sqrt(tau / T) + 1)^2 C T` of the time-based form, which tells its rates every
/// `period_bytes` of the wire; rounded up.
pub fn time_based(delay_bytes: u64, period_bytes: u64) -> u64 {
    // (sqrt(a) + sqrt(b))^2 = a + b + 2 sqrt(ab), in whole numbers.
    let product = u128::from(delay_bytes) * u128::from(period_bytes);
    let root = product.isqrt();
    let root = if root * root < product { root + 1 } else { root };
    delay_bytes + period_bytes + u64::try_from(2 * root).unwrap_or(u64::MAX)
}

/// How far XOFF must stand above `Bm`, so that a queue that `senders` share an egress port with is
/// never paused: the longest frame, a byte for each sender, and `catch_up_bytes`, what the sender
/// of the queue may make up for after a late poll.
pub const fn slack(frame_bytes: u64, senders: u64, catch_up_bytes: u64) -> u64 {
    frame_bytes.saturating_add(senders).saturating_add(catch_up_bytes)
}

/// The most senders that stages below `Bm` hold, if they begin `span_bytes` below it: a queue that
/// drains at `C / n` needs a stage of at most that rate.
pub(crate) fn senders_max(span_bytes: u64) -> u64 {
    1 << RateMap::stages(u32::try_from(span_bytes).unwrap_or(u32::MAX))
}

/// How far before `full_bytes` slowing down begins: at `start_bytes`, or as late as leaves
/// `needed_bytes`. Less than those where there is no room for them.
pub(crate) fn rest_bytes(full_bytes: u64, start_bytes: Option<u64>, needed_bytes: u64) -> u64 {
    match start_bytes {
        Some(start_bytes) => full_bytes.saturating_sub(start_bytes),
        None => needed_bytes.min(full_bytes),
    }
}

/// Bits per second of messages at worst: one every `tau` (section 4.2).
pub fn worst_load_bps(tau_ps: u64) -> u64 {
    let bps = u128::from(MESSAGE_BITS) * 1_000_000_000_000 / u128::from(tau_ps.max(1));
    u64::try_from(bps).unwrap_or(u64::MAX)
}

/// Bits per second of messages in a steady state, at worst: one every 8 `tau`.
pub fn steady_load_bps(tau_ps: u64) -> u64 {
    worst_load_bps(tau_ps) / 8
}

#[cfg(test)]
#[path = "gfc_tests.rs"]
mod tests;
