//! The fast path for eight frames at a time, one in each lane of a vector: routed and bridged, IPv4
//! and IPv6, with and without a VLAN tag.
//!
//! | step | file |
//! |---|---|
//! | read the headers, and what the class follows from | [`eight`], [`marking`] |
//! | look up routes | [`routes`] |
//! | learn and look up stations | [`stations`] |
//! | enter and leave tunnels | [`tunnels`] |
//! | tell which frames a capture may follow | [`compares`] |
//! | rewrite and count, by pair of marking and next hop | [`pairs`], [`rewrite`], [`header`] |
//!
//! The result for each frame is that of the generic path, with which the tests compare it. The
//! generic path takes every frame that this one does not.
//!
//! Vectors are those of the `wide` crate: with AVX2 one instruction each, on any other processor
//! several. No other part of the packet path has vectors.

mod compares;
pub(crate) mod eight;
mod header;
mod marking;
pub(crate) mod pairs;
mod rewrite;
pub(crate) mod routes;
pub(crate) mod stations;
mod tunnels;

use crate::frame::Frame;
use crate::limits::BURST_MAX;
use eight::Eight;
use pairs::Pairs;
use wide::u32x8;

/// Frames of one step.
pub(crate) const LANES: usize = 8;

/// Steps of the longest burst.
pub(crate) const EIGHTS: usize = BURST_MAX / LANES;

/// Bits of lanes: all of them.
pub(crate) const ALL: u32 = (1 << LANES) - 1;

/// The memory of the fast path: it lasts for a burst.
#[derive(Debug, Default)]
pub(crate) struct LaneState {
    pub(crate) eights: [Eight; EIGHTS],
    pub(crate) pairs: Pairs,
}

#[inline(always)]
fn of_lanes(value: impl FnMut(usize) -> u32) -> u32x8 {
    u32x8::new(core::array::from_fn(value))
}

/// By lane: all ones if the bit of the lane is set.
#[inline(always)]
fn of_bits(bits: u32) -> u32x8 {
    let each = u32x8::new([1, 2, 4, 8, 16, 32, 64, 128]);
    (u32x8::splat(bits) & each).simd_eq(each)
}

/// By lane: the lowest octet.
#[inline(always)]
fn octet(word: u32x8) -> u32x8 {
    word & u32x8::splat(0xFF)
}

/// By lane: the number in the lowest two octets, which are in network byte order.
#[inline(always)]
fn be16(word: u32x8) -> u32x8 {
    let low: u32x8 = word >> 8;
    octet(word) << 8 | octet(low)
}

/// By lane: the eight words of a frame from octet `from` on, as they lie in memory; 0 of one that
/// is too short.
#[inline(always)]
fn words_from<F: Frame>(frames: &[F], from: usize) -> [u32x8; 8] {
    const SHORT: [u8; 32] = [0; 32];
    let words = |lane: usize| {
        let head = frames.get(lane).and_then(|frame| frame.head().get(from..));
        let octets: &[u8; 32] = head.and_then(<[u8]>::first_chunk).unwrap_or(&SHORT);
        bytemuck::pod_read_unaligned(octets)
    };
    // Written out: the compiler makes a call of a closure over so many elements.
    u32x8::transpose([
        words(0),
        words(1),
        words(2),
        words(3),
        words(4),
        words(5),
        words(6),
        words(7),
    ])
}

/// The lanes whose bits are set, the lowest first.
#[inline(always)]
pub(crate) fn lanes_of(bits: u32) -> impl Iterator<Item = usize> {
    let mut left = bits;
    core::iter::from_fn(move || {
        let lane = left.trailing_zeros() as usize;
        left &= left.wrapping_sub(1);
        (lane < LANES).then_some(lane)
    })
}

#[cfg(test)]
mod tests;
