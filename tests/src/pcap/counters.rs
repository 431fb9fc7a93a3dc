//! Every counter of a switch that is not zero, under the names its statistics have.
//!
//! Names are not listed here: a counter that is new, and moves, shows up by itself and fails the
//! cases that do not expect it. What is left out is what is no counter, and what depends on time.

use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Values by name: `p1 rx_frames[3]`, `totals received`, `agent outcomes.pending`.
pub(super) type Counters = BTreeMap<String, i64>;

/// Of a port: what it is, and what depends on how the device batches.
const PORT_FACTS: [&str; 17] = [
    "number",
    "name",
    "device",
    "driver",
    "worker",
    "mac",
    "mode",
    "mtu",
    "trusted",
    "up",
    "link",
    "in_service",
    "speed_bps",
    "paced",
    "flow_control",
    "tells_rx_backlog",
    "rx_backlog",
];
/// Of a queue: what is in it when all has come to rest. The peaks depend on time.
const QUEUE_STATE: [&str; 5] =
    ["viq_bytes", "headroom_bytes", "veq_frames", "rx_paused", "tx_paused"];
/// The device counts what the port counts; only what it lost is news.
const DEVICE_TRAFFIC: [&str; 4] = ["rx_frames", "rx_bytes", "tx_frames", "tx_bytes"];
/// Tables that count for the whole switch.
const SWITCH_TABLES: [&str; 2] = ["totals", "agent"];
/// Gauges of the whole switch.
const SWITCH_GAUGES: [&str; 3] = ["neighbors", "routes", "mac_addresses"];

/// The counters in `stats`, the reply to the `stats` request.
pub(super) fn read(stats: &Value) -> Counters {
    let mut counters = Counters::new();
    for port in stats["ports"].as_array().into_iter().flatten() {
        let number = port["number"].as_u64().unwrap_or_default();
        let Value::Object(fields) = port else { continue };
        for (name, value) in fields.iter().filter(|(name, _)| !PORT_FACTS.contains(&name.as_str()))
        {
            let prefix = format!("p{number} {name}");
            match (name.as_str(), value) {
                ("queues", Value::Array(queues)) => queue_state(&mut counters, number, queues),
                ("device_counters", Value::Object(table)) => {
                    let losses =
                        table.iter().filter(|(n, _)| !DEVICE_TRAFFIC.contains(&n.as_str()));
                    let losses: Map<_, _> = losses.map(|(n, v)| (n.clone(), v.clone())).collect();
                    flatten(&mut counters, &prefix, &Value::Object(losses));
                }
                _ => flatten(&mut counters, &prefix, value),
            }
        }
    }
    for table in SWITCH_TABLES {
        for (name, value) in stats[table].as_object().into_iter().flatten() {
            flatten(&mut counters, &format!("{table} {name}"), value);
        }
    }
    for gauge in SWITCH_GAUGES {
        flatten(&mut counters, &format!("switch {gauge}"), &stats[gauge]);
    }
    counters
}

/// Frames that the port with this number says it has sent: data, the switch's own, and PFC.
pub(super) fn sent_frames(counters: &Counters, port: usize) -> i64 {
    let is_sent = |name: &str| {
        let name = name.strip_prefix(&format!("p{port} ")).unwrap_or_default();
        name.starts_with("tx_frames[") || name == "pfc.tx_frames"
    };
    counters.iter().filter(|(name, _)| is_sent(name)).map(|(_, value)| value).sum()
}

fn queue_state(counters: &mut Counters, number: u64, queues: &[Value]) {
    for (priority, queue) in queues.iter().enumerate() {
        for name in QUEUE_STATE {
            flatten(counters, &format!("p{number} {name}[{priority}]"), &queue[name]);
        }
    }
}

/// Adds what is not zero in `value`.
fn flatten(counters: &mut Counters, name: &str, value: &Value) {
    match value {
        Value::Object(fields) => {
            for (field, value) in fields {
                flatten(counters, &format!("{name}.{field}"), value);
            }
        }
        Value::Array(values) => {
            for (at, value) in values.iter().enumerate() {
                flatten(counters, &format!("{name}[{at}]"), value);
            }
        }
        // How long a pause lasted depends on the machine.
        Value::Number(number) if !name.contains("_ns") => {
            let number = number.as_i64().unwrap_or(i64::MAX);
            if number != 0 {
                counters.insert(name.to_owned(), number);
            }
        }
        Value::Bool(true) => {
            counters.insert(name.to_owned(), 1);
        }
        _ => {}
    }
}

/// The text of `counters.txt`.
pub(super) fn emit(counters: &Counters) -> String {
    let mut text = String::new();
    for (name, value) in counters {
        let _always_room = writeln!(text, "{name} = {value}");
    }
    text
}

/// Reads `counters.txt`; the line that is none if there is one.
pub(super) fn parse(text: &str) -> Result<Counters, String> {
    let line = |line: &str| {
        let (name, value) = line.rsplit_once(" = ")?;
        Some((name.to_owned(), value.parse().ok()?))
    };
    text.lines().map(|text| line(text).ok_or_else(|| text.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn all_that_moved_is_listed_whatever_its_name() {
        let stats = json!({
            "uptime_ns": 77,
            "ports": [{
                "number": 2, "name": "up", "mtu": 1500, "up": true,
                "rx_frames": [0, 0, 0, 5, 0, 0, 0, 0],
                "drops": { "too_long": 2 },
                "pfc": { "tx_frames": 1, "tx_paused_ns": [9, 0] },
                "queues": [{ "viq_bytes": 0, "viq_peak_bytes": 8, "tx_paused": true }],
                "device_counters": { "rx_frames": 5, "rx_missed_frames": 3 },
                "of_the_future": 4,
            }],
            "totals": { "received": 5, "imbalance": -1 },
            "agent": { "outcomes": { "pending": 1 }, "probes_sent": 0 },
            "neighbors": 2,
        });
        let expected = "agent outcomes.pending = 1\n\
            p2 device_counters.rx_missed_frames = 3\n\
            p2 drops.too_long = 2\n\
            p2 of_the_future = 4\n\
            p2 pfc.tx_frames = 1\n\
            p2 rx_frames[3] = 5\n\
            p2 tx_paused[0] = 1\n\
            switch neighbors = 2\n\
            totals imbalance = -1\n\
            totals received = 5\n";
        let counters = read(&stats);
        assert_eq!(emit(&counters), expected);
        assert_eq!(parse(expected), Ok(counters));
        assert_eq!(parse("p1 a = 1\nnonsense\n"), Err("nonsense".to_owned()));
    }
}
