//! Classic pcap files: little-endian, Ethernet.
//!
//! Thirty lines instead of the crate `pcap-file`, whose current line of releases has no stable one
//! and needs a newer Rust than this workspace.

use std::fs;
use std::path::Path;

const MICROSECONDS: u32 = 0xA1B2_C3D4;
const NANOSECONDS: u32 = 0xA1B2_3C4D;

/// A captured frame.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) at_ns: u64,
    /// Its length on the wire.
    pub(crate) length: usize,
    /// Its bytes, as far as they were captured.
    pub(crate) bytes: Vec<u8>,
}

/// Writes whole frames at time 0, in a file with microseconds.
pub(crate) fn write_pcap(path: &Path, frames: &[Vec<u8>]) {
    let mut file = Vec::new();
    for word in [MICROSECONDS, 0x0004_0002, 0, 0, 65_535, 1] {
        file.extend(word.to_le_bytes());
    }
    for frame in frames {
        let length = u32::try_from(frame.len()).unwrap();
        for word in [0, 0, length, length] {
            file.extend(word.to_le_bytes());
        }
        file.extend(frame);
    }
    fs::write(path, file).unwrap();
}

/// Reads a file with microseconds or nanoseconds.
pub(crate) fn read_records(path: &Path) -> Vec<Record> {
    let file = fs::read(path).unwrap();
    let word = |at: usize| u32::from_le_bytes(*file[at..].first_chunk().unwrap());
    let unit_ns = match (word(0), word(20)) {
        (MICROSECONDS, 1) => 1_000,
        (NANOSECONDS, 1) => 1,
        (magic, link) => panic!("magic {magic:#x}, link type {link}: not pcap of Ethernet"),
    };
    let (mut records, mut at) = (Vec::new(), 24);
    while at < file.len() {
        let captured = word(at + 8) as usize;
        records.push(Record {
            at_ns: u64::from(word(at)) * 1_000_000_000 + u64::from(word(at + 4)) * unit_ns,
            length: word(at + 12) as usize,
            bytes: file[at + 16..at + 16 + captured].to_vec(),
        });
        at += 16 + captured;
    }
    records
}

/// The frames of a file, each captured whole.
pub(crate) fn read_pcap(path: &Path) -> Vec<Vec<u8>> {
    let frame = |record: Record| {
        assert_eq!(record.bytes.len(), record.length, "captured whole");
        record.bytes
    };
    read_records(path).into_iter().map(frame).collect()
}
