//! What a client sees of a captured switch, against the switch's own counters.

use super::{TestDevice, TestFrame};
use crate::capture::filter::Filter;
use crate::capture::program::Instruction;
use crate::capture::record::{Depths, HEAD_BYTES, Kind, Record};
use crate::capture::{CaptureReader, CaptureSettings, connect};
use crate::counters::DropReason;
use crate::frame::Frame;
use crate::ids::PortId;
use crate::report::Report;
use crate::wire::parse::{Kind as FrameKind, parse};
use crate::worker::Worker;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Room for all records of a step.
const RING_BYTES: usize = 1 << 20;
const SNAP_BYTES: u16 = 64;

/// The records of one switch, counted.
#[derive(Debug)]
pub(super) struct Captured {
    reader: CaptureReader,
    filter: Option<Filter>,
    /// Frames that arrived and match.
    arrived: u64,
    /// By kind, port and, of drops, cause.
    seen: BTreeMap<(u8, PortId, Option<u8>), u64>,
    /// A line for each record since last asked, but for what depends on how long bursts are.
    lines: Vec<(Kind, String)>,
}

impl Captured {
    /// All events at all ports of `worker`.
    pub(super) fn all(worker: &mut Worker<TestDevice>) -> Self {
        Self::with(worker, None)
    }

    /// The events of frames whose IPv4 header ends in an odd octet.
    pub(super) fn some(worker: &mut Worker<TestDevice>) -> Self {
        // ldb [33]; jset #1; ret #0; ret #1
        const ODD: [(u16, u8, u8, u32); 4] =
            [(0x30, 0, 0, 33), (0x45, 1, 0, 1), (0x06, 0, 0, 0), (0x06, 0, 0, 1)];
        Self::with(worker, Some(filter(&ODD)))
    }

    /// The events of IPv4 frames to an address of port 2, which the fast path tells by the header.
    pub(super) fn to_one_net(worker: &mut Worker<TestDevice>) -> Self {
        // ldh [12]; jeq #0x800, else end; ldb [32]; jeq #2, else end; ret #1; end: ret #0
        const TO_PORT_2: [(u16, u8, u8, u32); 6] = [
            (0x28, 0, 0, 12),
            (0x15, 0, 3, 0x800),
            (0x30, 0, 0, 32),
            (0x15, 0, 1, 2),
            (0x06, 0, 0, 1),
            (0x06, 0, 0, 0),
        ];
        Self::by_header(worker, &TO_PORT_2)
    }

    /// The events of IPv6 frames, which no compare of an IPv4 header tells.
    pub(super) fn of_v6(worker: &mut Worker<TestDevice>) -> Self {
        // ldh [12]; jeq #0x86dd, else end; ret #1; end: ret #0
        const V6: [(u16, u8, u8, u32); 4] =
            [(0x28, 0, 0, 12), (0x15, 0, 1, 0x86DD), (0x06, 0, 0, 1), (0x06, 0, 0, 0)];
        Self::by_header(worker, &V6)
    }

    /// The events of UDP in IPv4 from one port, which is behind the header.
    pub(super) fn from_one_port(worker: &mut Worker<TestDevice>) -> Self {
        // As `tcpdump -ddd 'ip and udp src port 49152'` has it, without the test for fragments.
        const PORT: [(u16, u8, u8, u32); 9] = [
            (0x28, 0, 0, 12),
            (0x15, 0, 6, 0x800),
            (0x30, 0, 0, 23),
            (0x15, 0, 4, 17),
            (0xB1, 0, 0, 14),
            (0x48, 0, 0, 14),
            (0x15, 0, 1, 49_152),
            (0x06, 0, 0, 1),
            (0x06, 0, 0, 0),
        ];
        Self::by_header(worker, &PORT)
    }

    /// The events of frames that match a program of which the fast path tells most by the header.
    fn by_header(worker: &mut Worker<TestDevice>, program: &[(u16, u8, u8, u32)]) -> Self {
        let filter = filter(program);
        assert!(filter.header_compares().is_some());
        Self::with(worker, Some(filter))
    }

    fn with(worker: &mut Worker<TestDevice>, filter: Option<Filter>) -> Self {
        let kinds = Kind::ALL.iter().fold(0, |bits, kind| bits | kind.bit());
        let settings = CaptureSettings {
            kinds,
            ports: None,
            class: None,
            filter: filter.clone(),
            snap_bytes: SNAP_BYTES,
            sample: 1,
        };
        let (capture, reader) = connect(settings, 0, 7, RING_BYTES);
        let _none_before = worker.core.accounting.set_capture(Some(capture));
        Self { reader, filter, arrived: 0, seen: BTreeMap::new(), lines: Vec::new() }
    }

    /// `frames` arrive at `port` next.
    pub(super) fn receives(
        &mut self,
        worker: &Worker<TestDevice>,
        port: PortId,
        frames: &[TestFrame],
    ) {
        let is_up = worker.core.ports[port.index()].up;
        let is_data = |frame: &&TestFrame| {
            !is_up || parse(frame.head(), frame.len()).kind != FrameKind::MacControl
        };
        let matches = |frame: &&TestFrame| {
            let filter = self.filter.as_ref();
            filter.is_none_or(|filter| filter.program_matches(frame.head(), frame.len()))
        };
        self.arrived += frames.iter().filter(is_data).filter(matches).count() as u64;
    }

    /// Reads all records.
    pub(super) fn read(&mut self) {
        let chunk = self.reader.ring.read_chunk(self.reader.ring.slots()).expect("they are there");
        let (first, second) = chunk.as_slices();
        let bytes: Vec<u8> = first.iter().chain(second).copied().collect();
        chunk.commit_all();
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let (record, captured) = Record::read(rest).expect("records are whole");
            let frame_bytes = record.frame_bytes as usize;
            assert_eq!(captured.len(), frame_bytes.min(SNAP_BYTES.into()), "{record:?}");
            rest = &rest[HEAD_BYTES + captured.len()..];
            let cause = record.cause.filter(|_| record.kind == Kind::Drop);
            *self.seen.entry((record.kind as u8, record.port, cause)).or_default() += 1;
            let (depths, number) = (Depths::default(), 0);
            let line = format!("{:?} {captured:?}", Record { depths, number, ..record });
            self.lines.push((record.kind, line));
        }
    }

    /// The records since last asked: arrivals in their order, and the others.
    pub(super) fn lines(&mut self) -> [Vec<String>; 2] {
        self.read();
        let lines = core::mem::take(&mut self.lines);
        let (arrivals, mut others): (Vec<_>, Vec<_>) =
            lines.into_iter().partition(|(kind, _)| *kind == Kind::In);
        // What ends goes before what goes on.
        others.sort_by(|one, other| one.1.cmp(&other.1));
        [arrivals, others].map(|lines| lines.into_iter().map(|(_, line)| line).collect())
    }

    fn seen(&self, kind: Kind, port: PortId, cause: Option<DropReason>) -> u64 {
        let key = (kind as u8, port, cause.map(|cause| cause as u8));
        self.seen.get(&key).copied().unwrap_or_default()
    }

    /// The records are those of the counters if all frames are captured, else no more than those.
    pub(super) fn check(&mut self, worker: &Worker<TestDevice>) {
        self.read();
        assert_eq!(self.reader.missed(), 0);
        let arrivals = |(&(kind, ..), &count): (&(u8, _, _), &u64)| {
            if kind == Kind::In as u8 { count } else { 0 }
        };
        assert_eq!(self.seen.iter().map(arrivals).sum::<u64>(), self.arrived);
        let mut report = Box::<Report>::default();
        worker.report(&mut report, crate::time::Instant::ZERO);
        for port in &report.ports {
            let counters = &port.counters;
            let out: u64 = counters.tx_frames.iter().sum();
            let pauses = counters.pfc.rx_consumed() + counters.pfc.tx_frames;
            let mut figures = Vec::from([
                (Kind::Out, None, out),
                (Kind::Punt, None, counters.punted_frames),
                (Kind::Pause, None, pauses),
            ]);
            let drops = DropReason::ALL.iter();
            figures.extend(drops.map(|&why| (Kind::Drop, Some(why), counters.dropped(why))));
            for (kind, cause, counted) in figures {
                let seen = self.seen(kind, port.port, cause);
                if self.filter.is_none() {
                    assert_eq!(seen, counted, "{kind:?} {cause:?} at {}", port.port);
                } else {
                    assert!(seen <= counted, "{kind:?} {cause:?} at {}", port.port);
                }
            }
        }
    }
}

/// The filter of a program, written as `tcpdump -ddd` does.
fn filter(program: &[(u16, u8, u8, u32)]) -> Filter {
    let instruction = |&(code, jt, jf, k): &(u16, u8, u8, u32)| Instruction { code, jt, jf, k };
    let program: Vec<Instruction> = program.iter().map(instruction).collect();
    Filter::new(&program).expect("a sound program")
}
