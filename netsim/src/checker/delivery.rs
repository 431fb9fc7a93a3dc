//! Frames arrive where they were sent to, and those of one flow in the order in which they were
//! sent, as long as routes stay as they are.

use super::violation::Violation;
use crate::host_node::FlowState;
use crate::network::Network;
use crate::switch_node::picoseconds;

/// # Errors
/// The first host with a frame of others, or flow whose frames overtook each other.
pub(crate) fn check(network: &Network) -> Result<(), Violation> {
    for host in &network.hosts {
        let frames = host.counters.stray_frames;
        if frames != 0 {
            return Err(Violation::Stray { host: host.name.clone(), frames });
        }
    }
    // A flow that changes its way may overtake itself.
    if network.has_rerouted() {
        return Ok(());
    }
    // And so may one that other rules move to another queue.
    let rules_changed_at = network.switches.iter().map(|switch| switch.rules_changed_at).max();
    let rules_changed_ps = rules_changed_at.map_or(0, picoseconds);
    let settled = |state: &&FlowState| rules_changed_ps == 0 || state.start_ps > rules_changed_ps;
    for (flow, state) in network.flows.iter().enumerate().filter(|(_, state)| settled(state)) {
        let frames = state.counters.reordered_frames;
        if frames != 0 {
            return Err(Violation::Reordered { flow, frames });
        }
    }
    Ok(())
}
