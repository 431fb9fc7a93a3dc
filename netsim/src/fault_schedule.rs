//! What is done to a running network, and when: links go down and come up, switches restart, routes
//! are wrong or change, hosts slow down or pause.

use crate::event::Picoseconds;
use crate::flow::FlowId;
use crate::link::PfcFault;
use crate::sink::Drain;
use crate::topology::{HostId, SwitchId};
use dataplane::ids::PortId;
use std::collections::BTreeSet;

/// A change of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A link, by its number, goes down: the frames on it are lost.
    LinkDown(usize),
    /// It comes up again, if it was set up as often as down.
    LinkUp(usize),
    /// The switches at a link reroute around it, or back.
    Reroute(usize),
    /// A switch sends frames for a host by this port; with `None`, by the right one again.
    Misroute(SwitchId, HostId, Option<PortId>),
    /// A switch sends frames of a flow with a path of its own by this port; with `None`, it has no
    /// route for them.
    Route(SwitchId, FlowId, Option<PortId>),
    /// A host takes frames at a limited rate; with `None`, as they arrive.
    Drain(HostId, Option<Drain>),
    /// A host pauses all lossless priorities, or stops to.
    Storm(HostId, bool),
    /// PFC frames on this wire are lost or changed; with `None`, no longer. Link n has wires 2 n,
    /// from its first end, and 2 n + 1.
    Pfc(usize, Option<PfcFault>),
    /// A switch loses all frames and is away: its links are down.
    SwitchDown(SwitchId),
    /// It comes back, empty.
    SwitchUp(SwitchId),
}

/// The actions still to be applied.
#[derive(Debug)]
pub(crate) struct FaultSchedule {
    /// The next one last; those of one instant in the order in which they were planned.
    pub(crate) planned: Vec<(Picoseconds, u64, Action)>,
    count: u64,
    /// How long after a link changes its switches change their routes.
    pub(crate) reroute_ps: Option<Picoseconds>,
    pub(crate) has_rerouted: bool,
    /// Switches that get new tables once all actions of this instant are applied.
    pub(crate) to_install: BTreeSet<SwitchId>,
}

impl FaultSchedule {
    pub(crate) const fn new(reroute_ps: Option<Picoseconds>) -> Self {
        let to_install = BTreeSet::new();
        Self { planned: Vec::new(), count: 0, reroute_ps, has_rerouted: false, to_install }
    }

    pub(crate) fn plan(&mut self, at_ps: Picoseconds, action: Action) {
        self.count += 1;
        let entry = (at_ps, self.count, action);
        let later = |other: &(Picoseconds, u64, Action)| (other.0, other.1) > (at_ps, entry.1);
        let at = self.planned.partition_point(later);
        self.planned.insert(at, entry);
    }

    /// When the next action is due.
    #[inline]
    pub(crate) fn next_at_ps(&self) -> Option<Picoseconds> {
        self.planned.last().map(|&(at_ps, ..)| at_ps)
    }

    pub(crate) const fn has_rerouted(&self) -> bool {
        self.has_rerouted
    }
}
