//! `knotless verify` of a network of switch files: the proof from where frames go.

use super::grouped;
use config::network::forwarding::{FileForwarding, Headers};
use fabric::Network;
use fabric::verify::forwarding::{End, Finding, Verdict, Wait, What, verify};
use serde_json::json;

/// Findings that a terminal shows.
const SHOWN_MAX: usize = 20;

/// What was found, and what it takes to say it.
pub(super) struct FilesVerdict {
    network: Network,
    forwarding: FileForwarding,
    verdict: Verdict<Headers>,
}

impl FilesVerdict {
    pub(super) fn new(network: Network, forwarding: FileForwarding) -> Self {
        let verdict = verify(&network, &forwarding);
        Self { network, forwarding, verdict }
    }

    pub(super) fn is_deadlock_free(&self) -> bool {
        self.verdict.is_deadlock_free()
    }

    pub(super) fn as_json(&self) -> serde_json::Value {
        let Self { network, forwarding, verdict } = self;
        let wait = |wait: &Wait<Headers>| {
            json!({
                "switch": network.switch_name(network.owner(wait.input)),
                "in": network.port_name(wait.input),
                "priority": wait.held.value(),
                "dscp": wait.headers.dscp(),
                "inner_dscp": wait.headers.inner_dscp(),
                "out": network.port_name(wait.departure.output),
                "queue": wait.departure.queue.value(),
                "new_dscp": wait.departure.headers.dscp(),
                "new_inner_dscp": wait.departure.headers.inner_dscp(),
                "cause": forwarding.cause(wait.input, &wait.headers, &wait.departure),
            })
        };
        let finding = |finding: &Finding<Headers>| {
            json!({
                "switch": network.switch_name(network.owner(finding.input)),
                "in": network.port_name(finding.input),
                "what": self.what(finding),
                "frame": forwarding.show(&finding.headers),
                "frames": finding.frames,
            })
        };
        json!({
            "deadlock_free": verdict.is_deadlock_free(),
            "cycle": verdict.cycle.iter().map(wait).collect::<Vec<_>>(),
            "switches": network.switches(),
            "destinations": forwarding.destinations(),
            "frames": verdict.states,
            "buffers": verdict.buffers,
            "dependencies": verdict.waits,
            "findings": verdict.findings.iter().map(finding).collect::<Vec<_>>(),
            "not_followed": forwarding.not_followed(),
        })
    }

    pub(super) fn as_text(&self) -> String {
        let Self { network, forwarding, verdict } = self;
        let mut lines = Vec::new();
        if verdict.is_deadlock_free() {
            lines.push("deadlock-free: the buffer dependency graph has no cycle".to_owned());
        } else if verdict.cycle.is_empty() {
            lines.push("NOT proven: frames enter more tunnels than are followed".to_owned());
        } else {
            let hops = verdict.cycle.len();
            lines.push(format!("NOT deadlock-free: {hops} buffers form a dependency cycle"));
            let next = verdict.cycle.iter().cycle().skip(1);
            lines.extend(verdict.cycle.iter().zip(next).map(|(it, next)| self.wait_line(it, next)));
        }
        let count = |number: usize| grouped(number as u64);
        lines.push(format!(
            "followed: {} switches, {} destinations, {} frames with different headers at a port; \
             lossless buffers: {}, dependencies: {}",
            count(network.switches()),
            count(forwarding.destinations()),
            count(verdict.states),
            count(verdict.buffers),
            count(verdict.waits),
        ));
        lines.extend(forwarding.not_followed().into_iter().map(|it| format!("not followed: {it}")));
        lines.extend(verdict.findings.iter().take(SHOWN_MAX).map(|it| self.finding_line(it)));
        if let Some(more) = verdict.findings.len().checked_sub(SHOWN_MAX).filter(|&more| more > 0) {
            lines.push(format!("... and {} more", grouped(more as u64)));
        }
        lines.join("\n")
    }

    /// A buffer of the cycle, what it waits for, and the frame that makes it.
    fn wait_line(&self, wait: &Wait<Headers>, next: &Wait<Headers>) -> String {
        let (network, forwarding) = (&self.network, &self.forwarding);
        let departure = &wait.departure;
        format!(
            "  {} priority {}  waits, going out by port {} in queue {}, for  {} priority {}\n      \
             {} leaves as {}: {}",
            network.show(wait.input),
            wait.held,
            network.port_name(departure.output),
            departure.queue,
            network.show(next.input),
            next.held,
            forwarding.show(&wait.headers),
            forwarding.show(&departure.headers),
            forwarding.cause(wait.input, &wait.headers, departure),
        )
    }

    fn finding_line(&self, finding: &Finding<Headers>) -> String {
        let more = match finding.frames {
            0 | 1 => String::new(),
            frames => format!(" and {} more", grouped(frames as u64 - 1)),
        };
        format!(
            "{} {}: {}{more}",
            self.network.show(finding.input),
            self.what(finding),
            self.forwarding.show(&finding.headers)
        )
    }

    fn what(&self, finding: &Finding<Headers>) -> String {
        match &finding.what {
            What::Lossy => "lossless before, lossy here".to_owned(),
            What::OtherPriority { queue, held } => format!(
                "sent from queue {queue} and held in priority {held}, so no pause protects them"
            ),
            What::Unpaused { queue } => {
                format!("sent from queue {queue}, which has no PFC on this link")
            }
            What::Ends(End::NoRoute) => "no route".to_owned(),
            What::Ends(End::NoNeighbor) => "no neighbor has the next hop's address".to_owned(),
            What::Ends(End::TooDeep) => "enters more tunnels than are followed".to_owned(),
            What::Ends(End::Expected) => "ends".to_owned(),
            What::Loop(slots) => {
                let slots: Vec<String> = slots.iter().map(|&it| self.network.show(it)).collect();
                format!("routing loop {}", slots.join(" "))
            }
        }
    }
}
