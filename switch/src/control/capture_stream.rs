//! The records of a capture on their way to the client, by the client's own thread: neither the
//! workers nor the control thread wait for it. A client that reads slowly finds rings full, and
//! what found no room is counted.
//!
//! After the reply line the socket carries chunks: a head of eight octets (length, 32 bits,
//! little-endian; the worker; what it is; two of 0), and the chunk. The bytes of one worker, put
//! together, are whole [records](dataplane::capture::record). The last chunk is [`END`].

use crossbeam::channel::{Receiver, Sender, bounded};
use dataplane::capture::CaptureReader;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Bytes of a chunk's head.
pub(crate) const CHUNK_HEAD_BYTES: usize = 8;
/// A chunk of records.
pub(crate) const RECORDS: u8 = 0;
/// The end: the number of records that found no room, 64 bits.
pub(crate) const END: u8 = 1;
/// Bytes of a chunk, at most.
const CHUNK_BYTES_MAX: usize = 64 << 10;
/// How long the thread sleeps between two looks at the rings.
const PAUSE: Duration = Duration::from_millis(1);
/// How long it waits for the client before it looks whether that is still there.
const WRITE_WAIT: Duration = Duration::from_millis(200);
/// A client that has closed its end is given up after so many of these in which it took nothing: it
/// may just not have begun to read what is left.
const CLOSED_WAITS_MAX: u32 = 25;

/// A client that wants to capture, as the control thread sees it.
#[derive(Clone, Debug)]
pub(crate) struct CaptureClient {
    /// Its process and user.
    pub who: String,
    /// Takes the rings.
    pub readers: Sender<CaptureReaders>,
}

impl CaptureClient {
    /// The client at the other end of `stream`, and where its rings come out.
    pub(super) fn of(stream: &UnixStream) -> (Self, Receiver<CaptureReaders>) {
        let who = match getsockopt(stream, PeerCredentials) {
            Ok(peer) => format!("process {} of user {}", peer.pid(), peer.uid()),
            Err(_) => "another client".to_owned(),
        };
        let (readers, rings) = bounded(1);
        (Self { who, readers }, rings)
    }
}

/// The rings of all workers.
#[derive(Debug)]
pub(crate) struct CaptureReaders {
    /// By worker.
    readers: Vec<CaptureReader>,
    is_over: Arc<AtomicBool>,
}

impl CaptureReaders {
    /// These rings, and what is set when nobody reads them any more.
    pub(super) fn new(readers: Vec<CaptureReader>) -> (Self, Arc<AtomicBool>) {
        let is_over = Arc::new(AtomicBool::new(false));
        (Self { readers, is_over: Arc::clone(&is_over) }, is_over)
    }

    /// Whether the workers have dropped their ends: the switch stops.
    fn are_abandoned(&self) -> bool {
        self.readers.iter().all(|reader| reader.ring.is_abandoned())
    }
}

impl Drop for CaptureReaders {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// Writes records to the client until it closes its end or the switch stops.
///
/// # Errors
/// The client has gone.
pub(super) fn serve(stream: &UnixStream, mut readers: CaptureReaders) -> io::Result<()> {
    stream.set_write_timeout(Some(WRITE_WAIT))?;
    loop {
        // Asked before the rings are read, so that nothing comes after the last look.
        let is_over = has_closed(stream) || readers.are_abandoned();
        let mut is_full = false;
        for (worker, reader) in (0..).zip(&mut readers.readers) {
            is_full |= write_ring(stream, worker, reader)?;
        }
        if is_over {
            break;
        }
        if !is_full {
            thread::sleep(PAUSE);
        }
    }
    let missed: u64 = readers.readers.iter().map(CaptureReader::missed).sum();
    write_chunk(stream, 0, END, &missed.to_le_bytes())
}

/// Writes what is in the ring now; returns whether there may be much more.
fn write_ring(stream: &UnixStream, worker: u8, reader: &mut CaptureReader) -> io::Result<bool> {
    let mut left = reader.ring.slots();
    let is_much = left >= CHUNK_BYTES_MAX;
    while left > 0 {
        let bytes = left.min(CHUNK_BYTES_MAX);
        let Ok(chunk) = reader.ring.read_chunk(bytes) else { break };
        let (first, second) = chunk.as_slices();
        for part in [first, second].into_iter().filter(|part| !part.is_empty()) {
            write_chunk(stream, worker, RECORDS, part)?;
        }
        chunk.commit_all();
        left -= bytes;
    }
    Ok(is_much)
}

fn write_chunk(stream: &UnixStream, worker: u8, what: u8, bytes: &[u8]) -> io::Result<()> {
    let [a, b, c, d] = u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes();
    write_all(stream, &[a, b, c, d, worker, what, 0, 0])?;
    write_all(stream, bytes)
}

/// Writes all of `bytes`, however slowly the client takes them, as long as it is there.
fn write_all(mut stream: &UnixStream, mut bytes: &[u8]) -> io::Result<()> {
    let mut waits = 0;
    while !bytes.is_empty() {
        match stream.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => (bytes, waits) = (&bytes[written..], 0),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && waits < CLOSED_WAITS_MAX => {
                waits += u32::from(has_closed(stream));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Whether the client has closed its end, or sends what nobody asked for.
fn has_closed(stream: &UnixStream) -> bool {
    let mut ends = [PollFd::new(stream.as_fd(), PollFlags::POLLIN)];
    let what = poll(&mut ends, PollTimeout::ZERO).ok().and_then(|_| ends[0].revents());
    what.is_some_and(|what| what.intersects(PollFlags::POLLIN | PollFlags::POLLHUP))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::Shutdown;

    #[test]
    fn a_client_that_closes_its_end_still_gets_what_is_left() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        ours.set_write_timeout(Some(WRITE_WAIT)).unwrap();
        // More than a socket holds.
        let bytes = vec![7; 4 << 20];
        let expected = bytes.clone();
        let writer = thread::spawn(move || write_all(&ours, &bytes));
        theirs.shutdown(Shutdown::Write).unwrap();
        thread::sleep(2 * WRITE_WAIT);
        let mut all = Vec::new();
        theirs.read_to_end(&mut all).unwrap();
        assert!(writer.join().unwrap().is_ok());
        assert_eq!(all, expected);
    }
}
