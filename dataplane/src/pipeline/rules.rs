//! Rules: determine the tag that a frame leaves with, and its ingress and egress priority.
//!
//! Reads: class, ingress and egress port, the switch's rules. Counts: nothing. A frame that no rule
//! keeps lossless becomes lossy.

use super::class::Class;
use super::outcome::{Outcome, TagChange};
use crate::buffer::ViqId;
use crate::ids::{PortId, Tag};
use crate::limits::TAGS;
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
    if tag != class.tag() || class.may_change() {
        return changed(snapshot, class, tag, input, output);
    }
    let priority = class.priority();
    let viq = ViqId::new(input.queue, priority);
    let outcome = Outcome::forward(viq, output, priority, TagChange::None, priority);
    Tagged { tag, dscp: None, outcome }
}

/// The result of the rules for a frame that enters a tunnel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Through {
    /// The DSCP to write to the inner header, if its marking changes.
    pub(crate) inner_dscp: Option<u8>,
    /// What follows from the tag of the outer header.
    pub(crate) outer: Tagged,
}

/// [`apply`] for a frame that leaves in a tunnel: `outer_tag` has the tag of the outer header by
/// the tag that the rules give.
pub(crate) fn apply_through(
    snapshot: &Snapshot,
    class: Class,
    input: Ingress,
    output: PortId,
    outer_tag: &[Tag; TAGS],
) -> Through {
    let tag = snapshot.new_tag(class, input.port, output);
    let is_remarked = tag != class.tag() || class.must_remark();
    let inner_dscp = is_remarked.then(|| snapshot.tags.dscp[tag.index()]);
    let outer = changed(snapshot, class, outer_tag[tag.index()], input, output);
    Through { inner_dscp, outer }
}

/// [`apply`] for a frame whose tag, marking or priority may change.
#[inline(never)]
fn changed(snapshot: &Snapshot, class: Class, tag: Tag, input: Ingress, output: PortId) -> Tagged {
    let is_own = tag == class.tag();
    let priority = snapshot.egress_priority(class, tag, output);
    let change = match tag {
        _ if is_own && class.must_remark() => TagChange::Remarked,
        _ if is_own => TagChange::None,
        // A tunnel may give a lossy frame another lossy marking.
        _ if !class.is_lossless() => TagChange::Remarked,
        _ if snapshot.tags.is_lossless(tag) => TagChange::Raised,
        _ => TagChange::Demoted,
    };
    let charged = match change {
        TagChange::Demoted => snapshot.viq_priority(tag, input.port),
        _ => class.priority(),
    };
    let viq = ViqId::new(input.queue, charged);
    let outcome = Outcome::forward(viq, output, priority, change, class.priority());
    let outcome = if is_own { outcome } else { outcome.with_tags(class.tag(), tag) };
    let dscp = (change != TagChange::None).then(|| snapshot.tags.dscp[tag.index()]);
    Tagged { tag, dscp, outcome }
}
