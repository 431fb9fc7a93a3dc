//! Frames arrive at their destination, and those of one flow in order, as long as routes do not
//! change.

use super::violation::Violation;
use crate::host_node::FlowState;
use crate::network::Network;
use crate::switch_node::picoseconds;

/// The first host with a frame of others, or the first flow out of order.
pub(crate) fn check(network: &Network) -> Result<(), Violation> {
    for host in network.hosts() {
        let frames = host.counters.stray_frames;
        if frames != 0 {
            return Err(Violation::Stray { host: host.name.clone(), frames });
        }
    }
    // Frames of a rerouted flow may overtake each other.
    if network.has_rerouted() {
        return Ok(());
    }
    // So may frames that new rules move to another queue.
    let rules_changed_at = network.switches().map(|switch| switch.rules_changed_at).max();
    let rules_changed_ps = rules_changed_at.map_or(0, picoseconds);
    let settled = |state: &FlowState| rules_changed_ps == 0 || state.start_ps > rules_changed_ps;
    for (flow, state) in network.flows().enumerate().filter(|&(_, state)| settled(state)) {
        let frames = state.counters.reordered_frames;
        if frames != 0 {
            return Err(Violation::Reordered { flow, frames });
        }
    }
    Ok(())
}
