//! Where frames go: `[[route]]`, `[[neighbor]]`, `[mac_table]` and `[[static_mac]]`.

use super::Field;
use crate::fields::{Address, Duration, Mac, Network, VlanField};
use serde::Deserialize;
use toml::Spanned;

/// `[[route]]`: one static route.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::switch) struct RouteTable {
    /// The prefix: `"10.9.0.0/16"`, `"::/0"`.
    pub(in crate::switch) to: Spanned<Network>,
    /// Gateways in networks of the ports, of either IP version. Several share the traffic by flow
    /// (ECMP); one that stands there twice gets twice the flows.
    #[serde(default)]
    pub(in crate::switch) via: Vec<Spanned<Address>>,
    /// Drop what goes there. Excludes `via`.
    #[serde(default)]
    pub(in crate::switch) blackhole: bool,
    /// Name of the `[[tunnel]]` that frames enter. Excludes `via`.
    pub(in crate::switch) tunnel: Field<String>,
}

/// `[[neighbor]]`: an address that need not be asked for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::switch) struct NeighborTable {
    /// The neighbor's IP address.
    pub(in crate::switch) address: Spanned<Address>,
    /// Its MAC address.
    pub(in crate::switch) mac: Spanned<Mac>,
    /// Name of the port it is behind. Default: the port whose network holds the address.
    pub(in crate::switch) port: Field<String>,
}

/// `[mac_table]`: addresses learned on switched ports.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::switch) struct MacTableTable {
    /// Addresses kept. Default 16384.
    pub(in crate::switch) size: Field<u64>,
    /// How long an address stays after its last frame. Default `"300s"`.
    pub(in crate::switch) age: Field<Duration>,
    /// How long an address must have been silent on its port before it may move to another: a
    /// station that uses another's address then does not take its frames. Default `"0s"`: it moves
    /// at once.
    pub(in crate::switch) hold: Field<Duration>,
}

/// `[[static_mac]]`: a station on a bridged port. It is never flooded, does not age and does not
/// move.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::switch) struct StaticMacTable {
    /// Its MAC address.
    pub(in crate::switch) mac: Spanned<Mac>,
    /// Name of its port.
    pub(in crate::switch) port: Spanned<String>,
    /// Its VLAN. Default: the port's, if it has one only.
    pub(in crate::switch) vlan: Field<VlanField>,
}

/// `[routing]`: routes from a routing daemon, beside those of the files.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::switch) struct RoutingTable {
    /// `"ADDRESS:PORT"` where FRR's zebra connects with its module `dplane_fpm_nl`, which takes
    /// `"127.0.0.1:2620"` by default. Default: nothing listens.
    pub(in crate::switch) fpm: Field<String>,
    /// How long routes stay that zebra does not give again after it has connected. Default
    /// `"120s"`.
    pub(in crate::switch) stale_time: Field<Duration>,
}
