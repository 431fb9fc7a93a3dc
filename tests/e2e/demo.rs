//! `make demo`, shortened: it shows what it promises, and leaves nothing behind however it ends.

use crate::can_run;
use crate::lab::knotless;
use crate::process::{LOOK, Running};
use nix::sys::signal::Signal;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tests::tree;

/// The demo with a folder of its own for all it makes.
struct Demo {
    running: Running,
    /// What it says.
    logs: TempDir,
    /// Its temporary files. All its processes know the name, from their environment.
    folder: TempDir,
}

impl Demo {
    fn start(seconds: u32) -> Self {
        let (logs, folder) = (tempfile::tempdir(), tempfile::tempdir());
        let (logs, folder) = (logs.expect("there is room"), folder.expect("there is room"));
        let mut command = Command::new("/usr/bin/python3");
        command.arg(tree::root().join("scripts/demo")).args(["--seconds", &seconds.to_string()]);
        command.env("KNOTLESS", knotless()).env("TMPDIR", folder.path());
        let running = Running::start(command, logs.path(), "demo");
        Self { running, logs, folder }
    }

    fn said(&self) -> String {
        fs::read_to_string(self.logs.path().join("demo.out")).expect("it is there from the start")
    }

    /// Waits until it has said `text`.
    fn wait_for(&mut self, text: &str) {
        let asked = Instant::now();
        while !self.said().contains(text) {
            assert!(self.running.is_running(), "{}{}", self.said(), self.running.told());
            assert!(asked.elapsed() < Duration::from_secs(30), "no {text}: {}", self.said());
            std::thread::sleep(LOOK);
        }
    }

    /// Waits for its end with `status`, after which there is nothing of it.
    fn end(self, status: i32) -> String {
        let Self { running, logs: _logs, folder } = self;
        let ended = running.end(Duration::from_secs(60));
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

#[test]
fn the_demo_keeps_its_promises() {
    if !can_run() {
        return;
    }
    let said = Demo::start(2).end(0);
    for part in [
        "traceroute from h1 to h3: 10.1.1.1, then 10.1.3.2",
        "lossless drops 0",
        "Opcode: Class Based Flow Control [CBFC] Pause (0x0101)",
        "CBFC Class Enable Vector: 0x0008, C3",
        "lossy_tail",
        "yes  0 lossless drops",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains("NO "), "{said}");
}

#[test]
fn a_demo_that_is_stopped_leaves_nothing_behind() {
    if !can_run() {
        return;
    }
    for (moment, signal, status) in
        [("Hosts reach", Signal::SIGINT, 130), ("of overload", Signal::SIGTERM, 143)]
    {
        let mut demo = Demo::start(60);
        demo.wait_for(moment);
        assert!(!processes_with(demo.folder.path()).is_empty());
        demo.running.signal(signal);
        let said = demo.end(status);
        assert!(said.contains(&format!("demo: stopped by {signal}")), "{said}");
    }
}
