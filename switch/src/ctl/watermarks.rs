//! Watermarks, as `show priority-group watermark` and its siblings have them.

use super::tables::{Rows, text};
use crate::control::watermarks::Watermarks;
use crate::ctl::tables::numbers;

/// The watermarks as text: those of queues, then those of pools.
pub(super) fn as_text(watermarks: &Watermarks) -> String {
    let queues = Rows(&watermarks.queues, 2).table([
        ("port", |row| row.port.clone()),
        ("priority", |row| row.priority.to_string()),
        ("group shared", |row| row.group_shared_bytes.to_string()),
        ("group headroom", |row| row.group_headroom_bytes.to_string()),
        ("queue", |row| row.queue_bytes.to_string()),
    ]);
    let mut pools = numbers(["pool", "bytes"], 1);
    let lossless = watermarks.ingress_lossless_pool;
    for (name, bytes) in [
        ("ingress_lossless_pool", lossless.bytes),
        ("its headroom", lossless.headroom_bytes),
        ("ingress_lossy_pool", watermarks.ingress_lossy_pool.bytes),
    ] {
        pools.add_row([name.to_owned(), bytes.to_string()]);
    }
    format!("{queues}\n\n{}", text(&pools))
}
