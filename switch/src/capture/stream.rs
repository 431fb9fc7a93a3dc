//! Records from the control socket, in the order of time.

use crate::control::capture_stream::{CHUNK_HEAD_BYTES, END, RECORDS};
use dataplane::capture::record::{HEAD_BYTES, Record};
use std::io::{self, Read};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// How long a read waits: a signal is seen that late.
const WAIT: Duration = Duration::from_millis(100);
const READ_BYTES: usize = 256 << 10;

/// An event: its record, and the start of the frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Captured {
    pub(super) record: Record,
    pub(super) bytes: Vec<u8>,
}

/// The connection, after the reply line.
#[derive(Debug)]
pub(super) struct RecordStream {
    stream: UnixStream,
    /// What came and is no whole chunk.
    chunks: Vec<u8>,
    /// By worker: what came and is no whole record.
    records: Vec<Vec<u8>>,
    buffer: Vec<u8>,
    is_over: bool,
    missed: Option<u64>,
}

impl RecordStream {
    /// The connection, and what of it was read already.
    pub(super) fn new((stream, chunks): (UnixStream, Vec<u8>)) -> io::Result<Self> {
        stream.set_read_timeout(Some(WAIT))?;
        Ok(Self {
            stream,
            chunks,
            records: Vec::new(),
            buffer: vec![0; READ_BYTES],
            is_over: false,
            missed: None,
        })
    }

    /// Whether nothing more comes.
    pub(super) const fn is_over(&self) -> bool {
        self.is_over
    }

    /// The records that found no room, by the switch's last word.
    pub(super) const fn missed(&self) -> Option<u64> {
        self.missed
    }

    /// Has the switch end the capture. What it has captured still comes.
    pub(super) fn close(&self) -> io::Result<()> {
        self.stream.shutdown(Shutdown::Write)
    }

    /// The next events; none if none came for a while.
    pub(super) fn read(&mut self) -> io::Result<Vec<Captured>> {
        match self.stream.read(&mut self.buffer) {
            Ok(0) => self.is_over = true,
            Ok(bytes) => self.chunks.extend_from_slice(&self.buffer[..bytes]),
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock
                | io::ErrorKind::TimedOut
                | io::ErrorKind::Interrupted => {}
                _ => return Err(error),
            },
        }
        let mut taken = 0;
        while let Some((worker, what, chunk)) = next_chunk(&self.chunks[taken..]) {
            match what {
                RECORDS => {
                    let worker = usize::from(worker);
                    if self.records.len() <= worker {
                        self.records.resize(worker + 1, Vec::new());
                    }
                    self.records[worker].extend_from_slice(chunk);
                }
                END => {
                    self.missed = chunk.first_chunk().map(|&missed| u64::from_le_bytes(missed));
                    self.is_over = true;
                }
                _ => return Err(io::ErrorKind::InvalidData.into()),
            }
            taken += CHUNK_HEAD_BYTES + chunk.len();
        }
        self.chunks.drain(..taken);
        let mut events: Vec<Captured> = self.records.iter_mut().flat_map(take_whole).collect();
        let order = |event: &Captured| {
            let Record { at_ns, worker, number, .. } = event.record;
            (at_ns, worker, number)
        };
        events.sort_by_key(order);
        Ok(events)
    }
}

/// The worker, the kind and the bytes of the chunk at the start of `bytes`, if it is whole.
fn next_chunk(bytes: &[u8]) -> Option<(u8, u8, &[u8])> {
    let (head, rest) = bytes.split_first_chunk::<CHUNK_HEAD_BYTES>()?;
    let [a, b, c, d, worker, what, ..] = *head;
    let chunk = rest.get(..u32::from_le_bytes([a, b, c, d]) as usize)?;
    Some((worker, what, chunk))
}

/// Takes the whole records at the start of `bytes`.
fn take_whole(bytes: &mut Vec<u8>) -> Vec<Captured> {
    let (mut events, mut taken) = (Vec::new(), 0);
    while let Some((record, captured)) = Record::read(&bytes[taken..]) {
        taken += HEAD_BYTES + captured.len();
        events.push(Captured { record, bytes: captured.to_vec() });
    }
    bytes.drain(..taken);
    events
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn records_are_put_together_whatever_the_pieces() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut stream = RecordStream::new((ours, Vec::new())).unwrap();
        // A record of kind 0 at port 0 with four captured octets.
        let mut record = vec![0; HEAD_BYTES];
        record[18] = 4;
        record.extend([1, 2, 3, 4]);
        let chunk = |worker: u8, what: u8, bytes: &[u8]| {
            let mut chunk = u32::try_from(bytes.len()).unwrap().to_le_bytes().to_vec();
            chunk.extend([worker, what, 0, 0]);
            chunk.extend(bytes);
            chunk
        };
        let mut sent = chunk(0, RECORDS, &record[..10]);
        sent.extend(chunk(1, RECORDS, &record));
        sent.extend(chunk(0, RECORDS, &record[10..]));
        sent.extend(chunk(0, END, &7_u64.to_le_bytes()));
        let mut events = Vec::new();
        for piece in sent.chunks(13) {
            theirs.write_all(piece).unwrap();
            events.extend(stream.read().unwrap());
        }
        assert_eq!(events.len(), 2);
        assert!(events.iter().all(|event| event.bytes == [1, 2, 3, 4]), "{events:?}");
        assert_eq!((stream.is_over(), stream.missed()), (true, Some(7)));
    }

    #[test]
    fn a_chunk_of_another_kind_is_an_error() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let mut stream = RecordStream::new((ours, vec![0, 0, 0, 0, 0, 9, 0, 0])).unwrap();
        assert_eq!(stream.read().unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
