//! How hosts pause under the TTL scheme: by the class of a frame, or as NICs do.

use dataplane::ids::{Priority, Tag};
use dataplane::pipeline::classify::TagMap;
use std::sync::Arc;

/// How hosts pause under the TTL scheme.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostPauses {
    /// Each class in the priority in which its frames arrive, as the scheme demands.
    #[default]
    ByClass,
    /// By DSCP, as NICs do: all lossless frames are of class 0, sent or received.
    ByDscp,
    /// By DSCP, and switches translate at ports with hosts.
    Translated,
}

impl HostPauses {
    /// The priority of hosts that have only one: class 0, in which switches pause them.
    pub(crate) fn priority(self, classes: &[Priority]) -> Option<Priority> {
        classes.first().copied().filter(|_| self != Self::ByClass)
    }

    /// The priority for which switches translate.
    pub(crate) fn translated(self, classes: &[Priority]) -> Option<Priority> {
        self.priority(classes).filter(|_| self == Self::Translated)
    }

    /// The priorities of frames as hosts see them.
    pub(crate) fn tags(self, classes: &[Priority], tags: &Arc<TagMap>) -> Arc<TagMap> {
        let Some(host) = self.priority(classes) else { return Arc::clone(tags) };
        let mut priority = tags.priority;
        for tag in Tag::all().filter(|&tag| tags.is_lossless(tag)) {
            priority[tag.index()] = host;
        }
        Arc::new(TagMap { ttl_classes: None, priority, ..TagMap::clone(tags) })
    }
}
