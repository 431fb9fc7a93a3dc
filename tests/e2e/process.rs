//! A process that a test started: its output goes to files, and it is gone when this is dropped.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How often something that is waited for is looked at.
pub(crate) const LOOK: Duration = Duration::from_millis(5);

/// A running process.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    /// What it was started as, for messages.
    what: String,
    stdout: PathBuf,
    stderr: PathBuf,
}

/// A process that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Running {
    /// Starts `command`; its output goes to files `name.out` and `name.err` in `directory`.
    pub(crate) fn start(mut command: Command, directory: &Path, name: &str) -> Self {
        let (stdout, stderr) =
            (directory.join(format!("{name}.out")), directory.join(format!("{name}.err")));
        let file = |path: &Path| File::create(path).expect("the directory is ours");
        command.stdin(Stdio::null()).stdout(file(&stdout)).stderr(file(&stderr));
        let child = command.spawn().expect("setpriv is part of every Debian");
        Self { child, what: format!("{command:?}"), stdout, stderr }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).expect("process ids are small");
        kill(Pid::from_raw(id), signal).expect("nobody has waited for it yet");
    }

    /// What it has written to stderr so far.
    pub(crate) fn told(&self) -> String {
        fs::read_to_string(&self.stderr).expect("it is there from the start")
    }

    /// What it has written to stdout so far.
    pub(crate) fn said(&self) -> String {
        fs::read_to_string(&self.stdout).expect("it is there from the start")
    }

    /// Waits until it has written `text` to stderr.
    pub(crate) fn wait_for(&mut self, text: &str) {
        let asked = Instant::now();
        while !self.told().contains(text) {
            assert!(self.is_running(), "{} ended: {}", self.what, self.told());
            assert!(asked.elapsed() < Duration::from_secs(20), "{}: no {text}", self.what);
            std::thread::sleep(LOOK);
        }
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("it is our child").is_none()
    }

    /// Waits for its end, which must come within `patience`.
    pub(crate) fn end(mut self, patience: Duration) -> Ended {
        let asked = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("it is our child") {
                break status;
            }
            let told = || self.told();
            assert!(asked.elapsed() < patience, "{} goes on and on: {}", self.what, told());
            std::thread::sleep(LOOK);
        };
        let stdout = fs::read_to_string(&self.stdout).expect("it is there from the start");
        Ended { status, stdout, stderr: self.told() }
    }
}

impl Ended {
    /// What it wrote to stdout; it must have gone well.
    pub(crate) fn success(self) -> String {
        assert!(self.status.success(), "{}: {}{}", self.status, self.stdout, self.stderr);
        self.stdout
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ended = self.child.kill();
        let _ended = self.child.wait();
    }
}
