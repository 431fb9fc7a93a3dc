//! The classes of a switch, as `check` shows them: which markings lead to which priority, whether
//! it is lossless, how it is scheduled, which ports are trusted, and the watchdog.

use crate::ctl::tables::{port_lines, port_names, table, text};
use config::SwitchConfig;
use config::units::{show_rate, show_size};
use dataplane::ids::{Priority, Tag};
use dataplane::limits::{PRIORITIES, TAGS};
use dataplane::pfc::watchdog::{Action, WatchdogSettings};
use dataplane::pipeline::classify::{ClassifyBy, InitialTags, PortTrust, TagMap};
use dataplane::qos_map::QosMap;
use dataplane::queue::shaper::PeakRate;
use dataplane::settings::PortSettings;
use serde_json::{Value, json};

/// The numbers that lead to one priority.
#[derive(Clone, Debug, Default)]
struct Markings {
    tags: Vec<usize>,
    dscps: Vec<usize>,
    pcps: Vec<usize>,
}

/// By priority, what leads to it.
fn markings(config: &SwitchConfig) -> [Markings; PRIORITIES] {
    let tags = &config.tag_map;
    let mut all: [Markings; PRIORITIES] = std::array::from_fn(|_| Markings::default());
    for tag in 0..TAGS {
        all[tags.priority[tag].index()].tags.push(tag);
    }
    for (dscp, tag) in tags.dscp_to_tag.iter().enumerate() {
        all[tags.priority[tag.index()].index()].dscps.push(dscp);
    }
    for (pcp, tag) in tags.pcp_to_tag.iter().enumerate() {
        all[tags.priority[tag.index()].index()].pcps.push(pcp);
    }
    all
}

fn is_lossless(config: &SwitchConfig, priority: usize) -> bool {
    config.settings.ports.iter().any(|port| port.lossless[priority].is_some())
}

/// A table of the priorities in use, a line about the trust of ports, and one about the watchdog.
pub(super) fn lines(config: &SwitchConfig) -> Vec<String> {
    let mut rows = table(["priority", "class", "tags", "DSCP", "PCP", "scheduling"]);
    for (priority, markings) in markings(config).iter().enumerate() {
        if markings.tags.is_empty() && !is_lossless(config, priority) {
            continue;
        }
        rows.add_row([
            priority.to_string(),
            if is_lossless(config, priority) { "lossless" } else { "lossy" }.to_owned(),
            ranges(&markings.tags),
            ranges(&markings.dscps),
            ranges(&markings.pcps),
            scheduling(config, priority),
        ]);
    }
    let mut lines = vec![text(&rows)];
    if let Some(ttl_classes) = &config.tag_map.ttl_classes {
        let priorities = ttl_classes.priorities.iter().map(|priority| priority.value().to_string());
        lines.push(format!(
            "lossless frames: the priority is that of the TTL class; classes from TTL {}: {}",
            ttl_classes.ttl0,
            priorities.collect::<Vec<_>>().join(", ")
        ));
    }
    lines.extend(trust_lines(config));
    lines.extend(qos_map_lines(config));
    lines.extend(peak_rate_lines(config));
    lines.extend(watchdog_line(config));
    lines
}

/// Numbers in ascending order, with runs joined: `0,3-63`.
fn ranges(numbers: &[usize]) -> String {
    let runs = numbers.chunk_by(|one, next| one + 1 == *next);
    let text = runs.filter_map(|run| match run {
        [one] => Some(one.to_string()),
        [first, .., last] => Some(format!("{first}-{last}")),
        [] => None,
    });
    let text = text.collect::<Vec<_>>().join(",");
    if text.is_empty() { "-".to_owned() } else { text }
}

fn scheduling(config: &SwitchConfig, priority: usize) -> String {
    let scheduler = &config.settings.scheduler;
    if scheduler.strict_bits >> priority & 1 == 1 {
        return "strict".to_owned();
    }
    let quantum_bytes = u64::from(scheduler.quantum_bytes[priority]);
    format!("DRR, {} a round", show_size(quantum_bytes))
}

/// A line for each kind of trust, with the ports that have it.
fn trust_lines(config: &SwitchConfig) -> Vec<String> {
    let tags = &config.tag_map;
    let initial_tag = tags.initial_tag;
    let describe = |trust: &PortTrust| {
        let by = match trust.by {
            ClassifyBy::Dscp => "by DSCP",
            ClassifyBy::Pcp => "by PCP",
            ClassifyBy::Port => return format!("every frame has tag {}", trust.default_tag),
        };
        let believed = if trust.trusted {
            "lossless tags are trusted".to_owned()
        } else if tags.initial_tags.count_ones() > 1 {
            let initial: Vec<usize> =
                (0..TAGS).filter(|tag| tags.initial_tags >> tag & 1 == 1).collect();
            format!(
                "tags {} select an application class; other lossless tags become tag {initial_tag}",
                ranges(&initial)
            )
        } else {
            format!("lossless tags are not trusted, and become tag {initial_tag}")
        };
        let selected = selected_tags(&trust.initial);
        format!("{by}; tag {} without it; {believed}{selected}", trust.default_tag)
    };
    port_lines(config.ports.iter().map(|port| (port.name.as_str(), describe(&port.trust))))
}

/// A line for each QoS map, with the ports that have it; none if no port has one.
fn qos_map_lines(config: &SwitchConfig) -> Vec<String> {
    let plain = QosMap::plain(config.tag_map.priority);
    let side = |what: &str, priorities: &[Priority; TAGS], plain: &[Priority; TAGS]| {
        let parts = Priority::all().filter_map(|priority| {
            let moved = (0..TAGS)
                .filter(|&tag| priorities[tag] == priority && plain[tag] != priority)
                .collect::<Vec<_>>();
            (!moved.is_empty()).then(|| format!("tags {} in priority {priority}", ranges(&moved)))
        });
        let parts = parts.collect::<Vec<_>>().join(", ");
        (!parts.is_empty()).then(|| format!("{what} {parts}"))
    };
    let describe = |map: &QosMap| {
        let sides = [
            side("receives", &map.priority_group, &plain.priority_group),
            side("sends", &map.queue, &plain.queue),
        ];
        sides.into_iter().flatten().collect::<Vec<_>>().join("; ")
    };
    let maps = config.ports.iter().map(|port| (port.name.as_str(), port.qos_map.as_deref()));
    let maps = maps.filter_map(|(name, map)| Some((name, describe(map?))));
    port_lines(maps.filter(|(_, described)| !described.is_empty()))
}

/// A line for each set of peak rates, with the ports that have it; none if no queue has one.
fn peak_rate_lines(config: &SwitchConfig) -> Vec<String> {
    let describe = |port: &PortSettings| {
        let peaks = Priority::all().zip(port.peak_rates);
        let parts = peaks.filter_map(|(priority, peak)| {
            let PeakRate { rate, burst_bytes } = peak?;
            let beyond = if port.lossless[priority.index()].is_some() { "pauses" } else { "drops" };
            let (rate, burst) = (show_rate(rate.bps()), show_size(u64::from(burst_bytes)));
            Some(format!(
                "priority {priority} at most {rate} with bursts of {burst}, beyond it {beyond}"
            ))
        });
        parts.collect::<Vec<_>>().join("; ")
    };
    let ports = config.settings.ports.iter();
    let described = ports.map(|port| (port.name.as_str(), describe(port)));
    let described = described.filter(|(_, text)| !text.is_empty());
    port_lines(described.map(|(name, text)| (name, format!("sends {text}"))))
}

/// What `[[initial_tag]]` says of a port: `; DSCP 46,48 become tag 2`.
fn selected_tags(initial: &InitialTags) -> String {
    let by = |name: &str, selected: &[Option<Tag>]| -> String {
        let parts = Tag::all().map(|tag| {
            let markings = (0..selected.len()).filter(|&marking| selected[marking] == Some(tag));
            let markings: Vec<usize> = markings.collect();
            if markings.is_empty() {
                return String::new();
            }
            let verb = if markings.len() == 1 { "becomes" } else { "become" };
            format!("; {name} {} {verb} tag {tag}", ranges(&markings))
        });
        parts.collect()
    };
    by("DSCP", &initial.by_dscp) + &by("PCP", &initial.by_pcp)
}

fn action_name(action: Action) -> &'static str {
    Action::ALL.iter().find(|(_, known)| *known == action).map_or("", |(name, _)| name)
}

/// The big red switch if it is on, else the watchdog and the ports without it; `None` if no port
/// has one.
fn watchdog_line(config: &SwitchConfig) -> Option<String> {
    if config.settings.big_red_switch {
        let on = "watchdog: the big red switch is on: all lossless traffic is dropped";
        return Some(on.to_owned());
    }
    let ports = &config.settings.ports;
    let WatchdogSettings { detection_ns, restoration_ns, action } =
        ports.iter().find_map(|port| port.watchdog)?;
    let without = ports.iter().filter(|port| port.watchdog.is_none());
    let without: Vec<&str> = without.map(|port| port.name.as_str()).collect();
    let but = if without.is_empty() {
        String::new()
    } else {
        format!("; not at {}", port_names(&without))
    };
    Some(format!(
        "watchdog: {}; detection after {} ms, restoration after {} ms{but}",
        action_name(action),
        detection_ns as f64 / 1e6,
        restoration_ns as f64 / 1e6,
    ))
}

/// The priorities in use, by number.
pub(super) fn priorities_json(config: &SwitchConfig) -> Value {
    let all = markings(config);
    let priorities = all
        .iter()
        .enumerate()
        .filter(|(priority, markings)| !markings.tags.is_empty() || is_lossless(config, *priority));
    let scheduler = &config.settings.scheduler;
    let priority = |(priority, markings): (usize, &Markings)| {
        let is_strict = scheduler.strict_bits >> priority & 1 == 1;
        json!({
            "priority": priority,
            "lossless": is_lossless(config, priority),
            "tags": markings.tags,
            "dscps": markings.dscps,
            "pcps": markings.pcps,
            "strict": is_strict,
            "quantum_bytes": (!is_strict).then(|| scheduler.quantum_bytes[priority]),
        })
    };
    priorities.map(priority).collect()
}

/// How a port classifies.
pub(super) fn trust_json(trust: &PortTrust) -> Value {
    let by = match trust.by {
        ClassifyBy::Dscp => "dscp",
        ClassifyBy::Pcp => "pcp",
        ClassifyBy::Port => "port",
    };
    let selected = |tags: &[Option<Tag>]| -> Value {
        let pairs = tags.iter().enumerate();
        pairs
            .filter_map(|(marking, tag)| Some((marking.to_string(), json!(tag.as_ref()?.value()))))
            .collect()
    };
    json!({
        "classify": by,
        "trusted": trust.trusted,
        "default_tag": trust.default_tag.value(),
        "initial_tag_by_dscp": selected(&trust.initial.by_dscp),
        "initial_tag_by_pcp": selected(&trust.initial.by_pcp),
    })
}

/// The priorities of tags on a port where they differ from those of the switch's tags.
pub(super) fn qos_map_json(map: Option<&QosMap>, tags: &TagMap) -> Value {
    let Some(map) = map else { return Value::Null };
    let moved = |priorities: &[Priority; TAGS]| -> Value {
        let all = (0..TAGS).filter(|&tag| priorities[tag] != tags.priority[tag]);
        all.map(|tag| (tag.to_string(), json!(priorities[tag].value()))).collect()
    };
    json!({ "priority_group": moved(&map.priority_group), "queue": moved(&map.queue) })
}

/// The peak rates of a port's queues, by priority.
pub(super) fn peak_rates_json(port: &PortSettings) -> Value {
    let peaks = Priority::all().zip(port.peak_rates);
    peaks
        .filter_map(|(priority, peak)| {
            let PeakRate { rate, burst_bytes } = peak?;
            let peak = json!({ "peak_rate_bps": rate.bps(), "peak_burst_bytes": burst_bytes });
            Some((priority.to_string(), peak))
        })
        .collect()
}

/// The watchdog of a port.
pub(super) fn watchdog_json(watchdog: Option<WatchdogSettings>) -> Value {
    watchdog.map_or(Value::Null, |WatchdogSettings { detection_ns, restoration_ns, action }| {
        json!({
            "action": action_name(action),
            "detection_ns": detection_ns,
            "restoration_ns": restoration_ns,
        })
    })
}
