//! Along its path a frame's tag never falls, and a lossy frame stays lossy: half of the proof that
//! rules are deadlock-free (Tagger, section IV). Read from the DSCP of every frame at every hop.

use super::violation::Violation;
use crate::event::Picoseconds;
use crate::flow::dscp;
use crate::frame::SimFrame;
use dataplane::ids::Tag;
use dataplane::limits::TAGS;
use dataplane::pipeline::classify::TagMap;
use std::collections::BTreeMap;

/// Stands for all lossy tags, above every lossless one.
pub(crate) const LOSSY: u8 = 64;

/// Frames whose tag changed, by tag and new tag; a new tag that is lossy is [`LOSSY`].
pub(crate) type TagChangeSums = BTreeMap<(u8, u8), u64>;

/// Compares what each frame carries with what it carried a hop before.
#[derive(Clone, Debug)]
pub(crate) struct TagWatch {
    /// By DSCP: the tag if it is lossless, else [`LOSSY`].
    rank: [u8; TAGS],
    /// The first by time, and of one instant by wire: when, on which wire, from which rank to
    /// which.
    violation: Option<(Picoseconds, u32, u8, u8)>,
    /// Frames whose rank changed.
    changes: TagChangeSums,
    /// Whether only rules change tags. With TTL classes a switch makes frames lossy by their TTL,
    /// and switches with files change tags as those say.
    by_rules: bool,
    /// Whether tags may fall: a frame that leaves a tunnel has the tag of its inner header.
    may_fall: bool,
}

impl TagWatch {
    pub(crate) fn new(tags: &TagMap) -> Self {
        let rank = |tag: Tag| if tags.is_lossless(tag) { tag.value() } else { LOSSY };
        Self {
            rank: tags.dscp_to_tag.map(rank),
            violation: None,
            changes: TagChangeSums::new(),
            by_rules: tags.ttl_classes.is_none(),
            may_fall: false,
        }
    }

    /// The watch of switches that change tags as files say, which are not those of one compiler.
    pub(crate) fn by_files(self, by_files: bool) -> Self {
        Self { by_rules: self.by_rules && !by_files, may_fall: by_files, ..self }
    }

    #[inline(always)]
    fn rank(&self, frame: &SimFrame) -> u8 {
        self.rank[usize::from(dscp(frame) & 63)]
    }

    /// A host sends `frame`.
    #[inline]
    pub(crate) fn starts(&self, frame: &mut SimFrame) {
        frame.set_tag_rank(self.rank(frame));
    }

    /// A frame arrives by `wire`.
    #[inline]
    pub(crate) fn arrives(&mut self, frame: &mut SimFrame, wire: u32, now_ps: Picoseconds) {
        let rank = self.rank(frame);
        let before = frame.tag_rank();
        frame.set_tag_rank(rank);
        if rank != before {
            *self.changes.entry((before, rank)).or_default() += 1;
        }
        if rank < before && !self.may_fall {
            let violation = (now_ps, wire, before, rank);
            self.violation = Some(self.violation.map_or(violation, |first| first.min(violation)));
        }
    }

    /// Frames whose tag changed, if only rules change tags.
    pub(super) fn changes(&self) -> Option<&TagChangeSums> {
        self.by_rules.then_some(&self.changes)
    }

    /// The first fall, by all watches. `sender` names the sender of a wire.
    pub(crate) fn check(
        watches: &[&Self],
        sender: impl Fn(u32) -> String,
    ) -> Result<(), Violation> {
        let first = watches.iter().filter_map(|watch| watch.violation).min();
        let Some((_, wire, from, to)) = first else { return Ok(()) };
        // A lossy rank has many tags; the lossy one stands for them.
        let tag = |rank: u8| Tag::from_low_bits(if rank == LOSSY { 0 } else { rank });
        Err(Violation::TagFell { sender: sender(wire), from: tag(from), to: tag(to) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Pool;
    use crate::tags::tag_map;
    use dataplane::frame::Frame;
    use dataplane::ids::Priority;

    /// The first fall along a path on which the frame has these DSCPs.
    fn walk(dscps: &[u8]) -> Option<(u8, u8)> {
        let lossless = [2, 5].map(|t| (Tag::new(t).unwrap(), Priority::new(t).unwrap()));
        let mut watch = TagWatch::new(&tag_map(&lossless));
        let mut frame = Pool::default().take(&[0; 60], 60);
        for (at, dscp) in (0_u64..).zip(dscps) {
            frame.head_mut()[15] = dscp << 2 | 3;
            if at == 0 {
                watch.starts(&mut frame);
            } else {
                watch.arrives(&mut frame, 1, at);
            }
        }
        TagWatch::check(&[&watch], |wire| wire.to_string()).err().map(|violation| match violation {
            Violation::TagFell { from, to, .. } => (from.value(), to.value()),
            other => panic!("{other}"),
        })
    }

    #[test]
    fn a_tag_may_stay_rise_or_become_lossy_and_nothing_else() {
        for fine in [&[2, 2, 5, 5][..], &[2, 0], &[5, 7, 0, 63], &[0, 1]] {
            assert_eq!(walk(fine), None, "{fine:?}");
        }
        assert_eq!(walk(&[2, 5, 2]), Some((5, 2)));
        assert_eq!(walk(&[5, 0, 5]), Some((0, 5)), "lossy is for ever");
        assert_eq!(walk(&[5, 2, 5, 2]), Some((5, 2)), "the first one is reported");
    }
}
