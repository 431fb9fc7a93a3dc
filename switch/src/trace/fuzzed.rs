//! Any bytes as a capture and as a request, for the fuzzer.

use super::frame_file;
use super::request::{HEAD_BYTES_MAX, TraceRequest, TracedFrame, hex};
use super::walk::{TracedTables, walk};
use crate::control::protocol::Request;
use config::SwitchConfig;
use dataplane::time::Instant;
use std::path::Path;
use std::sync::{Arc, LazyLock};

const SWITCH: &str = r#"
name = "A"
[[lossless]]
priority = 3
static_th = "64KB"
[[port]]
name = "a"
device = "net_null0"
mac = "02:00:00:00:00:01"
addresses = ["10.0.1.254/24", "fd00:1::fe/64"]
[[port]]
name = "b"
device = "net_null1"
mac = "02:00:00:00:00:02"
addresses = ["10.0.2.254/24"]
[[port]]
name = "c"
device = "net_null2"
vlan = 1
[[neighbor]]
address = "10.0.2.1"
mac = "02:00:00:00:01:02"
port = "b"
"#;

static CONFIG: LazyLock<SwitchConfig> = LazyLock::new(|| {
    SwitchConfig::parse(Path::new("A.toml"), SWITCH).unwrap_or_else(|error| panic!("{error}"))
});

/// Reads `bytes` as a capture and as a line of the control socket, and walks what comes of it
/// through the tables of a small switch. Returns for each frame that was walked how many ends it
/// had: copies that left, drops, and punts; or none if it was refused.
pub fn feed(bytes: &[u8]) -> Vec<Option<usize>> {
    let captured = (1..=4).map_while(|number| frame_file::frame(bytes, number).ok());
    let mut requests: Vec<TraceRequest> = captured
        .map(|frame| {
            let head = hex(&frame.head[..frame.head.len().min(HEAD_BYTES_MAX)]);
            let frame = TracedFrame::Captured { head, frame_bytes: frame.frame_bytes };
            TraceRequest { port: Some("a".to_owned()), frame, stations: Vec::new() }
        })
        .collect();
    if let Ok(Request::Trace(request)) = Request::read(bytes) {
        requests.push(request);
    }
    let walks = requests.iter().map(|request| {
        let routes = CONFIG.routing_table().ok()?;
        let snapshot = Arc::new(CONFIG.snapshot(1, routes.compile()));
        let tables = TracedTables { config: &CONFIG, snapshot, routes: &routes, down: Vec::new() };
        let end = walk(&tables, request, Instant::ZERO).ok()?.end;
        let ends = end.sent.len() + end.dropped.len() + end.punted.len();
        let is_other = matches!(end.verdict.as_str(), "consumed" | "waits");
        Some(ends + usize::from(is_other))
    });
    walks.collect()
}
