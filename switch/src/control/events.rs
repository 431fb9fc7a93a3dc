//! Events that are logged as they happen: lossless frames lost, PFC storms, full tables, polling
//! gaps beyond what headroom covers. Each is logged at once and then, while it continues, every ten
//! seconds with the increase.

use super::stats::{PortStats, Stats};
use crate::log::{Event, Level};
use config::SwitchConfig;
use dataplane::time::Instant;
use std::collections::BTreeMap;

/// Poll interval of the counters.
pub(super) const POLL_NS: u64 = 500_000_000;
/// Minimum interval between two lines about the same event.
const QUIET_NS: u64 = 10_000_000_000;

/// What was reported so far.
#[derive(Debug, Default)]
pub(super) struct Events {
    poll_at: Instant,
    reported: BTreeMap<String, Reported>,
}

/// The last reported value, and its time.
#[derive(Clone, Copy, Debug)]
struct Reported {
    figure: u64,
    at: Instant,
}

impl Events {
    /// Whether a poll is due.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        now >= self.poll_at
    }

    /// Schedules the next poll.
    pub(super) fn postpone(&mut self, now: Instant) {
        self.poll_at = now + POLL_NS;
    }

    /// The events since the last poll.
    pub(super) fn poll(
        &mut self,
        stats: &Stats,
        config: &SwitchConfig,
        now: Instant,
    ) -> Vec<Event> {
        let mut events = Vec::new();
        for port in &stats.ports {
            self.check_port(port, now, &mut events);
            self.check_tables(port, now, &mut events);
        }
        if let Some(allowed_ns) = config.poll_gap_allowed_ns() {
            for worker in stats.workers.iter().filter(|it| it.poll_gap_ns_max > allowed_ns) {
                let key = format!("gap {}", worker.number);
                if self.increase(key, worker.poll_gap_ns_max, now).is_some() {
                    let text = format!(
                        "worker {}: polling gap of {} us; headroom covers {} us, longer gaps fill the \
                         devices' receive queues",
                        worker.number,
                        worker.poll_gap_ns_max / 1_000,
                        allowed_ns / 1_000
                    );
                    events.push(Event::new(Level::Warning, "polling_gap", text));
                }
            }
        }
        events
    }

    fn check_port(&mut self, port: &PortStats, now: Instant, events: &mut Vec<Event>) {
        let name = &port.name;
        let mut push = |level, kind, text: String, cause: Option<&str>| {
            let event = Event::of_port(level, kind, name, &text);
            events.push(Event { cause: cause.map(str::to_owned), ..event });
        };
        for (cause, &frames) in &port.lossless_drops_by_cause {
            if let Some(new) = self.increase(format!("lost {name} {cause}"), frames, now) {
                let text = format!(": {new} lossless frames lost: {cause} ({frames} since start)");
                push(Level::Error, "lossless_drops", text, Some(cause));
            }
        }
        for priority in 0..port.pfc.storms.len() {
            let (storms, ended) = (port.pfc.storms[priority], port.pfc.restored[priority]);
            if self.increase(format!("storm {name} {priority}"), storms, now).is_some() {
                let text = format!(
                    ": the watchdog detected a PFC storm in priority {priority} \
                     ({storms} since start)"
                );
                push(Level::Warning, "pfc_storm", text, None);
            }
            if self.increase(format!("calm {name} {priority}"), ended, now).is_some() {
                let text = format!(": the PFC storm in priority {priority} ended");
                push(Level::Info, "pfc_storm", text, None);
            }
        }
    }

    /// A host that makes addresses up, or takes those of others.
    fn check_tables(&mut self, port: &PortStats, now: Instant, events: &mut Vec<Event>) {
        let name = &port.name;
        let mut push = |kind, cause, text: String| {
            events.push(Event::of_port(Level::Warning, kind, name, &text).by(cause));
        };
        let refused = port.neighbors_refused;
        if let Some(new) = self.increase(format!("neighbors {name}"), refused, now) {
            let text = format!(
                ": {new} neighbors refused; it has its share of the neighbor table, {}",
                port.neighbors
            );
            push("neighbors", "share", text);
        }
        let refused = port.mac_refused_frames;
        if let Some(new) = self.increase(format!("mac {name}"), refused, now) {
            let text = format!(
                ": {new} frames whose MAC address is not learned; it has its share of the \
                 MAC table, {}; frames to other addresses are flooded",
                port.mac_addresses
            );
            push("mac_table", "share", text);
        }
        if let Some(new) = self.increase(format!("held {name}"), port.mac_held_frames, now) {
            let text = format!(
                ": {new} frames with the MAC address of a station that stays on another port \
                 ({} since start)",
                port.mac_held_frames
            );
            push("mac_table", "held", text);
        }
        if let Some(new) = self.increase(format!("moves {name}"), port.mac_moves, now) {
            let text = format!(
                ": {new} times a MAC address of another port came in here ({} since start)",
                port.mac_moves
            );
            push("mac_table", "moved", text);
        }
    }

    /// The increase of `figure` over the last report under `key`; `None` if there is none, or the
    /// last report is recent.
    fn increase(&mut self, key: String, figure: u64, now: Instant) -> Option<u64> {
        let before = self.reported.get(&key).copied();
        let new = figure.saturating_sub(before.map_or(0, |reported| reported.figure));
        if new == 0 || before.is_some_and(|reported| now.ns_since(reported.at) < QUIET_NS) {
            return None;
        }
        self.reported.insert(key, Reported { figure, at: now });
        Some(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn config() -> SwitchConfig {
        let text = "name = \"A\"\n[[lossless]]\npriority = 3\n[mac_table]\nsize = 1024\n\
                    [[port]]\nname = \"h1\"\ndevice = \"net_tap0\"\nvlan = 1\n";
        SwitchConfig::parse(Path::new("A.toml"), text).unwrap_or_else(|error| panic!("{error}"))
    }

    fn at(seconds: u64) -> Instant {
        Instant::from_ns(seconds * 1_000_000_000)
    }

    /// `PORT CAUSE: TEXT` of each event.
    fn poll(events: &mut Events, stats: &Stats, seconds: u64) -> Vec<String> {
        let said = |event: &Event| {
            let (port, cause) = (event.port.as_deref(), event.cause.as_deref());
            let kind = event.kind;
            format!("{kind} {} {}: {}", port.unwrap_or("-"), cause.unwrap_or("-"), event.text)
        };
        events.poll(stats, &config(), at(seconds)).iter().map(said).collect()
    }

    fn with_losses(frames: u64) -> Stats {
        let mut port = PortStats { name: "h1".to_owned(), ..PortStats::default() };
        port.lossless_drops_by_cause.insert("watchdog".to_owned(), frames);
        Stats { ports: vec![port], ..Stats::default() }
    }

    #[test]
    fn a_loss_is_reported_at_once_and_then_every_ten_seconds() {
        let mut events = Events::default();
        let mut poll = |frames, seconds| poll(&mut events, &with_losses(frames), seconds);
        let said = "lossless_drops h1 watchdog: port h1: ";
        assert_eq!(poll(3, 1), [format!("{said}3 lossless frames lost: watchdog (3 since start)")]);
        assert_eq!(poll(3, 2), [""; 0]);
        assert_eq!(poll(90, 5), [""; 0], "not so soon");
        let lost = format!("{said}97 lossless frames lost: watchdog (100 since start)");
        assert_eq!(poll(100, 11), [lost]);
        assert_eq!(poll(100, 60), [""; 0], "nothing new");
    }

    #[test]
    fn storms_begin_and_end() {
        let mut events = Events::default();
        let mut stats = with_losses(0);
        stats.ports[0].pfc.storms[3] = 1;
        assert_eq!(
            poll(&mut events, &stats, 1),
            ["pfc_storm h1 -: port h1: the watchdog detected a PFC storm in priority 3 \
              (1 since start)"]
        );
        stats.ports[0].pfc.restored[3] = 1;
        assert_eq!(
            poll(&mut events, &stats, 2),
            ["pfc_storm h1 -: port h1: the PFC storm in priority 3 ended"]
        );
    }

    #[test]
    fn full_tables_and_late_workers() {
        let mut events = Events::default();
        let mut stats = with_losses(0);
        stats.ports[0].mac_addresses = 819;
        stats.ports[0].neighbors = 3_276;
        assert_eq!(poll(&mut events, &stats, 1), [""; 0]);
        stats.ports[0].mac_refused_frames = 7;
        stats.ports[0].neighbors_refused = 4;
        stats.ports[0].mac_held_frames = 5;
        stats.ports[0].mac_moves = 2;
        let worker = |poll_gap_ns_max| crate::control::stats::WorkerStats {
            poll_gap_ns_max,
            ..Default::default()
        };
        stats.workers = vec![worker(9_000_000), worker(23_000_000)];
        let lines = poll(&mut events, &stats, 2);
        let tables = [
            "neighbors h1 share: port h1: 4 neighbors refused; it has its share of the neighbor \
             table, 3276",
            "mac_table h1 share: port h1: 7 frames whose MAC address is not learned; it has its \
             share of the MAC table, 819; frames to other addresses are flooded",
            "mac_table h1 held: port h1: 5 frames with the MAC address of a station that stays on \
             another port (5 since start)",
            "mac_table h1 moved: port h1: 2 times a MAC address of another port came in here (2 \
             since start)",
        ];
        assert_eq!(lines[..4], tables);
        assert_eq!(lines.len(), 5, "{lines:?}");
        assert!(lines[4].starts_with("polling_gap - -: "), "{lines:?}");
        assert!(lines[4].contains("polling gap of 23000 us"), "{lines:?}");
        assert_eq!(poll(&mut events, &stats, 30), [""; 0]);
    }
}
