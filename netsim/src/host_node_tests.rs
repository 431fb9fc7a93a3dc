//! One NIC, with nothing at the other end but the test.

use super::*;
use crate::flow::{Addresses, FlowId, FlowSpec, HEAD_BYTES, head};
use crate::sink::Drain;
use crate::tags::tag_map;
use dataplane::ids::Priority;
use dataplane::wire::mac_control::Pfc;
use std::net::Ipv4Addr;

/// 1,024 bytes on the wire at 10G.
const FRAME_PS: Picoseconds = 819_200;
const FRAME_BYTES: u16 = 1_000;

struct Bench {
    host: HostNode,
    flows: Vec<FlowState>,
    watch: TagWatch,
}

fn priority(value: u8) -> Priority {
    Priority::new(value).unwrap()
}

fn head_of(flow: u32, dscp: u8) -> [u8; HEAD_BYTES] {
    let addresses = Addresses {
        source_mac: MacAddress::default(),
        gateway_mac: MacAddress::default(),
        source: Ipv4Addr::new(10, 0, 0, 1),
        destination: Ipv4Addr::new(10, 0, 0, 2),
    };
    head(flow, &addresses, dscp, FRAME_BYTES)
}

/// Host 0 at 10G, which sends flows 0 and 1 back to back in priorities 3 and 4, tags 1 and 2. Flow
/// 2 is to it.
fn bench(sink: Option<Drain>) -> Bench {
    let tags = [(1, 3), (2, 4)].map(|(tag, p)| (Tag::new(tag).unwrap(), priority(p)));
    let map = tag_map(&tags);
    let source = |flow: u32| {
        let dscp = u8::try_from(flow).unwrap() + 1;
        let mut spec = FlowSpec::new(HostId(0), HostId(1), tags[flow as usize].0);
        spec.frame_bytes = FRAME_BYTES;
        let of_flow = tags[flow as usize].1;
        let head = |_| head_of(flow, dscp);
        Source::new(FlowId(flow as usize), &spec, of_flow, head, random::seeded(1))
    };
    let parts = HostParts {
        gfc: None,
        name: "h".into(),
        id: HostId(0),
        mac: MacAddress([2, 0, 0, 0, 0, 9]),
        wire: 5,
        speed: Speed::from_gbps(10),
        sink: sink.map(|drain| Sink::new(drain, 0b1_1000)),
        sources: vec![source(0), source(1)],
        rdma: None,
        lldp: None,
    };
    let flow = |from, to| FlowState {
        from: HostId(from),
        to: HostId(to),
        start_ps: 0,
        counters: FlowCounters::default(),
        frames: None,
        receive_window: None,
    };
    let watch = TagWatch::new(&map);
    let host = HostNode::new(parts, Arc::new(map), 0b1_1000, Pool::default());
    Bench { host, flows: vec![flow(0, 1), flow(0, 1), flow(1, 0)], watch }
}

impl Bench {
    /// A turn; when the next one is wanted, and what was sent: a flow's number or the PFC frame.
    fn turn(&mut self, now_ps: Picoseconds) -> (Picoseconds, Option<Result<u32, MacControl>>) {
        let (wanted, launched) = self.host.turn(now_ps, &mut self.flows, &self.watch);
        assert!(launched.as_ref().is_none_or(|launch| launch.wire == 5));
        let what = |frame: &SimFrame| {
            let mark = mark(frame).map(|mark| mark.flow);
            mark.ok_or_else(|| MacControl::parse(frame.head()))
        };
        (wanted, launched.map(|launch| what(&launch.frame)))
    }

    fn pfc(&mut self, pfc: Pfc, now_ps: Picoseconds) {
        let frame = self.host.pool.take(&pfc.to_frame(MacAddress::default()), 0);
        self.host.arrive(frame, now_ps, &mut self.flows);
    }
}

#[test]
fn flows_take_turns_and_the_wire_is_never_idle() {
    let mut bench = bench(None);
    for at in 0..10_u32 {
        let now_ps = u64::from(at) * FRAME_PS;
        assert_eq!(bench.turn(now_ps), (now_ps + FRAME_PS, Some(Ok(at % 2))));
        assert_eq!(bench.turn(now_ps + 1).1, None, "the wire is busy");
    }
    assert_eq!(bench.host.counters.sent_frames, 10);
    assert_eq!(bench.flows[0].counters.sent_frames, 5);
}

#[test]
fn a_pause_stops_its_class_from_the_next_frame_on_until_its_time_or_the_resume() {
    let mut bench = bench(None);
    bench.turn(0);
    // 100 quanta of 51.2 ns from here: until 5,120.5 ns, which a NIC with a clock of nanoseconds
    // rounds up.
    bench.pfc(Pfc::default().with(priority(3), 100), 500);
    for at in 1..7 {
        assert_eq!(bench.turn(at * FRAME_PS).1, Some(Ok(1)), "frame {at}");
    }
    bench.pfc(Pfc::default().with(priority(4), 0xFFFF), 7 * FRAME_PS - 1);
    assert_eq!(bench.turn(7 * FRAME_PS).1, Some(Ok(0)), "5,734 ns: class 3 may again");
    bench.pfc(Pfc::default().with(priority(3), 0xFFFF), 7 * FRAME_PS + 5);
    let (wanted, sent) = bench.turn(8 * FRAME_PS);
    assert_eq!(sent, None);
    // Class 4 was paused first, at 5,734.399 ns, for 3,355,392 ns.
    assert_eq!(wanted, (5_735 + 3_355_392) * 1_000, "wakes by itself");
    bench.pfc(Pfc::default().with(priority(4), 0), 9 * FRAME_PS);
    assert_eq!(bench.turn(9 * FRAME_PS).1, Some(Ok(1)));
    assert_eq!(bench.host.counters().pfc.rx_pauses, [0, 0, 0, 2, 1, 0, 0, 0]);
}

#[test]
fn a_pause_of_a_class_that_runs_out_wakes_the_host_on_the_nanosecond() {
    let mut bench = bench(None);
    bench.pfc(Pfc::default().with(priority(3), 10).with(priority(4), 20), 0);
    assert_eq!(bench.turn(0), (512_000, None));
    assert_eq!(bench.turn(511_999).1, None);
    assert_eq!(bench.turn(512_000).1, Some(Ok(0)));
}

#[test]
fn a_slow_receiver_sends_xoff_ahead_of_data_refreshes_it_and_sends_xon() {
    let speed = Speed::from_bps(1_000_000);
    let drain =
        Drain { speed: Some(speed), xoff_bytes: 1_000, xon_bytes: 1_000, capacity_bytes: 2_500 };
    let mut bench = bench(Some(drain));
    bench.turn(0);
    for number in 0..4 {
        let mut head = head_of(2, 1);
        crate::flow::set_number(&mut head, 0, number);
        let frame = bench.host.pool.take(&head, FRAME_BYTES);
        bench.host.arrive(frame, 10, &mut bench.flows);
    }
    let counters = &bench.host.counters;
    assert_eq!((counters.received_frames, counters.overrun_frames[3]), (2, 2));
    assert_eq!(bench.turn(10), (FRAME_PS, None), "the frame on the wire comes first");
    let xoff = MacControl::Pfc(Pfc::default().with(priority(3), 0xFFFF));
    let (wanted, sent) = bench.turn(FRAME_PS);
    assert_eq!(sent, Some(Err(xoff)));
    assert_eq!(bench.turn(wanted).1, Some(Ok(1)), "and then data goes on");
    // Nothing else keeps this host awake.
    bench.host.stop();
    let refresh_ps = bench.turn(2 * FRAME_PS).0;
    assert!(refresh_ps < 3_355_392_000 / 2 + FRAME_PS, "{refresh_ps}");
    assert_eq!(bench.turn(refresh_ps).1, Some(Err(xoff)));
    // 8 ms a frame.
    let taken_ps = 10 + 8_000_000_000;
    let (wanted, sent) = bench.turn(taken_ps);
    assert_eq!(sent, Some(Err(MacControl::Pfc(Pfc::default().with(priority(3), 0)))));
    assert_eq!(wanted, 2 * 8_000_000_000 + 10, "the next frame, and no refresh");
    assert_eq!(bench.turn(wanted), (NEVER, None));
}

#[test]
fn frames_of_others_are_counted_and_belong_to_no_flow() {
    let mut bench = bench(None);
    for flow in [0, 99] {
        let frame = bench.host.pool.take(&head_of(flow, 1), FRAME_BYTES);
        bench.host.arrive(frame, 0, &mut bench.flows);
    }
    assert_eq!((bench.host.counters.stray_frames, bench.host.counters.received_frames), (2, 0));
    assert!(bench.flows.iter().all(|flow| flow.counters == FlowCounters::default()));
}

#[test]
fn an_answer_obeys_the_pauses_of_the_class_it_starts_in() {
    let mut bench = bench(None);
    bench.host.stop();
    // Flow 2 starts with tag 1, in class 3; its frames come with tag 2, of class 4.
    let ack = crate::flow::ack_head(head_of(2, 1), 2);
    bench.flows[2].receive_window = Some(Box::new((ReceiveWindow::default(), ack)));
    let frame = bench.host.pool.take(&head_of(2, 2), FRAME_BYTES);
    bench.host.arrive(frame, 0, &mut bench.flows);
    bench.pfc(Pfc::default().with(priority(3), 0xFFFF), 0);
    assert_eq!(bench.turn(0).1, None);
    bench.pfc(Pfc::default().with(priority(4), 0xFFFF).with(priority(3), 0), 1_000);
    assert!(bench.turn(1_000).1.is_some());
}

#[test]
fn xoff_is_sent_again_when_a_link_comes_back() {
    let drain = Drain { speed: None, xoff_bytes: 500, xon_bytes: 0, capacity_bytes: 2_500 };
    let mut bench = bench(Some(drain));
    bench.host.stop();
    let frame = bench.host.pool.take(&head_of(2, 1), FRAME_BYTES);
    bench.host.arrive(frame, 0, &mut bench.flows);
    let xoff = MacControl::Pfc(Pfc::default().with(priority(3), 0xFFFF));
    assert_eq!(bench.turn(0).1, Some(Err(xoff)));
    for (up, sent) in [(false, None), (true, Some(Err(xoff)))] {
        bench.host.set_link(up, FRAME_PS);
        assert_eq!(bench.turn(FRAME_PS).1, sent);
    }
}
