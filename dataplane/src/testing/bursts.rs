//! One switch that receives the same frames in bursts of different lengths: N bursts of one frame
//! have the result of one burst of N frames, which is why there may be a path for single frames.
//! And one that is captured or sampled has the result of one that is not.

use super::captured::Captured;
use super::drivers::report_lines;
use super::random_switch::{self, port_id};
use super::sampled::Sampled;
use super::{RigBuilder, Script, TestDevice, TestFrame};
use crate::control_rings::{Command, ControlRings};
use crate::counters::Totals;
use crate::driver::Polling;
use crate::frame::Frame;
use crate::ids::PortId;
use crate::limits::BURST_MAX;
use crate::pipeline::arrival::Arrival;
use crate::report::Report;
use crate::snapshot::PortMode;
use crate::time::Instant;
use crate::wire::parse::{Kind, parse};
use crate::worker::Worker;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::Debug;

/// Room that a device says it has where frames must go by the queues.
const ROOM_BYTES: u32 = 20_000;

/// Runs the switch, the frames and the faults that `data` describes, with whole bursts, with bursts
/// of one frame, and with bursts of a few.
///
/// # Panics
/// If two of them differ, or a frame is missing in the accounting.
pub fn run(data: &[u8]) {
    let mut script = Script::new(data);
    let Some(builder) = random_switch::switch(&mut script) else { return };
    let [whole, ones, fives] =
        [BURST_MAX, 1, 5].map(|burst_frames| Switch::new(&builder, burst_frames));
    let captures = [
        Captured::all,
        Captured::some,
        Captured::to_one_net,
        Captured::of_v6,
        Captured::from_one_port,
    ];
    let captured = [BURST_MAX, 1].map(|burst_frames| {
        captures.map(|captured| {
            let mut switch = Switch::new(&builder, burst_frames);
            switch.captured = Some(captured(&mut switch.worker));
            switch
        })
    });
    let [one, few] =
        [(1, None), (3, Some(Captured::some as fn(&mut _) -> _))].map(|(rate, captured)| {
            let mut switch = Switch::new(&builder, BURST_MAX);
            switch.sampled = Some(Sampled::new(&mut switch.worker, rate));
            switch.captured = captured.map(|captured| captured(&mut switch.worker));
            switch
        });
    let switches = [whole, ones, fives, one, few];
    let now = Instant::from_ns(1_000);
    let mut all = Switches { switches, captured, builder, now, epoch: 0 };
    while all.step(&mut script).is_some() {}
    all.compare(Switch::report);
    all.each(Switch::check_observed);
}

struct Switches {
    switches: [Switch; 5],
    /// In bursts, and one by one, with the same captures.
    captured: [[Switch; 5]; 2],
    builder: RigBuilder,
    now: Instant,
    epoch: u64,
}

impl Switches {
    /// One operation; `None` at the end of the script.
    fn step(&mut self, script: &mut Script<'_>) -> Option<()> {
        let ports = u8::try_from(self.builder.settings.ports.len()).ok()?;
        self.now = self.now + 1;
        match script.octet()? {
            0..8 => {
                let port = port_id(1 + script.below(ports)?)?;
                let up = script.below(3)? != 0;
                self.command(|| Command::Link(port, up));
            }
            8..12 => {
                random_switch::resolve_second_hosts(&mut self.builder);
                self.epoch += 1;
                let snapshot = Arc::new(self.builder.snapshot(self.epoch));
                self.command(|| Command::Install(Arc::clone(&snapshot)));
            }
            12..16 => {
                let copies = usize::from(script.octet()?);
                self.each(|switch| switch.worker.device_mut().copies_left = copies);
            }
            16..32 => {
                let port = port_id(1 + script.below(ports)?)?;
                let room = script.octet()?;
                self.each(|switch| switch.set_room(port, room));
            }
            32..72 => self.now = self.now + u64::from(script.word()?) * 16,
            _ => {
                let from = 1 + script.below(ports)?;
                let is_bridged = matches!(self.builder.forwarding[0].mode, PortMode::Bridged(_));
                let mut frames = Vec::new();
                for _ in 0..=script.below(20)? {
                    let bytes = random_switch::frame(script, from, ports, is_bridged)?;
                    // A run of equal frames, as a flow has them.
                    for _ in 0..=script.below(3)? {
                        frames.push(TestFrame::new(&bytes));
                    }
                }
                frames.truncate(BURST_MAX);
                // MAC control frames take effect before the data frames of their burst.
                frames.sort_by_key(|frame| !is_mac_control(frame));
                let (port, now) = (port_id(from)?, self.now);
                self.each(|switch| switch.receive(port, &frames, now));
                self.compare(Switch::results);
                self.compare_captured();
            }
        }
        Some(())
    }

    fn each(&mut self, act: impl FnMut(&mut Switch)) {
        self.switches.iter_mut().chain(self.captured.as_flattened_mut()).for_each(act);
    }

    fn command(&mut self, make: impl Fn() -> Command<TestFrame>) {
        let now = self.now;
        self.each(|switch| {
            switch.control.commands.push(make()).expect("room for a command");
            switch.worker.turn(now);
        });
        self.compare(Switch::results);
    }

    /// A frame that is followed through its burst has the records of one that comes alone.
    fn compare_captured(&mut self) {
        let [in_bursts, one_by_one] = self.captured.each_mut().map(|switches| {
            switches.each_mut().map(|switch| switch.captured.as_mut().map(Captured::lines))
        });
        assert_eq!(in_bursts, one_by_one, "in bursts, one by one");
    }

    /// Compares what `ask` has of each switch.
    fn compare<T: PartialEq + Debug>(&mut self, ask: fn(&mut Switch, Instant) -> T) {
        let now = self.now;
        let [whole, split @ ..] = &mut self.switches;
        let expected = ask(whole, now);
        for switch in split.iter_mut().chain(self.captured.as_flattened_mut()) {
            let found = ask(switch, now);
            let is_captured = switch.captured.is_some();
            let (burst_frames, is_sampled) = (switch.burst_frames, switch.sampled.is_some());
            assert_eq!(
                found, expected,
                "bursts of {burst_frames}, captured: {is_captured}, sampled: {is_sampled}"
            );
        }
    }
}

fn is_mac_control(frame: &TestFrame) -> bool {
    parse(frame.head(), frame.len()).kind == Kind::MacControl
}

/// What came of a burst.
#[derive(Debug, PartialEq)]
struct Results {
    totals: Totals,
    /// By port index.
    sent: Vec<Vec<TestFrame>>,
    punted: Vec<(PortId, TestFrame)>,
}

struct Switch {
    worker: Worker<TestDevice>,
    control: ControlRings<TestFrame>,
    /// The longest burst.
    burst_frames: usize,
    /// What a client sees of it.
    captured: Option<Captured>,
    /// What is sampled of it.
    sampled: Option<Sampled>,
}

impl Switch {
    fn new(builder: &RigBuilder, burst_frames: usize) -> Self {
        let mut device = TestDevice::new(builder.settings.ports.len());
        // The receive ring decides how many frames a burst has, which is decided here already.
        device.has_no_rx_ring = true;
        let (worker, control) = builder.worker(device, Polling::default());
        Self { worker, control, burst_frames, captured: None, sampled: None }
    }

    /// A port without limit, or one whose device queues and takes that many frames more.
    fn set_room(&mut self, port: PortId, room: u8) {
        let port = &mut self.worker.device_mut().ports[port.index()];
        let is_limited = room & 1 == 1;
        port.room_bytes = is_limited.then_some(ROOM_BYTES);
        port.takes_frames = is_limited.then_some(usize::from(room / 2));
    }

    /// One turn at `now`, in which `frames` are received at `port`.
    fn receive(&mut self, port: PortId, frames: &[TestFrame], now: Instant) {
        if let Some(captured) = &mut self.captured {
            captured.receives(&self.worker, port, frames);
        }
        let Worker { core, snapshot, .. } = &mut self.worker;
        core.accounting.now = now;
        for port in &mut core.ports {
            port.begin(&mut core.device, now);
        }
        for burst in frames.chunks(self.burst_frames) {
            self.sampled.iter_mut().for_each(|sampled| sampled.receives(port, burst.len()));
            core.rx.extend(burst.iter().cloned());
            let arrival = Arrival { slot: port.index(), is_new: true, is_matched: false };
            if core.accounting.is_observed() {
                core.receive_captured(snapshot, arrival, true);
            } else {
                core.receive(snapshot, arrival);
            }
        }
        self.worker.turn(now);
    }

    /// What was sent and punted since last asked, and the totals.
    fn results(&mut self, _now: Instant) -> Results {
        self.captured.iter_mut().for_each(Captured::read);
        self.sampled.iter_mut().for_each(Sampled::read);
        let totals = self.worker.totals();
        assert_eq!(totals.imbalance(), 0, "every frame is accounted for: {totals:?}");
        let ports = &mut self.worker.device_mut().ports;
        let sent = ports.iter_mut().map(|port| core::mem::take(&mut port.sent)).collect();
        let punted = core::iter::from_fn(|| self.control.punted.pop().ok());
        let punted = punted.map(|punted| (punted.port, punted.frame)).collect();
        while let Ok(reply) = self.control.replies.pop() {
            drop(reply);
        }
        Results { totals, sent, punted }
    }

    /// All counters and gauges, a line each.
    fn report(&mut self, now: Instant) -> Vec<String> {
        let mut report = Box::<Report>::default();
        self.worker.report(&mut report, now);
        // A whole burst is charged before any of its frames is dropped at a port that is down.
        (report.pool.shared.peak_bytes, report.pool.lossy.peak_bytes) = (0, 0);
        report.pool.headroom.peak_bytes = 0;
        for gauges in report.ports.iter_mut().flat_map(|port| &mut port.queues) {
            (gauges.viq_peak_bytes, gauges.headroom_peak_bytes) = (0, 0);
            gauges.shared_peak_bytes = 0;
        }
        report_lines(&report)
    }

    /// What was captured and sampled is what was counted.
    fn check_observed(&mut self) {
        if let Some(captured) = &mut self.captured {
            captured.check(&self.worker);
        }
        if let Some(sampled) = &mut self.sampled {
            sampled.check(&self.worker);
        }
    }
}
