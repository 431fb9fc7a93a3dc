//! Events as pcapng: an interface for each port, nanoseconds of Unix time, the direction, and two
//! comments a packet: in words, and for programs. tcpdump, tshark and Wireshark read it.

use super::explain::Explainer;
use super::stream::Captured;
use dataplane::capture::record::Kind;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::pcapng::{PcapNgBlock, PcapNgWriter};
use pcap_file::{DataLink, Endianness, PcapError};
use std::borrow::Cow;
use std::io::{self, Write};
use std::time::Duration;

/// `if_tsresol` of nanoseconds.
const NANOSECONDS: u8 = 9;
/// `epb_flags`: the packet came in, or went out.
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;

/// A file that is being written.
pub(super) struct PcapngFile<W: Write> {
    writer: PcapNgWriter<W>,
    explainer: Explainer,
}

impl<W: Write> PcapngFile<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn begin(file: W, explainer: Explainer, snap_bytes: u16) -> io::Result<Self> {
        let section = SectionHeaderBlock {
            endianness: Endianness::Little,
            options: vec![SectionHeaderOption::UserApplication(Cow::Borrowed("knotless capture"))],
            ..SectionHeaderBlock::default()
        };
        let mut writer = PcapNgWriter::with_section_header(file, section).map_err(io_error)?;
        for port in &explainer.capturing.ports {
            let options = vec![
                InterfaceDescriptionOption::IfName(Cow::Borrowed(&port.name)),
                InterfaceDescriptionOption::IfSpeed(port.speed_bps),
                InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
            ];
            let (linktype, snaplen) = (DataLink::ETHERNET, u32::from(snap_bytes));
            let interface = InterfaceDescriptionBlock { linktype, snaplen, options };
            writer.write_block(&interface.into_block()).map_err(io_error)?;
        }
        Ok(Self { writer, explainer })
    }

    /// Writes an event.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn write(&mut self, event: &Captured) -> io::Result<()> {
        let record = &event.record;
        // What was dropped in a queue was on its way out; it has not left.
        let is_out = record.is_outbound && record.kind != Kind::Drop;
        let mut options = vec![
            EnhancedPacketOption::Comment(Cow::Owned(self.explainer.words(event))),
            EnhancedPacketOption::Comment(Cow::Owned(self.explainer.list(event))),
            EnhancedPacketOption::Flags(if is_out { OUTBOUND } else { INBOUND }),
        ];
        if record.missed != 0 {
            options.push(EnhancedPacketOption::DropCount(u64::from(record.missed)));
        }
        let block = EnhancedPacketBlock {
            interface_id: u32::from(record.port.index_u16()),
            timestamp: Duration::from_nanos(self.explainer.unix_ns(record)),
            original_len: record.frame_bytes,
            data: Cow::Borrowed(&event.bytes),
            options,
        };
        self.writer.write_block(&block.into_block()).map(drop).map_err(io_error)
    }

    /// Hands what was written to the reader.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.writer.get_mut().flush()
    }
}

fn io_error(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}

#[cfg(test)]
mod tests {
    use super::super::explain::tests::{event, explainer};
    use super::*;
    use dataplane::capture::record::Ending;
    use pcap_file::pcapng::{Block, PcapNgReader};

    #[test]
    fn what_is_written_is_pcapng() {
        let mut file = PcapngFile::begin(Vec::new(), explainer(), 128).unwrap();
        let mut sent = event(Kind::Out, Ending::Sent);
        sent.record.is_outbound = true;
        file.write(&sent).unwrap();
        let mut missed = event(Kind::In, Ending::Forwarded);
        missed.record.missed = 7;
        file.write(&missed).unwrap();
        let bytes = file.writer.into_inner();
        let mut reader = PcapNgReader::new(&bytes[..]).unwrap();
        let mut packets = Vec::new();
        let mut interfaces = 0;
        while let Some(block) = reader.next_block() {
            match block.unwrap().into_owned() {
                Block::EnhancedPacket(packet) => packets.push(packet),
                Block::InterfaceDescription(_) => interfaces += 1,
                other => panic!("{other:?}"),
            }
        }
        assert_eq!((interfaces, packets.len()), (2, 2));
        let at = u64::try_from(packets[0].timestamp.as_nanos()).unwrap();
        assert_eq!(at, 1_700_000_001_234_567_890);
        assert!(packets[0].options.contains(&EnhancedPacketOption::Flags(OUTBOUND)));
        assert!(packets[1].options.contains(&EnhancedPacketOption::Flags(INBOUND)));
        assert!(packets[1].options.contains(&EnhancedPacketOption::DropCount(7)));
    }
}
