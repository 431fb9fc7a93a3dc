//! Pcap files: the classic form, Ethernet, whole frames. Timestamps are not read, and count frames
//! when written, so that the same frames always make the same file.

use std::path::{Path, PathBuf};

const MAGIC_MICROSECONDS: u32 = 0xA1B2_C3D4;
const MAGIC_NANOSECONDS: u32 = 0xA1B2_3C4D;
const HEADER_BYTES: usize = 24;
const RECORD_BYTES: usize = 16;
const ETHERNET: u32 = 1;
const SNAPLEN: u32 = 65_535;

/// A frame's bytes.
pub(super) type Bytes = Vec<u8>;

/// Why a pcap file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It cannot be read or written.
    #[error("{}: {error}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// It is no little-endian pcap file of Ethernet frames.
    #[error("{}: byte {at}: {wrong}", path.display())]
    Malformed {
        /// Which file.
        path: PathBuf,
        /// Where.
        at: usize,
        /// What is wrong.
        wrong: &'static str,
    },
}

/// The frames of the file at `path`.
///
/// # Errors
/// It cannot be read, or is not whole.
pub(super) fn read(path: &Path) -> Result<Vec<Bytes>, FileError> {
    let bytes =
        std::fs::read(path).map_err(|error| FileError::Io { path: path.to_owned(), error })?;
    parse(&bytes).map_err(|(at, wrong)| FileError::Malformed { path: path.to_owned(), at, wrong })
}

/// Writes `frames` to `path`.
///
/// # Errors
/// It cannot be written.
pub(super) fn write(path: &Path, frames: &[Bytes]) -> Result<(), FileError> {
    std::fs::write(path, emit(frames))
        .map_err(|error| FileError::Io { path: path.to_owned(), error })
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn parse(bytes: &[u8]) -> Result<Vec<Bytes>, (usize, &'static str)> {
    match (word(bytes, 0), word(bytes, 20)) {
        (Some(MAGIC_MICROSECONDS | MAGIC_NANOSECONDS), Some(ETHERNET)) => {}
        _ => return Err((0, "not a little-endian pcap file of Ethernet frames")),
    }
    let mut frames = Vec::new();
    let mut at = HEADER_BYTES;
    while at < bytes.len() {
        let record = word(bytes, at + 8).zip(word(bytes, at + 12));
        let Some((captured, length)) = record else { return Err((at, "a record cut short")) };
        if captured != length {
            return Err((at, "a frame that was not captured whole"));
        }
        let start = at + RECORD_BYTES;
        let end = usize::try_from(captured).ok().and_then(|bytes| start.checked_add(bytes));
        let frame = end.and_then(|end| bytes.get(start..end));
        let Some(frame) = frame else { return Err((start, "a frame cut short")) };
        frames.push(frame.to_vec());
        at = start + frame.len();
    }
    Ok(frames)
}

fn emit(frames: &[Bytes]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in [MAGIC_MICROSECONDS, 4 << 16 | 2, 0, 0, SNAPLEN, ETHERNET] {
        bytes.extend(word.to_le_bytes());
    }
    for (microsecond, frame) in (0_u32..).zip(frames) {
        let length = u32::try_from(frame.len()).unwrap_or(u32::MAX);
        for word in [0, microsecond, length, length] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(frame);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let frames = vec![vec![1, 2, 3], vec![], vec![9; 9_000]];
        assert_eq!(parse(&emit(&frames)), Ok(frames));
        assert_eq!(parse(&emit(&[])), Ok(vec![]));
    }

    #[test]
    fn a_file_cut_short_anywhere_but_between_frames_is_no_file() {
        let whole = emit(&[vec![1; 10], vec![2; 20]]);
        let between = [24, 24 + 16 + 10, whole.len()];
        for end in 0..=whole.len() {
            assert_eq!(parse(&whole[..end]).is_ok(), between.contains(&end), "{end} bytes");
        }
    }

    #[test]
    fn other_formats_and_cut_frames_are_refused() {
        let mut big_endian = emit(&[]);
        big_endian[..4].reverse();
        assert_eq!(parse(&big_endian).unwrap_err().0, 0);
        let mut not_ethernet = emit(&[]);
        not_ethernet[20] = 101;
        assert_eq!(parse(&not_ethernet).unwrap_err().0, 0);
        let mut cut = emit(&[vec![1; 10]]);
        cut[24 + 12] = 200;
        assert_eq!(parse(&cut), Err((24, "a frame that was not captured whole")));
    }
}
