//! A frame in DPDK's buffers: one mbuf, or a chain of them for a long frame.

use dataplane::frame::{Frame, HEAD_BYTES};
use dpdk_sys::{rte_mbuf, shim_mbuf};
use std::fmt;
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};

/// A frame that belongs to whoever holds this; dropping it returns its buffers to their pool.
///
/// What makes it safe: the chain from `0` is well formed (each segment's data lies within its
/// buffer, `pkt_len` is the sum of `data_len`), nothing else refers to it, and its pool outlives it
/// (see [`Pool`](super::mempool::Pool)). A device's driver promises the first two for what it
/// receives, and gives up the buffer when it does so.
#[repr(transparent)]
pub struct Mbuf(NonNull<shim_mbuf>);

// SAFETY: the buffers belong to this value alone, and any thread may free to a pool.
unsafe impl Send for Mbuf {}

impl Mbuf {
    /// Takes over a chain.
    ///
    /// # Safety
    /// It must be as the type's documentation says, and belong to the caller.
    pub(super) const unsafe fn from_raw(raw: NonNull<rte_mbuf>) -> Self {
        Self(raw.cast())
    }

    pub(super) const fn as_raw(&self) -> *mut rte_mbuf {
        self.0.as_ptr().cast()
    }

    #[inline(always)]
    const fn first(&self) -> &shim_mbuf {
        // SAFETY: valid and exclusively ours (type invariant), borrowed as long as `self` is.
        unsafe { self.0.as_ref() }
    }

    #[inline(always)]
    const fn first_mut(&mut self) -> &mut shim_mbuf {
        // SAFETY: as in `first`, and `self` is borrowed mutably.
        unsafe { self.0.as_mut() }
    }

    /// How many pieces the frame is in.
    #[inline]
    pub const fn segments(&self) -> u16 {
        self.first().nb_segs
    }

    /// The pieces in order.
    pub fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        let mut next = Some(self.first());
        std::iter::from_fn(move || {
            let segment = next?;
            // SAFETY: the chain is well formed: `next` is null or a valid segment of this frame.
            next = unsafe { segment.next.as_ref() };
            Some(data(segment))
        })
    }

    /// Prefetches the headers. Their address is in the mbuf's first cache line, which a driver has
    /// just written.
    #[inline(always)]
    pub(super) fn prefetch_head(&self) {
        let start = data_start(self.first()).cast_const().cast::<i8>();
        // SAFETY: a prefetch never faults; SSE is part of x86-64.
        unsafe { core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(start) };
    }

    /// Puts `bytes` behind the first piece; false (and no change) if they do not fit there or the
    /// frame has further pieces.
    pub fn append(&mut self, bytes: &[u8]) -> bool {
        let (used, Ok(more)) = (self.first().data_len, u16::try_from(bytes.len())) else {
            return false;
        };
        if more > tailroom(self.first()) || self.segments() != 1 {
            return false;
        }
        let first = self.first_mut();
        // SAFETY: data_off + data_len + more <= buf_len, so this stays inside the buffer.
        let end = unsafe { data_start(first).add(usize::from(used)) };
        // SAFETY: `more` bytes fit behind `end`, and `bytes` cannot overlap a buffer that is ours.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), end, bytes.len()) };
        first.data_len += more;
        first.pkt_len += u32::from(more);
        true
    }

    /// Appends `tail` as the last segment. Walks the chain: not for the packet path.
    pub(super) fn chain(&mut self, tail: Self) {
        let tail = ManuallyDrop::new(tail).0;
        // SAFETY: the tail was a frame of its own until now, and becomes part of this one below.
        let head_of_tail = unsafe { tail.as_ref() };
        let (segments, bytes) = (head_of_tail.nb_segs, head_of_tail.pkt_len);
        let first = self.first_mut();
        first.nb_segs += segments;
        first.pkt_len += bytes;
        let mut last = first;
        // SAFETY: the chain is well formed: `next` is null or a valid segment, which is ours alone.
        while let Some(next) = unsafe { last.next.as_mut() } {
            last = next;
        }
        last.next = tail.as_ptr();
    }

    /// Whether [`Frame::head`] is as long as documented. Only a chain can be shorter.
    #[inline(always)]
    pub(super) const fn has_head(&self) -> bool {
        let first = self.first();
        first.nb_segs == 1 || first.data_len as usize >= HEAD_BYTES
    }

    /// Moves bytes forward from the second segment on until the head is contiguous; false if the
    /// first buffer has no room for that, and then some may have moved: the frame is intact.
    pub(super) fn pull_up_head(&mut self) -> bool {
        while !self.has_head() {
            let missing = HEAD_BYTES - usize::from(self.first().data_len);
            let room = usize::from(tailroom(self.first()));
            if room == 0 {
                return false;
            }
            self.pull_from_second(missing.min(room));
        }
        true
    }

    /// Moves up to `wanted` bytes from the second segment to the end of the first, which has room
    /// for them, and frees the second if that empties it.
    fn pull_from_second(&mut self, wanted: usize) {
        let first = self.first_mut();
        let Some(second) = NonNull::new(first.next) else {
            // A chain may claim more segments than it has; the loop must not rely on the count.
            first.nb_segs = 1;
            first.pkt_len = u32::from(first.data_len);
            return;
        };
        // SAFETY: the chain is well formed and ours; `second` is another segment than `first`.
        let second = unsafe { &mut *second.as_ptr() };
        #[expect(clippy::cast_possible_truncation, reason = "at most data_len, which is 16 bits")]
        let moved = wanted.min(usize::from(second.data_len)) as u16;
        // SAFETY: the end of the first segment's data lies within its buffer.
        let end = unsafe { data_start(first).add(usize::from(first.data_len)) };
        // SAFETY: `moved` bytes are in the second segment and fit into the first one's tailroom,
        // and two segments never share a buffer.
        unsafe { ptr::copy_nonoverlapping(data_start(second), end, usize::from(moved)) };
        first.data_len += moved;
        second.data_off += moved;
        second.data_len -= moved;
        if second.data_len == 0 {
            first.next = second.next;
            first.nb_segs -= 1;
            second.next = ptr::null_mut();
            second.nb_segs = 1;
            // SAFETY: unlinked above, so it is a whole chain of its own that nobody refers to.
            unsafe { dpdk_sys::shim_rte_pktmbuf_free(ptr::from_mut(second).cast()) };
        }
    }
}

#[inline(always)]
const fn data_start(segment: &shim_mbuf) -> *mut u8 {
    // SAFETY: data_off is at most buf_len, so this points into the buffer or to its end.
    unsafe { segment.buf_addr.cast::<u8>().add(segment.data_off as usize) }
}

#[inline(always)]
const fn data(segment: &shim_mbuf) -> &[u8] {
    // SAFETY: data_len initialized bytes start there, within the buffer (type invariant of Mbuf).
    unsafe { std::slice::from_raw_parts(data_start(segment), segment.data_len as usize) }
}

const fn tailroom(segment: &shim_mbuf) -> u16 {
    segment.buf_len.saturating_sub(segment.data_off).saturating_sub(segment.data_len)
}

impl Frame for Mbuf {
    #[inline(always)]
    fn head(&self) -> &[u8] {
        data(self.first())
    }

    #[inline(always)]
    fn head_mut(&mut self) -> &mut [u8] {
        let first = self.first_mut();
        // SAFETY: as in `data`, and the frame is borrowed mutably, so this is the only view of it.
        unsafe { std::slice::from_raw_parts_mut(data_start(first), usize::from(first.data_len)) }
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.first().pkt_len as usize
    }

    #[inline]
    fn grow_front(&mut self, bytes: usize) -> bool {
        let first = self.first_mut();
        let Ok(more) = u16::try_from(bytes) else { return false };
        if more > first.data_off {
            return false;
        }
        first.data_off -= more;
        first.data_len += more;
        first.pkt_len += u32::from(more);
        true
    }

    #[inline]
    fn shrink_front(&mut self, bytes: usize) -> bool {
        let first = self.first_mut();
        let Ok(less) = u16::try_from(bytes) else { return false };
        if less > first.data_len {
            return false;
        }
        first.data_off += less;
        first.data_len -= less;
        first.pkt_len -= u32::from(less);
        true
    }

    #[inline(always)]
    fn prefetch_bookkeeping(&self) {
        let start = self.0.as_ptr().cast_const().cast::<i8>();
        // An mbuf is two cache lines: the driver reads the first, and the second when it frees.
        for line in [start, start.wrapping_add(64)] {
            // SAFETY: a prefetch never faults; SSE is part of x86-64.
            unsafe {
                core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(line)
            };
        }
    }
}

impl Drop for Mbuf {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the chain is valid and ours, and gone with this value.
        unsafe { dpdk_sys::shim_rte_pktmbuf_free(self.as_raw()) };
    }
}

impl fmt::Debug for Mbuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mbuf")
            .field("len", &self.len())
            .field("segments", &self.segments())
            .finish_non_exhaustive()
    }
}
