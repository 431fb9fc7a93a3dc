//! What can change under a running switch: classification, rules, routes, VLANs.
//!
//! The control thread builds a snapshot off the packet path; a worker takes it between two turns
//! and gives the old one back, so nothing is freed, lost or reordered while frames move.

use crate::classify::{Class, Classifier, PortTrust, TagMap};
use crate::fib::{Fib, FlowHash};
use crate::hops::HopTable;
use crate::ids::{PortId, Tag};
use crate::l2::{Vid, VlanPort, VlanTable};
use crate::limits::TAGS;
use crate::rules::RuleTable;
use crate::wire::MacAddress;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// How a port forwards.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "one a port, and the packet path reads it in place")]
pub enum PortMode {
    /// As a router, by IP address. With a VLAN, frames carry that tag.
    Routed {
        /// The VLAN that frames of this port are tagged with.
        vlan: Option<Vid>,
    },
    /// As a bridge, by MAC address.
    Bridged(VlanPort),
}

/// One port's part of a snapshot.
#[derive(Clone, Debug)]
pub struct PortForwarding {
    /// The address routed frames must be sent to.
    pub mac: MacAddress,
    /// Routed or bridged.
    pub mode: PortMode,
    /// Who marks.
    pub trust: PortTrust,
}

/// An immutable set of tables. Shared by all workers. What the plain frame needs comes first, in
/// two cache lines.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Snapshot {
    /// By port index.
    pub ports: Vec<PortTables>,
    /// Salted hash that spreads flows over ECMP members.
    pub flow_hash: FlowHash,
    /// Routes.
    pub fib: Fib,
    /// `None`: tags never change, plain PFC.
    pub rules: Option<RuleTable>,
    /// Rises by one with every change; `ctl` waits for it.
    pub epoch: u64,
    /// Tags and their markings.
    pub tags: TagMap,
    /// Who is in which VLAN.
    pub vlans: VlanTable,
}

/// One port's tables, compiled for the packet path. What the plain frame needs is here, in a cache
/// line for each port, and what is longer elsewhere.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct PortTables {
    /// What the plain frame needs of all that follows.
    pub(crate) plain: PlainPort,
    /// The address routed frames must be sent to.
    pub mac: MacAddress,
    /// Routed or bridged.
    pub mode: Box<PortMode>,
    /// From marking to class.
    pub classifier: Box<Classifier>,
}

const _: () = assert!(size_of::<PortTables>() == 64, "a port has one cache line of tables");

/// The tables of a routed port, laid out for the plain frame.
#[derive(Clone, Debug)]
pub(crate) struct PlainPort {
    /// The port's address in the low six octets, the first lowest. A bridged port, which has no
    /// plain frames, has what no frame shows.
    pub(crate) mac_bits: u64,
    /// The class of each DSCP, shared with ports that classify alike.
    pub(crate) by_dscp: Arc<[Class; TAGS]>,
    /// What the TTL makes of it, if that is the scheme.
    pub(crate) hops: Option<Box<HopTable>>,
}

impl PortTables {
    /// Compiles the tables of `port`; `before` are those of the ports before it.
    fn compile(tags: &TagMap, port: &PortForwarding, before: &[Self]) -> Self {
        let classifier = Classifier::compile(tags, &port.trust);
        let by_dscp = classifier.of_untagged_ip();
        let alike = before.iter().map(|tables| &tables.plain.by_dscp).find(|it| ***it == by_dscp);
        let [a, b, c, d, e, f] = port.mac.0;
        let plain = PlainPort {
            mac_bits: match port.mode {
                PortMode::Routed { .. } => u64::from_le_bytes([a, b, c, d, e, f, 0, 0]),
                PortMode::Bridged(_) => u64::MAX,
            },
            by_dscp: alike.map_or_else(|| Arc::new(by_dscp), Arc::clone),
            hops: classifier.hops(),
        };
        Self {
            mac: port.mac,
            mode: Box::new(port.mode.clone()),
            classifier: Box::new(classifier),
            plain,
        }
    }
}

impl Snapshot {
    /// Compiles the tables of `ports`, which stand in port order.
    pub fn new(
        epoch: u64,
        ports: &[PortForwarding],
        tags: TagMap,
        rules: Option<RuleTable>,
        fib: Fib,
        seed: u64,
    ) -> Self {
        let mut tables: Vec<PortTables> = Vec::with_capacity(ports.len());
        for port in ports {
            tables.push(PortTables::compile(&tags, port, &tables));
        }
        let vlan_ports: Vec<Option<VlanPort>> = ports
            .iter()
            .map(|port| match &port.mode {
                PortMode::Bridged(vlan_port) => Some(vlan_port.clone()),
                PortMode::Routed { .. } => None,
            })
            .collect();
        Self {
            epoch,
            ports: tables,
            tags,
            rules,
            fib,
            vlans: VlanTable::compile(&vlan_ports),
            flow_hash: FlowHash::from_seed(seed),
        }
    }

    /// The tag that a frame of `class` goes on with from `input` to `output`. Rules apply to
    /// lossless tags; without rules, and for lossy tags, nothing changes.
    #[inline(always)]
    pub fn new_tag(&self, class: Class, input: PortId, output: PortId) -> Tag {
        match &self.rules {
            Some(rules) if class.is_lossless() => rules.lookup(class.tag(), input, output),
            _ => class.tag(),
        }
    }
}
