//! The frame of the emulated network, and the pool its buffers come from.
//!
//! As an mbuf chain does, a frame shows its first bytes and only counts the rest: headers and mark
//! are real, what follows them is never read by anybody and not stored. So a frame costs three
//! cache lines whatever its length.

use dataplane::frame::{Frame, HEAD_BYTES};
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

/// Room in front of a new frame, for what the switch may push.
const FRONT_BYTES: usize = 56;
/// Bytes stored: what [`Frame::head`] promises, also after two VLAN tags were taken off.
const STORED_BYTES: usize = HEAD_BYTES + 8;

/// One frame.
pub(crate) struct SimFrame(Box<Buffer>);

struct Buffer {
    bytes: [u8; FRONT_BYTES + STORED_BYTES],
    start: u16,
    end: u16,
    /// Bytes behind those that are stored.
    tail_bytes: u16,
    /// What the tag checker saw last; travels beside the frame, where no switch sees it.
    tag_rank: u8,
}

impl SimFrame {
    /// See [`TagWatch`](crate::checker::TagWatch).
    pub(crate) const fn tag_rank_mut(&mut self) -> &mut u8 {
        &mut self.0.tag_rank
    }
}

impl fmt::Debug for SimFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02x?} + {}", self.head(), self.0.tail_bytes)
    }
}

impl Frame for SimFrame {
    #[inline(always)]
    fn head(&self) -> &[u8] {
        &self.0.bytes[usize::from(self.0.start)..usize::from(self.0.end)]
    }

    #[inline(always)]
    fn head_mut(&mut self) -> &mut [u8] {
        &mut self.0.bytes[usize::from(self.0.start)..usize::from(self.0.end)]
    }

    #[inline(always)]
    fn len(&self) -> usize {
        usize::from(self.0.end - self.0.start) + usize::from(self.0.tail_bytes)
    }

    fn grow_front(&mut self, bytes: usize) -> bool {
        let room = u16::try_from(bytes).ok().and_then(|bytes| self.0.start.checked_sub(bytes));
        room.map(|start| self.0.start = start).is_some()
    }

    fn shrink_front(&mut self, bytes: usize) -> bool {
        let start = u16::try_from(bytes).ok().map(|bytes| self.0.start.saturating_add(bytes));
        start.filter(|&start| start <= self.0.end).map(|start| self.0.start = start).is_some()
    }
}

/// Buffers that wait for their next frame, shared by all nodes of a network. A frame that is
/// dropped and not given back costs an allocation later, nothing else.
#[derive(Clone, Default)]
pub(crate) struct Pool(Rc<RefCell<Vec<SimFrame>>>);

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
        let mut frame = recycled.unwrap_or_else(|| {
            SimFrame(Box::new(Buffer {
                bytes: [0; FRONT_BYTES + STORED_BYTES],
                start: 0,
                end: 0,
                tail_bytes: 0,
                tag_rank: 0,
            }))
        });
        let buffer = &mut frame.0;
        let wanted = usize::from(frame_bytes).max(head.len());
        let stored = wanted.min(STORED_BYTES);
        let real = head.len().min(stored);
        let area = &mut buffer.bytes[FRONT_BYTES..FRONT_BYTES + stored];
        area[..real].copy_from_slice(&head[..real]);
        area[real..].fill(0);
        buffer.start = narrow(FRONT_BYTES);
        buffer.end = narrow(FRONT_BYTES + stored);
        buffer.tail_bytes = narrow(wanted - stored);
        buffer.tag_rank = 0;
        frame
    }

    /// A second frame like `frame`.
    pub(crate) fn copy(&self, frame: &SimFrame) -> SimFrame {
        let mut copy = self.take(frame.head(), narrow(frame.len()));
        copy.0.tag_rank = frame.0.tag_rank;
        copy
    }

    /// Takes a frame's buffer back.
    pub(crate) fn give(&self, frame: SimFrame) {
        self.0.borrow_mut().push(frame);
    }
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
