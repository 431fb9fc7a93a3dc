//! A switch of the network: a real worker on an emulated device, turned when something happens to
//! it.

use crate::device::SimDevice;
use crate::event::{NEVER, PS_PER_NS, Picoseconds};
use crate::frame::SimFrame;
use dataplane::ids::PortId;
use dataplane::links::{Command, ControlLinks, connect};
use dataplane::probe::NoProbe;
use dataplane::settings::SwitchSettings;
use dataplane::snapshot::Snapshot;
use dataplane::time::Instant;
use dataplane::worker::Worker;
use std::sync::Arc;

/// The time as a worker sees it: whole nanoseconds, rounded up, so that whatever it waits for comes
/// when it is due or up to a nanosecond before that, and never while it is asleep.
pub(crate) const fn instant(now_ps: Picoseconds) -> Instant {
    Instant::from_ns(now_ps.div_ceil(PS_PER_NS))
}

/// The other way round.
pub(crate) const fn picoseconds(instant: Instant) -> Picoseconds {
    if instant.ns == Instant::NEVER.ns { NEVER } else { instant.ns.saturating_mul(PS_PER_NS) }
}

/// See the module's head.
#[derive(Debug)]
pub(crate) struct SwitchNode {
    pub(crate) name: String,
    pub(crate) settings: SwitchSettings,
    pub(crate) worker: Worker<SimDevice, NoProbe>,
    /// Frames that wires brought here.
    pub(crate) delivered_frames: u64,
    /// The control thread's ends. This one has nothing to say to what is punted and throws it away;
    /// the worker has counted it.
    control: ControlLinks<SimFrame>,
}

impl SwitchNode {
    /// A switch with `settings` and tables `snapshot` on `device`; ports that have no link are
    /// down.
    pub(crate) fn new(
        name: String,
        settings: SwitchSettings,
        snapshot: Snapshot,
        device: SimDevice,
        unlinked: impl Iterator<Item = PortId>,
    ) -> Self {
        let (mut links, mut control) = connect(1, settings.ports.len());
        let (links, mut control) = (links.remove(0), control.remove(0));
        for port in unlinked {
            let told = control.commands.push(Command::Link(port, false));
            debug_assert!(told.is_ok(), "the ring holds a command for every port");
        }
        let worker = Worker::new(&settings, Arc::new(snapshot), device, links, NoProbe);
        Self { name, settings, worker, delivered_frames: 0, control }
    }

    /// A frame has arrived whole at `port`.
    #[inline]
    pub(crate) fn arrive(&mut self, port: PortId, frame: SimFrame) {
        self.delivered_frames += 1;
        self.worker.device_mut().arrive(port, frame);
    }

    /// Does all there is to do at `now_ps`; returns when it must be turned again though nothing
    /// arrives.
    pub(crate) fn turn(&mut self, now_ps: Picoseconds) -> Picoseconds {
        let now = instant(now_ps);
        self.worker.device_mut().begin(now_ps);
        let next = loop {
            let turn = self.worker.turn(now);
            if !self.worker.device_mut().has_arrivals() {
                break turn.next;
            }
        };
        while let Ok(punted) = self.control.punted.pop() {
            self.worker.device_mut().throw_away(punted.frame);
        }
        debug_assert!(next > now, "whatever waits only for a wire is told when it is free");
        picoseconds(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_rounded_up_and_comes_back_as_it_was() {
        assert_eq!(
            (instant(0).ns, instant(1).ns, instant(1_000).ns, instant(1_001).ns),
            (0, 1, 1, 2)
        );
        assert_eq!(picoseconds(Instant::from_ns(7)), 7_000);
        assert_eq!(picoseconds(Instant::NEVER), NEVER);
    }
}
