//! The turns of a recording: events of one time.

use crate::event::Picoseconds;
use crate::recording::{PortEvent, PortEventKind, RecordedFrame};
use dataplane::ids::PortId;

/// A turn, as it was recorded.
#[derive(Debug, Default)]
pub(super) struct RecordedTurn<'a> {
    pub(super) at_ps: Picoseconds,
    /// In the order of the ports, and for each port in the order of arrival.
    pub(super) received: Vec<(PortId, &'a RecordedFrame)>,
    pub(super) sent: Vec<(PortId, &'a RecordedFrame)>,
    pub(super) backlogs: Vec<(PortId, u32)>,
    /// What the control thread did, in order.
    pub(super) injected: Vec<(PortId, &'a RecordedFrame)>,
    pub(super) links: Vec<(PortId, bool)>,
}

impl RecordedTurn<'_> {
    /// Whether the worker must visit all ports: what it reads there has changed, or a command
    /// waits.
    pub(super) fn is_whole(&self) -> bool {
        let is_single = self.received.windows(2).all(|pair| pair[0].0 != pair[1].0);
        let is_commanded = !self.injected.is_empty() || !self.links.is_empty();
        !is_single || is_commanded || !self.backlogs.is_empty()
    }
}

/// The turns of `events`.
pub(super) fn turns(events: &[PortEvent]) -> impl Iterator<Item = RecordedTurn<'_>> {
    events.chunk_by(|one, other| one.at_ps == other.at_ps).map(|events| {
        let mut turn = RecordedTurn::default();
        for event in events {
            turn.at_ps = event.at_ps;
            match &event.kind {
                PortEventKind::Received(frame) => turn.received.push((event.port, frame)),
                PortEventKind::Sent(frame) => turn.sent.push((event.port, frame)),
                PortEventKind::Injected(frame) => turn.injected.push((event.port, frame)),
                PortEventKind::Link(up) => turn.links.push((event.port, *up)),
                PortEventKind::Backlog(frames) => turn.backlogs.push((event.port, *frames)),
            }
        }
        turn.received.sort_by_key(|(port, _)| port.index());
        turn
    })
}
