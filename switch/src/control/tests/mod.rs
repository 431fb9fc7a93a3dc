//! The control thread with real workers, devices in memory and a clock that the test sets.

mod answers;
mod changes;
mod hung_workers;
mod lldp;
mod reload;
mod slow_path;
mod socket;
mod traces;
mod waits;
mod watermarks;

use super::kept_changes::KeptChanges;
use super::protocol::{Reply, Request};
use super::{Call, Control, FIRST_EPOCH, ReplyTo, Tables};
use crate::drain_filter::DrainFilter;
use crate::histograms::Recorder;
use crate::platform::{DeviceCounters, FrameBuffers, Platform, PortFacts};
use crate::worker_loop::{SharedPhase, WorkerLoop, sample_rings};
use config::SwitchConfig;
use config::switch::Idle;
use crossbeam::channel::{Receiver, bounded};
use dataplane::control_rings::connect;
use dataplane::driver::Polling;
use dataplane::frame::Frame;
use dataplane::ids::{PortId, Priority};
use dataplane::testing::{TestDevice, TestFrame};
use dataplane::time::Instant;
use dataplane::wire::MacAddress;
use dataplane::wire::mac_control::Pfc;
use dataplane::worker::Worker;
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

/// Plain memory, and a clock that stands still until it is set.
#[derive(Clone, Debug, Default)]
struct Memory {
    now: Rc<Cell<u64>>,
    /// Bit n: the link of the port with index n is down.
    down: Rc<Cell<u64>>,
    /// Frames that can still be made; `None` is no limit.
    frames_left: Rc<Cell<Option<usize>>>,
}

impl Platform for Memory {
    type Frame = TestFrame;

    fn now(&self) -> Instant {
        Instant::from_ns(self.now.get())
    }

    fn frame(&self, bytes: &[u8]) -> Option<TestFrame> {
        if let Some(left) = self.frames_left.get() {
            self.frames_left.set(Some(left.checked_sub(1)?));
        }
        Some(TestFrame::new(bytes))
    }

    fn read(&self, frame: &TestFrame, into: &mut Vec<u8>) {
        into.extend_from_slice(frame.head());
    }

    fn is_link_up(&self, port: PortId) -> bool {
        self.down.get() >> port.index() & 1 == 0
    }

    fn has_peer(&self, _port: PortId) -> bool {
        true
    }

    fn set_link(&self, port: PortId, up: bool) -> bool {
        let bit = 1 << port.index();
        let down = self.down.get();
        self.down.set(if up { down & !bit } else { down | bit });
        true
    }

    fn device_counters(&self, port: PortId) -> DeviceCounters {
        DeviceCounters { rx_missed_frames: port.number() as u64, ..DeviceCounters::default() }
    }

    fn buffers(&self) -> FrameBuffers {
        FrameBuffers { data_total: 100, data_in_use: 1, control_total: 10, control_in_use: 0 }
    }
}

/// A switch: its control thread, and its workers, which turn when the test says so.
struct Rig {
    control: Control<Memory>,
    worker_loops: Vec<WorkerLoop<TestDevice>>,
    memory: Memory,
    _folder: tempfile::TempDir,
    file: PathBuf,
}

/// What a turn of the rig takes.
const TURN_NS: u64 = 10_000;

/// A switch of so many bridged ports, `a`, `b` and so on. Priority 3 is lossless, XOFF is due above
/// 5,000 bytes; `lossless` is said of it, too.
fn bridged(ports: u8, lossless: &str) -> String {
    let port = |number: u8| {
        let name = char::from(b'a' + number);
        format!(
            "[[port]]\nname = \"{name}\"\ndevice = \"net_null{number}\"\n\
             mac = \"02:00:00:00:00:{:02x}\"\nspeed = \"10G\"\npace = false\nvlan = 7\n",
            number + 1
        )
    };
    let head = format!(
        "name = \"s1\"\n[control]\nsocket = \"s1.sock\"\n[[lossless]]\npriority = 3\n\
         static_th = \"5KB\"\nxon = \"1KB\"\nheadroom = \"60KB\"\n{lossless}\n"
    );
    head + &(0..ports).map(port).collect::<String>()
}

impl Rig {
    /// Has the peer of port `number` pause class 3, or not any more.
    fn pause(&mut self, number: usize, quanta: u16) {
        let pfc = Pfc::default().with(Priority::from_low_bits(3), quanta);
        self.arrive(number, &pfc.to_frame(MacAddress([2, 0, 0, 9, 9, 9])));
    }

    /// A switch with this SWITCH.toml.
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("SWITCH.toml");
        std::fs::write(&file, text).unwrap();
        let tables = Tables::new(SwitchConfig::load(&file).unwrap()).unwrap();
        let settings = tables.config().settings.clone();
        let snapshot = Arc::new(tables.snapshot(FIRST_EPOCH));
        let (workers, ports) = (tables.config().workers.count, settings.ports.len());
        let (links, control_links) = connect(workers, ports);
        let (mut worker_loops, mut rings) = (Vec::new(), Vec::new());
        for (links, control_links) in links.into_iter().zip(control_links) {
            let (samples, control_samples) = sample_rings();
            rings.push((control_links, control_samples));
            let device = DrainFilter::new(TestDevice::new(ports));
            let snapshot = Arc::clone(&snapshot);
            let worker =
                Worker::new(&settings, snapshot, device, links, Polling::new(Recorder::default()));
            let (phase, idle) = (SharedPhase::default(), Idle::Poll);
            worker_loops.push(WorkerLoop { worker, samples, phase, idle });
        }
        let memory = Memory::default();
        let facts = vec![PortFacts { driver: "memory".to_owned(), ..PortFacts::default() }; ports];
        let changes = KeptChanges::read(&folder.path().join("changes.json")).unwrap();
        let control = Control::new(memory.clone(), tables, changes, facts, rings);
        Self { control, worker_loops, memory, _folder: folder, file }
    }

    fn now(&self) -> Instant {
        self.memory.now()
    }

    /// Everybody takes a turn.
    fn turn(&mut self) {
        self.turn_control();
        (0..self.worker_loops.len()).for_each(|worker| self.turn_worker(worker));
    }

    fn turn_control(&mut self) {
        self.memory.now.set(self.memory.now.get() + TURN_NS);
        self.control.step(self.memory.now());
    }

    fn turn_worker(&mut self, worker: usize) {
        let start = self.memory.now();
        self.worker_loops[worker].turn(start, &|| start + TURN_NS);
    }

    fn turns(&mut self, count: usize) {
        (0..count).for_each(|_| self.turn());
    }

    /// Lets `ns` pass, in large steps.
    fn pass(&mut self, ns: u64) {
        for _ in 0..100 {
            self.memory.now.set(self.memory.now.get() + ns / 100);
            self.turns(2);
        }
    }

    /// Lets a frame arrive at the port with this number.
    fn arrive(&mut self, number: usize, bytes: &[u8]) {
        let port = PortId::from_number(number).unwrap();
        self.device(port).arrive(port, bytes);
    }

    /// What the port with this number has sent since the last time.
    fn sent(&mut self, number: usize) -> Vec<Vec<u8>> {
        let port = PortId::from_number(number).unwrap();
        let sent = std::mem::take(&mut self.device(port).ports[port.index()].sent);
        sent.iter().map(|frame| frame.head().to_vec()).collect()
    }

    fn device(&mut self, port: PortId) -> &mut TestDevice {
        let worker_loop =
            self.worker_loops.iter_mut().find(|worker_loop| worker_loop.worker.owns(port));
        worker_loop.unwrap().worker.device_mut().device_mut()
    }

    /// Asks, without waiting.
    fn call(&mut self, request: Request) -> Receiver<Reply> {
        let (reply, answer) = bounded(1);
        self.control.handle_call(Call { request, reply: ReplyTo::Thread(reply) });
        answer
    }

    /// Asks, and has everybody turn until the answer is there.
    fn ask(&mut self, request: Request) -> Reply {
        let answer = self.call(request);
        for _ in 0..10_000 {
            if let Ok(reply) = answer.try_recv() {
                return reply;
            }
            self.turn();
            // A file is read on a thread of its own.
            std::thread::sleep(std::time::Duration::from_micros(100));
        }
        panic!("no answer");
    }

    fn stats(&mut self) -> super::stats::Stats {
        match self.ask(Request::Stats) {
            Reply::Stats(stats) => *stats,
            other => panic!("{other:?}"),
        }
    }

    /// The books of all workers balance.
    fn assert_balanced(&mut self) {
        let stats = self.stats();
        assert_eq!(stats.totals.imbalance, 0, "{:?}", stats.totals);
        assert_eq!(stats.totals.handoff_tx, stats.totals.handoff_rx);
    }

    fn write(&self, text: &str) {
        std::fs::write(&self.file, text).unwrap();
    }

    fn folder(&self) -> &Path {
        self.file.parent().unwrap()
    }
}

/// Two routed ports with 10.0.1.254 and 10.0.2.254, as `dataplane::testing::wire` has them.
const ROUTED: &str = r#"
name = "s1"
[control]
socket = "s1.sock"
[[lossless]]
priority = 3
[[port]]
name = "a"
device = "net_null0"
mac = "02:00:00:00:00:01"
addresses = ["10.0.1.254/24", "fd00:1::fe/64"]
[[port]]
name = "b"
device = "net_null1"
mac = "02:00:00:00:00:02"
addresses = ["10.0.2.254/24", "fd00:2::fe/64"]
"#;
