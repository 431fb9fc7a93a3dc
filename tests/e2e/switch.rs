//! A running `knotless run`, and its control socket.

use crate::namespace::Namespace;
use crate::process::{Ended, LOOK, Running};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use switch::control::stats::Stats;

/// How long a switch may take to start, and to stop.
const PATIENCE: Duration = Duration::from_secs(30);

/// One switch.
#[derive(Debug)]
pub(crate) struct Switch {
    running: Running,
    socket: PathBuf,
    client: Client,
}

impl Switch {
    /// Writes `toml` to `NAME.toml` in `directory`, runs it in `namespace`, and returns when it
    /// answers. Its socket is `NAME.sock` there.
    pub(crate) fn start(
        knotless: &Path,
        namespace: &Namespace,
        directory: &Path,
        name: &str,
        toml: &str,
    ) -> Self {
        let (file, socket) =
            (directory.join(format!("{name}.toml")), directory.join(format!("{name}.sock")));
        let control = format!("\n[control]\nsocket = \"{}\"\n", socket.display());
        fs::write(&file, format!("{toml}{control}")).expect("the directory is ours");
        let running = Self::launch(knotless, namespace, directory, name);
        Self::answering(running, name, socket)
    }

    /// Runs `file` as it is in `namespace`, and returns when it answers at `socket`. What it says
    /// is kept in `directory`; its last word is one JSON object, see [`Switch::last_stats`].
    pub(crate) fn start_file(
        knotless: &Path,
        namespace: &Namespace,
        directory: &Path,
        file: &Path,
        socket: &Path,
    ) -> Self {
        let mut command = namespace.command(knotless.to_str().expect("a path of ours"));
        command.args(["run", "--json"]).arg(file);
        let running = Running::start(command, directory, "switch");
        Self::answering(running, &file.display().to_string(), socket.to_owned())
    }

    fn answering(mut running: Running, name: &str, socket: PathBuf) -> Self {
        let asked = Instant::now();
        let client = loop {
            if let Some(client) = Client::connect(&socket) {
                break client;
            }
            assert!(running.is_running(), "{name} did not start: {}", running.told());
            assert!(asked.elapsed() < PATIENCE, "{name} does not answer: {}", running.told());
            std::thread::sleep(LOOK);
        };
        Self { running, socket, client }
    }

    /// Runs `NAME.toml` of `directory`, whatever comes of it.
    pub(crate) fn launch(
        knotless: &Path,
        namespace: &Namespace,
        directory: &Path,
        name: &str,
    ) -> Running {
        // Ahead of what else the machine does: a switch without a core tests the machine.
        let mut command = namespace.command("nice");
        command.args(["-n", "-15"]).arg(knotless).arg("run");
        command.arg(directory.join(format!("{name}.toml")));
        Running::start(command, directory, name)
    }

    /// Another connection to it.
    pub(crate) fn client(&self) -> Client {
        Client::connect(&self.socket).expect("it answers")
    }

    /// What it answers to `request`, which it must not refuse.
    pub(crate) fn ask(&mut self, request: &Value) -> Value {
        self.client.ask(request)
    }

    pub(crate) fn stats(&mut self) -> Stats {
        let answer = self.ask(&json!({ "request": "stats" }));
        serde_json::from_value(answer).expect("its own form")
    }

    /// The figures once `is_so`, which may take as long as a busy machine takes.
    pub(crate) fn stats_when(&mut self, what: &str, is_so: impl Fn(&Stats) -> bool) -> Stats {
        let asked = Instant::now();
        loop {
            let stats = self.stats();
            if is_so(&stats) {
                return stats;
            }
            assert!(asked.elapsed() < 2 * PATIENCE, "{what} does not come: {:?}", stats.ports);
            std::thread::sleep(LOOK);
        }
    }

    /// Waits until all links are up, and have been for longer than the switch takes to see that one
    /// was down: an interface that moves to another namespace is down for a moment.
    pub(crate) fn await_links(&self) {
        const UP_FOR: Duration = Duration::from_millis(600);
        let asked = Instant::now();
        let mut up_since = asked;
        let mut client = self.client();
        while up_since.elapsed() < UP_FOR {
            let answer = client.ask(&json!({ "request": "stats" }));
            let stats: Stats = serde_json::from_value(answer).expect("its own form");
            if !stats.ports.iter().all(|port| port.up) {
                up_since = Instant::now();
            }
            assert!(asked.elapsed() < PATIENCE, "links stay down: {}", self.told());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until the gateways of all routes have answered. A switch asks for them from its start,
    /// which is before the hosts are there, and does not ask for a while those that were silent.
    pub(crate) fn await_gateways(&self) {
        let asked = Instant::now();
        let mut client = self.client();
        let is_resolved = |route: &Value| {
            let gateways = route["via"].as_array().map_or(0, Vec::len);
            route["resolved"].as_u64() == Some(gateways as u64)
        };
        loop {
            let answer = client.ask(&json!({ "request": "routes" }));
            if answer["routes"].as_array().expect("a list").iter().all(is_resolved) {
                return;
            }
            assert!(asked.elapsed() < PATIENCE, "a gateway is silent: {answer}");
            std::thread::sleep(LOOK);
        }
    }

    /// The figures once no frame waits in it any more.
    pub(crate) fn settled(&mut self) -> Stats {
        let asked = Instant::now();
        loop {
            let stats = self.stats();
            if stats.totals.held == 0 {
                return stats;
            }
            assert!(asked.elapsed() < PATIENCE, "frames stay in the switch: {:?}", stats.totals);
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        self.running.signal(signal);
    }

    /// What it has said on stderr.
    pub(crate) fn told(&self) -> String {
        self.running.told()
    }

    /// Waits until it has said `text` on stderr.
    pub(crate) fn wait_for(&mut self, text: &str) {
        self.running.wait_for(text);
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.running.is_running()
    }

    /// Waits for its end.
    pub(crate) fn end(self) -> Ended {
        self.running.end(PATIENCE)
    }

    /// Asks for the end of one started by [`Switch::start_file`], which must be a good one, and
    /// returns its last figures.
    pub(crate) fn last_stats(self) -> Stats {
        self.signal(Signal::SIGTERM);
        let said = self.end().success();
        serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"))
    }

    /// Asks for its end, which must be a good one.
    pub(crate) fn stop(self) {
        self.signal(Signal::SIGTERM);
        let socket = self.socket.clone();
        // Fails with the exit status and all that it said.
        let said = self.end().success();
        assert!(said.contains("imbalance 0"), "{said}");
        assert!(said.contains("buffers are back"), "{said}");
        assert!(!socket.exists(), "it leaves its socket behind");
    }
}

/// A connection to a control socket.
#[derive(Debug)]
pub(crate) struct Client(BufReader<UnixStream>);

impl Client {
    fn connect(socket: &Path) -> Option<Self> {
        let stream = UnixStream::connect(socket).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).expect("a valid time");
        Some(Self(BufReader::new(stream)))
    }

    /// Whatever it answers to `request`.
    pub(crate) fn try_ask(&mut self, request: &Value) -> Value {
        let mut line = request.to_string();
        line.push('\n');
        self.0.get_mut().write_all(line.as_bytes()).expect("it listens");
        let mut answer = String::new();
        self.0.read_line(&mut answer).expect("it answers");
        serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error}: {answer}"))
    }

    /// What it answers to `request`, which it must not refuse.
    pub(crate) fn ask(&mut self, request: &Value) -> Value {
        let answer = self.try_ask(request);
        assert_eq!(answer["error"], Value::Null, "{request}");
        answer
    }

    /// Why it refuses `request`.
    pub(crate) fn refusal(&mut self, request: &Value) -> String {
        let answer = self.try_ask(request);
        answer["error"].as_str().unwrap_or_else(|| panic!("{request}: {answer}")).to_owned()
    }
}
