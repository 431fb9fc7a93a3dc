//! What a database says of a switch, in the words of SWITCH.toml.

use super::reader::Said;

/// The switch.
#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) name: Option<Said<String>>,
    pub(super) ports: Vec<Port>,
    pub(super) lossless: Vec<Lossless>,
    pub(super) tags: Vec<Tag>,
    pub(super) maps: Vec<QosMap>,
    pub(super) buffer: Buffer,
    pub(super) weights: Vec<(u8, Said<u64>)>,
    pub(super) strict: Vec<(u8, String)>,
    pub(super) shapers: Vec<Shaper>,
    pub(super) ecn: Vec<Curve>,
    pub(super) wred: Vec<Curve>,
    pub(super) watchdog: Option<Watchdog>,
    /// The key that says that all lossless traffic is dropped.
    pub(super) big_red_switch: Option<String>,
    /// Addresses of the switch itself, on no port.
    pub(super) loopback: Vec<Said<String>>,
    pub(super) tunnels: Vec<Tunnel>,
    pub(super) routes: Vec<Route>,
    pub(super) neighbors: Vec<Neighbor>,
    /// The key that says that there is a routing daemon.
    pub(super) routing: Option<String>,
}

impl Model {
    /// Whether there is a `[watchdog]`.
    pub(super) fn has_watchdog(&self) -> bool {
        self.watchdog.is_some() || self.big_red_switch.is_some()
    }

    /// Whether frames have different classes.
    pub(super) fn has_classes(&self) -> bool {
        !self.tags.is_empty()
    }

    /// The queue by which frames of a tag leave a port.
    pub(super) fn queue(&self, port: &Port, tag: u8) -> u8 {
        self.mapped(port, tag, |map| &map.queue)
    }

    /// The priority group of frames of a tag that a port receives.
    pub(super) fn priority_group(&self, port: &Port, tag: u8) -> u8 {
        self.mapped(port, tag, |map| &map.priority_group)
    }

    /// Whether a tag is lossless at some port.
    pub(super) fn is_lossless(&self, tag: u8) -> bool {
        let priority = self.tags.iter().find(|known| known.tag == tag).map(|tag| tag.priority);
        self.lossless.iter().any(|lossless| Some(lossless.priority) == priority)
    }

    /// The tag of frames that are no longer lossless.
    pub(super) fn lossy_tag(&self) -> u8 {
        (0..64).find(|&tag| !self.is_lossless(tag)).unwrap_or_default()
    }

    fn mapped(&self, port: &Port, tag: u8, of: fn(&QosMap) -> &Vec<(u8, u8)>) -> u8 {
        let map = self.maps.iter().find(|map| map.ports.contains(&port.name));
        let own = map.and_then(|map| of(map).iter().find(|(known, _)| *known == tag));
        let plain = || self.tags.iter().find(|known| known.tag == tag).map(|tag| tag.priority);
        own.map(|(_, priority)| *priority).or_else(plain).unwrap_or_default()
    }
}

/// A port that is up.
#[derive(Debug)]
pub(super) struct Port {
    pub(super) name: String,
    pub(super) from: String,
    pub(super) mbps: Said<u64>,
    pub(super) mtu: Said<u64>,
    pub(super) cable: Option<Said<String>>,
    pub(super) addresses: Vec<Said<String>>,
    /// Untagged.
    pub(super) access: Option<Said<u16>>,
    /// Tagged.
    pub(super) vlans: Vec<Said<u16>>,
    /// Goes by PCP instead of by DSCP; the key that says so.
    pub(super) by_pcp: Option<String>,
    /// `pfc_enable`, as bits.
    pub(super) pfc: Said<u8>,
    /// The lossless priorities here, as bits.
    pub(super) lossless: u8,
    /// Whether a server with a mux cable is behind it.
    pub(super) has_mux: bool,
    /// The key that says that it is on standby, and so drops what it receives.
    pub(super) standby: Option<String>,
    /// Whether the watchdog looks after it.
    pub(super) watched: bool,
}

/// What a frame costs at the least: the default `cell`.
const CELL_BYTES: u64 = 256;

impl Port {
    /// What the longest frame costs the buffer: Ethernet's header and two VLAN tags around it.
    pub(super) fn frame_bytes(&self) -> u64 {
        (self.mtu.value + 14 + 8).max(CELL_BYTES)
    }
}

/// A threshold of a lossless priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Threshold {
    Dynamic(i64),
    /// Bytes, those that are set aside included.
    Static(u64),
}

/// A lossless priority. What is `None` has its default here.
#[derive(Debug)]
pub(super) struct Lossless {
    pub(super) priority: u8,
    /// Empty: every port with a lossless priority that no other table of this one names.
    pub(super) ports: Vec<String>,
    pub(super) from: String,
    pub(super) size: Option<Said<u64>>,
    pub(super) threshold: Option<Said<Threshold>>,
    pub(super) xon: Option<Said<u64>>,
    pub(super) xon_offset: Option<Said<u64>>,
    pub(super) headroom: Option<Said<u64>>,
}

/// A tag: the DSCP of its number, and what follows from it.
#[derive(Debug)]
pub(super) struct Tag {
    pub(super) tag: u8,
    pub(super) priority: u8,
    pub(super) pcp: Option<u8>,
    pub(super) from: String,
}

/// What differs at some ports from what the tags say.
#[derive(Debug)]
pub(super) struct QosMap {
    pub(super) ports: Vec<String>,
    pub(super) priority_group: Vec<(u8, u8)>,
    pub(super) queue: Vec<(u8, u8)>,
    pub(super) from: String,
}

/// Sizes of pools.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    /// Bytes of the ingress pool of lossless traffic that all its groups share; headroom is beside
    /// it.
    pub(super) shared: Option<Said<u64>>,
    pub(super) lossy: Option<Said<u64>>,
    pub(super) lossy_queue: Option<Said<LossyLimit>>,
    /// Bytes of headroom that all groups share.
    pub(super) headroom_pool: Option<Said<u64>>,
    /// By how much all headroom exceeds what they share, where that is not said in bytes.
    pub(super) over_subscribe_ratio: Option<Said<i64>>,
}

/// What a lossy queue may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LossyLimit {
    /// So many bytes.
    Fixed(u64),
    /// So many times what is left of its pool, as a power of two.
    Moving(i64),
}

/// The peak rate of a queue.
#[derive(Debug)]
pub(super) struct Shaper {
    pub(super) priority: u8,
    /// The ports that have it; none: all of them.
    pub(super) ports: Vec<String>,
    /// Octets a second.
    pub(super) rate: Said<u64>,
    pub(super) burst: Option<Said<u64>>,
    pub(super) from: String,
}

/// What happens to frames by the depth of a queue.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    pub(super) priority: u8,
    pub(super) from: String,
    pub(super) kmin: Said<u64>,
    pub(super) kmax: Said<u64>,
    /// In percent.
    pub(super) pmax: Said<i64>,
}

/// Times in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Watchdog {
    pub(super) detection: Said<i64>,
    pub(super) restoration: Said<i64>,
    pub(super) action: Said<String>,
}

/// An IP-in-IP tunnel.
#[derive(Debug)]
pub(super) struct Tunnel {
    pub(super) name: String,
    pub(super) from: String,
    pub(super) local: Said<String>,
    pub(super) remote: Option<Said<String>>,
    /// The key that says that frames from anywhere are decapsulated.
    pub(super) any_remote: Option<String>,
    /// `pipe` or `uniform`.
    pub(super) dscp: Said<String>,
    pub(super) ttl: Said<String>,
    /// Tags, and those of their outer headers where they differ.
    pub(super) outer_tag: Vec<(u8, u8)>,
    /// The map that says so.
    pub(super) outer_tag_from: Option<String>,
    /// The key that says that the inner header tells the priority group.
    pub(super) priority_group: Option<String>,
}

#[derive(Debug)]
pub(super) struct Route {
    pub(super) to: String,
    /// Empty: a blackhole, or by a tunnel.
    pub(super) via: Vec<String>,
    /// The tunnel that it leads into.
    pub(super) tunnel: Option<String>,
    pub(super) from: String,
}

#[derive(Debug)]
pub(super) struct Neighbor {
    pub(super) address: String,
    pub(super) mac: String,
    pub(super) port: String,
    pub(super) from: String,
}
