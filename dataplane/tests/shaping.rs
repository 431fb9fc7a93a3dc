//! Queues with a peak rate, through a whole worker.

use dataplane::control_rings::Command;
use dataplane::counters::DropReason;
use dataplane::ids::{PortId, Priority};
use dataplane::pfc::watchdog::{Action, WatchdogSettings};
use dataplane::queue::shaper::PeakRate;
use dataplane::testing::wire::{Udp, sequence};
use dataplane::testing::{Rig, RigBuilder};
use dataplane::time::{Instant, Speed};
use dataplane::wire::mac_control::MacControl;

const US: u64 = 1_000;
/// 996 bytes and the FCS: 8,000 bits.
const BYTES: usize = 996;
/// DSCPs of the lossless classes 3 and 4, and of the lossy class 0.
const LOSSLESS: u8 = 26;
const OTHER: u8 = 27;
const LOSSY: u8 = 0;

const fn peak(mbps: u64, burst_bytes: u32) -> PeakRate {
    PeakRate { rate: Speed::from_bps(mbps * 1_000_000), burst_bytes }
}

/// Two ports, of which the second has these peak rates.
fn builder(peaks: &[(usize, PeakRate)]) -> RigBuilder {
    let mut builder = RigBuilder::routed(2);
    for &(queue, peak) in peaks {
        builder.settings.ports[1].peak_rates[queue] = Some(peak);
    }
    builder
}

fn load(rig: &mut Rig, dscp: u8, count: u32) {
    let frame = Udp { frame_bytes: BYTES, ..Udp::routed(1, 2, dscp) };
    rig.arrive_numbered(1, &frame, 0..count);
}

fn dscps(rig: &mut Rig) -> Vec<u8> {
    rig.sent(2).iter().map(|frame| frame[15] >> 2).collect()
}

fn count(frames: &[u8], dscp: u8) -> usize {
    frames.iter().filter(|&&of| of == dscp).count()
}

/// Turns every microsecond for `us`; what left by port 2, as DSCPs.
fn run(rig: &mut Rig, us: u64) -> Vec<u8> {
    let mut sent = Vec::new();
    for _ in 0..us {
        rig.wait(US);
        rig.settle();
        sent.extend(dscps(rig));
    }
    sent
}

#[test]
fn a_lossless_queue_beyond_its_rate_pauses_upstream_and_loses_nothing() {
    let mut builder = builder(&[(3, peak(100, 0))]);
    for port in &mut builder.settings.ports {
        let (detection_ns, restoration_ns) = (1_000_000, 1_000_000);
        let action = Action::Drop;
        port.watchdog = Some(WatchdogSettings { detection_ns, restoration_ns, action });
    }
    let mut rig = builder.build();
    load(&mut rig, LOSSLESS, 40);
    rig.settle();
    let pauses = rig.sent(1);
    assert!(matches!(MacControl::parse(&pauses[0]), MacControl::Pfc(pfc) if pfc.quanta[3] > 0));
    assert_eq!(dscps(&mut rig), [LOSSLESS]);
    let queue = rig.report(2).queues[3];
    assert!(queue.peak_limited && !queue.rx_paused && !queue.rx_slowed && !queue.stormed);
    assert_eq!(queue.origins.viqs().count(), 1, "whom it blocks is told");
    // 80 us each; other classes do not wait meanwhile.
    load(&mut rig, OTHER, 10);
    let sent = run(&mut rig, 2_400);
    assert_eq!((count(&sent, LOSSLESS), count(&sent, OTHER)), (30, 10));
    assert_eq!(sent[..10], [OTHER; 10], "they pass the waiting queue");
    assert_eq!(count(&run(&mut rig, 1_000), LOSSLESS), 9);
    let (out, totals) = (rig.report(2).counters, rig.totals());
    assert_eq!((totals.dropped, totals.held), (0, 0));
    assert_eq!((out.pfc.storms, out.peak_rate_used_up[3]), ([0; 8], 40));
    let pfc = rig.report(1).counters.pfc;
    assert!(pfc.tx_xon[3] >= 1 && pfc.tx_pauses[3] >= 1);
    assert!(!rig.report(2).queues[3].peak_limited, "nothing waits");
}

#[test]
fn a_lossy_queue_beyond_its_rate_fills_and_drops_its_tail() {
    let mut rig = builder(&[(0, peak(100, 0))]).build();
    load(&mut rig, LOSSY, 150);
    rig.settle();
    let held = 100_000 / BYTES;
    let out = rig.report(2).counters;
    assert_eq!(out.dropped(DropReason::TailDrop), 150 - held as u64 - 1);
    assert_eq!(count(&run(&mut rig, 80 * held as u64), LOSSY), held + 1);
    assert_eq!(rig.totals().held, 0);
}

/// A port of 1G with a strict queue of 200 Mb/s, and two queues that share the rest 3 to 1.
#[test]
fn other_queues_have_what_a_shaped_one_leaves_by_their_weights() {
    let mut builder = builder(&[(4, peak(200, 2_000))]);
    let settings = &mut builder.settings;
    settings.scheduler.strict_bits = 1 << 4;
    settings.scheduler.quantum_bytes[3] = 3 * 1_514;
    (settings.ports[1].paced, settings.ports[1].speed) = (true, Speed::from_gbps(1));
    settings.buffer.lossy_queue_bytes = 300_000;
    for class in [3, 4] {
        settings.ports[0].lossless[class].as_mut().unwrap().headroom_bytes = 300_000;
    }
    settings.buffer.size_bytes += 1_200_000;
    let mut rig = builder.build();
    for dscp in [OTHER, LOSSLESS, LOSSY] {
        load(&mut rig, dscp, 250);
    }
    rig.settle();
    let _ = dscps(&mut rig);
    // 1,020 octets on the wire: 245.1 frames in 2 ms; of the strict queue 50, the rest 3 to 1.
    let sent = run(&mut rig, 2_000);
    assert!(sent.len().abs_diff(245) <= 1, "the wire is never idle: {}", sent.len());
    let of = [OTHER, LOSSLESS, LOSSY].map(|dscp| count(&sent, dscp));
    assert!(
        of[0].abs_diff(50) <= 1 && of[1].abs_diff(146) <= 2 && of[2].abs_diff(49) <= 2,
        "{of:?}"
    );
}

/// Frames of other classes do not pass a strict queue that may send again.
#[test]
fn a_strict_queue_goes_first_once_it_may_send() {
    let mut builder = builder(&[(4, peak(100, 0))]);
    builder.settings.scheduler.strict_bits = 1 << 4;
    let mut rig = builder.build();
    load(&mut rig, OTHER, 2);
    rig.settle();
    assert_eq!(dscps(&mut rig), [OTHER]);
    rig.wait(80 * US);
    load(&mut rig, LOSSY, 3);
    rig.settle();
    assert_eq!(dscps(&mut rig), [OTHER, LOSSY, LOSSY, LOSSY]);
}

#[test]
fn a_device_that_refuses_frames_costs_a_queue_none_of_its_rate() {
    let mut rig = builder(&[(3, peak(100, 9_000))]).build();
    rig.port(2).takes_frames = Some(0);
    load(&mut rig, LOSSLESS, 20);
    rig.settle();
    run(&mut rig, 2_000);
    assert_eq!(rig.report(2).counters.peak_rate_used_up[3], 0);
    rig.port(2).takes_frames = None;
    rig.settle();
    assert_eq!(dscps(&mut rig).len(), 8, "the whole burst is left");
}

#[test]
fn a_worker_says_when_a_queue_may_send_again() {
    let mut rig = builder(&[(3, peak(100, 0))]).build();
    load(&mut rig, LOSSLESS, 2);
    rig.settle();
    let began = rig.now;
    assert_eq!(rig.turn()[0].next, began + 80 * US);
    rig.wait(80 * US - 1);
    rig.settle();
    assert_eq!(dscps(&mut rig).len(), 1);
    rig.wait(1);
    rig.settle();
    assert_eq!(dscps(&mut rig).len(), 1);
    assert_eq!(rig.turn()[0].next, Instant::NEVER);
}

#[test]
fn a_peak_rate_changes_while_the_switch_runs() {
    let mut rig = builder(&[]).build();
    let port = PortId::from_number(2).unwrap();
    let set = |rig: &mut Rig, peak| {
        rig.command(|| Command::PeakRate(port, Priority::EACH[3], peak));
        rig.settle();
    };
    load(&mut rig, LOSSLESS, 10);
    rig.settle();
    assert_eq!(dscps(&mut rig).len(), 10);
    set(&mut rig, Some(peak(100, 0)));
    load(&mut rig, LOSSLESS, 20);
    assert_eq!(run(&mut rig, 400).len(), 5);
    set(&mut rig, Some(peak(800, 0)));
    assert_eq!(run(&mut rig, 40).len(), 4);
    set(&mut rig, None);
    assert_eq!(dscps(&mut rig).len(), 11, "those that waited");
    load(&mut rig, LOSSLESS, 10);
    rig.settle();
    assert_eq!(dscps(&mut rig).len(), 10);
}

/// Another worker that has a transmit queue at the port hands frames of a shaped queue over: one
/// bucket for all.
#[test]
fn frames_of_all_workers_share_one_rate() {
    let mut builder = builder(&[(3, peak(100, 0))]).owned_by(2, 1);
    builder.sends_for_others = true;
    let mut rig = builder.build();
    rig.settle();
    let frame = Udp { frame_bytes: BYTES, ..Udp::routed(1, 2, LOSSLESS) };
    rig.arrive_numbered(1, &frame, 0..20);
    let mut order = Vec::new();
    for _ in 0..400 {
        rig.wait(US);
        rig.settle();
        order.extend(rig.sent(2).iter().map(|frame| sequence(frame)));
    }
    assert_eq!(order, (0..5).collect::<Vec<_>>());
    let others = &rig.workers[0].device_mut().ports[1].sent;
    assert!(others.is_empty(), "{} frames left past the owner", others.len());
}
