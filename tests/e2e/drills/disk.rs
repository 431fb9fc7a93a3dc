//! A disk that is full.

use super::{end_without_loss, tell};
use crate::lab::knotless;
use crate::switch::Switch;
use crate::taps::{Flow, Taps};
use nix::sched::{CloneFlags, unshare};
use serde_json::json;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// The switch's folder, with its file, its changes and its log, is on a disk of its own. The disk
/// is there only for the thread of this test and what it starts, so it goes with them.
#[test]
fn on_a_full_disk_changes_are_refused_and_frames_go_on() {
    let Some(taps) = Taps::new(2) else { return };
    let folder = tempfile::tempdir().expect("there is room");
    let disk = folder.path().to_owned();
    let drill = std::thread::spawn(move || {
        unshare(CloneFlags::CLONE_NEWNS).expect("root may make mount namespaces");
        mount(&["--make-rprivate", "/"]);
        mount(&["-t", "tmpfs", "-o", "size=256k", "none", disk.to_str().expect("a path of ours")]);
        drill(&taps, &disk);
    });
    // Where the disk was there is an empty folder again, which goes now.
    let ended = drill.join();
    drop(folder);
    if let Err(failed) = ended {
        std::panic::resume_unwind(failed);
    }
}

fn drill(taps: &Taps, disk: &Path) {
    let changes = disk.join("full.sock.changes.json");
    let mut switch =
        Switch::start(knotless(), &taps.namespace, disk, "full", &taps.toml("full", ""));
    switch.await_links();
    let receivers = vec![taps.recv(2, "")];
    let senders = vec![taps.send(&[Flow { from: 1, to: 2, priority: 3, rate: "50M" }])];
    let is_past =
        |frames| move |stats: &switch::control::stats::Stats| stats.ports[1].tx_frames[3] > frames;
    let before = switch.stats_when("frames", is_past(1_000)).ports[1].tx_frames[3];
    fill(&disk.join("filler"));

    let route = json!({ "request": "add_route", "to": "10.9.0.0/16", "via": ["10.1.2.2"] });
    let routes = json!({ "request": "routes" });
    let old = switch.ask(&routes);
    let refusal = switch.client().refusal(&route);
    assert!(refusal.contains("the change cannot be kept in"), "{refusal}");
    assert!(refusal.contains("No space left on device"), "{refusal}");
    assert!(refusal.contains("nothing is changed"), "{refusal}");
    assert_eq!(switch.ask(&routes), old);
    assert!(!changes.exists() && !disk.join("full.sock.changes.json.writing").exists());

    // It has things to say, and no room for them.
    let log = switch.told();
    let mut client = switch.client();
    for number in 0..300 {
        let missing = format!("/none/{number:0>200}");
        client.refusal(&json!({ "request": "set_routes", "file": missing }));
    }
    let lost_log = !switch.told().contains(&format!("{:0>200}", 299));
    assert!(lost_log, "there was room for {} bytes", switch.told().len() - log.len());
    let during = switch.stats_when("frames", is_past(before + 1_000)).ports[1].tx_frames[3];

    fs::remove_file(disk.join("filler")).expect("it is there");
    switch.ask(&route);
    assert_ne!(switch.ask(&routes), old);
    assert!(fs::read_to_string(&changes).expect("it is kept").contains("10.9.0.0/16"));
    switch.stats_when("frames", is_past(during + 1_000));
    let sent = end_without_loss(switch, senders, receivers);
    tell(
        "disk full",
        "changes by `ctl` are refused, nothing is changed; forwards; works when there is room",
        &format!("0 of {sent}; log lines for which there was no room"),
        "`the change cannot be kept in FILE: No space left on device`, exit 2",
    );
}

fn mount(arguments: &[&str]) {
    let output = Command::new("mount").args(arguments).output().expect("it is installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Leaves no room.
fn fill(file: &Path) {
    let mut file = File::create(file).expect("there is room for an empty file");
    while file.write_all(&[0; 4_096]).is_ok() {}
    while file.write_all(&[0]).is_ok() {}
}
