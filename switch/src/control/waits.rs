//! Queues that the peer has paused or that wait for their own peak rate, and the ingress ports of
//! their frames: the wait-for relation as far as one switch knows it.

use super::stats::{Origin, PortStats, Wait};
use dataplane::buffer::ViqId;
use dataplane::limits::PRIORITIES;
use dataplane::report::PortReport;

/// The queues of `ports` that hold frames and are paused or wait for their rate, from what all
/// workers report of them.
pub(super) fn find(ports: &[PortStats], reports: &[&PortReport]) -> Vec<Wait> {
    let queues = (0..ports.len()).flat_map(|p| (0..PRIORITIES).map(move |priority| (p, priority)));
    let waiting = queues.filter(|&(port, priority)| {
        let queue = &ports[port].queues[priority];
        (queue.rx_paused || queue.peak_limited) && queue.veq_frames > 0
    });
    let wait = |(index, priority): (usize, usize)| {
        // Frames for a port wait at each worker that sends there.
        let of_port = reports.iter().filter(|report| report.port.index() == index);
        let origins = of_port.map(|report| report.queues[priority].origins);
        let (port, queue) = (&ports[index], &ports[index].queues[priority]);
        Wait {
            port: port.number,
            name: port.name.clone(),
            priority,
            frames: queue.veq_frames,
            bytes: queue.veq_bytes,
            paused_for_ns: queue.rx_paused_for_ns,
            own_rate: !queue.rx_paused,
            has_more_origins: origins.clone().any(|origins| origins.has_more),
            origins: once_each(origins.flat_map(|origins| origins.viqs().collect::<Vec<_>>()))
                .into_iter()
                .map(|viq| origin(ports, viq))
                .collect(),
        }
    };
    waiting.map(wait).collect()
}

fn once_each(viqs: impl Iterator<Item = ViqId>) -> Vec<ViqId> {
    let mut seen = Vec::new();
    for viq in viqs {
        if !seen.contains(&viq) {
            seen.push(viq);
        }
    }
    seen
}

fn origin(ports: &[PortStats], viq: ViqId) -> Origin {
    let priority = viq.priority().index();
    let port = &ports[viq.port_index()];
    let queue = &port.queues[priority];
    Origin {
        port: port.number,
        name: port.name.clone(),
        priority,
        paused: queue.tx_paused,
        paused_for_ns: queue.tx_paused_for_ns,
    }
}
