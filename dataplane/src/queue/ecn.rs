//! ECN marking by the depth of the queue that a frame leaves (RFC 3168; the curve is DCQCN's).
//!
//! Marks at dequeue, so that the mark reflects the present queue. A frame that is not ECN-capable
//! is not dropped instead: a lossless frame dropped by ECN would defeat PFC. WRED drops lossy ones.

use crate::frame::Frame;
use crate::queue::veq::QueuedFrame;
use crate::wire::{ipv4, ipv6};

/// Marks the IP header at `l3`. Returns whether the frame now has the CE codepoint.
pub fn mark<F: Frame>(frame: &mut F, l3: u8) -> bool {
    let Some(ip) = frame.head_mut().get_mut(usize::from(l3)..) else { return false };
    match ip.first().map(|first| first >> 4) {
        Some(4) => ip.first_chunk_mut().is_some_and(ipv4::mark_congestion),
        Some(6) => ip.first_chunk_mut().is_some_and(ipv6::mark_congestion),
        _ => false,
    }
}

/// Whether the frame has an IP header that can be marked, or is marked already.
pub(crate) fn is_capable<F: Frame>(queued: &QueuedFrame<F>) -> bool {
    let head = queued.frame.head();
    let Some(ip) = head.get(usize::from(queued.meta.l3)..).filter(|_| queued.meta.l3 != 0) else {
        return false;
    };
    match ip.first().map(|first| first >> 4) {
        Some(4) => ip.get(1).is_some_and(|tos| tos & 0b11 != 0),
        Some(6) => ip.first_chunk().is_some_and(|header| ipv6::traffic_class(header) & 0b11 != 0),
        _ => false,
    }
}
