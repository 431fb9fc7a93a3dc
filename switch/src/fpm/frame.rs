//! From the bytes of a connection to FPM frames: version 1, type 1 (netlink), the length of the
//! whole frame in network byte order, and what is in it (`fpm/fpm.h` of FRR).

/// Bytes of a frame's header.
const HEADER_BYTES: usize = 4;
const VERSION: u8 = 1;
const TYPE_NETLINK: u8 = 1;

/// Why the bytes are no FPM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum FrameError {
    /// Another protocol, or another version of it.
    #[error("a frame of version {version} and type {kind}; 1 and 1 (netlink) are understood")]
    Kind {
        /// The first byte.
        version: u8,
        /// The second one.
        kind: u8,
    },
    /// The frame ends within its header.
    #[error("a frame of {0} bytes, less than its header has")]
    Length(usize),
}

/// Bytes that came, and are no whole frame yet.
#[derive(Debug, Default)]
pub(super) struct Frames {
    bytes: Vec<u8>,
    /// Bytes of it that were taken.
    taken: usize,
}

impl Frames {
    /// Adds what came.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.taken);
        self.taken = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Takes the content of the next frame, if all of it is there.
    ///
    /// # Errors
    /// The bytes are no frame; none of them can be trusted any more.
    pub(super) fn take(&mut self) -> Result<Option<&[u8]>, FrameError> {
        let rest = self.bytes.get(self.taken..).unwrap_or_default();
        let Some(&[version, kind, high, low]) = rest.first_chunk::<HEADER_BYTES>() else {
            return Ok(None);
        };
        if (version, kind) != (VERSION, TYPE_NETLINK) {
            return Err(FrameError::Kind { version, kind });
        }
        let length = usize::from(u16::from_be_bytes([high, low]));
        if length < HEADER_BYTES {
            return Err(FrameError::Length(length));
        }
        let Some(content) = rest.get(HEADER_BYTES..length) else { return Ok(None) };
        self.taken += length;
        Ok(Some(content))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_whole_however_the_bytes_are_cut() {
        let bytes = [1, 1, 0, 6, 7, 8, 1, 1, 0, 4, 1, 1, 0, 5, 9];
        for size in 1..bytes.len() {
            let (mut frames, mut found) = (Frames::default(), Vec::new());
            for part in bytes.chunks(size) {
                frames.push(part);
                while let Some(content) = frames.take().unwrap() {
                    found.push(content.to_vec());
                }
            }
            assert_eq!(found, [vec![7, 8], vec![], vec![9]], "in parts of {size}");
        }
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        let refused = |bytes: &[u8]| {
            let mut frames = Frames::default();
            frames.push(bytes);
            frames.take().map(|content| content.map(<[u8]>::to_vec))
        };
        assert_eq!(refused(b"GET "), Err(FrameError::Kind { version: b'G', kind: b'E' }));
        assert_eq!(refused(&[1, 2, 0, 4]), Err(FrameError::Kind { version: 1, kind: 2 }));
        assert_eq!(refused(&[1, 1, 0, 3]), Err(FrameError::Length(3)));
        assert_eq!(refused(&[1, 1, 0]), Ok(None));
    }
}
