//! Classic pcap files of Ethernet frames.

use pcap_file::DataLink;
use pcap_file::pcap::{PcapPacket, PcapReader, PcapWriter};
use std::fs::File;
use std::path::Path;
use std::time::Duration;

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
    let mut file = PcapWriter::new(File::create(path).unwrap()).unwrap();
    for frame in frames {
        let length = u32::try_from(frame.len()).unwrap();
        file.write_packet(&PcapPacket::new(Duration::ZERO, length, frame)).unwrap();
    }
}

/// Reads a file with microseconds or nanoseconds.
pub(crate) fn read_records(path: &Path) -> Vec<Record> {
    let mut file = PcapReader::new(File::open(path).unwrap()).unwrap();
    assert_eq!(file.header().datalink, DataLink::ETHERNET);
    let mut records = Vec::new();
    while let Some(packet) = file.next_packet() {
        let packet = packet.unwrap();
        records.push(Record {
            at_ns: u64::try_from(packet.timestamp.as_nanos()).unwrap(),
            length: usize::try_from(packet.orig_len).unwrap(),
            bytes: packet.data.into_owned(),
        });
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
