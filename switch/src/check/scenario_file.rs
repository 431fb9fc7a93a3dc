//! Summary of a SCENARIO.toml: network, traffic, faults.

use super::Summary;
use config::scenario::ScenarioConfig;
use serde_json::json;

/// The summary of `config`.
pub(super) fn summary(config: &ScenarioConfig) -> Summary {
    let network = &config.network;
    let expects: Vec<&str> = config.expectations.keys().map(|kind| kind.name()).collect();
    let text = format!(
        "scenario {}: {} switches, {} hosts, {} links, scheme {}, {} us\n{} flows and {} kinds of \
         traffic, {} faults; says what to expect of: {}",
        config.name,
        network.switches(),
        network.hosts(),
        network.links().len(),
        config.scheme.kind.name(),
        config.duration_ns / 1_000,
        config.flows.len(),
        config.traffic.len(),
        config.faults.len(),
        if expects.is_empty() { "nothing".to_owned() } else { expects.join(", ") },
    );
    let json = json!({
        "ok": true,
        "kind": "scenario",
        "name": config.name,
        "switches": network.switches(),
        "hosts": network.hosts(),
        "links": network.links().len(),
        "flows": config.flows.len(),
        "traffic": config.traffic.len(),
        "faults": config.faults.len(),
    });
    Summary { text, json, warnings: config.warnings.clone(), breaks_promise: false }
}
