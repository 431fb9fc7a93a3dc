//! One switch under both drivers, with the same frames and faults: what each sends, hands to the
//! control thread and counts must be equal, frame by frame and to the nanosecond.

use super::random_switch::{self, port_id};
use super::{RigBuilder, Script, Sent, TestFrame, WireDevice};
use crate::control_rings::{Command, ControlRings};
use crate::driver::{Driver, EventDriven, Polling};
use crate::ids::PortId;
use crate::queue::veq::{FrameMeta, QueuedFrame};
use crate::report::Report;
use crate::snapshot::PortMode;
use crate::time::Instant;
use crate::worker::Worker;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// When a worker that asks for a turn at once gets it.
const AGAIN_NS: u64 = 20;
/// A frame that no switch receives.
const PLANTED: [u8; 60] = [0xAB; 60];
/// Turns that one moment may need. Only a driver that makes no progress needs more.
const TURNS_MAX: usize = 1_000_000;

/// Runs the switch, the frames and the faults that `data` describes, under each driver.
///
/// # Panics
/// If two drivers differ, or a frame is missing in the accounting.
pub fn run(data: &[u8]) {
    let mut script = Script::new(data);
    let Some(builder) = random_switch::switch(&mut script) else { return };
    let mut polling = Driven::new(&builder, Polling::default());
    polling.plant_pending();
    let mut all = Drivers {
        polling,
        events: Driven::new(&builder, EventDriven::default()),
        whole: Driven::new(&builder, EventDriven::default()),
        now: Instant::from_ns(1_000),
        epoch: 0,
        builder,
    };
    while all.step(&mut script).is_some() {}
    // Longer than any pause.
    all.now = all.now + 10_000_000;
    all.turn(&[]);
    all.compare_reports();
    all.polling.check_pending();
}

/// The same switch three times.
struct Drivers {
    polling: Driven<Polling>,
    events: Driven<EventDriven>,
    /// Event-driven, but with whole turns only.
    whole: Driven<EventDriven>,
    builder: RigBuilder,
    now: Instant,
    epoch: u64,
}

impl Drivers {
    /// One operation; `None` at the end of the script.
    fn step(&mut self, script: &mut Script<'_>) -> Option<()> {
        let ports = u8::try_from(self.builder.settings.ports.len()).ok()?;
        match script.octet()? {
            0..8 => {
                let port = port_id(1 + script.below(ports)?)?;
                let up = script.below(3)? != 0;
                self.command(|| Command::Link(port, up));
            }
            8..12 => {
                random_switch::resolve_second_hosts(&mut self.builder);
                self.install();
            }
            12..16 if self.builder.rules.is_some() => {
                self.builder.rules = Some(random_switch::rules(script, ports)?);
                self.install();
            }
            16..20 => {
                let port = port_id(1 + script.below(ports)?)?;
                let bytes = random_switch::frame(script, 1, ports, true)?;
                self.command(|| Command::Send(port, TestFrame::new(&bytes)));
            }
            20..24 => {
                let port = port_id(1 + script.below(ports)?)?;
                self.command(|| Command::FlushMacTable(port));
            }
            24..28 => {
                let copies = usize::from(script.octet()?);
                self.polling.worker.device_mut().copies_left = copies;
                self.events.worker.device_mut().copies_left = copies;
                self.whole.worker.device_mut().copies_left = copies;
            }
            28..56 => self.now = self.now + u64::from(script.word()?) * 16,
            56..96 => self.now = self.now + u64::from(script.octet()?) * 8,
            _ => {
                let is_bridged = matches!(self.builder.forwarding[0].mode, PortMode::Bridged(_));
                let bits = script.octet()?;
                let mut frames = Vec::new();
                for number in (1..=ports).filter(|number| bits >> number & 1 == 1) {
                    let bytes = random_switch::frame(script, number, ports, is_bridged)?;
                    frames.push((port_id(number)?, TestFrame::new(&bytes)));
                }
                self.now = self.now + 1;
                self.turn(&frames);
            }
        }
        Some(())
    }

    fn install(&mut self) {
        self.epoch += 1;
        let snapshot = Arc::new(self.builder.snapshot(self.epoch));
        self.command(|| Command::Install(Arc::clone(&snapshot)));
    }

    fn command(&mut self, make: impl Fn() -> Command<TestFrame>) {
        // What is due before is done before.
        self.turn(&[]);
        self.polling.command(make());
        self.events.command(make());
        self.whole.command(make());
        self.now = self.now + 1;
        self.turn(&[]);
    }

    /// Lets time pass until now, when `frames` arrive, one at a port at most, in port order.
    fn turn(&mut self, frames: &[(PortId, TestFrame)]) {
        self.polling.advance(self.now, frames, Driven::turn_whole);
        self.events.advance(self.now, frames, Driven::turn_by_events);
        self.whole.advance(self.now, frames, Driven::turn_whole);
        let expected = self.polling.results();
        for (name, results) in
            [("events", self.events.results()), ("whole turns", self.whole.results())]
        {
            assert_eq!(results.totals, expected.totals, "{name} and polling");
            let of = |results: &Results| results.sent.len().max(results.punted.len());
            assert_eq!(of(&results), of(&expected), "{name} and polling: frames");
            for (one, other) in results.sent.iter().zip(&expected.sent) {
                assert_eq!(one, other, "{name} and polling, until {:?}", self.now);
            }
            assert_eq!(results.punted, expected.punted, "{name} and polling");
        }
    }

    fn compare_reports(&mut self) {
        let expected = self.polling.report(self.now);
        for (name, report) in
            [("events", self.events.report(self.now)), ("whole", self.whole.report(self.now))]
        {
            let differing = report.iter().zip(&expected).filter(|(one, other)| one != other);
            let differing: Vec<_> = differing.collect();
            assert!(differing.is_empty(), "{name} and polling: {differing:#?}");
        }
    }
}

/// What came of a moment.
struct Results {
    sent: Vec<Sent>,
    punted: Vec<(PortId, TestFrame)>,
    /// The totals, as text.
    totals: String,
}

/// A worker and its driver.
struct Driven<V: Driver> {
    worker: Worker<WireDevice, V>,
    control: ControlRings<TestFrame>,
    has_commands: bool,
    /// When the worker wants its next turn.
    next: Instant,
}

type Turning<V> = fn(&mut Driven<V>, Instant, &[PortId], &[(PortId, TestFrame)]) -> Instant;

impl<V: Driver> Driven<V> {
    fn new(builder: &RigBuilder, driver: V) -> Self {
        let device = WireDevice::new(builder.settings.ports.len());
        let (worker, control) = builder.worker(device, driver);
        Self { worker, control, has_commands: false, next: Instant::ZERO }
    }

    fn command(&mut self, command: Command<TestFrame>) {
        self.control.commands.push(command).expect("room for a command");
        self.has_commands = true;
    }

    /// Makes the turns that the worker asks for before `until`, and one then.
    fn advance(&mut self, until: Instant, frames: &[(PortId, TestFrame)], turn: Turning<V>) {
        for _ in 0..TURNS_MAX {
            let free_at = self.worker.device().next_free_at().unwrap_or(Instant::NEVER);
            let at = self.next.min(free_at);
            if at >= until {
                let free = self.worker.device_mut().take_free(until);
                self.next = turn(self, until, &free, frames);
                return;
            }
            let free = self.worker.device_mut().take_free(at);
            self.next = turn(self, at, &free, &[]);
            // A paced port asks for the next turn at once while its wire is busy.
            if self.next <= at {
                self.next = at + AGAIN_NS;
            }
        }
        panic!("{TURNS_MAX} turns until {until:?}");
    }

    /// A turn that visits all ports, whatever happened.
    fn turn_whole(
        &mut self,
        now: Instant,
        _free: &[PortId],
        frames: &[(PortId, TestFrame)],
    ) -> Instant {
        for (port, frame) in frames {
            self.worker.device_mut().arrive(*port, frame.clone());
        }
        let mut next = self.worker.turn(now).next;
        while self.worker.device().has_arrivals() {
            next = self.worker.turn(now).next;
        }
        self.has_commands = false;
        next
    }

    /// Takes what was sent and punted since last asked.
    fn results(&mut self) -> Results {
        let punted = core::iter::from_fn(|| self.control.punted.pop().ok());
        let punted = punted.map(|punted| (punted.port, punted.frame)).collect();
        while let Ok(reply) = self.control.replies.pop() {
            drop(reply);
        }
        let totals = self.worker.totals();
        assert_eq!(totals.imbalance(), 0, "every frame is accounted for: {totals:?}");
        let sent = core::mem::take(&mut self.worker.device_mut().sent);
        Results { sent, punted, totals: format!("{totals:?}") }
    }

    /// All counters and gauges, a line each, without the number of turns. As with
    /// [`Command::Report`], a whole turn comes first.
    fn report(&mut self, now: Instant) -> Vec<String> {
        self.worker.turn(now);
        let mut report = Box::<Report>::default();
        self.worker.report(&mut report, now);
        (report.turns, report.busy_turns) = (0, 0);
        report_lines(&report)
    }
}

/// All counters and gauges of a report, a line each, so that a difference is one line.
pub(super) fn report_lines(report: &Report) -> Vec<String> {
    let mut lines = Vec::from([format!("{:?}", Report { ports: Vec::new(), ..report.clone() })]);
    for port in &report.ports {
        let id = port.port.index();
        lines.push(format!("{id} up {} {:?}", port.up, port.counters.nonzero()));
        let queues = port.queues.iter().enumerate();
        lines.extend(queues.map(|(priority, gauges)| format!("{id} {priority} {gauges:?}")));
    }
    lines
}

impl Driven<Polling> {
    /// Puts a frame into the place, at each port, that only an event-driven worker uses. A polling
    /// worker that reads it does something else than an event-driven one.
    fn plant_pending(&mut self) {
        for port in &mut self.worker.core.ports {
            let frame = TestFrame::new(&PLANTED);
            let meta = FrameMeta::own(&frame, port.id, port.control_priority, Instant::ZERO);
            port.pending = Some(QueuedFrame { frame, meta });
        }
    }

    /// Each of those frames is where it was put: a polling worker does not write there.
    fn check_pending(&self) {
        for port in &self.worker.core.ports {
            let planted = port.pending.as_ref().map(|queued| &queued.frame);
            assert_eq!(planted, Some(&TestFrame::new(&PLANTED)), "port {:?}", port.id);
        }
    }
}

impl Driven<EventDriven> {
    /// A turn that is told what happened, where the worker allows it.
    fn turn_by_events(
        &mut self,
        now: Instant,
        free: &[PortId],
        frames: &[(PortId, TestFrame)],
    ) -> Instant {
        if self.has_commands || !self.worker.may_turn_event_driven(now) {
            return self.turn_whole(now, free, frames);
        }
        for (port, frame) in frames {
            self.worker.on_rx(*port, frame.clone(), now);
        }
        for &port in free {
            self.worker.on_tx_ready(port);
        }
        self.worker.end_turn(now).next
    }
}
