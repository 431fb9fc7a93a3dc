//! Who waits for whom across switches: from one queue to the queue that its peer's frames wait in,
//! and so on, until somebody does not wait, or the chain comes back.

use super::clock::{clock, seconds};
use crate::control::stats::{Stats, Wait};
use crate::flight_recorder::event::{FlightEvent, What};
use fabric::Network;
use fabric::network::Peer;
use serde::Serialize;
use std::collections::BTreeMap;

/// What one switch says.
#[derive(Clone, Debug, Default)]
pub(crate) struct SwitchView {
    /// Its statistics.
    pub(crate) stats: Stats,
    /// What its flight recorder has.
    pub(crate) events: Vec<FlightEvent>,
    /// Its LLDP neighbors: by port name, the neighbor's name and port.
    pub(crate) lldp: Vec<(String, String, String)>,
}

/// All switches that answered, by name, and the network if it is known.
#[derive(Debug, Default)]
pub(crate) struct World {
    /// By name.
    pub(crate) switches: BTreeMap<String, SwitchView>,
    /// The links; without it, those that LLDP says.
    pub(crate) network: Option<Network>,
}

/// The other end of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Far {
    /// A switch and its port number.
    Switch(String, usize),
    /// A host.
    Host(String),
    /// Nobody: the queue waits for its own peak rate.
    OwnRate,
    /// Unknown.
    Unknown,
}

/// A queue that waits, and for whom.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Waiting {
    /// The switch.
    pub(crate) switch: String,
    /// Name of its egress port.
    pub(crate) port: String,
    /// The egress priority.
    pub(crate) priority: usize,
    /// For how long the peer has paused it.
    pub(crate) paused_for_ns: u64,
    /// When that began: milliseconds since 1970.
    pub(crate) since_unix_ms: u64,
    /// Whether the flight recorder has that moment.
    pub(crate) recorded: bool,
    /// Frames that wait.
    pub(crate) frames: u32,
    /// Their bytes.
    pub(crate) bytes: u32,
    /// Who has paused it: `B:3`, a host's name, `its own rate`, or `unknown`.
    pub(crate) waits_for: String,
}

/// The chain from one queue on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Chain {
    /// Each waits for the next.
    pub(crate) queues: Vec<Waiting>,
    /// How it ends, in words.
    pub(crate) end: String,
    /// The buffers of the cycle, if it closes one: `A:3`, the ingress port of switch A with number
    /// 3, and so on; a deadlock.
    pub(crate) cycle: Vec<String>,
    /// Which queue closed the cycle, by index: the one that was paused last.
    pub(crate) closed_by: Option<usize>,
}

impl World {
    fn far(&self, switch: &str, number: usize) -> Far {
        if let Some(network) = &self.network {
            let slot = network.switch_named(switch).and_then(|id| {
                network.slots_of(id).find(|&slot| network.port(slot).number() == number)
            });
            return match slot.map(|slot| network.peer(slot)) {
                Some(Peer::Host(host)) => Far::Host(network.host_name(host).to_owned()),
                Some(Peer::Slot(far)) => Far::Switch(
                    network.switch_name(network.owner(far)).to_owned(),
                    network.port(far).number(),
                ),
                Some(Peer::None) | None => Far::Unknown,
            };
        }
        self.far_by_lldp(switch, number).unwrap_or(Far::Unknown)
    }

    fn far_by_lldp(&self, switch: &str, number: usize) -> Option<Far> {
        let view = self.switches.get(switch)?;
        let port = view.stats.ports.iter().find(|port| port.number == number)?;
        let (_, name, far_port) = view.lldp.iter().find(|row| row.0 == port.name)?;
        let Some(far) = self.switches.get(name) else { return Some(Far::Host(name.clone())) };
        let far = far.stats.ports.iter().find(|port| port.name == *far_port)?;
        Some(Far::Switch(name.clone(), far.number))
    }

    /// The queues of `switch` that hold frames which came in by port `number` in `priority`, the
    /// one that is paused for longest first.
    fn waits_of(&self, switch: &str, number: usize, priority: usize) -> Option<&Wait> {
        let view = self.switches.get(switch)?;
        let waits = view.stats.waits.iter();
        let theirs = waits.filter(|wait| {
            wait.origins.iter().any(|it| it.port == number && it.priority == priority)
        });
        theirs.max_by_key(|wait| wait.paused_for_ns)
    }

    fn waiting(&self, switch: &str, wait: &Wait, far: &Far) -> Waiting {
        let view = self.switches.get(switch);
        let now = view.map_or(0, |view| view.stats.time_unix_ms);
        let since = now.saturating_sub(wait.paused_for_ns / 1_000_000);
        // The pause lasts: it is the last one that was recorded, and has no end. Times do not tell,
        // as a busy switch's report is older than its answer.
        let is_of_it = |event: &&FlightEvent| {
            matches!(&event.what, What::Paused { port, priority } | What::Resumed { port, priority, .. }
                if *port == wait.name && *priority == wait.priority)
        };
        let last = view.and_then(|view| view.events.iter().rev().find(is_of_it));
        let moment = last.filter(|event| matches!(event.what, What::Paused { .. }));
        Waiting {
            switch: switch.to_owned(),
            port: wait.name.clone(),
            priority: wait.priority,
            paused_for_ns: wait.paused_for_ns,
            since_unix_ms: moment.map_or(since, |event| event.time_unix_ms),
            recorded: moment.is_some(),
            frames: wait.frames,
            bytes: wait.bytes,
            waits_for: match far {
                Far::Switch(name, number) => format!("{name}:{number}"),
                Far::Host(name) => name.clone(),
                Far::OwnRate => "its own rate".to_owned(),
                Far::Unknown => "unknown".to_owned(),
            },
        }
    }

    /// The chain from the queue of `switch` at port `number` on, or, if that waits for nobody, from
    /// the queue that the frames wait in which came in there.
    pub(crate) fn chain(&self, switch: &str, number: usize, class: Option<usize>) -> Option<Chain> {
        let is_ours = |priority: usize| class.is_none_or(|class| class == priority);
        let view = self.switches.get(switch)?;
        let out = view.stats.waits.iter();
        let out = out.filter(|wait| wait.port == number && is_ours(wait.priority));
        let first = out.max_by_key(|wait| wait.paused_for_ns).or_else(|| {
            let priorities = (0..dataplane::limits::PRIORITIES).filter(|&it| is_ours(it));
            priorities.filter_map(|it| self.waits_of(switch, number, it)).next()
        })?;
        Some(self.follow(switch, first))
    }

    fn follow(&self, switch: &str, first: &Wait) -> Chain {
        let mut chain = Chain::default();
        // Places of the queues that were passed, and the buffer that each waits for.
        let mut passed: Vec<(String, usize, usize)> = Vec::new();
        let (mut switch, mut wait) = (switch.to_owned(), first);
        loop {
            let place = (switch.clone(), wait.port, wait.priority);
            if let Some(start) = passed.iter().position(|it| *it == place) {
                chain.close(start);
                return chain;
            }
            passed.push(place);
            let far = if wait.own_rate { Far::OwnRate } else { self.far(&switch, wait.port) };
            chain.queues.push(self.waiting(&switch, wait, &far));
            let (name, number) = match far {
                Far::Switch(name, number) => (name, number),
                Far::OwnRate => {
                    chain.end = format!(
                        "switch {switch} sends from there at the queue's own peak rate ([[shaper]])"
                    );
                    return chain;
                }
                Far::Host(name) => {
                    chain.end = format!("host {name} pauses: a slow or broken receiver");
                    return chain;
                }
                Far::Unknown => {
                    "the peer is not known: give --network, or turn on LLDP"
                        .clone_into(&mut chain.end);
                    return chain;
                }
            };
            if !self.switches.contains_key(&name) {
                chain.end = format!("switch {name} was not asked: its socket is not in --sockets");
                return chain;
            }
            let Some(next) = self.waits_of(&name, number, wait.priority) else {
                chain.end = format!(
                    "switch {name} pauses {switch}, and no queue of these frames is paused there: its own \
                     links are the limit (`knotless why` there)"
                );
                return chain;
            };
            (switch, wait) = (name, next);
        }
    }
}

impl Chain {
    /// The queues from `start` on wait for each other.
    fn close(&mut self, start: usize) {
        let ring = start..self.queues.len();
        self.cycle = self.queues[ring.clone()].iter().map(|it| it.waits_for.clone()).collect();
        self.closed_by = ring.max_by_key(|&at| self.queues[at].since_unix_ms);
        // The last one waits for the first one's ingress port: that is where the cycle begins.
        self.cycle.rotate_right(1);
        let mut shown = self.cycle.clone();
        shown.extend(self.cycle.first().cloned());
        self.end = format!("deadlock: {}", shown.join(" > "));
    }

    /// In words, a line each.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.queues.iter().map(Waiting::text).collect();
        lines.push(self.end.clone());
        if let Some(last) = self.closed_by.map(|at| &self.queues[at]) {
            let source = if last.recorded { "the flight recorder says" } else { "by its age" };
            lines.push(format!(
                "the cycle closed at {}, when {} paused {}:{} priority {} ({source})",
                clock(last.since_unix_ms),
                last.waits_for,
                last.switch,
                last.port,
                last.priority
            ));
        }
        lines
    }
}

impl Waiting {
    fn text(&self) -> String {
        let Self { switch, port, priority, waits_for, frames, bytes, .. } = self;
        let mut text = format!(
            "{switch}:{port} priority {priority} waits for {waits_for}: {frames} frames, {bytes} bytes"
        );
        if self.paused_for_ns > 0 {
            let (lasts, since) = (seconds(self.paused_for_ns), clock(self.since_unix_ms));
            text += &format!(", for {lasts} since {since}");
        }
        text
    }
}
