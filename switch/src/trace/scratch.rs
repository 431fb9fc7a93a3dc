//! A worker of its own, with the tables of the switch and ports in memory: what it does with a
//! frame is what the switch does with it, since it is the same code.

use super::device::{MemoryDevice, MemoryFrame};
use dataplane::control_rings::{Command, ControlRings, connect};
use dataplane::counters::{DropReason, Totals};
use dataplane::driver::Polling;
use dataplane::frame::Frame;
use dataplane::ids::{PortId, WorkerId};
use dataplane::limits::PORTS_MAX;
use dataplane::punt::PuntReason;
use dataplane::report::Report;
use dataplane::settings::SwitchSettings;
use dataplane::snapshot::Snapshot;
use dataplane::time::Instant;
use dataplane::wire::parse::{Kind, parse};
use dataplane::worker::Worker;
use std::sync::Arc;

/// Time from turn to turn, and turns that a frame may take: a paced port sends within them, and a
/// frame that waits for its next hop waits longer.
const TURN_NS: u64 = 1_000_000;
const TURNS_MAX: usize = 64;
/// What the worker's MAC table holds beside static stations: those of one frame.
const STATIONS: usize = 64;
/// Frames that the worker has room for: one, and its copies for all ports.
const FRAMES: usize = 4 * PORTS_MAX;

/// What became of a frame.
#[derive(Debug, Default)]
pub(super) struct Ends {
    /// Where it left, its first bytes and its length.
    pub(super) sent: Vec<(PortId, Vec<u8>, usize)>,
    /// Drops, and the ports that count them.
    pub(super) dropped: Vec<(PortId, DropReason)>,
    /// Why the control thread got it.
    pub(super) punted: Vec<PuntReason>,
    /// Whether the worker has it still.
    pub(super) is_held: bool,
}

/// See the module's head.
#[derive(Debug)]
pub(super) struct Scratch {
    worker: Worker<MemoryDevice>,
    control: ControlRings<MemoryFrame>,
    now: Instant,
}

impl Scratch {
    /// A worker of all ports, at `now`, where the ports in `down` are down.
    pub(super) fn new(
        settings: &SwitchSettings,
        snapshot: Arc<Snapshot>,
        down: &[PortId],
        now: Instant,
    ) -> Self {
        let mut settings = settings.clone();
        for port in &mut settings.ports {
            port.worker = WorkerId(0);
            port.further_queues.clear();
        }
        settings.mac_table.entries_max =
            settings.mac_table.entries_max.min(STATIONS + 4 * snapshot.static_macs.len());
        settings.buffer.frames_max = settings.buffer.frames_max.min(FRAMES);
        let (mut rings, mut control) = connect(1, settings.ports.len());
        let device = MemoryDevice::default();
        let worker = Worker::new(&settings, snapshot, device, rings.remove(0), Polling::default());
        let mut scratch = Self { worker, control: control.remove(0), now };
        for &port in down {
            let sent = scratch.control.commands.push(Command::Link(port, false));
            debug_assert!(sent.is_ok(), "a worker's ring has room for a command of each port");
        }
        scratch.turn();
        scratch
    }

    fn turn(&mut self) {
        self.now = self.now + TURN_NS;
        self.worker.turn(self.now);
    }

    fn totals(&self) -> Totals {
        self.worker.totals()
    }

    /// Drops so far, by port and reason.
    fn drops(&self) -> Vec<(PortId, [u64; DropReason::COUNT])> {
        let mut report = Report::default();
        self.worker.report(&mut report, self.now);
        report.ports.iter().map(|port| (port.port, port.counters.drops)).collect()
    }

    /// Lets a frame arrive that begins with `head`, and waits for its end.
    pub(super) fn receive(&mut self, port: PortId, head: &[u8], frame_bytes: usize) -> Ends {
        let before = self.drops();
        let held = self.totals().held;
        self.worker.device_mut().sent.clear();
        self.worker.device_mut().arriving.push_back((port, MemoryFrame::new(head, frame_bytes)));
        let mut ends = Ends::default();
        for _ in 0..TURNS_MAX {
            self.turn();
            while let Ok(punted) = self.control.punted.pop() {
                ends.punted.push(punted.reason);
            }
            ends.is_held = self.totals().held > held;
            if !ends.is_held && self.worker.device().arriving.is_empty() {
                break;
            }
        }
        let sent = std::mem::take(&mut self.worker.device_mut().sent);
        let data = sent.into_iter().filter(|(_, frame)| !is_mac_control(frame));
        ends.sent = data.map(|(port, frame)| (port, frame.head().to_vec(), frame.len())).collect();
        ends.sent.sort_by_key(|sent| sent.0);
        for ((port, before), (_, after)) in before.iter().zip(self.drops()) {
            for (&reason, (&before, after)) in DropReason::ALL.iter().zip(before.iter().zip(after))
            {
                let new = usize::try_from(after - before).unwrap_or_default();
                ends.dropped.extend(std::iter::repeat_n((*port, reason), new));
            }
        }
        ends
    }
}

/// What the worker itself sends: a rate, or a pause.
fn is_mac_control(frame: &MemoryFrame) -> bool {
    parse(frame.head(), frame.len()).kind == Kind::MacControl
}
