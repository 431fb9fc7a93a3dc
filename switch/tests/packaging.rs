//! What the package installs beside the program is right: the unit, and the first switch.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_knotless");
/// Where the package puts the program.
const INSTALLED: &str = "/usr/bin/knotless";

fn packaging(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging").join(name)
}

#[test]
fn systemd_has_no_complaint_about_the_unit() {
    let unit = fs::read_to_string(packaging("knotless@.service")).unwrap();
    assert_eq!(unit.matches(INSTALLED).count(), 2, "ExecStart and ExecReload");
    let folder = tempfile::tempdir().unwrap();
    // systemd looks for the program.
    let file = folder.path().join("knotless@.service");
    fs::write(&file, unit.replace(INSTALLED, PROGRAM)).unwrap();
    let instance = folder.path().join("knotless@demo.service");
    match Command::new("systemd-analyze").arg("verify").arg(&instance).output() {
        Ok(output) => {
            let complaints = String::from_utf8(output.stderr).unwrap();
            let ours = complaints.lines().filter(|line| line.contains("knotless"));
            assert_eq!(ours.collect::<Vec<_>>(), Vec::<&str>::new());
            assert!(output.status.success(), "{complaints}");
        }
        Err(_) => println!("systemd is not installed: the unit is not checked"),
    }
}

#[test]
fn the_first_switch_is_right_and_lossless() {
    let file = packaging("demo.toml");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("\nname = \"demo\"\n"), "knotless@demo wants this name");
    let output = Command::new(PROGRAM).args(["check", "--strict"]).arg(&file).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn the_container_gets_what_the_unit_gets() {
    let unit = fs::read_to_string(packaging("knotless@.service")).unwrap();
    let quadlet = fs::read_to_string(packaging("knotless@.container")).unwrap();
    let same = ["Restart=", "RestartSec=", "TimeoutStopSec=", "RuntimeDirectory=", "WantedBy="];
    for key in same {
        let line = unit.lines().find(|line| line.starts_with(key)).unwrap();
        assert!(quadlet.lines().any(|it| it == line), "{line} is not in the quadlet");
    }
    assert!(quadlet.contains("Exec=run /etc/knotless/%i.toml\n"));
    assert!(unit.contains("ExecStart=/usr/bin/knotless run /etc/knotless/%i.toml\n"));
}
