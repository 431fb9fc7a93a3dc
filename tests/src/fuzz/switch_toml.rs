//! Any text as SWITCH.toml: an error says where and what in one line, and what is read can be
//! built: routes and rules compile, and a worker takes a turn.

use super::rules_json::check_error;
use config::SwitchConfig;
use dataplane::control_rings::connect;
use dataplane::driver::Polling;
use dataplane::rx_queues::rx_queues;
use dataplane::testing::TestDevice;
use dataplane::time::Instant;
use dataplane::worker::Worker;
use std::path::Path;
use std::sync::Arc;

/// Frames of a buffer that is built; larger ones differ in nothing but the time they take.
const FRAMES_MAX: usize = 20_000;
const MAC_ENTRIES_MAX: usize = 65_536;

/// Reads `data`.
pub fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    // Files that a fuzzer might name and that never end.
    if text.contains("/dev") || text.contains("/proc") || text.contains("\\u") {
        return;
    }
    let file = Path::new("no-such-directory/SWITCH.toml");
    match SwitchConfig::parse(file, &text) {
        Ok(config) => build(&config),
        Err(error) if error.file == file => check_error(&error, &text),
        Err(error) => panic!("the error is about {}: {error}", error.file.display()),
    }
}

fn build(config: &SwitchConfig) {
    let settings = &config.settings;
    assert_eq!(settings.ports.len(), config.ports.len());
    for warning in &config.warnings {
        assert_eq!(warning.to_string().lines().count(), 1, "{warning}");
    }
    let Ok(routes) = config.routing_table() else { return };
    let snapshot = config.snapshot(1, routes.compile());
    if settings.buffer.frames_max > FRAMES_MAX || settings.mac_table.entries_max > MAC_ENTRIES_MAX {
        return;
    }
    let queues = rx_queues(settings).len();
    let (links, _control) = connect(config.workers.count, queues);
    let snapshot = Arc::new(snapshot);
    for links in links {
        let device = TestDevice::new(queues);
        let mut worker =
            Worker::new(settings, Arc::clone(&snapshot), device, links, Polling::default());
        worker.turn(Instant::from_ns(1));
        assert_eq!(worker.totals().imbalance(), 0);
    }
}
