//! What is slow or lossy at one port, from two readings of the statistics.

use super::clock::{clock, seconds};
use super::remedies::remedy;
use crate::control::new_drops::{NewDrops, new_drops};
use crate::control::protocol::NeighborRow;
use crate::control::stats::{PortStats, Stats, Wait};
use crate::flight_recorder::event::{FlightEvent, What};
use dataplane::limits::PRIORITIES;
use serde::Serialize;
use std::collections::BTreeMap;

/// A share of the time below which a pause is not worth a line: one in a hundred.
const SHARE_MIN: f64 = 0.01;
/// A share of a port's speed from which the link is the limit.
const FULL: f64 = 0.9;

/// Something that is slow or lossy, or that nothing is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Finding {
    /// `link_down`, `storm`, `paused`, `peak_rate`, `link_full`, `pauses_peer`, `drops`,
    /// `unresolved` or `nothing`.
    pub(super) kind: &'static str,
    /// The priority, if it is about one.
    pub(super) priority: Option<usize>,
    /// Since when, as far as that is known: milliseconds since 1970.
    pub(super) since_unix_ms: Option<u64>,
    /// The figures.
    pub(super) figures: BTreeMap<&'static str, f64>,
    /// In words.
    pub(super) text: String,
}

/// Two readings of a switch, and what else it says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Readings<'a> {
    /// The first.
    pub(super) before: &'a Stats,
    /// The second.
    pub(super) now: &'a Stats,
    /// Its neighbors.
    pub(super) neighbors: &'a [NeighborRow],
    /// What its flight recorder has.
    pub(super) events: &'a [FlightEvent],
}

/// One port in both readings.
struct Pair<'a> {
    readings: &'a Readings<'a>,
    before: &'a PortStats,
    now: &'a PortStats,
    elapsed_s: f64,
}

impl Readings<'_> {
    /// What there is to say of the port with this `number`, of one priority if `class` is given.
    pub(super) fn findings(&self, number: usize, class: Option<usize>) -> Vec<Finding> {
        let of = |stats: &Stats| stats.ports.iter().position(|port| port.number == number);
        let Some((before, now)) = of(self.before).zip(of(self.now)) else { return Vec::new() };
        let elapsed_ns = self.now.uptime_ns.saturating_sub(self.before.uptime_ns).max(1);
        let pair = Pair {
            readings: self,
            before: &self.before.ports[before],
            now: &self.now.ports[now],
            elapsed_s: elapsed_ns as f64 / 1e9,
        };
        let mut found: Vec<Finding> = pair.link().into_iter().collect();
        for priority in (0..PRIORITIES).filter(|it| class.is_none_or(|class| class == *it)) {
            found.extend(pair.storm(priority));
            found.extend(pair.paused(priority));
            found.extend(pair.peak_rate(priority));
            found.extend(pair.link_full(priority));
            found.extend(pair.pauses_peer(priority));
        }
        found.extend(pair.drops());
        found.extend(pair.unresolved());
        if found.is_empty() {
            found.push(pair.nothing());
        }
        found
    }
}

impl Pair<'_> {
    fn name(&self) -> &str {
        &self.now.name
    }

    /// When something began that is so old now.
    fn since(&self, age_ns: u64) -> u64 {
        self.readings.now.time_unix_ms.saturating_sub(age_ns / 1_000_000)
    }

    /// The share of the time between the readings.
    fn share(&self, before_ns: u64, now_ns: u64) -> f64 {
        (now_ns.saturating_sub(before_ns) as f64 / 1e9 / self.elapsed_s).min(1.0)
    }

    fn tx_bps(&self) -> f64 {
        let sum = |port: &PortStats| port.tx_bytes.iter().sum::<u64>();
        sum(self.now).saturating_sub(sum(self.before)) as f64 * 8.0 / self.elapsed_s
    }

    fn link(&self) -> Option<Finding> {
        let port = self.now;
        if port.up {
            return None;
        }
        let name = self.name();
        let why = match &port.fault {
            Some(fault) => fault.clone(),
            None if !port.in_service => {
                format!("it is out of service: `knotless ctl link {name} up`")
            }
            None => "its link is down: the cable, or the peer".to_owned(),
        };
        let is_it = |event: &&FlightEvent| matches!(&event.what, What::Link { port, up: false } if port == name);
        let since = self.readings.events.iter().rev().find(is_it).map(|event| event.time_unix_ms);
        let text =
            format!("port {name} is down{}: {why}", since.map_or_else(String::new, ago_text));
        Some(finding("link_down", None, since, text))
    }

    fn storm(&self, priority: usize) -> Option<Finding> {
        if !self.now.queues[priority].stormed {
            return None;
        }
        let text = format!(
            "port {} priority {priority}: the watchdog has detected a storm ({} since start): a peer \
             pauses without end; repair it",
            self.name(),
            self.now.pfc.storms[priority]
        );
        Some(finding("storm", Some(priority), None, text))
    }

    fn wait(&self, priority: usize) -> Option<&Wait> {
        let mut waits = self.readings.now.waits.iter();
        waits.find(|wait| wait.port == self.now.number && wait.priority == priority)
    }

    fn paused(&self, priority: usize) -> Option<Finding> {
        let queue = &self.now.queues[priority];
        let [before, now] = [self.before, self.now].map(|port| port.pfc.rx_paused_ns[priority]);
        let share = self.share(before, now);
        let waits = queue.rx_paused && queue.veq_frames > 0;
        if share < SHARE_MIN && !waits {
            return None;
        }
        let name = self.name();
        let mut text = format!(
            "port {name} priority {priority}: paused by the peer {:.0} % of the last {:.1} s",
            share * 100.0,
            self.elapsed_s
        );
        let mut since = None;
        if queue.rx_paused {
            let at = self.since(queue.rx_paused_for_ns);
            since = Some(at);
            let lasts = seconds(queue.rx_paused_for_ns);
            text += &format!(", without a break since {} ({lasts})", clock(at));
        }
        text += &match queue.veq_frames {
            0 => "; nothing waits there now".to_owned(),
            frames => format!("; {} wait ({frames} frames)", size(queue.veq_bytes.into())),
        };
        text += &self.wait(priority).map_or_else(String::new, |wait| self.origins(wait));
        let mut found = finding("paused", Some(priority), since, text);
        found.figures.insert("paused_share", share);
        found.figures.insert("paused_for_s", queue.rx_paused_for_ns as f64 / 1e9);
        found.figures.insert("queued_bytes", queue.veq_bytes.into());
        Some(found)
    }

    /// Where the frames of a queue came in, and what that does to those who sent them.
    fn origins(&self, wait: &Wait) -> String {
        let ports = &self.readings.now.ports;
        let viq_bytes = |number: usize, priority: usize| {
            let port = ports.iter().find(|port| port.number == number);
            port.map_or(0, |port| port.queues[priority].viq_bytes)
        };
        let origin = |it: &crate::control::stats::Origin| {
            let bytes = size(viq_bytes(it.port, it.priority).into());
            let pauses = if it.paused { "pauses its peer" } else { "does not pause its peer" };
            format!("{} priority {} ({bytes} in the buffer), which {pauses}", it.name, it.priority)
        };
        let mut origins: Vec<String> = wait.origins.iter().map(origin).collect();
        if wait.has_more_origins {
            origins.push("perhaps more ports".to_owned());
        }
        if origins.is_empty() {
            return "; they are the switch's own".to_owned();
        }
        format!("; they came in by {}", origins.join(" and by "))
    }

    fn peak_rate(&self, priority: usize) -> Option<Finding> {
        let queue = &self.now.queues[priority];
        if !queue.peak_limited || queue.veq_frames == 0 {
            return None;
        }
        let [before, now] = [self.before, self.now].map(|port| port.tx_bytes[priority]);
        let bps = now.saturating_sub(before) as f64 * 8.0 / self.elapsed_s;
        let mut text = format!(
            "port {} priority {priority}: waits for its own peak rate ([[shaper]]), for no peer: it sends {}, and \
             {} wait ({} frames)",
            self.name(),
            rate(bps),
            size(queue.veq_bytes.into()),
            queue.veq_frames
        );
        text += &self.wait(priority).map_or_else(String::new, |wait| self.origins(wait));
        let mut found = finding("peak_rate", Some(priority), None, text);
        found.figures.insert("sent_bps", bps);
        found.figures.insert("queued_bytes", queue.veq_bytes.into());
        Some(found)
    }

    fn link_full(&self, priority: usize) -> Option<Finding> {
        let (old, queue) = (&self.before.queues[priority], &self.now.queues[priority]);
        let (bps, speed) = (self.tx_bps(), self.now.speed_bps as f64);
        let waits = queue.rx_paused || queue.peak_limited;
        if waits || old.veq_frames == 0 || queue.veq_frames == 0 || bps < FULL * speed {
            return None;
        }
        let text = format!(
            "port {} priority {priority}: the link is slower than the demand: it sends {} of {}, and {} \
             wait ({} frames)",
            self.name(),
            rate(bps),
            rate(speed),
            size(queue.veq_bytes.into()),
            queue.veq_frames
        );
        let mut found = finding("link_full", Some(priority), None, text);
        found.figures.insert("sent_bps", bps);
        found.figures.insert("queued_bytes", queue.veq_bytes.into());
        Some(found)
    }

    fn pauses_peer(&self, priority: usize) -> Option<Finding> {
        let queue = &self.now.queues[priority];
        let [before, now] = [self.before, self.now].map(|port| port.pfc.tx_paused_ns[priority]);
        let share = self.share(before, now);
        if share < SHARE_MIN && !queue.tx_paused {
            return None;
        }
        let (name, number) = (self.name(), self.now.number);
        let mut text = format!(
            "port {name} priority {priority}: pauses its peer {:.0} % of the last {:.1} s; {} that came in \
             there are in the buffer",
            share * 100.0,
            self.elapsed_s,
            size(queue.viq_bytes.into())
        );
        let ours = |wait: &&Wait| {
            wait.origins.iter().any(|it| it.port == number && it.priority == priority)
        };
        let waits: Vec<String> =
            self.readings.now.waits.iter().filter(ours).map(wait_text).collect();
        if waits.is_empty() {
            let long = self.readings.now.ports.iter().filter(|port| {
                port.number != number && port.queues.iter().any(|queue| queue.veq_frames > 0)
            });
            let long: Vec<&str> = long.map(|port| port.name.as_str()).collect();
            if !long.is_empty() {
                text +=
                    &format!("; no queue of theirs is paused; frames wait at {}", long.join(", "));
            }
        } else {
            text += &format!("; they wait at {}", waits.join(" and at "));
        }
        let since = queue.tx_paused.then(|| self.since(queue.tx_paused_for_ns));
        let mut found = finding("pauses_peer", Some(priority), since, text);
        found.figures.insert("paused_share", share);
        found.figures.insert("viq_bytes", queue.viq_bytes.into());
        Some(found)
    }

    fn drops(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        for NewDrops { cause, frames, lossless_frames } in new_drops(self.before, self.now) {
            let recorded = self.recorded_drops(cause);
            if frames == 0 && recorded.is_none() {
                continue;
            }
            let mut text = format!(
                "port {}: {frames} frames dropped in the last {:.1} s, {lossless_frames} of them lossless: {cause}",
                self.name(),
                self.elapsed_s
            );
            if let Some((since, frames)) = recorded {
                text += &format!("; {frames} frames since {}", clock(since));
            }
            if let Some(remedy) = remedy(cause) {
                text += &format!("; {remedy}");
            }
            let mut drops = finding("drops", None, recorded.map(|it| it.0), text);
            drops.figures.insert("frames", frames as f64);
            drops.figures.insert("lossless_frames", lossless_frames as f64);
            found.push(drops);
        }
        found
    }

    /// When drops of this cause began, as far as the recorder goes back, and how many there were.
    fn recorded_drops(&self, wanted: &str) -> Option<(u64, u64)> {
        let mut found: Option<(u64, u64)> = None;
        for event in self.readings.events {
            if let What::Drops { port, cause, frames, .. } = &event.what
                && port == self.name()
                && cause == wanted
            {
                let (since, sum) = found.unwrap_or((event.time_unix_ms, 0));
                found = Some((since, sum + frames));
            }
        }
        found
    }

    fn unresolved(&self) -> Option<Finding> {
        let rows = self.readings.neighbors.iter();
        let silent = rows.filter(|row| {
            row.port == self.now.name && matches!(row.state.as_str(), "incomplete" | "failed")
        });
        let silent: Vec<&str> = silent.map(|row| row.address.as_str()).collect();
        if silent.is_empty() {
            return None;
        }
        let text = format!(
            "port {}: the MAC address of {} is unknown, it does not answer: {}",
            self.name(),
            silent.join(", "),
            "its address, VLAN and link; or a static `[[neighbor]]`"
        );
        let mut found = finding("unresolved", None, None, text);
        found.figures.insert("neighbors", silent.len() as f64);
        Some(found)
    }

    fn nothing(&self) -> Finding {
        let received = |port: &PortStats| port.rx_bytes.iter().sum::<u64>();
        let bytes = received(self.now).saturating_sub(received(self.before));
        let text = format!(
            "port {}: nothing is slow or lossy here; in the last {:.1} s it received {} and sent {}",
            self.name(),
            self.elapsed_s,
            rate(bytes as f64 * 8.0 / self.elapsed_s),
            rate(self.tx_bps())
        );
        finding("nothing", None, None, text)
    }
}

fn finding(
    kind: &'static str,
    priority: Option<usize>,
    since_unix_ms: Option<u64>,
    text: String,
) -> Finding {
    Finding { kind, priority, since_unix_ms, figures: BTreeMap::new(), text }
}

fn wait_text(wait: &Wait) -> String {
    let Wait { name, priority, .. } = wait;
    if wait.own_rate {
        return format!("{name} priority {priority}, which waits for its own peak rate");
    }
    let lasts = seconds(wait.paused_for_ns);
    format!("{name} priority {priority}, which its peer has paused for {lasts}")
}

fn ago_text(at: u64) -> String {
    format!(" since {}", clock(at))
}

/// Bytes in a unit that people read.
fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} bytes"),
        10_000..10_000_000 => format!("{} KB", bytes / 1_000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}

/// Bits a second in a unit that people read.
fn rate(bps: f64) -> String {
    match bps {
        _ if bps >= 1e9 => format!("{:.1} Gb/s", bps / 1e9),
        _ if bps >= 1e6 => format!("{:.1} Mb/s", bps / 1e6),
        _ => format!("{:.1} kb/s", bps / 1e3),
    }
}
