//! Frames that carry, beside their bytes, what an account of them needs.

use dataplane::frame::Frame;
use dataplane::ids::Priority;
use dataplane::limits::PRIORITIES;
use std::sync::atomic::{AtomicU64, Ordering};

const FRONT_BYTES: usize = 64;
/// Bytes of a frame that exist; what follows them is only counted, like later segments of an mbuf.
const PRESENT_BYTES: usize = dataplane::frame::HEAD_BYTES;

/// By priority: frames that were freed although they had not left by a port.
pub(crate) static FREED: [AtomicU64; PRIORITIES] = [const { AtomicU64::new(0) }; PRIORITIES];

/// Which frame it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Which flow, and which frame of it, from 0.
    pub(crate) flow: usize,
    pub(crate) number: u64,
    pub(crate) priority: Priority,
}

/// A frame. Data frames have an identity, PFC frames have none.
#[derive(Debug)]
pub(crate) struct Parcel(Box<Inner>);

#[derive(Debug)]
struct Inner {
    buffer: [u8; FRONT_BYTES + PRESENT_BYTES],
    start: u16,
    end: u16,
    /// Bytes after those in the buffer.
    more: u16,
    identity: Option<Identity>,
}

impl Parcel {
    /// A frame of `length` bytes that begins with `bytes`.
    pub(crate) fn new(bytes: &[u8], length: usize, identity: Option<Identity>) -> Self {
        let present = bytes.len().min(PRESENT_BYTES);
        let mut buffer = [0; FRONT_BYTES + PRESENT_BYTES];
        buffer[FRONT_BYTES..][..present].copy_from_slice(&bytes[..present]);
        let word = |value: usize| u16::try_from(value).expect("a frame");
        Self(Box::new(Inner {
            buffer,
            start: word(FRONT_BYTES),
            end: word(FRONT_BYTES + present),
            more: word(length - present),
            identity,
        }))
    }

    /// Which frame it is; `None` for a PFC frame.
    pub(crate) const fn identity(&self) -> Option<Identity> {
        self.0.identity
    }

    /// It has left by a port: it is no loss that it is freed.
    pub(crate) fn has_left(mut self) {
        self.0.identity = None;
    }
}

impl Drop for Parcel {
    fn drop(&mut self) {
        if let Some(identity) = self.0.identity {
            FREED[identity.priority.index()].fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Frame for Parcel {
    fn head(&self) -> &[u8] {
        &self.0.buffer[usize::from(self.0.start)..usize::from(self.0.end)]
    }
    fn head_mut(&mut self) -> &mut [u8] {
        &mut self.0.buffer[usize::from(self.0.start)..usize::from(self.0.end)]
    }
    fn len(&self) -> usize {
        usize::from(self.0.end - self.0.start) + usize::from(self.0.more)
    }
    fn grow_front(&mut self, bytes: usize) -> bool {
        let start = u16::try_from(bytes).ok().and_then(|bytes| self.0.start.checked_sub(bytes));
        start.map(|start| self.0.start = start).is_some()
    }
    fn shrink_front(&mut self, bytes: usize) -> bool {
        let start = usize::from(self.0.start) + bytes;
        let fits = start <= usize::from(self.0.end);
        if fits {
            self.0.start = u16::try_from(start).expect("within the frame");
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_that_is_freed_before_it_has_left_is_counted() {
        let priority = Priority::from_low_bits(6);
        let parcel = || Parcel::new(&[0; 60], 60, Some(Identity { flow: 0, number: 0, priority }));
        parcel().has_left();
        assert_eq!(FREED[6].load(Ordering::Relaxed), 0);
        drop(parcel());
        assert_eq!(FREED[6].load(Ordering::Relaxed), 1);
    }
}
