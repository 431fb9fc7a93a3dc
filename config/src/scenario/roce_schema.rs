//! `[roce]` of SCENARIO.toml as it is written; [`transport`](super::transport) says what it means.

use crate::fields::{Duration, Rate, Size};
use crate::network::schema::Field;
use serde::Deserialize;

/// `[roce]`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RoceTable {
    /// `none`, `dcqcn`, `timely`, `hpcc` or `swift`. Default `none`. With `hpcc` switches write
    /// telemetry.
    pub(super) congestion: Field<String>,
    /// What is sent again after a loss: `go-back-n`, all that follows, or `selective-repeat`, what
    /// was lost. Default `go-back-n`.
    pub(super) mode: Field<String>,
    /// `selective-repeat`: packets in flight at the most. Default 256.
    pub(super) window: Field<i64>,
    /// Payload of a full packet: 256, 512 or 1024 bytes. Default 1024.
    pub(super) mtu: Field<i64>,
    /// An acknowledgment for so many packets. Default 16, and 1 where the round trip is measured.
    pub(super) acknowledge_every: Field<i64>,
    /// What is not acknowledged for this long is sent again. Default 4 ms.
    pub(super) timeout: Field<Duration>,
    /// Between two notifications of a flow, at the least. Default 50 us.
    pub(super) cnp_interval: Field<Duration>,
    /// `hpcc`, `swift`: the round trip without queues. Default: of each path.
    pub(super) base_rtt: Field<Duration>,
    /// Parameters of DCQCN.
    pub(super) dcqcn: Field<DcqcnTable>,
    /// Parameters of TIMELY.
    pub(super) timely: Field<TimelyTable>,
    /// Parameters of HPCC.
    pub(super) hpcc: Field<HpccTable>,
    /// Parameters of Swift.
    pub(super) swift: Field<SwiftTable>,
}

/// `[roce.dcqcn]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DcqcnTable {
    /// Weight of the newest observation in alpha (`dce_tcp_g`). Default 1/256.
    pub(super) g: Field<f64>,
    /// Alpha at the first notification. Default 1.
    pub(super) initial_alpha: Field<f64>,
    /// So long without a notification lowers alpha (K). Default 55 us.
    pub(super) alpha_interval: Field<Duration>,
    /// The period of the timer that raises the rate (T, `rpg_time_reset`). Default 55 us.
    pub(super) increase_interval: Field<Duration>,
    /// So many bytes raise the rate as well (B, `rpg_byte_reset`). Default 10 MB.
    pub(super) increase_bytes: Field<Size>,
    /// Steps of fast recovery (F, `rpg_threshold`). Default 5.
    pub(super) fast_recovery: Field<i64>,
    /// Step of additive increase (R_AI). Default 40M.
    pub(super) additive: Field<Rate>,
    /// Step of hyper increase (R_HAI). Default 400M.
    pub(super) hyper: Field<Rate>,
    /// No cut goes below it. Default 10M.
    pub(super) minimum: Field<Rate>,
    /// Each cut sets the target rate; if not, the first cut after an increase by the timer does.
    /// Default true.
    pub(super) clamp_target: Option<bool>,
}

/// `[roce.timely]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TimelyTable {
    /// Weight of the newest difference in the gradient. Default 0.875.
    pub(super) alpha: Field<f64>,
    /// Multiplicative decrease. Default 0.8.
    pub(super) beta: Field<f64>,
    /// Additive increase (delta). Default 10M.
    pub(super) additive: Field<Rate>,
    /// Below it the rate rises. Default 50 us.
    pub(super) t_low: Field<Duration>,
    /// Above it the rate falls. Default 500 us.
    pub(super) t_high: Field<Duration>,
    /// What the gradient is normalized by. Default 20 us.
    pub(super) minimum_rtt: Field<Duration>,
    /// Samples without a positive gradient after which the rate rises by so many steps (N).
    /// Default 5.
    pub(super) hyper_samples: Field<i64>,
    /// Bytes between two samples. Default 16384.
    pub(super) segment: Field<Size>,
    /// The rate never falls below it. Default 10M.
    pub(super) minimum: Field<Rate>,
}

/// `[roce.hpcc]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HpccTable {
    /// The utilization that is aimed at (eta). Default 0.95.
    pub(super) utilization: Field<f64>,
    /// Additive steps before a multiplicative one (`maxStage`). Default 5.
    pub(super) stages: Field<i64>,
    /// Additive increase in a round trip (`W_AI`). Default 80 bytes, for 100 Gb/s and 13 us.
    pub(super) additive: Field<Size>,
}

/// `[roce.swift]`: windows are in packets.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SwiftTable {
    /// The target delay of a path without switches. Default 25 us.
    pub(super) base_target: Field<Duration>,
    /// What a switch adds to the target. Default 2 us.
    pub(super) hop: Field<Duration>,
    /// What a small window adds at the most (`fs_range`). Default 100 us.
    pub(super) scaling_range: Field<Duration>,
    /// Windows below it add all of the range (`fs_min_cwnd`). Default 0.1.
    pub(super) scaling_least: Field<f64>,
    /// Windows above it add nothing (`fs_max_cwnd`). Default 100.
    pub(super) scaling_most: Field<f64>,
    /// Additive increase in a round trip (`ai`). Default 1.
    pub(super) additive: Field<f64>,
    /// Multiplicative decrease. Default 0.8.
    pub(super) beta: Field<f64>,
    /// What one decrease takes at the most (`max_mdf`). Default 0.5.
    pub(super) decrease_most: Field<f64>,
    /// The window's least (`min_cwnd`). Default 0.01.
    pub(super) least: Field<f64>,
    /// Losses without an acknowledgment that set the window to its least. Default 5.
    pub(super) reset_losses: Field<i64>,
}
