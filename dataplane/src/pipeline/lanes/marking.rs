//! What the fast path knows of a frame in place of its class, which it looks up once for all frames
//! with the same marking.

use crate::ids::PortId;
use crate::pipeline::class::Class;
use crate::snapshot::{PortTables, Snapshot};
use crate::tunnel::TunnelId;
use wide::u32x8;

/// What the class of a frame follows from: DSCP, PCP and whether it has a tag; or, with TTL
/// classes, [`Class`] itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marking(pub(super) u32);

/// Where the PCP begins.
pub(super) const PCP: u32 = 6;
/// Whether it has a tag.
pub(super) const TAGGED: u32 = 9;
/// Of a bridged frame also the drop eligible indicator, which it keeps.
pub(super) const DEI: u32 = 10;
/// Of a frame that came out of a tunnel: the DSCP of the outer header, the tunnel, and that it did.
/// No [`Class`] has the last bit.
const OUTER_DSCP: u32 = 16;
const TUNNEL: u32 = 22;
const LEFT_TUNNEL: u32 = 28;

impl Marking {
    /// By lane: the markings of frames with `dscp` that came out of the tunnel `id` with
    /// `outer_dscp`, without a VLAN tag.
    #[inline(always)]
    pub(super) fn behind(dscp: u32x8, outer_dscp: u32x8, id: TunnelId) -> u32x8 {
        #[expect(clippy::cast_possible_truncation, reason = "6 bits")]
        let tunnel = 1 << LEFT_TUNNEL | (id.index() as u32) << TUNNEL;
        dscp | outer_dscp << OUTER_DSCP | u32x8::splat(tunnel)
    }

    /// Whether the frame came out of a tunnel.
    pub(super) const fn has_left_tunnel(self) -> bool {
        self.0 >> LEFT_TUNNEL & 1 == 1
    }

    /// The class of frames with this marking.
    #[inline]
    pub(super) fn class(self, snapshot: &Snapshot, tables: &PortTables, input: PortId) -> Class {
        if self.has_left_tunnel() {
            self.class_after_tunnel(snapshot, tables, input)
        } else {
            self.class_at(tables)
        }
    }

    #[cold]
    fn class_after_tunnel(self, snapshot: &Snapshot, tables: &PortTables, input: PortId) -> Class {
        let outer = Self(self.0 >> OUTER_DSCP & 63).class_at(tables);
        let inner = Self(self.0 & 63).class_at(tables);
        let id = TunnelId::from_index((self.0 >> TUNNEL & 63) as usize);
        let tunnel = id.and_then(|id| snapshot.tunnels.get(id));
        tunnel.map_or(inner, |tunnel| snapshot.class_after_tunnel(tunnel, input, outer, inner))
    }

    /// The class of frames that come with this marking.
    #[inline]
    fn class_at(self, tables: &PortTables) -> Class {
        if tables.fast_path.ttl_classes.is_some() {
            return Class::from_bits(self.0);
        }
        let [dscp, pcp] = [self.0 & 63, self.0 >> PCP & 7].map(|field| field.to_le_bytes()[0]);
        tables.classifier.classify(Some(dscp), self.is_tagged().then_some(pcp))
    }

    const fn is_tagged(self) -> bool {
        self.0 >> TAGGED & 1 == 1
    }

    /// The tag control information of bridged frames with a tag and this marking, without the VID.
    #[inline]
    pub(super) fn tci(self) -> u16 {
        let [low, high] =
            [self.0 >> PCP & 7, self.0 >> DEI & 1].map(|field| field.to_le_bytes()[0]);
        u16::from(low) << 13 | u16::from(high) << 12
    }
}
