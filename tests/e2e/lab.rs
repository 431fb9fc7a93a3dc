//! Three hosts around one switch: h1 and h2 on fast ports, h3 behind a slow one.

use crate::can_run;
use crate::host::Host;
use crate::namespace::Namespace;
use crate::switch::Switch;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use tempfile::TempDir;

/// The lab. Where the switch routes, host n is 10.1.n.2 and fd00:1:n::2, the switch .1 and ::1 in
/// the same networks.
#[derive(Debug)]
pub(crate) struct Lab {
    /// Goes first: its ports are the hosts' interfaces.
    pub(crate) switch: Switch,
    pub(crate) hosts: Vec<Host>,
    pub(crate) namespace: Namespace,
    pub(crate) directory: TempDir,
}

/// The switch's file, still open to changes.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    head: String,
    ports: Vec<String>,
    files: Vec<(String, String)>,
}

/// The program under test.
pub(crate) fn knotless() -> &'static Path {
    static KNOTLESS: OnceLock<PathBuf> = OnceLock::new();
    KNOTLESS.get_or_init(|| tests::program::build().unwrap_or_else(|error| panic!("{error}")))
}

/// What most switches here have in common.
///
/// Headroom holds all that a host's tap can hold (2,000 frames, see [`Host::settle`]) and then
/// some, so that no delay of this machine, however long, can break the promise that is tested.
pub(crate) const HEAD: &str = r#"
[[tag]]
tag = 1
dscp = 26
pcp = 3
priority = 3

[[tag]]
tag = 2
dscp = 34
pcp = 4
priority = 4

[[lossless]]
priority = 3
static_th = "200KB"
xon = "150KB"
headroom = "3200KB"

[[lossless]]
priority = 4
static_th = "200KB"
xon = "150KB"
headroom = "3200KB"

[buffer]
size = "32MB"
# Room for every short frame: mbufs of a small buffer would otherwise be many.
cell = 512

[workers]
idle = "sleep"

[memory]
hugepages = "never"
"#;

impl Setup {
    /// Three routed ports, priorities 3 and 4 lossless, no rules.
    pub(crate) fn new() -> Self {
        Self::with_ports(|number| {
            format!("addresses = [\"10.1.{number}.1/24\", \"fd00:1:{number}::1/64\"]")
        })
    }

    /// As [`Setup::new`], but each port forwards as `mode` says.
    pub(crate) fn with_ports(mode: impl Fn(usize) -> String) -> Self {
        let port = |(number, speed): (usize, &str)| {
            let mode = mode(number);
            format!(
                "\n[[port]]\nname = \"h{number}\"\ndevice = \"net_tap{number},iface=kt{number}\"\n\
                 speed = \"{speed}\"\n{mode}\n"
            )
        };
        Self {
            head: format!("name = \"lab\"\n{HEAD}"),
            ports: (1..).zip(["1G", "1G", "100M"]).map(port).collect(),
            files: Vec::new(),
        }
    }

    /// As [`Setup::new`], but classes go by hops: hosts are class 0, priority 1, and their frames
    /// of DSCP 26 are class 1 here, priority 3.
    pub(crate) fn by_hops() -> Self {
        let mut setup = Self::new();
        let second_tag = setup.head.find("[[tag]]\ntag = 2").expect("the head has two tags");
        let lossless = setup.head.find("[[lossless]]").expect("the head has lossless priorities");
        setup.head.replace_range(second_tag..lossless, "[ttl]\nclasses = [1, 3, 4]\n\n");
        setup
    }

    /// As [`Setup::new`], but upstream is slowed down before it must stop.
    pub(crate) fn gfc() -> Self {
        let mut setup = Self::new();
        let thresholds =
            ("static_th = \"200KB\"\nxon = \"150KB\"", "static_th = \"700KB\"\nxon = \"600KB\"");
        setup.head = setup.head.replace(thresholds.0, thresholds.1) + "\n[gfc]\n";
        setup
    }

    /// As [`Setup::new`], but the switch learns its level and writes its own rules.
    pub(crate) fn fabric() -> Self {
        let mut setup = Self::new();
        // One more tag than bounces, in the priorities that are lossless here.
        setup.head += "\n[fabric]\nbounces = 1\n";
        setup
    }

    /// Gives the switch `count` workers.
    pub(crate) fn workers(mut self, count: usize) -> Self {
        self.head = self.head.replace("[workers]\n", &format!("[workers]\ncount = {count}\n"));
        self
    }

    /// Adds tables to the switch's file.
    pub(crate) fn head(mut self, text: &str) -> Self {
        self.head += &format!("\n{text}");
        self
    }

    /// Adds a line to the table of port `number`.
    pub(crate) fn port(mut self, number: usize, line: &str) -> Self {
        self.ports[number - 1] += &format!("{line}\n");
        self
    }

    /// A file beside the switch's own, named in it by `key`: rules or routes.
    pub(crate) fn file(mut self, key: &str, name: &str, text: &str) -> Self {
        self.head.insert_str(0, &format!("{key} = \"{name}\"\n"));
        self.files.push((name.to_owned(), text.to_owned()));
        self
    }

    pub(crate) fn toml(&self) -> String {
        format!("{}{}", self.head, self.ports.concat())
    }

    /// The lab with hosts that know the switch as their router; `None` where it cannot be.
    pub(crate) fn start(self) -> Option<Lab> {
        let lab = self.start_switch()?;
        lab.connect();
        Some(lab)
    }

    /// The lab with hosts whose interfaces are still the switch's; `None` where it cannot be.
    pub(crate) fn start_switch(self) -> Option<Lab> {
        if !can_run() {
            return None;
        }
        let directory = tempfile::tempdir().expect("there is room");
        for (name, text) in &self.files {
            fs::write(directory.path().join(name), text).expect("the directory is ours");
        }
        let namespace = Namespace::new();
        // The ports' interfaces are up before they move to the hosts.
        namespace.ipv4_only();
        let host = |number| Host::new(&format!("kt{number}"), directory.path(), knotless());
        let hosts = (1..=3).map(host).collect();
        let switch = Switch::start(knotless(), &namespace, directory.path(), "lab", &self.toml());
        Some(Lab { switch, hosts, namespace, directory })
    }
}

impl Lab {
    /// Gives each host the kernel's end of its port, and makes the switch its router.
    pub(crate) fn connect(&self) {
        for (number, host) in (1..).zip(&self.hosts) {
            self.namespace.hand_over(&host.dev, &host.namespace);
            host.settle(&[&format!("10.1.{number}.2/24"), &format!("fd00:1:{number}::2/64")]);
            host.route_by(&format!("10.1.{number}.1"));
            host.route_by(&format!("fd00:1:{number}::1"));
        }
        self.switch.await_links();
    }

    /// Host `number`, from 1.
    pub(crate) fn host(&self, number: usize) -> &Host {
        &self.hosts[number - 1]
    }

    /// A path beside the switch's file.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes a file beside the switch's own.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).expect("the directory is ours");
        path
    }

    /// Ends the switch as an operator does; its books must be right.
    pub(crate) fn stop(self) {
        self.switch.stop();
    }
}
