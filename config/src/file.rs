//! Reading a user's file: a regular one, and not one without end.
//!
//! The only place where this crate opens a file. A device or a FIFO may never end, may hold the
//! reader up for ever, and may do something when it is merely opened, so what a name stands for is
//! asked before it is opened, and again afterwards.

use crate::units::show_size;
use nix::fcntl::OFlag;
use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// The longest file that is read. The longest there is a use for is a plan of ten thousand
/// operations with all its constraints, 120 MB.
pub(crate) const FILE_BYTES_MAX: u64 = 256_000_000;

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    /// The system refuses.
    #[error("cannot be read: {0}")]
    System(#[from] io::Error),
    /// It is a directory, a device, a FIFO or a socket.
    #[error("cannot be read: it is a {0}; name a regular file")]
    Special(&'static str),
    /// It is longer than [`FILE_BYTES_MAX`].
    #[error("cannot be read: it is longer than {}; name a shorter one", show_size(FILE_BYTES_MAX))]
    TooLong,
}

/// That a file can be read, as far as can be told without opening it.
pub(crate) fn check_regular(file: &Path) -> Result<(), ReadError> {
    check(&fs::metadata(file)?).map(drop)
}

/// All of a regular file.
pub(crate) fn read(file: &Path) -> Result<Vec<u8>, ReadError> {
    let length = check(&fs::metadata(file)?)?;
    // Not to wait for a writer, should a FIFO have taken the place of the file meanwhile.
    let opened = OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(file)?;
    check(&opened.metadata()?)?;
    let mut bytes = Vec::new();
    bytes.try_reserve(usize::try_from(length).unwrap_or(0)).map_err(io::Error::other)?;
    read_up_to(FILE_BYTES_MAX, opened, &mut bytes)?;
    Ok(bytes)
}

/// A file can grow while it is read.
fn read_up_to(most: u64, file: File, into: &mut Vec<u8>) -> Result<(), ReadError> {
    let read = file.take(most + 1).read_to_end(into)?;
    if read as u64 > most { Err(ReadError::TooLong) } else { Ok(()) }
}

/// The length of a regular file.
fn check(file: &fs::Metadata) -> Result<u64, ReadError> {
    if let Some(special) = special(file.file_type()) {
        return Err(ReadError::Special(special));
    }
    if file.len() > FILE_BYTES_MAX { Err(ReadError::TooLong) } else { Ok(file.len()) }
}

/// What it is, if it is no regular file.
fn special(kind: FileType) -> Option<&'static str> {
    if kind.is_file() {
        None
    } else if kind.is_dir() {
        Some("directory")
    } else if kind.is_char_device() || kind.is_block_device() {
        Some("device")
    } else if kind.is_fifo() {
        Some("pipe")
    } else {
        Some("socket")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::stat::Mode;
    use std::os::unix::net::UnixListener;

    fn error(file: &Path) -> String {
        read(file).unwrap_err().to_string()
    }

    #[test]
    fn a_regular_file_is_read_whole() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("a");
        fs::write(&file, b"\x00text\xff").unwrap();
        assert_eq!(read(&file).unwrap(), b"\x00text\xff");
        let link = place.path().join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert_eq!(read(&link).unwrap().len(), 6, "a link to one is one");
    }

    #[test]
    fn what_is_no_regular_file_is_refused_without_waiting() {
        let place = tempfile::tempdir().unwrap();
        let pipe = place.path().join("pipe");
        nix::unistd::mkfifo(&pipe, Mode::S_IRWXU).unwrap();
        assert_eq!(error(&pipe), "cannot be read: it is a pipe; name a regular file");
        let socket = place.path().join("socket");
        let _listener = UnixListener::bind(&socket).unwrap();
        assert_eq!(error(&socket), "cannot be read: it is a socket; name a regular file");
        assert_eq!(error(place.path()), "cannot be read: it is a directory; name a regular file");
        let zero = Path::new("/dev/zero");
        assert_eq!(error(zero), "cannot be read: it is a device; name a regular file");
    }

    #[test]
    fn a_file_that_is_too_long_is_not_read() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("sparse");
        File::create(&file).unwrap().set_len(FILE_BYTES_MAX + 1).unwrap();
        assert_eq!(error(&file), "cannot be read: it is longer than 256 MB; name a shorter one");
        // One that grows between the look and the reading: /dev/zero is as good as that.
        let mut bytes = Vec::new();
        let endless = read_up_to(1_000, File::open("/dev/zero").unwrap(), &mut bytes);
        assert!(matches!(endless, Err(ReadError::TooLong)));
        assert_eq!(bytes.len(), 1_001);
    }
}
