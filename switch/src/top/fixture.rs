//! Switches for tests: two samples of one in trouble, and one with many ports.

use crate::control::stats::{BufferStats, ByPriority, PortStats, Stats, WorkerStats};
use crate::histograms::Distribution;
use crate::platform::FrameBuffers;
use dataplane::counters::Totals;
use dataplane::limits::PRIORITIES;
use dataplane::report::QueueGauges;
use std::collections::BTreeMap;

/// Nothing but `value` at `priority`.
pub(super) fn only(priority: usize, value: u64) -> ByPriority {
    let mut values = [0; PRIORITIES];
    values[priority] = value;
    values
}

fn drops(causes: &[(&str, u64)]) -> BTreeMap<String, u64> {
    causes.iter().map(|&(cause, frames)| (cause.to_owned(), frames)).collect()
}

/// A port that is up and has done nothing, with the lossless priorities 3 and 4.
pub(super) fn port(number: usize, name: &str) -> PortStats {
    let mut port = PortStats {
        number,
        name: name.to_owned(),
        speed_bps: 10_000_000_000,
        link: true,
        in_service: true,
        up: true,
        ..PortStats::default()
    };
    for priority in [3, 4] {
        port.queues[priority].lossless = true;
        port.queues[priority].headroom_size_bytes = 128_000;
    }
    port
}

/// A switch of `ports` that has run for `seconds`.
pub(super) fn switch(seconds: u64, ports: Vec<PortStats>) -> Stats {
    Stats {
        name: "leaf1".to_owned(),
        version: "0.1.0".to_owned(),
        pid: 4_711,
        uptime_ns: seconds * 1_000_000_000,
        epoch: 3,
        ports,
        buffer: BufferStats {
            size_bytes: 12_000_000,
            shared_size_bytes: 8_000_000,
            lossy_size_bytes: 3_000_000,
            ..BufferStats::default()
        },
        mbufs: FrameBuffers { data_total: 54_500, control_total: 4_095, ..FrameBuffers::default() },
        workers: vec![worker(0, seconds * 300_000_000), worker(1, seconds * 50_000_000)],
        ..Stats::default()
    }
}

fn worker(number: usize, busy_ns: u64) -> WorkerStats {
    WorkerStats {
        number,
        core: Some(number + 2),
        turn_ns: Distribution { count: busy_ns / 1_000, mean: 1_000.0, ..Distribution::default() },
        poll_gap_ns_max: 12_300 * (number as u64 + 1),
        ..WorkerStats::default()
    }
}

/// 100 s after its start, and 1 s later: `h1` overruns its headroom and is paused; its lossy class
/// loses to a full queue; `up1` is paused by its peer and misses frames; `up2` has no link.
pub(super) fn in_trouble() -> (Stats, Stats) {
    let before = switch(100, vec![port(1, "h1"), port(2, "up1"), port(3, "up2")]);
    let mut now = switch(101, before.ports.clone());

    let h1 = &mut now.ports[0];
    h1.rx_frames = [1_000, 0, 0, 100_000, 0, 0, 0, 0];
    h1.rx_bytes = [1_500_000, 0, 0, 150_000_000, 0, 0, 0, 0];
    h1.lossless_drops = only(3, 17);
    h1.lossless_drops_by_cause = drops(&[("headroom_overrun", 17)]);
    h1.drops = drops(&[("headroom_overrun", 17), ("tail_drop", 12_000)]);
    h1.pfc.tx_pauses = only(3, 12);
    h1.pfc.tx_xoff = only(3, 40);
    h1.pfc.tx_paused_ns = only(3, 234_000_000);
    h1.queues[3] = QueueGauges {
        viq_bytes: 612_000,
        viq_peak_bytes: 640_000,
        headroom_bytes: 96_000,
        headroom_peak_bytes: 128_000,
        tx_paused: true,
        ..h1.queues[3]
    };

    let up1 = &mut now.ports[1];
    up1.tx_frames = only(3, 99_000);
    up1.tx_bytes = only(3, 148_500_000);
    up1.pfc.rx_pauses = only(3, 2);
    up1.pfc.rx_paused_ns = only(3, 4_200_000);
    up1.pfc.rx_link_pause_frames = 5;
    up1.device_counters.rx_missed_frames = 8;
    up1.queues[3] = QueueGauges {
        veq_bytes: 612_000,
        veq_peak_bytes: 640_000,
        veq_frames: 408,
        ..up1.queues[3]
    };
    now.ports[2].link = false;

    now.buffer.shared_bytes = 612_000;
    now.buffer.shared_peak_bytes = 640_000;
    now.mbufs.data_in_use = 1_234;
    now.latency_ns = Distribution {
        count: 99_000,
        p50: 3_140,
        p99: 12_300,
        p999: 45_600,
        ..Distribution::default()
    };
    now.totals.frames =
        Totals { received: 101_042, sent: 88_617, dropped: 12_017, held: 408, ..Totals::default() };
    (before, now)
}

/// As many ports as asked for, all of them receiving in class 3, the higher the number the more.
pub(super) fn many(ports: usize) -> (Stats, Stats) {
    let idle = (1..=ports).map(|number| port(number, &format!("p{number}"))).collect();
    let before = switch(10, idle);
    let mut now = switch(11, before.ports.clone());
    for port in &mut now.ports {
        port.rx_frames = only(3, port.number as u64 * 1_000);
        port.rx_bytes = only(3, port.number as u64 * 1_000_000);
    }
    (before, now)
}
