//! The control thread's end of the workers' rings. Commands are sent in order, installed tables are
//! tracked, and nothing blocks.

use crate::histograms::{Sample, WorkerHistograms};
use crate::platform::DeviceLosses;
use crate::worker_loop::{ControlSampleRings, WorkerExit};
use dataplane::control_rings::{Command, ControlRings, Punted, Reply};
use dataplane::frame::Frame;
use dataplane::ids::PortId;
use dataplane::l2::MacSlice;
use dataplane::report::Report;
use dataplane::rx_queues::{RxQueue, rx_queues};
use dataplane::settings::SwitchSettings;
use dataplane::snapshot::Snapshot;
use rtrb::PushError;
use std::collections::VecDeque;
use std::sync::Arc;

/// Commands that may wait for room in a worker's ring. Frames beyond that are dropped: a worker
/// that far behind has stopped.
const BACKLOG_MAX: usize = 4_096;

/// One worker, as the control thread sees it.
#[derive(Debug)]
pub(super) struct WorkerLink<F> {
    links: ControlRings<F>,
    samples: ControlSampleRings,
    backlog: VecDeque<Command<F>>,
    /// Numbers of the tables that are on their way to the worker.
    installing: VecDeque<u64>,
    /// Number of the tables that the worker uses.
    pub(super) epoch: u64,
    /// Frames for the worker that were dropped.
    pub(super) commands_lost: u64,
    /// `None` while the worker has it.
    report: Option<Box<Report>>,
    /// `None` while the worker has it.
    sample: Option<Box<Sample>>,
    /// `None` while the worker has it.
    mac_slice: Option<Box<MacSlice>>,
    /// All samples so far.
    pub(super) histograms: WorkerHistograms,
}

impl<F: Frame> WorkerLink<F> {
    pub(super) fn new(links: ControlRings<F>, samples: ControlSampleRings, epoch: u64) -> Self {
        Self {
            links,
            samples,
            backlog: VecDeque::new(),
            installing: VecDeque::new(),
            epoch,
            commands_lost: 0,
            report: Some(Box::default()),
            sample: Some(Box::default()),
            mac_slice: Some(Box::default()),
            histograms: WorkerHistograms::default(),
        }
    }

    /// The next frame that the worker could not handle alone.
    pub(super) fn punted(&mut self) -> Option<Punted<F>> {
        self.links.punted.pop().ok()
    }

    /// Takes the worker's replies; returns whether there were any.
    pub(super) fn take_replies(&mut self) -> bool {
        let mut any = false;
        while let Ok(reply) = self.links.replies.pop() {
            any = true;
            match reply {
                // The last worker to return a snapshot has it freed here, on this thread.
                Reply::Retired(_) => {
                    if let Some(epoch) = self.installing.pop_front() {
                        self.epoch = epoch;
                    }
                }
                Reply::Report(report) => self.report = Some(report),
                Reply::MacTable(slice) => self.mac_slice = Some(slice),
                // Its ring is freed here, on this thread.
                Reply::Capture(_) | Reply::Sample(_) => {}
            }
        }
        if let Ok(mut sample) = self.samples.replies.pop() {
            any = true;
            self.histograms.add(&sample.histograms);
            sample.histograms.clear();
            self.sample = Some(sample);
        }
        any
    }

    /// Sends queued commands; returns whether any remain.
    pub(super) fn push_backlog(&mut self) -> bool {
        while let Some(command) = self.backlog.pop_front() {
            if let Err(PushError::Full(command)) = self.links.commands.push(command) {
                self.backlog.push_front(command);
                return true;
            }
        }
        false
    }

    /// Sends `command`, after all earlier ones.
    pub(super) fn command(&mut self, command: Command<F>) {
        if self.push_backlog() {
            self.defer(command);
        } else if let Err(PushError::Full(command)) = self.links.commands.push(command) {
            self.defer(command);
        }
    }

    fn defer(&mut self, command: Command<F>) {
        let is_frame = matches!(command, Command::Send(..) | Command::Receive(..));
        if is_frame && self.backlog.len() >= BACKLOG_MAX {
            self.commands_lost += 1;
        } else {
            self.backlog.push_back(command);
        }
    }

    /// Makes the worker use `snapshot` from its next turn on.
    pub(super) fn install(&mut self, snapshot: &Arc<Snapshot>) {
        self.installing.push_back(snapshot.epoch);
        self.command(Command::Install(Arc::clone(snapshot)));
    }

    /// Requests a report and a sample; false if the last ones are not back.
    pub(super) fn ask(&mut self) -> bool {
        if self.report.is_none() || self.sample.is_none() {
            return false;
        }
        if let Some(report) = self.report.take() {
            self.command(Command::Report(report));
        }
        if let Some(Err(PushError::Full(sample))) =
            self.sample.take().map(|sample| self.samples.requests.push(sample))
        {
            self.sample = Some(sample);
        }
        true
    }

    /// The report, once it and the sample are back.
    pub(super) fn answer(&self) -> Option<&Report> {
        let _and_the_sample = self.sample.as_ref()?;
        self.report.as_deref()
    }

    /// Takes the last report and sample of a worker that has ended.
    pub(super) fn set_exit(&mut self, end: WorkerExit) {
        self.histograms.add(&end.sample.histograms);
        self.sample = Some(Box::new(end.sample));
        self.report = Some(Box::new(end.report));
    }

    /// The losses of the worker's device, by port, as of the last sample.
    pub(super) fn losses(&self) -> &[(PortId, DeviceLosses)] {
        self.sample.as_ref().map_or(&[], |sample| &sample.losses)
    }

    /// Requests the part of the MAC table that begins at `slot`; false if the last one is not back.
    pub(super) fn ask_mac_table(&mut self, slot: usize) -> bool {
        let Some(mut slice) = self.mac_slice.take() else { return false };
        slice.begin_at(slot);
        self.command(Command::MacTable(slice));
        true
    }

    /// The requested part of the MAC table, once the worker has returned it.
    pub(super) fn mac_slice(&self) -> Option<&MacSlice> {
        self.mac_slice.as_deref()
    }
}

/// All workers.
#[derive(Debug)]
pub(super) struct Workers<F> {
    links: Vec<WorkerLink<F>>,
    queues: Vec<RxQueue>,
}

impl<F: Frame> Workers<F> {
    pub(super) fn new(links: Vec<WorkerLink<F>>, settings: &SwitchSettings) -> Self {
        Self { links, queues: rx_queues(settings) }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &WorkerLink<F>> {
        self.links.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut WorkerLink<F>> {
        self.links.iter_mut()
    }

    /// Gives `command` to the worker that owns `port`.
    pub(super) fn command(&mut self, port: PortId, command: Command<F>) {
        // The first queue of a port has the port's number, and its owner's.
        let queue = self.queues.get(port.index());
        if let Some(link) = queue.and_then(|queue| self.links.get_mut(queue.worker.index())) {
            link.command(command);
        }
    }

    /// Gives each worker that receives from `port` a command for its queue there.
    pub(super) fn command_each(&mut self, port: PortId, make: impl Fn(PortId) -> Command<F>) {
        for queue in self.queues.iter().filter(|queue| queue.port == port) {
            if let Some(link) = self.links.get_mut(queue.worker.index()) {
                link.command(make(queue.id));
            }
        }
    }

    /// The workers that have not answered the last request, by number.
    pub(super) fn silent(&self) -> impl Iterator<Item = usize> {
        (0..).zip(&self.links).filter(|(_, link)| link.answer().is_none()).map(|(number, _)| number)
    }

    /// The ports from which the worker with this `number` receives.
    pub(super) fn ports_of(&self, number: usize) -> impl Iterator<Item = PortId> {
        let queues = self.queues.iter();
        queues.filter(move |queue| queue.worker.index() == number).map(|queue| queue.port)
    }

    /// Makes all workers use `snapshot`.
    pub(super) fn install(&mut self, snapshot: &Arc<Snapshot>) {
        self.links.iter_mut().for_each(|link| link.install(snapshot));
    }

    /// The number of the tables that all workers use, or have gone beyond.
    pub(super) fn epoch(&self) -> u64 {
        self.links.iter().map(|link| link.epoch).min().unwrap_or_default()
    }
}
