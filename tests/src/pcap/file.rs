//! Pcap files: the classic form, Ethernet, whole frames. Timestamps are not read, and count frames
//! when written, so that the same frames always make the same file.

use pcap_file::pcap::{PcapPacket, PcapReader, PcapWriter};
use pcap_file::{DataLink, PcapError};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A frame's bytes.
pub(super) type Bytes = Vec<u8>;

/// A pcap file that cannot be read, written or used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {error:?}", path.display())]
pub struct FileError {
    path: PathBuf,
    error: PcapError,
}

/// The frames of the file at `path`.
///
/// # Errors
/// It cannot be read, or is not whole.
pub(super) fn read(path: &Path) -> Result<Vec<Bytes>, FileError> {
    let file = File::open(path).map_err(PcapError::IoError);
    file.and_then(parse).map_err(|error| FileError { path: path.to_owned(), error })
}

/// Writes `frames` to `path`.
///
/// # Errors
/// It cannot be written.
pub fn write(path: &Path, frames: &[Bytes]) -> Result<(), FileError> {
    let file = File::create(path).map_err(PcapError::IoError);
    let written = file.and_then(|file| emit(file, frames));
    written.map_err(|error| FileError { path: path.to_owned(), error })
}

fn parse(file: impl Read) -> Result<Vec<Bytes>, PcapError> {
    let mut reader = PcapReader::new(file)?;
    if reader.header().datalink != DataLink::ETHERNET {
        return Err(PcapError::InvalidField("not of Ethernet frames"));
    }
    let mut frames = Vec::new();
    while let Some(packet) = reader.next_packet() {
        let packet = packet?;
        if usize::try_from(packet.orig_len) != Ok(packet.data.len()) {
            return Err(PcapError::InvalidField("a frame that was not captured whole"));
        }
        frames.push(packet.data.into_owned());
    }
    Ok(frames)
}

fn emit(file: impl Write, frames: &[Bytes]) -> Result<(), PcapError> {
    let mut writer = PcapWriter::new(file)?;
    for (microsecond, frame) in (0..).zip(frames) {
        let length = u32::try_from(frame.len()).unwrap_or(u32::MAX);
        let at = Duration::from_micros(microsecond);
        writer.write_packet(&PcapPacket::new(at, length, frame))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(frames: &[Bytes]) -> Vec<u8> {
        let mut file = Vec::new();
        emit(&mut file, frames).unwrap();
        file
    }

    #[test]
    fn what_is_written_is_read() {
        let frames = vec![vec![1, 2, 3], vec![], vec![9; 9_000]];
        assert_eq!(parse(&*file(&frames)).unwrap(), frames);
        assert_eq!(parse(&*file(&[])).unwrap(), Vec::<Bytes>::new());
    }

    #[test]
    fn a_file_cut_short_anywhere_but_between_frames_is_no_file() {
        let whole = file(&[vec![1; 10], vec![2; 20]]);
        let between = [24, 24 + 16 + 10, whole.len()];
        for end in 0..=whole.len() {
            assert_eq!(parse(&whole[..end]).is_ok(), between.contains(&end), "{end} bytes");
        }
    }

    #[test]
    fn other_formats_and_cut_frames_are_refused() {
        let mut no_pcap = file(&[]);
        no_pcap[0] ^= 1;
        parse(&*no_pcap).unwrap_err();
        let mut not_ethernet = file(&[]);
        not_ethernet[20] = 101;
        let refused = parse(&*not_ethernet).unwrap_err();
        assert!(matches!(refused, PcapError::InvalidField("not of Ethernet frames")));
        let mut cut = file(&[vec![1; 10]]);
        cut[24 + 12] = 200;
        let refused = parse(&*cut).unwrap_err();
        assert!(matches!(refused, PcapError::InvalidField("a frame that was not captured whole")));
    }
}
