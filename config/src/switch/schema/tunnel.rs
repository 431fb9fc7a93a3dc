//! IP-in-IP tunnels: `[[tunnel]]`.

use super::Field;
use crate::fields::{Address, TagField};
use dataplane::tunnel::{TunnelMode, TunnelPriorityGroup};
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

/// `[[tunnel]]`: one end of a tunnel that carries IPv4 and IPv6 in IPv4 (SONiC: TUNNEL). Routes
/// lead into it by their `tunnel`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::switch) struct TunnelTable {
    /// Its name, for routes.
    pub(in crate::switch) name: Spanned<String>,
    /// Our end: an IPv4 address of `loopback`. Packets of IP protocols 4 and 41 that come here are
    /// decapsulated.
    pub(in crate::switch) local: Spanned<Address>,
    /// The other end, an IPv4 address. Without it the tunnel only decapsulates.
    pub(in crate::switch) remote: Field<Address>,
    /// Decapsulate packets from any source, and not only from `remote`. Default: true without
    /// `remote`, else false.
    pub(in crate::switch) any_remote: Field<bool>,
    /// `"uniform"`: the outer DSCP is copied to the inner header at the end. `"pipe"`: the inner
    /// DSCP stays. Default `"uniform"`.
    pub(in crate::switch) dscp: Field<TunnelMode>,
    /// The same of the TTL; with `"pipe"` an outer header begins with 64. Default `"pipe"`.
    #[serde(default = "pipe")]
    pub(in crate::switch) ttl: TunnelMode,
    /// The tag of the outer header by the tag of the frame (SONiC: TC_TO_DSCP_MAP and
    /// TC_TO_QUEUE_MAP of a tunnel): `{ 3 = 2, 4 = 6 }`. DSCP and queue of an encapsulated frame
    /// follow from it. A tag without an entry keeps its own.
    #[serde(default)]
    pub(in crate::switch) outer_tag: BTreeMap<String, Spanned<TagField>>,
    /// Which header tells the VIQ of a decapsulated frame. `"outer"`: the queue that the neighbor
    /// sent it from. `"inner"`: the priority of `outer_tag` of the inner header's tag (SONiC:
    /// TC_TO_PRIORITY_GROUP_MAP of a tunnel). Default `"outer"`.
    #[serde(default)]
    pub(in crate::switch) priority_group: TunnelPriorityGroup,
}

const fn pipe() -> TunnelMode {
    TunnelMode::Pipe
}
