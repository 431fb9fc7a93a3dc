//! What goes over the control socket: one JSON object a line, each way.
//!
//! A request names itself in `request`; the reply to it is one of the structs here, as
//! [`Request`] says, or `{"error": "..."}`. A reply of one kind always has the same fields.
//!
//! ```text
//! > {"request":"link","port":"up1","up":false}
//! < {"port":"up1","up":false}
//! > {"request":"links"}
//! < {"error":"unknown word `links`; did you mean `link`?"}
//! ```

use super::difference::Difference;
use super::stats::Stats;
use super::watermarks::{WatermarkKind, Watermarks};
use crate::flight_recorder::Recording;
use crate::output;
use crate::trace::reply::Trace;
use crate::trace::request::TraceRequest;
use config::json::{self, JsonError};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The longest request, in bytes with its newline. A path is the longest thing in one.
pub(crate) const REQUEST_BYTES_MAX: usize = 16 << 10;

/// Rows of a table in one reply; more are requested with an `offset`.
pub(crate) const ROWS_MAX: usize = 5_000;

/// A request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Request {
    /// Everything that is counted: [`Stats`].
    Stats,
    /// The most that queues and pools have held: [`Watermarks`].
    Watermarks {
        /// Which of them.
        #[serde(default)]
        kind: WatermarkKind,
        /// Whether they then begin again.
        #[serde(default)]
        clear: bool,
    },
    /// ARP and ND: [`Neighbors`].
    Neighbors {
        /// Rows to leave out.
        #[serde(default)]
        offset: usize,
    },
    /// LLDP neighbors: [`LldpTable`].
    Lldp,
    /// Connected networks and static routes: [`Routes`].
    Routes {
        /// Rows to leave out.
        #[serde(default)]
        offset: usize,
    },
    /// Learned addresses: [`MacTable`].
    Mac {
        /// Rows to leave out.
        #[serde(default)]
        offset: usize,
    },
    /// The rules in use: [`Rules`].
    Rules,
    /// Reads the rules of this file instead of those in use: [`Reloaded`].
    SetRules {
        /// Absolute, for the switch has a working directory of its own.
        file: PathBuf,
    },
    /// Reads the routes of this file instead of those of the route file in use: [`Reloaded`].
    SetRoutes {
        /// Absolute.
        file: PathBuf,
    },
    /// Adds this route, or replaces the one to the same prefix: [`Reloaded`].
    AddRoute {
        /// Where to.
        to: String,
        /// Gateways.
        via: Vec<String>,
    },
    /// Removes the route to this prefix: [`Reloaded`].
    DelRoute {
        /// Where to.
        to: String,
    },
    /// Reads SWITCH.toml and the files it names again, and makes the changes again: [`Reloaded`].
    Reload,
    /// What was changed since, against the files as they are now: [`Difference`].
    Diff,
    /// Drops the changes, and reads SWITCH.toml and the files it names again: [`Reloaded`].
    Rollback,
    /// Takes a port out of service, or back into it: [`LinkSet`].
    Link {
        /// Its name or number.
        port: String,
        /// Whether frames are to pass.
        up: bool,
    },
    /// Walks a frame through the tables, and sends it to nobody: [`Trace`].
    Trace(TraceRequest),
    /// What the flight recorder has: [`Recording`].
    Recorder {
        /// Number of the last event that need not be told.
        #[serde(default)]
        after: u64,
    },
    /// Captures frames: [`Capturing`], and then, instead of further lines, chunks of records (see
    /// `capture_stream`) until the client closes its end.
    Capture(CaptureRequest),
    /// Stops the switch: [`Stopping`]; the reply is sent before the switch stops.
    Stop,
}

impl Request {
    /// Reads a request from a line.
    ///
    /// # Errors
    /// It is not a request; the error says why.
    pub(crate) fn read(line: &[u8]) -> Result<Self, JsonError> {
        json::read(&String::from_utf8_lossy(line))
    }

    /// Whether it changes the switch, or only asks.
    pub(crate) const fn is_change(&self) -> bool {
        match self {
            Self::Stats
            | Self::Neighbors { .. }
            | Self::Lldp
            | Self::Routes { .. }
            | Self::Mac { .. }
            | Self::Rules
            | Self::Trace(_)
            | Self::Recorder { .. }
            | Self::Diff => false,
            Self::Watermarks { clear, .. } => *clear,
            // It shows what others send.
            Self::Capture(_)
            | Self::SetRules { .. }
            | Self::SetRoutes { .. }
            | Self::AddRoute { .. }
            | Self::DelRoute { .. }
            | Self::Reload
            | Self::Rollback
            | Self::Link { .. }
            | Self::Stop => true,
        }
    }
}

/// A reply.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Reply {
    /// To [`Request::Stats`].
    Stats(Box<Stats>),
    /// To [`Request::Watermarks`].
    Watermarks(Watermarks),
    /// To [`Request::Neighbors`].
    Neighbors(Neighbors),
    /// To [`Request::Lldp`].
    Lldp(LldpTable),
    /// To [`Request::Routes`].
    Routes(Routes),
    /// To [`Request::Mac`].
    Mac(MacTable),
    /// To [`Request::Rules`].
    Rules(Rules),
    /// To [`Request::SetRules`], [`Request::SetRoutes`], [`Request::AddRoute`],
    /// [`Request::DelRoute`], [`Request::Reload`], [`Request::Rollback`].
    Reloaded(Reloaded),
    /// To [`Request::Diff`].
    Difference(Box<Difference>),
    /// To [`Request::Link`].
    LinkSet(LinkSet),
    /// To [`Request::Trace`].
    Trace(Box<Trace>),
    /// To [`Request::Recorder`].
    Recorder(Recording),
    /// To [`Request::Capture`].
    Capturing(Box<Capturing>),
    /// To [`Request::Stop`].
    Stopping(Stopping),
    /// To any request that was not fulfilled.
    Failed(Failed),
}

impl Reply {
    /// The request was not fulfilled because of `error`, in one line.
    pub(crate) fn failed(error: impl ToString) -> Self {
        Self::Failed(Failed { error: output::one_line(&error.to_string()) })
    }
}

/// Neighbors, in order of port and address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Neighbors {
    /// How many there are.
    pub total: usize,
    /// Up to [`ROWS_MAX`] of them.
    pub neighbors: Vec<NeighborRow>,
}

/// A neighbor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NeighborRow {
    /// Name of the port it is behind.
    pub port: String,
    /// Its IP address.
    pub address: String,
    /// Its MAC address, if known.
    pub mac: Option<String>,
    /// `incomplete`, `reachable`, `stale`, `failed` or `static`.
    pub state: String,
    /// Nanoseconds since the last frame from it.
    pub age_ns: u64,
}

/// Neighbors by LLDP, in order of port.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LldpTable {
    /// Whether LLDP is spoken.
    pub enabled: bool,
    /// Whether the switch learns its level, and writes its rules by it.
    pub learns: bool,
    /// The level: links between the switch and the hosts, if known.
    pub level: Option<u8>,
    /// Who is there.
    pub neighbors: Vec<LldpRow>,
}

/// An LLDP neighbor. A TLV that it does not send is null.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LldpRow {
    /// Name of our port.
    pub port: String,
    /// Where it leads: `uplink`, `downlink`, `crosslink` or `unknown`.
    pub orientation: String,
    /// What is not as it should be there, by name.
    pub conditions: Vec<String>,
    /// Its chassis id.
    pub chassis: String,
    /// Its port id.
    pub port_id: String,
    /// Its port description.
    pub port_description: Option<String>,
    /// Its name.
    pub system_name: Option<String>,
    /// Its system description.
    pub system_description: Option<String>,
    /// The address at which it is managed.
    pub management: Option<String>,
    /// Whether it bridges.
    pub bridge: Option<bool>,
    /// Whether it routes.
    pub router: Option<bool>,
    /// What it is: `end-station`, `bridge`, `router` or `unknown`.
    pub device: Option<String>,
    /// Its level.
    pub level: Option<u8>,
    /// The orientation that it announces for its port.
    pub its_orientation: Option<String>,
    /// The priorities that its PFC protects.
    pub pfc_priorities: Option<Vec<u8>>,
    /// The longest frame it takes, FCS included.
    pub max_frame_bytes: Option<u16>,
    /// TTL of its LLDPDU, in seconds.
    pub ttl_s: u16,
    /// Nanoseconds since its last LLDPDU.
    pub age_ns: u64,
    /// Nanoseconds since its first LLDPDU.
    pub since_ns: u64,
}

/// Routes, in order of prefix.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Routes {
    /// How many there are.
    pub total: usize,
    /// Up to [`ROWS_MAX`] of them.
    pub routes: Vec<RouteRow>,
}

/// A route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RouteRow {
    /// Where to.
    pub prefix: String,
    /// `connected`, `via`, `blackhole` or `unreachable`.
    pub kind: String,
    /// Where the route is from: `connected`, `static` for the files and `ctl route`, or the routing
    /// daemon's protocol: `bgp`, `ospf`.
    #[serde(default)]
    pub origin: String,
    /// Gateways, or the ports of a connected network, each with its port: `10.9.1.0%up1`.
    pub via: Vec<String>,
    /// How many of the gateways have a known MAC address.
    pub resolved: usize,
}

/// Addresses learned on bridged ports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MacTable {
    /// How many there are.
    pub total: usize,
    /// Up to [`ROWS_MAX`] of them.
    pub addresses: Vec<MacRow>,
}

/// A learned address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MacRow {
    /// The VLAN it is in.
    pub vlan: u16,
    /// The address.
    pub mac: String,
    /// Name of the port it is behind.
    pub port: String,
    /// Whether the operator has put it there; if not, it is learned.
    #[serde(default, rename = "static")]
    pub is_static: bool,
}

/// The rules in use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Rules {
    /// The file they came from, if there are any.
    pub file: Option<PathBuf>,
    /// SHA-256 of the rules as `knotless compile` writes them, if there are any.
    #[serde(default)]
    pub hash: Option<String>,
    /// The lossless tags, each with its priority.
    pub tags: Vec<TagRow>,
    /// The tag of frames that are lossy.
    pub lossy_tag: u8,
    /// The tag that a lossless frame of an untrusted port starts with.
    pub initial_tag: u8,
    /// The initial tag of each application class, where the rules have several.
    #[serde(default)]
    pub initial_tags: Vec<u8>,
    /// First match wins; no match is lossy. Empty without rules, when tags never change.
    pub entries: Vec<RuleRow>,
}

/// A lossless tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TagRow {
    /// 0 to 63.
    pub tag: u8,
    /// 0 to 7.
    pub priority: u8,
}

/// One rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RuleRow {
    /// Bits of the tag to be found.
    pub tag: u8,
    /// Mask of the tag bits; 63 is all.
    pub mask: u8,
    /// Ingress ports, by number.
    #[serde(rename = "in")]
    pub input: Vec<usize>,
    /// Egress ports, by number.
    #[serde(rename = "out")]
    pub output: Vec<usize>,
    /// The tag to go on with.
    pub new_tag: u8,
}

/// New tables are in use by all workers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Reloaded {
    /// The number of the tables.
    pub epoch: u64,
    /// What was read: files, as they were named.
    pub read: Vec<PathBuf>,
    /// Warnings about the configuration.
    pub warnings: Vec<String>,
}

/// The port has the requested administrative state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LinkSet {
    /// Its name.
    pub port: String,
    /// Whether it is in service.
    pub up: bool,
}

/// Which frames to capture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CaptureRequest {
    /// Names or numbers of ports; none is all ports.
    #[serde(default)]
    pub ports: Vec<String>,
    /// Events; none is all events.
    #[serde(default)]
    pub dirs: Vec<CaptureDir>,
    /// An ingress or egress priority.
    #[serde(default)]
    pub class: Option<u8>,
    /// Bytes of a frame, at most.
    pub snap: u16,
    /// One in so many of the frames that match is captured; 0 and 1 are each.
    #[serde(default)]
    pub sample: u32,
    /// Instructions of classic BPF, each code, jt, jf and k, as `tcpdump -ddd` prints them.
    #[serde(default)]
    pub filter: Option<Vec<(u16, u8, u8, u32)>>,
}

/// An event that a capture records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CaptureDir {
    /// A port received a frame
    In,
    /// A port sent a frame
    Out,
    /// A frame was dropped, under the name of its counter
    Drop,
    /// A frame went to the control thread
    Punt,
    /// A port received or sent a MAC control frame: PFC, PAUSE
    Pause,
}

/// A capture has begun.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Capturing {
    /// By port number, from 1.
    pub ports: Vec<CapturedPort>,
    /// The Unix time, in nanoseconds, at which the workers' clock was 0.
    pub unix_ns: u64,
    /// The names of drop causes, by the numbers in records.
    pub drops: Vec<String>,
    /// The names of reasons to punt, by the numbers in records.
    pub punts: Vec<String>,
    /// By DSCP: the tag that it encodes.
    pub dscp_tags: Vec<u8>,
}

/// A port of a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CapturedPort {
    /// Its name.
    pub name: String,
    /// Bits per second.
    pub speed_bps: u64,
}

/// The switch is stopping.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stopping {
    /// Process id, to wait for.
    pub stopping: u32,
}

/// The request was not fulfilled, and nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Failed {
    /// Why, in one line.
    pub error: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Request, String> {
        Request::read(text.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn requests_are_read_as_they_are_documented() {
        assert_eq!(read(r#"{"request":"stats"}"#), Ok(Request::Stats));
        assert_eq!(read(r#"{"request":"routes"}"#), Ok(Request::Routes { offset: 0 }));
        assert_eq!(read(r#"{"request":"mac","offset":7}"#), Ok(Request::Mac { offset: 7 }));
        assert_eq!(
            read(r#"{"request":"link","port":"up1","up":false}"#),
            Ok(Request::Link { port: "up1".into(), up: false })
        );
        assert_eq!(
            read(r#"{"request":"set_rules","file":"/a/b.json"}"#),
            Ok(Request::SetRules { file: "/a/b.json".into() })
        );
    }

    #[test]
    fn what_is_no_request_is_refused_with_a_reason() {
        for (text, reason) in [
            (r#"{"request":"links"}"#, "unknown word `links`; did you mean `link`?"),
            (r#"{"request":"link","port":"up1"}"#, "`up` is missing here; it has no default"),
            (r#"{"request":"link","port":"1","up":true,"now":1}"#, "unknown field `now`"),
            (
                r#"{"request":"mac","offset":-1}"#,
                "found the number -1, expected a whole number that is not negative",
            ),
            (r#"{"stats":1}"#, "`request` is missing here"),
            ("stats", "this is no JSON value"),
            ("7", "found the number 7, expected an object in braces"),
            ("", "the text ends where a value belongs"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }

    proptest! {
        /// Any input of a client: the reply is one printable line of bounded length, without terms
        /// of Rust.
        #[test]
        fn errors_of_requests_have_no_terms_of_rust(
            key in "request|port|up|offset|file|to|via|[a-z]{1,4}",
            value in r#"null|true|-1|1\.5|9{25}|\[\]|\{\}|"x"|"\x1b\[2J"|"\\u001b\\n"|x{3000}|"y{3000}"|tru"#,
            name in "stats|link|links|mac|set_rules|add_route|del_route|stop|internally",
            cut in any::<proptest::sample::Index>(),
            is_cut: bool,
        ) {
            let whole = format!("{{\"request\":\"{name}\",\"{key}\":{value}}}");
            let line = if is_cut { &whole[..cut.index(whole.len())] } else { &whole };
            if let Err(error) = Request::read(line.as_bytes()) {
                let Reply::Failed(Failed { error }) = Reply::failed(error) else { unreachable!() };
                prop_assert!(!error.contains(char::is_control) && error.len() < 800, "{error:?}");
                let words: Vec<&str> = error.split(|c: char| !c.is_alphanumeric()).collect();
                for word in ["struct", "enum", "variant", "tagged", "usize", "u64", "i128", "Request"] {
                    prop_assert!(!words.contains(&word), "{error}");
                }
            }
        }
    }

    #[test]
    fn every_request_survives_its_own_writing() {
        for request in [
            Request::Stats,
            Request::Neighbors { offset: 1 },
            Request::Routes { offset: 2 },
            Request::Mac { offset: 3 },
            Request::Rules,
            Request::Lldp,
            Request::SetRules { file: "/x y".into() },
            Request::SetRoutes { file: "/\u{e9}".into() },
            Request::AddRoute { to: "10.0.0.0/8".into(), via: vec!["10.1.1.1".into()] },
            Request::DelRoute { to: "10.0.0.0/8".into() },
            Request::Reload,
            Request::Capture(CaptureRequest {
                ports: vec!["up1".into()],
                dirs: vec![CaptureDir::Drop],
                class: Some(3),
                snap: 128,
                sample: 1_000,
                filter: Some(vec![(6, 0, 0, 1)]),
            }),
            Request::Link { port: "\"".into(), up: true },
            Request::Stop,
        ] {
            let text = serde_json::to_string(&request).unwrap();
            assert_eq!(read(&text), Ok(request), "{text}");
        }
    }

    #[test]
    fn a_failure_differs_from_every_other_reply() {
        let text = serde_json::to_string(&Reply::failed("no")).unwrap();
        assert_eq!(text, r#"{"error":"no"}"#);
        let set = Reply::LinkSet(LinkSet { port: "p".into(), up: true });
        let text = serde_json::to_string(&set).unwrap();
        assert!(serde_json::from_str::<Failed>(&text).is_err());
    }
}
