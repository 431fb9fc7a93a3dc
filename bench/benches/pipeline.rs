//! The whole pipeline of one worker without a driver: nanoseconds for each frame at bursts of 1, 8,
//! 32 and 64, with 1,000 routes, 64 rules, PFC armed on two priorities; and congested, when every
//! frame waits in a queue. What comes out is checked before anything is timed.

use bench::loop_device::LoopDevice;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use dataplane::capture::filter::Filter;
use dataplane::capture::program::Instruction;
use dataplane::capture::record::Kind;
use dataplane::capture::{CaptureReader, CaptureSettings, RING_BYTES, connect as connect_capture};
use dataplane::control_rings::{Command, ControlRings, connect};
use dataplane::device::Device;
use dataplane::driver::Polling;
use dataplane::fib::Route;
use dataplane::ids::{PortId, Tag};
use dataplane::rules::{PortSet, TagMatch, TcamEntry};
use dataplane::testing::RigBuilder;
use dataplane::testing::wire::{Udp, host_mac, host_v4, in_tunnel, port_mac};
use dataplane::time::Instant;
use dataplane::tunnel::{Tunnel, TunnelId, TunnelMode, TunnelPriorityGroup};
use dataplane::worker::Worker;
use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

const PORTS: u8 = 2;
const ROUTES: u16 = 1_000;
const HEADROOM_BYTES: u32 = 200_000;

/// The control thread's ends, which live as long as the worker.
type Control = ControlRings<<LoopDevice as Device>::Frame>;

fn port(number: u8) -> PortId {
    PortId::from_number(usize::from(number)).expect("a port")
}

/// Two routed ports, 1,000 routes of each family by port 2's host and as many by port 1's, 64
/// entries of which the last ones match. UDP in IPv4 arrives.
fn switch(burst_frames: usize) -> (Worker<LoopDevice>, Control) {
    switch_with(burst_frames, |from, flow| {
        let to = if from == 1 { 40 } else { 20 };
        let [high, low] = (flow % ROUTES).to_be_bytes();
        Udp { dst: [to, high, low, 9], src_port: flow, ..Udp::routed(from, 1, 26) }.bytes()
    })
}

/// The same with the frame that `frame` makes for a port of arrival and a flow.
fn switch_with(
    burst_frames: usize,
    frame: impl Fn(u8, u16) -> Vec<u8>,
) -> (Worker<LoopDevice>, Control) {
    worker_of(&builder(), burst_frames, frame)
}

/// Tables without a worker yet. A port has headroom for a whole burst of its longest frames: else a
/// worker receives fewer at a time.
fn builder() -> RigBuilder {
    let mut builder = RigBuilder::routed(PORTS);
    let settings = &mut builder.settings;
    for viq in settings.ports.iter_mut().flat_map(|port| port.lossless.iter_mut().flatten()) {
        settings.buffer.size_bytes += u64::from(HEADROOM_BYTES - viq.headroom_bytes);
        viq.headroom_bytes = HEADROOM_BYTES;
    }
    for (number, first) in [(1, 20_u8), (2, 40)] {
        let gateway = IpAddr::V4(Ipv4Addr::from(host_v4(number, 1)));
        for route in 0..ROUTES {
            let [high, low] = route.to_be_bytes();
            for net in
                [format!("{first}.{high}.{low}.0/24"), format!("{}/48", site(first, route, 0))]
            {
                let net = net.parse().expect("a network");
                builder.routes.set_route(net, Route::Via(vec![gateway])).expect("room");
            }
        }
    }
    let all: PortSet = [port(1), port(2)].into_iter().collect();
    let filler = (0..62).map(|value| TcamEntry {
        tag: TagMatch { value: 2, mask: 63 },
        in_ports: PortSet::from_iter([port(1 + value % 2)]),
        out_ports: all,
        new_tag: Tag::from_low_bits(2),
    });
    let keep = |value| TcamEntry {
        tag: TagMatch { value, mask: 63 },
        in_ports: all,
        out_ports: all,
        new_tag: Tag::from_low_bits(value),
    };
    builder.rules = Some(filler.chain([keep(1), keep(2)]).collect());
    builder
}

fn worker_of(
    builder: &RigBuilder,
    burst_frames: usize,
    frame: impl Fn(u8, u16) -> Vec<u8>,
) -> (Worker<LoopDevice>, Control) {
    let templates = [1, 2].map(|from| (0..1_024).map(|flow| frame(from, flow)).collect());
    let snapshot = Arc::new(builder.snapshot(0));
    let (mut links, mut control) = connect(1, usize::from(PORTS));
    let device = LoopDevice::new(templates.to_vec(), 4_096, burst_frames);
    let worker =
        Worker::new(&builder.settings, snapshot, device, links.remove(0), Polling::default());
    (worker, control.remove(0))
}

/// An address of a network that is behind port 2 if `first` is 40, and behind port 1 if it is 20.
fn site(first: u8, route: u16, host: u16) -> Ipv6Addr {
    Ipv6Addr::new(0x2A00, first.into(), route, 0, 0, 0, 0, host)
}

/// A UDP datagram of 18 octets in IPv6.
fn udp_v6(from: u8, flow: u16) -> Vec<u8> {
    let to = if from == 1 { 40 } else { 20 };
    let mut frame = [port_mac(from).0, host_mac(from, 1).0].concat();
    frame.extend([0x86, 0xDD, 0x66, 0x80, 0, 0, 0, 26, 17, 64]);
    frame.extend(Ipv6Addr::new(0x2001, 0xDB8, from.into(), 0, 0, 0, 0, 1).octets());
    frame.extend(site(to, flow % ROUTES, flow).octets());
    frame.extend([flow.to_be_bytes(), [0x12, 0xB7], [0, 26], [0, 0]].concat());
    frame.resize(80, 0);
    frame
}

/// One turn routes a burst each way; the last frame that leaves by port 2.
fn first_turn(worker: &mut Worker<LoopDevice>) -> Vec<u8> {
    worker.device_mut().keep_last = true;
    worker.turn(Instant::from_ns(1));
    let whole_bursts = u64::from(PORTS) * worker.device_mut().burst_frames as u64;
    assert_eq!(worker.totals().received, whole_bursts);
    let sent = worker.device_mut().last[1].clone();
    assert_eq!(sent[..12], [host_mac(2, 1).0, port_mac(2).0].concat());
    assert_eq!(worker.totals().dropped + worker.totals().held, 0);
    worker.device_mut().keep_last = false;
    sent
}

/// The frames look as they must.
fn check(worker: &mut Worker<LoopDevice>) {
    let sent = first_turn(worker);
    assert_eq!((sent[22], sent[15] >> 2), (63, 26));
}

/// The end of the tunnels here.
const TUNNEL_END: [u8; 4] = [10, 255, 0, 1];

/// Two tunnels, one to the host of each port; 50/8 and 60/8 are behind them.
fn with_tunnels(frame: impl Fn(u8, u16) -> Vec<u8>) -> (Worker<LoopDevice>, Control) {
    let mut builder = builder();
    builder.routes.set_locals([IpAddr::from(TUNNEL_END)]);
    for (index, net) in ["50.0.0.0/8", "60.0.0.0/8"].into_iter().enumerate() {
        let remote = host_v4(if index == 0 { 1 } else { 2 }, 1).into();
        let route = Route::Tunnel { id: TunnelId::from_index(index).expect("few"), remote };
        builder.routes.set_route(net.parse().expect("a network"), route).expect("room");
        builder.tunnels.push(Tunnel {
            local: TUNNEL_END.into(),
            remote: Some(remote),
            any_remote: false,
            dscp: TunnelMode::Pipe,
            ttl: TunnelMode::Pipe,
            outer_tag: core::array::from_fn(|tag| Tag::from_low_bits(tag.to_le_bytes()[0])),
            priority_group: TunnelPriorityGroup::Outer,
        });
    }
    worker_of(&builder, 64, frame)
}

/// Of each port: frames that go into the tunnel to the other port.
fn for_tunnel(from: u8, flow: u16) -> Vec<u8> {
    let [high, low] = (flow % ROUTES).to_be_bytes();
    let dst = [if from == 1 { 60 } else { 50 }, high, low, 9];
    Udp { dst, src_port: flow, ..Udp::routed(from, 1, 26) }.bytes()
}

/// Frames that come out of the tunnel of this port.
fn out_of_tunnel(from: u8, flow: u16) -> Vec<u8> {
    let [high, low] = (flow % ROUTES).to_be_bytes();
    let dst = [if from == 1 { 40 } else { 20 }, high, low, 9];
    let inner = Udp { dst, src_port: flow, ..Udp::routed(from, 1, 26) }.bytes();
    in_tunnel(&inner, (26 << 2, 64), (host_v4(from, 1), TUNNEL_END))
}

/// IPv4 in bursts of several lengths; IPv6, and frames into tunnels and out of them, which go the
/// same way.
fn uncongested(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("pipeline");
    let ipv4 = [1, 8, 32, 64].map(|burst_frames| {
        let (mut worker, control) = switch(burst_frames);
        check(&mut worker);
        (BenchmarkId::new("direct", burst_frames), burst_frames, worker, control)
    });
    let (mut worker, control) = switch_with(64, udp_v6);
    let sent = first_turn(&mut worker);
    assert_eq!((sent[14], sent[21]), (0x66, 63));
    let ipv6 = (BenchmarkId::new("IPv6", 64), 64, worker, control);
    let (mut worker, control) = with_tunnels(for_tunnel);
    let sent = first_turn(&mut worker);
    assert_eq!((sent.len(), sent[23], sent[22], sent[42]), (80, 4, 64, 63));
    let into = (BenchmarkId::new("into a tunnel", 64), 64, worker, control);
    let (mut worker, control) = with_tunnels(out_of_tunnel);
    check(&mut worker);
    let out = (BenchmarkId::new("out of a tunnel", 64), 64, worker, control);
    let (mut worker, control) = with_tunnels(|from, flow| {
        let frame = if flow % 2 == 0 { for_tunnel } else { out_of_tunnel };
        frame(from, flow)
    });
    first_turn(&mut worker);
    let mixed = (BenchmarkId::new("into and out of tunnels", 64), 64, worker, control);
    for (id, burst_frames, mut worker, _control) in ipv4.into_iter().chain([ipv6, into, out, mixed])
    {
        group.throughput(Throughput::Elements(2 * burst_frames as u64));
        let mut now = 0;
        group.bench_function(id, |bencher| {
            bencher.iter(|| {
                now += 1_000;
                black_box(worker.turn(Instant::from_ns(now)))
            });
        });
        let turns = 1 + now / 1_000;
        assert_eq!((worker.totals().imbalance(), worker.totals().dropped), (0, 0));
        assert_eq!(worker.totals().received, turns * 2 * burst_frames as u64);
    }
    group.finish();
}

/// Every frame waits: the ports open every other turn, so each frame goes through a VEQ and the
/// scheduler.
fn congested(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("pipeline");
    for burst_frames in [8, 32] {
        let (mut worker, _control) = switch(burst_frames);
        group.throughput(Throughput::Elements(2 * burst_frames as u64));
        let mut now = 0;
        group.bench_function(BenchmarkId::new("queued", burst_frames), |bencher| {
            bencher.iter(|| {
                now += 1_000;
                worker.device_mut().open = vec![false; 2];
                worker.turn(Instant::from_ns(now));
                worker.device_mut().open = vec![true; 2];
                worker.device_mut().burst_frames = 0;
                worker.turn(Instant::from_ns(now + 500));
                worker.device_mut().burst_frames = burst_frames;
            });
        });
        assert_eq!(worker.totals().imbalance(), 0);
        assert_eq!(worker.totals().dropped, 0);
        assert_eq!(worker.totals().received, now / 1_000 * 2 * burst_frames as u64);
    }
    group.finish();
}

/// `dst host 40.1.244.9 or dst host 20.1.244.9`, as `tcpdump -ddd -y EN10MB` prints it: one flow of
/// the 1,000 that arrive at each port.
const ONE_ADDRESS: &[(u16, u8, u8, u32)] = &[
    (0x28, 0, 0, 12),
    (0x15, 0, 2, 0x0800),
    (0x20, 0, 0, 30),
    (0x15, 5, 4, 0x2801_F409),
    (0x15, 1, 0, 0x0806),
    (0x15, 0, 4, 0x8035),
    (0x20, 0, 0, 38),
    (0x15, 1, 0, 0x2801_F409),
    (0x15, 0, 1, 0x1401_F409),
    (0x06, 0, 0, 262_144),
    (0x06, 0, 0, 0),
];

/// `udp src port 500`: one flow of each port.
const ONE_UDP_PORT: &[(u16, u8, u8, u32)] = &[
    (0x28, 0, 0, 12),
    (0x15, 0, 4, 0x86DD),
    (0x30, 0, 0, 20),
    (0x15, 0, 11, 17),
    (0x28, 0, 0, 54),
    (0x15, 8, 9, 500),
    (0x15, 0, 8, 0x0800),
    (0x30, 0, 0, 23),
    (0x15, 0, 6, 17),
    (0x28, 0, 0, 20),
    (0x45, 4, 0, 0x1FFF),
    (0xB1, 0, 0, 14),
    (0x48, 0, 0, 14),
    (0x15, 0, 1, 500),
    (0x06, 0, 0, 262_144),
    (0x06, 0, 0, 0),
];

/// What a client captures: frames that a filter tells by a field, of which none or one of 1,000 has
/// the value.
struct Captured {
    name: &'static str,
    program: &'static [(u16, u8, u8, u32)],
    /// Constants of the program, and what is put in their place.
    instead: &'static [(u32, u32)],
}

const CAPTURED: [Captured; 4] = [
    Captured {
        name: "no address",
        program: ONE_ADDRESS,
        instead: &[(0x2801_F409, 0x2801_F400), (0x1401_F409, 0x1401_F400)],
    },
    Captured { name: "one address of 1,000", program: ONE_ADDRESS, instead: &[] },
    Captured { name: "no UDP port", program: ONE_UDP_PORT, instead: &[(500, 5_000)] },
    Captured { name: "one UDP port of 1,000", program: ONE_UDP_PORT, instead: &[] },
];

/// Nobody captures; a client captures what never comes; and one flow of 1,000.
fn captured(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("captured");
    group.throughput(Throughput::Elements(2 * 64));
    for captured in [None].into_iter().chain(CAPTURED.iter().map(Some)) {
        let (mut worker, mut control) = switch(64);
        check(&mut worker);
        let name = captured.map_or("nobody", |captured| captured.name);
        let mut reader = captured.map(|captured| capture(&mut control, captured));
        let (mut now, mut events) = (0, 0);
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                now += 1_000;
                let turn = worker.turn(Instant::from_ns(now));
                if let Some(reader) = reader.as_mut().filter(|_| now % 1_000_000 == 0) {
                    let bytes = reader.ring.slots();
                    events += bytes;
                    reader.ring.read_chunk(bytes).expect("they are there").commit_all();
                }
                black_box(turn)
            });
        });
        // Nothing ran if another row was asked for.
        assert!(now == 0 || (events > 0) == name.starts_with("one"), "{name}");
        assert_eq!(reader.map_or(0, |reader| reader.missed()), 0);
        assert_eq!(worker.totals().imbalance(), 0);
        assert_eq!(worker.totals().dropped, 0);
        assert_eq!(worker.totals().received, (1 + now / 1_000) * 2 * 64);
    }
    group.finish();
}

fn capture(control: &mut Control, captured: &Captured) -> CaptureReader {
    let instruction = |&(code, jt, jf, k): &(u16, u8, u8, u32)| {
        let instead = captured.instead.iter().find(|(from, _)| *from == k);
        Instruction { code, jt, jf, k: instead.map_or(k, |&(_, to)| to) }
    };
    let program: Vec<_> = captured.program.iter().map(instruction).collect();
    let settings = CaptureSettings {
        kinds: Kind::ALL.iter().fold(0, |bits, kind| bits | kind.bit()),
        ports: None,
        class: None,
        filter: Some(Filter::new(&program).expect("a sound program")),
        snap_bytes: 128,
        sample: 1,
    };
    let (capture, reader) = connect_capture(settings, 0, 0, RING_BYTES);
    control.commands.push(Command::Capture(Some(capture))).expect("room for a command");
    reader
}

criterion_group!(benches, uncongested, congested, captured);
criterion_main!(benches);
