//! What a running switch adds to a trace: the buffer, the queues and the ports as they are now.

use super::reply::{Admission, Queue, Stage, Trace};
use crate::control::stats::{PortStats, Stats};
use dataplane::settings::{Threshold, ViqSettings};

/// Adds what `stats` say to `trace`.
pub(super) fn add(trace: &mut Trace, stats: &Stats) {
    let mut now = Vec::new();
    let port = |name: &str| stats.ports.iter().find(|port| port.name == name);
    for stage in &mut trace.stages {
        match stage {
            Stage::Admission(admission) => {
                now.extend(port(&admission.port).and_then(|it| admit(admission, it, stats)));
            }
            Stage::Queue(queue) => now.extend(port(&queue.port).and_then(|it| wait(queue, it))),
            _ => {}
        }
    }
    now.dedup();
    trace.end.now = now;
}

fn admit(admission: &mut Admission, port: &PortStats, stats: &Stats) -> Option<String> {
    let queue = &port.queues[usize::from(admission.priority)];
    admission.viq_bytes = Some(queue.viq_bytes);
    admission.headroom_bytes = Some(queue.headroom_bytes);
    admission.paused = Some(queue.tx_paused);
    if let Some(alpha_log2) = admission.dynamic_th {
        let viq = ViqSettings {
            reserved_bytes: admission.reserved_bytes,
            threshold: Threshold::dynamic(alpha_log2),
            xon_offset_bytes: 0,
            headroom_bytes: 0,
            rate_map: None,
        };
        let buffer = &stats.buffer;
        let free = buffer.shared_size_bytes.saturating_sub(buffer.shared_bytes);
        admission.threshold_bytes = Some(viq.limit_bytes(free));
    }
    let headroom_left = admission.headroom_size_bytes.saturating_sub(queue.headroom_bytes);
    if admission.lossless && queue.headroom_bytes > 0 && headroom_left < admission.cost_bytes {
        return Some(format!(
            "port {} priority {} has no headroom left: the frame waits in the receive queue",
            port.name, admission.priority
        ));
    }
    let lossy_left = stats.buffer.lossy_size_bytes.saturating_sub(stats.buffer.lossy_bytes);
    (!admission.lossless && lossy_left < u64::from(admission.cost_bytes)).then(|| {
        "the lossy share of the buffer is full: it would be dropped (ingress_limit)".into()
    })
}

fn wait(queue: &mut Queue, port: &PortStats) -> Option<String> {
    let gauges = &port.queues[usize::from(queue.priority)];
    queue.veq_frames = Some(gauges.veq_frames);
    queue.veq_bytes = Some(gauges.veq_bytes);
    queue.paused_for_ns = Some(if gauges.rx_paused { gauges.rx_paused_for_ns.max(1) } else { 0 });
    queue.stormed = Some(gauges.stormed);
    let (name, priority) = (&port.name, queue.priority);
    if gauges.stormed {
        return Some(format!(
            "the watchdog has detected a storm in port {name} priority {priority}: while it lasts the \
             frame is treated as [watchdog] says"
        ));
    }
    let why = match (gauges.rx_paused, gauges.peak_limited) {
        (true, _) => format!("the peer pauses port {name} priority {priority}"),
        (false, true) => {
            format!("port {name} priority {priority} has used up its own peak rate")
        }
        (false, false) => return None,
    };
    Some(format!("{why}: the frame waits behind {} frames", gauges.veq_frames))
}
