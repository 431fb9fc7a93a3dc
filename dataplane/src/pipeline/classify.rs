//! Classify: marking of the frame -> tag -> ingress priority.
//!
//! VIQ: virtual ingress queue (SONiC: priority group). VEQ: virtual egress queue (egress queue).
//!
//! Reads: DSCP, PCP, the port's trust. Writes: tag, VIQ priority, whether the marking must change.
//! Counts: nothing; every frame has a class.

use crate::ids::{PortId, Priority, Tag};
use crate::limits::{PRIORITIES, TAGS};
use crate::pipeline::class::Class;
use crate::qos_map::QosMaps;
use crate::ttl_class::{TtlClassTable, TtlClasses};
use crate::wire::ethernet;
use crate::wire::parse::{Kind, Parsed};
use alloc::boxed::Box;

/// The mapping between markings, tags and priorities, on all ports of a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagMap {
    /// The tag of each DSCP.
    pub dscp_to_tag: [Tag; TAGS],
    /// The tag of each PCP.
    pub pcp_to_tag: [Tag; PRIORITIES],
    /// The priority of each tag, VIQ and VEQ alike, on ports without a
    /// [`QosMap`](crate::qos_map::QosMap).
    pub priority: [Priority; TAGS],
    /// The DSCP that encodes each tag.
    pub dscp: [u8; TAGS],
    /// The PCP that encodes each tag.
    pub pcp: [u8; TAGS],
    /// Bit t is set if tag t is lossless. Rules apply to lossless tags only.
    pub lossless_tags: u64,
    /// The tag of frames that are demoted from lossless to lossy.
    pub lossy_tag: Tag,
    /// The tag that a lossless frame gets on an untrusted port, unless its marking selects another
    /// application class.
    pub initial_tag: Tag,
    /// Bit t is set if an application class starts with tag t (Tagger, VI-A). On an untrusted port
    /// a frame whose marking encodes such a tag keeps it: the marking selects the class.
    pub initial_tags: u64,
    /// If set, the TTL class of a lossless frame determines its priority, not its tag.
    pub ttl_classes: Option<TtlClasses>,
}

impl TagMap {
    /// Whether frames with `tag` are lossless.
    #[inline(always)]
    pub const fn is_lossless(&self, tag: Tag) -> bool {
        self.lossless_tags >> tag.index() & 1 == 1
    }

    /// The priority in which a node (the sending host or the upstream switch) queued a frame that
    /// it sends with `tag` and `ttl`.
    pub fn priority_leaving(&self, tag: Tag, ttl: u8) -> Priority {
        match &self.ttl_classes {
            Some(ttl_classes) if self.is_lossless(tag) => ttl_classes
                .priority_leaving(ttl)
                .unwrap_or_else(|| self.priority[self.lossy_tag.index()]),
            _ => self.priority[tag.index()],
        }
    }
}

/// The marking that determines the tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum ClassifyBy {
    /// The DSCP; the PCP or the default for frames that are not IP.
    #[default]
    Dscp,
    /// The PCP; the default for frames without a VLAN tag.
    Pcp,
    /// No marking: the port's default tag.
    Port,
}

/// The classification settings of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortTrust {
    /// The marking that determines the tag.
    pub by: ClassifyBy,
    /// Whether the port trusts a lossless tag on the frame. If not, such a frame gets an initial
    /// tag.
    pub trusted: bool,
    /// The tag of frames that have no marking to classify by.
    pub default_tag: Tag,
    /// The tags that markings select on this port, instead of those of the switch's [`TagMap`].
    pub initial: InitialTags,
}

/// The priority regeneration table of an untrusted port (IEEE 802.1Q, 6.9.4; SONiC:
/// DSCP_TO_TC_MAP): the tag of frames with a marking, where it is not what the marking encodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InitialTags {
    /// By DSCP.
    pub by_dscp: [Option<Tag>; TAGS],
    /// By PCP.
    pub by_pcp: [Option<Tag>; PRIORITIES],
}

impl InitialTags {
    /// No marking selects another tag.
    pub const NONE: Self = Self { by_dscp: [None; TAGS], by_pcp: [None; PRIORITIES] };
}

/// The compiled classification of a port.
///
/// A frame may have two markings, DSCP and PCP, and the next switch may classify by the other one.
/// So neither marking leaves with a lossless tag other than the frame's own. Otherwise the next
/// switch could treat a lossy frame as lossless, in a buffer that the rules and the deadlock proof
/// do not account for.
#[derive(Clone, Debug)]
pub struct Classifier {
    by: ClassifyBy,
    by_dscp: [Class; TAGS],
    by_pcp: [Class; PRIORITIES],
    /// The class of the port's default tag.
    default: Class,
    /// The tags that the markings encode, trusted or not.
    dscp_tag: [Tag; TAGS],
    pcp_tag: [Tag; PRIORITIES],
    lossless_tags: u64,
    ttl_classes: Option<Box<TtlClassTable>>,
}

impl Classifier {
    /// Compiles `trust` under `tags`.
    pub fn compile(tags: &TagMap, trust: &PortTrust) -> Self {
        Self::compile_mapped(tags, trust, PortId::FIRST, None)
    }

    /// The same for `port` of a switch whose ports have QoS maps.
    pub(crate) fn compile_mapped(
        tags: &TagMap,
        trust: &PortTrust,
        port: PortId,
        maps: Option<&QosMaps>,
    ) -> Self {
        let class_of = |tag: Tag, remark: bool| {
            let mapped = maps.and_then(|maps| maps.priority_group(tag, port));
            let priority = mapped.unwrap_or_else(|| tags.priority[tag.index()]);
            let class = Class::new(tag, priority, tags.is_lossless(tag), remark);
            let differs = maps.is_some_and(|maps| maps.may_differ(tag, priority));
            if differs { class.with_other_queue() } else { class }
        };
        let class = |marked: Tag, selected: Option<Tag>| {
            let starts_here = tags.initial_tags >> marked.index() & 1 == 1;
            let reset = tags.is_lossless(marked) && !trust.trusted && !starts_here;
            let tag = selected.unwrap_or(if reset { tags.initial_tag } else { marked });
            class_of(tag, tag != marked)
        };
        Self {
            by: trust.by,
            by_dscp: core::array::from_fn(|dscp| {
                class(tags.dscp_to_tag[dscp], trust.initial.by_dscp[dscp])
            }),
            by_pcp: core::array::from_fn(|pcp| {
                class(tags.pcp_to_tag[pcp], trust.initial.by_pcp[pcp])
            }),
            default: class_of(trust.default_tag, false),
            dscp_tag: tags.dscp_to_tag,
            pcp_tag: tags.pcp_to_tag,
            lossless_tags: tags.lossless_tags,
            ttl_classes: ttl_class_table(tags, trust.trusted),
        }
    }

    /// The class of a frame with this DSCP, if it is IP, and this PCP, if it has a VLAN tag.
    #[inline]
    pub fn classify(&self, dscp: Option<u8>, pcp: Option<u8>) -> Class {
        let dscp = dscp.map(|dscp| usize::from(dscp) % TAGS);
        let pcp = pcp.map(|pcp| usize::from(pcp) % PRIORITIES);
        let dscp_tag = dscp.map(|dscp| self.dscp_tag[dscp]);
        let pcp_tag = pcp.map(|pcp| self.pcp_tag[pcp]);
        match (self.by, dscp, pcp) {
            (ClassifyBy::Dscp, Some(dscp), _) => self.beside(self.by_dscp[dscp], pcp_tag),
            (ClassifyBy::Dscp, None, Some(pcp)) => self.by_pcp[pcp],
            (ClassifyBy::Pcp, _, Some(pcp)) => self.beside(self.by_pcp[pcp], dscp_tag),
            // The operator configures the default tag, so it is always trusted. The frame's own
            // marking is rewritten to match it.
            _ => {
                let said = dscp_tag.or(pcp_tag);
                let class = self.default.with_remark(said.is_some_and(|s| s != self.default.tag()));
                self.beside(class, pcp_tag)
            }
        }
    }

    /// `class`, with re-marking if the frame's other marking encodes a lossless tag that differs
    /// from the tag of `class`.
    #[inline]
    fn beside(&self, class: Class, other: Option<Tag>) -> Class {
        let contradicts =
            |tag: Tag| tag != class.tag() && self.lossless_tags >> tag.index() & 1 == 1;
        class.with_remark(class.must_remark() || other.is_some_and(contradicts))
    }
}

impl Classifier {
    /// The class of a parsed frame.
    #[inline]
    pub fn of(&self, parsed: &Parsed) -> Class {
        let is_ip = matches!(parsed.kind, Kind::Ipv4 | Kind::Ipv6);
        let dscp = is_ip.then_some(parsed.tos >> 2);
        let class = self.classify(dscp, parsed.is_tagged().then(|| ethernet::pcp(parsed.tci)));
        match &self.ttl_classes {
            Some(ttl_classes) if is_ip => ttl_classes.of(class, parsed.ttl),
            Some(ttl_classes) => ttl_classes.of_none(class),
            None => class,
        }
    }

    /// The TTL class table, if the switch uses TTL classes.
    pub(crate) fn ttl_classes(&self) -> Option<Box<TtlClassTable>> {
        self.ttl_classes.clone()
    }

    /// The class of each DSCP on an untagged IP frame.
    pub(crate) fn of_untagged_ip(&self) -> [Class; TAGS] {
        core::array::from_fn(|dscp| self.classify(u8::try_from(dscp).ok(), None))
    }
}

/// The TTL class table of a port with this trust, if the switch uses TTL classes. A frame with a
/// lossless marking but no TTL class is re-marked, so that it is lossy on every later switch too.
fn ttl_class_table(tags: &TagMap, trusted: bool) -> Option<Box<TtlClassTable>> {
    let ttl_classes = tags.ttl_classes.as_ref()?;
    let lossy = tags.lossy_tag;
    let lossy = Class::new(lossy, tags.priority[lossy.index()], false, true);
    Some(Box::new(TtlClassTable::compile(ttl_classes, trusted, lossy)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(value: u8) -> Tag {
        Tag::from_low_bits(value)
    }

    /// Tags 1 and 2 are lossless on DSCP 26 and 27, priorities 3 and 4; all else is lossy.
    fn tags() -> TagMap {
        let mut map = TagMap {
            dscp_to_tag: core::array::from_fn(|dscp| tag(if dscp < 3 { 0 } else { dscp as u8 })),
            pcp_to_tag: [tag(0); 8],
            priority: [Priority::from_low_bits(0); TAGS],
            dscp: core::array::from_fn(|tag| tag as u8),
            pcp: [0; TAGS],
            lossless_tags: 0b110,
            lossy_tag: tag(0),
            initial_tag: tag(1),
            initial_tags: 0b10,
            ttl_classes: None,
        };
        for (value, dscp, priority) in [(1, 26, 3), (2, 27, 4)] {
            map.dscp_to_tag[dscp] = tag(value);
            map.pcp_to_tag[usize::from(priority)] = tag(value);
            map.priority[usize::from(value)] = Priority::from_low_bits(priority);
        }
        map
    }

    fn classifier(by: ClassifyBy, trusted: bool) -> Classifier {
        classifier_with(&tags(), by, trusted, InitialTags::NONE)
    }

    fn classifier_with(
        tags: &TagMap,
        by: ClassifyBy,
        trusted: bool,
        initial: InitialTags,
    ) -> Classifier {
        Classifier::compile(tags, &PortTrust { by, trusted, default_tag: tag(0), initial })
    }

    #[test]
    fn a_trusted_port_believes_the_dscp() {
        let classifier = classifier(ClassifyBy::Dscp, true);
        let class = classifier.classify(Some(27), Some(0));
        assert_eq!((class.tag(), class.priority().value()), (tag(2), 4));
        assert!(class.is_lossless() && !class.must_remark());
    }

    #[test]
    fn an_untrusted_port_starts_every_lossless_frame_at_the_initial_tag() {
        let classifier = classifier(ClassifyBy::Dscp, false);
        let class = classifier.classify(Some(27), None);
        assert_eq!((class.tag(), class.priority().value()), (tag(1), 3));
        assert!(class.is_lossless() && class.must_remark());
        assert!(
            !classifier.classify(Some(26), None).must_remark(),
            "it says the initial tag already"
        );
        let lossy = classifier.classify(Some(46), None);
        assert_eq!(
            (lossy.tag(), lossy.is_lossless(), lossy.must_remark()),
            (tag(46), false, false)
        );
    }

    #[test]
    fn an_untrusted_port_keeps_the_initial_tag_of_every_application_class() {
        let two_classes = TagMap { initial_tags: 0b110, ..tags() };
        let classifier = classifier_with(&two_classes, ClassifyBy::Dscp, false, InitialTags::NONE);
        for (dscp, tag_is) in [(26, 1), (27, 2)] {
            let class = classifier.classify(Some(dscp), None);
            assert_eq!((class.tag(), class.must_remark()), (tag(tag_is), false), "DSCP {dscp}");
        }
    }

    #[test]
    fn a_marking_selects_the_initial_tag_that_the_port_has_for_it() {
        let mut initial = InitialTags::NONE;
        initial.by_dscp[48] = Some(tag(2));
        initial.by_dscp[27] = Some(tag(1));
        initial.by_dscp[26] = Some(tag(0));
        initial.by_pcp[5] = Some(tag(2));
        let two_classes = TagMap { initial_tags: 0b110, ..tags() };
        let classifier = classifier_with(&two_classes, ClassifyBy::Dscp, false, initial);
        for (dscp, pcp, tag_is, lossless) in [
            (Some(48), None, 2, true),
            (Some(27), None, 1, true),
            (Some(26), None, 0, false),
            (None, Some(5), 2, true),
        ] {
            let class = classifier.classify(dscp, pcp);
            let expected = (tag(tag_is), lossless, true);
            let found = (class.tag(), class.is_lossless(), class.must_remark());
            assert_eq!(found, expected, "DSCP {dscp:?}, PCP {pcp:?}");
            assert_eq!(class.priority(), two_classes.priority[class.tag().index()]);
        }
        assert!(!classifier.classify(Some(46), None).must_remark(), "no entry, and lossy");
        // The other marking still may not carry another lossless tag (PCP 3: tag 1).
        assert!(classifier.classify(Some(48), Some(3)).must_remark());
    }

    #[test]
    fn frames_without_ip_fall_back_to_the_pcp_and_then_to_the_default() {
        let classifier = classifier(ClassifyBy::Dscp, true);
        assert_eq!(classifier.classify(None, Some(4)).tag(), tag(2));
        assert_eq!(classifier.classify(None, None).tag(), tag(0));
    }

    #[test]
    fn a_port_that_goes_by_pcp_does_not_look_at_the_dscp() {
        let classifier = classifier(ClassifyBy::Pcp, true);
        assert_eq!(classifier.classify(Some(26), Some(4)).tag(), tag(2));
        assert_eq!(classifier.classify(Some(26), None).tag(), tag(0));
    }

    #[test]
    fn a_marking_that_does_not_decide_cannot_claim_a_lossless_tag() {
        let by_dscp = classifier(ClassifyBy::Dscp, true);
        let by_pcp = classifier(ClassifyBy::Pcp, true);
        for (classifier, dscp, pcp, tag_is, remark) in [
            (&by_dscp, 46, 3, 46, true),
            (&by_dscp, 26, 4, 1, true),
            (&by_dscp, 26, 3, 1, false),
            (&by_dscp, 26, 0, 1, false),
            (&by_dscp, 46, 7, 46, false),
            (&by_pcp, 26, 0, 0, true),
            (&by_pcp, 26, 4, 2, true),
            (&by_pcp, 27, 4, 2, false),
            (&by_pcp, 46, 4, 2, false),
        ] {
            let class = classifier.classify(Some(dscp), Some(pcp));
            assert_eq!(
                (class.tag(), class.must_remark()),
                (tag(tag_is), remark),
                "DSCP {dscp}, PCP {pcp}"
            );
        }
    }

    #[test]
    fn what_has_no_marking_or_the_right_one_is_not_re_marked() {
        let by_port = classifier(ClassifyBy::Port, true);
        let remark = |dscp, pcp| by_port.classify(dscp, pcp).must_remark();
        assert!(!remark(None, None) && !remark(Some(0), None) && !remark(Some(0), Some(0)));
        assert!(remark(Some(46), None) && remark(None, Some(3)) && remark(Some(0), Some(3)));
        let by_dscp = classifier(ClassifyBy::Dscp, true);
        assert!(!by_dscp.classify(None, None).must_remark());
    }

    #[test]
    fn a_port_that_goes_by_nothing_rewrites_what_the_frame_says() {
        let classifier = classifier(ClassifyBy::Port, true);
        let class = classifier.classify(Some(26), Some(4));
        assert_eq!((class.tag(), class.is_lossless(), class.must_remark()), (tag(0), false, true));
    }
}
