//! Runs the program on a case, in a directory of its own, until nothing moves any more.

use super::case::{Case, CaseError, Frames};
use super::counters::{self, Counters};
use super::file::{self, FileError};
use serde_json::Value;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A start of DPDK on a machine with other work.
const START_MAX: Duration = Duration::from_secs(30);
/// Three ARP requests, a second apart, are the longest that a case waits for.
const SETTLE_MAX: Duration = Duration::from_secs(20);
const STOP_MAX: Duration = Duration::from_secs(20);
/// Between two looks at the counters.
const LOOK: Duration = Duration::from_millis(10);
/// How long nothing may move before all is taken to be done.
const QUIET: Duration = Duration::from_millis(60);
/// The same while frames wait, for a pause or a pace: longer than any that is to end.
const QUIET_WITH_FRAMES_HELD: Duration = Duration::from_millis(200);
const REPLY_MAX: Duration = Duration::from_secs(5);

/// What a switch did.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// What left, by port.
    pub(super) leaving: Frames,
    /// What moved.
    pub(super) counters: Counters,
}

/// Why a case could not be run to its end.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The folder, not the switch, is wrong.
    #[error(transparent)]
    Case(#[from] CaseError),
    /// What the switch wrote is no pcap file.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file or the program could not be handled.
    #[error("{what}: {error}")]
    Io {
        /// What was tried.
        what: String,
        /// What the system says.
        error: io::Error,
    },
    /// It ended by itself.
    #[error("the switch ended with {status}; it said:\n{said}")]
    Ended {
        /// How.
        status: ExitStatus,
        /// Its standard error.
        said: String,
    },
    /// It ended with an error when it was told to stop.
    #[error("told to stop, the switch ended with {status}; it said:\n{said}")]
    BadEnd {
        /// How.
        status: ExitStatus,
        /// Its standard error.
        said: String,
    },
    /// It took too long.
    #[error("{what} took more than {} s; the switch said:\n{said}", limit.as_secs())]
    TooLong {
        /// What did.
        what: &'static str,
        /// The limit.
        limit: Duration,
        /// Its standard error.
        said: String,
    },
    /// A frame was counted as sent and has not left, or the other way round.
    #[error("port {port}: {counted} frames are counted as sent, and its file has {written}")]
    Miscounted {
        /// The port's number.
        port: usize,
        /// By its counters.
        counted: i64,
        /// In the file that it wrote.
        written: usize,
    },
    /// A frame has no end, or two.
    #[error("{came} frames came in or were made, and {ended} ended or are held")]
    Unbalanced {
        /// Received, made or copied.
        came: i64,
        /// Sent, dropped, handed to the control thread, taken in, or held.
        ended: i64,
    },
    /// The control socket answered nonsense.
    #[error("the control socket answered `{0}`")]
    Reply(String),
}

pub(super) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> RunError {
    let what = what.into();
    move |error| RunError::Io { what, error }
}

/// Runs `case` with `program`.
pub(super) fn run(case: &Case, program: &Path) -> Result<Seen, RunError> {
    let mut switch = Running::start(case, program)?;
    let mut control = switch.connect()?;
    let counters = switch.settle(&mut control, case.frames_in())?;
    control.ask("stop")?;
    switch.wait_for_end()?;
    let mut leaving = Frames::new();
    for &port in &case.ports {
        let frames = file::read(&switch.path(&format!("out-{port}.pcap")))?;
        let counted = counters::sent_frames(&counters, port);
        if i64::try_from(frames.len()) != Ok(counted) {
            return Err(RunError::Miscounted { port, counted, written: frames.len() });
        }
        leaving.insert(port, frames);
    }
    Ok(Seen { leaving, counters })
}

/// A switch in a directory of its own; both are gone when this is.
struct Running {
    child: Child,
    directory: TempDir,
}

impl Running {
    fn start(case: &Case, program: &Path) -> Result<Self, RunError> {
        let directory = TempDir::with_prefix("knotless-").map_err(io("a temporary directory"))?;
        for from in case.given() {
            let to = directory.path().join(from.file_name().unwrap_or_default());
            fs::copy(&from, &to).map_err(io(from.display().to_string()))?;
        }
        let log = |name: &str| File::create(directory.path().join(name)).map_err(io(name));
        let child = Command::new(program)
            .args(["run", "switch.toml"])
            .current_dir(directory.path())
            .stdin(Stdio::null())
            .stdout(log("stdout")?)
            .stderr(log("stderr")?)
            .spawn()
            .map_err(io(program.display().to_string()))?;
        Ok(Self { child, directory })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn said(&self) -> String {
        fs::read_to_string(self.path("stderr")).unwrap_or_default()
    }

    fn too_long(&self, what: &'static str, limit: Duration) -> RunError {
        RunError::TooLong { what, limit, said: self.said() }
    }

    /// Connects to the control socket as soon as it is there.
    fn connect(&mut self) -> Result<Control, RunError> {
        let begin = Instant::now();
        loop {
            if let Ok(stream) = UnixStream::connect(self.path("ctl.sock")) {
                return Control::new(stream);
            }
            if let Some(status) = self.child.try_wait().map_err(io("waiting for the switch"))? {
                return Err(RunError::Ended { status, said: self.said() });
            }
            if begin.elapsed() > START_MAX {
                return Err(self.too_long("the start", START_MAX));
            }
            thread::sleep(LOOK);
        }
    }

    /// Waits until every frame has come in, none waits for a neighbor, and nothing has moved for a
    /// while.
    fn settle(&self, control: &mut Control, frames_in: usize) -> Result<Counters, RunError> {
        let begin = Instant::now();
        let mut last = Counters::new();
        let mut since = begin;
        loop {
            let counters = counters::read(&control.ask("stats")?);
            let now = Instant::now();
            if counters != last {
                (last, since) = (counters, now);
            }
            let value = |name: &str| last.get(name).copied().unwrap_or_default();
            let all_in = value("totals received") == i64::try_from(frames_in).unwrap_or(i64::MAX);
            let all_found = value("agent pending_frames") == 0;
            let held = value("totals held") > 0;
            let quiet = if held { QUIET_WITH_FRAMES_HELD } else { QUIET };
            if all_in && all_found && now - since >= quiet {
                return Ok(last);
            }
            if begin.elapsed() > SETTLE_MAX {
                // What came to a stop short of the end is a finding; what never stops is not.
                return if now - since >= QUIET_WITH_FRAMES_HELD {
                    Ok(last)
                } else {
                    Err(self.too_long("settling", SETTLE_MAX))
                };
            }
            thread::sleep(LOOK);
        }
    }

    fn wait_for_end(&mut self) -> Result<(), RunError> {
        let begin = Instant::now();
        loop {
            match self.child.try_wait().map_err(io("waiting for the switch"))? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(RunError::BadEnd { status, said: self.said() }),
                None if begin.elapsed() > STOP_MAX => {
                    return Err(self.too_long("the end", STOP_MAX));
                }
                None => thread::sleep(LOOK),
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            let _gone_meanwhile = self.child.kill();
            let _gone_meanwhile = self.child.wait();
        }
    }
}

/// A connection to the control socket: a JSON object a line, each way.
struct Control {
    reader: BufReader<UnixStream>,
}

impl Control {
    fn new(stream: UnixStream) -> Result<Self, RunError> {
        stream.set_read_timeout(Some(REPLY_MAX)).map_err(io("the control socket"))?;
        Ok(Self { reader: BufReader::new(stream) })
    }

    fn ask(&mut self, request: &str) -> Result<Value, RunError> {
        let line = format!("{{\"request\":\"{request}\"}}\n");
        let mut reply = String::new();
        self.reader.get_mut().write_all(line.as_bytes()).map_err(io("the control socket"))?;
        self.reader.read_line(&mut reply).map_err(io("the control socket"))?;
        match serde_json::from_str::<Value>(&reply) {
            Ok(value) if value.get("error").is_none() => Ok(value),
            _ => Err(RunError::Reply(reply)),
        }
    }
}
