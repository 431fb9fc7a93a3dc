//! Any text as SCENARIO.toml: an error says where and what in one line, and what is read keeps what
//! whoever runs it relies on.

use super::network_toml::{is_large, names_endless_file};
use super::rules_json::check_error;
use config::{FileKind, ScenarioConfig};
use std::path::Path;

/// Reads `data`.
pub fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let _ = FileKind::of(&text);
    if names_endless_file(&text) || is_large(&text) {
        return;
    }
    let file = Path::new("no-such-directory/SCENARIO.toml");
    match ScenarioConfig::parse(file, &text) {
        Ok(config) => check(&config),
        Err(error) if error.file == file => check_error(&error, &text),
        Err(error) => panic!("the error is about {}: {error}", error.file.display()),
    }
}

/// What whoever runs it relies on.
fn check(config: &ScenarioConfig) {
    assert!(config.duration_ns > 0);
    assert!(!config.flows.is_empty() || !config.traffic.is_empty());
    let hosts = u32::try_from(config.network.hosts()).unwrap_or(u32::MAX);
    for flow in &config.flows {
        assert!(flow.from != flow.to && flow.from.max(flow.to) < hosts, "{flow:?}");
        assert!(flow.pace.window_bytes.is_none_or(|w| w >= u64::from(flow.pace.frame_bytes)));
    }
    for fault in &config.faults {
        assert!(fault.until_ns.is_none_or(|until_ns| until_ns > fault.at_ns), "{fault:?}");
    }
    assert!(config.buffers.lossy_bytes <= config.buffers.size_bytes);
    assert!(config.buffers.cell_bytes > 0);
}
