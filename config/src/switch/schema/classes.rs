//! What class a frame has: `[[tag]]`, `[[initial_tag]]`, `[[qos_map]]` and `[ttl]`.

use super::Field;
use crate::fields::{Dscp, Pcp, PriorityField, TagField};
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

/// `[[tag]]`: one tag. With no `[[tag]]` at all, a tag travels in the DSCP of its number and the
/// PCP of its priority; priorities come from the rule file or, without one, tag p has the lossless
/// priority p.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::switch) struct TagTable {
    /// 0 to 63.
    pub(in crate::switch) tag: Spanned<TagField>,
    /// The DSCP that carries it. Default: the tag's number.
    pub(in crate::switch) dscp: Field<Dscp>,
    /// The PCP that carries it. Default: its priority, if that is lossless; the DSCP's upper three
    /// bits otherwise.
    pub(in crate::switch) pcp: Field<Pcp>,
    /// Its priority. Default: what the rule file says; a lossy one if it says nothing.
    pub(in crate::switch) priority: Field<PriorityField>,
}

/// `[[initial_tag]]`: the tag that frames with a marking start with at untrusted ports (IEEE
/// 802.1Q: priority regeneration; SONiC: DSCP_TO_TC_MAP). So hosts select an application class by
/// DSCP or PCP. A marking without an entry keeps an initial tag of the rule file and any lossy tag;
/// every other lossless tag becomes `initial_tag` of the rule file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::switch) struct InitialTagTable {
    /// The tag: one of the rule file's initial tags, or a lossy one.
    pub(in crate::switch) tag: Spanned<TagField>,
    /// The DSCPs that select it, at ports that classify by DSCP.
    pub(in crate::switch) dscp: Field<Vec<Spanned<Dscp>>>,
    /// The PCPs that select it, at ports that classify by PCP, and for frames that are not IP.
    pub(in crate::switch) pcp: Field<Vec<Spanned<Pcp>>>,
    /// Names or numbers of the ports. Default: every untrusted port that has no entry of its own
    /// for the marking.
    pub(in crate::switch) ports: Field<Vec<Spanned<String>>>,
}

/// `[[qos_map]]`: the priorities of tags on some ports (SONiC: PORT_QOS_MAP), where they differ
/// from those of `[[tag]]`. So a tag may have one priority where it is received and another where
/// it is sent. Neither tag nor marking changes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::switch) struct QosMapTable {
    /// Names or numbers of the ports. Default: every port that no other `[[qos_map]]` names.
    pub(in crate::switch) ports: Field<Vec<Spanned<String>>>,
    /// By tag, the priority of the VIQ of frames that these ports receive (SONiC:
    /// TC_TO_PRIORITY_GROUP_MAP): `{ 3 = 3, "8-45" = 0 }`. A tag without an entry keeps its own.
    #[serde(default)]
    pub(in crate::switch) priority_group: BTreeMap<String, Spanned<PriorityField>>,
    /// By tag, the priority of the VEQ of frames that these ports send (SONiC: TC_TO_QUEUE_MAP).
    #[serde(default)]
    pub(in crate::switch) queue: BTreeMap<String, Spanned<PriorityField>>,
}

/// `[ttl]`: lossless frames go by the hops they have made. A frame's class is `start` less the TTL
/// it leaves with, so hosts are class 0 and the first switch has class 1; the marking only says
/// that it is lossless.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::switch) struct TtlTable {
    /// The TTL that lossless frames start with. Default 64.
    pub(in crate::switch) start: Field<u64>,
    /// The priority of each class, from class 0, that of the sending hosts, on: `[0, 1, 2, 3]`.
    pub(in crate::switch) classes: Spanned<Vec<Spanned<PriorityField>>>,
    /// Links of the longest path in the network: there must be as many classes.
    pub(in crate::switch) hops: Field<u64>,
    /// On a tree consecutive classes never meet in one switch: it needs buffer for `"odd"` classes
    /// only (switches with hosts, and every second level above), or for `"even"` ones. Default: for
    /// all.
    pub(in crate::switch) tree: Option<TreeField>,
    /// The one priority in which hosts send all lossless frames and pause all that they receive, as
    /// NICs do that go by DSCP: pauses are translated at ports that are not `trusted`. Default:
    /// hosts pause by class.
    pub(in crate::switch) host_priority: Field<PriorityField>,
    /// Whether each class has a part of the buffer of its own, all of equal size, instead of all
    /// classes sharing one. Default false.
    #[serde(default)]
    pub(in crate::switch) partitions: bool,
}

/// Which classes come to a switch of a tree.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(in crate::switch) enum TreeField {
    /// Classes 1, 3, 5 and 7.
    Odd,
    /// Classes 2, 4 and 6.
    Even,
}
