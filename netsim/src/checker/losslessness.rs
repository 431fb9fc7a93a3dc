//! No lossless frame is dropped: neither by a switch beyond its headroom nor by a host that sends
//! XOFF.

use super::violation::Violation;
use crate::network::Network;
use dataplane::counters::DropReason;
use dataplane::ids::Priority;

/// # Errors
/// The first place where a lossless frame was dropped.
pub(crate) fn check(network: &Network) -> Result<(), Violation> {
    for (switch, report) in network.switch_reports() {
        if let Some((port, priority)) = switch.past.first_overrun {
            let frames = switch.past.lossless_drops[DropReason::HeadroomOverrun as usize];
            let switch = switch.name.clone();
            return Err(Violation::LosslessDrop { switch, port, priority, frames });
        }
        for port in &report.ports {
            for priority in Priority::all() {
                let frames = port.counters.headroom_overruns(priority);
                if frames != 0 {
                    let (switch, port) = (switch.name.clone(), port.port);
                    return Err(Violation::LosslessDrop { switch, port, priority, frames });
                }
            }
        }
    }
    for host in network.hosts() {
        for priority in Priority::in_bits(network.lossless_bits) {
            let frames = host.counters.overrun_frames[priority.index()];
            if frames != 0 {
                let host = host.name.clone();
                return Err(Violation::HostOverrun { host, priority, frames });
            }
        }
    }
    Ok(())
}
