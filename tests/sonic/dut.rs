//! The switch under test, as SONiC's tests see one: ports that are blocked and released, frames of
//! a DSCP, and counters of which a test says which moved.

use crate::model::Profile;
use dataplane::control_rings::{Command, Reply};
use dataplane::ids::{PortId, Priority, Tag};
use dataplane::report::QueueGauges;
use dataplane::settings::{SwitchSettings, Threshold, ViqSettings};
use dataplane::testing::wire::Udp;
use dataplane::testing::{Rig, RigBuilder};
use dataplane::wire::MacAddress;
use dataplane::wire::mac_control::Pfc;
use std::collections::BTreeMap;

/// The lossless priority groups of SONiC's default configuration. Their frames have the same DSCP.
pub(crate) const LOSSLESS: [u8; 2] = [3, 4];
/// A DSCP of the lossy queue 0 of SONiC's default map.
pub(crate) const LOSSY_DSCP: u8 = 8;
/// The least that a frame costs the buffer here.
pub(crate) const CELL: u32 = 256;
pub(crate) const MS: u64 = 1_000_000;

/// A profile like those of SONiC's 10G ports.
pub(crate) const PROFILE: Profile =
    Profile { size: 3_000, dynamic_th: -3, xon_offset: 3_500, xoff: 40_000 };
/// The shared pool, beside reserves and headrooms.
pub(crate) const POOL: u64 = 300_000;

/// What a frame of `bytes` costs the buffer.
pub(crate) fn cost(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap().max(CELL)
}

/// The queue of a DSCP in SONiC's default `DSCP_TO_TC_MAP`, where TC, priority group and queue are
/// one number.
pub(crate) fn default_queue(dscp: u8) -> u8 {
    match dscp {
        8 => 0,
        5 => 2,
        3 => 3,
        4 => 4,
        46 => 5,
        48 => 6,
        _ => 1,
    }
}

/// Routed ports with SONiC's default map, `profile` on every lossless priority group, and `pool`
/// shared bytes.
pub(crate) fn builder(ports: u8, profile: Profile, pool: u64) -> RigBuilder {
    let mut builder = RigBuilder::routed(ports);
    map(&mut builder, default_queue);
    buffers(&mut builder.settings, profile, pool);
    builder
}

/// Each DSCP is a tag of its own, of the priority that `queue` gives it.
pub(crate) fn map(builder: &mut RigBuilder, queue: impl Fn(u8) -> u8) {
    let tags = &mut builder.tags;
    for dscp in 0..64 {
        let (d, tag) = (usize::from(dscp), Tag::from_low_bits(dscp));
        (tags.dscp_to_tag[d], tags.dscp[d]) = (tag, dscp);
        tags.priority[tag.index()] = Priority::from_low_bits(queue(dscp));
    }
    tags.lossless_tags = 1 << 3 | 1 << 4;
    (tags.initial_tag, tags.initial_tags) = (Tag::from_low_bits(3), 1 << 3);
}

/// Gives every lossless priority group `profile`, and all of them `pool` shared bytes.
pub(crate) fn buffers(settings: &mut SwitchSettings, profile: Profile, pool: u64) {
    let viq = ViqSettings {
        reserved_bytes: profile.size,
        threshold: Threshold::dynamic(profile.dynamic_th),
        xon_offset_bytes: profile.xon_offset,
        headroom_bytes: profile.xoff,
        rate_map: None,
    };
    for port in &mut settings.ports {
        for group in LOSSLESS {
            port.lossless[usize::from(group)] = Some(viq);
        }
    }
    let groups = (settings.ports.len() * LOSSLESS.len()) as u64;
    let own = groups * u64::from(profile.size + profile.xoff);
    settings.buffer.size_bytes = settings.buffer.lossy_bytes + own + pool;
    settings.buffer.frames_max = 65_536;
}

/// A switch, and its counters at the last question.
pub(crate) struct Dut {
    pub(crate) rig: Rig,
    counters: BTreeMap<String, u64>,
}

impl Dut {
    /// A switch whose ports have no receive ring, like an ASIC's: what finds no buffer is dropped.
    pub(crate) fn new(builder: RigBuilder) -> Self {
        let mut dut = Self::with_rx_rings(builder);
        for worker in &mut dut.rig.workers {
            worker.device_mut().has_no_rx_ring = true;
        }
        dut
    }

    /// A switch whose ports have receive rings, as DPDK's have.
    pub(crate) fn with_rx_rings(builder: RigBuilder) -> Self {
        Self { rig: builder.build(), counters: BTreeMap::new() }
    }

    /// Port `number` sends nothing until it is released, as if its transmitter were off.
    pub(crate) fn block(&mut self, number: u8) {
        let port = self.rig.port(number);
        (port.takes_frames, port.room_frames) = (Some(0), Some(0));
    }

    pub(crate) fn release(&mut self, number: u8) {
        let port = self.rig.port(number);
        (port.takes_frames, port.room_frames) = (None, None);
        self.rig.settle();
    }

    /// `count` frames of `bytes` bytes and `dscp` arrive on port `from` for the host of port `to`.
    pub(crate) fn send(&mut self, from: u8, to: u8, dscp: u8, bytes: usize, count: u32) {
        let frame = Udp { frame_bytes: bytes, ..Udp::routed(from, to, dscp) };
        self.rig.arrive_numbered(from, &frame, 0..count);
        self.rig.settle();
    }

    /// A PFC frame arrives on port `number` that asks for `quanta` in the classes of `bits`.
    pub(crate) fn hear_pfc(&mut self, number: u8, bits: u8, quanta: u16) {
        let pfc = Priority::in_bits(bits).fold(Pfc::default(), |pfc, p| pfc.with(p, quanta));
        self.rig.arrive(number, &pfc.to_frame(MacAddress([2, 0, 0, 1, number, 9])));
        self.rig.settle();
    }

    /// Time passes, a tenth of a millisecond at a time.
    pub(crate) fn pass(&mut self, ns: u64) {
        const STEP: u64 = MS / 10;
        let mut left = ns;
        while left > 0 {
            let step = left.min(STEP);
            self.rig.wait(step);
            self.rig.settle();
            left -= step;
        }
    }

    /// Seconds pass, one at a time.
    pub(crate) fn seconds(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.rig.wait(1_000 * MS);
            self.rig.settle();
        }
    }

    /// The counters that moved since the last question, as `p1 rx_frames[3] +5`. All of them: what
    /// should not have moved fails the test too.
    pub(crate) fn moved(&mut self) -> Vec<String> {
        let split = |line: String| {
            let (name, value) = line.split_once(" = ").unwrap();
            (name.to_owned(), value.parse::<u64>().unwrap())
        };
        let now: BTreeMap<String, u64> = self.rig.counters().into_iter().map(split).collect();
        let before = std::mem::replace(&mut self.counters, now);
        let risen = |(name, value): (&String, &u64)| {
            let by = value - before.get(name).copied().unwrap_or(0);
            (by > 0).then(|| format!("{name} +{by}"))
        };
        self.counters.iter().filter_map(risen).collect()
    }

    /// How far a counter has risen since the last question, which this is not.
    pub(crate) fn risen(&self, name: &str) -> u64 {
        let line = self.rig.counters().into_iter().find_map(|line| {
            let (known, value) = line.split_once(" = ")?;
            (known == name).then(|| value.parse::<u64>().unwrap())
        });
        line.unwrap_or(0) - self.counters.get(name).copied().unwrap_or(0)
    }

    /// PFC frames that paused the sender at `number` in `group`, since the last question.
    pub(crate) fn xoffs(&self, number: u8, group: u8) -> u64 {
        self.risen(&format!("p{number} pfc.tx_xoff[{group}]"))
    }

    /// The gauges of a port and priority.
    pub(crate) fn queue(&self, number: u8, priority: u8) -> QueueGauges {
        self.rig.report(number).queues[usize::from(priority)]
    }

    /// The control thread asks for a report, which begins new watermarks. Says what it has of a
    /// port and priority.
    pub(crate) fn take_watermarks(&mut self, number: u8, priority: u8) -> QueueGauges {
        self.rig.command(|| Command::Report(Box::default()));
        self.rig.settle();
        match self.rig.control[0].replies.pop() {
            Ok(Reply::Report(report)) => {
                report.ports[port(number).index()].queues[usize::from(priority)]
            }
            other => panic!("{other:?}"),
        }
    }

    /// The data frames that left by port `number` since the last call.
    pub(crate) fn left(&mut self, number: u8) -> Vec<Vec<u8>> {
        let sent = self.rig.sent(number);
        sent.into_iter().filter(|frame| frame[12..14] != [0x88, 0x08]).collect()
    }
}

/// What arrives when `count` frames of `bytes` bytes do, and nothing else: the lines of
/// [`Dut::moved`].
pub(crate) fn received(number: u8, priority: u8, bytes: usize, count: u32) -> Vec<String> {
    vec![
        format!("p{number} rx_bytes[{priority}] +{}", bytes * count as usize),
        format!("p{number} rx_frames[{priority}] +{count}"),
    ]
}

/// The lines of both, in the order of [`Dut::moved`].
pub(crate) fn both(mut lines: Vec<String>, more: &[String]) -> Vec<String> {
    lines.extend_from_slice(more);
    lines.sort();
    lines
}

pub(crate) fn port(number: u8) -> PortId {
    PortId::from_number(usize::from(number)).unwrap()
}

/// The DSCP of a frame without a VLAN tag.
pub(crate) fn dscp_of(frame: &[u8]) -> u8 {
    frame[15] >> 2
}
