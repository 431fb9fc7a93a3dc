//! Hugepages that are gone.

use super::{end_without_loss, tell};
use crate::lab::knotless;
use crate::process::Running;
use crate::switch::Switch;
use crate::taps::{Flow, Taps};
use std::time::Duration;

/// More than a machine has in hugepages where nobody has set any aside.
fn is_without_hugepages() -> bool {
    let file = "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages";
    std::fs::read_to_string(file).map_or(true, |pages| pages.trim() == "0")
}

#[test]
fn without_hugepages_it_starts_on_plain_memory_or_says_that_it_cannot() {
    if !is_without_hugepages() {
        eprintln!("skipped: this machine has free hugepages");
        return;
    }
    let Some(taps) = Taps::new(2) else { return };
    let memory = |what: &str| taps.toml("memory", "").replace("\"never\"", &format!("\"{what}\""));
    let file = taps.directory().join("always.toml");
    std::fs::write(&file, memory("always")).expect("the directory is ours");
    let refused: Running = Switch::launch(knotless(), &taps.namespace, taps.directory(), "always");
    let refused = refused.end(Duration::from_secs(20));
    assert_eq!(refused.status.code(), Some(2), "{}", refused.stderr);
    assert_eq!(refused.stderr.lines().count(), 1, "{}", refused.stderr);
    assert!(refused.stderr.contains("of hugepages are needed and 0 MB are free"), "{refused:?}");

    let mut switch = taps.start("memory", &memory("auto"));
    let receivers = vec![taps.recv(2, "")];
    let senders = vec![taps.send(&[Flow { from: 1, to: 2, priority: 3, rate: "50M" }])];
    switch.stats_when("frames", |stats| stats.ports[1].tx_frames[3] > 1_000);
    let sent = end_without_loss(switch, senders, receivers);
    let said = std::fs::read_to_string(taps.directory().join("memory.out")).expect("it is there");
    let line = "of plain memory, because only 0 MB of hugepages are free";
    assert!(said.contains(line), "{said}");
    tell(
        "hugepages gone",
        "`\"always\"`: no start; `\"auto\"`: forwards on plain memory",
        &format!("0 of {sent}"),
        "one line and exit 2; a line at the start",
    );
}
