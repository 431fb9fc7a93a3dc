//! What a switch says of a traced frame, stage by stage. The keys are a contract.

use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// The walk of a frame through the tables of a switch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Trace {
    /// The switch.
    pub switch: String,
    /// The version of its tables.
    pub epoch: u64,
    /// Name of the ingress port.
    pub port: String,
    /// The stages that the frame came to, in order.
    pub stages: Vec<Stage>,
    /// What a worker with these tables and an empty buffer did with it.
    pub end: End,
}

/// How the frame ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct End {
    /// `sent`, `dropped`, `punted`, `waits` (for its next hop) or `consumed`.
    pub verdict: String,
    /// The frames that left.
    pub sent: Vec<Sent>,
    /// The drops.
    pub dropped: Vec<Dropped>,
    /// Why the control thread was given the frame or a copy, if it was.
    pub punted: Vec<String>,
    /// What keeps a running switch from doing so at once: the state of its ports and queues now.
    #[serde(default)]
    pub now: Vec<String>,
}

/// A frame that left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sent {
    /// Name of the egress port.
    pub port: String,
    /// Its first bytes, in hexadecimal digits.
    pub head: String,
    /// Its length.
    pub frame_bytes: usize,
}

/// A drop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Dropped {
    /// Name of the port that counts it.
    pub port: String,
    /// The counter.
    pub cause: String,
}

/// One stage, with what it read and what it decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "stage", rename_all = "snake_case")]
pub(crate) enum Stage {
    /// The headers.
    Parse(Parse),
    /// Marking, tag, priority.
    Classify(Classify),
    /// The destination address.
    Forward(Forward),
    /// The destination MAC address.
    Bridge(Bridge),
    /// (tag, ingress port, egress port) to the new tag.
    Rules(RuleFound),
    /// The frame before and after.
    Rewrite(Rewrite),
    /// The buffer of the ingress port.
    Admission(Admission),
    /// The queue of the egress port.
    Queue(Queue),
}

/// See [`Stage::Parse`]. What the frame does not have is null.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Parse {
    /// `ipv4`, `ipv6`, `arp`, `mac_control`, `lldp`, `other`, or the drop cause of a bad frame.
    pub kind: String,
    /// Length without FCS.
    pub frame_bytes: usize,
    /// VLAN ID.
    pub vlan: Option<u16>,
    /// PCP.
    pub pcp: Option<u8>,
    /// Source address.
    pub source: Option<IpAddr>,
    /// Destination address.
    pub destination: Option<IpAddr>,
    /// IP protocol.
    pub protocol: Option<u8>,
    /// Source port.
    pub source_port: Option<u16>,
    /// Destination port.
    pub destination_port: Option<u16>,
    /// DSCP.
    pub dscp: Option<u8>,
    /// TTL or hop limit.
    pub ttl: Option<u8>,
}

/// See [`Stage::Classify`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Classify {
    /// The marking that decided: `DSCP 26`, `PCP 3` or `default`.
    pub by: String,
    /// Why it gives this tag.
    pub because: String,
    /// The tag.
    pub tag: u8,
    /// The ingress priority.
    pub priority: u8,
    /// Whether it is lossless.
    pub lossless: bool,
}

/// See [`Stage::Forward`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Forward {
    /// The longest prefix that matches.
    pub prefix: Option<String>,
    /// The next hops of the route.
    pub next_hops: Vec<NextHopRow>,
    /// The hash of the flow, if there are several.
    pub hash: Option<u32>,
    /// The bucket that the hash falls into, from 1. Each next hop has as many as its weight wants.
    pub bucket: Option<usize>,
    /// Index of the next hop that is taken: the one of that bucket.
    pub taken: usize,
}

/// A next hop.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NextHopRow {
    /// `forward`, `resolve` (its MAC address is unknown), `tunnel`, `local`, `discard` or
    /// `no_route`.
    pub kind: String,
    /// Name of its port.
    pub port: Option<String>,
    /// Its IP address.
    pub address: Option<IpAddr>,
    /// Its MAC address.
    pub mac: Option<String>,
    /// How many buckets of the hash are its.
    pub buckets: usize,
}

/// See [`Stage::Bridge`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bridge {
    /// The VLAN; null if the port does not take the frame's.
    pub vlan: Option<u16>,
    /// The destination.
    pub mac: String,
    /// Name of the port it is on; null if it is not known.
    pub port: Option<String>,
}

/// See [`Stage::Rules`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RuleFound {
    /// Name of the egress port.
    pub out: String,
    /// The tag before.
    pub tag: u8,
    /// The tag that it leaves with.
    pub new_tag: u8,
    /// Number of the entry that matched, from 1.
    pub entry: Option<usize>,
    /// Why.
    pub because: String,
    /// Whether it is lossless from here on.
    pub lossless: bool,
    /// The egress priority.
    pub priority: u8,
}

/// See [`Stage::Rewrite`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Rewrite {
    /// Name of the egress port.
    pub out: String,
    /// The headers as they came, in hexadecimal digits.
    pub before: String,
    /// The headers as they leave.
    pub after: String,
}

/// See [`Stage::Admission`], in bytes. What files do not say is null.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Admission {
    /// Name of the ingress port.
    pub port: String,
    /// The priority that is charged.
    pub priority: u8,
    /// Whether PFC protects it there.
    pub lossless: bool,
    /// What the frame costs.
    pub cost_bytes: u32,
    /// XOFF is sent above this; null if it is dynamic and the switch does not run.
    pub threshold_bytes: Option<u64>,
    /// The exponent of a dynamic threshold.
    pub dynamic_th: Option<i8>,
    /// The reserve, in front of the shared pool.
    pub reserved_bytes: u32,
    /// Size of the headroom.
    pub headroom_size_bytes: u32,
    /// Bytes in the VIQ now.
    pub viq_bytes: Option<u32>,
    /// Headroom in use now.
    pub headroom_bytes: Option<u32>,
    /// Whether the port pauses its peer in the priority now.
    pub paused: Option<bool>,
}

/// See [`Stage::Queue`]. What files do not say is null.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Queue {
    /// Name of the egress port.
    pub port: String,
    /// The egress priority.
    pub priority: u8,
    /// Frames in the VEQ now.
    pub veq_frames: Option<u32>,
    /// Bytes in the VEQ now.
    pub veq_bytes: Option<u32>,
    /// For how long the peer has paused it; 0 if it has not.
    pub paused_for_ns: Option<u64>,
    /// Whether the watchdog has detected a storm in it.
    pub stormed: Option<bool>,
}
