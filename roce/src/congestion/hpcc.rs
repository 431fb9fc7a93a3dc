//! HPCC (Y. Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019, algorithm 1): a
//! window from what the switches on the path measure.

use super::Feedback;
use super::fixed::{BIT_PS_PER_BYTE, ONE, Share, from_millionths, of, ratio, scale};
use crate::time::{PS_PER_NS, Picoseconds};
use dataplane::wire::telemetry::Stack;

/// The parameters, under the paper's symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HpccParameters {
    /// The utilization that is aimed at, millionths (eta).
    pub eta_millionths: u32,
    /// Additive steps before a multiplicative one (`maxStage`).
    pub stages_max: u32,
    /// Additive increase in an RTT, bytes (`W_AI`).
    pub additive_bytes: u64,
}

impl Default for HpccParameters {
    /// The paper's values; `W_AI` is for 100 Gb/s and an RTT of 13 us.
    fn default() -> Self {
        Self { eta_millionths: 950_000, stages_max: 5, additive_bytes: 80 }
    }
}

/// The state of a queue pair.
#[derive(Clone, Debug)]
pub struct Hpcc {
    parameters: HpccParameters,
    speed_bps: u64,
    /// `T`: the RTT of the path without queues.
    base_rtt_ps: Picoseconds,
    /// `W`, bytes.
    window_bytes: u64,
    /// `W^c`: the window at the start of the RTT.
    reference_bytes: u64,
    /// `U`: the smoothed utilization of the busiest link.
    utilization: Share,
    /// `incStage`.
    stage: u32,
    /// `lastUpdateSeq`.
    updated_to: u64,
    last: Option<Stack>,
}

impl Hpcc {
    /// A queue pair that begins with the window of an idle path.
    pub fn new(parameters: HpccParameters, speed_bps: u64, base_rtt_ps: Picoseconds) -> Self {
        let window_bytes = scale(speed_bps, base_rtt_ps, BIT_PS_PER_BYTE).max(1);
        Self {
            parameters,
            speed_bps,
            base_rtt_ps: base_rtt_ps.max(1),
            window_bytes,
            reference_bytes: window_bytes,
            utilization: 0,
            stage: 0,
            updated_to: 0,
            last: None,
        }
    }

    pub(super) const fn window_bytes(&self) -> u64 {
        self.window_bytes
    }

    /// `R = W / T`.
    pub(super) fn rate_bps(&self) -> u64 {
        scale(self.window_bytes, BIT_PS_PER_BYTE, self.base_rtt_ps).clamp(1, self.speed_bps)
    }

    pub(super) fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        let Some(stack) = feedback.telemetry else { return };
        // The first feedback, and that of a new path, is only what the next is compared with.
        let last = self.last.replace(*stack);
        let is_same_path =
            |last: &Stack| last.path() == stack.path() && last.count() == stack.count();
        let Some(last) = last.filter(is_same_path) else { return };
        self.measure(stack, &last);
        let is_new_rtt = feedback.acknowledged_to > self.updated_to;
        self.resize(is_new_rtt);
        if is_new_rtt {
            self.updated_to = feedback.sent_to;
        }
    }

    /// `MeasureInflight`.
    fn measure(&mut self, stack: &Stack, last: &Stack) {
        let (mut most, mut over_ps) = (0, 0);
        for (hop, last) in stack.hops().zip(last.hops()) {
            let (passed_ns, sent_bytes) = hop.since(last);
            let Some(speed_bps) = hop.speed_bps().filter(|_| passed_ns > 0) else { continue };
            let passed_ps = passed_ns * PS_PER_NS;
            let queued_bytes = hop.queued_bytes().min(last.queued_bytes());
            let queued = ratio(queued_bytes, scale(speed_bps, self.base_rtt_ps, BIT_PS_PER_BYTE));
            let busy_ps = scale(sent_bytes, BIT_PS_PER_BYTE, speed_bps);
            let utilization = queued.saturating_add(ratio(busy_ps, passed_ps));
            if utilization > most {
                (most, over_ps) = (utilization, passed_ps);
            }
        }
        let weight = ratio(over_ps.min(self.base_rtt_ps), self.base_rtt_ps);
        self.utilization = of(self.utilization, ONE - weight).saturating_add(of(most, weight));
    }

    /// `ComputeWind`.
    fn resize(&mut self, is_new_rtt: bool) {
        let parameters = self.parameters;
        let eta = from_millionths(parameters.eta_millionths);
        let is_full = self.utilization >= eta || self.stage >= parameters.stages_max;
        let base_bytes = if is_full {
            scale(self.reference_bytes, eta, self.utilization.max(1))
        } else {
            self.reference_bytes
        };
        let most_bytes = scale(self.speed_bps, self.base_rtt_ps, BIT_PS_PER_BYTE).max(1);
        self.window_bytes =
            base_bytes.saturating_add(parameters.additive_bytes).clamp(1, most_bytes);
        if is_new_rtt {
            self.stage = if is_full { 0 } else { self.stage + 1 };
            self.reference_bytes = self.window_bytes;
        }
    }
}
