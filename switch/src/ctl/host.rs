//! `knotless ctl host`: the ports as interfaces of the host, and what passes to it by class.

use super::tables::{Rows, numbers, text as table_text};
use crate::control::stats::Stats;
use serde_json::{Value, json};

/// The TAPs, then the classes of each port.
pub(super) fn text(stats: &Stats) -> String {
    if stats.taps.is_empty() {
        return "the host has no TAP of a port; set taps = true in [host]".to_owned();
    }
    let taps = Rows(&stats.taps, 5).table([
        ("port", |tap| tap.port.clone()),
        ("tap", |tap| tap.tap.clone()),
        ("index", |tap| tap.index.to_string()),
        ("carrier", |tap| if tap.carrier { "up" } else { "down" }.to_owned()),
        ("addresses", |tap| or_dash(tap.addresses.join(" "))),
        ("to host", |tap| tap.to_host_frames.to_string()),
        ("lost", |tap| tap.to_host_lost_frames.to_string()),
        ("from host", |tap| tap.from_host_frames.to_string()),
    ]);
    let mut classes = numbers(["port", "class", "passed", "dropped"], 2);
    for port in &stats.ports {
        for (class, counted) in &port.host_classes {
            let (passed, dropped) = (counted.passed_frames, counted.dropped_frames);
            classes.add_row([&port.name, class, &passed.to_string(), &dropped.to_string()]);
        }
    }
    format!("{taps}\n\n{}", table_text(&classes))
}

fn or_dash(text: String) -> String {
    if text.is_empty() { "-".to_owned() } else { text }
}

/// The same as JSON.
pub(super) fn json(stats: &Stats) -> Value {
    let classes =
        stats.ports.iter().map(|port| json!({ "port": port.name, "classes": port.host_classes }));
    json!({ "taps": stats.taps, "ports": classes.collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::stats::{HostClassStats, PortStats, TapStats};

    #[test]
    fn taps_stand_above_the_classes_of_their_ports() {
        assert!(text(&Stats::default()).contains("[host]"));
        let counted = HostClassStats { passed_frames: 17, dropped_frames: 3 };
        let port = PortStats {
            name: "swp1".to_owned(),
            host_classes: [("bgp".to_owned(), counted)].into(),
            ..PortStats::default()
        };
        let tap = TapStats {
            port: "swp1".to_owned(),
            tap: "swp1".to_owned(),
            index: 7,
            carrier: true,
            to_host_frames: 21,
            ..TapStats::default()
        };
        let stats = Stats { ports: vec![port], taps: vec![tap], ..Stats::default() };
        let words: Vec<String> = text(&stats)
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        assert!(words.contains(&"swp1 swp1 7 up - 21 0 0".to_owned()), "{words:?}");
        assert!(words.contains(&"swp1 bgp 17 3".to_owned()), "{words:?}");
        assert_eq!(json(&stats)["ports"][0]["classes"]["bgp"]["dropped_frames"], 3);
    }
}
