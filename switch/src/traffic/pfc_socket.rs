//! A packet socket that receives MAC control frames only, so that a sender can check for a pause
//! before each frame without reading data.

use super::TrafficError;
use super::interface::Interface;
use super::socket::{Listen, PacketSocket};
use dataplane::time::Instant;
use dataplane::wire::mac_control::MacControl;

/// Frames read in one call, so that a flood of PFC does not block the caller.
const FRAMES_A_TURN: usize = 64;

/// The socket.
pub(super) struct PfcSocket {
    socket: PacketSocket,
    buffer: Vec<u8>,
}

impl PfcSocket {
    /// Listens on `interface`.
    ///
    /// # Errors
    /// The system refuses a raw socket (it takes CAP_NET_RAW).
    pub(super) fn open(interface: &Interface) -> Result<Self, TrafficError> {
        let socket = PacketSocket::open(interface, Listen::MacControl)?;
        Ok(Self { socket, buffer: vec![0; 256] })
    }

    /// Passes each MAC control frame that has arrived to `each`, in order. Never blocks.
    ///
    /// # Errors
    /// The interface went down.
    pub(super) fn poll(&mut self, mut each: impl FnMut(MacControl)) -> Result<(), TrafficError> {
        for _ in 0..FRAMES_A_TURN {
            let Some(bytes) = self.socket.receive(&mut self.buffer)? else { break };
            each(MacControl::parse(&self.buffer[..bytes]));
        }
        Ok(())
    }

    /// Sleeps until a MAC control frame arrives, for `until - now` at most.
    ///
    /// # Errors
    /// The system refuses to wait.
    pub(super) fn wait(&self, now: Instant, until: Instant) -> Result<(), TrafficError> {
        self.socket.wait(until.ns_since(now))
    }
}
