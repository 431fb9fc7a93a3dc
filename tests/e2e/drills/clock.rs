//! A wall clock that jumps. The machine's clock stays as it is: a library in front of the C library
//! moves what the switch alone reads.

use super::{end_without_loss, tell};
use crate::lab::knotless;
use crate::switch::Switch;
use crate::taps::{Flow, Taps};
use std::fs::{self, Permissions};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const LIBRARY: &str = include_str!("clock_jump.c");
const HOUR_S: i64 = 3_600;

#[test]
fn the_wall_clock_may_jump_and_only_the_time_in_the_stats_does() {
    let Some(taps) = Taps::new(2) else { return };
    let (program, jump) = with_own_clock(taps.directory());
    let toml = taps.toml("jumped", "\n[watchdog]\n");
    let mut switch = Switch::start(&program, &taps.namespace, taps.directory(), "jumped", &toml);
    switch.await_links();
    let receivers = vec![taps.recv(2, "")];
    let senders = vec![taps.send(&[Flow { from: 1, to: 2, priority: 3, rate: "50M" }])];
    let mut before = switch.stats_when("frames", |stats| stats.ports[1].tx_frames[3] > 1_000);
    let log = said_of_itself(&switch);
    for seconds in [HOUR_S, -HOUR_S, 0, i64::from(i32::MAX), 0] {
        let wall_before_ms = wall_ms(&before, &jump);
        jump.set(seconds);
        let frames = before.ports[1].tx_frames[3] + 1_000;
        let after = switch.stats_when("frames", |stats| stats.ports[1].tx_frames[3] > frames);
        let passed_ms = wall_ms(&after, &jump).abs_diff(wall_before_ms);
        assert!(passed_ms < 30_000, "it does not read the clock that jumps: {passed_ms} ms");
        let uptime = Duration::from_nanos(after.uptime_ns - before.uptime_ns);
        assert!(uptime < Duration::from_secs(30), "{uptime:?}");
        before = after;
    }
    assert_eq!(said_of_itself(&switch), log, "nothing to say");
    let sent = end_without_loss(switch, senders, receivers);
    tell(
        "wall clock jumps by an hour, back, and by 68 years",
        "forwards; only `time_unix_ms` in `ctl stats --json` jumps",
        &format!("0 of {sent}"),
        "nothing",
    );
}

/// What it has said, but for the gaps that a busy machine makes in its polling.
fn said_of_itself(switch: &Switch) -> String {
    let told = switch.told();
    let lines = told.lines().filter(|line| !line.contains("polling gap"));
    lines.map(|line| format!("{line}\n")).collect()
}

/// The wall clock's time in these figures, less the jump.
fn wall_ms(stats: &switch::control::stats::Stats, jump: &Jump) -> u64 {
    stats.time_unix_ms.wrapping_add_signed(-1_000 * jump.get())
}

/// The file that has by how much the clock is off.
struct Jump(fs::File);

impl Jump {
    fn set(&self, seconds: i64) {
        self.0.write_all_at(&seconds.to_ne_bytes(), 0).expect("the file is ours");
    }

    fn get(&self) -> i64 {
        let mut octets = [0; 8];
        self.0.read_exact_at(&mut octets, 0).expect("it was written");
        i64::from_ne_bytes(octets)
    }
}

/// A program that runs `knotless` with a wall clock of its own.
fn with_own_clock(directory: &Path) -> (PathBuf, Jump) {
    let (source, library) = (directory.join("clock_jump.c"), directory.join("clock_jump.so"));
    fs::write(&source, LIBRARY).expect("the directory is ours");
    let mut compile = Command::new("cc");
    compile.args(["-shared", "-fPIC", "-O1", "-o"]).args([&library, &source]);
    let compiled = compile.output().expect("DPDK's bindings need a C compiler, too");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let path = directory.join("clock-jump");
    let file = fs::File::options().read(true).write(true).create_new(true).open(&path);
    let jump = Jump(file.expect("the directory is ours"));
    jump.set(0);
    let program = directory.join("knotless-with-own-clock");
    let script = format!(
        "#!/bin/sh\nKNOTLESS_CLOCK_JUMP={} LD_PRELOAD={} exec {} \"$@\"\n",
        path.display(),
        library.display(),
        knotless().display()
    );
    fs::write(&program, script).expect("the directory is ours");
    fs::set_permissions(&program, Permissions::from_mode(0o755)).expect("the file is ours");
    (program, jump)
}
