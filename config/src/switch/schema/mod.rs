//! SWITCH.toml, table by table, as it is written. What the tables mean together is worked out by
//! the other files of this directory; `config/examples/` shows them in use.
//!
//! Sizes are bytes (`9216`, `"64KB"` = 64,000, `"64KiB"` = 65,536), speeds bits per second
//! (`"40G"`), lengths metres (`"10m"`), times `"20us"`. A field that is not known is an error.
//! Paths are relative to the file. SONiC's words are used where it has one; its `xoff` is the
//! headroom, which is called `headroom` here. What a key was called before is in `old_words.rs`.

mod classes;
mod fleet;
mod forwarding;
mod host;
mod lldp;
mod port;
mod queueing;
mod runtime;
mod sflow;
mod tunnel;

pub(super) use classes::{InitialTagTable, QosMapTable, TagTable, TreeField, TtlTable};
pub(super) use fleet::FleetTable;
pub(super) use forwarding::{
    MacTableTable, NeighborTable, RouteTable, RoutingTable, StaticMacTable,
};
pub(super) use host::HostTable;
pub(super) use lldp::{FabricTable, LldpTable};
pub(super) use port::PortTable;
pub(super) use queueing::{
    BufferTable, EcnTable, GfcTable, HeadroomTable, InbandTelemetryTable, LosslessTable,
    SchedulerTable, ShaperTable, WatchdogTable, WredTable,
};
pub use runtime::{Capabilities, Hugepages, Idle, Seccomp};
pub(super) use runtime::{
    ControlTable, DpdkTable, FlightRecorderTable, MemoryTable, MetricsTable, SecurityTable,
    WorkersTable,
};
pub(super) use sflow::{AdminState, SflowTable};
pub(super) use tunnel::TunnelTable;

use crate::fields::Network;
use serde::Deserialize;
use std::path::PathBuf;
use toml::Spanned;

/// An optional field that knows where it stands.
pub(in crate::switch) type Field<T> = Option<Spanned<T>>;

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::switch) struct SwitchFile {
    /// The switch's name: letters, digits, `-`, `_` and `.`, at most 63. The rule file must name
    /// it.
    pub(in crate::switch) name: Spanned<String>,
    /// Salt of the flow hash and seed of the chance in `[[ecn]]` and `[[wred]]`. Default: derived
    /// from the name.
    pub(in crate::switch) seed: Option<u64>,
    /// The rule file (JSON). Without it tags never change.
    pub(in crate::switch) rules: Field<PathBuf>,
    /// A file of routes, one `PREFIX via ADDRESS [ADDRESS ...]`, `PREFIX blackhole` or
    /// `PREFIX tunnel NAME` a line.
    pub(in crate::switch) routes: Field<PathBuf>,
    /// The shared buffer.
    #[serde(default)]
    pub(in crate::switch) buffer: BufferTable,
    /// What the default headroom allows for.
    #[serde(default)]
    pub(in crate::switch) headroom: HeadroomTable,
    /// The lossless priorities. None: the whole switch is lossy.
    #[serde(default)]
    pub(in crate::switch) lossless: Vec<Spanned<LosslessTable>>,
    /// How tags, DSCPs, PCPs and priorities belong together.
    #[serde(default)]
    pub(in crate::switch) tag: Vec<Spanned<TagTable>>,
    /// Which markings select which application class at untrusted ports.
    #[serde(default)]
    pub(in crate::switch) initial_tag: Vec<Spanned<InitialTagTable>>,
    /// Priorities of tags by port, where VIQ and VEQ differ or ports do.
    #[serde(default)]
    pub(in crate::switch) qos_map: Vec<Spanned<QosMapTable>>,
    /// The ports, numbered from 1 in this order.
    #[serde(default)]
    pub(in crate::switch) port: Vec<Spanned<PortTable>>,
    /// Static routes.
    #[serde(default)]
    pub(in crate::switch) route: Vec<Spanned<RouteTable>>,
    /// Addresses of the switch that are on no port, each a /32 or /128 (SONiC: LOOPBACK_INTERFACE).
    #[serde(default)]
    pub(in crate::switch) loopback: Vec<Spanned<Network>>,
    /// IP-in-IP tunnels.
    #[serde(default)]
    pub(in crate::switch) tunnel: Vec<Spanned<TunnelTable>>,
    /// Static neighbors, of IPv4 and IPv6 alike.
    #[serde(default)]
    pub(in crate::switch) neighbor: Vec<Spanned<NeighborTable>>,
    /// Stations on bridged ports that need not be learned, and do not move.
    #[serde(default)]
    pub(in crate::switch) static_mac: Vec<Spanned<StaticMacTable>>,
    /// Classes by hops instead of by rules.
    pub(in crate::switch) ttl: Field<TtlTable>,
    /// Gentle flow control.
    pub(in crate::switch) gfc: Field<GfcTable>,
    /// The PFC watchdog.
    pub(in crate::switch) watchdog: Field<WatchdogTable>,
    /// How a port chooses among priorities.
    #[serde(default)]
    pub(in crate::switch) scheduler: SchedulerTable,
    /// Peak rates of queues, a table for each that has one.
    #[serde(default)]
    pub(in crate::switch) shaper: Vec<Spanned<ShaperTable>>,
    /// ECN marking, a table for each priority that marks.
    #[serde(default)]
    pub(in crate::switch) ecn: Vec<Spanned<EcnTable>>,
    /// Early drops of lossy frames, a table for each priority that drops so.
    #[serde(default)]
    pub(in crate::switch) wred: Vec<Spanned<WredTable>>,
    /// In-band telemetry of packets that have room for it.
    pub(in crate::switch) inband_telemetry: Field<InbandTelemetryTable>,
    /// The cores.
    #[serde(default)]
    pub(in crate::switch) workers: WorkersTable,
    /// The memory.
    #[serde(default)]
    pub(in crate::switch) memory: MemoryTable,
    /// The control socket.
    #[serde(default)]
    pub(in crate::switch) control: ControlTable,
    /// What the process may still do once its ports are open.
    #[serde(default)]
    pub(in crate::switch) security: SecurityTable,
    /// The metrics by HTTP.
    #[serde(default)]
    pub(in crate::switch) metrics: MetricsTable,
    /// Where a routing daemon gives its routes.
    #[serde(default)]
    pub(in crate::switch) routing: RoutingTable,
    /// The store that the switch takes its rules from. Default: none.
    pub(in crate::switch) fleet: Field<FleetTable>,
    /// What is kept of the last events.
    #[serde(default)]
    pub(in crate::switch) flight_recorder: FlightRecorderTable,
    /// Samples of frames, counters and drops. Default: none.
    pub(in crate::switch) sflow: Field<SflowTable>,
    /// DPDK itself.
    #[serde(default)]
    pub(in crate::switch) dpdk: DpdkTable,
    /// The ports as interfaces of the machine.
    #[serde(default)]
    pub(in crate::switch) host: HostTable,
    /// Learned MAC addresses.
    #[serde(default)]
    pub(in crate::switch) mac_table: MacTableTable,
    /// Who the switch is, said to its neighbors. Default: nothing is said, unless there is a
    /// `[fabric]`.
    pub(in crate::switch) lldp: Field<LldpTable>,
    /// The switch learns its level and writes its own rules; excludes `rules`.
    pub(in crate::switch) fabric: Field<FabricTable>,
}
