//! Writing a recording, event by event.

use super::{Origin, PortEvent, PortEventKind, Recording, SNAP_BYTES};
use crate::event::Picoseconds;
use dataplane::ids::PortId;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::interface_statistics::{
    InterfaceStatisticsBlock, InterfaceStatisticsOption,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::pcapng::{PcapNgBlock, PcapNgWriter};
use pcap_file::{DataLink, Endianness, PcapError};
use std::borrow::Cow;
use std::io::{self, Write};
use std::time::Duration;

/// `if_tsresol` of picoseconds: 10^-12 seconds.
pub(super) const PICOSECONDS: u8 = 12;
/// `epb_flags`: the packet came in, or went out.
pub(super) const INBOUND: u32 = 1;
pub(super) const OUTBOUND: u32 = 2;
/// The comment that says how many frames wait in a receive ring.
pub(super) const BACKLOG: &str = "backlog ";
/// The comments of a frame of the control thread, and of a link that is up or down.
pub(super) const CONTROL: &str = "control";
pub(super) const LINK: [&str; 2] = ["link down", "link up"];

/// A recording that is being written.
pub struct RecordingWriter<W: Write> {
    writer: PcapNgWriter<W>,
}

impl<W: Write> std::fmt::Debug for RecordingWriter<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RecordingWriter")
    }
}

impl<W: Write> RecordingWriter<W> {
    /// Begins a recording of ports with these names.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn new(
        file: W,
        origin: Origin,
        ports: impl Iterator<Item = impl Into<String>>,
    ) -> io::Result<Self> {
        let program = SectionHeaderOption::UserApplication(Cow::Borrowed(origin.program()));
        let section = SectionHeaderBlock {
            endianness: Endianness::Little,
            options: vec![program],
            ..SectionHeaderBlock::default()
        };
        let mut writer = PcapNgWriter::with_section_header(file, section).map_err(io_error)?;
        for name in ports {
            let snaplen = u32::try_from(SNAP_BYTES).unwrap_or(0);
            let name = InterfaceDescriptionOption::IfName(Cow::Owned(name.into()));
            let resolution = InterfaceDescriptionOption::IfTsResol(PICOSECONDS);
            let options = vec![name, resolution];
            let linktype = DataLink::ETHERNET;
            let interface = InterfaceDescriptionBlock { linktype, snaplen, options };
            writer.write_block(&interface.into_block()).map_err(io_error)?;
        }
        Ok(Self { writer })
    }

    /// The worker took a frame of `frame_bytes` from `port`, which begins with `head`.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn received(
        &mut self,
        at_ps: Picoseconds,
        port: PortId,
        head: &[u8],
        frame_bytes: usize,
    ) -> io::Result<()> {
        self.packet(at_ps, port, head, frame_bytes, EnhancedPacketOption::Flags(INBOUND))
    }

    /// `port` took a frame of `frame_bytes` from the worker, which begins with `head`.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn sent(
        &mut self,
        at_ps: Picoseconds,
        port: PortId,
        head: &[u8],
        frame_bytes: usize,
    ) -> io::Result<()> {
        self.packet(at_ps, port, head, frame_bytes, EnhancedPacketOption::Flags(OUTBOUND))
    }

    /// The control thread sends a frame of `frame_bytes` at `port`, which begins with `head`.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn injected(
        &mut self,
        at_ps: Picoseconds,
        port: PortId,
        head: &[u8],
        frame_bytes: usize,
    ) -> io::Result<()> {
        self.packet(at_ps, port, head, frame_bytes, comment(CONTROL))
    }

    /// The link of `port` is up, or it is down.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn link(&mut self, at_ps: Picoseconds, port: PortId, up: bool) -> io::Result<()> {
        self.packet(at_ps, port, &[], 0, comment(LINK[usize::from(up)]))
    }

    /// The device of `port` says that so many frames wait in its receive ring.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn backlog(&mut self, at_ps: Picoseconds, port: PortId, frames: u32) -> io::Result<()> {
        self.packet(at_ps, port, &[], 0, comment(&format!("{BACKLOG}{frames}")))
    }

    fn packet(
        &mut self,
        at_ps: Picoseconds,
        port: PortId,
        head: &[u8],
        frame_bytes: usize,
        option: EnhancedPacketOption<'_>,
    ) -> io::Result<()> {
        let block = EnhancedPacketBlock {
            interface_id: u32::from(port.index_u16()),
            // The crate writes nanoseconds of a duration as they are, whatever the resolution.
            timestamp: Duration::from_nanos(at_ps),
            original_len: u32::try_from(frame_bytes).unwrap_or(u32::MAX),
            data: Cow::Borrowed(&head[..head.len().min(SNAP_BYTES)]),
            options: vec![option],
        };
        self.writer.write_block(&block.into_block()).map(drop).map_err(io_error)
    }

    /// Ends the recording at `end_ps`, of which `lost_events` are missing; returns the file.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(mut self, end_ps: Picoseconds, lost_events: u64) -> io::Result<W> {
        let lost = InterfaceStatisticsOption::IsbIfDrop(lost_events);
        let block =
            InterfaceStatisticsBlock { interface_id: 0, timestamp: end_ps, options: vec![lost] };
        self.writer.write_block(&block.into_block()).map_err(io_error)?;
        let mut file = self.writer.into_inner();
        file.flush()?;
        Ok(file)
    }
}

impl Recording {
    /// Writes it to a file; returns the file.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write<W: Write>(&self, file: W) -> io::Result<W> {
        let mut writer = RecordingWriter::new(file, self.origin, self.ports.iter())?;
        for PortEvent { at_ps, port, kind } in &self.events {
            match kind {
                PortEventKind::Received(frame) => {
                    writer.received(*at_ps, *port, &frame.head, frame.frame_bytes)?;
                }
                PortEventKind::Sent(frame) => {
                    writer.sent(*at_ps, *port, &frame.head, frame.frame_bytes)?;
                }
                PortEventKind::Injected(frame) => {
                    writer.injected(*at_ps, *port, &frame.head, frame.frame_bytes)?;
                }
                PortEventKind::Link(up) => writer.link(*at_ps, *port, *up)?,
                PortEventKind::Backlog(frames) => writer.backlog(*at_ps, *port, *frames)?,
            }
        }
        writer.finish(self.end_ps, 0)
    }
}

fn comment(text: &str) -> EnhancedPacketOption<'_> {
    EnhancedPacketOption::Comment(Cow::Borrowed(text))
}

fn io_error(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}
