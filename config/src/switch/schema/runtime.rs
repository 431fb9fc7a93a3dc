//! What the program runs on and how it is reached: `[workers]`, `[memory]`, `[dpdk]`, `[control]`
//! and `[metrics]`.

use super::Field;
use crate::fields::Size;
use crate::switch::rx_queue::IDLE_SLEEP_NS_MAX;
use serde::Deserialize;
use std::path::PathBuf;
use toml::Spanned;

/// How a worker without work spends its time.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Idle {
    /// It polls on: least delay, a whole core.
    #[default]
    Poll,
    /// It sleeps for 50 us, and for up to 1 ms while no frame comes: for demonstrations and shared
    /// machines.
    Sleep,
}

/// `[workers]`: the cores.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::switch) struct WorkersTable {
    /// CPUs to pin the workers to, one each. Excludes `count`.
    pub(in crate::switch) cores: Field<Vec<Spanned<u64>>>,
    /// Number of workers, not pinned. Default 1.
    pub(in crate::switch) count: Field<u64>,
    /// `"poll"` (default) or `"sleep"`.
    #[serde(default)]
    pub(in crate::switch) idle: Idle,
}

impl WorkersTable {
    /// How long an idle worker may sleep, in nanoseconds.
    pub(in crate::switch) fn idle_gap_ns(&self) -> u64 {
        if self.idle == Idle::Sleep { IDLE_SLEEP_NS_MAX } else { 0 }
    }
}

/// Whether memory comes from hugepages.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Hugepages {
    /// If the machine has enough of them.
    #[default]
    Auto,
    /// Or the switch does not start.
    Always,
    /// Ordinary pages.
    Never,
}

/// `[memory]`: what DPDK is given.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::switch) struct MemoryTable {
    /// `"auto"` (default), `"always"` or `"never"`.
    #[serde(default)]
    pub(in crate::switch) hugepages: Hugepages,
    /// Default: what the buffer, the rings and DPDK itself need.
    pub(in crate::switch) size: Field<Size>,
}

/// `[control]`: how a running switch is reached.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::switch) struct ControlTable {
    /// Path of the socket. Default `/run/knotless/NAME.sock`.
    pub(in crate::switch) socket: Field<PathBuf>,
}

/// `[metrics]`: where Prometheus reads the metrics by HTTP.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::switch) struct MetricsTable {
    /// `"ADDRESS:PORT"`, such as `"127.0.0.1:9477"`, or `"unix:PATH"`. Port 0 is any free one.
    /// Default: nothing listens.
    pub(in crate::switch) listen: Field<String>,
}

/// `[dpdk]`: options of DPDK itself.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::switch) struct DpdkTable {
    /// Whether DPDK makes its telemetry socket, for `dpdk-telemetry.py`. Default: false.
    #[serde(default)]
    pub(in crate::switch) telemetry: bool,
}
