//! Violations that checks report.

use crate::event::Picoseconds;
use dataplane::ids::{PortId, Priority, Tag};

/// A property that does not hold, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// A switch dropped lossless frames for want of headroom.
    #[error("{switch}:{port} lost {frames} lossless frames of priority {priority}")]
    LosslessDrop {
        /// The switch.
        switch: String,
        /// Where they came in.
        port: PortId,
        /// Their priority.
        priority: Priority,
        /// How many.
        frames: u64,
    },
    /// A host that sends XOFF lost lossless frames.
    #[error("host {host} lost {frames} lossless frames of priority {priority}")]
    HostOverrun {
        /// The host.
        host: String,
        /// Their priority.
        priority: Priority,
        /// How many.
        frames: u64,
    },
    /// A switch's counters do not balance, or do not agree with the wires.
    #[error("{switch}: {what} are {expected} and {found}")]
    Miscount {
        /// The switch.
        switch: String,
        /// Two counts of what.
        what: &'static str,
        /// The one.
        expected: u64,
        /// The other.
        found: u64,
    },
    /// Frames vanished or appeared somewhere in the network.
    #[error("{sent} {kind} frames were sent and {accounted} are accounted for")]
    Imbalance {
        /// Data or PFC.
        kind: &'static str,
        /// Frames that were made.
        sent: u64,
        /// Frames with a named end, or queued.
        accounted: u64,
    },
    /// Switches count other numbers of changed tags than frames show.
    #[error(
        "switches count {counted} frames whose tag {tag} became {new_tag}, and {seen} arrived so"
    )]
    TagChanges {
        /// The tag.
        tag: u8,
        /// The new tag; 64 stands for a lossy one.
        new_tag: u8,
        /// What switches count.
        counted: u64,
        /// What the frames show.
        seen: u64,
    },
    /// A frame left with a lower tag than it came with, or became lossless again.
    #[error("{sender} sent a frame with tag {to} that had tag {from}")]
    TagFell {
        /// Who sent it: a port or a host.
        sender: String,
        /// The tag before.
        from: Tag,
        /// The tag after.
        to: Tag,
    },
    /// A frame started in a class that was paused.
    #[error("{sender} sent a frame of priority {priority} at {at_ps} ps, in a pause")]
    PauseIgnored {
        /// Who sent it: a port or a host.
        sender: String,
        /// Its priority.
        priority: Priority,
        /// When.
        at_ps: Picoseconds,
    },
    /// A host got frames that were not for it.
    #[error("host {host} got {frames} frames of others")]
    Stray {
        /// The host.
        host: String,
        /// How many.
        frames: u64,
    },
    /// A flow's frames overtook each other.
    #[error("flow {flow} got {frames} frames after later ones")]
    Reordered {
        /// The flow's number, counted from 0.
        flow: usize,
        /// How many.
        frames: u64,
    },
}
