//! A frame from a capture: pcap or pcapng.

use pcap_file::DataLink;
use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::{Block, PcapNgReader};

/// A frame of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CapturedFrame {
    /// What the capture has of it.
    pub(super) head: Vec<u8>,
    /// Its length on the wire.
    pub(super) frame_bytes: usize,
}

/// Why there is no frame: one line.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum CaptureError {
    /// The file is something else.
    #[error("this is no pcap or pcapng file: {0}")]
    NotPcap(String),
    /// It is not of Ethernet.
    #[error("the capture is of {0}, not of Ethernet")]
    NotEthernet(String),
    /// It ends before.
    #[error("the capture has {0} frames; there is no frame {1}")]
    TooFew(usize, usize),
    /// It was cut.
    #[error("the capture has {0} bytes of the frame's {1}; its headers are not whole")]
    Cut(usize, usize),
}

/// Bytes of a frame that must be there, if it has so many.
const HEADERS: usize = dataplane::frame::HEAD_BYTES;
/// First octets of a pcapng file.
const PCAPNG: [u8; 4] = [0x0A, 0x0D, 0x0D, 0x0A];

/// Frame `number`, from 1, of the capture `bytes`.
///
/// # Errors
/// There is none.
pub(super) fn frame(bytes: &[u8], number: usize) -> Result<CapturedFrame, CaptureError> {
    let found =
        if bytes.starts_with(&PCAPNG) { of_pcapng(bytes, number) } else { of_pcap(bytes, number) }?;
    if found.head.len() < HEADERS.min(found.frame_bytes) {
        return Err(CaptureError::Cut(found.head.len(), found.frame_bytes));
    }
    Ok(found)
}

fn not_pcap(error: &pcap_file::PcapError) -> CaptureError {
    CaptureError::NotPcap(error.to_string().to_lowercase())
}

fn check_ethernet(link: DataLink) -> Result<(), CaptureError> {
    if link == DataLink::ETHERNET {
        return Ok(());
    }
    Err(CaptureError::NotEthernet(format!("{link:?}")))
}

fn of_pcap(bytes: &[u8], number: usize) -> Result<CapturedFrame, CaptureError> {
    let mut reader = PcapReader::new(bytes).map_err(|error| not_pcap(&error))?;
    check_ethernet(reader.header().datalink)?;
    let mut count = 0;
    while let Some(packet) = reader.next_packet() {
        let packet = packet.map_err(|error| not_pcap(&error))?;
        count += 1;
        if count == number {
            let frame_bytes = packet.orig_len as usize;
            return Ok(CapturedFrame { head: packet.data.into_owned(), frame_bytes });
        }
    }
    Err(CaptureError::TooFew(count, number))
}

fn of_pcapng(bytes: &[u8], number: usize) -> Result<CapturedFrame, CaptureError> {
    let mut reader = PcapNgReader::new(bytes).map_err(|error| not_pcap(&error))?;
    let mut links = Vec::new();
    let mut count = 0;
    while let Some(block) = reader.next_block() {
        let (interface, head, frame_bytes) = match block.map_err(|error| not_pcap(&error))? {
            Block::InterfaceDescription(interface) => {
                links.push(interface.linktype);
                continue;
            }
            Block::SectionHeader(_) => {
                links.clear();
                continue;
            }
            Block::EnhancedPacket(it) => (it.interface_id, it.data, it.original_len),
            Block::SimplePacket(it) => (0, it.data, it.original_len),
            _ => continue,
        };
        count += 1;
        if count == number {
            let link = links.get(interface as usize).copied();
            check_ethernet(link.unwrap_or(DataLink::NULL))?;
            let frame_bytes = frame_bytes as usize;
            return Ok(CapturedFrame { head: head.into_owned(), frame_bytes });
        }
    }
    Err(CaptureError::TooFew(count, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame_of(number: u8) -> Vec<u8> {
        (0..150).map(|at: u8| at.wrapping_mul(number)).collect()
    }

    /// A pcap of two frames, of which `kept` bytes each were kept.
    fn pcap(link: u32, kept: usize) -> Vec<u8> {
        let head = [0xA1B2_C3D4_u32, 0x0004_0002, 0, 0, 65_535, link].map(u32::to_le_bytes);
        let mut bytes = head.concat();
        for number in [1, 2] {
            let length = u32::try_from(kept).unwrap();
            bytes.extend([0, 0, length, 150].map(u32::to_le_bytes).concat());
            bytes.extend(&frame_of(number)[..kept]);
        }
        bytes
    }

    /// A pcapng with one interface and an enhanced packet block.
    fn pcapng(link: u16) -> Vec<u8> {
        let block = |kind: u32, body: &[u8]| {
            let length = u32::try_from(body.len() + 12).unwrap().to_le_bytes();
            [&kind.to_le_bytes()[..], &length, body, &length].concat()
        };
        let section = [&[0x4D, 0x3C, 0x2B, 0x1A, 1, 0, 0, 0][..], &[0xFF; 8]].concat();
        let interface = [&link.to_le_bytes()[..], &[0; 6]].concat();
        let lengths = [0, 0, 0, 150, 150].map(u32::to_le_bytes).concat();
        let packet = [&lengths[..], &frame_of(3), &[0; 2]].concat();
        [block(0x0A0D_0D0A, &section), block(1, &interface), block(6, &packet)].concat()
    }

    #[test]
    fn a_frame_is_read_by_its_number() {
        for number in [1, 2] {
            let expected =
                CapturedFrame { head: frame_of(u8::try_from(number).unwrap()), frame_bytes: 150 };
            assert_eq!(frame(&pcap(1, 150), number), Ok(expected));
        }
        let cut = frame(&pcap(1, 130), 2).unwrap();
        assert_eq!((cut.head.len(), cut.frame_bytes), (130, 150), "all headers are there");
        let expected = CapturedFrame { head: frame_of(3), frame_bytes: 150 };
        assert_eq!(frame(&pcapng(1), 1), Ok(expected));
    }

    #[test]
    fn what_has_no_such_frame_is_refused_with_a_reason() {
        let say = |bytes: &[u8], number| frame(bytes, number).unwrap_err().to_string();
        assert_eq!(say(&pcap(1, 150), 3), "the capture has 2 frames; there is no frame 3");
        assert_eq!(
            say(&pcap(1, 60), 1),
            "the capture has 60 bytes of the frame's 150; its headers are not whole"
        );
        assert!(say(&pcap(101, 150), 1).ends_with("not of Ethernet"));
        assert!(say(&pcapng(101), 1).ends_with("not of Ethernet"));
        assert!(say(b"name = 'A'", 1).starts_with("this is no pcap or pcapng file: "));
    }
}
