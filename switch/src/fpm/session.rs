//! One connection of zebra: bytes in, messages done, acknowledgements out. It never waits.

use super::acknowledgements::Acknowledgements;
use super::frame::{FrameError, Frames};
use super::netlink::NetlinkError;
use super::state::State;
use dataplane::fib::Routes;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};

/// Bytes that are read at once.
const READ_BYTES: usize = 64 << 10;
/// Reads in one step, so that a flood of routes does not delay other work.
const READS_A_STEP: usize = 4;

/// Why a session is over.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionEnd {
    /// The peer closed it.
    #[error("closed by the peer")]
    Closed,
    /// The connection broke.
    #[error(transparent)]
    Socket(#[from] io::Error),
    /// It is no FPM.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// It is no netlink.
    #[error(transparent)]
    Netlink(#[from] NetlinkError),
    /// It does not read what it is told.
    #[error("it does not read the acknowledgements")]
    Deaf,
}

impl SessionEnd {
    /// Whether the peer did something that no daemon does.
    pub(super) const fn is_malformed(&self) -> bool {
        !matches!(self, Self::Closed | Self::Socket(_))
    }
}

/// What a step did.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Step {
    /// Whether bytes came.
    pub(crate) any: bool,
    /// Whether the packet path needs new tables.
    pub(crate) changed: bool,
}

/// Numbers of tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Epochs {
    /// Those that all workers use.
    pub(crate) in_use: u64,
    /// The last ones made.
    pub(crate) made: u64,
    /// Whether something has changed since.
    pub(crate) is_change_pending: bool,
}

/// A connection.
#[derive(Debug)]
pub(super) struct Session {
    stream: TcpStream,
    pub(super) peer: SocketAddr,
    frames: Frames,
    acknowledgements: Acknowledgements,
    /// Whether it has sent a frame: until then it may be anybody.
    pub(super) has_begun: bool,
    bytes: Box<[u8]>,
}

impl Session {
    pub(super) fn new(stream: TcpStream, peer: SocketAddr) -> Self {
        Self {
            stream,
            peer,
            frames: Frames::default(),
            acknowledgements: Acknowledgements::default(),
            has_begun: false,
            bytes: vec![0; READ_BYTES].into_boxed_slice(),
        }
    }

    /// Reads what has come, and does it.
    ///
    /// # Errors
    /// The session is over.
    pub(super) fn read(
        &mut self,
        state: &mut State,
        routes: &mut Routes,
        epochs: Epochs,
        step: &mut Step,
    ) -> Result<(), SessionEnd> {
        for _ in 0..READS_A_STEP {
            match self.stream.read(&mut self.bytes) {
                Ok(0) => return Err(SessionEnd::Closed),
                Ok(count) => {
                    step.any = true;
                    self.frames.push(&self.bytes[..count]);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            }
            self.handle_frames(state, routes, epochs, step)?;
        }
        Ok(())
    }

    fn handle_frames(
        &mut self,
        state: &mut State,
        routes: &mut Routes,
        epochs: Epochs,
        step: &mut Step,
    ) -> Result<(), SessionEnd> {
        let Self { frames, acknowledgements, has_begun, .. } = self;
        let mut reads = true;
        while let Some(frame) = frames.take()? {
            if !*has_begun {
                *has_begun = true;
                state.begin_session(routes);
            }
            state.handle(frame, routes, |effect, message| {
                step.changed |= effect.changed;
                if let Some(route) = effect.route {
                    // A route that is given once more is in tables that are made already.
                    let is_to_come = step.changed || epochs.is_change_pending;
                    let epoch = epochs.made + u64::from(is_to_come);
                    reads &= acknowledgements.push(message, route.is_ok(), epoch);
                }
            })?;
        }
        if reads { Ok(()) } else { Err(SessionEnd::Deaf) }
    }

    /// Tells the peer which routes are in use, now that the workers have the tables with number
    /// `epoch`.
    ///
    /// # Errors
    /// The session is over.
    pub(super) fn write(&mut self, epoch: u64) -> Result<(), SessionEnd> {
        self.acknowledgements.in_use(epoch);
        while !self.acknowledgements.ready().is_empty() {
            match self.stream.write(self.acknowledgements.ready()) {
                Ok(count) => self.acknowledgements.wrote(count),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}
