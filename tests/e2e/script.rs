//! A script that puts up a lab of its own, such as `make demo`: it is run as `make` runs it, and
//! must leave nothing behind however it ends.

use crate::lab::knotless;
use crate::process::{LOOK, Running};
use nix::sys::signal::Signal;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tests::tree;

/// Longer than any script takes.
const PATIENCE: Duration = Duration::from_secs(150);

/// A script with a folder of its own for all it makes.
pub(crate) struct Script {
    running: Running,
    name: String,
    /// What it says.
    logs: TempDir,
    /// Its temporary files. All its processes know the name, from their environment.
    folder: TempDir,
}

impl Script {
    /// Starts `scripts/NAME`.
    pub(crate) fn start(name: &str, arguments: &[&str]) -> Self {
        let (logs, folder) = (tempfile::tempdir(), tempfile::tempdir());
        let (logs, folder) = (logs.expect("there is room"), folder.expect("there is room"));
        let mut command = Command::new("/usr/bin/python3");
        command.arg(tree::root().join("scripts").join(name)).args(arguments);
        command.env("KNOTLESS", knotless()).env("TMPDIR", folder.path());
        let running = Running::start(command, logs.path(), name);
        Self { running, name: name.to_owned(), logs, folder }
    }

    fn said(&self) -> String {
        let file = self.logs.path().join(format!("{}.out", self.name));
        fs::read_to_string(file).expect("it is there from the start")
    }

    /// Waits until it has said `text`.
    fn wait_for(&mut self, text: &str) {
        let asked = Instant::now();
        while !self.said().contains(text) {
            assert!(self.running.is_running(), "{}{}", self.said(), self.running.told());
            assert!(asked.elapsed() < PATIENCE, "no {text}: {}", self.said());
            std::thread::sleep(LOOK);
        }
    }

    /// Waits until it has said `moment`, and ends it with `signal`: with the status that a shell
    /// would give it.
    pub(crate) fn stop_at(mut self, moment: &str, signal: Signal) {
        self.wait_for(moment);
        assert!(!processes_with(self.folder.path()).is_empty());
        self.running.signal(signal);
        let name = self.name.clone();
        let said = self.end(128 + signal as i32);
        assert!(said.contains(&format!("{name}: stopped by {signal}")), "{said}");
    }

    /// Waits for its end with `status`, after which there is nothing of it. What it has said.
    pub(crate) fn end(self, status: i32) -> String {
        let Self { running, logs: _logs, folder, .. } = self;
        let ended = running.end(PATIENCE);
        let left = processes_with(folder.path());
        assert_eq!(ended.status.code(), Some(status), "{}{}", ended.stdout, ended.stderr);
        assert_eq!(left, Vec::<String>::new(), "processes are left");
        let files = fs::read_dir(folder.path()).expect("ours").count();
        assert_eq!(files, 0, "files are left");
        ended.stdout + &ended.stderr
    }
}

/// Command lines of the processes in whose environment `folder` stands.
fn processes_with(folder: &Path) -> Vec<String> {
    let name = folder.as_os_str().as_encoded_bytes();
    let processes = fs::read_dir("/proc").expect("a running system").flatten();
    let ours = processes.filter(|process| {
        // Most entries are no processes, and some processes have just ended.
        let environment = fs::read(process.path().join("environ")).unwrap_or_default();
        environment.windows(name.len()).any(|part| part == name)
    });
    let line = |path| fs::read_to_string(path).unwrap_or_default().replace('\0', " ");
    ours.map(|process| line(process.path().join("cmdline"))).collect()
}

/// Everything in `parts` was said.
#[track_caller]
pub(crate) fn assert_said(said: &str, parts: &[&str]) {
    for part in parts {
        assert!(said.contains(part), "{part}: {said}");
    }
}
