//! What the flight recorder knows: one event each. The keys are a contract.

use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// An event with its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FlightEvent {
    /// Its number, from 1: the numbers of a switch have no gaps.
    pub seq: u64,
    /// When it happened: milliseconds since 1970.
    pub time_unix_ms: u64,
    /// The same on the clock of the workers: nanoseconds since the switch started.
    pub uptime_ns: u64,
    /// What happened.
    #[serde(flatten)]
    pub what: What,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum What {
    /// The peer has paused a priority of the port, and still does. The time is that of its XOFF.
    Paused {
        /// Name of the port.
        port: String,
        /// The priority.
        priority: usize,
    },
    /// The peer's pause has ended.
    Resumed {
        /// Name of the port.
        port: String,
        /// The priority.
        priority: usize,
        /// How long it lasted.
        paused_for_ns: u64,
    },
    /// The port has paused its peer, and still does. The time is that of the XOFF.
    XoffSent {
        /// Name of the port.
        port: String,
        /// The priority.
        priority: usize,
    },
    /// The port's pause of its peer has ended.
    XonSent {
        /// Name of the port.
        port: String,
        /// The priority.
        priority: usize,
    },
    /// Pauses that began and ended since the last sample.
    ShortPauses {
        /// Name of the port.
        port: String,
        /// The priority.
        priority: usize,
        /// Pauses by the peer.
        received: u64,
        /// Pauses of the peer.
        sent: u64,
    },
    /// The watchdog has detected storms.
    Storm {
        /// Name of the port.
        port: String,
        /// The priority.
        priority: usize,
    },
    /// A storm has ended.
    StormEnded {
        /// Name of the port.
        port: String,
        /// The priority.
        priority: usize,
    },
    /// Frames were dropped since the last sample.
    Drops {
        /// Name of the port.
        port: String,
        /// The counter.
        cause: String,
        /// How many.
        frames: u64,
        /// Of those, frames of lossless priorities.
        lossless_frames: u64,
    },
    /// A port is up or down.
    Link {
        /// Name of the port.
        port: String,
        /// Whether frames pass.
        up: bool,
    },
    /// A neighbor is known, under this or another MAC address, or is known no more.
    Neighbor {
        /// Its address.
        address: IpAddr,
        /// Name of the port it is or was behind.
        port: String,
        /// Its MAC address; null if it is not known any more.
        mac: Option<String>,
    },
    /// The number of routes has changed.
    Routes {
        /// Static routes, and those of a routing daemon.
        routes: u64,
    },
    /// The rules have changed.
    Rules {
        /// Entries.
        entries: usize,
    },
    /// All workers use these tables.
    Tables {
        /// Their version.
        epoch: u64,
    },
    /// What the buffer has of a port and priority, if that is other than in the last sample.
    Depth {
        /// Name of the port.
        port: String,
        /// The priority.
        priority: usize,
        /// Bytes that came in there.
        viq_bytes: u32,
        /// Of those, in headroom.
        headroom_bytes: u32,
        /// Frames that wait to leave there.
        veq_frames: u32,
        /// Their bytes.
        veq_bytes: u32,
    },
    /// A queue has waited for longer than `stall`.
    Stall {
        /// Name of the port.
        port: String,
        /// The priority.
        priority: usize,
        /// For how long the peer has paused it.
        paused_for_ns: u64,
        /// Frames that wait.
        frames: u32,
        /// Their bytes.
        bytes: u32,
        /// Ports that they came in by, with the priority there.
        origins: Vec<StallOrigin>,
    },
}

/// Where frames of a stalled queue came in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StallOrigin {
    /// Name of the port.
    pub port: String,
    /// The ingress priority.
    pub priority: usize,
    /// Whether the port pauses its peer there.
    pub paused: bool,
}

impl What {
    /// The event as a line for people.
    pub(crate) fn text(&self) -> String {
        let ms = |ns: &u64| ns / 1_000_000;
        match self {
            Self::Paused { port, priority } => {
                format!("port {port} priority {priority}: paused by the peer")
            }
            Self::Resumed { port, priority, paused_for_ns } => {
                let ms = ms(paused_for_ns);
                format!("port {port} priority {priority}: resumed by the peer after {ms} ms")
            }
            Self::XoffSent { port, priority } => {
                format!("port {port} priority {priority}: the peer is paused")
            }
            Self::XonSent { port, priority } => {
                format!("port {port} priority {priority}: the peer is resumed")
            }
            Self::ShortPauses { port, priority, received, sent } => format!(
                "port {port} priority {priority}: {received} short pauses by the peer, {sent} of it"
            ),
            Self::Storm { port, priority } => {
                format!("port {port} priority {priority}: the watchdog detected a storm")
            }
            Self::StormEnded { port, priority } => {
                format!("port {port} priority {priority}: the storm ended")
            }
            Self::Drops { port, cause, frames, lossless_frames } => {
                format!("port {port}: {frames} frames dropped, {lossless_frames} lossless: {cause}")
            }
            Self::Link { port, up } => {
                format!("port {port} is {}", if *up { "up" } else { "down" })
            }
            Self::Neighbor { address, port, mac: Some(mac) } => {
                format!("neighbor {address} at port {port} is {mac}")
            }
            Self::Neighbor { address, port, mac: None } => {
                format!("neighbor {address} at port {port} is unknown")
            }
            Self::Routes { routes } => format!("there are {routes} routes"),
            Self::Rules { entries } => format!("the rules have changed: {entries} entries"),
            Self::Tables { epoch } => format!("table version {epoch} is in use"),
            Self::Depth { port, priority, viq_bytes, headroom_bytes, veq_frames, veq_bytes } => {
                format!(
                    "port {port} priority {priority}: {viq_bytes} bytes came in, {headroom_bytes} in \
                     headroom; {veq_frames} frames, {veq_bytes} bytes wait to leave"
                )
            }
            Self::Stall { port, priority, paused_for_ns, frames, bytes, origins } => {
                let origin = |it: &StallOrigin| {
                    let pauses = if it.paused { ", which pauses its peer" } else { "" };
                    format!("{} priority {}{pauses}", it.port, it.priority)
                };
                let origins: Vec<String> = origins.iter().map(origin).collect();
                format!(
                    "port {port} priority {priority}: stalled for {} ms, {frames} frames, {bytes} bytes \
                     wait; they came in by {}",
                    ms(paused_for_ns),
                    origins.join(" and ")
                )
            }
        }
    }
}
