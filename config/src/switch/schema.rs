//! SWITCH.toml, table by table, as it is written. What the tables mean together is worked out by
//! the other files of this directory; `config/examples/` shows them in use.
//!
//! Sizes are bytes (`9216`, `"64KB"` = 64,000, `"64KiB"` = 65,536), speeds bits per second
//! (`"40G"`), lengths metres (`"10m"`), times `"20us"`. A field that is not known is an error.
//! Paths are relative to the file. SONiC's words are used where it has one; note that its `xoff` is
//! the headroom, which has its own field here, while `xoff` here is the threshold (SONiC
//! `static_th`).

use crate::fields::{
    Address, Cable, Dscp, Duration, Mac, Network, Pcp, PriorityField, Rate, Size, TagField,
    VidRange, VlanField,
};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use toml::Spanned;

/// An optional field that knows where it stands.
pub type Field<T> = Option<Spanned<T>>;

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchFile {
    /// The switch's name: letters, digits, `-`, `_` and `.`, at most 63. The rule file must name
    /// it.
    pub name: Spanned<String>,
    /// Salt of the flow hash and seed of random ECN marking. Default: derived from the name.
    pub seed: Option<u64>,
    /// The rule file (JSON). Without it tags never change.
    pub rules: Field<PathBuf>,
    /// A file of routes, one `PREFIX via ADDRESS [ADDRESS ...]` or `PREFIX blackhole` a line.
    pub routes: Field<PathBuf>,
    /// The shared buffer.
    #[serde(default)]
    pub buffer: BufferTable,
    /// What the default headroom allows for.
    #[serde(default)]
    pub headroom: HeadroomTable,
    /// The lossless priorities. None: the whole switch is lossy.
    #[serde(default)]
    pub lossless: Vec<Spanned<LosslessTable>>,
    /// How tags, DSCPs, PCPs and priorities belong together.
    #[serde(default)]
    pub tag: Vec<Spanned<TagTable>>,
    /// The ports, numbered from 1 in this order.
    #[serde(default)]
    pub port: Vec<Spanned<PortTable>>,
    /// Static routes.
    #[serde(default)]
    pub route: Vec<Spanned<RouteTable>>,
    /// Static neighbors, of IPv4 and IPv6 alike.
    #[serde(default)]
    pub neighbor: Vec<Spanned<NeighborTable>>,
    /// Classes by hops instead of by rules.
    pub ttl: Field<TtlTable>,
    /// Gentle flow control.
    pub gfc: Field<GfcTable>,
    /// The PFC watchdog.
    pub watchdog: Field<WatchdogTable>,
    /// How a port chooses among priorities.
    #[serde(default)]
    pub scheduler: SchedulerTable,
    /// ECN marking, a table for each priority that marks.
    #[serde(default)]
    pub ecn: Vec<Spanned<EcnTable>>,
    /// The cores.
    #[serde(default)]
    pub workers: WorkersTable,
    /// The memory.
    #[serde(default)]
    pub memory: MemoryTable,
    /// The control socket.
    #[serde(default)]
    pub control: ControlTable,
    /// Learned MAC addresses.
    #[serde(default)]
    pub mac_table: MacTableTable,
    /// Who the switch is, said to its neighbors. Default: nothing is said, unless there is a
    /// `[fabric]`.
    pub lldp: Field<LldpTable>,
    /// The switch learns its level and writes its own rules; excludes `rules`.
    pub fabric: Field<FabricTable>,
}

/// `[buffer]`: the shared buffer.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BufferTable {
    /// Everything the buffer holds. Default `"12MB"`, or twice what reserves and headrooms take,
    /// where that is more.
    pub size: Field<Size>,
    /// What a frame costs at the least: 64 to 2048 bytes. A smaller cell lets the buffer hold more
    /// short frames and needs more memory, 2,432 bytes for each cell of `size`. Default 256.
    pub cell: Field<Size>,
    /// What all lossy frames together may hold. Default a quarter of `size`, and all of it if
    /// nothing is lossless.
    pub lossy: Field<Size>,
    /// What one lossy queue of a port may hold. Default `"512KB"`, or `lossy` if that is less.
    pub lossy_queue: Field<Size>,
}

/// `[headroom]`: what the default headroom adds to IEEE 802.3's for software at both ends.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeadroomTable {
    /// The longest time between two polls of a port. Default `"20us"`; behind a device of the
    /// kernel (`net_tap`, `net_af_packet`, `net_af_xdp`), where both ends share the machine's
    /// cores, `"10ms"`. `knotless top` shows the real one.
    pub poll: Field<Duration>,
    /// The same of the neighbor's switch. Default: as `poll`. `"0us"` if all neighbors are NICs
    /// or hardware switches.
    pub peer_poll: Field<Duration>,
    /// Bytes the neighbor can no longer hold back when it sees a pause. Default: as the port's own
    /// `tx_limit`. 0 if all neighbors are NICs or hardware switches.
    pub peer_tx_limit: Field<Size>,
}

/// `[[lossless]]`: one lossless priority, on every port with `pfc`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LosslessTable {
    /// 0 to 7.
    pub priority: Spanned<PriorityField>,
    /// Bytes set aside for each port, used first. Default and least: two and one of the port's
    /// longest frames.
    pub size: Field<Size>,
    /// Static threshold: XOFF is due at this many bytes, `size` included. Excludes `dynamic_th`.
    pub xoff: Field<Size>,
    /// Dynamic threshold: XOFF is due at `size` plus `2^dynamic_th` times what is free in the
    /// shared pool; -8 to 8. Default 0, unless `xoff` is given.
    pub dynamic_th: Field<i64>,
    /// XON is due at or below this; only with `xoff`. Excludes `xon_offset`.
    pub xon: Field<Size>,
    /// XON is due this far below the threshold. Default and least: two of the port's longest
    /// frames.
    pub xon_offset: Field<Size>,
    /// Bytes for what arrives after XOFF. Default: computed for each port, see
    /// [`headroom`](crate::headroom).
    pub headroom: Field<Size>,
}

/// `[[tag]]`: one tag. With no `[[tag]]` at all, a tag travels in the DSCP of its number and the
/// PCP of its priority; priorities come from the rule file or, without one, tag p has the lossless
/// priority p.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TagTable {
    /// 0 to 63.
    pub tag: Spanned<TagField>,
    /// The DSCP that carries it. Default: the tag's number.
    pub dscp: Field<Dscp>,
    /// The PCP that carries it. Default: its priority, if that is lossless; the DSCP's upper three
    /// bits otherwise.
    pub pcp: Field<Pcp>,
    /// Its priority. Default: what the rule file says; a lossy one if it says nothing.
    pub priority: Field<PriorityField>,
}

/// Which marking of a frame decides its class.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum ClassifyField {
    /// The DSCP; for frames that are not IP the PCP.
    Dscp,
    /// The PCP.
    Pcp,
    /// The port's `default_tag`.
    Port,
}

/// `[[port]]`: one port. With `addresses` it routes; with `vlan` or `vlans` and no addresses it
/// switches.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortTable {
    /// How people and other tables name it. Default: its number.
    pub name: Field<String>,
    /// A DPDK virtual device and its arguments: `"net_tap0,iface=kt0"`. Excludes `pci`.
    pub device: Field<String>,
    /// A NIC's PCI address: `"0000:01:00.0"`. Excludes `device`.
    pub pci: Field<String>,
    /// Rate of the wire. Required with `pci`. A virtual device without it counts as `"10G"`,
    /// unpaced.
    pub speed: Field<Rate>,
    /// Whether the switch holds the port to `speed`. Default: for a virtual device with a `speed`.
    pub pace: Option<bool>,
    /// Length of the cable. Default `"10m"`.
    pub length: Field<Cable>,
    /// The longest packet, without the Ethernet header. Default 1500.
    pub mtu: Field<u64>,
    /// Default: locally administered, derived from the switch's name and the port's number.
    pub mac: Field<Mac>,
    /// The switch's own addresses here: the port routes.
    #[serde(default)]
    pub addresses: Vec<Spanned<Network>>,
    /// A routed port's only VLAN, tagged both ways; a switched port's access VLAN, untagged.
    pub vlan: Field<VlanField>,
    /// A trunk's VLANs, tagged: numbers and ranges such as `"100-199"`.
    pub vlans: Field<Vec<Spanned<VidRange>>>,
    /// A trunk's VLAN for untagged frames. Default: none, untagged frames are dropped.
    pub native: Field<VlanField>,
    /// Whether a lossless tag on an arriving frame is believed: true towards switches, false
    /// towards hosts. Default false.
    #[serde(default)]
    pub trusted: bool,
    /// What may be at the other end, as LLDP is to believe it: `"host"`, `"switch"` or `"any"`. A
    /// neighbor that claims to be something else is refused and reported. Default `"any"` where
    /// `trusted`, else `"host"`.
    pub faces: Field<FacesField>,
    /// Which marking decides. Default `"dscp"`.
    pub classify: Option<ClassifyField>,
    /// Tag of frames with no marking to go by. Default: the lossy tag.
    pub default_tag: Field<TagField>,
    /// Whether PFC is sent and obeyed here. Default true, if any priority is lossless.
    pub pfc: Field<bool>,
    /// Whether the watchdog looks after this port. Default true, if there is a `[watchdog]`.
    pub watchdog: Field<bool>,
    /// Headroom of each lossless priority here, instead of the priority's own or the computed one.
    pub headroom: Field<Size>,
    /// The worker that owns the port, from 0. Default: the ports go round the workers in turn.
    pub worker: Field<u64>,
    /// Descriptors of the receive ring. Default 1024.
    pub rx_ring: Field<u64>,
    /// Descriptors of the transmit ring. Default 1024.
    pub tx_ring: Field<u64>,
    /// Bytes that may wait in the transmit ring, where a pause does not reach them. Default: what
    /// the wire takes in one `poll`, or two of the longest frames if that is more.
    pub tx_limit: Field<Size>,
    /// Frames in the receive ring above which lossless priorities are paused. Default: half of
    /// `rx_ring`.
    pub rx_backlog: Field<u64>,
}

/// `[[route]]`: one static route.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouteTable {
    /// The prefix: `"10.9.0.0/16"`, `"::/0"`.
    pub to: Spanned<Network>,
    /// Gateways in networks of the ports, of either IP version. Several share the traffic by flow
    /// (ECMP); one that stands there twice gets twice the flows.
    #[serde(default)]
    pub via: Vec<Spanned<Address>>,
    /// Drop what goes there. Excludes `via`.
    #[serde(default)]
    pub blackhole: bool,
}

/// `[[neighbor]]`: an address that need not be asked for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NeighborTable {
    /// The neighbor's IP address.
    pub address: Spanned<Address>,
    /// Its MAC address.
    pub mac: Spanned<Mac>,
    /// Name of the port it is behind. Default: the port whose network holds the address.
    pub port: Field<String>,
}

/// `[ttl]`: lossless frames go by the hops they have made. A frame's class is `start` less the TTL
/// it leaves with, so hosts are class 0 and the first switch has class 1; the marking only says
/// that it is lossless.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TtlTable {
    /// The TTL that lossless frames start with. Default 64.
    pub start: Field<u64>,
    /// The priority of each class, from class 0, that of the sending hosts, on: `[0, 1, 2, 3]`.
    pub classes: Spanned<Vec<Spanned<PriorityField>>>,
    /// Links of the longest path in the network: there must be as many classes.
    pub hops: Field<u64>,
    /// On a tree consecutive classes never meet in one switch: it needs buffer for `"odd"` classes
    /// only (switches with hosts, and every second level above), or for `"even"` ones. Default: for
    /// all.
    pub tree: Option<TreeField>,
}

/// Which classes come to a switch of a tree.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum TreeField {
    /// Classes 1, 3, 5 and 7.
    Odd,
    /// Classes 2, 4 and 6.
    Even,
}

/// `[gfc]`: upstream is slowed down before it must be stopped. Needs a static `xoff` for each
/// lossless priority, and neighbors that know it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GfcTable {
    /// Where a lossless queue begins to slow its upstream down (`B1`). Default: as late as the
    /// bound allows, 2 C tau and a frame below `xoff`.
    pub start: Field<Size>,
}

/// `[watchdog]`: what is done about a peer that pauses without end.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WatchdogTable {
    /// A pause without a break of this length is a storm: 1 ms to 5 s. Default `"200ms"`.
    pub detection_time: Field<Duration>,
    /// So long without being paused, and it is over: 1 ms to 60 s. Default `"400ms"`.
    pub restoration_time: Field<Duration>,
    /// `"drop"` (default), `"forward"` or `"alert"`.
    pub action: Field<String>,
}

/// `[scheduler]`: deficit round robin, with strict priorities ahead of it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SchedulerTable {
    /// Bytes a round for a weight of 1. Default: the longest frame of any port.
    pub quantum: Field<Size>,
    /// Weight of each priority, 1 to 255: `{ 0 = 1, 3 = 4 }`. Default 1 each.
    #[serde(default)]
    pub weights: BTreeMap<String, Spanned<u64>>,
    /// Whether a queue serves ingress ports in turn, byte for byte, instead of frames in the order
    /// in which they came. Default true: else a sender that ignores PFC takes what those who obey
    /// it leave. `[gfc]` needs it, as a cycle of queues that serve frames as they come slows itself
    /// down ever more.
    pub fair: Option<bool>,
    /// Priorities served before all others, the highest first.
    #[serde(default)]
    pub strict: Vec<Spanned<PriorityField>>,
}

/// `[[ecn]]`: marking of one priority by the depth of its egress queue.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EcnTable {
    /// 0 to 7.
    pub priority: Spanned<PriorityField>,
    /// Below this nothing is marked.
    pub kmin: Spanned<Size>,
    /// Above this everything is marked.
    pub kmax: Spanned<Size>,
    /// Probability at `kmax`, above 0 and up to 1. Default 0.05.
    pub pmax: Field<f64>,
}

/// How a worker without work spends its time.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Idle {
    /// It polls on: least delay, a whole core.
    #[default]
    Busy,
    /// It sleeps a little: for demonstrations and shared machines.
    Sleep,
}

/// `[workers]`: the cores.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkersTable {
    /// CPUs to pin the workers to, one each. Excludes `count`.
    pub cores: Field<Vec<Spanned<u64>>>,
    /// Number of workers, not pinned. Default 1.
    pub count: Field<u64>,
    /// `"busy"` (default) or `"sleep"`.
    #[serde(default)]
    pub idle: Idle,
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
pub struct MemoryTable {
    /// `"auto"` (default), `"always"` or `"never"`.
    #[serde(default)]
    pub hugepages: Hugepages,
    /// Default: what the buffer, the rings and DPDK itself need.
    pub size: Field<Size>,
}

/// `[control]`: how a running switch is reached.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControlTable {
    /// Path of the socket. Default `/run/knotless/NAME.sock`.
    pub socket: Field<PathBuf>,
}

/// `[mac_table]`: addresses learned on switched ports.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MacTableTable {
    /// Addresses kept. Default 16384.
    pub size: Field<u64>,
    /// How long an address stays after its last frame. Default `"300s"`.
    pub age: Field<Duration>,
}

/// `[lldp]`: IEEE 802.1AB on every port.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LldpTable {
    /// Default true: the table is there.
    #[serde(default = "yes")]
    pub enable: bool,
    /// Time between two frames while nothing happens, `"1s"` to `"3600s"`. Default `"30s"`.
    pub interval: Field<Duration>,
    /// Intervals that what is said holds, 2 to 10. Default 4.
    pub hold: Field<u64>,
    /// How levels are said. Either form is understood.
    #[serde(default)]
    pub profile: ProfileField,
}

const fn yes() -> bool {
    true
}

/// How levels are said.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum ProfileField {
    /// The Topology Recognition TLV of IEEE 802.1Qcz-2023.
    #[default]
    Standard,
    /// As in the slides of 2019 that it came from, under an OUI of its own.
    Slides,
}

/// What may be at the other end of a port.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum FacesField {
    /// A host or a switch.
    Any,
    /// A host.
    Host,
    /// A switch.
    Switch,
}

/// `[fabric]`: a Clos network that configures itself. The switch learns by LLDP how far it is from
/// the hosts and which ports lead up; a frame that came down and would go up moves to the next tag.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FabricTable {
    /// 1 for switches with hosts, 2 for those above them, and so on. Default: learned.
    pub level: Field<u64>,
    /// How often a frame may turn up again and stay lossless. Default 1: tags 1 and 2, in the
    /// priorities 1 and 2 if no `[[tag]]` says otherwise.
    pub bounces: Field<u64>,
}
