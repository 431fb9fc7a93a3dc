//! Rules: determine the tag that a frame leaves with, and its ingress and egress priority.
//!
//! Reads: class, ingress and egress port, the switch's rules. Counts: nothing. A frame that no rule
//! keeps lossless becomes lossy.

use super::class::Class;
use super::outcome::{Outcome, TagChange};
use crate::buffer::ViqId;
use crate::ids::{PortId, Tag};
use crate::rx_queues::Ingress;
use crate::snapshot::Snapshot;

/// The result of the rules for one frame and egress port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tagged {
    /// The tag that the frame leaves with.
    pub(crate) tag: Tag,
    /// The DSCP to write, if the marking changes.
    pub(crate) dscp: Option<u8>,
    /// The outcome that follows.
    pub(crate) outcome: Outcome,
}

/// Applies the rules to a frame of `class` from `input` to `output`.
///
/// The *new* tag determines the egress priority (Tagger, Fig. 8); the old tag determines the VIQ. A
/// frame that becomes lossy here is charged to a lossy VIQ, so that it can neither pause upstream
/// nor use headroom.
#[inline(always)]
pub(crate) fn apply(snapshot: &Snapshot, class: Class, input: Ingress, output: PortId) -> Tagged {
    let tag = snapshot.new_tag(class, input.port, output);
    if tag != class.tag() || class.must_remark() {
        return changed(snapshot, class, tag, input, output);
    }
    let priority = class.priority();
    let viq = ViqId::new(input.queue, priority);
    let outcome = Outcome::forward(viq, output, priority, TagChange::None, priority);
    Tagged { tag, dscp: None, outcome }
}

/// [`apply`] for a frame whose tag or marking changes.
#[inline(never)]
fn changed(snapshot: &Snapshot, class: Class, tag: Tag, input: Ingress, output: PortId) -> Tagged {
    let is_own = tag == class.tag();
    // With TTL classes the tag alone does not determine the priority.
    let priority = if is_own { class.priority() } else { snapshot.tags.priority[tag.index()] };
    let change = match tag {
        _ if is_own => TagChange::Remarked,
        _ if snapshot.tags.is_lossless(tag) => TagChange::Raised,
        _ => TagChange::Demoted,
    };
    let charged = if change == TagChange::Demoted { priority } else { class.priority() };
    let viq = ViqId::new(input.queue, charged);
    let outcome = Outcome::forward(viq, output, priority, change, class.priority());
    let outcome = if is_own { outcome } else { outcome.with_tags(class.tag(), tag) };
    Tagged { tag, dscp: Some(snapshot.tags.dscp[tag.index()]), outcome }
}
