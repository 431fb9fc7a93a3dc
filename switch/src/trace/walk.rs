//! The walk of one frame: the stages, explained, and what a worker with these tables does.

use super::build::{DescriptionError, build};
use super::reply::{Dropped, End, Sent, Stage, Trace};
use super::request::{Description, HEAD_BYTES_MAX, Station, TraceRequest, TracedFrame, hex, unhex};
use super::scratch::{Ends, Scratch};
use super::stages::Walk;
use crate::ports::find_port;
use config::SwitchConfig;
use dataplane::fib::Routes;
use dataplane::ids::PortId;
use dataplane::limits::FRAME_BYTES_MAX;
use dataplane::punt::PuntReason;
use dataplane::snapshot::{PortMode, Snapshot};
use dataplane::time::Instant;
use dataplane::wire::MacAddress;
use dataplane::wire::ethernet;
use dataplane::wire::parse::{addresses, parse};
use std::net::IpAddr;
use std::sync::Arc;

/// Source MAC address of described frames: locally administered, and no port's.
const SOURCE_MAC: MacAddress = MacAddress([0x02, 0, 0, 0, 0xFE, 0xED]);
/// Destination of the frames by which the scratch worker learns where stations are.
const NOBODY: MacAddress = MacAddress([0x02, 0, 0, 0, 0xFE, 0xEE]);

/// The tables of a switch.
#[derive(Debug)]
pub(crate) struct TracedTables<'a> {
    /// The configuration, with the rules in use.
    pub(crate) config: &'a SwitchConfig,
    /// What the workers use.
    pub(crate) snapshot: Arc<Snapshot>,
    /// The routes that it was compiled from.
    pub(crate) routes: &'a Routes,
    /// Ports that are down.
    pub(crate) down: Vec<PortId>,
}

/// Why a frame cannot be traced: one line.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TraceError {
    /// The port is not there.
    #[error("there is no port `{0}`; name a port of the switch, or a number, 1 to {1}")]
    NoPort(String, usize),
    /// No port follows from the frame.
    #[error("no routed port has a network with the source address; name the ingress port: --port")]
    NoIngress,
    /// The description is that of no frame.
    #[error(transparent)]
    Description(#[from] DescriptionError),
    /// A MAC address.
    #[error("`{0}` is no MAC address; write it as 02:00:00:00:00:01")]
    Mac(String),
    /// Hexadecimal digits.
    #[error("`head` is no frame: up to 256 bytes in hexadecimal digits")]
    Head,
    /// The length.
    #[error("the frame has {0} bytes; no port takes more than {FRAME_BYTES_MAX}")]
    TooLong(usize),
}

/// Walks the frame of `request` through `tables`, and gives it to a worker at `now`.
///
/// # Errors
/// The request has no frame, or no port of this switch.
pub(crate) fn walk(
    tables: &TracedTables<'_>,
    request: &TraceRequest,
    now: Instant,
) -> Result<Trace, TraceError> {
    let TracedTables { config, snapshot, routes, down } = tables;
    let (port, head, frame_bytes) = match &request.frame {
        TracedFrame::Captured { head, frame_bytes } => {
            let head =
                unhex(head).filter(|it| it.len() <= HEAD_BYTES_MAX).ok_or(TraceError::Head)?;
            if *frame_bytes > FRAME_BYTES_MAX {
                return Err(TraceError::TooLong(*frame_bytes));
            }
            let port = ingress(config, request.port.as_deref(), source_of(&head, *frame_bytes))?;
            (port, head, *frame_bytes)
        }
        TracedFrame::Described(description) => {
            let port = ingress(config, request.port.as_deref(), Some(description.source))?;
            let mut bytes = described(description, snapshot.ports[port.index()].mac)?;
            let frame_bytes = bytes.len();
            bytes.truncate(HEAD_BYTES_MAX);
            (port, bytes, frame_bytes)
        }
    };
    let mut scratch = Scratch::new(&config.settings, Arc::clone(snapshot), down, now);
    for station in &request.stations {
        learn(&mut scratch, config, station)?;
    }
    let ends = scratch.receive(port, &head, frame_bytes);
    let walk = Walk {
        config,
        snapshot,
        routes,
        stations: &request.stations,
        port,
        head: &head,
        frame_bytes,
    };
    let mut stages: Vec<Stage> = if down.contains(&port) { Vec::new() } else { walk.arrival() };
    for (out, after, _) in &ends.sent {
        stages.extend(walk.departure(*out, after));
    }
    let name = |port: PortId| config.ports[port.index()].name.clone();
    Ok(Trace {
        switch: config.name.clone(),
        epoch: snapshot.epoch,
        port: name(port),
        stages,
        end: end(&ends, name),
    })
}

fn end(ends: &Ends, name: impl Fn(PortId) -> String) -> End {
    let waits = ends.is_held || ends.punted.contains(&PuntReason::Unresolved);
    let verdict = match () {
        () if !ends.sent.is_empty() => "sent",
        () if waits => "waits",
        () if !ends.dropped.is_empty() => "dropped",
        () if !ends.punted.is_empty() => "punted",
        () => "consumed",
    };
    End {
        verdict: verdict.to_owned(),
        sent: ends
            .sent
            .iter()
            .map(|(port, head, frame_bytes)| Sent {
                port: name(*port),
                head: hex(&head[..head.len().min(HEAD_BYTES_MAX)]),
                frame_bytes: *frame_bytes,
            })
            .collect(),
        dropped: ends
            .dropped
            .iter()
            .map(|&(port, reason)| Dropped { port: name(port), cause: reason.name().to_owned() })
            .collect(),
        punted: ends.punted.iter().map(|reason| reason.name().to_owned()).collect(),
        now: Vec::new(),
    }
}

/// The port with this name or number, or else the routed port with the network of `source`.
fn ingress(
    config: &SwitchConfig,
    named: Option<&str>,
    source: Option<IpAddr>,
) -> Result<PortId, TraceError> {
    let ports = &config.ports;
    if let Some(text) = named {
        let found = find_port(ports, text).map(|port| port.id);
        return found.map_err(|_| TraceError::NoPort(text.into(), ports.len()));
    }
    let source = source.ok_or(TraceError::NoIngress)?;
    let has_source = |port: &&config::switch::PortConfig| {
        port.addresses.iter().any(|network| network.contains(&source))
    };
    ports.iter().find(has_source).map(|port| port.id).ok_or(TraceError::NoIngress)
}

/// The source address of an IP frame.
fn source_of(head: &[u8], frame_bytes: usize) -> Option<IpAddr> {
    let parsed = parse(head, frame_bytes);
    addresses(head, parsed.kind, usize::from(parsed.l3)).map(|it| it.0)
}

fn described(description: &Description, port_mac: MacAddress) -> Result<Vec<u8>, TraceError> {
    let mac = |text: &Option<String>, otherwise: MacAddress| {
        let Some(text) = text else { return Ok(otherwise) };
        text.parse::<MacAddress>().map_err(|_| TraceError::Mac(text.clone()))
    };
    let source = mac(&description.source_mac, SOURCE_MAC)?;
    let destination = mac(&description.destination_mac, port_mac)?;
    Ok(build(description, source, destination)?)
}

/// Has the worker learn where `station` is, as it would: by a frame of the station.
fn learn(
    scratch: &mut Scratch,
    config: &SwitchConfig,
    station: &Station,
) -> Result<(), TraceError> {
    let port = ingress(config, Some(&station.port), None)?;
    let source: MacAddress =
        station.mac.parse().map_err(|_| TraceError::Mac(station.mac.clone()))?;
    let mut frame = [NOBODY.0, source.0].concat();
    if let PortMode::Bridged(vlan_port) = &config.ports[port.index()].mode
        && vlan_port.native.map(dataplane::l2::Vid::value) != Some(station.vlan)
    {
        frame.extend(ethernet::VLAN.to_be_bytes());
        frame.extend((station.vlan & 0x0FFF).to_be_bytes());
    }
    // An ethertype that nobody has: a local experiment (IEEE 802).
    frame.extend([0x88, 0xB5]);
    frame.resize(64, 0);
    scratch.receive(port, &frame, frame.len());
    Ok(())
}
