//! What the package installs beside the program is right: the unit, and the first switch.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_knotless");
/// Where the package puts the program.
const INSTALLED: &str = "/usr/bin/knotless";

fn packaging(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging").join(name)
}

/// What systemd says of this text of the unit, and whether it takes it.
fn verify(unit: &str) -> (String, bool) {
    let folder = tempfile::tempdir().unwrap();
    // systemd looks for the program.
    let file = folder.path().join("knotless@.service");
    fs::write(&file, unit.replace(INSTALLED, PROGRAM)).unwrap();
    let instance = folder.path().join("knotless@demo.service");
    let mut command = Command::new("systemd-analyze");
    let output = command.arg("verify").arg(&instance).output().unwrap();
    (String::from_utf8(output.stderr).unwrap(), output.status.success())
}

#[test]
fn systemd_has_no_complaint_about_the_unit_and_notices_a_wrong_one() {
    let unit = fs::read_to_string(packaging("knotless@.service")).unwrap();
    assert_eq!(unit.matches(INSTALLED).count(), 2, "ExecStart and ExecReload");
    if Command::new("systemd-analyze").arg("--version").stdout(Stdio::null()).status().is_err() {
        eprintln!("skipped: there is no systemd-analyze");
        return;
    }
    let (said, is_right) = verify(&unit);
    let ours: Vec<&str> = said.lines().filter(|line| line.contains("knotless")).collect();
    assert!(is_right && ours.is_empty(), "{said}");
    let (said, _) = verify(&unit.replace("Type=notify", "Type=notified"));
    assert!(said.contains("notified"), "a wrong unit is noticed: {said}");
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
