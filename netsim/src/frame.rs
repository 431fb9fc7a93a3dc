//! The frame of the emulated network, and the pool its buffers come from.
//!
//! A frame stores its first bytes and counts the rest: headers and mark are real, and no node reads
//! what follows them. A frame costs three cache lines whatever its length.

use dataplane::frame::{Frame, HEAD_BYTES};
use dataplane::wire::ethernet;
use std::cell::RefCell;
use std::fmt;
use std::sync::Mutex;

/// Room in front of a new frame, for what the switch may push, so that the frame's headers fill one
/// cache line.
const FRONT_BYTES: usize = 64;
/// Bytes stored: what [`Frame::head`] promises, also after two VLAN tags were taken off.
const STORED_BYTES: usize = HEAD_BYTES + 8;
/// Bytes of a buffer, more than are used, as alignment leaves them: no place of eight bits is
/// outside.
const BUFFER_BYTES: usize = 256;

/// Bytes that are written of a frame of this network: headers, with what a switch pushes, and mark;
/// or all of PFC. The bytes behind stay zero through all uses of the buffer.
pub(crate) const WRITTEN_BYTES: usize = 64;

/// One frame. What nodes read of every frame is in its handle, so that only readers and writers of
/// headers wait for memory. The handle is two words, which move in registers.
pub(crate) struct SimFrame {
    buffer: Box<Buffer>,
    traits: Traits,
}

/// What is known of a frame without its bytes, in one word.
#[derive(Clone, Copy)]
struct Traits(u64);

impl Traits {
    /// Where the bytes start and end in the buffer, and the bytes behind those that are stored.
    const START: u32 = 0;
    const END: u32 = 8;
    const TAIL: u32 = 16;
    /// The rank that the tag checker saw last. It travels beside the frame, invisible to switches.
    const RANK: u32 = 32;
    /// Whether it is MAC control; whether more was written than [`WRITTEN_BYTES`], and its buffer
    /// is not used again.
    const CONTROL: u32 = 40;
    const WIDE: u32 = 41;

    #[inline(always)]
    const fn new(start: u8, end: u8, tail_bytes: u16) -> Self {
        let ends = (start as u64) << Self::START | (end as u64) << Self::END;
        Self(ends | (tail_bytes as u64) << Self::TAIL)
    }

    #[inline(always)]
    const fn with(self, bit: u32, is_set: bool) -> Self {
        Self(self.0 | (is_set as u64) << bit)
    }

    #[inline(always)]
    const fn has(self, bit: u32) -> bool {
        self.0 >> bit & 1 == 1
    }

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "one octet of the word")]
    const fn octet(self, shift: u32) -> u8 {
        (self.0 >> shift) as u8
    }

    #[inline(always)]
    const fn set_octet(&mut self, shift: u32, value: u8) {
        self.0 = self.0 & !(0xFF << shift) | (value as u64) << shift;
    }

    #[inline(always)]
    const fn start(self) -> usize {
        self.octet(Self::START) as usize
    }

    #[inline(always)]
    const fn end(self) -> usize {
        self.octet(Self::END) as usize
    }

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "two octets of the word")]
    const fn tail_bytes(self) -> usize {
        (self.0 >> Self::TAIL) as u16 as usize
    }
}

#[repr(align(64))]
struct Buffer {
    bytes: [u8; BUFFER_BYTES],
}

const _: () =
    assert!(size_of::<Option<SimFrame>>() == 16, "four frames of a queue to a cache line");
const _: () = assert!(FRONT_BYTES + STORED_BYTES <= u8::MAX as usize, "places fit eight bits");

impl SimFrame {
    /// See [`TagWatch`](crate::checker::tags::TagWatch).
    #[inline(always)]
    pub(crate) const fn tag_rank(&self) -> u8 {
        self.traits.octet(Traits::RANK)
    }

    #[inline(always)]
    pub(crate) const fn set_tag_rank(&mut self, rank: u8) {
        self.traits.set_octet(Traits::RANK, rank);
    }

    /// Whether this is a MAC control frame: PFC.
    #[inline(always)]
    pub(crate) const fn is_control(&self) -> bool {
        self.traits.has(Traits::CONTROL)
    }

    /// Whether this is an LLDP frame.
    pub(crate) fn is_lldp(&self) -> bool {
        self.bytes().get(12..14) == Some(&ethernet::LLDP.to_be_bytes())
    }

    /// The first octet of the frame as it was made: a read that fetches its memory.
    #[inline(always)]
    pub(crate) fn first_octet(&self) -> u8 {
        self.buffer.bytes[FRONT_BYTES]
    }

    #[inline(always)]
    fn bytes(&self) -> &[u8] {
        &self.buffer.bytes[self.traits.start()..self.traits.end()]
    }
}

impl fmt::Debug for SimFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02x?} + {}", self.bytes(), self.traits.tail_bytes())
    }
}

impl Frame for SimFrame {
    #[inline(always)]
    fn head(&self) -> &[u8] {
        self.bytes()
    }

    #[inline(always)]
    fn head_mut(&mut self) -> &mut [u8] {
        &mut self.buffer.bytes[self.traits.start()..self.traits.end()]
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.traits.end() - self.traits.start() + self.traits.tail_bytes()
    }

    fn grow_front(&mut self, bytes: usize) -> bool {
        let start = self.traits.start().checked_sub(bytes);
        start.map(|start| self.traits.set_octet(Traits::START, place(start))).is_some()
    }

    fn shrink_front(&mut self, bytes: usize) -> bool {
        let start = self.traits.start().saturating_add(bytes);
        let may = start <= self.traits.end();
        if may {
            self.traits.set_octet(Traits::START, place(start));
        }
        may
    }
}

/// Free buffers.
#[expect(clippy::vec_box, reason = "a frame takes the box as it is")]
#[derive(Default)]
pub(crate) struct Buffers(Vec<Box<Buffer>>);

impl fmt::Debug for Buffers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} buffers", self.0.len())
    }
}

thread_local! {
    /// A node takes and gives buffers in the thread that turns it, so no thread waits for another.
    static FREE: RefCell<Buffers> = const { RefCell::new(Buffers(Vec::new())) };
}

/// The free buffers of the current thread, which all nodes that it turns share. A frame that is
/// dropped and not given back costs an allocation later.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pool(());

impl Pool {
    /// With more free buffers than this, a thread lends half of them to threads that have none.
    const MANY: usize = 4_096;

    /// Exchanges the free buffers of this thread for `others`, which outlive the thread.
    pub(crate) fn swap(others: &mut Buffers) {
        FREE.with_borrow_mut(|free| std::mem::swap(free, others));
    }

    /// Evens out threads that receive more frames than they send, and the other way around.
    pub(crate) fn level(lent: &Mutex<Buffers>) {
        FREE.with_borrow_mut(|Buffers(free)| {
            if !free.is_empty() && free.len() <= Self::MANY {
                return;
            }
            let Ok(mut lent) = lent.lock() else { return };
            if free.is_empty() {
                let left = lent.0.len().saturating_sub(Self::MANY / 2);
                free.extend(lent.0.drain(left..));
            } else {
                lent.0.extend(free.drain(Self::MANY / 2..));
            }
        });
    }

    /// A frame of `frame_bytes` that starts with `head`, of which more than the pool stores is cut
    /// off, and goes on with zeros nobody reads. A `head` longer than the frame makes the frame
    /// longer.
    pub(crate) fn take(&self, head: &[u8], frame_bytes: u16) -> SimFrame {
        let mut buffer = self.buffer();
        let wanted = usize::from(frame_bytes).max(head.len());
        let stored = wanted.min(STORED_BYTES);
        let real = head.len().min(stored);
        let written = stored.min(WRITTEN_BYTES.max(real));
        let area = &mut buffer.bytes[FRONT_BYTES..FRONT_BYTES + written];
        area[..real].copy_from_slice(&head[..real]);
        area[real..].fill(0);
        let is_control = head.get(12..14) == Some(&ethernet::MAC_CONTROL.to_be_bytes());
        let traits =
            Traits::new(place(FRONT_BYTES), place(FRONT_BYTES + stored), narrow(wanted - stored))
                .with(Traits::CONTROL, is_control)
                .with(Traits::WIDE, real > WRITTEN_BYTES);
        SimFrame { buffer, traits }
    }

    /// A data frame of `frame_bytes` that starts with `start`, as far as it goes, which is copied
    /// in one go.
    #[inline(always)]
    pub(crate) fn take_data(&self, start: &[u8; WRITTEN_BYTES], frame_bytes: u16) -> SimFrame {
        let mut buffer = self.buffer();
        if let Some(written) = buffer.bytes[FRONT_BYTES..].first_chunk_mut() {
            *written = *start;
        }
        let stored = usize::from(frame_bytes).min(STORED_BYTES);
        let tail_bytes = frame_bytes - narrow(stored);
        let traits = Traits::new(place(FRONT_BYTES), place(FRONT_BYTES + stored), tail_bytes);
        SimFrame { buffer, traits }
    }

    #[inline(always)]
    fn buffer(&self) -> Box<Buffer> {
        let recycled = FREE.with_borrow_mut(|free| free.0.pop());
        recycled.unwrap_or_else(|| Box::new(Buffer { bytes: [0; BUFFER_BYTES] }))
    }

    /// A second frame like `frame`.
    pub(crate) fn copy(&self, frame: &SimFrame) -> SimFrame {
        let mut copy = self.take(frame.head(), narrow(frame.len()));
        copy.set_tag_rank(frame.tag_rank());
        copy
    }

    /// Takes a frame's buffer back.
    pub(crate) fn give(&self, frame: SimFrame) {
        if !frame.traits.has(Traits::WIDE) {
            FREE.with_borrow_mut(|free| free.0.push(frame.buffer));
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

    /// Of a flow's frames.
    const HEAD: usize = crate::flow::HEAD_BYTES;

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
    fn data_frames_are_those_that_any_head_makes() {
        let pool = Pool::default();
        for frame_bytes in [60, 64, 65, 1_500] {
            let mut start = [0; WRITTEN_BYTES];
            start[..HEAD].fill(7);
            pool.give(pool.take(&[0xFF; WRITTEN_BYTES], 200));
            let frame = pool.take_data(&start, frame_bytes);
            let expected = pool.take(&[7; HEAD], frame_bytes);
            assert_eq!((frame.head(), frame.len()), (expected.head(), expected.len()));
            assert_eq!(frame.traits.0, expected.traits.0);
        }
    }

    #[test]
    fn a_recycled_buffer_remembers_nothing() {
        let pool = Pool::default();
        let mut first = pool.take(&[0xFF; 136], 9_000);
        first.set_tag_rank(5);
        first.grow_front(20);
        pool.give(first);
        let second = pool.take(&[1], 64);
        assert_eq!((second.len(), second.tag_rank()), (64, 0));
        assert_eq!(second.head()[..2], [1, 0]);
        assert!(second.head()[1..].iter().all(|&octet| octet == 0));
    }

    #[test]
    fn a_copy_is_the_same_frame() {
        let pool = Pool::default();
        let mut frame = pool.take(&[7; 40], 700);
        frame.head_mut()[3] = 1;
        frame.set_tag_rank(9);
        let copy = pool.copy(&frame);
        assert_eq!((copy.head(), copy.len()), (frame.head(), 700));
        assert_eq!(copy.tag_rank(), 9);
    }
}
