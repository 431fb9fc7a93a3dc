//! The switch under a service manager: what it tells systemd, and what of a worker that hangs.
#![cfg(feature = "dpdk")]

#[allow(dead_code, reason = "each test file uses a part of it")]
mod binary;

use binary::Place;
use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixDatagram;
use std::process::Stdio;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// How long anything may take. The machine may have other work.
const PATIENCE: Duration = Duration::from_secs(60);

const SWITCH: &str = r#"
name = "s1"
[control]
socket = "s.sock"
[memory]
hugepages = "never"
[workers]
idle = "sleep"
[[lossless]]
priority = 3
[[port]]
device = "net_ring0"
speed = "1G"
vlan = 1
[[port]]
device = "net_ring1"
speed = "1G"
vlan = 1
"#;

/// The service manager's end of the socket, and the switch that it started.
struct Service {
    place: Place,
    socket: UnixDatagram,
    child: std::process::Child,
    log: mpsc::Receiver<String>,
}

impl Service {
    /// Starts the switch, which must say that it is alive twice a second.
    fn start() -> Self {
        let place = Place::new(SWITCH);
        let socket = UnixDatagram::bind(place.path("notify")).unwrap();
        let mut command = place.command(&["run", "SWITCH.toml"]);
        command.env("NOTIFY_SOCKET", place.path("notify")).env("WATCHDOG_USEC", "1000000");
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let (lines, log) = mpsc::channel();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        std::thread::spawn(move || {
            stderr.lines().map_while(Result::ok).try_for_each(|line| lines.send(line))
        });
        Self { place, socket, child, log }
    }

    /// The next message, within `wait`.
    fn hear(&self, wait: Duration) -> Option<String> {
        self.socket.set_read_timeout(Some(wait)).unwrap();
        let mut octets = [0; 4_096];
        let count = self.socket.recv(&mut octets).ok()?;
        Some(String::from_utf8(octets[..count].to_vec()).unwrap().trim_end().to_owned())
    }

    /// The next message that is not about the watchdog.
    fn hear_news(&self) -> String {
        let until = Instant::now() + PATIENCE;
        loop {
            let message = self.hear(until - Instant::now()).expect("a message");
            if message != "WATCHDOG=1" {
                return message;
            }
        }
    }

    fn hear_that_it_is_alive(&self) {
        assert_eq!(self.hear(PATIENCE).as_deref(), Some("WATCHDOG=1"));
    }

    fn wait_for_log(&self, text: &str) -> String {
        let until = Instant::now() + PATIENCE;
        loop {
            let line = self.log.recv_timeout(until - Instant::now()).expect(text);
            if line.contains(text) {
                return line;
            }
        }
    }

    fn ctl(&self, words: &[&str]) -> std::process::Output {
        self.place.knotless(&[&["ctl", "--socket", "s.sock"], words].concat())
    }

    /// The thread of worker 0.
    fn worker(&self) -> Pid {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        let mut worker = None;
        for task in tasks.map(|task| task.unwrap().path()) {
            if fs::read_to_string(task.join("comm")).unwrap().trim() == "worker-0" {
                worker = task.file_name().unwrap().to_str().unwrap().parse().ok();
            }
        }
        Pid::from_raw(worker.expect("a worker's thread"))
    }

    /// Stops the switch as a service manager does.
    fn stop(mut self) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap());
        nix::sys::signal::kill(pid, Signal::SIGTERM).unwrap();
        assert_eq!(self.hear_news(), "STOPPING=1");
        assert!(self.child.wait().unwrap().success());
    }
}

#[test]
fn a_service_manager_hears_of_start_life_reload_and_end() {
    let service = Service::start();
    let ready = service.hear_news();
    assert_eq!(ready, "READY=1\nSTATUS=2 ports, 1 worker, control socket s.sock");
    assert!(service.ctl(&["ports"]).status.success(), "ready: the socket answers");
    (0..3).for_each(|_| service.hear_that_it_is_alive());

    assert!(service.ctl(&["reload"]).status.success());
    let reloading = service.hear_news();
    let (state, time) = reloading.split_once('\n').expect("two lines");
    assert_eq!(state, "RELOADING=1");
    let time: u64 = time.strip_prefix("MONOTONIC_USEC=").expect("a time").parse().unwrap();
    assert!(time > 0);
    assert_eq!(service.hear_news(), "READY=1");
    service.hear_that_it_is_alive();

    service.place.write("SWITCH.toml", "name =");
    assert!(!service.ctl(&["reload"]).status.success());
    assert!(service.hear_news().starts_with("RELOADING=1\n"));
    assert_eq!(service.hear_news(), "READY=1", "refused: the tables in use do not change");
    service.hear_that_it_is_alive();
    service.stop();
}

/// A debugger holds the worker's thread, and nothing else.
#[test]
fn a_worker_that_hangs_is_told_in_the_log_and_by_silence() {
    let service = Service::start();
    assert!(service.hear_news().starts_with("READY=1"));
    service.hear_that_it_is_alive();
    let worker = service.worker();
    ptrace::seize(worker, ptrace::Options::empty()).unwrap();
    ptrace::interrupt(worker).unwrap();
    waitpid(worker, Some(WaitPidFlag::__WALL)).unwrap();

    service.wait_for_log("worker 0 does not answer; its core is blocked");
    let stats = service.ctl(&["stats"]);
    assert!(!stats.status.success(), "{stats:?}");
    // The last messages may be of the time before it counted as hung.
    let until = Instant::now() + PATIENCE;
    while service.hear(Duration::from_secs(2)).is_some() {
        assert!(Instant::now() < until, "it says that it is alive");
    }

    ptrace::detach(worker, None).unwrap();
    service.wait_for_log("worker 0 answers again, after ");
    service.hear_that_it_is_alive();
    assert!(service.ctl(&["stats"]).status.success());
    service.stop();
}
