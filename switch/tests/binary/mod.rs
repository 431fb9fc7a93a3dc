//! The real program, run as an operator would: a folder with files, a switch, `ctl`.

use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// How long anything may take. The machine may have other work.
const PATIENCE: Duration = Duration::from_secs(60);

/// A bridge of two ports, `left` and `right`. They are paced, so that a sender is held back.
pub(crate) fn bridge_toml([left, right]: [&str; 2]) -> String {
    let port = |name: &str, device: &str| {
        format!("[[port]]\nname = \"{name}\"\ndevice = \"{device}\"\nspeed = \"100M\"\nvlan = 1\n")
    };
    format!(
        "name = \"s1\"\n[control]\nsocket = \"s.sock\"\n[memory]\nhugepages = \"never\"\n\
         [workers]\nidle = \"sleep\"\n[[lossless]]\npriority = 3\n{}{}",
        port("left", left),
        port("right", right)
    )
}

/// A folder with a SWITCH.toml, and whatever else a test puts there.
pub(crate) struct Place {
    folder: tempfile::TempDir,
    program: PathBuf,
}

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_knotless");

impl Place {
    pub(crate) fn new(switch_toml: &str) -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap(), program: PROGRAM.into() };
        place.write("SWITCH.toml", switch_toml);
        place
    }

    /// The same where every user may read and write, with the program in it.
    pub(crate) fn for_everybody(switch_toml: &str) -> Self {
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        let program = folder.path().join("knotless");
        fs::copy(PROGRAM, &program).unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let place = Self { folder, program };
        place.write("SWITCH.toml", switch_toml);
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// `knotless` in this folder.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(words).current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    /// Runs `knotless` to its end.
    pub(crate) fn knotless(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    /// Runs `knotless` with bad input: it must say one line, which is returned, and exit with 2.
    pub(crate) fn refused(&self, words: &[&str]) -> String {
        refusal(&self.knotless(words))
    }

    /// Starts the switch; returns when it says that it runs.
    pub(crate) fn start(&self, words: &[&str]) -> Switch<'_> {
        let mut command = self.command(&["run", "SWITCH.toml"]);
        command.args(words).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut startup_output = String::new();
        if !words.contains(&"--json") {
            while !startup_output.contains(" runs: ") {
                if stdout.read_line(&mut startup_output).unwrap() == 0 {
                    let mut error = String::new();
                    child.stderr.take().unwrap().read_to_string(&mut error).unwrap();
                    panic!("it did not start: {startup_output}{error}");
                }
            }
        }
        let switch = Switch { place: self, child, stdout, startup_output };
        switch.wait_for("the socket", |switch| switch.place.path("s.sock").exists());
        switch
    }
}

/// The one line that a program said which was given bad input.
pub(crate) fn refusal(output: &Output) -> String {
    let error = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert_eq!(error.lines().count(), 1, "one line: {error}");
    error
}

/// A running switch.
pub(crate) struct Switch<'a> {
    place: &'a Place,
    child: Child,
    stdout: BufReader<ChildStdout>,
    /// What it said when it started.
    pub(crate) startup_output: String,
}

impl Switch<'_> {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// `knotless ctl` with these words.
    pub(crate) fn ctl(&self, words: &[&str]) -> Output {
        let words = [&["ctl", "--socket", "s.sock"], words].concat();
        self.place.knotless(&words)
    }

    /// The same; it must succeed, and what it printed is returned.
    pub(crate) fn ask(&self, words: &[&str]) -> String {
        let output = self.ctl(words);
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The same, as JSON.
    pub(crate) fn json(&self, words: &[&str]) -> Value {
        let text = self.ask(&[words, &["--json"]].concat());
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{words:?}: {error}: {text}"))
    }

    /// A number of `ctl stats`.
    pub(crate) fn number(&self, pointer: &str) -> u64 {
        let stats = self.json(&["stats"]);
        stats
            .pointer(pointer)
            .and_then(Value::as_u64)
            .unwrap_or_else(|| panic!("{pointer}: {stats}"))
    }

    /// Waits until `done`.
    pub(crate) fn wait_for(&self, what: &str, done: impl Fn(&Self) -> bool) {
        let until = Instant::now() + PATIENCE;
        while !done(self) {
            assert!(Instant::now() < until, "{what} does not come");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: nix::sys::signal::Signal) {
        let pid = nix::unistd::Pid::from_raw(i32::try_from(self.pid()).unwrap());
        nix::sys::signal::kill(pid, signal).unwrap();
    }

    /// Presses Ctrl-C and waits for the end, which must be a good one. Returns what was printed
    /// after the start, and what went to stderr.
    pub(crate) fn interrupt(self) -> (String, String) {
        self.signal(nix::sys::signal::Signal::SIGINT);
        self.ended_well()
    }

    /// Waits for the end, which must be a good one.
    pub(crate) fn ended_well(mut self) -> (String, String) {
        let (mut output, mut error) = (String::new(), String::new());
        self.stdout.read_to_string(&mut output).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut error).unwrap();
        let status = self.child.wait().unwrap();
        assert_eq!(status.code(), Some(0), "{output}{error}");
        assert!(!self.place.path("s.sock").exists(), "the socket is gone");
        assert!(!self.place.path("s.sock.lock").exists(), "the lock is gone");
        (output, error)
    }
}

impl Drop for Switch<'_> {
    /// A test that fails leaves no switch behind, and shows what that said.
    fn drop(&mut self) {
        let _ended_already = self.child.kill();
        let _ended_already = self.child.wait();
        if let Some(stderr) = self.child.stderr.take().filter(|_| std::thread::panicking()) {
            eprintln!("the switch said: {}", std::io::read_to_string(stderr).unwrap_or_default());
        }
    }
}
