//! Events that are logged as they happen: lossless frames lost, PFC storms, full tables, polling
//! gaps beyond what headroom covers. Each is logged at once and then, while it continues, every ten
//! seconds with the increase.

use super::stats::{PortStats, Stats};
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

    /// The events since the last poll, one line each.
    pub(super) fn poll(
        &mut self,
        stats: &Stats,
        config: &SwitchConfig,
        now: Instant,
    ) -> Vec<String> {
        let mut lines = Vec::new();
        for port in &stats.ports {
            self.check_port(port, now, &mut lines);
            self.check_tables(port, now, &mut lines);
        }
        if let Some(allowed_ns) = config.poll_gap_allowed_ns() {
            for worker in stats.workers.iter().filter(|it| it.poll_gap_ns_max > allowed_ns) {
                let key = format!("gap {}", worker.number);
                if self.increase(key, worker.poll_gap_ns_max, now).is_some() {
                    lines.push(format!(
                        "worker {}: polling gap of {} us; headroom covers {} us, longer gaps fill the \
                         devices' receive queues",
                        worker.number,
                        worker.poll_gap_ns_max / 1_000,
                        allowed_ns / 1_000
                    ));
                }
            }
        }
        lines
    }

    fn check_port(&mut self, port: &PortStats, now: Instant, lines: &mut Vec<String>) {
        let name = &port.name;
        for (cause, &frames) in &port.lossless_drops_by_cause {
            if let Some(new) = self.increase(format!("lost {name} {cause}"), frames, now) {
                lines.push(format!(
                    "port {name}: {new} lossless frames lost: {cause} ({frames} since start)"
                ));
            }
        }
        for priority in 0..port.pfc.storms.len() {
            let (storms, ended) = (port.pfc.storms[priority], port.pfc.restored[priority]);
            if self.increase(format!("storm {name} {priority}"), storms, now).is_some() {
                lines.push(format!(
                    "port {name}: the watchdog detected a PFC storm in priority {priority} \
                     ({storms} since start)"
                ));
            }
            if self.increase(format!("calm {name} {priority}"), ended, now).is_some() {
                lines.push(format!("port {name}: the PFC storm in priority {priority} ended"));
            }
        }
    }

    /// A host that makes addresses up, or takes those of others.
    fn check_tables(&mut self, port: &PortStats, now: Instant, lines: &mut Vec<String>) {
        let name = &port.name;
        let refused = port.neighbors_refused;
        if let Some(new) = self.increase(format!("neighbors {name}"), refused, now) {
            lines.push(format!(
                "port {name}: {new} neighbors refused; it has its share of the neighbor table, {}",
                port.neighbors
            ));
        }
        let refused = port.mac_refused_frames;
        if let Some(new) = self.increase(format!("mac {name}"), refused, now) {
            lines.push(format!(
                "port {name}: {new} frames whose MAC address is not learned; it has its share of the \
                 MAC table, {}; frames to other addresses are flooded",
                port.mac_addresses
            ));
        }
        if let Some(new) = self.increase(format!("moves {name}"), port.mac_moves, now) {
            lines.push(format!(
                "port {name}: {new} times a MAC address of another port came in here ({} since start)",
                port.mac_moves
            ));
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

    fn with_losses(frames: u64) -> Stats {
        let mut port = PortStats { name: "h1".to_owned(), ..PortStats::default() };
        port.lossless_drops_by_cause.insert("watchdog".to_owned(), frames);
        Stats { ports: vec![port], ..Stats::default() }
    }

    #[test]
    fn a_loss_is_reported_at_once_and_then_every_ten_seconds() {
        let (config, mut events) = (config(), Events::default());
        let mut poll = |frames, seconds| events.poll(&with_losses(frames), &config, at(seconds));
        assert_eq!(poll(3, 1), ["port h1: 3 lossless frames lost: watchdog (3 since start)"]);
        assert_eq!(poll(3, 2), [""; 0]);
        assert_eq!(poll(90, 5), [""; 0], "not so soon");
        assert_eq!(poll(100, 11), ["port h1: 97 lossless frames lost: watchdog (100 since start)"]);
        assert_eq!(poll(100, 60), [""; 0], "nothing new");
    }

    #[test]
    fn storms_begin_and_end() {
        let (config, mut events) = (config(), Events::default());
        let mut stats = with_losses(0);
        stats.ports[0].pfc.storms[3] = 1;
        let lines = events.poll(&stats, &config, at(1));
        assert_eq!(lines.len(), 1);
        assert!(lines[0].contains("a PFC storm in priority 3"), "{lines:?}");
        stats.ports[0].pfc.restored[3] = 1;
        let lines = events.poll(&stats, &config, at(2));
        assert_eq!(lines, ["port h1: the PFC storm in priority 3 ended"]);
    }

    #[test]
    fn full_tables_and_late_workers() {
        let (config, mut events) = (config(), Events::default());
        let mut stats = with_losses(0);
        stats.ports[0].mac_addresses = 819;
        stats.ports[0].neighbors = 3_276;
        assert_eq!(events.poll(&stats, &config, at(1)), [""; 0]);
        stats.ports[0].mac_refused_frames = 7;
        stats.ports[0].neighbors_refused = 4;
        stats.ports[0].mac_moves = 2;
        let worker = |poll_gap_ns_max| crate::control::stats::WorkerStats {
            poll_gap_ns_max,
            ..Default::default()
        };
        stats.workers = vec![worker(9_000_000), worker(23_000_000)];
        let lines = events.poll(&stats, &config, at(2));
        let tables = [
            "port h1: 4 neighbors refused; it has its share of the neighbor table, 3276",
            "port h1: 7 frames whose MAC address is not learned; it has its share of the MAC table, \
             819; frames to other addresses are flooded",
            "port h1: 2 times a MAC address of another port came in here (2 since start)",
        ];
        assert_eq!(lines[..3], tables);
        assert_eq!(lines.len(), 4, "{lines:?}");
        assert!(lines[3].contains("polling gap of 23000 us"), "{lines:?}");
        assert_eq!(events.poll(&stats, &config, at(30)), [""; 0]);
    }
}
