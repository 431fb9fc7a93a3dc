//! DCQCN's reaction point (Y. Zhu et al., "Congestion Control for Large-Scale RDMA Deployments",
//! SIGCOMM 2015, section 3.3).
//!
//! A notification cuts the rate by half of `alpha`, the estimate of how often packets are marked.
//! A timer and a byte counter raise it again: in fast recovery halfway to the rate before the cut,
//! then beyond it.
//!
//! Both timers are evaluated when a packet departs or a notification arrives. Nobody reads the rate
//! in between, so the result is that of real timers, and ten thousand idle queue pairs cost
//! nothing.

use super::fixed::{ONE, Share, from_millionths, of};
use crate::time::{NEVER, PS_PER_US, Picoseconds};

/// The parameters, under the paper's symbols and the names that NICs give them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DcqcnParameters {
    /// `g`: weight of the newest observation in `alpha`, millionths (NICs: `dce_tcp_g`).
    pub g_millionths: u32,
    /// `alpha` at the first notification, millionths (NICs: `initial_alpha_value`).
    pub initial_alpha_millionths: u32,
    /// `K`: so long without a notification lowers `alpha` (NICs: `dce_tcp_rtt`).
    pub alpha_interval_ps: Picoseconds,
    /// `T`: the period of the timer that raises the rate (NICs: `rpg_time_reset`).
    pub increase_interval_ps: Picoseconds,
    /// `B`: so many bytes raise the rate as well (NICs: `rpg_byte_reset`).
    pub increase_bytes: u64,
    /// `F`: so many steps of fast recovery (NICs: `rpg_threshold`).
    pub fast_recovery_steps: u32,
    /// `R_AI`: step of additive increase, bits a second (NICs: `rpg_ai_rate`).
    pub additive_bps: u64,
    /// `R_HAI`: step of hyper increase, bits a second (NICs: `rpg_hai_rate`).
    pub hyper_bps: u64,
    /// No cut goes below it, bits a second (NICs: `rpg_min_rate`).
    pub minimum_bps: u64,
    /// Whether each cut sets the target rate to the rate before it, as in the paper. If not, only
    /// the first cut after an increase by the timer does (NICs: `clamp_tgt_rate`).
    pub clamps_target: bool,
}

impl Default for DcqcnParameters {
    /// The paper's values for 40 Gb/s (section 5.2, figure 14).
    fn default() -> Self {
        Self {
            // 1 / 256.
            g_millionths: 3_906,
            initial_alpha_millionths: 1_000_000,
            alpha_interval_ps: 55 * PS_PER_US,
            increase_interval_ps: 55 * PS_PER_US,
            increase_bytes: 10_000_000,
            fast_recovery_steps: 5,
            additive_bps: 40_000_000,
            hyper_bps: 400_000_000,
            minimum_bps: 10_000_000,
            clamps_target: true,
        }
    }
}

/// The state of a queue pair.
#[derive(Clone, Debug)]
pub struct Dcqcn {
    parameters: DcqcnParameters,
    speed_bps: u64,
    /// `R_C`: the rate.
    rate_bps: u64,
    /// `R_T`: where fast recovery leads.
    target_bps: u64,
    alpha: Share,
    /// When `alpha` falls next.
    alpha_falls_ps: Picoseconds,
    /// When the timer raises the rate next; [`NEVER`] at line rate.
    timer_ps: Picoseconds,
    /// Bytes until the byte counter raises the rate next.
    bytes_left: u64,
    timer_steps: u32,
    byte_steps: u32,
}

impl Dcqcn {
    /// A queue pair that begins at the speed of its port.
    pub fn new(parameters: DcqcnParameters, speed_bps: u64) -> Self {
        Self {
            parameters,
            speed_bps,
            rate_bps: speed_bps,
            target_bps: speed_bps,
            alpha: from_millionths(parameters.initial_alpha_millionths),
            alpha_falls_ps: NEVER,
            timer_ps: NEVER,
            bytes_left: parameters.increase_bytes,
            timer_steps: 0,
            byte_steps: 0,
        }
    }

    pub(super) const fn rate_bps(&self) -> u64 {
        self.rate_bps
    }

    /// A packet departs: the timers up to now, and the byte counter.
    #[inline]
    pub(super) fn on_sent(&mut self, now_ps: Picoseconds, frame_bytes: u32) {
        // At line rate there is nothing to raise.
        if self.timer_ps != NEVER {
            self.advance(now_ps);
            self.count(u64::from(frame_bytes));
        }
    }

    pub(super) fn on_cnp(&mut self, now_ps: Picoseconds) {
        self.advance(now_ps);
        self.lower_alpha(now_ps);
        let parameters = &self.parameters;
        if parameters.clamps_target || self.timer_steps > 0 || self.timer_ps == NEVER {
            self.target_bps = self.rate_bps;
        }
        let least_bps = parameters.minimum_bps.min(self.speed_bps);
        self.rate_bps = (self.rate_bps - of(self.rate_bps, self.alpha / 2)).max(least_bps);
        let g = from_millionths(parameters.g_millionths).min(ONE);
        self.alpha = (self.alpha - of(self.alpha, g) + g).min(ONE);
        self.alpha_falls_ps = now_ps.saturating_add(parameters.alpha_interval_ps.max(1));
        self.timer_ps = now_ps.saturating_add(parameters.increase_interval_ps.max(1));
        self.bytes_left = parameters.increase_bytes;
        (self.timer_steps, self.byte_steps) = (0, 0);
    }

    /// What the timer has raised until `now_ps`.
    fn advance(&mut self, now_ps: Picoseconds) {
        while self.timer_ps <= now_ps {
            self.timer_ps =
                self.timer_ps.saturating_add(self.parameters.increase_interval_ps.max(1));
            self.timer_steps = self.timer_steps.saturating_add(1);
            self.increase();
        }
    }

    fn count(&mut self, bytes: u64) {
        let mut bytes = bytes;
        while bytes >= self.bytes_left && self.timer_ps != NEVER {
            bytes -= self.bytes_left;
            self.bytes_left = self.parameters.increase_bytes.max(1);
            self.byte_steps = self.byte_steps.saturating_add(1);
            self.increase();
        }
        self.bytes_left = self.bytes_left.saturating_sub(bytes);
    }

    /// One step of fast recovery, additive or hyper increase (figure 7).
    fn increase(&mut self) {
        let parameters = &self.parameters;
        let steps = [self.timer_steps, self.byte_steps];
        let recovers = steps.iter().all(|&steps| steps <= parameters.fast_recovery_steps);
        let is_hyper = steps.iter().all(|&steps| steps > parameters.fast_recovery_steps);
        let step_bps = match (recovers, is_hyper) {
            (true, _) => 0,
            (false, false) => parameters.additive_bps,
            (false, true) => parameters.hyper_bps,
        };
        self.target_bps = self.target_bps.saturating_add(step_bps).min(self.speed_bps);
        // Rounded up, so that it gets there.
        self.rate_bps = (self.rate_bps + self.target_bps).div_ceil(2);
        if self.rate_bps >= self.speed_bps {
            self.timer_ps = NEVER;
        }
    }

    fn lower_alpha(&mut self, now_ps: Picoseconds) {
        let g = from_millionths(self.parameters.g_millionths).min(ONE);
        while self.alpha_falls_ps <= now_ps && self.alpha > 0 {
            self.alpha_falls_ps += self.parameters.alpha_interval_ps.max(1);
            // One unit more, so that it reaches 0.
            self.alpha -= (of(self.alpha, g) + 1).min(self.alpha);
        }
    }
}
