//! The workers that replay: the emulator's, which is told of events, and one that polls, as a core
//! does.

use super::ReplayError;
use super::device::ReplayDevice;
use super::frames::FrameMaker;
use super::turns::RecordedTurn;
use crate::recording::RecordedFrame;
use config::SwitchConfig;
use dataplane::control_rings::{Command, ControlRings, connect};
use dataplane::driver::{Driver, EventDriven, Polling};
use dataplane::ids::PortId;
use dataplane::probe::NoProbe;
use dataplane::report::Report;
use dataplane::rx_queues::rx_queues;
use dataplane::time::Instant;
use dataplane::worker::Worker;
use std::fmt::Debug;
use std::sync::Arc;

/// A worker that takes the turns of a recording, with the control thread's ends of its rings, which
/// are read by nobody else.
#[derive(Debug)]
pub(super) struct Replaying<M: FrameMaker, V: Driver> {
    worker: Worker<ReplayDevice<M>, V>,
    control: ControlRings<M::Frame>,
}

/// Frames that arrive, and where.
type Arrived<M> = Vec<(PortId, <M as FrameMaker>::Frame)>;

/// How a worker takes a recorded turn.
pub(super) trait Turns<M: FrameMaker> {
    /// Takes the turn, for which the device knows all but the frames that arrive. Of a whole turn
    /// all ports are visited.
    fn take_turn(&mut self, now: Instant, arrived: Arrived<M>, is_whole: bool) -> Instant;
}

/// Leaves the frames in the device, and takes a whole turn.
fn whole_turn<M: FrameMaker, V: Driver>(
    worker: &mut Worker<ReplayDevice<M>, V>,
    now: Instant,
    arrived: Arrived<M>,
) -> Instant {
    for (port, frame) in arrived {
        worker.device_mut().arrive(port, frame);
    }
    worker.turn(now).next
}

impl<M: FrameMaker> Turns<M> for Worker<ReplayDevice<M>, Polling<NoProbe>> {
    fn take_turn(&mut self, now: Instant, arrived: Arrived<M>, _is_whole: bool) -> Instant {
        whole_turn(self, now, arrived)
    }
}

impl<M: FrameMaker> Turns<M> for Worker<ReplayDevice<M>, EventDriven> {
    /// Event-driven as far as it can be: a whole turn takes what is due by the clock, and several
    /// frames of one port.
    fn take_turn(&mut self, now: Instant, arrived: Arrived<M>, is_whole: bool) -> Instant {
        if is_whole || !self.may_turn_event_driven(now) {
            return whole_turn(self, now, arrived);
        }
        for (port, frame) in arrived {
            self.on_rx(port, frame, now);
        }
        for port in self.device().taking_ports().collect::<Vec<_>>() {
            self.on_tx_ready(port);
        }
        self.end_turn(now).next
    }
}

impl<M: FrameMaker, V: Driver> Replaying<M, V>
where
    Worker<ReplayDevice<M>, V>: Turns<M>,
{
    /// A worker of the switch `config` on `device`, driven by `driver`.
    ///
    /// # Errors
    /// The routing table cannot hold the routes.
    pub(super) fn new(
        config: &SwitchConfig,
        device: ReplayDevice<M>,
        driver: V,
    ) -> Result<Self, ReplayError> {
        let snapshot = Arc::new(config.snapshot(1, config.routing_table()?.compile()));
        let (mut links, mut control) = connect(1, rx_queues(&config.settings).len());
        let worker = Worker::new(&config.settings, snapshot, device, links.remove(0), driver);
        Ok(Self { worker, control: control.remove(0) })
    }

    /// Takes a recorded turn at `now`; returns when it is due again without an event.
    pub(super) fn turn(&mut self, now: Instant, turn: &RecordedTurn<'_>) -> Instant {
        let device = self.worker.device_mut();
        device.begin(turn);
        let mut arrived = Vec::with_capacity(turn.received.len());
        for (port, frame) in &turn.received {
            arrived.extend(device.make(frame).map(|frame| (*port, frame)));
        }
        let frames = turn.injected.iter().filter_map(|(port, frame)| {
            device.make(frame).map(|frame| Command::Send(*port, frame))
        });
        let links = turn.links.iter().map(|&(port, up)| Command::Link(port, up));
        let commands: Vec<_> = links.chain(frames).collect();
        for command in commands {
            let pushed = self.control.commands.push(command);
            debug_assert!(pushed.is_ok(), "a turn takes all commands");
        }
        let next = self.worker.take_turn(now, arrived, turn.is_whole());
        self.take_punted();
        next
    }

    /// Takes a turn at `now` in which nothing arrives; returns when it is due again.
    pub(super) fn wake(&mut self, now: Instant) -> Instant {
        self.turn(now, &RecordedTurn::default())
    }

    /// Takes what was sent since the last call, in order.
    pub(super) fn take_sent(&mut self, take: impl FnMut(PortId, RecordedFrame)) {
        self.worker.device_mut().take_sent(take);
    }

    /// Frames that it left in receive rings.
    pub(super) fn left_frames(&self) -> usize {
        self.worker.device().waiting_frames()
    }

    /// Writes what it counted.
    pub(super) fn report(&self, report: &mut Report, now: Instant) {
        self.worker.report(report, now);
    }

    /// Frees what the worker passed to the control thread, which would answer some of it.
    fn take_punted(&mut self) {
        while let Ok(punted) = self.control.punted.pop() {
            self.worker.device_mut().free(punted.frame);
        }
    }
}
