//! `knotless top` on a terminal.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The machine may have other work.
const PATIENCE: Duration = Duration::from_secs(60);

/// Processes that have `socket` on their command line, and are `knotless` themselves.
fn watchers(socket: &Path) -> Vec<i32> {
    let socket = socket.to_string_lossy();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_watcher = |process: &i32| {
        let line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        let words: Vec<_> = line.split(|&octet| octet == 0).map(String::from_utf8_lossy).collect();
        words[0].ends_with("/knotless") && words.contains(&socket)
    };
    numbers.filter(is_watcher).collect()
}

/// Returns whether it became so.
fn wait_until(is_so: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    while !is_so() && start.elapsed() < PATIENCE {
        sleep(Duration::from_millis(20));
    }
    is_so()
}

/// It read from the closed terminal for ever, with all of a core.
#[test]
fn it_ends_when_its_terminal_hangs_up() {
    let folder = tempfile::tempdir().unwrap();
    let (socket, output) = (folder.path().join("s.sock"), folder.path().join("screen"));
    // A terminal of `script` has the size of the one around it, if there is one.
    let command = format!(
        "stty rows 40 columns 100; exec {} top --socket {}",
        env!("CARGO_BIN_EXE_knotless"),
        socket.display()
    );
    let mut terminal = Command::new("script")
        .args(["--quiet", "--flush", "--command", &command])
        .arg(&output)
        .env("TERM", "xterm")
        // Open as long as the test: its end would be Ctrl-D, a key that quits.
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let screen = || String::from_utf8_lossy(&fs::read(&output).unwrap_or_default()).into_owned();
    let was_drawn = wait_until(|| screen().contains("waiting for the switch"));
    let watcher = watchers(&socket);
    terminal.kill().unwrap();
    terminal.wait().unwrap();
    let has_ended = wait_until(|| watchers(&socket).is_empty());
    for left in watchers(&socket) {
        kill(Pid::from_raw(left), Signal::SIGKILL).unwrap();
    }
    assert!(was_drawn, "nothing was drawn: {:?}", screen());
    assert_eq!(watcher.len(), 1, "{watcher:?}");
    assert!(has_ended, "it did not end");
}
