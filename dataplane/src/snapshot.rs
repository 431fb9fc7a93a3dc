//! The tables that can change while the switch runs: classification, rules, routes, VLANs.
//!
//! The control thread builds a snapshot off the packet path. A worker installs it between two
//! bursts and returns the old one. So the packet path frees no tables, and a change loses or
//! reorders no frame.

use crate::fib::{Fib, FlowHash};
use crate::ids::{PortId, Priority, Tag};
use crate::l2::{Vid, VlanPort, VlanTable};
use crate::limits::TAGS;
use crate::pipeline::class::Class;
use crate::pipeline::classify::{Classifier, PortTrust, TagMap};
use crate::qos_map::{QosMap, QosMaps};
use crate::rules::RuleTable;
use crate::ttl_class::TtlClassTable;
use crate::tunnel::{Tunnel, TunnelPriorityGroup, Tunnels};
use crate::wire::MacAddress;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// How a port forwards.
#[derive(Clone, Debug)]
pub enum PortMode {
    /// Routed, by IP address. With a VLAN, frames carry that tag.
    Routed {
        /// The VLAN with which frames of this port are tagged.
        vlan: Option<Vid>,
    },
    /// Bridged, by MAC address.
    Bridged(Box<VlanPort>),
}

/// One port's part of a snapshot.
#[derive(Clone, Debug)]
pub struct PortForwarding {
    /// The destination MAC address of frames to be routed.
    pub mac: MacAddress,
    /// Routed or bridged.
    pub mode: PortMode,
    /// Whose markings the port accepts.
    pub trust: PortTrust,
    /// Whether the port drops frames whose source belongs to another port: a bridged port by MAC
    /// address, a routed port by the route back to the IP address (RFC 3704, 2.2).
    pub checks_source: bool,
    /// Whether the host has a TAP for the port: what the switch does not handle is punted.
    pub has_tap: bool,
    /// The priorities of tags on this port; `None`: those of the switch's [`TagMap`].
    pub qos_map: Option<Arc<QosMap>>,
}

/// A station that the operator has put on a bridged port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StaticMac {
    /// Its VLAN.
    pub vid: Vid,
    /// Its address.
    pub mac: MacAddress,
    /// The port it is on.
    pub port: PortId,
}

/// An immutable set of tables, shared by all workers. The fields that a fast-path frame needs come
/// first, in two cache lines.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Snapshot {
    /// By port index.
    pub ports: Vec<PortTables>,
    /// Salted hash that distributes flows over ECMP members.
    pub flow_hash: FlowHash,
    /// Routes.
    pub fib: Fib,
    /// `None`: tags never change, ordinary PFC.
    pub rules: Option<RuleTable>,
    /// Incremented with every change; `ctl` waits for it.
    pub epoch: u64,
    /// Tags and their markings.
    pub tags: TagMap,
    /// VLAN membership of ports.
    pub vlans: VlanTable,
    /// Stations that the operator has put on ports.
    pub static_macs: Vec<StaticMac>,
    /// IP-in-IP tunnels.
    pub tunnels: Tunnels,
    /// The priorities of tags by port; `None`: those of `tags`, on every port.
    pub(crate) qos_maps: Option<QosMaps>,
}

/// One port's tables, compiled for the packet path. What a fast-path frame needs is here, in one
/// cache line per port; larger tables are boxed.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct PortTables {
    /// What a fast-path frame needs of the fields below.
    pub(crate) fast_path: FastPathPort,
    /// The destination MAC address of frames to be routed.
    pub mac: MacAddress,
    /// Whether the port drops frames whose source belongs to another port.
    pub(crate) checks_source: bool,
    /// Whether the host has a TAP for the port.
    pub(crate) has_tap: bool,
    /// Routed or bridged.
    pub mode: PortMode,
    /// Maps markings to classes.
    pub classifier: Box<Classifier>,
}

const _: () = assert!(size_of::<PortTables>() == 64, "a port has one cache line of tables");

/// The tables of a routed port, laid out for fast-path frames.
#[derive(Clone, Debug)]
pub(crate) struct FastPathPort {
    /// The port's address in the low six octets, the first octet lowest. A bridged port has no
    /// fast-path frames, nor has a routed one that checks sources; its value matches no frame.
    pub(crate) mac_bits: u64,
    /// The class of each DSCP, shared among ports that classify alike.
    pub(crate) by_dscp: Arc<[Class; TAGS]>,
    /// The TTL classes, if they are in use.
    pub(crate) ttl_classes: Option<Box<TtlClassTable>>,
    /// The VLAN whose tag frames may carry; 0 if none.
    pub(crate) vlan: u32,
}

impl PortTables {
    /// Compiles the tables of `port`; `before` are the tables of the ports before it.
    fn compile(
        tags: &TagMap,
        maps: Option<&QosMaps>,
        port: &PortForwarding,
        before: &[Self],
    ) -> Self {
        let id = PortId::from_index(before.len()).unwrap_or_default();
        let classifier = Classifier::compile_mapped(tags, &port.trust, id, maps);
        let by_dscp = classifier.of_untagged_ip();
        let alike =
            before.iter().map(|tables| &tables.fast_path.by_dscp).find(|it| ***it == by_dscp);
        let [a, b, c, d, e, f] = port.mac.0;
        let fast_path = FastPathPort {
            mac_bits: match port.mode {
                PortMode::Routed { .. } if !port.checks_source => {
                    u64::from_le_bytes([a, b, c, d, e, f, 0, 0])
                }
                PortMode::Routed { .. } | PortMode::Bridged(_) => u64::MAX,
            },
            by_dscp: alike.map_or_else(|| Arc::new(by_dscp), Arc::clone),
            ttl_classes: classifier.ttl_classes(),
            vlan: match port.mode {
                PortMode::Routed { vlan: Some(vlan) } => u32::from(vlan.value()),
                PortMode::Routed { vlan: None } | PortMode::Bridged(_) => 0,
            },
        };
        Self {
            mac: port.mac,
            mode: port.mode.clone(),
            classifier: Box::new(classifier),
            fast_path,
            checks_source: port.checks_source,
            has_tap: port.has_tap,
        }
    }
}

impl Snapshot {
    /// Compiles the tables of `ports`, in port order.
    pub fn new(
        epoch: u64,
        ports: &[PortForwarding],
        tags: TagMap,
        rules: Option<RuleTable>,
        fib: Fib,
        seed: u64,
    ) -> Self {
        let qos_maps: Vec<_> = ports.iter().map(|port| port.qos_map.clone()).collect();
        let qos_maps = QosMaps::compile(tags.priority, &qos_maps);
        let mut tables: Vec<PortTables> = Vec::with_capacity(ports.len());
        for port in ports {
            tables.push(PortTables::compile(&tags, qos_maps.as_ref(), port, &tables));
        }
        let ids = (0..).filter_map(PortId::from_index);
        let bridged = ids.zip(ports).filter_map(|(id, port)| match &port.mode {
            PortMode::Bridged(vlan_port) => Some((id, &**vlan_port)),
            PortMode::Routed { .. } => None,
        });
        Self {
            epoch,
            ports: tables,
            tags,
            rules,
            fib,
            vlans: VlanTable::compile(&bridged.collect::<Vec<_>>()),
            flow_hash: FlowHash::from_seed(seed),
            static_macs: Vec::new(),
            tunnels: Tunnels::default(),
            qos_maps,
        }
    }

    /// The tag with which a frame of `class` from `input` leaves `output`. Rules apply to lossless
    /// tags. Without rules, and for lossy tags, the tag is unchanged.
    #[inline(always)]
    pub fn new_tag(&self, class: Class, input: PortId, output: PortId) -> Tag {
        match &self.rules {
            Some(rules) if class.is_lossless() => rules.lookup(class.tag(), input, output),
            _ => class.tag(),
        }
    }

    /// The priority in which a frame of `class` leaves `output` with `new_tag`.
    pub fn egress_priority(&self, class: Class, new_tag: Tag, output: PortId) -> Priority {
        let mapped = self.qos_maps.as_ref().and_then(|maps| maps.queue(new_tag, output));
        mapped.unwrap_or_else(|| {
            // With TTL classes the tag alone does not determine the priority. The class of a frame
            // that left a tunnel has the priority of its VIQ.
            let is_of_class = new_tag == class.tag() && self.tags.ttl_classes.is_some();
            if is_of_class { class.priority() } else { self.tags.priority[new_tag.index()] }
        })
    }

    /// The priority of the VIQ of frames of `tag` from `input`.
    pub fn viq_priority(&self, tag: Tag, input: PortId) -> Priority {
        let mapped = self.qos_maps.as_ref().and_then(|maps| maps.priority_group(tag, input));
        mapped.unwrap_or_else(|| self.tags.priority[tag.index()])
    }

    /// The class of a frame after `tunnel`, which came in by `input`: the tag of its inner header,
    /// in the VIQ that the tunnel says. `outer` and `inner` are what the port makes of each header.
    pub fn class_after_tunnel(
        &self,
        tunnel: &Tunnel,
        input: PortId,
        outer: Class,
        inner: Class,
    ) -> Class {
        if !inner.is_lossless() {
            return inner;
        }
        let (priority, is_lossless) = match tunnel.priority_group {
            TunnelPriorityGroup::Outer => (outer.priority(), outer.is_lossless()),
            TunnelPriorityGroup::Inner => {
                let tag = tunnel.outer_tag[inner.tag().index()];
                (self.viq_priority(tag, input), self.tags.is_lossless(tag))
            }
        };
        let class = if is_lossless {
            Class::new(inner.tag(), priority, true, inner.must_remark())
        } else {
            // It could be lost on the way here, so it can here. Its marking stays: nobody before
            // this switch waited for it.
            let lossy_tag = self.tags.lossy_tag;
            Class::new(lossy_tag, self.viq_priority(lossy_tag, input), false, false)
        };
        class.with_other_queue()
    }
}
