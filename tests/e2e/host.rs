//! A Linux host: a namespace of its own with one interface, whose other end is a port of a switch.

use crate::namespace::Namespace;
use crate::process::{Ended, Running};
use nix::sys::signal::Signal;
use serde::de::DeserializeOwned;
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::Duration;
use switch::traffic::report::{RecvReport, SendReport};

/// Longer than any command here takes.
const PATIENCE: Duration = Duration::from_secs(150);

/// One host.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) namespace: Namespace,
    /// Its interface.
    pub(crate) dev: String,
    directory: PathBuf,
    knotless: PathBuf,
    /// Numbers the files of its processes.
    started: Cell<u32>,
}

/// `knotless traffic send` on its way.
#[derive(Debug)]
pub(crate) struct Sender(Running);

/// `knotless traffic recv`, listening.
#[derive(Debug)]
pub(crate) struct Receiver(Running);

impl Host {
    /// A host with nothing but a loopback interface; `dev` comes by [`Namespace::hand_over`].
    pub(crate) fn new(dev: &str, directory: &Path, knotless: &Path) -> Self {
        let namespace = Namespace::new();
        namespace.ip("link set lo up");
        Self {
            namespace,
            dev: dev.to_owned(),
            directory: directory.to_owned(),
            knotless: knotless.to_owned(),
            started: Cell::new(0),
        }
    }

    /// Brings the interface up with these addresses.
    ///
    /// No link-local address and no autoconfiguration: what a test does not send is not there to be
    /// counted.
    pub(crate) fn settle(&self, addresses: &[&str]) {
        let dev = &self.dev;
        // A tap holds this many frames before the switch has read them. At the rates of these tests
        // that is a tenth of a second, for which a busy machine may forget the switch.
        self.namespace.ip(&format!("link set {dev} txqueuelen 2000"));
        self.bring_up(addresses);
    }

    /// As [`Host::settle`], with the queue that the interface came with.
    pub(crate) fn bring_up(&self, addresses: &[&str]) {
        let dev = &self.dev;
        self.namespace.ip(&format!("link set {dev} addrgenmode none"));
        self.namespace.ip(&format!("link set {dev} up"));
        for address in addresses {
            let nodad = if address.contains(':') { " nodad" } else { "" };
            self.namespace.ip(&format!("addr add {address} dev {dev}{nodad}"));
        }
    }

    /// Everything else is behind `gateway`.
    pub(crate) fn route_by(&self, gateway: &str) {
        self.namespace.ip(&format!("route add default via {gateway}"));
    }

    /// Starts `program` here. Arguments are separated by blanks.
    pub(crate) fn start(&self, program: &str, arguments: &str) -> Running {
        let number = self.started.replace(self.started.get() + 1);
        let mut command = self.namespace.command(program);
        command.args(arguments.split_ascii_whitespace());
        let base = program.rsplit('/').next().unwrap_or(program);
        Running::start(command, &self.directory, &format!("{}-{base}-{number}", self.dev))
    }

    /// Runs `program` here to its end.
    pub(crate) fn run(&self, program: &str, arguments: &str) -> Ended {
        self.start(program, arguments).end(PATIENCE)
    }

    /// Starts `knotless traffic`.
    pub(crate) fn traffic(&self, command: &str, arguments: &str) -> Running {
        let knotless = self.knotless.to_str().expect("a path of ours");
        self.start(knotless, &format!("traffic {command} --json --dev {} {arguments}", self.dev))
    }

    /// Starts to send.
    pub(crate) fn send(&self, arguments: &str) -> Sender {
        Sender(self.traffic("send", arguments))
    }

    /// Sends PFC frames until it is ended, ahead of what else the machine does: a pauser that gets
    /// no core lets its pauses run out.
    pub(crate) fn pause(&self, arguments: &str) -> Running {
        let knotless = self.knotless.to_str().expect("a path of ours");
        let traffic = format!("{knotless} traffic pfc --json --dev {} {arguments}", self.dev);
        self.start("nice", &format!("-n -15 {traffic}"))
    }

    /// Starts to receive, and returns when it does. It ends when nothing has come for longer than a
    /// sender on a busy machine may go without a core.
    pub(crate) fn recv(&self, arguments: &str) -> Receiver {
        let mut receiver = self.traffic("recv", &format!("--idle 3s --duration 145s {arguments}"));
        receiver.wait_for("listening");
        Receiver(receiver)
    }

    /// Pings `address`, and all answers come. Returns what ping says.
    pub(crate) fn ping(&self, address: &str) -> String {
        let said = self.run("ping", &format!("{THREE_PINGS} {address}")).success();
        assert!(are_answered(&said), "{said}");
        said
    }
}

impl Sender {
    /// Ends it before its time.
    pub(crate) fn stop(self) -> SendReport {
        self.0.signal(Signal::SIGTERM);
        self.report()
    }

    pub(crate) fn report(self) -> SendReport {
        parse(self.0)
    }
}

impl Receiver {
    pub(crate) fn report(self) -> RecvReport {
        parse(self.0)
    }
}

pub(crate) fn parse<T: DeserializeOwned>(running: Running) -> T {
    let said = running.end(PATIENCE).success();
    serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"))
}

/// Arguments of three pings. With a deadline: without, and once an answer has come, ping waits for
/// the others no longer than an interval, which a busy machine may need for one.
pub(crate) const THREE_PINGS: &str = "-n -c 3 -i 0.1 -w 10";

/// Whether ping says that the three are answered. It goes on until it has three answers, so it may
/// have sent more.
pub(crate) fn are_answered(said: &str) -> bool {
    (1..=3).all(|number| said.contains(&format!("icmp_seq={number} ")))
}
