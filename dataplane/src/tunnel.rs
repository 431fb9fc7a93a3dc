//! IP-in-IP tunnels: IPv4 (RFC 2003) and IPv6 (RFC 4213) in IPv4.
//!
//! A tunnel changes headers on the way through the switch, and so it is part of a frame's route:
//! [`Hop::Tunnel`](crate::fib::Hop::Tunnel) adds a header, and a frame for [`Tunnel::local`] loses
//! one. The pipeline does both on reception (`pipeline/encapsulate.rs`, `decapsulate.rs`).
//!
//! The outer header has a tag of its own, [`Tunnel::outer_tag`]. The queue of an encapsulated frame
//! and the VIQ of one that arrives follow from it, as from the tag of any other frame. SONiC's
//! bounce-back of dual-ToR switches, PCBB, is such a map: lossless frames that a standby switch
//! sends back up leave in another lossless priority than they came in.

use crate::ids::Tag;
use crate::limits::TAGS;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

/// The most tunnels of a switch.
pub const TUNNELS_MAX: usize = 64;

/// A tunnel, counted from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TunnelId(u8);

impl TunnelId {
    /// The tunnel with this index; `None` from [`TUNNELS_MAX`] on.
    pub const fn from_index(index: usize) -> Option<Self> {
        #[expect(clippy::cast_possible_truncation, reason = "below TUNNELS_MAX")]
        if index < TUNNELS_MAX { Some(Self(index as u8)) } else { None }
    }

    /// The index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// How a field of the outer header and the same field of the inner one relate (RFC 2983; SAI:
/// SAI_TUNNEL_DSCP_MODE, SAI_TUNNEL_TTL_MODE).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum TunnelMode {
    /// Both headers say the same: it is copied out, and back in at the end of the tunnel.
    #[default]
    Uniform,
    /// The inner header passes through the tunnel as it is.
    Pipe,
}

/// Which header tells the VIQ of a frame that leaves a tunnel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum TunnelPriorityGroup {
    /// The outer one: what the neighbor went by when it queued the frame, and so what a pause must
    /// name.
    #[default]
    Outer,
    /// The inner one: the VIQ of the tag that [`Tunnel::outer_tag`] has for the tag of the inner
    /// header (SONiC's `decap_tc_to_pg_map`). Right only if the far end maps alike.
    Inner,
}

/// One end of a tunnel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tunnel {
    /// Our address: the source of outer headers. Frames that come here are decapsulated.
    pub local: Ipv4Addr,
    /// The other end; without one nothing is encapsulated.
    pub remote: Option<Ipv4Addr>,
    /// Whether frames from any source are decapsulated, and not only those from `remote`.
    pub any_remote: bool,
    /// What becomes of the outer DSCP at the end. At the start it follows from `outer_tag`.
    pub dscp: TunnelMode,
    /// Whether the TTL is copied out at the start, and in at the end.
    pub ttl: TunnelMode,
    /// The tag of the outer header, by the tag of the frame.
    pub outer_tag: [Tag; TAGS],
    /// Which header tells the VIQ of a decapsulated frame.
    pub priority_group: TunnelPriorityGroup,
}

impl Tunnel {
    /// The TTL of an outer header in pipe mode (RFC 1700's default).
    pub(crate) const PIPE_TTL: u8 = 64;

    /// Length of an outer header.
    pub const HEADER_BYTES: u16 = 20;

    /// Whether a packet from `source` to `destination` comes out of this tunnel.
    pub(crate) fn ends(&self, source: Ipv4Addr, destination: Ipv4Addr) -> bool {
        self.local == destination && (self.any_remote || self.remote == Some(source))
    }
}

/// The tunnels of a switch, by [`TunnelId`].
#[derive(Clone, Debug, Default)]
pub struct Tunnels(Arc<[Tunnel]>);

impl Tunnels {
    /// These, of which [`TUNNELS_MAX`] are used.
    pub fn new(mut tunnels: Vec<Tunnel>) -> Self {
        tunnels.truncate(TUNNELS_MAX);
        Self(tunnels.into())
    }

    /// The tunnel with this number.
    pub fn get(&self, id: TunnelId) -> Option<&Tunnel> {
        self.0.get(id.index())
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The tunnel out of which a packet from `source` to `destination` comes. Of several that would
    /// do, the one with this very `source` at its other end.
    pub fn ending(&self, source: Ipv4Addr, destination: Ipv4Addr) -> Option<&Tunnel> {
        self.ending_with_id(source, destination).map(|(_, tunnel)| tunnel)
    }

    /// The same with its number.
    pub(crate) fn ending_with_id(
        &self,
        source: Ipv4Addr,
        destination: Ipv4Addr,
    ) -> Option<(TunnelId, &Tunnel)> {
        let all = || (0..).map_while(TunnelId::from_index).zip(&*self.0);
        let ending = || all().filter(|(_, tunnel)| tunnel.ends(source, destination));
        let of_source = ending().find(|(_, tunnel)| tunnel.remote == Some(source));
        of_source.or_else(|| ending().next())
    }
}
