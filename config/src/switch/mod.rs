//! One switch: SWITCH.toml and what follows from it.
//!
//! `schema` is the file as it is written, table by table. The other files of this directory each
//! turn some of the tables into what the dataplane and the program need, and check what those
//! tables promise together. `config/examples/` shows every field in use.

mod buffer;
mod changes;
mod depth_curves;
mod device;
mod fleet;
mod flight_recorder;
mod gfc;
mod headroom_pool;
mod host;
mod inband_telemetry;
mod initial_tags;
mod lldp;
mod lossless;
mod metrics;
mod mode;
mod old_words;
mod port_draft;
mod ports;
mod qos_map;
mod reload;
mod routes;
mod routing;
mod runtime;
mod rx_queue;
mod scheduler;
mod schema;
mod sflow;
mod shaper;
mod static_macs;
mod tables;
mod tag_map;
mod tags;
mod ttl;
mod tunnels;
mod viq;
mod watchdog;

pub(crate) use buffer::{SIZE_DEFAULT, SIZE_MAX, SIZE_MIN};
pub use changes::Changes;
pub use fleet::{Fleet, is_network_name};
pub use flight_recorder::{FlightRecorder, Trigger};
pub use lldp::Lldp;
pub use metrics::MetricsAddress;
pub(crate) use qos_map::priorities;
pub use reload::changes_needing_restart;
pub use routing::Fpm;
pub use rx_queue::{DeviceKind, IDLE_SLEEP_NS_MAX, PACKET_FRAMES_DEFAULT};
pub use schema::{Capabilities, Hugepages, Idle, Seccomp};
pub use sflow::Sflow;
pub use tables::TablesError;
pub use watchdog::action as watchdog_action;

use crate::error::ConfigError;
use crate::file_kind::FileKind;
use crate::names::is_name;
use crate::rule_file;
use crate::source::Source;
use crate::units::Length;
use dataplane::fib::Route;
use dataplane::ids::PortId;
use dataplane::pipeline::classify::{PortTrust, TagMap};
use dataplane::qos_map::QosMap;
use dataplane::settings::SwitchSettings;
use dataplane::snapshot::{PortMode, StaticMac};
use dataplane::tunnel::Tunnel;
use dataplane::wire::MacAddress;
use fabric::RuleSet;
use ipnet::IpNet;
use schema::SwitchFile;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml::Spanned;

/// A switch, read and checked.
#[derive(Clone, Debug)]
pub struct SwitchConfig {
    /// Its name.
    pub name: String,
    /// What the dataplane is built with.
    pub settings: SwitchSettings,
    /// Tags, markings and priorities.
    pub tag_map: TagMap,
    /// The ports; a port's index is its [`PortId`].
    pub ports: Vec<PortConfig>,
    /// Static routes: those of the tables, then those of the route file. Connected networks are not
    /// among them.
    pub routes: Vec<StaticRoute>,
    /// Addresses of the switch that are on no port.
    pub loopback: Vec<IpAddr>,
    /// IP-in-IP tunnels; a tunnel's index is its [`TunnelId`](dataplane::tunnel::TunnelId).
    pub tunnels: Vec<TunnelConfig>,
    /// Static neighbors.
    pub neighbors: Vec<Neighbor>,
    /// Stations put on bridged ports.
    pub static_macs: Vec<StaticMac>,
    /// The rules; without them tags never change.
    pub rules: Option<RuleSet>,
    /// The rule file, if there is one.
    pub rules_file: Option<PathBuf>,
    /// The route file, if there is one.
    pub routes_file: Option<PathBuf>,
    /// LLDP, if it is spoken, and what is learned by it.
    pub lldp: Option<Lldp>,
    /// The cores.
    pub workers: Workers,
    /// The memory.
    pub memory: Memory,
    /// The control socket.
    pub socket: PathBuf,
    /// Who may connect to it, beside root and the switch's own user.
    pub control_groups: ControlGroups,
    /// The file that keeps what is changed while the switch runs.
    pub changes_file: PathBuf,
    /// What the process may still do once its ports are open.
    pub security: Security,
    /// Where the metrics are served, if they are.
    pub metrics: Option<MetricsAddress>,
    /// Where a routing daemon gives its routes, if it does.
    pub fpm: Option<Fpm>,
    /// The store that the switch takes its rules from, if there is one.
    pub fleet: Option<Fleet>,
    /// What is kept of the last events, and when it is written down.
    pub flight_recorder: FlightRecorder,
    /// What is sampled for sFlow, and who gets it, if anybody does.
    pub sflow: Option<Sflow>,
    /// Whether DPDK makes its telemetry socket.
    pub telemetry: bool,
    /// What works but is probably not meant, in the form of errors.
    pub warnings: Vec<ConfigError>,
    /// SWITCH.toml itself, to apply other rules and routes to.
    source: Source,
}

/// An IP-in-IP tunnel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TunnelConfig {
    /// Its name.
    pub name: String,
    /// Its ends, and how frames go through it.
    pub tunnel: Tunnel,
}

/// What the program needs to know of a port, beside its
/// [`PortSettings`](dataplane::settings::PortSettings).
#[derive(Clone, Debug)]
pub struct PortConfig {
    /// Its place in all lists.
    pub id: PortId,
    /// Its name; the number if the file gives none.
    pub name: String,
    /// What DPDK opens.
    pub device: Device,
    /// The switch's own addresses here, each with its network; none on a bridged port.
    pub addresses: Vec<IpNet>,
    /// Routed or bridged.
    pub mode: PortMode,
    /// Its part in classification.
    pub trust: PortTrust,
    /// The priorities of tags here; `None`: those of the switch's tags.
    pub qos_map: Option<Arc<QosMap>>,
    /// Whether frames whose source belongs to another port are dropped.
    pub checks_source: bool,
    /// The longest packet, without the Ethernet header.
    pub mtu: u16,
    /// Length of the cable.
    pub length: Length,
    /// Receive queues.
    pub queues: u16,
    /// Descriptors of each receive ring.
    pub rx_ring: u32,
    /// Frames that the kernel's queue of a tap is to hold; `None` for other devices.
    pub rx_queue_frames: Option<u32>,
    /// Descriptors of the transmit ring.
    pub tx_ring: u32,
    /// Bytes that may wait in the transmit ring, where a pause does not reach them.
    pub tx_limit_bytes: u64,
    /// The interface that the machine has for the port, if it has one.
    pub tap: Option<String>,
    /// What is promised to lossless traffic that comes in here; `None` where nothing is lossless.
    pub promise: Option<Promise>,
}

impl PortConfig {
    /// Descriptors of all receive rings: each holds a buffer.
    pub fn rx_ring_frames(&self) -> usize {
        usize::from(self.queues) * self.rx_ring as usize
    }
}

/// What a port's configuration promises to senders that obey PFC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promise {
    /// How long the worker may be away from the port.
    pub poll_gap_ns: u64,
    /// How long the peer may take to hear a pause, beyond what IEEE 802.3 allows; 0 for hardware.
    pub peer_gap_ns: u64,
    /// Why frames can be lost within that; `None` if none can.
    pub broken: Option<String>,
}

/// What DPDK opens for a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Device {
    /// A virtual device with its arguments, as `--vdev` takes it.
    Virtual(String),
    /// A PCI address, as `--allow` takes it, with its domain, in lower case.
    Pci(String),
}

impl Device {
    /// What tells devices apart: the name without arguments, or the PCI address.
    pub fn key(&self) -> &str {
        match self {
            Self::Virtual(text) => text.split(',').next().unwrap_or_default(),
            Self::Pci(address) => address,
        }
    }

    /// All of it, as the file has it.
    pub fn text(&self) -> &str {
        let (Self::Virtual(text) | Self::Pci(text)) = self;
        text
    }
}

/// A static route: its prefix, without bits beyond its length, and where it leads.
pub(crate) type StaticRoute = (IpNet, Route);

/// A neighbor that need not be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbor {
    /// Its IP address.
    pub address: IpAddr,
    /// Its MAC address.
    pub mac: MacAddress,
    /// The routed port it is behind.
    pub port: PortId,
}

/// The worker threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workers {
    /// How many, 1 to [`WORKERS_MAX`](dataplane::limits::WORKERS_MAX).
    pub count: usize,
    /// The CPU of each; empty if they are not pinned.
    pub cores: Vec<usize>,
    /// What they do without work.
    pub idle: Idle,
}

/// The groups whose members may connect to the control socket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlGroups {
    /// They may ask, and change nothing.
    pub read: Option<String>,
    /// They may do everything.
    pub change: Option<String>,
}

/// What the process may still do once its ports are open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Security {
    /// Filters of system calls.
    pub seccomp: Seccomp,
    /// What happens to the capabilities that are no longer needed.
    pub capabilities: Capabilities,
}

/// What DPDK is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Whether from hugepages.
    pub hugepages: Hugepages,
    /// All of it.
    pub size_bytes: u64,
    /// Mbufs: the buffer's frames, the devices' rings full, and what the workers hold.
    pub mbufs: usize,
    /// Data room of an mbuf, without DPDK's room in front.
    pub mbuf_data_bytes: usize,
}

impl SwitchConfig {
    /// The longest time that a worker may be away from its ports by what every port promises;
    /// `None` where nothing is lossless.
    pub fn poll_gap_allowed_ns(&self) -> Option<u64> {
        let promises = self.ports.iter().filter_map(|port| port.promise.as_ref());
        promises.map(|promise| promise.poll_gap_ns).min()
    }

    /// Reads and checks SWITCH.toml and the files it names.
    ///
    /// # Errors
    /// The first thing that is wrong in any of them.
    pub fn load(file: &Path) -> Result<Self, ConfigError> {
        Self::of(&Source::read(file)?)
    }

    /// Reads and checks `text`, which errors will say is in `file`, and the files it names.
    ///
    /// # Errors
    /// The first thing that is wrong in any of them.
    pub fn parse(file: &Path, text: &str) -> Result<Self, ConfigError> {
        Self::of(&Source::new(file, text))
    }

    pub(crate) fn of(source: &Source) -> Result<Self, ConfigError> {
        FileKind::Switch.read(source, |source| assemble(source, None, None))
    }

    /// SWITCH.toml, as it was named.
    pub fn file(&self) -> &Path {
        self.source.file()
    }
}

/// The switch that the file describes. Rules and routes that are given replace those it names.
fn assemble(
    source: &Source,
    rules: Option<(&Path, RuleSet)>,
    routes: Option<Routes>,
) -> Result<SwitchConfig, ConfigError> {
    let mut warnings = Vec::new();
    let file = old_words::read(source, &mut warnings)?;
    check_name(source, &file.name)?;
    let workers = runtime::workers(source, &file)?;
    let lossless = lossless::priorities(source, &file)?;
    let own_rules = lldp::first_rules(source, &file, rules.is_some())?;
    let ttl_classes = ttl::classes(source, &file)?;
    gfc::check(source, &file)?;
    let rules = match (rules, &file.rules) {
        (Some((path, rules)), _) => Some((path.to_owned(), rules)),
        (None, Some(field)) => Some(read_rules(source, field)?),
        (None, None) => None,
    };
    if let Some((path, rules)) = &rules {
        check_rules(source, &file, path, rules)?;
    }
    let (rules_file, rules) = rules.unzip();
    let rules = rules.or(own_rules);
    let tag_map = tags::build(source, &file, lossless, rules.as_ref(), ttl_classes.clone())?;
    let mut drafts = ports::build(source, &file, &tag_map, &workers, lossless != 0)?;
    if let Some(ttl_classes) = &ttl_classes {
        ttl::apply(source, &file, ttl_classes, &mut drafts)?;
    }
    initial_tags::apply(source, &file, &tag_map, &mut drafts)?;
    qos_map::apply(source, &file, lossless, &tag_map, &mut drafts)?;
    watchdog::apply(source, &file, &mut drafts)?;
    let buffer = buffer::build(source, &file, &mut drafts, &mut warnings)?;
    let scheduler = scheduler::scheduler(source, &file, &drafts)?;
    shaper::apply(source, &file, &mut drafts)?;
    let ecn = depth_curves::ecn(source, &file, &drafts, &buffer)?;
    let wred = depth_curves::wred(source, &file, &drafts, &buffer)?;
    let inband_telemetry = inband_telemetry::build(source, &file, &drafts)?;
    let (port_settings, ports): (Vec<_>, Vec<_>) =
        drafts.into_iter().map(|draft| (draft.settings, draft.config)).unzip();
    let loopback = tunnels::loopback(source, &file, &ports)?;
    let tunnels = tunnels::build(source, &file, &tag_map, &loopback)?;
    let (routes, routes_file) = match routes {
        Some(given) => given,
        None => read_routes(source, &file, &ports, &tunnels)?,
    };
    let mac_table = runtime::mac_table(source, &file)?;
    let socket = runtime::socket(source, &file)?;
    let seed = file.seed.unwrap_or_else(|| name_hash(file.name.get_ref()));
    Ok(SwitchConfig {
        name: file.name.get_ref().clone(),
        memory: runtime::memory(source, &file, &buffer, &ports, &workers)?,
        settings: SwitchSettings {
            ports: port_settings,
            buffer,
            scheduler,
            ecn,
            wred,
            big_red_switch: watchdog::is_big_red(&file),
            mac_table,
            telemetry: inband_telemetry,
            seed,
            host_rates: host::rates(source, &file, &ports)?,
        },
        tag_map,
        loopback,
        tunnels,
        neighbors: routes::neighbors(source, &file, &ports)?,
        static_macs: static_macs::build(source, &file, &ports)?,
        sflow: sflow::build(source, &file, &ports)?,
        lldp: lldp::build(source, &file, &ports)?,
        ports,
        routes,
        rules,
        rules_file,
        routes_file,
        workers,
        control_groups: runtime::control_groups(source, &file)?,
        changes_file: runtime::changes_file(source, &file, &socket)?,
        security: runtime::security(&file),
        metrics: metrics::address(source, &file, &socket)?,
        fpm: routing::fpm(source, &file)?,
        fleet: fleet::build(source, &file)?,
        flight_recorder: flight_recorder::build(source, &file)?,
        telemetry: file.dpdk.telemetry,
        socket,
        warnings,
        source: source.clone(),
    })
}

fn check_name(source: &Source, name: &Spanned<String>) -> Result<(), ConfigError> {
    let text = name.get_ref();
    if is_name(text) {
        return Ok(());
    }
    let message =
        format!("`{text}` is no name for a switch; use letters, digits, `-`, `_` and `.`");
    Err(source.at(name.span(), message))
}

/// Reads the rule file.
fn read_rules(
    source: &Source,
    field: &Spanned<PathBuf>,
) -> Result<(PathBuf, RuleSet), ConfigError> {
    let rules = source.read_named(field)?;
    Ok((rules.file().to_owned(), rule_file::from_source(&rules)?))
}

/// Routes, and the route file they came from.
type Routes = (Vec<StaticRoute>, Option<PathBuf>);

fn read_routes(
    source: &Source,
    file: &SwitchFile,
    ports: &[PortConfig],
    tunnels: &[TunnelConfig],
) -> Result<Routes, ConfigError> {
    let mut routes = routes::of_tables(source, file, ports, tunnels)?;
    let Some(field) = &file.routes else { return Ok((routes, None)) };
    let file = source.read_named(field)?;
    routes::append(&file, ports, tunnels, &mut routes)?;
    Ok((routes, Some(file.file().to_owned())))
}

/// The rules are meant for this switch.
fn check_rules(
    source: &Source,
    file: &SwitchFile,
    path: &Path,
    rules: &RuleSet,
) -> Result<(), ConfigError> {
    let path = crate::message::path(path);
    let span = file.rules.as_ref().map_or(0..0, Spanned::span);
    let name = file.name.get_ref();
    if rules.switch != *name {
        let other = &rules.switch;
        let message =
            format!("{path} is for switch `{other}`, and this is `{name}`; use its own rules");
        return Err(source.at(span, message));
    }
    if rules.ports != file.port.len() {
        let message = format!(
            "{path} is for a switch with {} ports, and there are {} [[port]] tables; they are numbered \
             in their order and must be as many",
            rules.ports,
            file.port.len()
        );
        return Err(source.at(span, message));
    }
    Ok(())
}

/// FNV-1a: what is derived from the switch's name must be the same at every start and on every
/// machine, which the standard library's hash does not promise.
fn name_hash(name: &str) -> u64 {
    name.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}
