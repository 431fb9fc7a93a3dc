//! `[[port]]`.

use super::Field;
use crate::fields::{Cable, Mac, Network, Rate, Size, TagField, TapField, VidRange, VlanField};
use agents::lldp::AllowedPeer;
use dataplane::pipeline::classify::ClassifyBy;
use serde::Deserialize;
use toml::Spanned;

/// `[[port]]`: one port. With `addresses` it routes; with `vlan` or `vlans` and no addresses it
/// switches.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::switch) struct PortTable {
    /// How people and other tables name it. Default: its number.
    pub(in crate::switch) name: Field<String>,
    /// A DPDK virtual device and its arguments: `"net_tap0,iface=kt0"`. Excludes `pci`.
    pub(in crate::switch) device: Field<String>,
    /// A NIC's PCI address: `"0000:01:00.0"`. Excludes `device`.
    pub(in crate::switch) pci: Field<String>,
    /// Rate of the wire. Required with `pci`. A virtual device without it is not paced, and counts
    /// as `"1G"` if the kernel is at its other end (`net_tap`, `net_af_packet`, `net_af_xdp`), as
    /// `"10G"` if not.
    pub(in crate::switch) speed: Field<Rate>,
    /// Whether the switch holds the port to `speed`. Default: for a virtual device with a `speed`.
    pub(in crate::switch) pace: Option<bool>,
    /// Length of the cable. Default `"10m"`.
    pub(in crate::switch) cable_length: Field<Cable>,
    /// The longest packet, without the Ethernet header. Default 1500.
    pub(in crate::switch) mtu: Field<u64>,
    /// Default: locally administered, derived from the switch's name and the port's number.
    pub(in crate::switch) mac: Field<Mac>,
    /// The switch's own addresses here: the port routes.
    #[serde(default)]
    pub(in crate::switch) addresses: Vec<Spanned<Network>>,
    /// A routed port's only VLAN, tagged both ways; a switched port's access VLAN, untagged.
    pub(in crate::switch) vlan: Field<VlanField>,
    /// A trunk's VLANs, tagged: numbers and ranges such as `"100-199"`.
    pub(in crate::switch) vlans: Field<Vec<Spanned<VidRange>>>,
    /// A trunk's VLAN for untagged frames. Default: none, untagged frames are dropped.
    pub(in crate::switch) native: Field<VlanField>,
    /// Whether a lossless tag on an arriving frame is believed: true towards switches, false
    /// towards hosts. Default false.
    #[serde(default)]
    pub(in crate::switch) trusted: bool,
    /// Whether frames are dropped whose source belongs to another port. A switched port checks the
    /// MAC address: it is static elsewhere, or was heard there within `[mac_table] hold`. A routed
    /// port checks the IP address: the route back to it has to lead here (RFC 3704, strict; frames
    /// then take a slower path). Default false.
    #[serde(default)]
    pub(in crate::switch) source_check: bool,
    /// Whether the machine has the port as an interface, or the name of that: Linux allows 15
    /// bytes. Default: what `[host] taps` says, with the port's name.
    pub(in crate::switch) tap: Field<TapField>,
    /// What may be at the other end, as LLDP is to believe it: `"host"`, `"switch"` or `"any"`. A
    /// neighbor that claims to be something else is refused and reported. Default `"any"` where
    /// `trusted`, else `"host"`.
    pub(in crate::switch) peer: Field<AllowedPeer>,
    /// Which marking decides. Default `"dscp"`.
    pub(in crate::switch) classify: Option<ClassifyBy>,
    /// Tag of frames with no marking to go by. Default: the lossy tag.
    pub(in crate::switch) default_tag: Field<TagField>,
    /// Whether PFC is sent and obeyed here. Default true, if any priority is lossless.
    pub(in crate::switch) pfc: Field<bool>,
    /// Whether the watchdog looks after this port. Default true, if there is a `[watchdog]`.
    pub(in crate::switch) watchdog: Field<bool>,
    /// Headroom of each lossless priority here, instead of the priority's own or the computed one.
    pub(in crate::switch) headroom: Field<Size>,
    /// The worker that owns the port, from 0. Default: the ports go round the workers in turn.
    pub(in crate::switch) worker: Field<u64>,
    /// Receive queues, 1 to 16: the owner polls the first, and the other workers in turn the next
    /// ones. A NIC spreads flows over them (RSS). Default 1.
    pub(in crate::switch) queues: Field<u64>,
    /// One of so many frames received here is sampled for sFlow; 0 is none. Default: that of
    /// `[sflow]`.
    pub(in crate::switch) sample_rate: Field<u32>,
    /// Descriptors of each receive ring. Default 1024.
    pub(in crate::switch) rx_desc: Field<u64>,
    /// Descriptors of the transmit ring. Default 1024.
    pub(in crate::switch) tx_desc: Field<u64>,
    /// Bytes that may wait in the transmit ring, where a pause does not reach them. Default: what
    /// the wire takes in one `poll`, or two of the longest frames if that is more.
    pub(in crate::switch) tx_byte_limit: Field<Size>,
    /// Frames in the receive queue above which lossless priorities are paused. The drivers of taps,
    /// `net_af_packet` and `net_af_xdp` do not report them; frames of full bursts in a row count
    /// instead. Default: an eighth of a tap's queue; 256 for the other two, half of `rx_desc` if
    /// that is less; half of `rx_desc` for the rest.
    pub(in crate::switch) rx_backlog: Field<u64>,
}
