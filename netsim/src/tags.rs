//! One meaning of tags, DSCPs and priorities for the whole network: tag t travels as DSCP t.

use dataplane::ids::{Priority, Tag};
use dataplane::limits::{PRIORITIES, TAGS};
use dataplane::pipeline::classify::{ClassifyBy, InitialTags, PortTrust, TagMap};

/// The map in which the tags of `lossless` have these priorities, the first of them is initial, and
/// all others are lossy and share the lowest priority that no lossless tag has.
pub(crate) fn tag_map(lossless: &[(Tag, Priority)]) -> TagMap {
    let mut lossless_bits = 0;
    let mut priority = [None; TAGS];
    for &(tag, of_tag) in lossless {
        lossless_bits |= of_tag.bit();
        priority[tag.index()] = Some(of_tag);
    }
    let lossy_priority = Priority::all().find(|p| lossless_bits & p.bit() == 0).unwrap_or_default();
    let lossy_tag = Tag::all().find(|tag| priority[tag.index()].is_none()).unwrap_or_default();
    TagMap {
        ttl_classes: None,
        dscp_to_tag: std::array::from_fn(tag_of),
        pcp_to_tag: [lossy_tag; PRIORITIES],
        priority: priority.map(|of_tag| of_tag.unwrap_or(lossy_priority)),
        dscp: std::array::from_fn(|tag| tag_of(tag).value()),
        pcp: [0; TAGS],
        lossless_tags: lossless.iter().fold(0, |bits, (tag, _)| bits | 1 << tag.index()),
        lossy_tag,
        initial_tag: lossless.first().map_or(lossy_tag, |&(tag, _)| tag),
        initial_tags: lossless.first().map_or(0, |(tag, _)| 1 << tag.index()),
    }
}

/// Every port trusts the DSCP of what arrives, from hosts too.
pub(crate) const fn trust(tags: &TagMap) -> PortTrust {
    let initial = InitialTags::NONE;
    PortTrust { by: ClassifyBy::Dscp, trusted: true, default_tag: tags.lossy_tag, initial }
}

#[expect(clippy::cast_possible_truncation, reason = "below 64")]
const fn tag_of(index: usize) -> Tag {
    Tag::from_low_bits(index as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lossless_tags_have_their_priorities_and_the_rest_shares_one() {
        let pair = |tag, priority| (Tag::new(tag).unwrap(), Priority::new(priority).unwrap());
        let map = tag_map(&[pair(1, 0), pair(2, 3)]);
        assert_eq!((map.initial_tag.value(), map.lossy_tag.value()), (1, 0));
        assert_eq!((map.priority[1].value(), map.priority[2].value()), (0, 3));
        assert_eq!(map.priority[0].value(), 1, "0 is taken");
        assert!((3..64).all(|tag| map.priority[tag].value() == 1));
        assert_eq!(map.lossless_tags, 0b110);
        assert!((0..64).all(|dscp| map.dscp_to_tag[dscp].index() == dscp));
        let plain = tag_map(&[]);
        assert_eq!((plain.lossless_tags, plain.initial_tag), (0, plain.lossy_tag));
    }
}
