//! The references of the book, written from the code: what a configuration may say, and what a
//! switch counts.

use super::source::{Kind, Member, Shape, Source};
use std::fmt::Write;
use std::fs;
use tests::tree;

const SWITCH: [&str; 15] = [
    "config/src/switch/schema/mod.rs",
    "config/src/switch/schema/classes.rs",
    "config/src/switch/schema/fleet.rs",
    "config/src/switch/schema/forwarding.rs",
    "config/src/switch/schema/host.rs",
    "config/src/switch/schema/lldp.rs",
    "config/src/switch/schema/port.rs",
    "config/src/switch/schema/queueing.rs",
    "config/src/switch/schema/runtime.rs",
    "config/src/switch/schema/sflow.rs",
    "config/src/switch/schema/tunnel.rs",
    // The types of single keys.
    "agents/src/lldp/peer_policy.rs",
    "agents/src/lldp/topology.rs",
    "dataplane/src/pipeline/classify.rs",
    "dataplane/src/tunnel.rs",
];
const NETWORK: &str = "config/src/network/schema.rs";
/// The kinds of networks that `[generate]` knows.
const KINDS: &str = "fabric/src/network/generate/parameters.rs";
const SCENARIO: &str = "config/src/scenario/schema.rs";
const ROCE: &str = "config/src/scenario/roce_schema.rs";
const CAMPAIGN: &str = "config/src/campaign/schema.rs";
const COUNTERS: [&str; 5] = [
    "dataplane/src/counters.rs",
    "dataplane/src/report.rs",
    "agents/src/host/counters.rs",
    "switch/src/control/stats.rs",
    "switch/src/histograms.rs",
];

/// Values that are more than a string or a number, as a user writes them.
const VALUES: [(&str, &str); 27] = [
    ("String", "text"),
    ("PathBuf", "path"),
    ("bool", "true or false"),
    ("u8", "integer"),
    ("u16", "integer"),
    ("u32", "integer"),
    ("u64", "integer"),
    ("i64", "integer"),
    ("usize", "integer"),
    ("f64", "number"),
    ("Value", "text, number, true or false, or list"),
    ("Size", "size"),
    ("Rate", "speed"),
    ("TrafficRate", "rate"),
    ("Cable", "length"),
    ("Duration", "time"),
    ("Mac", "MAC address"),
    ("Network", "address/length"),
    ("Prefix", "prefix"),
    ("Address", "IP address"),
    ("TagField", "tag, 0 to 63"),
    ("PriorityField", "priority, 0 to 7"),
    ("Dscp", "DSCP, 0 to 63"),
    ("Pcp", "PCP, 0 to 7"),
    ("VlanField", "VLAN, 1 to 4094"),
    ("VidRange", "VLAN or range"),
    ("TapField", "true or false, or name"),
];

const NOTE: &str = "<!-- Written by `make references` from the code. Do not edit. -->\n\n";

/// The kinds of file: title, where its types are, and the type of the whole file.
pub(super) const FILES: [(&str, &[&str], &str); 4] = [
    ("SWITCH.toml", &SWITCH, "SwitchFile"),
    ("NETWORK.toml", &[NETWORK, KINDS], "NetworkFile"),
    ("SCENARIO.toml", &[SCENARIO, ROCE, NETWORK, KINDS], "ScenarioFile"),
    ("CAMPAIGN.toml", &[CAMPAIGN], "CampaignFile"),
];

/// `docs/configuration.md`.
pub(super) fn configuration() -> String {
    let mut page = format!(
        "{NOTE}# Configuration reference\n\nFour kinds of TOML file. Sizes are bytes (`9216`, \
        `\"64KB\"` = 64,000, `\"64KiB\"` = 65,536), \
         speeds are bits per second (`\"40G\"`), lengths are meters (`\"10m\"`), times have a \
         unit (`\"20us\"`). An unknown key is an error. \
         Paths are relative to the file. A key in **bold** is required.\n\n"
    );
    for (title, files, root) in FILES {
        let source = Source::read(files);
        let _ = writeln!(page, "## {title}\n");
        table(&mut page, &source, source.shape(root), "");
    }
    page
}

/// A table of keys, and then the tables in it.
fn table(page: &mut String, source: &Source, shape: &Shape, path: &str) {
    page.push_str("| key | value | meaning |\n|---|---|---|\n");
    let mut inner = Vec::new();
    for member in shape.members.iter().filter(|member| !member.skip) {
        let kind = member.kind.as_ref().expect("a table has fields");
        let name = if member.required {
            format!("**`{}`**", member.name)
        } else {
            format!("`{}`", member.name)
        };
        let value = match source.types.get(&kind.name) {
            Some(found) if !found.is_enum => {
                let path = format!("{path}{}", member.name);
                let heading = match (kind.is_list, kind.is_map) {
                    (true, _) => format!("[[{path}]]"),
                    (_, true) => format!("[{path}.NAME]"),
                    _ => format!("[{path}]"),
                };
                inner.push((heading.clone(), path, found));
                format!("table `{heading}`")
            }
            _ => value(source, kind),
        };
        let _ = writeln!(page, "| {name} | {value} | {} |", cell(&member.doc));
    }
    page.push('\n');
    for (heading, path, shape) in inner {
        let _ = writeln!(page, "### `{heading}`\n");
        let doc = shape
            .doc
            .trim_start_matches(&format!("`{heading}`"))
            .trim_start_matches([':', ',', ' ']);
        if !doc.is_empty() {
            let _ = writeln!(page, "{}\n", sentence(doc));
        }
        table(page, source, shape, &format!("{path}."));
    }
}

/// What to write for a value of this kind.
fn value(source: &Source, kind: &Kind) -> String {
    let one = match source.types.get(&kind.name) {
        Some(shape) => {
            let names: Vec<String> =
                shape.members.iter().map(|member| format!("`\"{}\"`", member.name)).collect();
            names.join(", ")
        }
        None => {
            let known = VALUES.iter().find(|(name, _)| *name == kind.name);
            known
                .unwrap_or_else(|| panic!("the reference has no words for {}", kind.name))
                .1
                .to_owned()
        }
    };
    match (kind.is_list, kind.is_map) {
        (true, _) => format!("list: {one}"),
        (_, true) => format!("table of {one}"),
        _ => one,
    }
}

/// `docs/counters.md`.
pub(super) fn counters() -> String {
    let mut page = format!(
        "{NOTE}# Counters reference\n\n`knotless ctl stats`, `knotless run --json` and `knotless \
        ctl counters` show these, as JSON and as tables. \
         A list by priority has eight numbers, for priorities 0 to 7.\n\n"
    );
    let source = Source::read(&COUNTERS);
    let sections = [
        ("Causes of drops", "DropReason", "Keys of `drops` and `lossless_drops`."),
        ("The whole answer", "Stats", "The JSON object that `ctl stats` prints."),
        ("Frame balance", "FrameTotals", "`totals`, of all workers together."),
        ("A port", "PortStats", "An element of `ports`."),
        ("Flow control of a port", "PfcCounters", "`pfc` of a port."),
        (
            "A queue",
            "QueueGauges",
            "An element of `queues` of a port, by priority. Bytes unless said otherwise.",
        ),
        ("A queue that waits", "Wait", "An element of `waits`."),
        ("A changed tag", "TagChange", "An element of `tag_changes`."),
        ("A TAP of the host", "TapStats", "An element of `taps`."),
        (
            "A class of frames for the host",
            "HostClassStats",
            "An element of `host_classes` of a port, by class.",
        ),
        ("The buffer", "BufferStats", "`buffer`."),
        ("A worker", "WorkerStats", "An element of `workers`."),
        ("A histogram", "Distribution", "`latency_ns`, `burst_frames`, and `turn_ns` of a worker."),
        (
            "What became of frames for the control thread",
            "Outcome",
            "Keys of the agent's `outcomes`.",
        ),
    ];
    for (title, name, about) in sections {
        let _ = writeln!(page, "## {title}\n\n{about}\n\n| name | meaning |\n|---|---|");
        rows(&mut page, &source, source.shape(name));
        page.push('\n');
    }
    page
}

fn rows(page: &mut String, source: &Source, shape: &Shape) {
    for member in shape.members.iter().filter(|member| !member.skip) {
        match &member.kind {
            Some(kind) if member.flatten => rows(page, source, source.shape(&kind.name)),
            _ => {
                let Member { name, doc, .. } = member;
                let _ = writeln!(page, "| `{name}` | {} |", cell(doc));
            }
        }
    }
}

/// `docs/metrics.md`, from the metrics that a test of the switch has recorded.
pub(super) fn metrics() -> String {
    let recorded = tree::root().join("switch/src/metrics/recorded.txt");
    let text = fs::read_to_string(recorded).expect("the recorded metrics");
    let mut page = format!(
        "{NOTE}# Metrics reference\n\n`[metrics] listen` in SWITCH.toml serves these by HTTP, and \
        `knotless ctl metrics` prints them. Every sample has the label `switch`. These are the names \
        of the Prometheus text format. In OpenMetrics, too, the samples of a counter end with \
        `_total`. A histogram has samples with `_bucket`, `_count` and `_sum`. Peaks are since the \
        start.\n\n\
         | metric | type | labels | meaning |\n|---|---|---|---|\n"
    );
    let lines: Vec<&str> = text.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let Some((name, help)) = line.strip_prefix("# HELP ").and_then(|rest| rest.split_once(' '))
        else {
            continue;
        };
        let kind = lines[at + 1].rsplit(' ').next().unwrap_or_default();
        let sample = lines.get(at + 2).copied().unwrap_or_default();
        let labels: Vec<String> = sample
            .match_indices("=\"")
            .map(|(end, _)| sample[..end].rsplit(['{', ',']).next().unwrap_or_default())
            .filter(|label| *label != "switch")
            .map(|label| format!("`{label}`"))
            .collect();
        let _ = writeln!(page, "| `{name}` | {kind} | {} | {} |", labels.join(", "), cell(help));
    }
    page
}

/// A doc comment as a table's cell: one line, links of Rust as code.
fn cell(doc: &str) -> String {
    let mut text = doc.replace('|', "\\|");
    while let Some(open) = text.find("[`") {
        let Some(close) = text[open..].find("`]").map(|at| open + at) else { break };
        let after = &text[close + 2..];
        let end = if after.starts_with('(') { after.find(')').map_or(0, |at| at + 1) } else { 0 };
        let inside = text[open + 2..close].rsplit("::").next().unwrap_or_default().to_owned();
        text.replace_range(open..close + 2 + end, &format!("`{inside}`"));
    }
    sentence(&text)
}

/// With a capital letter at its start.
fn sentence(text: &str) -> String {
    let mut characters = text.chars();
    characters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}
