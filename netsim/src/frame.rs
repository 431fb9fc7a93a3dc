//! The frame of the emulated network, and the pool its buffers come from.
//!
//! As an mbuf chain does, a frame shows its first bytes and only counts the rest: headers and mark
//! are real, what follows them is never read by anybody and not stored. So a frame costs three
//! cache lines whatever its length.

use dataplane::frame::{Frame, HEAD_BYTES};
use dataplane::wire::ethernet;
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

/// Room in front of a new frame, for what the switch may push, so that the frame's headers fill one
/// cache line.
const FRONT_BYTES: usize = 64;
/// Bytes stored: what [`Frame::head`] promises, also after two VLAN tags were taken off.
const STORED_BYTES: usize = HEAD_BYTES + 8;

/// Bytes that are written in a frame of this network: headers with what a switch pushes, and mark;
/// or all of PFC. What lies behind stays zero, whatever the buffer is used for.
pub(crate) const WRITTEN_BYTES: usize = 64;

/// One frame. What nodes ask of every frame is in its handle, so that only who reads or writes
/// headers waits for memory; and the handle is small, as queues of them are most of what an
/// emulated network keeps.
pub(crate) struct SimFrame {
    buffer: Box<Buffer>,
    /// Bytes behind those that are stored.
    tail_bytes: u16,
    start: u8,
    end: u8,
    /// What the tag checker saw last; travels beside the frame, where no switch sees it.
    tag_rank: u8,
    is_control: bool,
    /// More was written than [`WRITTEN_BYTES`]; its buffer is not used again.
    is_wide: bool,
}

#[repr(align(64))]
struct Buffer {
    bytes: [u8; FRONT_BYTES + STORED_BYTES],
}

const _: () =
    assert!(size_of::<Option<SimFrame>>() == 16, "four frames of a queue to a cache line");
const _: () = assert!(FRONT_BYTES + STORED_BYTES <= u8::MAX as usize, "places fit eight bits");

impl SimFrame {
    /// See [`TagWatch`](crate::checker::TagWatch).
    pub(crate) const fn tag_rank_mut(&mut self) -> &mut u8 {
        &mut self.tag_rank
    }

    /// Whether this is a MAC control frame: PFC.
    pub(crate) const fn is_control(&self) -> bool {
        self.is_control
    }

    /// Whether this is LLDP, which switches and hosts say of themselves.
    pub(crate) fn is_lldp(&self) -> bool {
        self.bytes().get(12..14) == Some(&ethernet::LLDP.to_be_bytes())
    }

    /// The first octet of the frame as it was made: a way to touch its memory.
    #[inline(always)]
    pub(crate) fn first_octet(&self) -> u8 {
        self.buffer.bytes[FRONT_BYTES]
    }

    fn bytes(&self) -> &[u8] {
        &self.buffer.bytes[usize::from(self.start)..usize::from(self.end)]
    }
}

impl fmt::Debug for SimFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02x?} + {}", self.bytes(), self.tail_bytes)
    }
}

impl Frame for SimFrame {
    #[inline(always)]
    fn head(&self) -> &[u8] {
        self.bytes()
    }

    #[inline(always)]
    fn head_mut(&mut self) -> &mut [u8] {
        &mut self.buffer.bytes[usize::from(self.start)..usize::from(self.end)]
    }

    #[inline(always)]
    fn len(&self) -> usize {
        usize::from(self.end - self.start) + usize::from(self.tail_bytes)
    }

    fn grow_front(&mut self, bytes: usize) -> bool {
        let room = u8::try_from(bytes).ok().and_then(|bytes| self.start.checked_sub(bytes));
        room.map(|start| self.start = start).is_some()
    }

    fn shrink_front(&mut self, bytes: usize) -> bool {
        let start = u8::try_from(bytes).ok().map(|bytes| self.start.saturating_add(bytes));
        start.filter(|&start| start <= self.end).map(|start| self.start = start).is_some()
    }
}

/// Buffers that wait for their next frame, shared by all nodes of a network. A frame that is
/// dropped and not given back costs an allocation later, nothing else.
#[derive(Clone, Default)]
#[expect(clippy::vec_box, reason = "a frame takes the box as it is")]
pub(crate) struct Pool(Rc<RefCell<Vec<Box<Buffer>>>>);

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pool of {}", self.0.borrow().len())
    }
}

impl Pool {
    /// A frame of `frame_bytes` that starts with `head`, of which more than the pool stores is cut
    /// off, and goes on with zeros nobody reads. A `head` longer than the frame makes the frame
    /// longer.
    pub(crate) fn take(&self, head: &[u8], frame_bytes: u16) -> SimFrame {
        let recycled = self.0.borrow_mut().pop();
        let mut buffer =
            recycled.unwrap_or_else(|| Box::new(Buffer { bytes: [0; FRONT_BYTES + STORED_BYTES] }));
        let wanted = usize::from(frame_bytes).max(head.len());
        let stored = wanted.min(STORED_BYTES);
        let real = head.len().min(stored);
        let written = stored.min(WRITTEN_BYTES.max(real));
        let area = &mut buffer.bytes[FRONT_BYTES..FRONT_BYTES + written];
        area[..real].copy_from_slice(&head[..real]);
        area[real..].fill(0);
        SimFrame {
            buffer,
            start: place(FRONT_BYTES),
            end: place(FRONT_BYTES + stored),
            tail_bytes: narrow(wanted - stored),
            tag_rank: 0,
            is_control: head.get(12..14) == Some(&ethernet::MAC_CONTROL.to_be_bytes()),
            is_wide: real > WRITTEN_BYTES,
        }
    }

    /// A second frame like `frame`.
    pub(crate) fn copy(&self, frame: &SimFrame) -> SimFrame {
        let mut copy = self.take(frame.head(), narrow(frame.len()));
        copy.tag_rank = frame.tag_rank;
        copy
    }

    /// Takes a frame's buffer back.
    pub(crate) fn give(&self, frame: SimFrame) {
        if !frame.is_wide {
            self.0.borrow_mut().push(frame.buffer);
        }
    }
}

/// Places in a buffer fit 8 bits, as is asserted.
fn place(at: usize) -> u8 {
    u8::try_from(at).unwrap_or(u8::MAX)
}

/// Lengths of frames fit 16 bits.
fn narrow(bytes: usize) -> u16 {
    u16::try_from(bytes).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_frame_is_all_real_and_a_long_one_shows_what_a_frame_must() {
        let pool = Pool::default();
        let short = pool.take(&[1, 2, 3], 60);
        assert_eq!((short.len(), short.head().len()), (60, 60));
        assert_eq!((&short.head()[..4], short.head()[59]), (&[1, 2, 3, 0][..], 0));
        let mut long = pool.take(&[9; 500], 1_514);
        assert_eq!(long.len(), 1_514);
        assert!(long.shrink_front(8));
        assert_eq!(long.len(), 1_506);
        assert_eq!(long.head(), [9; HEAD_BYTES]);
        assert!(long.grow_front(8 + FRONT_BYTES) && !long.grow_front(1));
        assert_eq!(long.len(), 1_514 + FRONT_BYTES);
        assert!(!long.shrink_front(FRONT_BYTES + STORED_BYTES + 1));
        assert!(long.shrink_front(FRONT_BYTES + STORED_BYTES) && long.head().is_empty());
    }

    #[test]
    fn a_recycled_buffer_remembers_nothing() {
        let pool = Pool::default();
        let mut first = pool.take(&[0xFF; 136], 9_000);
        *first.tag_rank_mut() = 5;
        first.grow_front(20);
        pool.give(first);
        let mut second = pool.take(&[1], 64);
        assert_eq!((second.len(), *second.tag_rank_mut()), (64, 0));
        assert_eq!(second.head()[..2], [1, 0]);
        assert!(second.head()[1..].iter().all(|&octet| octet == 0));
    }

    #[test]
    fn a_copy_is_the_same_frame() {
        let pool = Pool::default();
        let mut frame = pool.take(&[7; 40], 700);
        frame.head_mut()[3] = 1;
        *frame.tag_rank_mut() = 9;
        let mut copy = pool.copy(&frame);
        assert_eq!((copy.head(), copy.len()), (frame.head(), 700));
        assert_eq!(*copy.tag_rank_mut(), 9);
    }
}
