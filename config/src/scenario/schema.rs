//! SCENARIO.toml, table by table, as it is written; the other files of this directory say what the
//! tables mean. `netsim/scenarios/` shows them in use.

use super::roce_schema::RoceTable;
use crate::fields::{Cable, Dscp, Duration, Rate, Size};
use crate::network::schema::{Field, GenerateTable, HostTable, LinkTable, PathsTable, SwitchTable};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use toml::Spanned;

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScenarioFile {
    /// What people call it. Default: the file's name.
    pub(super) name: Option<String>,
    /// What it shows, in a sentence or two.
    #[serde(default)]
    pub(super) about: String,
    /// How long sources send.
    pub(super) duration: Spanned<Duration>,
    /// Decides all chance. Default 1.
    pub(super) seed: Option<u64>,
    /// NETWORK.toml, instead of its tables here.
    pub(super) network: Field<PathBuf>,
    /// As in NETWORK.toml.
    #[serde(default)]
    pub(super) switch: Vec<Spanned<SwitchTable>>,
    /// As in NETWORK.toml.
    #[serde(default)]
    pub(super) host: Vec<Spanned<HostTable>>,
    /// As in NETWORK.toml.
    #[serde(default)]
    pub(super) link: Vec<Spanned<LinkTable>>,
    /// As in NETWORK.toml.
    pub(super) generate: Field<GenerateTable>,
    /// As in NETWORK.toml: which paths `tagger` keeps lossless.
    pub(super) paths: Field<PathsTable>,
    /// How deadlock is, or is not, prevented.
    #[serde(default)]
    pub(super) scheme: SchemeTable,
    /// For links that do not say.
    #[serde(default)]
    pub(super) links: LinksTable,
    /// Buffers and queues of every switch.
    #[serde(default)]
    pub(super) switches: SwitchesTable,
    /// How ways are found.
    #[serde(default)]
    pub(super) routing: RoutingTable,
    /// Flows one by one.
    #[serde(default)]
    pub(super) flow: Vec<Spanned<FlowTable>>,
    /// Many flows at once.
    #[serde(default)]
    pub(super) traffic: Vec<Spanned<TrafficTable>>,
    /// The transport of RoCE flows.
    #[serde(default)]
    pub(super) roce: RoceTable,
    /// Messages among many hosts, each of which waits for others.
    #[serde(default)]
    pub(super) collective: Vec<Spanned<CollectiveTable>>,
    /// What goes wrong, and when.
    #[serde(default)]
    pub(super) fault: Vec<Spanned<FaultTable>>,
    /// By scheme: what must come out.
    #[serde(default)]
    pub(super) expect: BTreeMap<String, Spanned<ExpectTable>>,
}

/// `[scheme]`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SchemeTable {
    /// `pfc`, `watchdog`, `tagger`, `updown`, `ttl`, `gfc` or `lossy`. Default `pfc`.
    pub(super) kind: Field<String>,
    /// `tagger` and `updown`: lossless priorities at the most. Default 7; `updown` takes one more
    /// than the paths' bounces, or 2.
    pub(super) priorities: Field<i64>,
    /// `tagger`: a directory of rule files, instead of compiling them.
    pub(super) rules: Field<PathBuf>,
    /// `ttl`: so many classes, hosts' own included. Default: as the longest path needs.
    pub(super) classes: Field<i64>,
    /// `ttl`: the network is a tree, and each switch needs buffer for every second class only.
    #[serde(default)]
    pub(super) tree: bool,
    /// `ttl`: each class has a part of the buffer of its own.
    #[serde(default)]
    pub(super) partitions: bool,
    /// `ttl`: how hosts pause: by `class`, or by `dscp` as NICs do, all in the class that they send
    /// in. Default `class`.
    pub(super) hosts: Field<String>,
    /// `ttl`: switches translate pauses at ports of hosts that pause by `dscp`.
    #[serde(default)]
    pub(super) translate: bool,
    /// `watchdog`: a pause of this length is a storm. Default 200 ms.
    pub(super) detection_time: Field<Duration>,
    /// `watchdog`: so long without a pause ends it. Default 400 ms.
    pub(super) restoration_time: Field<Duration>,
    /// `watchdog`: `drop`, `forward` or `alert`. Default `drop`.
    pub(super) action: Field<String>,
    /// `gfc`: `staged`, `conceptual` or `time-based`. Default `staged`.
    pub(super) form: Field<String>,
    /// `gfc`: what slowing down is held to: `theorem`, `tight` or `none`. Default `theorem`.
    pub(super) bound: Field<String>,
    /// `gfc`: where a queue is full (`Bm`). Default: `slack` below `static_th`.
    pub(super) bm: Field<Size>,
    /// `gfc`: how far above `bm` XOFF is due. Default: the longest frame and a byte for each host,
    /// which is also the least, unless `bound` is `none`.
    pub(super) slack: Field<Size>,
    /// `gfc`: where slowing down begins (`B1`, or `B0` of the other forms). Default: as late as the
    /// bound allows.
    pub(super) b1: Field<Size>,
    /// `gfc`, `time-based`: from message to message. Default 10 us.
    pub(super) period: Field<Duration>,
}

/// `[links]`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LinksTable {
    /// Default 40G.
    pub(super) speed: Field<Rate>,
    /// Default 10 m.
    pub(super) length: Field<Cable>,
}

/// `[switches]`: buffer and queues of every switch, in the words of SWITCH.toml.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SwitchesTable {
    /// The whole buffer. Default 12 MB.
    pub(super) size: Field<Size>,
    /// What a frame costs at the least. Default 256.
    pub(super) cell: Field<Size>,
    /// What lossy frames together may hold. Default a quarter of the buffer.
    pub(super) lossy: Field<Size>,
    /// What one lossy queue may hold. Default 512 KB.
    pub(super) lossy_queue: Field<Size>,
    /// The static threshold of each lossless VIQ: XOFF is due at this many bytes. Default 40 KB.
    pub(super) static_th: Field<Size>,
    /// Instead: a dynamic one, `2^dynamic_th` of what is free.
    pub(super) dynamic_th: Field<i64>,
    /// How far below its threshold a VIQ resumes. Default: two longest frames.
    pub(super) xon_offset: Field<Size>,
    /// A queue serves ingress ports in turn, instead of frames as they came. Default: under `gfc`,
    /// which needs it.
    pub(super) fair: Option<bool>,
    /// ECN of lossless queues. Default: no marking.
    pub(super) ecn: Field<EcnTable>,
}

/// `[switches.ecn]`
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EcnTable {
    /// Nothing is marked below.
    pub(super) kmin: Size,
    /// Everything is marked above.
    pub(super) kmax: Size,
    /// Marked at `kmax`: this share.
    pub(super) pmax: f64,
    /// Lossy queues mark, too. Default: lossless ones only.
    #[serde(default)]
    pub(super) lossy: bool,
}

/// `[routing]`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RoutingTable {
    /// `shortest`, `ecmp` or `pinned`. Default `shortest`.
    pub(super) kind: Field<String>,
    /// How long after a link goes down its switches send around it. Default: never.
    pub(super) reroute: Field<Duration>,
    /// Links that are down from the start, each by one of its ends.
    pub(super) failed: Field<Vec<Spanned<String>>>,
    /// So many of the links between switches are down from the start, at random.
    pub(super) failed_share: Field<f64>,
}

/// `[[flow]]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FlowTable {
    /// Default: `FROM-TO`.
    pub(super) name: Option<String>,
    /// The sending host.
    pub(super) from: Spanned<String>,
    /// The receiving host.
    pub(super) to: Spanned<String>,
    /// The switches on its way. Default: as routed.
    pub(super) path: Field<String>,
    /// `simple` frames, or the RDMA `roce` of `[roce]`. Default `simple`.
    pub(super) transport: Field<String>,
    /// How fast a source sends. Default: as fast as its wire.
    pub(super) rate: Field<Rate>,
    /// Bytes on their way at the most; what is lost is sent again. Default: no window, no
    /// resending.
    pub(super) window: Field<Size>,
    /// Length of frames, Ethernet header included. Default 1514.
    pub(super) frame: Field<Size>,
    /// When it starts. Default: at once.
    pub(super) start: Field<Duration>,
    /// When it stops. Default: with the run.
    pub(super) stop: Field<Duration>,
    /// Bytes that it carries. Default: without end.
    pub(super) size: Field<Size>,
    /// In the lossy class. Default false.
    #[serde(default)]
    pub(super) lossy: bool,
    /// Its application class, from 1 to as many as `[paths]` has. Default 1.
    pub(super) class: Field<i64>,
    /// Where switches have a `config`: the DSCP of its frames. Default: the lowest lossless one.
    pub(super) dscp: Field<Dscp>,
}

/// `[[traffic]]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TrafficTable {
    /// `permutation`, `incast`, `random` or `all-to-all`.
    pub(super) kind: Spanned<String>,
    /// Senders. Default: all hosts, or as many of them as `senders` says.
    pub(super) from: Field<Vec<Spanned<String>>>,
    /// `incast`: the receiver. Default: the first host.
    pub(super) to: Field<String>,
    /// So many senders, at random, each under another switch where there are enough.
    pub(super) senders: Field<i64>,
    /// `random`: so many flows.
    pub(super) flows: Field<i64>,
    /// `web-search` or `data-mining`: flows of these sizes come at random. Default: one flow a
    /// pair.
    pub(super) sizes: Field<String>,
    /// With `sizes`: the load, as a share of the receiver's (`incast`) or sender's link.
    pub(super) load: Field<f64>,
    /// `simple` frames, or the RDMA `roce` of `[roce]`. Default `simple`.
    pub(super) transport: Field<String>,
    /// How fast a source sends. Default: as fast as its wire.
    pub(super) rate: Field<Rate>,
    /// Bytes on their way at the most; what is lost is sent again. Default: no window, no
    /// resending.
    pub(super) window: Field<Size>,
    /// Length of frames, Ethernet header included. Default 1514.
    pub(super) frame: Field<Size>,
    /// When it starts. Default: at once.
    pub(super) start: Field<Duration>,
    /// When it stops. Default: with the run.
    pub(super) stop: Field<Duration>,
    /// Bytes that it carries. Default: without end.
    pub(super) size: Field<Size>,
    /// In the lossy class. Default false.
    #[serde(default)]
    pub(super) lossy: bool,
    /// Its application class, from 1 to as many as `[paths]` has. Default 1.
    pub(super) class: Field<i64>,
    /// Where switches have a `config`: the DSCP of its frames. Default: the lowest lossless one.
    pub(super) dscp: Field<Dscp>,
}

/// What flows and traffic share.
#[derive(Clone, Copy, Debug)]
pub(super) struct PaceFields<'a> {
    pub(super) transport: &'a Field<String>,
    pub(super) rate: &'a Field<Rate>,
    pub(super) window: &'a Field<Size>,
    pub(super) frame: &'a Field<Size>,
    pub(super) start: &'a Field<Duration>,
    pub(super) stop: &'a Field<Duration>,
    pub(super) size: &'a Field<Size>,
    pub(super) lossy: bool,
    pub(super) class: &'a Field<i64>,
    pub(super) dscp: &'a Field<Dscp>,
}

/// Both tables have these fields; serde cannot flatten them and keep their places.
macro_rules! pace_fields {
    ($table:ident) => {
        impl $table {
            pub(super) const fn pace(&self) -> PaceFields<'_> {
                let Self {
                    transport,
                    rate,
                    window,
                    frame,
                    start,
                    stop,
                    size,
                    lossy,
                    class,
                    dscp,
                    ..
                } = self;
                let lossy = *lossy;
                PaceFields { transport, rate, window, frame, start, stop, size, lossy, class, dscp }
            }
        }
    };
}

pace_fields!(FlowTable);
pace_fields!(TrafficTable);

/// `[[collective]]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CollectiveTable {
    /// What people call it. Default: its kind and number.
    pub(super) name: Option<String>,
    /// `all-reduce`, `all-to-all` or `pipeline`.
    pub(super) kind: Spanned<String>,
    /// `all-reduce`: `ring`, `tree` or `halving-doubling`. Default `ring`.
    pub(super) algorithm: Field<String>,
    /// Its hosts, by rank. Default: all, or the first `ranks`.
    pub(super) hosts: Field<Vec<Spanned<String>>>,
    /// So many hosts, the first ones. Default: all.
    pub(super) ranks: Field<i64>,
    /// Ranks on hosts as `listed`, or in a `random` order. Default `listed`.
    pub(super) placement: Field<String>,
    /// Bytes that each rank holds, or hands on.
    pub(super) size: Spanned<Size>,
    /// `tree`, `pipeline`: parts that are worked on one after the other. Default 1.
    pub(super) chunks: Field<i64>,
    /// So often, one after the other. Default 1.
    pub(super) rounds: Field<i64>,
    /// When it starts. Default: at once.
    pub(super) start: Field<Duration>,
    /// From what a rank receives to what it sends for it. Default 0.
    pub(super) compute: Field<Duration>,
    /// So many ranks, at random, take longer. Default 0.
    pub(super) stragglers: Field<i64>,
    /// By so much. Default 0.
    pub(super) straggle: Field<Duration>,
    /// Its application class. Default 1.
    pub(super) class: Field<i64>,
}

/// `[[fault]]`: each kind takes some of these.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FaultTable {
    /// What happens.
    pub(super) kind: Spanned<String>,
    /// When.
    pub(super) at: Spanned<Duration>,
    /// When it is over. Default: never.
    pub(super) until: Field<Duration>,
    /// `link-down`: a link, by one of its ends.
    pub(super) link: Field<String>,
    /// `route`, `restart`: the switch.
    pub(super) switch: Field<String>,
    /// `slow-receiver`, `hung-receiver`, `pause-storm`: the host.
    pub(super) host: Field<String>,
    /// `route`: frames to this host. `lose-pfc`, `corrupt-pfc`: PFC on its way to this end.
    pub(super) to: Field<String>,
    /// `route`: go to this neighbor.
    pub(super) via: Field<String>,
    /// `slow-receiver`: it takes frames so fast.
    pub(super) speed: Field<Rate>,
    /// `lose-pfc`, `corrupt-pfc`: such a share of them. Default 1.
    pub(super) share: Field<f64>,
}

/// `[expect.SCHEME]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExpectTable {
    /// Whether it deadlocks.
    pub(super) deadlock: Option<bool>,
    /// Not before.
    pub(super) deadlock_after: Field<Duration>,
    /// Not after.
    pub(super) deadlock_before: Field<Duration>,
    /// Whether every frame leaves once the sources have stopped.
    pub(super) drains: Option<bool>,
    /// Whether lossless frames are lost, whatever the cause: no headroom, a watchdog, a link that
    /// is down, a switch that restarts, a route that is missing.
    pub(super) lossless_drops: Option<bool>,
    /// Whether lossless frames find no headroom in a switch, or no room in a host.
    pub(super) headroom_overruns: Option<bool>,
    /// Whether lossy frames are dropped for want of room.
    pub(super) lossy_drops: Option<bool>,
    /// By flow: what it carries in the last quarter of the time, at the least.
    #[serde(default)]
    pub(super) at_least: BTreeMap<String, Spanned<Rate>>,
    /// By flow: and at the most.
    #[serde(default)]
    pub(super) at_most: BTreeMap<String, Spanned<Rate>>,
}
