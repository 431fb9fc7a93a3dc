//! Reading a recording as a whole.

use super::write::{BACKLOG, CONTROL, INBOUND, LINK, OUTBOUND, PICOSECONDS};
use super::{Origin, PortEvent, PortEventKind, RecordedFrame, Recording};
use dataplane::ids::PortId;
use pcap_file::PcapError;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::interface_statistics::InterfaceStatisticsOption;
use pcap_file::pcapng::blocks::section_header::SectionHeaderOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use std::io::Read;

/// Why a file is not a recording that can be replayed.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// It is not pcapng, or it ends within a block.
    #[error("{0}; a recording is a pcapng file that `knotless run --record` wrote")]
    Pcapng(#[from] PcapError),
    /// It was not written as a recording.
    #[error("not a recording of a switch's ports; `knotless run --record FILE` makes one")]
    Foreign,
    /// Times are not picoseconds.
    #[error("interface {name}: times are not picoseconds (if_tsresol {PICOSECONDS})")]
    Resolution {
        /// The interface's name.
        name: String,
    },
    /// A packet says neither that it came in nor that it went out, or is of no interface.
    #[error("packet {number}: {wrong}")]
    Packet {
        /// The packet's number, from 1.
        number: usize,
        /// What is wrong with it.
        wrong: &'static str,
    },
    /// The recorder could not keep up.
    #[error("{events} events are missing from it: the disk was too slow while it was recorded")]
    Incomplete {
        /// How many.
        events: u64,
    },
    /// It has no end, as if the recorder had been killed.
    #[error("its end is missing: the switch that recorded it was killed")]
    Unfinished,
}

impl Recording {
    /// Reads a recording, which must be complete.
    ///
    /// # Errors
    /// It is not one, or something is missing.
    pub fn read(file: impl Read) -> Result<Self, RecordingError> {
        let mut reader = PcapNgReader::new(file)?;
        let program = reader.section().options.iter().find_map(|option| match option {
            SectionHeaderOption::UserApplication(name) => Some(name.as_ref()),
            _ => None,
        });
        let origin = program.and_then(Origin::of_program).ok_or(RecordingError::Foreign)?;
        let (mut ports, mut events, mut lost) = (Vec::new(), Vec::new(), None);
        let mut end_ps = 0;
        while let Some(block) = reader.next_block() {
            match block? {
                Block::InterfaceDescription(interface) => ports.push(port_name(&interface)?),
                Block::EnhancedPacket(packet) => {
                    let wrong = |wrong| RecordingError::Packet { number: events.len() + 1, wrong };
                    events.push(event(&packet, ports.len()).map_err(wrong)?);
                }
                Block::InterfaceStatistics(statistics) => {
                    end_ps = statistics.timestamp;
                    lost = statistics.options.iter().find_map(|option| match option {
                        InterfaceStatisticsOption::IsbIfDrop(events) => Some(*events),
                        _ => None,
                    });
                }
                _ => {}
            }
        }
        match lost {
            None => Err(RecordingError::Unfinished),
            Some(0) => Ok(Self { origin, ports, events, end_ps }),
            Some(events) => Err(RecordingError::Incomplete { events }),
        }
    }
}

fn port_name(interface: &InterfaceDescriptionBlock<'_>) -> Result<String, RecordingError> {
    let name = interface.options.iter().find_map(|option| match option {
        InterfaceDescriptionOption::IfName(name) => Some(name.to_string()),
        _ => None,
    });
    let name = name.unwrap_or_default();
    let is_picoseconds = interface
        .options
        .iter()
        .any(|option| matches!(option, InterfaceDescriptionOption::IfTsResol(PICOSECONDS)));
    if is_picoseconds { Ok(name) } else { Err(RecordingError::Resolution { name }) }
}

fn event(packet: &EnhancedPacketBlock<'_>, ports: usize) -> Result<PortEvent, &'static str> {
    let index = packet.interface_id as usize;
    let port = PortId::from_index(index).filter(|_| index < ports);
    let port = port.ok_or("it names an interface that the file does not describe")?;
    let at_ps = u64::try_from(packet.timestamp.as_nanos()).unwrap_or(u64::MAX);
    let frame =
        || RecordedFrame { head: packet.data.to_vec(), frame_bytes: packet.original_len as usize };
    let kind = packet.options.iter().find_map(|option| match option {
        EnhancedPacketOption::Flags(INBOUND) => Some(PortEventKind::Received(frame())),
        EnhancedPacketOption::Flags(OUTBOUND) => Some(PortEventKind::Sent(frame())),
        EnhancedPacketOption::Comment(text) if text == CONTROL => {
            Some(PortEventKind::Injected(frame()))
        }
        EnhancedPacketOption::Comment(text) if LINK.contains(&text.as_ref()) => {
            Some(PortEventKind::Link(text == LINK[1]))
        }
        EnhancedPacketOption::Comment(text) => {
            text.strip_prefix(BACKLOG)?.parse().ok().map(PortEventKind::Backlog)
        }
        _ => None,
    });
    let kind = kind.ok_or("it says neither that it came in nor that it went out (epb_flags)")?;
    Ok(PortEvent { at_ps, port, kind })
}
