//! A switch of a few ports with everything wired up: routed ports with one resolved host each, or
//! bridged ports in one VLAN; tags 1 and 2 lossless on priorities 3 and 4.

use super::wire::{Udp, host_mac, host_v4, port_mac};
use super::{TestDevice, TestFrame};
use crate::control_rings::{Command, ControlRings, connect};
use crate::counters::{DropReason, Totals};
use crate::device::Device;
use crate::driver::{Driver, Polling};
use crate::fib::{Interface, Routes};
use crate::ids::{PortId, Priority, Tag, WorkerId};
use crate::l2::{Vid, VidSet, VlanPort};
use crate::limits::TAGS;
use crate::pipeline::classify::{ClassifyBy, InitialTags, PortTrust, TagMap};
use crate::report::{PortReport, Report};
use crate::rules::{RuleTable, TcamEntry};
use crate::rx_queues::{RxQueue, rx_queues};
use crate::settings::{
    BufferSettings, DepthCurve, MacTableSettings, PortSettings, SchedulerSettings, SwitchSettings,
    Threshold, ViqSettings,
};
use crate::snapshot::{PortForwarding, PortMode, Snapshot, StaticMac};
use crate::time::{Instant, Speed};
use crate::tunnel::{Tunnel, Tunnels};
use crate::worker::{Turn, Worker};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr};
use core::ops::Range;

/// What a rig is to be, in public fields to be changed before [`RigBuilder::build`].
#[derive(Clone, Debug)]
pub struct RigBuilder {
    /// Settings of the switch.
    pub settings: SwitchSettings,
    /// Forwarding of its ports.
    pub forwarding: Vec<PortForwarding>,
    /// Tags.
    pub tags: TagMap,
    /// Rules, if any.
    pub rules: Option<Vec<TcamEntry>>,
    /// Routes.
    pub routes: Routes,
    /// Whether workers' devices have a queue at the ports of the others.
    pub sends_for_others: bool,
    /// Stations put on ports.
    pub static_macs: Vec<StaticMac>,
    /// Tunnels.
    pub tunnels: Vec<Tunnel>,
}

/// The port with this number, counted from 1.
fn port(number: u8) -> PortId {
    PortId::from_number(usize::from(number)).expect("a port number from 1")
}

/// Tags 1 and 2 on DSCP 26 and 27, priorities 3 and 4; a DSCP that no tag uses is lossy and its own
/// tag.
fn tag_map() -> TagMap {
    let tag = Tag::from_low_bits;
    let mut map = TagMap {
        dscp_to_tag: core::array::from_fn(|dscp| tag(if dscp < 3 { 0 } else { six_bits(dscp) })),
        pcp_to_tag: [tag(0); 8],
        priority: [Priority::from_low_bits(0); TAGS],
        dscp: core::array::from_fn(six_bits),
        pcp: [0; TAGS],
        lossless_tags: 0b110,
        lossy_tag: tag(0),
        ttl_classes: None,
        initial_tag: tag(1),
        initial_tags: 0b10,
    };
    for (value, dscp, priority) in [(1_u8, 26_u8, 3_u8), (2, 27, 4)] {
        map.dscp_to_tag[usize::from(dscp)] = tag(value);
        map.pcp_to_tag[usize::from(priority)] = tag(value);
        map.priority[usize::from(value)] = Priority::from_low_bits(priority);
        map.dscp[usize::from(value)] = dscp;
        map.pcp[usize::from(value)] = priority;
    }
    // DSCP 26 and 27 are taken by tags 1 and 2; tags 26 and 27 do not occur.
    map
}

/// The tag of a DSCP of the rig's frames: 26 and 27 are the lossless tags 1 and 2, all else is as
/// lossy as tag 0.
pub const fn tag_of(dscp: u8) -> Tag {
    match dscp {
        26 => Tag::from_low_bits(1),
        27 => Tag::from_low_bits(2),
        _ => Tag::from_low_bits(0),
    }
}

/// An index below 64.
fn six_bits(index: usize) -> u8 {
    u8::try_from(index).expect("below 64")
}

fn settings(ports: u8) -> SwitchSettings {
    let viq = ViqSettings {
        reserved_bytes: 3_000,
        threshold: Threshold::Static { xoff_bytes: 20_000 },
        xon_offset_bytes: 3_028,
        headroom_bytes: 40_000,
        rate_map: None,
    };
    let mut lossless = [None; 8];
    lossless[3] = Some(viq);
    lossless[4] = Some(viq);
    let one = |number: u8| PortSettings {
        name: format!("p{number}"),
        mac: port_mac(number),
        speed: Speed::from_gbps(10),
        paced: false,
        frame_bytes_max: 1514,
        worker: WorkerId(0),
        further_queues: vec![],
        lossless,
        upstream: Priority::EACH,
        host_priority: None,
        peak_rates: [None; 8],
        gfc: None,
        watchdog: None,
        rx_backlog_xoff_frames: 512,
    };
    SwitchSettings {
        ports: (1..=ports).map(one).collect(),
        buffer: BufferSettings {
            size_bytes: 100_000 * u64::from(ports) + 600_000,
            cell_bytes: 256,
            lossy_bytes: 300_000,
            lossy_queue_bytes: 100_000,
            lossy_queue_alpha_log2: None,
            frames_max: 16_384,
            partition_bytes: None,
            headroom_pool_bytes: None,
        },
        scheduler: SchedulerSettings { strict_bits: 0, quantum_bytes: [1514; 8], fair: false },
        ecn: [None; 8],
        wred: [None; 8],
        big_red_switch: false,
        mac_table: MacTableSettings { entries_max: 1024, age_ns: 300_000_000_000, hold_ns: 0 },
        telemetry: None,
        seed: 1,
        host_rates: None,
    }
}

impl RigBuilder {
    fn new(ports: u8, mode: impl Fn(u8) -> PortMode) -> Self {
        let trust = PortTrust {
            by: ClassifyBy::Dscp,
            trusted: true,
            default_tag: Tag::default(),
            initial: InitialTags::NONE,
        };
        let forwarding = |number| PortForwarding {
            mac: port_mac(number),
            mode: mode(number),
            trust,
            checks_source: false,
            has_tap: false,
            qos_map: None,
        };
        Self {
            settings: settings(ports),
            forwarding: (1..=ports).map(forwarding).collect(),
            tags: tag_map(),
            rules: None,
            routes: Routes::new(),
            sends_for_others: false,
            static_macs: Vec::new(),
            tunnels: Vec::new(),
        }
    }

    /// Routed ports: port n has 10.0.n.254/24, and a host 10.0.n.1 whose MAC address is known.
    pub fn routed(ports: u8) -> Self {
        let mut builder = Self::new(ports, |_| PortMode::Routed { vlan: None });
        for number in 1..=ports {
            let net = format!("10.0.{number}.254/24").parse().expect("a network");
            builder.routes.set_interface(Interface {
                net,
                port: port(number),
                vlan: None,
                mac: port_mac(number),
                frame_bytes_max: 1514,
            });
            let address = IpAddr::V4(Ipv4Addr::from(host_v4(number, 1)));
            let mac = host_mac(number, 1);
            builder.routes.set_neighbor(address, port(number), mac).expect("room for neighbors");
        }
        builder
    }

    /// Bridged ports, all untagged in VLAN 1 and tagged in VLAN 20.
    pub fn bridged(ports: u8) -> Self {
        let mut tagged = VidSet::default();
        tagged.insert(Vid::new(20).expect("a VID"));
        let member = VlanPort { native: Vid::new(1), tagged };
        Self::new(ports, |_| PortMode::Bridged(Box::new(member.clone())))
    }

    /// Gives port `number` to `worker`.
    #[must_use]
    pub fn owned_by(mut self, number: u8, worker: u8) -> Self {
        self.settings.ports[port(number).index()].worker = WorkerId(worker);
        self
    }

    /// Gives port `number` a further receive queue, which `worker` polls.
    #[must_use]
    pub fn queue_at(mut self, number: u8, worker: u8) -> Self {
        self.settings.ports[port(number).index()].further_queues.push(WorkerId(worker));
        self
    }

    /// Marks ECN on `priority`.
    #[must_use]
    pub const fn ecn(mut self, priority: usize, ecn: DepthCurve) -> Self {
        self.settings.ecn[priority] = Some(ecn);
        self
    }

    /// Drops lossy frames of `priority` early.
    #[must_use]
    pub const fn wred(mut self, priority: usize, wred: DepthCurve) -> Self {
        self.settings.wred[priority] = Some(wred);
        self
    }

    /// The tables as they stand.
    pub fn snapshot(&self, epoch: u64) -> Snapshot {
        let rules = self.rules.as_ref().map(|entries| {
            RuleTable::compile(entries, self.settings.ports.len(), self.tags.lossy_tag)
        });
        let fib = self.routes.compile();
        let seed = self.settings.seed;
        Snapshot {
            static_macs: self.static_macs.clone(),
            tunnels: Tunnels::new(self.tunnels.clone()),
            ..Snapshot::new(epoch, &self.forwarding, self.tags.clone(), rules, fib, seed)
        }
    }

    /// The only worker of the switch, on `device`, and its control thread's ends.
    ///
    /// # Panics
    /// If the ports have several owners.
    pub fn worker<D: Device, V: Driver>(
        &self,
        device: D,
        driver: V,
    ) -> (Worker<D, V>, ControlRings<D::Frame>) {
        let snapshot = Arc::new(self.snapshot(0));
        let (mut rings, mut control) = connect(1, rx_queues(&self.settings).len());
        let (rings, control) = (rings.remove(0), control.remove(0));
        (Worker::new(&self.settings, snapshot, device, rings, driver), control)
    }

    /// The switch, with as many workers as the ports' owners need.
    pub fn build(self) -> Rig {
        let snapshot = Arc::new(self.snapshot(0));
        let queues = rx_queues(&self.settings);
        let workers = queues.iter().map(|queue| queue.worker.index() + 1).max().unwrap_or(1);
        let ports = queues.len();
        let (rings, control) = connect(workers, ports);
        let make = |rings| {
            let mut device = TestDevice::new(ports);
            device.sends_for_others = self.sends_for_others;
            Worker::new(&self.settings, Arc::clone(&snapshot), device, rings, Polling::default())
        };
        let workers = rings.into_iter().map(make).collect();
        Rig { builder: self, workers, control, now: Instant::from_ns(1_000) }
    }
}

/// A running switch. Time moves only when a test says so.
#[derive(Debug)]
pub struct Rig {
    /// What it was built from.
    pub builder: RigBuilder,
    /// Its workers.
    pub workers: Vec<Worker<TestDevice>>,
    /// The control thread's ends.
    pub control: Vec<ControlRings<TestFrame>>,
    /// The time of the next turn.
    pub now: Instant,
}

impl Rig {
    fn owner(&self, number: u8) -> usize {
        self.builder.settings.ports[port(number).index()].worker.index()
    }

    /// The memory behind port `number`.
    pub fn port(&mut self, number: u8) -> &mut super::TestPort {
        let owner = self.owner(number);
        &mut self.workers[owner].device_mut().ports[port(number).index()]
    }

    /// The memory behind a receive queue of port `number`, counted from 0.
    ///
    /// # Panics
    /// If the port has no such queue.
    pub fn queue(&mut self, number: u8, queue: u16) -> &mut super::TestPort {
        let queues = rx_queues(&self.builder.settings);
        let is_it = |it: &&RxQueue| it.port == port(number) && it.number == queue;
        let it = queues.iter().find(is_it).expect("a queue of the port");
        &mut self.workers[it.worker.index()].device_mut().ports[it.id.index()]
    }

    /// Lets `bytes` arrive on port `number`.
    pub fn arrive(&mut self, number: u8, bytes: &[u8]) {
        self.port(number).arriving.push_back(TestFrame::new(bytes));
    }

    /// Lets `count` routed frames of 1,000 bytes, numbered from 0, arrive on port `from` for the
    /// host of port `to`.
    pub fn load(&mut self, from: u8, to: u8, dscp: u8, count: u32) {
        let frame = Udp { frame_bytes: 1_000, ..Udp::routed(from, to, dscp) };
        self.arrive_numbered(from, &frame, 0..count);
    }

    /// Lets a frame for each of `numbers` arrive on port `from`: `frame` with that sequence number.
    pub fn arrive_numbered(&mut self, from: u8, frame: &Udp, numbers: Range<u32>) {
        for sequence in numbers {
            self.arrive(from, &Udp { sequence, ..frame.clone() }.bytes());
        }
    }

    /// One turn of every worker.
    pub fn turn(&mut self) -> Vec<Turn> {
        let now = self.now;
        self.workers.iter_mut().map(|worker| worker.turn(now)).collect()
    }

    /// Turns, without time moving, until nothing moves.
    ///
    /// # Panics
    /// If something moves for ever.
    pub fn settle(&mut self) {
        let still = (0..100_000).any(|_| !self.turn().iter().any(|turn| turn.busy));
        assert!(still, "100,000 turns and no end");
    }

    /// Moves time by `ns`.
    pub fn wait(&mut self, ns: u64) {
        self.now = self.now + ns;
    }

    /// Takes what port `number` sent.
    pub fn sent(&mut self, number: u8) -> Vec<Vec<u8>> {
        use crate::frame::Frame;
        let sent = core::mem::take(&mut self.port(number).sent);
        sent.iter().map(|frame| frame.head().to_vec()).collect()
    }

    /// Has every worker do `make()`.
    pub fn command(&mut self, make: impl Fn() -> Command<TestFrame>) {
        for control in &mut self.control {
            control.commands.push(make()).expect("room for a command");
        }
    }

    /// Port `number`'s counters and gauges, with what its further receive queues add.
    pub fn report(&self, number: u8) -> PortReport {
        let of_worker = |worker: &Worker<TestDevice>| {
            let mut report = Box::<Report>::default();
            worker.report(&mut report, self.now);
            report.ports.into_iter().filter(|entry| entry.port == port(number))
        };
        let all: Vec<PortReport> = self.workers.iter().flat_map(of_worker).collect();
        let owner = all.iter().find(|entry| entry.is_owner).expect("the owner reports the port");
        let mut sum = owner.clone();
        for part in all.iter().filter(|entry| entry.is_rx_queue) {
            sum.counters.add_received(&part.counters);
            for (sum, more) in sum.counters.drops.iter_mut().zip(part.counters.drops) {
                *sum += more;
            }
            for (sum, more) in sum.queues.iter_mut().zip(&part.queues) {
                sum.viq_bytes += more.viq_bytes;
                sum.headroom_bytes += more.headroom_bytes;
            }
        }
        sum
    }

    /// Which counters of which port are not zero, as `p1 rx_frames[3] = 5` lines, paused times left
    /// out: compared whole, so that a counter that should not have moved fails the test too.
    pub fn counters(&self) -> Vec<String> {
        let ports = u8::try_from(self.builder.settings.ports.len()).expect("a test's few ports");
        let mut lines = vec![];
        for number in 1..=ports {
            let counters = self.report(number).counters.nonzero();
            let timeless = counters.into_iter().filter(|(name, _)| !name.contains("paused_ns"));
            lines.extend(timeless.map(|(name, value)| format!("p{number} {name} = {value}")));
        }
        lines
    }

    /// Frames whose tag the rules changed, by tag and new tag, over all workers.
    pub fn tag_changes(&self) -> BTreeMap<(u8, u8), u64> {
        let mut sums = BTreeMap::new();
        for worker in &self.workers {
            let mut report = Box::<Report>::default();
            worker.report(&mut report, self.now);
            for count in report.tag_changes {
                *sums.entry((count.tag.value(), count.new_tag.value())).or_default() +=
                    count.frames;
            }
        }
        sums
    }

    /// Frames of port `number` dropped for `reason`.
    pub fn dropped(&self, number: u8, reason: DropReason) -> u64 {
        self.report(number).counters.dropped(reason)
    }

    /// The balance of all workers together, and a check that each one's holds.
    ///
    /// # Panics
    /// If a frame has been lost or made up.
    pub fn totals(&self) -> Totals {
        let mut sum = Totals::default();
        for worker in &self.workers {
            let totals = worker.totals();
            assert_eq!(totals.imbalance(), 0, "the books do not balance: {totals:?}");
            sum += totals;
        }
        sum
    }
}
