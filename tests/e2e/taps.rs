//! One switch on taps that were made before it and stay without it, with `knotless traffic` at
//! them, which holds what it has to send while its link is down, as a NIC does.

use crate::can_run;
use crate::host::parse;
use crate::lab::{HEAD, knotless};
use crate::namespace::Namespace;
use crate::process::Running;
use crate::switch::Switch;
use nix::sys::signal::Signal;
use serde::de::DeserializeOwned;
use std::path::Path;
use switch::traffic::report::{FlowSent, RecvReport, SendReport};
use tempfile::TempDir;

/// Taps `kt1`, `kt2` and so on. Tap n is at port `hN` of the switch, 10.1.n.1; the station there is
/// 10.1.n.2.
#[derive(Debug)]
pub(crate) struct Taps {
    pub(crate) namespace: Namespace,
    /// For what stations say.
    directory: TempDir,
    count: u8,
}

/// Traffic from one station to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flow {
    pub(crate) from: u8,
    pub(crate) to: u8,
    /// 3 and 4 are lossless.
    pub(crate) priority: u8,
    pub(crate) rate: &'static str,
}

/// What all stations have sent and received.
pub(crate) type Reports = (Vec<SendReport>, Vec<RecvReport>);

impl Taps {
    /// Makes `count` taps; `None` where it cannot be.
    pub(crate) fn new(count: u8) -> Option<Self> {
        if !can_run() {
            return None;
        }
        let namespace = Namespace::new();
        namespace.ipv4_only();
        for number in 1..=count {
            namespace.ip(&format!("tuntap add dev kt{number} mode tap multi_queue"));
            namespace.ip(&format!("link set kt{number} address 02:00:00:00:01:0{number} up"));
        }
        let directory = tempfile::tempdir().expect("there is room");
        Some(Self { namespace, directory, count })
    }

    /// The switch's file, with `more` tables; its stations never have to be asked for.
    pub(crate) fn toml(&self, name: &str, more: &str) -> String {
        let port = |number| {
            format!(
                "\n[[port]]\nname = \"h{number}\"\ndevice = \"net_tap{number},iface=kt{number}\"\n\
                 speed = \"1G\"\nmac = \"02:00:00:00:00:0{number}\"\n\
                 addresses = [\"10.1.{number}.1/24\"]\n"
            )
        };
        let neighbor = |number| {
            format!(
                "\n[[neighbor]]\naddress = \"10.1.{number}.2\"\n\
                 mac = \"02:00:00:00:01:0{number}\"\nport = \"h{number}\"\n"
            )
        };
        let ports: String = (1..=self.count).map(port).collect();
        let neighbors: String = (1..=self.count).map(neighbor).collect();
        format!("name = \"{name}\"\n{HEAD}{more}{ports}{neighbors}")
    }

    /// The folder of what stations say, and of the switch, if it needs no other.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Starts the switch; returns when its links are up.
    pub(crate) fn start(&self, name: &str, toml: &str) -> Switch {
        let switch = Switch::start(knotless(), &self.namespace, self.directory(), name, toml);
        switch.await_links();
        switch
    }

    /// Has the station at tap `number` receive until it is [`ended`]; `more` are arguments.
    pub(crate) fn recv(&self, number: u8, more: &str) -> Running {
        let arguments = format!("--duration 1000s --any-mac{more}");
        let mut receiver = self.traffic("recv", number, &arguments);
        receiver.wait_for("listening");
        receiver
    }

    /// Has a station send `flows` until it is [`ended`].
    pub(crate) fn send(&self, flows: &[Flow]) -> Running {
        let from = flows[0].from;
        let flow = |flow: &Flow| {
            let Flow { from, to, priority, rate } = flow;
            let dscp = match priority {
                3 => 26,
                4 => 34,
                _ => 0,
            };
            format!(
                " --flow src-ip=10.1.{from}.2,dst-ip=10.1.{to}.2,dst-mac=02:00:00:00:00:0{from},\
                 priority={priority},size=1000,dscp={dscp},rate={rate}"
            )
        };
        let flows: String = flows.iter().map(flow).collect();
        self.traffic("send", from, &format!("--speed 1G{flows}"))
    }

    fn traffic(&self, what: &str, number: u8, arguments: &str) -> Running {
        let mut command = self.namespace.command(knotless().to_str().expect("a path of ours"));
        command.args(["traffic", what, "--json", "--hold", "30s", "--dev"]);
        command.arg(format!("kt{number}")).args(arguments.split(' '));
        Running::start(command, self.directory(), &format!("{what}{number}"))
    }
}

/// Asks for its end and returns its report.
pub(crate) fn ended<T: DeserializeOwned>(running: Running) -> T {
    running.signal(Signal::SIGTERM);
    parse(running)
}

/// Ends the senders; and the receivers, once no frame waits in the switch.
pub(crate) fn all_ended(
    switch: &mut Switch,
    senders: Vec<Running>,
    receivers: Vec<Running>,
) -> Reports {
    let sent = senders.into_iter().map(ended).collect();
    switch.settled();
    std::thread::sleep(std::time::Duration::from_millis(200));
    (sent, receivers.into_iter().map(ended).collect())
}

/// Frames of the flow of `priority` from station `from` to station `to`: how many were sent, and
/// how many of them did not come. None came twice.
pub(crate) fn sent_and_lost(reports: &Reports, from: u8, to: u8, priority: u8) -> (u64, u64) {
    let address = |number: u8| std::net::IpAddr::from([10, 1, number, 2]);
    let (source, destination) = (address(from), address(to));
    let is_it = |flow: &&FlowSent| {
        (flow.source, flow.destination, flow.priority) == (source, destination, priority)
    };
    let mut flows = reports.0.iter().flat_map(|report| &report.flows);
    let sent = flows.find(is_it).expect("it was sent");
    let receiver = &reports.1.iter().find(|report| report.interface == format!("kt{to}"));
    let receiver = receiver.expect("it listened");
    assert_eq!(receiver.dropped_by_own_socket, 0, "the receiver lost frames, not the switch");
    let mut came = receiver.flows.iter();
    let came = came.find(|flow| flow.source == source && flow.flow == sent.flow);
    let came = came.expect("some came");
    assert_eq!((came.duplicates, came.reordered, came.corrupt), (0, 0, 0), "{came:?}");
    (sent.frames, sent.frames - came.frames)
}
