//! `--old-names`: counters and metrics under their former names, for one release.
//!
//! Both names at once would double every sum over causes, so the output has either the new names
//! or the former ones.

use crate::output;
use clap::Args;
use serde_json::Value;

/// The option of each command that prints counters.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct OldNames {
    /// Print counters in JSON and metrics under their names of version 0.1 (until 0.3), and say on
    /// stderr what each is called now
    #[arg(long, global = true)]
    old_names: bool,
}

/// Where a name can be: the JSON objects whose keys, or the arrays whose texts, are such names.
const DROPS: &[&str] = &["drops", "lossless_drops_by_cause"];
const TOTALS: &[&str] = &["totals"];
const AGENT: &[&str] = &["agent", "outcomes"];
const LLDP: &[&str] = &["conditions", "counters"];

/// The former name, the name now, and the objects that have it.
type Renamed = (&'static str, &'static str, &'static [&'static str]);

const RENAMED: [Renamed; 14] = [
    ("lossy_full", "ingress_limit", DROPS),
    ("lossy_tail", "tail_drop", DROPS),
    ("lossless_overrun", "headroom_overrun", DROPS),
    ("punt_limited", "punt_policed", DROPS),
    ("nowhere_to_flood", "no_flood_members", DROPS),
    ("same_port", "source_port_filtered", DROPS),
    ("taken_over", "handoff_rx", TOTALS),
    ("handed_over", "handoff_tx", TOTALS),
    ("parked", "pending", AGENT),
    ("parking_full", "pending_full", AGENT),
    ("parked_frames", "pending_frames", AGENT),
    ("torn", "multiple_neighbors", LLDP),
    ("crowded", "neighbor_table_full", LLDP),
    ("tlvs_unrecognised", "tlvs_unrecognized", LLDP),
];

impl OldNames {
    /// Says on stderr what each name is now, if the old ones were asked for: once for a command.
    pub fn tell(self) {
        for (old, new, _) in RENAMED.iter().filter(|_| self.old_names) {
            output::note(&format!("counter `{old}` is now `{new}`"));
        }
    }

    /// `value`, under the old names if they were asked for.
    pub fn json(self, mut value: Value) -> Value {
        if self.old_names {
            rename(&mut value, "");
        }
        value
    }

    /// An exposition of metrics, whose labels have the old names if they were asked for.
    pub fn metrics(self, mut text: String) -> String {
        if self.old_names {
            for (old, new, _) in RENAMED.iter().filter(|renamed| renamed.2 == DROPS) {
                text = text.replace(&format!("cause=\"{new}\""), &format!("cause=\"{old}\""));
            }
        }
        text
    }
}

/// Gives each key of the object `within`, and each text of the array, its old name.
fn rename(value: &mut Value, within: &str) {
    let old_name = |name: &str| {
        let found = RENAMED.iter().find(|renamed| renamed.1 == name && renamed.2.contains(&within));
        found.map(|renamed| renamed.0.to_owned())
    };
    match value {
        Value::Object(fields) => {
            for (name, mut field) in std::mem::take(fields) {
                rename(&mut field, &name);
                fields.insert(old_name(&name).unwrap_or(name), field);
            }
        }
        Value::Array(items) => {
            for item in items {
                match item.as_str().and_then(old_name) {
                    Some(old) => *item = Value::String(old),
                    None => rename(item, within),
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dataplane::counters::DropReason;
    use serde_json::json;

    const ASKED: OldNames = OldNames { old_names: true };

    #[test]
    fn every_name_is_given_where_it_stands_and_nowhere_else() {
        let new = json!({
            "totals": { "handoff_rx": 1, "handoff_tx": 2, "sent": 3 },
            "ports": [{
                "drops": { "tail_drop": 4, "not_ip": 5 },
                "lossless_drops_by_cause": { "headroom_overrun": 6 },
                "lldp": { "conditions": ["multiple_neighbors", "loop"] },
                "name": "tail_drop",
            }],
            "agent": { "outcomes": { "pending": 7 }, "pending_frames": 8 },
            "lldp": { "counters": { "tlvs_unrecognized": 9 } },
        });
        let old = json!({
            "totals": { "taken_over": 1, "handed_over": 2, "sent": 3 },
            "ports": [{
                "drops": { "lossy_tail": 4, "not_ip": 5 },
                "lossless_drops_by_cause": { "lossless_overrun": 6 },
                "lldp": { "conditions": ["torn", "loop"] },
                "name": "tail_drop",
            }],
            "agent": { "outcomes": { "parked": 7 }, "parked_frames": 8 },
            "lldp": { "counters": { "tlvs_unrecognised": 9 } },
        });
        assert_eq!(ASKED.json(new.clone()), old);
        assert_eq!(OldNames::default().json(new.clone()), new);
    }

    #[test]
    fn labels_of_metrics_have_old_causes_too() {
        let line = "knotless_port_drops_total{port=\"a\",cause=\"ingress_limit\"} 1\n";
        assert_eq!(ASKED.metrics(line.to_owned()), line.replace("ingress_limit", "lossy_full"));
        assert_eq!(OldNames::default().metrics(line.to_owned()), line);
    }

    #[test]
    fn drop_causes_that_were_renamed_are_causes_now() {
        let names: Vec<&str> = DropReason::ALL.iter().map(|reason| reason.name()).collect();
        for (old, new, _) in RENAMED.iter().filter(|renamed| renamed.2 == DROPS) {
            assert!(names.contains(new) && !names.contains(old), "{old}, {new}");
        }
    }
}
