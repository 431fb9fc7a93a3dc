//! Why a network cannot be built.

use config::switch::TablesError;
use dataplane::ids::PortId;

/// Why a network cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// Two links at one port.
    #[error("{switch}:{port} has two links; a port has one")]
    PortTaken {
        /// The switch.
        switch: String,
        /// The port.
        port: PortId,
    },
    /// A port number that no switch has.
    #[error("{switch} has no port {number}; ports are 1 to 256")]
    NoSuchPort {
        /// The switch.
        switch: String,
        /// The number.
        number: usize,
    },
    /// Two links at one host.
    #[error("host {host} has two links; a host has one")]
    HostTaken {
        /// The host.
        host: String,
    },
    /// A link from a host to a host.
    #[error("host {host} is linked to a host; link it to a switch")]
    HostToHost {
        /// The first host.
        host: String,
    },
    /// A host without a link.
    #[error("host {host} has no link; link it to a switch")]
    HostUnlinked {
        /// The host.
        host: String,
    },
    /// A port that the switch itself holds to a speed, which an emulated wire does.
    #[error("{switch}, port {port}: emulated wires pace what they carry; set `pace = false`")]
    Paced {
        /// The switch.
        switch: String,
        /// The port's name.
        port: String,
    },
    /// Routes of a SWITCH.toml that the routing table cannot hold.
    #[error(transparent)]
    Tables(#[from] TablesError),
    /// More than addresses or tables can hold.
    #[error("{count} {what}; {most} are the most")]
    TooMany {
        /// What exceeds its maximum.
        what: &'static str,
        /// The number.
        count: usize,
        /// The maximum.
        most: usize,
    },
    /// A buffer smaller than the sum of what it promises.
    #[error(
        "{switch} promises {promised_bytes} bytes in reserves, headrooms and for lossy traffic, of a \
         buffer of {buffer_bytes}; give it {} more", promised_bytes - buffer_bytes
    )]
    BufferTooSmall {
        /// The switch.
        switch: String,
        /// What it has.
        buffer_bytes: u64,
        /// What it promises.
        promised_bytes: u64,
    },
    /// A flow's frames are too short for a wire or too long for the network.
    #[error("a frame of {frame_bytes} bytes; this network carries {least} to {most}")]
    FrameLength {
        /// The length.
        frame_bytes: u16,
        /// The least.
        least: u16,
        /// The most.
        most: u16,
    },
    /// No path between two hosts.
    #[error("there is no way from host {from} to host {to}")]
    NoWay {
        /// The sender.
        from: String,
        /// The receiver.
        to: String,
    },
    /// A path that does not begin and end at the switches of its hosts.
    #[error("a way from host {from} to host {to} must begin at {first} and end at {last}")]
    WayEnds {
        /// The sender.
        from: String,
        /// The receiver.
        to: String,
        /// The sender's switch.
        first: String,
        /// The receiver's switch.
        last: String,
    },
    /// A path that visits a switch twice; a switch sends all frames of a flow one way.
    #[error("a way goes through {switch} twice; a switch sends a flow one way only")]
    WayRepeats {
        /// The switch.
        switch: String,
    },
    /// A path over a link that does not exist.
    #[error("a way leads from {from} to {to}, which are not linked")]
    NotLinked {
        /// The switch it leaves.
        from: String,
        /// The switch it should reach.
        to: String,
    },
}
