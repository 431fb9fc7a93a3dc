//! `[host]`: the ports as interfaces of the machine.

use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

/// `[host]`: a TAP for each port. The machine's kernel has an interface with the port's name, MAC
/// address and MTU, and its daemons (FRR, lldpd, sshd) speak by it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::switch) struct HostTable {
    /// Whether each port has a TAP, unless its own `tap` says otherwise. Default false.
    #[serde(default)]
    pub(in crate::switch) taps: bool,
    /// Rates of frames to the machine by class: `arp_nd`, `bgp`, `bfd`, `ospf`, `isis`, `lldp`,
    /// `icmp`, `local` (other IP to an address of the switch), `other` and `exception` (what the
    /// switch itself answers: TTL expired, no route).
    #[serde(default)]
    pub(in crate::switch) rates: BTreeMap<String, Spanned<RateTable>>,
}

/// `[host.rates.NAME]`: what each receive queue of each port may pass of one class. What is above
/// it is dropped, as `punt_policed`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::switch) struct RateTable {
    /// Frames per second; 0 is none at all.
    pub(in crate::switch) rate: u32,
    /// Frames at once. Default: a quarter of a second's.
    pub(in crate::switch) burst: Option<u32>,
}
