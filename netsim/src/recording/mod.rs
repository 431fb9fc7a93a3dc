//! Recordings of a switch's ports: each frame that the worker took from a port or gave to it, with
//! the time of the turn, as pcapng that Wireshark and tcpdump read.
//!
//! There is one interface for each port, and each packet has its direction (`epb_flags`). Times are
//! picoseconds on the clock of the switch, since the emulator counts in picoseconds. All packets of
//! one turn have the same time. A comment says what no packet is: `backlog N`, the frames that wait
//! in a receive ring by the word of the device, which make a switch pause; `link up` and `link
//! down`. A packet with the comment `control` is one that the control thread sends.

mod read;
#[cfg(test)]
mod tests;
mod write;

pub use read::RecordingError;
pub use write::RecordingWriter;

use crate::event::Picoseconds;
use dataplane::ids::PortId;

/// Bytes of a frame that are recorded: all that a switch reads and writes.
pub const SNAP_BYTES: usize = 192;

/// Where a recording was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// At the ports of a running switch: receive rings, and devices that take whole bursts.
    Devices,
    /// In the emulator: wires that carry one frame at a time.
    Emulator,
}

impl Origin {
    /// Each, with the program that the file names.
    const PROGRAMS: [(Self, &str); 2] =
        [(Self::Devices, "knotless run"), (Self::Emulator, "knotless simulate")];

    fn program(self) -> &'static str {
        Self::PROGRAMS.iter().find(|(origin, _)| *origin == self).map_or("", |(_, name)| name)
    }

    fn of_program(program: &str) -> Option<Self> {
        let known = Self::PROGRAMS.iter().find(|(_, name)| *name == program);
        known.map(|&(origin, _)| origin)
    }
}

/// A frame, as far as it was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedFrame {
    /// Its first bytes, at most [`SNAP_BYTES`].
    pub head: Vec<u8>,
    /// Its length without the FCS.
    pub frame_bytes: usize,
}

/// What happened at a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PortEventKind {
    /// The worker took a frame from the port.
    Received(RecordedFrame),
    /// The port took a frame from the worker.
    Sent(RecordedFrame),
    /// The control thread sends a frame here.
    Injected(RecordedFrame),
    /// The link is up, or it is down.
    Link(bool),
    /// The device says that so many frames wait in its receive ring.
    Backlog(u32),
}

/// Something that happened at a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortEvent {
    /// The time of the turn.
    pub at_ps: Picoseconds,
    /// Where.
    pub port: PortId,
    /// What.
    pub kind: PortEventKind,
}

/// A recording, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// Where it was made.
    pub origin: Origin,
    /// The names of the ports.
    pub ports: Vec<String>,
    /// What happened, in the order of time.
    pub events: Vec<PortEvent>,
    /// When the recording ended.
    pub end_ps: Picoseconds,
}
