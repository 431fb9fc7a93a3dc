//! Frames that were not delivered, by cause: all of them, and those of lossless classes.
//!
//! Switches name the causes as their counters do. Beyond them a host has no room (`host_overrun`),
//! a link is down (`link_down`), a switch restarts (`lost_in_restart`), and a fault loses PFC
//! frames (`pfc_lost`).

use crate::network::Network;
use crate::outcome::DropOutcome;
use crate::switch_node::SwitchNode;
use dataplane::counters::DropReason;
use dataplane::ids::Priority;
use dataplane::punt::PuntReason;
use dataplane::report::Report;
use std::collections::BTreeMap;

const HOST_OVERRUN: &str = "host_overrun";

/// Frames by cause. A cause without frames is absent.
#[derive(Debug, Default)]
pub(super) struct Losses {
    pub(super) all: BTreeMap<&'static str, u64>,
    /// Those of lossless classes.
    pub(super) lossless: BTreeMap<&'static str, u64>,
}

impl Losses {
    /// What `network` has lost until now.
    pub(super) fn of(network: &Network) -> Self {
        let mut losses = Self::default();
        for (switch, report) in network.switch_reports() {
            losses.add_drops(switch, &report);
            losses.add_punted(switch);
            let past = &switch.past;
            losses.add("lost_in_restart", past.lost_frames, past.lost_lossless_frames);
        }
        for host in network.hosts() {
            let overruns = &host.counters.overrun_frames;
            let lossless = Priority::in_bits(network.lossless_bits);
            let lossless = lossless.map(|priority| overruns[priority.index()]).sum();
            losses.add(HOST_OVERRUN, overruns.iter().sum(), lossless);
        }
        for wire in network.wires() {
            losses.add("link_down", wire.lost[0], wire.lossless_lost);
            losses.add("pfc_lost", wire.lost[1], 0);
        }
        losses
    }

    /// Frames that switches dropped for `reason`.
    pub(super) fn dropped(&self, reason: DropReason) -> u64 {
        self.all.get(reason.name()).copied().unwrap_or_default()
    }

    /// Lossless frames for which a switch had no headroom, or a host no room.
    pub(super) fn overruns(&self) -> u64 {
        let of = |cause: &str| self.lossless.get(cause).copied().unwrap_or_default();
        of(DropReason::HeadroomOverrun.name()) + of(HOST_OVERRUN)
    }

    fn add_drops(&mut self, switch: &SwitchNode, report: &Report) {
        for &reason in DropReason::ALL {
            let counters = report.ports.iter().map(|port| &port.counters);
            let now = counters.clone().map(|counters| counters.dropped(reason)).sum::<u64>();
            let lossless = counters.map(|counters| counters.lossless_dropped_for(reason));
            self.add(
                reason.name(),
                now + switch.past.drops[reason as usize],
                lossless.sum::<u64>() + switch.past.lossless_drops[reason as usize],
            );
        }
    }

    /// Adds what a switch's control thread took. It has nothing to say to anybody but an LLDP
    /// neighbor, and the worker has counted the lossless frames among it.
    fn add_punted(&mut self, switch: &SwitchNode) {
        for (&reason, frames) in PuntReason::ALL.iter().zip(switch.punted) {
            if reason != PuntReason::Lldp || switch.learned().is_none() {
                self.add(punt_name(reason), frames, 0);
            }
        }
    }

    fn add(&mut self, cause: &'static str, frames: u64, lossless: u64) {
        for (sums, frames) in [(&mut self.all, frames), (&mut self.lossless, lossless)] {
            if frames != 0 {
                *sums.entry(cause).or_default() += frames;
            }
        }
    }
}

/// What a frame ended for that went to the control thread, by the name that a drop for it has.
fn punt_name(reason: PuntReason) -> &'static str {
    match reason {
        PuntReason::ForUs => "for_switch",
        PuntReason::TtlExpired => DropReason::TtlExpired.name(),
        PuntReason::Unresolved | PuntReason::Resolve | PuntReason::Unreachable => {
            DropReason::Unresolved.name()
        }
        PuntReason::TooBig => DropReason::TooBig.name(),
        PuntReason::NoRoute => DropReason::NoRoute.name(),
        PuntReason::Lldp => "lldp",
        PuntReason::Host => "for_host",
    }
}

/// A list of these causes, by name.
pub(super) fn by_cause(frames: &BTreeMap<&'static str, u64>) -> Vec<DropOutcome> {
    let drop =
        |(&reason, &frames): (&&str, &u64)| DropOutcome { reason: reason.to_owned(), frames };
    frames.iter().map(drop).collect()
}
