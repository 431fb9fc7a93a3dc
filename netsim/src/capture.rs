//! Captures of chosen links as pcap files, with times in nanoseconds.

use crate::event::{PS_PER_NS, Picoseconds};
use crate::frame::SimFrame;
use dataplane::frame::Frame;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{Endianness, PcapError, TsResolution};
use std::fmt;
use std::io::{self, Write};
use std::time::Duration;

/// Files that are being written.
#[derive(Default)]
pub(crate) struct Captures {
    files: Vec<PcapWriter<Box<dyn Write>>>,
    /// Arrivals that are not written yet, since some nodes are ahead of others; node by node.
    held: Vec<Record>,
    /// The first write that failed; nothing is written after it.
    error: Option<io::Error>,
}

/// Arrivals at the nodes of a part of the network that go into files.
#[derive(Debug, Default)]
pub(crate) struct CaptureBuffer {
    is_in_use: bool,
    records: Vec<Record>,
}

impl CaptureBuffer {
    /// Whether anything is captured.
    #[inline(always)]
    pub(crate) const fn is_in_use(&self) -> bool {
        self.is_in_use
    }

    /// Something will be captured.
    pub(crate) const fn begin(&mut self) {
        self.is_in_use = true;
    }

    /// Holds a frame that arrives at `at_ps` by `wire` until all nodes have run up to then.
    pub(crate) fn hold(&mut self, capture: u16, at_ps: Picoseconds, wire: u32, frame: &SimFrame) {
        let (head, frame_bytes) = (frame.head().to_vec(), frame.len());
        self.records.push(Record { capture, at_ps, wire, frame_bytes, head });
    }
}

/// A frame that arrived.
#[derive(Debug)]
struct Record {
    capture: u16,
    at_ps: Picoseconds,
    wire: u32,
    frame_bytes: usize,
    head: Vec<u8>,
}

impl fmt::Debug for Captures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} captures", self.files.len())
    }
}

impl Captures {
    /// Takes the arrivals of a part.
    #[inline]
    pub(crate) fn take(&mut self, held: &mut CaptureBuffer) {
        if !held.records.is_empty() {
            self.held.append(&mut held.records);
        }
    }

    /// Writes the arrivals before `before_ps` in the order of time.
    #[inline]
    pub(crate) fn write_held(&mut self, before_ps: Picoseconds) {
        if !self.held.is_empty() {
            self.write_sorted(before_ps);
        }
    }

    fn write_sorted(&mut self, before_ps: Picoseconds) {
        self.held.sort_unstable_by_key(|record| (record.at_ps, record.wire));
        let count = self.held.partition_point(|record| record.at_ps < before_ps);
        let later = self.held.split_off(count);
        for record in std::mem::replace(&mut self.held, later) {
            if self.error.is_none()
                && let Err(error) = self.write(&record)
            {
                self.error = Some(error);
            }
        }
    }

    /// Adds a file, with the header written; returns its number.
    ///
    /// # Errors
    /// The header cannot be written.
    pub(crate) fn add(&mut self, file: Box<dyn Write>) -> io::Result<u16> {
        let (ts_resolution, endianness) = (TsResolution::NanoSecond, Endianness::Little);
        let header = PcapHeader { ts_resolution, endianness, ..PcapHeader::default() };
        let number = u16::try_from(self.files.len()).unwrap_or(u16::MAX);
        self.files.push(PcapWriter::with_header(file, header).map_err(io_error)?);
        Ok(number)
    }

    /// Finishes all files.
    ///
    /// # Errors
    /// The first write that failed.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.error.take().map_or(Ok(()), Err)?;
        self.files.drain(..).try_for_each(|file| file.into_writer().flush())
    }

    /// Only the length of a payload is known; the file records this as a short snap length would.
    fn write(&mut self, record: &Record) -> io::Result<()> {
        let Some(file) = self.files.get_mut(usize::from(record.capture)) else { return Ok(()) };
        let at = Duration::from_nanos(record.at_ps / PS_PER_NS);
        let frame_bytes = u32::try_from(record.frame_bytes).unwrap_or(u32::MAX);
        let packet = PcapPacket::new(at, frame_bytes, &record.head);
        file.write_packet(&packet).map(drop).map_err(io_error)
    }
}

fn io_error(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}
