//! What the program runs on, how it is reached, and what it may do: `[workers]`, `[memory]`,
//! `[dpdk]`, `[control]`, `[metrics]`, `[flight_recorder]` and `[security]`.

use super::Field;
use crate::fields::{Duration, Size};
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
    /// The file that keeps what `ctl` and `apply` change, so that it outlives a reload and a
    /// restart. Default `/var/lib/knotless/NAME.changes.json`, or `SOCKET.changes.json` with a
    /// `socket`.
    pub(in crate::switch) changes: Field<PathBuf>,
    /// The group whose members may ask, and change nothing. Default: only the switch's own user
    /// and root can connect.
    pub(in crate::switch) read_group: Field<String>,
    /// The group whose members may also change the running switch and stop it. Default: only the
    /// switch's own user and root may.
    pub(in crate::switch) change_group: Field<String>,
}

/// What happens at a system call that a thread does not need.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Seccomp {
    /// The kernel ends the process.
    #[default]
    Kill,
    /// The kernel writes the call to the audit log and executes it: to see what a driver calls.
    Log,
    /// There are no filters.
    Off,
}

/// What happens to the capabilities that the process no longer needs once its ports are open.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Capabilities {
    /// They are given up for good.
    #[default]
    Drop,
    /// They stay.
    Keep,
}

/// `[security]`: what the process may still do once its ports are open.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::switch) struct SecurityTable {
    /// `"kill"` (default), `"log"` or `"off"`: a filter of system calls for each thread.
    #[serde(default)]
    pub(in crate::switch) seccomp: Seccomp,
    /// `"drop"` (default) or `"keep"`.
    #[serde(default)]
    pub(in crate::switch) capabilities: Capabilities,
}

/// `[metrics]`: where Prometheus reads the metrics by HTTP.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::switch) struct MetricsTable {
    /// `"ADDRESS:PORT"`, such as `"127.0.0.1:9477"`, or `"unix:PATH"`. Port 0 is any free one.
    /// Default: nothing listens.
    pub(in crate::switch) listen: Field<String>,
}

/// `[flight_recorder]`: the last events of the switch, which `knotless ctl recorder` shows.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::switch) struct FlightRecorderTable {
    /// The file that the events are appended to on a trigger, as JSON lines. At 16 MiB it becomes
    /// `FILE.1`. Default: none, and the events stay in memory.
    pub(in crate::switch) file: Field<PathBuf>,
    /// How long an event is kept: 1 s to 600 s. Default 30 s.
    pub(in crate::switch) duration: Field<Duration>,
    /// How often counters and queues are looked at: 10 ms to 10 s. Default 100 ms.
    pub(in crate::switch) sample: Field<Duration>,
    /// A queue that the peer has paused for longer is stalled: 10 ms to 600 s. Default 1 s.
    pub(in crate::switch) stall: Field<Duration>,
    /// What the file is written for: `"storm"`, `"lossless_drop"`, `"stall"`. Default: all three.
    pub(in crate::switch) triggers: Option<Vec<Spanned<String>>>,
}

/// `[dpdk]`: options of DPDK itself.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::switch) struct DpdkTable {
    /// Whether DPDK makes its telemetry socket, for `dpdk-telemetry.py`. Default: false.
    #[serde(default)]
    pub(in crate::switch) telemetry: bool,
}
