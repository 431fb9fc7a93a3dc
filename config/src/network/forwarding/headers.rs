//! The headers of a frame, as far as they decide where it goes and in which priority.

use super::lookup::DestinationId;
use std::net::{IpAddr, Ipv4Addr};

/// Outer headers that are followed, one within another.
pub(super) const NESTED_MAX: usize = 4;

/// The headers of a frame.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Headers {
    /// The destination of the innermost header.
    pub(super) inner: DestinationId,
    /// The DSCP of the innermost header.
    pub(super) inner_dscp: u8,
    /// The PCP of its VLAN tag.
    pub(super) pcp: Option<u8>,
    /// The headers of the tunnels that it is in, the outermost one last.
    pub(super) outer: Vec<Outer>,
}

/// The outer header of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Outer {
    pub(super) source: Ipv4Addr,
    pub(super) destination: DestinationId,
    pub(super) dscp: u8,
}

impl Headers {
    /// Those of a frame in no tunnel.
    pub(super) const fn plain(inner: DestinationId, inner_dscp: u8, pcp: Option<u8>) -> Self {
        Self { inner, inner_dscp, pcp, outer: Vec::new() }
    }

    /// The outermost destination.
    pub(super) fn destination(&self) -> DestinationId {
        self.outer.last().map_or(self.inner, |outer| outer.destination)
    }

    /// The outermost DSCP.
    pub fn dscp(&self) -> u8 {
        self.outer.last().map_or(self.inner_dscp, |outer| outer.dscp)
    }

    /// The DSCP of the innermost header, if the frame is in a tunnel.
    pub fn inner_dscp(&self) -> Option<u8> {
        (!self.outer.is_empty()).then_some(self.inner_dscp)
    }

    pub(super) fn set_dscp(&mut self, dscp: u8) {
        match self.outer.last_mut() {
            Some(outer) => outer.dscp = dscp,
            None => self.inner_dscp = dscp,
        }
    }

    /// In words.
    pub(super) fn show(&self, address: impl Fn(DestinationId) -> IpAddr) -> String {
        let inner = format!("DSCP {} to {}", self.inner_dscp, address(self.inner));
        self.outer.iter().fold(inner, |inner, outer| {
            let inner = inner.replacen("DSCP", "inner DSCP", 1);
            format!("DSCP {} to {} ({inner})", outer.dscp, address(outer.destination))
        })
    }
}
