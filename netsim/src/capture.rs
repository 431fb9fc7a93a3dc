//! Captures of chosen links as pcap files, with times in nanoseconds.

use crate::event::{PS_PER_NS, Picoseconds};
use crate::frame::SimFrame;
use dataplane::frame::Frame;
use std::fmt;
use std::io::{self, Write};

/// pcap with nanoseconds (draft-ietf-opsawg-pcap), little-endian.
const MAGIC: u32 = 0xA1B2_3C4D;
const NS_PER_S: u64 = 1_000_000_000;
const LINKTYPE_ETHERNET: u32 = 1;
const SNAP_BYTES: u32 = 65_535;

/// Files that are being written.
#[derive(Default)]
pub(crate) struct Captures {
    files: Vec<Box<dyn Write>>,
    /// Arrivals that are not written yet, since some nodes are ahead of others; node by node.
    held: Vec<Record>,
    /// The first write that failed; nothing is written after it.
    error: Option<io::Error>,
}

/// A frame that arrived.
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
    /// Whether nothing is captured.
    #[inline(always)]
    pub(crate) const fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Holds a frame that arrives at `at_ps` by `wire` until all nodes have run up to then.
    pub(crate) fn hold(&mut self, capture: u16, at_ps: Picoseconds, wire: u32, frame: &SimFrame) {
        let (head, frame_bytes) = (frame.head().to_vec(), frame.len());
        self.held.push(Record { capture, at_ps, wire, frame_bytes, head });
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
    pub(crate) fn add(&mut self, mut file: Box<dyn Write>) -> io::Result<u16> {
        file.write_all(&MAGIC.to_le_bytes())?;
        file.write_all(&[2, 0, 4, 0])?;
        for word in [0, 0, SNAP_BYTES, LINKTYPE_ETHERNET] {
            file.write_all(&word.to_le_bytes())?;
        }
        let number = u16::try_from(self.files.len()).unwrap_or(u16::MAX);
        self.files.push(file);
        Ok(number)
    }

    /// Finishes all files.
    ///
    /// # Errors
    /// The first write that failed.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.error.take().map_or(Ok(()), Err)?;
        self.files.iter_mut().try_for_each(|file| file.flush())
    }

    /// Only the length of a payload is known; the file records this as a short snap length would.
    fn write(&mut self, record: &Record) -> io::Result<()> {
        let Some(file) = self.files.get_mut(usize::from(record.capture)) else { return Ok(()) };
        let now_ns = record.at_ps / PS_PER_NS;
        let low = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
        let lengths = [record.head.len() as u64, record.frame_bytes as u64];
        for word in [now_ns / NS_PER_S, now_ns % NS_PER_S, lengths[0], lengths[1]] {
            file.write_all(&low(word).to_le_bytes())?;
        }
        file.write_all(&record.head)
    }
}
