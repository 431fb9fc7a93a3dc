//! `[[fault]]` as actions of the fault schedule.

use super::links::{host_link, link_of};
use crate::fault_schedule::Action;
use crate::link::{LinkSpec, PfcFault};
use crate::network::Network;
use crate::sink::Drain;
use crate::topology::{HostId, SwitchId};
use config::headroom::{Link, Software, needed_bytes};
use config::scenario::{FRAME_BYTES_MOST, FaultKind, ScenarioConfig};
use dataplane::ids::Priority;
use dataplane::time::Speed;
use fabric::network::End;

/// Bytes at which a slow host pauses, and at which it resumes.
const XOFF_BYTES: u32 = 40_000;
const XON_BYTES: u32 = 37_000;

/// Plans all faults; returns whether any can cost lossless frames, whatever switches do.
pub(super) fn plan(config: &ScenarioConfig, network: &mut Network, lossless: &[Priority]) -> bool {
    let mut pfc_fails = false;
    for fault in &config.faults {
        let ps = |ns: u64| ns.saturating_mul(1_000);
        let (begin, end) = actions(config, fault.kind, lossless.is_empty());
        network.plan(ps(fault.at_ns), begin);
        if let Some(until_ns) = fault.until_ns {
            network.plan(ps(until_ns), end);
        }
        let is_of_pfc =
            matches!(fault.kind, FaultKind::LosePfc { .. } | FaultKind::CorruptPfc { .. });
        pfc_fails |= is_of_pfc;
    }
    pfc_fails
}

/// How long the slowest host takes to drain its receiver.
pub(super) fn longest_hold_ps(config: &ScenarioConfig) -> u128 {
    let hold_ps = |kind: FaultKind| match kind {
        FaultKind::SlowReceiver { host, speed: Some(speed) } => {
            let held_bytes = u128::from(drain(config, host, None, false).capacity_bytes);
            held_bytes * 8 * 1_000_000_000_000 / u128::from(speed.bps().max(1))
        }
        _ => 0,
    };
    config.faults.iter().map(|fault| hold_ps(fault.kind)).max().unwrap_or(0)
}

/// The action that begins a fault, and the one that ends it.
fn actions(config: &ScenarioConfig, kind: FaultKind, is_lossy: bool) -> (Action, Action) {
    let host_of = |host: u32| HostId(host as usize);
    let switch_of = |switch: u32| SwitchId(switch as usize);
    match kind {
        FaultKind::LinkDown { link } => {
            let link = link_of(config, link);
            (Action::LinkDown(link), Action::LinkUp(link))
        }
        FaultKind::Route { switch, to, via } => {
            let port = config.network.port(via);
            let misroute = |port| Action::Misroute(switch_of(switch), host_of(to), port);
            (misroute(Some(port)), misroute(None))
        }
        FaultKind::SlowReceiver { host, speed } => {
            let drain = drain(config, host, speed, is_lossy);
            (Action::Drain(host_of(host), Some(drain)), Action::Drain(host_of(host), None))
        }
        FaultKind::PauseStorm { host } => {
            (Action::Storm(host_of(host), true), Action::Storm(host_of(host), false))
        }
        FaultKind::LosePfc { to, millionths } => pfc(config, to, false, millionths),
        FaultKind::CorruptPfc { to, millionths } => pfc(config, to, true, millionths),
        FaultKind::Restart { switch } => {
            (Action::SwitchDown(switch_of(switch)), Action::SwitchUp(switch_of(switch)))
        }
    }
}

fn pfc(config: &ScenarioConfig, to: End, is_corruption: bool, millionths: u32) -> (Action, Action) {
    let link = link_of(config, to);
    // The wire that leads to this end comes from the other one.
    let side = usize::from(config.network.links()[link].ends[0] == to);
    let wire = 2 * link + side;
    let trouble = PfcFault { is_corruption, millionths };
    (Action::Pfc(wire, Some(trouble)), Action::Pfc(wire, None))
}

/// A slow host, with room for what is in flight when it pauses.
fn drain(config: &ScenarioConfig, host: u32, speed: Option<Speed>, is_lossy: bool) -> Drain {
    let LinkSpec { speed: rate, length } = host_link(config, host);
    let on_wire = Link::new(rate, length, FRAME_BYTES_MOST.into());
    let headroom = needed_bytes(&on_wire, &Software::default(), 1);
    let headroom_bytes = if is_lossy { 0 } else { u32::try_from(headroom).unwrap_or(u32::MAX) };
    Drain {
        speed,
        xoff_bytes: XOFF_BYTES,
        xon_bytes: XON_BYTES,
        capacity_bytes: XOFF_BYTES
            .saturating_add(headroom_bytes)
            .saturating_add(FRAME_BYTES_MOST.into()),
    }
}
