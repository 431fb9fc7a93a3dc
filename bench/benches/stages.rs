//! The stages of the pipeline by themselves, and the whole turn: nanoseconds and cycles for each
//! frame at bursts of 1, 8, 32 and 64. Every answer is checked before it is timed.
//!
//! Cycles are those of the time-stamp counter, whose rate the operating system tells: nanoseconds
//! times that rate. A core that runs faster or slower than its nominal clock takes more or fewer of
//! its own.

use bench::line_switch::LineSwitch;
use bench::loop_device::LoopFrame;
use bench::table::fast_median;
use comfy_table::{CellAlignment, Table, presets};
use criterion::{BenchmarkId, Criterion, Throughput};
use dataplane::buffer::{Buffer, ViqId};
use dataplane::fib::{Hop, Leaf, Route};
use dataplane::ids::{PortId, Priority, Tag};
use dataplane::limits::BURST_MAX;
use dataplane::pfc::generator::RateCodes;
use dataplane::pfc::generator::{Generator, QUANTA_MAX};
use dataplane::queue::scheduler::Scheduler;
use dataplane::queue::veq::{FrameMeta, FramePool, QueuedFrame, Veq};
use dataplane::settings::SchedulerSettings;
use dataplane::snapshot::Snapshot;
use dataplane::testing::stages::{examine, look_up};
use dataplane::testing::wire::{host_mac, host_v4, port_mac};
use dataplane::time::{Instant, Speed};
use dataplane::wire::ipv4;
use dataplane::wire::mac_control::{MacControl, Pfc};
use dataplane::wire::parse::{Kind, parse};
use std::collections::BTreeMap;
use std::fs;
use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;
use std::time::{Duration, Instant as Clock};

const BURSTS: [usize; 4] = [1, 8, 32, 64];
/// Different frames that each stage meets in turn: more than a CPU learns by heart.
const FRAMES: usize = 4_096;
const FRAME_BYTES_MAX: usize = 1_514;

/// The two lossless classes, and six that are not, arriving at two ports.
const SWITCH: LineSwitch = LineSwitch {
    ports: 2,
    outputs: 1,
    routes: 2_000,
    rules: 64,
    burst_frames: BURST_MAX,
    classes: 8,
    templates: 2 * 4_096,
    workers: 1,
    queues: 1,
    headroom_bytes: 40_000,
};

/// What has been measured: nanoseconds for each frame by stage, then by burst.
struct Bench {
    criterion: Criterion,
    stages: Vec<(String, BTreeMap<usize, f64>)>,
}

impl Bench {
    /// Measures `run`, which takes the frames of a range through the stage.
    fn stage(&mut self, name: &str, run: impl FnMut(Range<usize>)) {
        self.stage_of(name, 1, run);
    }

    /// The same with `times` frames for each of the range.
    fn stage_of(&mut self, name: &str, times: usize, mut run: impl FnMut(Range<usize>)) {
        let mut group = self.criterion.benchmark_group(name);
        let mut each_ns = BTreeMap::new();
        for burst in BURSTS {
            let frames = burst * times;
            let (mut at, mut took) = (0, Vec::new());
            group.throughput(Throughput::Elements(frames as u64));
            group.bench_function(BenchmarkId::from_parameter(burst), |bencher| {
                bencher.iter_custom(|bursts| {
                    let start = Clock::now();
                    for _ in 0..bursts {
                        run(at..at + burst);
                        at = (at + burst) % FRAMES;
                    }
                    let elapsed = start.elapsed();
                    took.push(elapsed.as_nanos() as f64 / (bursts as f64 * frames as f64));
                    elapsed
                });
            });
            // Nothing if this one was not asked for.
            if !took.is_empty() {
                each_ns.insert(burst, fast_median(took));
            }
        }
        group.finish();
        self.stages.push((name.to_owned(), each_ns));
    }

    fn print(&self) {
        let mhz = nominal_mhz();
        let mut table = Table::new();
        let bursts = BURSTS.map(|burst| format!("bursts of {burst}"));
        table
            .load_style(presets::NOTHING)
            .set_header([vec!["stage".to_owned()], bursts.into()].concat());
        table.column_iter_mut().skip(1).for_each(|c| c.set_cell_alignment(CellAlignment::Right));
        for (name, each_ns) in self.stages.iter().filter(|(_, each_ns)| !each_ns.is_empty()) {
            let cell = |burst: &usize| match (each_ns.get(burst), mhz) {
                (Some(ns), Some(mhz)) => format!("{ns:.2} ns {:.1} cycles", ns * mhz / 1_000.0),
                (Some(ns), None) => format!("{ns:.2} ns"),
                (None, _) => String::new(),
            };
            table.add_row([vec![name.clone()], BURSTS.iter().map(cell).collect()].concat());
        }
        let clock = mhz.map_or_else(|| "unknown".to_owned(), |mhz| format!("{mhz:.0} MHz"));
        println!(
            "\nFor each frame; a cycle is one of the time-stamp counter ({clock}).\n\n{table}"
        );
    }
}

/// The rate of the time-stamp counter, as far as Linux says it.
fn nominal_mhz() -> Option<f64> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("cpu MHz"))?;
    line.split(':').nth(1)?.trim().parse().ok()
}

fn port(number: usize) -> PortId {
    PortId::from_number(number).expect("a port")
}

/// What arrives at port 1, all of it for port 2.
fn frames() -> Vec<Vec<u8>> {
    SWITCH.frames(1)
}

/// The DSCP of each of [`frames`].
fn dscps() -> Vec<u8> {
    (0..4_096).map(|number| SWITCH.dscp(number)).collect()
}

fn destination(frame: &[u8]) -> u32 {
    u32::from_be_bytes([frame[30], frame[31], frame[32], frame[33]])
}

fn headers(bench: &mut Bench, snapshot: &Snapshot) {
    let frames = frames();
    for (frame, dscp) in frames.iter().zip(dscps()) {
        let parsed = parse(frame, frame.len());
        assert_eq!((parsed.kind, parsed.l3, parsed.tos >> 2), (Kind::Ipv4, 14, dscp));
        let class = snapshot.ports[0].classifier.classify(Some(dscp), None);
        let plain = examine(&snapshot.ports[0], frame, FRAME_BYTES_MAX);
        assert_eq!(plain, Some((class, destination(frame))));
        assert_eq!(class.is_lossless(), dscp < 28);
        assert_eq!(class.priority(), Priority::from_low_bits(dscp - 26 + 3));
    }
    bench.stage("parse", |range| {
        for frame in &frames[range] {
            black_box(parse(frame, frame.len()));
        }
    });
    let dscps = dscps();
    bench.stage("classify", |range| {
        for &dscp in &dscps[range] {
            black_box(snapshot.ports[0].classifier.classify(Some(dscp), None));
        }
    });
    bench.stage("parse and classify, plain", |range| {
        for frame in &frames[range] {
            black_box(examine(&snapshot.ports[0], frame, FRAME_BYTES_MAX));
        }
    });
}

fn forward(bench: &mut Bench, snapshot: &Snapshot) {
    let leads_to_2 = |leaf: Leaf| match snapshot.fib.hop(leaf, 0) {
        Hop::Forward(adjacency) => {
            adjacency.macs()[..6] == host_mac(2, 1).0 && adjacency.out == port(2)
        }
        _ => false,
    };
    let keys: Vec<u32> = frames().iter().map(|frame| destination(frame)).collect();
    let (eights, _) = keys.as_chunks::<8>();
    for &keys in eights {
        assert!(look_up(snapshot, keys).iter().all(|&leaf| leads_to_2(leaf)));
    }
    bench.stage("forward, IPv4", |range| {
        let (eights, rest) = keys[range].as_chunks::<8>();
        for &keys in eights {
            black_box(look_up(snapshot, keys));
        }
        for key in rest {
            black_box(snapshot.fib.v4(key.to_be_bytes()));
        }
    });
    let keys: Vec<[u8; 16]> = (0..4_096).map(|number| site(number).octets()).collect();
    assert!(keys.iter().all(|&key| leads_to_2(snapshot.fib.v6(key))));
    bench.stage("forward, IPv6", |range| {
        for &key in &keys[range] {
            black_box(snapshot.fib.v6(key));
        }
    });
}

/// An address in site `number` modulo 1,000.
fn site(number: u16) -> Ipv6Addr {
    Ipv6Addr::new(0x2A00, 1, number % 1_000, 0, 0, 0, 0, number)
}

fn rules(bench: &mut Bench, snapshot: &Snapshot) {
    let rules = snapshot.rules.as_ref().expect("64 of them");
    let query = |number: u8| (Tag::from_low_bits(number % 3), port(1), port(2));
    let queries: Vec<_> = (0..FRAMES).map(|number| query(number.to_le_bytes()[0])).collect();
    assert!(queries.iter().all(|&(tag, from, to)| rules.lookup(tag, from, to) == tag));
    bench.stage("rules", |range| {
        for &(tag, from, to) in &queries[range] {
            black_box(rules.lookup(tag, from, to));
        }
    });
}

fn admission(bench: &mut Bench) {
    let mut buffer = Buffer::new(&SWITCH.builder().settings);
    let (viq, cell_bytes) = (ViqId::new(port(1), Priority::from_low_bits(3)), buffer.cell_bytes());
    assert_eq!(buffer.cost_bytes(60), cell_bytes);
    assert_eq!(buffer.admit(viq, cell_bytes), Ok(()));
    assert_eq!(buffer.viq(viq).bytes(), cell_bytes);
    buffer.release(viq, cell_bytes);
    assert!(buffer.admit_run(viq, 64 * cell_bytes) && buffer.viq(viq).bytes() == 64 * cell_bytes);
    buffer.release(viq, 64 * cell_bytes);
    bench.stage("admit and release, each", |range| {
        for _ in range.clone() {
            let _admitted = black_box(buffer.admit(black_box(viq), cell_bytes));
        }
        for _ in range {
            buffer.release(black_box(viq), cell_bytes);
        }
    });
    bench.stage("admit and release, the burst", |range| {
        let cost_bytes = u32::try_from(range.len()).expect("64 at the most") * cell_bytes;
        assert!(buffer.admit_run(black_box(viq), cost_bytes));
        buffer.release(black_box(viq), cost_bytes);
    });
    assert_eq!(buffer.viq(viq).bytes(), 0);
}

/// Frames in and out of one queue; `way` takes the frames of `hand` through it, in order.
fn queue(
    bench: &mut Bench,
    name: &str,
    way: impl Fn(&mut Veq, &mut FramePool<LoopFrame>, &mut Vec<QueuedFrame<LoopFrame>>, usize),
) {
    let mut arena = FramePool::new(BURST_MAX, 1);
    let mut veq = Veq::default();
    let queued = |(frame, arrived_ns): (LoopFrame, u32)| {
        let meta = FrameMeta::own(&frame, port(2), Priority::from_low_bits(3), Instant::ZERO);
        QueuedFrame { meta: FrameMeta { bytes: 60, arrived_ns, ..meta }, frame }
    };
    let mut hand: Vec<_> = LoopFrame::many(BURST_MAX).into_iter().zip(0..).map(queued).collect();
    way(&mut veq, &mut arena, &mut hand, BURST_MAX);
    assert!(hand.iter().map(|queued| queued.meta.arrived_ns).eq((0..).take(BURST_MAX)));
    bench.stage(name, |range| way(&mut veq, &mut arena, &mut hand, range.len()));
    assert_eq!((veq.frames(), veq.bytes(), hand.len()), (0, 0, BURST_MAX));
    assert_eq!(veq.peak_bytes() as usize, BURST_MAX * 60);
}

fn queues(bench: &mut Bench) {
    queue(bench, "queue, in and out, each", |veq, arena, hand, count| {
        let start = hand.len() - count;
        for queued in hand.drain(start..) {
            assert!(veq.push_back(arena, queued).is_ok());
        }
        hand.extend((0..count).filter_map(|_| veq.pop_front(arena)));
    });
    queue(bench, "queue, in and out, the burst", |veq, arena, hand, count| {
        let start = hand.len() - count;
        let Some(&QueuedFrame { meta, .. }) = hand.get(start) else { return };
        let frames = hand.drain(start..).map(|queued| queued.frame);
        veq.extend_run(arena, &meta, frames, |_| unreachable!("there is room"));
        while let Some(front) = veq.front_frames(arena, count) {
            let before = hand.len();
            hand.extend(front.drain());
            let took = &hand[before..];
            let bytes = took.iter().map(|queued| u32::from(queued.meta.bytes)).sum();
            veq.took(arena, took.len(), bytes);
        }
    });
}

fn schedule(bench: &mut Bench) {
    let settings = SchedulerSettings { strict_bits: 0, quantum_bytes: [1_514; 8], fair: false };
    let mut scheduler = Scheduler::new(&settings);
    let mut picked = [0_u32; 8];
    for _ in 0..80_000 {
        picked[scheduler.pick(0xFF, |_| 60).expect("all are eligible")] += 1;
    }
    assert!(picked.iter().all(|&frames| frames.abs_diff(10_000) <= 26), "{picked:?}");
    bench.stage("schedule, one priority", |range| {
        for _ in range {
            black_box(scheduler.pick(black_box(1 << 3), |_| 60));
        }
    });
    bench.stage("schedule, among eight", |range| {
        for _ in range {
            black_box(scheduler.pick(black_box(0xFF), |_| 60));
        }
    });
}

fn pfc(bench: &mut Bench) {
    let both = Priority::from_low_bits(3).bit() | Priority::from_low_bits(4).bit();
    let generator = Generator::new(Speed::from_gbps(10));
    let pfc =
        generator.poll(both, &RateCodes::NONE, Instant::ZERO).expect("upstream has not been told");
    let [three, four] = [3, 4].map(Priority::from_low_bits);
    assert_eq!(pfc, Pfc::default().with(three, QUANTA_MAX).with(four, QUANTA_MAX));
    let frame = pfc.to_frame(port_mac(1));
    assert_eq!(MacControl::parse(&frame), MacControl::Pfc(pfc));
    bench.stage("PFC, encode", |range| {
        for _ in range {
            let pfc = generator.poll(black_box(both), &RateCodes::NONE, Instant::ZERO);
            black_box(pfc.map(|pfc| pfc.to_frame(port_mac(1))));
        }
    });
    bench.stage("PFC, decode", |range| {
        for _ in range {
            black_box(MacControl::parse(black_box(&frame)));
        }
    });
}

fn rewrite(bench: &mut Bench) {
    let header = |frame: Vec<u8>| frame[14..].first_chunk().copied().expect("IPv4");
    let mut headers: Vec<[u8; ipv4::HEADER_BYTES]> = frames().into_iter().map(header).collect();
    bench.stage("rewrite TOS, TTL, checksum", |range| {
        for header in &mut headers[range] {
            let ttl = header[8].wrapping_sub(1);
            ipv4::set_tos_and_ttl(black_box(header), 27 << 2, ttl);
        }
    });
    assert!(headers.iter().all(|header| ipv4::checksum_holds(header)));
}

/// Two ports that send to each other, so twice as many frames as one burst has.
fn turn(bench: &mut Bench) {
    for (name, classes) in [("whole turn, one class", 1), ("whole turn, eight classes", 8)] {
        let mut worker = LineSwitch { classes, ..SWITCH }.build();
        worker.device_mut().keep_last = true;
        worker.turn(Instant::ZERO);
        let sent = worker.device().last[1].clone();
        assert_eq!(sent[..12], [host_mac(2, 1).0, port_mac(2).0].concat());
        assert_eq!((sent[22], sent[15] >> 2), (63, 25 + classes));
        worker.device_mut().keep_last = false;
        let mut clock_ns = 0;
        bench.stage_of(name, 2, |range| {
            clock_ns += 1_000;
            worker.device_mut().burst_frames = range.len();
            black_box(worker.turn(Instant::from_ns(clock_ns)));
        });
        let totals = worker.totals();
        assert_eq!((totals.imbalance(), totals.dropped, totals.held), (0, 0, 0));
    }
}

/// The same when each frame waits: a burst stands in each queue and leaves when the next comes.
fn congested_turn(bench: &mut Bench) {
    let mut worker = LineSwitch { classes: 1, ..SWITCH }.build();
    let (mut clock_ns, mut before) = (0, 0);
    bench.stage_of("whole turn, congested", 2, |range| {
        clock_ns += 1_000;
        let device = worker.device_mut();
        if range.len() != before {
            // One burst of this length to stand in each queue, behind what has left.
            before = range.len();
            (device.burst_frames, device.tx_frames_a_turn) = (0, usize::MAX);
            worker.turn(Instant::from_ns(clock_ns));
            let device = worker.device_mut();
            (device.burst_frames, device.tx_frames_a_turn) = (before, before);
            device.open.fill(false);
            worker.turn(Instant::from_ns(clock_ns));
            worker.device_mut().open.fill(true);
        }
        black_box(worker.turn(Instant::from_ns(clock_ns)));
    });
    let totals = worker.totals();
    assert_eq!((totals.imbalance(), totals.dropped, totals.held), (0, 0, 2 * before as u64));
}

fn main() {
    let criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
    let mut bench = Bench { criterion, stages: Vec::new() };
    let mut builder = SWITCH.builder();
    for number in 0..1_000 {
        let net = format!("{}/48", Ipv6Addr::new(0x2A00, 1, number, 0, 0, 0, 0, 0));
        let via = Route::Via(vec![IpAddr::V4(Ipv4Addr::from(host_v4(2, 1)))]);
        builder.routes.set_route(net.parse().expect("a network"), via).expect("room");
    }
    let snapshot = builder.snapshot(0);
    headers(&mut bench, &snapshot);
    forward(&mut bench, &snapshot);
    rules(&mut bench, &snapshot);
    admission(&mut bench);
    queues(&mut bench);
    schedule(&mut bench);
    pfc(&mut bench);
    rewrite(&mut bench);
    turn(&mut bench);
    congested_turn(&mut bench);
    bench.print();
    bench.criterion.final_summary();
}
