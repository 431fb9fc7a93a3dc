//! TIMELY (R. Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter", SIGCOMM
//! 2015, algorithm 1).

use super::fixed::{ONE, Share, from_millionths, of, ratio};
use crate::time::{PS_PER_US, Picoseconds};

/// The parameters, under the paper's symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimelyParameters {
    /// Weight of the newest difference in the gradient, millionths (alpha).
    pub alpha_millionths: u32,
    /// Multiplicative decrease, millionths (beta).
    pub beta_millionths: u32,
    /// Additive increase, bits a second (delta).
    pub additive_bps: u64,
    /// Below it the rate rises.
    pub t_low_ps: Picoseconds,
    /// Above it the rate falls.
    pub t_high_ps: Picoseconds,
    /// What the gradient is normalized by.
    pub minimum_rtt_ps: Picoseconds,
    /// After so many samples without a positive gradient the rate rises by so many steps (N).
    pub hyper_samples: u32,
    /// A sample is taken each time that so many bytes are acknowledged: a segment, 16 to 64 KB.
    pub segment_bytes: u64,
    /// The rate never falls below it, bits a second.
    pub minimum_bps: u64,
}

impl Default for TimelyParameters {
    fn default() -> Self {
        Self {
            alpha_millionths: 875_000,
            beta_millionths: 800_000,
            additive_bps: 10_000_000,
            t_low_ps: 50 * PS_PER_US,
            t_high_ps: 500 * PS_PER_US,
            minimum_rtt_ps: 20 * PS_PER_US,
            hyper_samples: 5,
            segment_bytes: 16_384,
            minimum_bps: 10_000_000,
        }
    }
}

/// The state of a queue pair.
#[derive(Clone, Debug)]
pub struct Timely {
    parameters: TimelyParameters,
    speed_bps: u64,
    rate_bps: u64,
    previous_rtt_ps: Option<Picoseconds>,
    /// The smoothed difference of successive samples, picoseconds.
    difference_ps: i64,
    /// Bytes acknowledged since the last sample.
    bytes: u64,
    /// Samples in a row without a positive gradient.
    falling: u32,
}

impl Timely {
    /// A queue pair that begins at the speed of its port.
    pub const fn new(parameters: TimelyParameters, speed_bps: u64) -> Self {
        Self {
            parameters,
            speed_bps,
            rate_bps: speed_bps,
            previous_rtt_ps: None,
            difference_ps: 0,
            bytes: 0,
            falling: 0,
        }
    }

    pub(super) const fn rate_bps(&self) -> u64 {
        self.rate_bps
    }

    pub(super) fn on_acknowledgment(&mut self, rtt_ps: Picoseconds, bytes: u64) {
        self.bytes += bytes;
        if self.bytes >= self.parameters.segment_bytes {
            self.bytes = 0;
            self.sample(rtt_ps);
        }
    }

    fn sample(&mut self, rtt_ps: Picoseconds) {
        let parameters = self.parameters;
        let Some(previous_ps) = self.previous_rtt_ps.replace(rtt_ps) else { return };
        let newest_ps = rtt_ps.cast_signed() - previous_ps.cast_signed();
        let alpha = from_millionths(parameters.alpha_millionths).min(ONE);
        self.difference_ps = part(self.difference_ps, ONE - alpha) + part(newest_ps, alpha);
        if rtt_ps < parameters.t_low_ps {
            self.falling = 0;
            return self.raise(1);
        }
        let beta = from_millionths(parameters.beta_millionths);
        if rtt_ps > parameters.t_high_ps {
            self.falling = 0;
            return self.cut(of(ONE - ratio(parameters.t_high_ps, rtt_ps), beta));
        }
        if self.difference_ps <= 0 {
            self.falling += 1;
            let is_hyper = self.falling >= parameters.hyper_samples;
            return self.raise(if is_hyper { u64::from(parameters.hyper_samples) } else { 1 });
        }
        self.falling = 0;
        let gradient = ratio(self.difference_ps.unsigned_abs(), parameters.minimum_rtt_ps);
        self.cut(of(gradient, beta));
    }

    fn raise(&mut self, steps: u64) {
        let step_bps = self.parameters.additive_bps.saturating_mul(steps);
        self.rate_bps = self.rate_bps.saturating_add(step_bps).min(self.speed_bps);
    }

    fn cut(&mut self, share: Share) {
        let left_bps = self.rate_bps.saturating_sub(of(self.rate_bps, share));
        self.rate_bps = left_bps.max(self.parameters.minimum_bps.min(self.speed_bps));
    }
}

/// A share of a signed number, rounded towards 0.
fn part(value: i64, share: Share) -> i64 {
    let size = of(value.unsigned_abs(), share).cast_signed();
    if value < 0 { -size } else { size }
}
