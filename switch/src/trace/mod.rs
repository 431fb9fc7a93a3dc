//! `knotless trace`: a frame, walked through the tables of a switch, stage by stage. Nobody gets
//! it.
//!
//! | file | idea |
//! |---|---|
//! | `request`, `reply` | what is asked, and what is answered |
//! | `build`, `frame_file` | the frame: from a description, from a capture |
//! | `walk` | the stages, and what a worker did |
//! | `stages` | what each stage reads and decides |
//! | `scratch`, `device` | a worker with these tables, and ports in memory |
//! | `state` | what a running switch adds |
//! | `network` | the expected paths through a network |
//! | `text` | the output |
//! | `fuzzed` | the fuzzer's entry |

mod build;
mod device;
mod frame_file;
mod fuzzed;
mod network;
pub(crate) mod reply;
pub(crate) mod request;
mod scratch;
mod stages;
mod state;
mod text;
pub(crate) mod walk;

pub use fuzzed::feed;

use crate::control::protocol::Request;
use crate::ctl::client::{Client, CtlError, find_socket};
use crate::network::InputError;
use crate::output;
use clap::Args;
use config::{ConfigError, SwitchConfig};
use dataplane::time::Instant;
use dataplane::wire::MacAddress;
use network::NetworkQuestion;
use reply::Trace;
use request::{Description, HEAD_BYTES_MAX, Station, TraceRequest, TracedFrame, hex, unhex};
use serde_json::json;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use walk::{TraceError, TracedTables, walk};

/// `knotless trace`
#[derive(Debug, Args)]
pub struct TraceArgs {
    /// The switch's control socket
    #[arg(long, value_name = "PATH", conflicts_with_all = ["name", "file", "network"])]
    socket: Option<PathBuf>,
    /// The switch's name: its socket is /run/knotless/NAME.sock
    #[arg(long, conflicts_with_all = ["file", "network"])]
    name: Option<String>,
    /// SWITCH.toml of a switch that does not run: its tables at start
    #[arg(long, value_name = "SWITCH.toml", conflicts_with = "network")]
    file: Option<PathBuf>,
    /// NETWORK.toml: the expected paths between two hosts, with --rules, --from and --to
    #[arg(long, value_name = "NETWORK.toml", requires_all = ["rules", "from", "to"])]
    network: Option<PathBuf>,
    /// Directory of the rules of all switches: DIR/SWITCH.json
    #[arg(long, value_name = "DIR", requires = "network")]
    rules: Option<PathBuf>,
    /// The host that sends
    #[arg(long, value_name = "HOST", requires = "network")]
    from: Option<String>,
    /// The host that receives
    #[arg(long, value_name = "HOST", requires = "network")]
    to: Option<String>,
    /// The tag that the frame starts with; otherwise the rules' initial tag
    #[arg(long, requires = "network")]
    tag: Option<u8>,
    /// A pcap or pcapng file with the frame
    #[arg(long, value_name = "FILE", conflicts_with_all = ["network", "dst"])]
    pcap: Option<PathBuf>,
    /// Which frame of the capture, from 1
    #[arg(long, value_name = "N", default_value_t = 1, requires = "pcap")]
    frame: usize,
    /// The ingress port, by name or number; otherwise the one whose network has the source
    #[arg(long)]
    port: Option<String>,
    /// Source address
    #[arg(long, value_name = "IP", requires = "dst")]
    src: Option<IpAddr>,
    /// Destination address
    #[arg(long, value_name = "IP", requires = "src")]
    dst: Option<IpAddr>,
    /// DSCP, 0 to 63
    #[arg(long, default_value_t = 0)]
    dscp: u8,
    /// udp, tcp, sctp, icmp, or the number of an IP protocol
    #[arg(long, default_value = "udp", value_parser = protocol)]
    proto: u8,
    /// Source port
    #[arg(long, value_name = "PORT", default_value_t = 49_152)]
    sport: u16,
    /// Destination port; 4791 is RoCEv2
    #[arg(long, value_name = "PORT", default_value_t = 4_791)]
    dport: u16,
    /// TTL or hop limit
    #[arg(long, default_value_t = 64)]
    ttl: u8,
    /// VLAN ID of a tagged frame
    #[arg(long)]
    vlan: Option<u16>,
    /// PCP of a tagged frame, 0 to 7
    #[arg(long, default_value_t = 0, requires = "vlan")]
    pcp: u8,
    /// Length in bytes, without FCS
    #[arg(long, value_name = "BYTES", default_value_t = 128)]
    size: usize,
    /// Source MAC address
    #[arg(long, value_name = "MAC")]
    src_mac: Option<String>,
    /// Destination MAC address; otherwise that of the ingress port
    #[arg(long, value_name = "MAC")]
    dst_mac: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Reads the protocol of the command line.
fn protocol(text: &str) -> Result<u8, String> {
    match text {
        "icmp" => Ok(1),
        "tcp" => Ok(6),
        "udp" => Ok(17),
        "sctp" => Ok(132),
        number => number.parse().map_err(|_| "use udp, tcp, sctp, icmp, or 0 to 255".to_owned()),
    }
}

/// Why there is no trace: one line.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Ctl(#[from] CtlError),
    #[error(transparent)]
    Trace(#[from] TraceError),
    #[error("{}: {error}", path.display())]
    Io { path: PathBuf, error: std::io::Error },
    #[error("{}: {error}", path.display())]
    Capture { path: PathBuf, error: frame_file::CaptureError },
    #[error("there is no frame; describe one with --src and --dst, or name a capture with --pcap")]
    NoFrame,
}

/// Traces. Exit 2: there is no such switch, or the input is wrong; 1: the connection broke.
pub fn run(arguments: &TraceArgs) -> ExitCode {
    let done = match &arguments.network {
        Some(file) => across(arguments, file),
        None => through(arguments).map(|trace| {
            if arguments.json {
                output::print(json!(trace));
            } else {
                output::print(text::text(&trace));
            }
        }),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::error(&error);
            ExitCode::from(if let Error::Ctl(error) = &error { error.exit_code() } else { 2 })
        }
    }
}

fn across(arguments: &TraceArgs, file: &Path) -> Result<(), Error> {
    let given = |value: &Option<String>| value.clone().unwrap_or_default();
    let found = network::trace(&NetworkQuestion {
        file,
        rules: arguments.rules.as_deref().unwrap_or_else(|| Path::new(".")),
        from: &given(&arguments.from),
        to: &given(&arguments.to),
        tag: arguments.tag,
    })?;
    if arguments.json {
        output::print(json!(found));
    } else {
        output::print(network::text(&found));
    }
    Ok(())
}

fn through(arguments: &TraceArgs) -> Result<Trace, Error> {
    let mut request = TraceRequest {
        port: arguments.port.clone(),
        frame: traced_frame(arguments)?,
        stations: Vec::new(),
    };
    if let Some(file) = &arguments.file {
        let config = SwitchConfig::load(file)?;
        let routes =
            config.routing_table().map_err(|error| Error::Input(InputError::at(file, error)))?;
        let snapshot = Arc::new(config.snapshot(1, routes.compile()));
        let tables = TracedTables { config: &config, snapshot, routes: &routes, down: Vec::new() };
        return Ok(walk(&tables, &request, Instant::ZERO)?);
    }
    let socket = find_socket(arguments.socket.as_deref(), arguments.name.as_deref())?;
    let mut client = Client::connect(&socket)?;
    let stats = client.ask(&Request::Stats)?;
    request.stations = stations(&mut client, &request.frame)?;
    let mut trace: Trace = client.ask(&Request::Trace(request))?;
    state::add(&mut trace, &stats);
    Ok(trace)
}

/// Where a running switch has learned the addresses of the frame.
fn stations(client: &mut Client, frame: &TracedFrame) -> Result<Vec<Station>, CtlError> {
    let macs: Vec<String> = match frame {
        TracedFrame::Captured { head, .. } => {
            let head = unhex(head).unwrap_or_default();
            let mac = |at: usize| head.get(at..at + 6)?.try_into().ok().map(MacAddress);
            [mac(0), mac(6)].into_iter().flatten().map(|mac| mac.to_string()).collect()
        }
        TracedFrame::Described(frame) => {
            let named = [&frame.destination_mac, &frame.source_mac].into_iter().flatten();
            named
                .filter_map(|mac| mac.parse::<MacAddress>().ok())
                .map(|mac| mac.to_string())
                .collect()
        }
    };
    if macs.is_empty() {
        return Ok(Vec::new());
    }
    let rows = client.mac_table()?.into_iter();
    let ours = rows.filter(|row| !row.is_static && macs.contains(&row.mac));
    Ok(ours.map(|row| Station { vlan: row.vlan, mac: row.mac, port: row.port }).collect())
}

fn traced_frame(arguments: &TraceArgs) -> Result<TracedFrame, Error> {
    if let Some(path) = &arguments.pcap {
        let bytes = std::fs::read(path).map_err(|error| Error::Io { path: path.clone(), error })?;
        let frame = frame_file::frame(&bytes, arguments.frame)
            .map_err(|error| Error::Capture { path: path.clone(), error })?;
        let head = &frame.head[..frame.head.len().min(HEAD_BYTES_MAX)];
        return Ok(TracedFrame::Captured { head: hex(head), frame_bytes: frame.frame_bytes });
    }
    let (source, destination) = arguments.src.zip(arguments.dst).ok_or(Error::NoFrame)?;
    Ok(TracedFrame::Described(Box::new(Description {
        source,
        destination,
        dscp: arguments.dscp,
        protocol: arguments.proto,
        source_port: arguments.sport,
        destination_port: arguments.dport,
        ttl: arguments.ttl,
        vlan: arguments.vlan,
        pcp: arguments.pcp,
        frame_bytes: arguments.size,
        source_mac: arguments.src_mac.clone(),
        destination_mac: arguments.dst_mac.clone(),
    })))
}
