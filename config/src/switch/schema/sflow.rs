//! `[sflow]`.

use super::Field;
use crate::fields::Duration;
use serde::Deserialize;
use toml::Spanned;

/// Whether sFlow is exported.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(in crate::switch) enum AdminState {
    /// It is.
    #[default]
    Up,
    /// It is not.
    Down,
}

/// `[sflow]`: samples of frames, of counters and of dropped frames, to collectors of sFlow.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::switch) struct SflowTable {
    /// `"up"` (default) or `"down"`: nothing is sampled.
    #[serde(default)]
    pub(in crate::switch) admin_state: AdminState,
    /// Where samples are sent by UDP, up to eight: `"ADDRESS"` or `"ADDRESS:PORT"`, of IPv6
    /// `"[ADDRESS]:PORT"`. Default port 6343.
    pub(in crate::switch) collectors: Spanned<Vec<Spanned<String>>>,
    /// What collectors know the switch by: an IP address, or the name of a port, whose first
    /// address it is. Default: the first address of all ports.
    pub(in crate::switch) agent_id: Field<String>,
    /// The address that the datagrams come from, one of the machine's. Default: as the machine
    /// routes them.
    pub(in crate::switch) source: Field<String>,
    /// One of so many received frames is sampled, 1 to 16,777,216; 0 is none. Default 1000.
    pub(in crate::switch) sample_rate: Field<u32>,
    /// How often the counters of each port are sent: 1 s to 1 h, or `"0s"`: never. Default
    /// `"20s"`.
    pub(in crate::switch) polling_interval: Field<Duration>,
    /// Dropped frames that are reported in a second, at most: 0 (none) to 10,000. Default 500.
    pub(in crate::switch) drop_monitor_limit: Field<u32>,
    /// Bytes of a frame in its sample: 64 to 256. Default 128.
    pub(in crate::switch) header_bytes: Field<u16>,
}
