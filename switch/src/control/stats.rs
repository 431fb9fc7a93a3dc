//! All counters and gauges of a switch at one moment: what `ctl` and `top` read, and what is
//! printed at the end.
//!
//! Each worker's part is consistent in itself (it is written between two turns); the workers' parts
//! are microseconds apart. Arrays of eight are by priority. Counters never decrease while a switch
//! runs.

use crate::histograms::Distribution;
use crate::platform::{DeviceCounters, DeviceLosses, FrameBuffers};
use agents::host::AgentCounters;
use dataplane::counters::{PortCounters, Totals};
use dataplane::limits::PRIORITIES;
use dataplane::report::QueueGauges;
use derive_more::{AddAssign, Deref, DerefMut};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// By priority.
pub(crate) type ByPriority = [u64; PRIORITIES];

/// A sample of a switch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stats {
    /// The switch's name.
    pub name: String,
    /// The program's version.
    pub version: String,
    /// The version of DPDK, as DPDK says it.
    #[serde(default)]
    pub dpdk: String,
    /// Its process.
    pub pid: u32,
    /// When this was put together: milliseconds since 1970.
    pub time_unix_ms: u64,
    /// The same on the clock of the workers: nanoseconds since the switch started.
    pub uptime_ns: u64,
    /// The version of the tables in use by all workers. It rises with each change of rules, routes,
    /// neighbors or VLANs.
    pub epoch: u64,
    /// In the order of their numbers.
    pub ports: Vec<PortStats>,
    /// Queues that hold frames which the peer has paused, or which wait for the queue's own rate.
    pub waits: Vec<Wait>,
    /// The shared buffer.
    pub buffer: BufferStats,
    /// In the order of their numbers.
    pub workers: Vec<WorkerStats>,
    /// Where frames came from and how they ended, all workers together.
    pub totals: FrameTotals,
    /// Buffers that hold frames.
    pub mbufs: FrameBuffers,
    /// The switch as a host: ARP, neighbor discovery, ICMP.
    pub agent: AgentStats,
    /// LLDP, if it is spoken.
    #[serde(default)]
    pub lldp: Option<LldpStats>,
    /// Routes from a routing daemon, if `[routing] fpm` is set.
    #[serde(default)]
    pub fpm: Option<FpmStats>,
    /// Where the fleet's agent stands, if there is a `[fleet]`.
    #[serde(default)]
    pub fleet: Option<FleetStats>,
    /// sFlow, if there is an `[sflow]`.
    #[serde(default)]
    pub sflow: Option<SflowStats>,
    /// The host's TAPs, in port order.
    #[serde(default)]
    pub taps: Vec<TapStats>,
    /// From a frame's arrival to its hand-over to the egress device, in nanoseconds, since start.
    pub latency_ns: Distribution,
    /// Frames of a received burst, since start.
    pub burst_frames: Distribution,
    /// Frames whose tag the rules changed, by tag and new tag, all workers together.
    #[serde(default)]
    pub tag_changes: Vec<TagChange>,
    /// Neighbors that are known.
    pub neighbors: u64,
    /// Static routes.
    pub routes: u64,
    /// MAC addresses learned on bridged ports: the maximum over workers.
    pub mac_addresses: u64,
}

/// Frames of one tag that the rules gave another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagChange {
    /// The lossless tag with which they came, or that an untrusted port gave them.
    pub tag: u8,
    /// The tag with which they left: a lossless one, or the lossy tag.
    pub new_tag: u8,
    /// How many.
    pub frames: u64,
}

/// A sample of LLDP.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LldpStats {
    /// The level: links between the switch and the hosts, if learned and known.
    pub level: Option<u8>,
    /// Frames by what became of them, and neighbors, by name.
    pub counters: BTreeMap<String, u64>,
}

/// Routes from a routing daemon by FPM.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FpmStats {
    /// Where the switch listens.
    pub address: String,
    /// Whether zebra is connected.
    pub connected: bool,
    /// Its end of the connection.
    pub peer: Option<String>,
    /// How often it has connected.
    pub sessions: u64,
    /// Messages read.
    pub messages: u64,
    /// Routes that it gave and that are in the table.
    pub routes: u64,
    /// Those among them that it has not given again since it connected.
    pub stale_routes: u64,
    /// Next hops that it gave.
    pub next_hops: u64,
    /// Peers that were refused or were no zebra.
    pub errors: u64,
    /// Routes not taken, by cause.
    pub refused: BTreeMap<String, u64>,
}

/// Where the agent of the fleet's store stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetStats {
    /// The network's name in the store.
    pub network: String,
    /// Whether the store answers.
    pub connected: bool,
    /// The revision that the rules in use came with; none if they came another way.
    pub revision: Option<u64>,
    /// The revision that the store wants, as far as it is known.
    pub wanted: Option<u64>,
    /// The hash of the rules in use.
    pub hash: Option<String>,
    /// How often the store was lost.
    pub losses: u64,
    /// Why the store does not answer, or the switch does not have what is wanted.
    pub error: Option<String>,
}

/// What is sampled for sFlow, and what was sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SflowStats {
    /// The address that collectors know the switch by.
    pub agent: String,
    /// Where samples are sent.
    pub collectors: Vec<String>,
    /// By port: one of so many received frames is sampled; 0 is none.
    pub sample_rates: Vec<u32>,
    /// How often the counters are sent, in nanoseconds; 0 is never.
    pub polling_ns: u64,
    /// Dropped frames that are reported in a second, at most.
    pub drop_monitor_limit: u32,
    /// What was sent, and what was not.
    #[serde(flatten)]
    pub counters: SflowCounters,
}

/// Samples of sFlow since the switch started, by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, AddAssign)]
pub struct SflowCounters {
    /// Received frames that were sampled.
    pub flow_samples: u64,
    /// Samples of counters of a port.
    pub counter_samples: u64,
    /// Dropped frames that were reported.
    pub drop_samples: u64,
    /// Dropped frames above `drop_monitor_limit`, which were not.
    pub suppressed_drops: u64,
    /// Received frames that were to be sampled, and found the worker's ring full.
    pub missed_samples: u64,
    /// Dropped frames that were to be reported, and found the worker's ring full.
    pub missed_drops: u64,
    /// Datagrams sent, to all collectors together.
    pub sent_datagrams: u64,
    /// Datagrams that the system did not take.
    pub lost_datagrams: u64,
}

/// A port as an interface of the host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TapStats {
    /// The port's name.
    pub port: String,
    /// The interface's name.
    pub tap: String,
    /// The kernel's number of it.
    pub index: u32,
    /// Whether it has a carrier: frames pass the port.
    pub carrier: bool,
    /// Its addresses, as the kernel has them.
    pub addresses: Vec<String>,
    /// Frames given to the kernel.
    pub to_host_frames: u64,
    /// Frames that the kernel did not take: the interface is down.
    pub to_host_lost_frames: u64,
    /// Frames that the kernel sent.
    pub from_host_frames: u64,
}

/// Frames of one class for the control thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostClassStats {
    /// Given to the control thread.
    pub passed_frames: u64,
    /// Dropped: above the rate of the class in `[host.rates]`, or the ring was full.
    pub dropped_frames: u64,
}

/// The other end of a port, by LLDP.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LldpPortStats {
    /// `uplink`, `downlink`, `crosslink` or `unknown`.
    pub orientation: String,
    /// The first neighbor's system name, or its chassis id if it sends none.
    pub neighbor: Option<String>,
    /// What is not as it should be, by name.
    pub conditions: Vec<String>,
}

/// A sample of a port.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Deref, DerefMut)]
pub struct PortStats {
    /// Its number, from 1.
    pub number: usize,
    /// Its name.
    pub name: String,
    /// Its device, as SWITCH.toml has it.
    pub device: String,
    /// The device's driver, such as `net_tap`.
    pub driver: String,
    /// The worker that owns it.
    pub worker: u8,
    /// Its own MAC address.
    pub mac: String,
    /// `routed` or `bridged`.
    pub mode: String,
    /// The longest packet, without the Ethernet header, in bytes.
    pub mtu: u16,
    /// Whether a lossless tag on an arriving frame is believed: a port towards a switch.
    #[serde(default)]
    pub trusted: bool,
    /// Whether frames pass: the device's link is up and the port in service.
    pub up: bool,
    /// Whether the device's link is up.
    pub link: bool,
    /// Why it is down for good, if it is: its device or its interface is gone.
    #[serde(default)]
    pub fault: Option<String>,
    /// Whether the operator has it in service (`ctl link`).
    pub in_service: bool,
    /// Rate that its quanta, and its pace if it has one, go by: bits per second.
    pub speed_bps: u64,
    /// Whether the switch itself holds it to that.
    pub paced: bool,
    /// Whether software PFC works on the device, as text.
    pub flow_control: String,
    /// Whether the driver reports the receive backlog.
    pub tells_rx_backlog: bool,
    /// On what receive backlog the switch pauses, as text.
    #[serde(default)]
    pub rx_backlog: String,
    /// What is known of its other end, if LLDP is spoken.
    #[serde(default)]
    pub lldp: Option<LldpPortStats>,
    /// What the workers count.
    #[deref]
    #[deref_mut]
    #[serde(flatten)]
    pub counters: PortCounters,
    /// Frames dropped, by cause; causes that never occurred are left out.
    pub drops: BTreeMap<String, u64>,
    /// Frames of lossless classes that the switch did not deliver, by ingress priority.
    pub lossless_drops: ByPriority,
    /// The same by cause, with what the device lost, whose class is unknown: the total of lost
    /// lossless frames.
    #[serde(default)]
    pub lossless_drops_by_cause: BTreeMap<String, u64>,
    /// Learned MAC addresses that are on the port.
    #[serde(default)]
    pub mac_addresses: u64,
    /// Times that a frame of the port had a MAC address that was on another port.
    #[serde(default)]
    pub mac_moves: u64,
    /// Frames of the port whose new MAC address was not learned: the port has its share of the MAC
    /// table, or the table is full.
    #[serde(default)]
    pub mac_refused_frames: u64,
    /// Frames of the port whose MAC address stayed on another port: it is static there, or was
    /// heard there within `[mac_table] hold`.
    #[serde(default)]
    pub mac_held_frames: u64,
    /// Neighbors behind the port, by ARP and ND.
    #[serde(default)]
    pub neighbors: u64,
    /// Neighbors that were not added: the port has its share of the table, or the table is full.
    #[serde(default)]
    pub neighbors_refused: u64,
    /// Frames for the control thread by class, if the host has TAPs; classes that never occurred
    /// are left out.
    #[serde(default)]
    pub host_classes: BTreeMap<String, HostClassStats>,
    /// Queues.
    pub queues: [QueueGauges; PRIORITIES],
    /// What the device counts by itself.
    pub device_counters: DeviceCounters,
    /// Frames lost between the device and the core.
    pub device_losses: DeviceLosses,
}

/// A queue that the peer has paused, and the ingress ports of its frames. Followed from switch to
/// switch, these form the wait-for graph.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// The out port's number, from 1.
    pub port: usize,
    /// The out port's name.
    pub name: String,
    /// The egress priority.
    pub priority: usize,
    /// Frames that wait.
    pub frames: u32,
    /// Their bytes.
    pub bytes: u32,
    /// Nanoseconds for which the peer has paused them without interruption.
    pub paused_for_ns: u64,
    /// Whether they wait for the queue's own peak rate (`[[shaper]]`), and for no peer.
    #[serde(default)]
    pub own_rate: bool,
    /// Their ingress ports.
    pub origins: Vec<Origin>,
    /// Whether there may be more ingress ports: only the first frames of a long queue are examined.
    pub has_more_origins: bool,
}

/// An ingress port of queued frames.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The in port's number, from 1.
    pub port: usize,
    /// The in port's name.
    pub name: String,
    /// The ingress priority.
    pub priority: usize,
    /// Whether this port has paused its peer there.
    pub paused: bool,
    /// For how many nanoseconds, without interruption.
    pub paused_for_ns: u64,
}

/// The shared buffer, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BufferStats {
    /// All of it.
    pub size_bytes: u64,
    /// What lossless priorities share.
    pub shared_size_bytes: u64,
    /// Of that, in use.
    pub shared_bytes: u64,
    /// The sum over workers of the most that each used at once.
    pub shared_peak_bytes: u64,
    /// The headroom that lossless priorities may use: a pool, or the sum of each one's own.
    pub headroom_size_bytes: u64,
    /// Of that, in use.
    pub headroom_bytes: u64,
    /// The sum over workers of the most that each used at once.
    pub headroom_peak_bytes: u64,
    /// What lossy traffic may hold.
    pub lossy_size_bytes: u64,
    /// Of that, in use.
    pub lossy_bytes: u64,
    /// The sum over workers of the most that each used at once.
    pub lossy_peak_bytes: u64,
}

/// A sample of a worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkerStats {
    /// Its number, from 0.
    pub number: usize,
    /// The CPU it is pinned to.
    pub core: Option<usize>,
    /// Turns taken.
    pub turns: u64,
    /// Turns in which something moved.
    pub busy_turns: u64,
    /// The version of the tables that it uses.
    pub epoch: u64,
    /// Its frames.
    pub totals: FrameTotals,
    /// Length of the turns in which something moved, in nanoseconds.
    pub turn_ns: Distribution,
    /// The longest polling gap in nanoseconds, which headroom must cover (`poll` in SWITCH.toml).
    pub poll_gap_ns_max: u64,
    /// Commands of the control thread that found no room and were given up.
    pub commands_lost: u64,
}

/// The frame balance. `received + injected + copied + handoff_rx = sent + dropped + punted +
/// consumed + handoff_tx + held`; `imbalance` is the difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Deref)]
pub struct FrameTotals {
    /// Frames by origin and by outcome.
    #[deref]
    #[serde(flatten)]
    pub frames: Totals,
    /// Frames received minus frames sent, dropped or queued: always 0.
    pub imbalance: i64,
}

impl From<Totals> for FrameTotals {
    fn from(frames: Totals) -> Self {
        Self { frames, imbalance: frames.imbalance() }
    }
}

/// The switch as a host: ARP, ND, ICMP.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentStats {
    /// What the agent counts.
    #[serde(flatten)]
    pub counters: AgentCounters,
    /// How they ended; outcomes that never occurred are left out.
    pub outcomes: BTreeMap<String, u64>,
    /// Frames that wait for a neighbor now.
    #[serde(alias = "parked_frames")]
    pub pending_frames: u64,
    /// Frames of the switch itself for which no buffer was left.
    pub unmade_frames: u64,
}

/// A cause of a loss: the name of its counter without the unit.
pub(crate) fn loss_cause(counter: &'static str) -> &'static str {
    counter.strip_suffix("_frames").unwrap_or(counter)
}

impl PortStats {
    /// Frames dropped, all causes.
    pub fn dropped(&self) -> u64 {
        self.drops.values().sum()
    }

    /// Frames lost between the wire and the core, by the counter's name.
    pub(crate) fn device_lost(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
        self.device_counters.losses().into_iter().chain(self.device_losses.losses())
    }

    /// Frames of lossless classes that were not delivered, all causes.
    pub fn lossless_dropped(&self) -> u64 {
        self.lossless_drops_by_cause.values().fold(0, |sum, &frames| sum.saturating_add(frames))
    }
}

impl Stats {
    /// Frames of lossless classes that were not delivered, of all ports.
    pub fn lossless_dropped(&self) -> u64 {
        self.lossless_drops_by_cause().values().fold(0, |sum, &frames| sum.saturating_add(frames))
    }

    /// The same by cause.
    pub fn lossless_drops_by_cause(&self) -> BTreeMap<&str, u64> {
        let mut causes = BTreeMap::new();
        for (cause, &frames) in self.ports.iter().flat_map(|port| &port.lossless_drops_by_cause) {
            let sum: &mut u64 = causes.entry(cause.as_str()).or_default();
            *sum = sum.saturating_add(frames);
        }
        causes
    }
}
