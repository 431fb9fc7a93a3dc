//! Twenty configurations of one switch with three ports: whatever decides what becomes of a frame
//! occurs in one of them.
//!
//! h1 and h2 send to h3, whose port is a tenth as fast. Host n is 10.0.0.n behind port n.

/// A configuration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Configuration {
    pub(super) name: &'static str,
    /// Tables of the switch's file beside those that all have.
    tables: &'static str,
    /// Lines of each port.
    port: &'static str,
    /// The entries of a rule file.
    rules: Option<&'static str>,
    pub(super) mode: Mode,
    /// The DSCPs that each host sends.
    pub(super) dscps: &'static [u8],
    /// Whether h2's lossy frames have the source address of h1.
    pub(super) spoofs: bool,
    /// More keys of each flow of `knotless traffic send`.
    pub(super) flow: &'static str,
    /// More arguments of `knotless traffic recv`.
    pub(super) recv: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Each port has a network.
    Routed,
    /// All ports are in one VLAN.
    Bridged,
}

const PLAIN: Configuration = Configuration {
    name: "plain",
    tables: "",
    port: "",
    rules: None,
    mode: Mode::Routed,
    dscps: &[26, 0],
    spoofs: false,
    flow: "",
    recv: "",
};

/// Lossless priorities with low thresholds, which cause many pauses.
const LOSSLESS: &str = "
[[lossless]]
priority = 3
static_th = \"60KB\"
xon = \"40KB\"
headroom = \"3200KB\"
[[lossless]]
priority = 4
static_th = \"60KB\"
xon = \"40KB\"
headroom = \"3200KB\"
";
/// Thresholds that follow what is left of the buffer.
const DYNAMIC: &str = "
[[lossless]]
priority = 3
dynamic_th = -3
headroom = \"3200KB\"
[[lossless]]
priority = 4
dynamic_th = -5
headroom = \"3200KB\"
";
/// High enough for stages below them.
const GFC: &str = "
[[lossless]]
priority = 3
static_th = \"700KB\"
xon = \"600KB\"
headroom = \"3200KB\"
[[lossless]]
priority = 4
static_th = \"700KB\"
xon = \"600KB\"
headroom = \"3200KB\"
[gfc]
";
const TAGS: &str = "
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
";

/// All of them.
pub(super) const ALL: [Configuration; 20] = [
    PLAIN,
    Configuration { name: "dynamic-thresholds", tables: DYNAMIC, dscps: &[26, 34, 0], ..PLAIN },
    Configuration { name: "two-priorities", dscps: &[26, 34, 0], ..PLAIN },
    Configuration {
        name: "strict",
        tables: "[scheduler]\nstrict = [4]",
        dscps: &[26, 34],
        ..PLAIN
    },
    Configuration {
        name: "weights",
        tables: "[scheduler]\nquantum = 1600\nweights = { 3 = 3, 0 = 1 }",
        ..PLAIN
    },
    Configuration {
        name: "fair",
        tables: "[scheduler]\nfair = true",
        dscps: &[26, 34, 0],
        ..PLAIN
    },
    Configuration {
        name: "ecn",
        tables: "[[ecn]]\npriority = 3\nkmin = \"5KB\"\nkmax = \"200KB\"\npmax = 0.4\n\
                 [[ecn]]\npriority = 0\nkmin = \"5KB\"\nkmax = \"100KB\"\npmax = 1.0",
        flow: ",ecn=1",
        ..PLAIN
    },
    Configuration { name: "lossy", dscps: &[0, 10], ..PLAIN },
    Configuration {
        name: "small-buffer",
        tables: "[buffer]\nsize = \"20MB\"\ncell = 208\nlossy = \"60KB\"\nlossy_queue = \"50KB\"",
        ..PLAIN
    },
    Configuration {
        name: "rules-raise",
        rules: Some(r#"{ "tag": 1, "in": [1, 2], "out": [3], "new_tag": 2 }"#),
        port: "trusted = true",
        ..PLAIN
    },
    Configuration {
        name: "rules-demote",
        rules: Some(
            r#"{ "tag": 1, "in": [1], "out": [3], "new_tag": 1 },
               { "tag": 2, "in": [2], "out": [3], "new_tag": 2 }"#,
        ),
        port: "trusted = true",
        dscps: &[26, 34],
        ..PLAIN
    },
    Configuration { name: "remarked", port: "default_tag = 2", dscps: &[26, 34, 0], ..PLAIN },
    Configuration { name: "ttl", tables: "[ttl]\nclasses = [1, 3, 4]", ..PLAIN },
    Configuration { name: "gfc", tables: GFC, ..PLAIN },
    Configuration {
        name: "paused",
        recv: " --pause-class 3 --pause-for 30ms --pause-every 100ms",
        ..PLAIN
    },
    Configuration {
        name: "watchdog-drop",
        tables: "[watchdog]\ndetection_time = \"100ms\"\nrestoration_time = \"100ms\"",
        recv: " --pause-class 3 --pause-for 300ms --pause-every 600ms",
        ..PLAIN
    },
    Configuration {
        name: "watchdog-forward",
        tables: "[watchdog]\ndetection_time = \"100ms\"\nrestoration_time = \"100ms\"\n\
                 action = \"forward\"",
        recv: " --pause-class 3 --pause-for 300ms --pause-every 600ms",
        ..PLAIN
    },
    Configuration { name: "bridged", mode: Mode::Bridged, ..PLAIN },
    Configuration {
        name: "static-mac",
        tables: "[[static_mac]]\nvlan = 1\nmac = \"02:00:00:00:00:02\"\nport = \"h3\"",
        mode: Mode::Bridged,
        dscps: &[26, 34, 0],
        ..PLAIN
    },
    Configuration { name: "source-check", port: "source_check = true", spoofs: true, ..PLAIN },
];

impl Configuration {
    /// The switch's file. Its ports are taps, which it holds to their speeds with `pace`; replayed,
    /// it needs none.
    pub(super) fn toml(&self, pace: bool) -> String {
        let has = |table: &str| self.tables.contains(table);
        let mut toml = format!("name = \"{}\"\n", self.name);
        if self.rules.is_some() {
            toml += "rules = \"rules.json\"\n";
        }
        if !has("[ttl]") {
            toml += TAGS;
        }
        if !has("[[lossless]]") {
            toml += LOSSLESS;
        }
        if !has("[buffer]") {
            toml += "[buffer]\nsize = \"32MB\"\ncell = 512\n";
        }
        toml += "[workers]\nidle = \"sleep\"\n[memory]\nhugepages = \"never\"\n";
        toml += &format!("{}\n", self.tables);
        for (number, speed) in (1..).zip(["1G", "1G", "100M"]) {
            toml += &self.port_table(number, speed, pace);
        }
        toml
    }

    fn port_table(&self, number: usize, speed: &str, pace: bool) -> String {
        let mac = port_mac(number);
        let head = format!(
            "\n[[port]]\nname = \"h{number}\"\ndevice = \"net_tap{number},iface=kp{number}\"\n\
             mac = \"{mac}\"\nspeed = \"{speed}\"\npace = {pace}\n{}\n",
            self.port
        );
        match self.mode {
            Mode::Bridged => format!("{head}vlan = 1\n"),
            Mode::Routed => format!(
                "{head}addresses = [\"10.1.{number}.1/24\"]\n\
                 [[neighbor]]\naddress = \"10.1.{number}.2\"\nport = \"h{number}\"\n\
                 mac = \"02:00:00:00:0{number}:00\"\n\
                 [[route]]\nto = \"10.0.0.{number}/32\"\nvia = [\"10.1.{number}.2\"]\n"
            ),
        }
    }

    /// The rule file.
    pub(super) fn rule_file(&self) -> Option<String> {
        self.rules.map(|entries| {
            format!(
                r#"{{ "switch": "{}", "ports": 3, "lossy_tag": 0, "initial_tag": 1,
                     "priorities": {{ "1": 3, "2": 4 }}, "entries": [ {entries} ] }}"#,
                self.name
            )
        })
    }
}

/// The MAC address of a port, as the emulator has it.
pub(super) fn port_mac(number: usize) -> String {
    format!("02:00:00:00:00:0{}", number - 1)
}
