//! Swift (G. Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the
//! Datacenter", SIGCOMM 2020, algorithm 1 and section 3.5), for the delay of the fabric. The delay
//! of the receiving host is in its NIC's hands here, as a RoCE NIC answers in hardware.

use super::fixed::{BIT_PS_PER_BYTE, ONE, Share, from_millionths, of, ratio, scale};
use crate::time::{PS_PER_US, Picoseconds};

/// The parameters, under the paper's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwiftParameters {
    /// The target delay of a path without switches.
    pub base_target_ps: Picoseconds,
    /// What a switch on the path adds to the target.
    pub hop_ps: Picoseconds,
    /// What a small window adds to the target at the most (`fs_range`).
    pub scaling_range_ps: Picoseconds,
    /// Windows below this, in packets, add all of the range (`fs_min_cwnd`), millionths.
    pub scaling_least_millionths: u32,
    /// Windows above this, in packets, add nothing (`fs_max_cwnd`), millionths.
    pub scaling_most_millionths: u32,
    /// Additive increase in an RTT, packets, millionths (`ai`).
    pub additive_millionths: u32,
    /// Multiplicative decrease, millionths (beta).
    pub beta_millionths: u32,
    /// What one decrease takes at the most, millionths (`max_mdf`).
    pub decrease_most_millionths: u32,
    /// The window's least, packets, millionths (`min_cwnd`).
    pub least_millionths: u32,
    /// So many losses without an acknowledgment set the window to its least.
    pub reset_losses: u32,
}

impl Default for SwiftParameters {
    fn default() -> Self {
        Self {
            base_target_ps: 25 * PS_PER_US,
            hop_ps: 2 * PS_PER_US,
            scaling_range_ps: 100 * PS_PER_US,
            scaling_least_millionths: 100_000,
            scaling_most_millionths: 100_000_000,
            additive_millionths: 1_000_000,
            beta_millionths: 800_000,
            decrease_most_millionths: 500_000,
            least_millionths: 10_000,
            reset_losses: 5,
        }
    }
}

/// The state of a queue pair.
#[derive(Clone, Debug)]
pub struct Swift {
    parameters: SwiftParameters,
    speed_bps: u64,
    packet_bytes: u32,
    /// The target of the path without flow scaling.
    target_ps: Picoseconds,
    /// `cwnd`, packets.
    window: Share,
    most: Share,
    rtt_ps: Picoseconds,
    /// When it may decrease again.
    decreases_ps: Picoseconds,
    losses: u32,
}

impl Swift {
    /// A queue pair on a path of so many switches, that begins with the window of an idle path.
    pub fn new(
        parameters: SwiftParameters,
        (speed_bps, base_rtt_ps): (u64, Picoseconds),
        packet_bytes: u32,
        hops: u32,
    ) -> Self {
        let packet_bytes = packet_bytes.max(1);
        let target_ps = parameters.base_target_ps + u64::from(hops) * parameters.hop_ps;
        let packets = |ps| ratio(scale(speed_bps, ps, BIT_PS_PER_BYTE), u64::from(packet_bytes));
        let most = packets(target_ps + parameters.scaling_range_ps).max(ONE);
        Self {
            parameters,
            speed_bps,
            packet_bytes,
            target_ps,
            window: packets(base_rtt_ps).clamp(ONE, most),
            most,
            rtt_ps: base_rtt_ps.max(1),
            decreases_ps: 0,
            losses: 0,
        }
    }

    /// At least one packet: smaller windows become pauses between packets.
    pub(super) fn window_bytes(&self) -> u64 {
        of(u64::from(self.packet_bytes), self.window.max(ONE))
    }

    pub(super) fn rate_bps(&self) -> u64 {
        if self.window >= ONE {
            return self.speed_bps;
        }
        // A packet each `rtt / cwnd`.
        let bytes = of(u64::from(self.packet_bytes) << 16, self.window);
        (scale(bytes, BIT_PS_PER_BYTE, self.rtt_ps) >> 16).clamp(1, self.speed_bps)
    }

    pub(super) fn on_acknowledgment(
        &mut self,
        now_ps: Picoseconds,
        rtt_ps: Picoseconds,
        bytes: u64,
    ) {
        self.losses = 0;
        self.rtt_ps = rtt_ps.max(1);
        let target_ps = self.target_ps + self.scaling_ps();
        if rtt_ps < target_ps {
            let packets = ratio(bytes, u64::from(self.packet_bytes));
            let step = of(packets, from_millionths(self.parameters.additive_millionths));
            let step = if self.window >= ONE { scale(step, ONE, self.window) } else { step };
            self.set(self.window.saturating_add(step));
        } else if now_ps >= self.decreases_ps {
            let beta = from_millionths(self.parameters.beta_millionths);
            self.decrease(now_ps, of(ratio(rtt_ps - target_ps, rtt_ps), beta));
        }
    }

    pub(super) fn on_loss(&mut self, now_ps: Picoseconds) {
        self.losses += 1;
        if self.losses >= self.parameters.reset_losses {
            self.set(0);
        } else if now_ps >= self.decreases_ps {
            self.decrease(now_ps, ONE);
        }
    }

    fn decrease(&mut self, now_ps: Picoseconds, share: Share) {
        let most = from_millionths(self.parameters.decrease_most_millionths).min(ONE);
        self.set(self.window - of(self.window, share.min(most)));
        self.decreases_ps = now_ps.saturating_add(self.rtt_ps);
    }

    fn set(&mut self, window: Share) {
        let least = from_millionths(self.parameters.least_millionths).max(1);
        self.window = window.clamp(least, self.most.max(least));
    }

    /// What the target is raised by, since many flows share the queue when windows are small:
    /// `alpha / sqrt(cwnd) + beta` (section 3.5).
    fn scaling_ps(&self) -> Picoseconds {
        let parameters = &self.parameters;
        let inverse_root = |share: Share| ratio(1 << 16, share.max(1).isqrt());
        let least = inverse_root(from_millionths(parameters.scaling_most_millionths));
        let most = inverse_root(from_millionths(parameters.scaling_least_millionths));
        let at = inverse_root(self.window).clamp(least, most.max(least));
        scale(parameters.scaling_range_ps, at - least, (most - least).max(1))
    }
}
