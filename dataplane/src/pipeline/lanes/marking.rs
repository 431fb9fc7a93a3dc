//! What the fast path knows of a frame in place of its class, which it looks up once for all frames
//! with the same marking.

use crate::pipeline::class::Class;
use crate::snapshot::PortTables;

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

impl Marking {
    /// The class of frames with this marking.
    #[inline]
    pub(super) fn class(self, tables: &PortTables) -> Class {
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
