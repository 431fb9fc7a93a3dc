//! Lines from and to a client, each within a time: a client that sends or takes an octet now and
//! then keeps its thread no longer than one that does nothing.

use super::protocol::{REQUEST_BYTES_MAX, Reply};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// How long a client may say nothing between a reply and its next request.
const IDLE_MAX: Duration = Duration::from_secs(300);
/// How long a request may take from its first octet to its newline.
const READ_MAX: Duration = Duration::from_secs(5);
/// How long a client may take to accept a reply.
const WRITE_MAX: Duration = Duration::from_secs(10);

/// Why there is no line.
#[derive(Debug, thiserror::Error)]
pub(super) enum LineError {
    /// It is not worth more octets.
    #[error("the request is longer than 16 KiB")]
    TooLong,
    /// The client has closed its end within it.
    #[error("the request is incomplete")]
    Incomplete,
    /// It took longer than a client that means it takes.
    #[error("the request took longer than 5 s")]
    TooSlow,
    /// The connection broke, or nothing came for long.
    #[error(transparent)]
    Broken(#[from] io::Error),
}

/// A connection to a client.
#[derive(Debug)]
pub(super) struct LineStream {
    reader: BufReader<UnixStream>,
    line: Vec<u8>,
}

impl LineStream {
    /// Of this connection.
    ///
    /// # Errors
    /// The system refuses.
    pub(super) fn new(stream: &UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        Ok(Self { reader: BufReader::new(stream.try_clone()?), line: Vec::new() })
    }

    /// The next line, with its newline; `None` if the client has closed its end.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn read(&mut self) -> Result<Option<&[u8]>, LineError> {
        self.line.clear();
        self.reader.get_ref().set_read_timeout(Some(IDLE_MAX))?;
        if self.octets()?.is_empty() {
            return Ok(None);
        }
        let until = Instant::now() + READ_MAX;
        loop {
            let room = REQUEST_BYTES_MAX - self.line.len();
            self.octets().map_err(slow)?;
            let octets = self.reader.buffer();
            let octets = &octets[..octets.len().min(room)];
            let newline = octets.iter().position(|&octet| octet == b'\n');
            let taken = newline.map_or(octets.len(), |at| at + 1);
            self.line.extend_from_slice(&octets[..taken]);
            self.reader.consume(taken);
            match (newline, taken) {
                (Some(_), _) => return Ok(Some(&self.line)),
                (None, 0) if room == 0 => return Err(LineError::TooLong),
                (None, 0) => return Err(LineError::Incomplete),
                (None, _) => {}
            }
            let left = until.checked_duration_since(Instant::now()).ok_or(LineError::TooSlow)?;
            self.reader.get_ref().set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
        }
    }

    /// What has come and was not taken; waits for something. `net_tap` has the kernel send a signal
    /// for each frame, to whatever thread: that ends no wait.
    fn octets(&mut self) -> io::Result<&[u8]> {
        loop {
            match self.reader.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(_) => return Ok(self.reader.buffer()),
            }
        }
    }

    /// Writes a reply.
    ///
    /// # Errors
    /// The connection broke, or the client took too long.
    pub(super) fn write(&mut self, reply: &Reply) -> io::Result<()> {
        let until = Instant::now() + WRITE_MAX;
        let text = text(reply)?;
        let mut left = &text[..];
        while !left.is_empty() {
            let time = until.checked_duration_since(Instant::now());
            let time = time.ok_or(io::ErrorKind::TimedOut)?.max(Duration::from_millis(1));
            self.reader.get_ref().set_write_timeout(Some(time))?;
            match self.reader.get_ref().write(left) {
                Ok(written) => left = &left[written..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes a reply without waiting for the client.
    ///
    /// # Errors
    /// It does not go whole.
    pub(super) fn write_at_once(&mut self, reply: &Reply) -> io::Result<()> {
        self.reader.get_ref().set_nonblocking(true)?;
        self.reader.get_ref().write_all(&text(reply)?)
    }

    /// The connection, for what is not lines.
    pub(super) fn stream(&self) -> &UnixStream {
        self.reader.get_ref()
    }

    /// Whether the client has closed its end and will see no reply.
    pub(super) fn is_closed(&self) -> bool {
        let mut ends = [PollFd::new(self.reader.get_ref().as_fd(), PollFlags::empty())];
        poll(&mut ends, PollTimeout::ZERO).is_ok()
            && ends[0].revents().is_some_and(|what| what.contains(PollFlags::POLLHUP))
    }
}

fn slow(error: io::Error) -> LineError {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => LineError::TooSlow,
        _ => LineError::Broken(error),
    }
}

fn text(reply: &Reply) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec(reply)?;
    text.push(b'\n');
    Ok(text)
}
