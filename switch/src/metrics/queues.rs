//! The families with the labels `port` and `priority`: queues.

use super::page::{Page, Value};
use super::ports::PRIORITY;
use crate::control::stats::Stats;
use dataplane::report::QueueGauges;
use std::fmt;

/// Name, help, and what the family shows of a queue.
type Family = (&'static str, &'static str, fn(&QueueGauges) -> Value);

const GAUGES: [Family; 17] = [
    ("viq_bytes", "Bytes in the buffer that this port received", |q| q.viq_bytes.into()),
    ("viq_peak_bytes", "The most of them at once", |q| q.viq_peak_bytes.into()),
    ("headroom_bytes", "Headroom in use", |q| q.headroom_bytes.into()),
    ("headroom_peak_bytes", "The most headroom that was used", |q| q.headroom_peak_bytes.into()),
    ("headroom_size_bytes", "Size of the headroom", |q| q.headroom_size_bytes.into()),
    ("veq_bytes", "Bytes queued for transmission at this port", |q| q.veq_bytes.into()),
    ("veq_peak_bytes", "The most of them at once", |q| q.veq_peak_bytes.into()),
    ("veq_frames", "Frames queued for transmission at this port", |q| q.veq_frames.into()),
    ("lossless", "Whether PFC protects this priority", |q| q.lossless.into()),
    ("paused", "Whether the peer has paused this priority", |q| q.rx_paused.into()),
    ("paused_seconds", "For how long, without a break", |q| Value::Ns(q.rx_paused_for_ns)),
    ("recent_pause_seconds", "Length of the current or the last pause by the peer", |q| {
        Value::Ns(q.rx_recent_pause_ns)
    }),
    ("slowed", "Whether the peer limits this port to a rate below its speed", |q| {
        q.rx_slowed.into()
    }),
    ("peak_limited", "Whether frames wait because the queue has used up its own peak rate", |q| {
        q.peak_limited.into()
    }),
    ("stormed", "Whether the watchdog has detected a storm", |q| q.stormed.into()),
    ("peer_paused", "Whether the peer is paused in this priority", |q| q.tx_paused.into()),
    ("peer_paused_seconds", "For how long, without a break", |q| Value::Ns(q.tx_paused_for_ns)),
];

/// Those of all queues.
pub(super) fn families(page: &mut Page<'_>, stats: &Stats) -> fmt::Result {
    for (name, help, value) in GAUGES {
        page.gauge(&format!("knotless_queue_{name}"), help, |samples| {
            for port in &stats.ports {
                for (priority, queue) in PRIORITY.into_iter().zip(&port.queues) {
                    let labels = [("port", port.name.as_str()), ("priority", priority)];
                    samples.add(&labels, value(queue))?;
                }
            }
            Ok(())
        })?;
    }
    waits(page, stats)
}

/// The edges of the wait-for graph.
fn waits(page: &mut Page<'_>, stats: &Stats) -> fmt::Result {
    let help = "An ingress port of the frames in a queue that waits: 1 if it has paused its peer";
    page.gauge("knotless_queue_wait", help, |samples| {
        for wait in &stats.waits {
            for origin in &wait.origins {
                let (priority, from) = (wait.priority.to_string(), origin.priority.to_string());
                let labels = [
                    ("port", wait.name.as_str()),
                    ("priority", &priority),
                    ("in_port", &origin.name),
                    ("in_priority", &from),
                ];
                samples.add(&labels, origin.paused)?;
            }
        }
        Ok(())
    })
}
