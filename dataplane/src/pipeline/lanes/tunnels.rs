//! Into tunnels and out of them, eight frames at a time.
//!
//! A frame that goes into a tunnel has a hop that names the tunnel and the hop to its far end; its
//! outer header is written with its Ethernet header. A frame of IPv4 that comes out of a tunnel
//! changes places with its inner packet: from there on it is looked up and rewritten as if it had
//! come without the outer header. Frames with a VLAN tag, or with IPv6, come out by the generic
//! path.

use super::eight::{Eight, HEADER_WORDS, OTHER, are_v4_unicast, checksum_holds, v4_length_holds};
use super::header::{Header, IpStart};
use super::marking::Marking;
use super::rewrite::mended;
use super::routes::{from_be, look_up};
use super::{ALL, be16, lanes_of, octet, words_from};
use crate::fib::{Hop, Leaf};
use crate::frame::Frame;
use crate::snapshot::{FastPathPort, Snapshot};
use crate::tunnel::{Tunnel, TunnelId, TunnelMode};
use crate::wire::{ethernet, ipv4, ipv6};
use core::net::Ipv4Addr;
use wide::u32x8;

/// A hop into a tunnel, in the place of a leaf and of the index of a next hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Through {
    pub(super) id: TunnelId,
    /// The index of the hop to the far end.
    pub(super) hop: usize,
}

impl Through {
    /// Bit 31: no leaf and no index of a hop has it. Then the tunnel in 6 bits, the index in 25.
    const FLAG: u32 = 1 << 31;
    const ID: u32 = Leaf::FIRST_GROUP_BITS.trailing_zeros();

    #[expect(clippy::cast_possible_truncation, reason = "6 and 25 bits")]
    const fn bits(self) -> u32 {
        Self::FLAG | (self.id.index() as u32) << Self::ID | self.hop as u32
    }

    pub(super) const fn from_bits(bits: u32) -> Option<Self> {
        let index = (bits & !Self::FLAG) >> Self::ID;
        match TunnelId::from_index(index as usize) {
            Some(id) if bits & Self::FLAG != 0 => {
                Some(Self { id, hop: bits as usize & (Leaf::FIRST_GROUP_BITS as usize - 1) })
            }
            _ => None,
        }
    }
}

/// The outer headers of the frames of a pair.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outer {
    local: Ipv4Addr,
    remote: Ipv4Addr,
    /// `None`: the inner one.
    dscp: Option<u8>,
    /// `None`: the inner one.
    ttl: Option<u8>,
}

impl Outer {
    pub(super) const NONE: Self =
        Self { local: Ipv4Addr::UNSPECIFIED, remote: Ipv4Addr::UNSPECIFIED, dscp: None, ttl: None };

    /// Those of `tunnel`; `None` if nothing goes into it.
    pub(super) fn new(tunnel: &Tunnel, dscp: Option<u8>) -> Option<Self> {
        let ttl = (tunnel.ttl == TunnelMode::Pipe).then_some(Tunnel::PIPE_TTL);
        Some(Self { local: tunnel.local, remote: tunnel.remote?, dscp, ttl })
    }

    /// Writes Ethernet header, outer header and the start of the inner one.
    #[inline]
    pub(super) fn write<F: Frame>(&self, header: &Header, frame: &mut F, ip: IpStart, is_v6: bool) {
        let [first, second, third, _]: [[u8; 4]; 4] = bytemuck::cast(ip);
        let (protocol, inner_bytes, tos, ttl) = if is_v6 {
            let payload_bytes = u16::from_be_bytes([second[0], second[1]]);
            let class = first[0] << 4 | first[1] >> 4;
            let inner_bytes = payload_bytes.wrapping_add(ipv6::HEADER_LENGTH.into());
            (ipv4::PROTOCOL_IPV6, inner_bytes, class, second[3])
        } else {
            let inner_bytes = u16::from_be_bytes([first[2], first[3]]);
            (ipv4::PROTOCOL_IPV4, inner_bytes, first[1], third[0])
        };
        let total_bytes = inner_bytes.wrapping_add(ipv4::HEADER_LENGTH.into());
        let tos = self.dscp.map_or(tos, |dscp| dscp << 2 | tos & 0b11);
        let ttl = self.ttl.unwrap_or(ttl);
        let outer = ipv4::header(tos, total_bytes, ttl, protocol, self.local, self.remote);
        let Some(behind) = header.write_ethernet(frame, Some(ethernet::IPV4)) else { return };
        let Some((to, inner)) = behind.split_first_chunk_mut() else { return };
        *to = outer;
        super::header::write_ip(inner, ip);
    }
}

impl Eight {
    /// Takes the frames whose destinations were looked up, and that come out of a tunnel or go into
    /// one, to what their inner packets or the tunnels lead to.
    #[inline(never)]
    pub(crate) fn pass_tunnels<F: Frame>(
        &mut self,
        snapshot: &Snapshot,
        port: &FastPathPort,
        frames: &[F],
    ) {
        self.leave_tunnels(snapshot, port, frames);
        let mut leaves = self.leaves.to_array();
        for (lane, (leaf, frame)) in leaves.iter_mut().zip(frames).enumerate() {
            let Some(found) = Leaf::from_bits(*leaf) else { continue };
            let hop = self.member(snapshot, frame, lane, found);
            // A leaf of one hop is that hop's index, so no group is left to choose from.
            *leaf = hop;
            let Hop::Tunnel(id) = *snapshot.fib.hop_at(hop as usize) else { continue };
            let remote = snapshot.tunnels.get(id).and_then(|tunnel| tunnel.remote);
            let Some(remote) = remote else { continue };
            // All outer headers of a tunnel are alike, so the inner flow decides (RFC 6438, 3).
            let member = self.member(snapshot, frame, lane, snapshot.fib.v4(remote.octets()));
            *leaf = Through { id, hop: member as usize }.bits();
        }
        self.leaves = u32x8::new(leaves);
    }

    /// Puts the inner packets of the frames that come out of a tunnel in the place of these. What
    /// it does not take takes the generic path, as it is for one of our own addresses.
    #[inline(always)]
    fn leave_tunnels<F: Frame>(&mut self, snapshot: &Snapshot, port: &FastPathPort, frames: &[F]) {
        if self.is_tagged || port.ttl_classes.is_some() {
            return;
        }
        let leaves = self.leaves.to_array();
        let is_local = |lane: usize| {
            let leaf = Leaf::from_bits(leaves[lane]).unwrap_or(Leaf::NO_ROUTE);
            matches!(snapshot.fib.hop_at(leaf.first()), Hop::Local)
        };
        let taken = ALL & !(self.others() | self.v6);
        let local = lanes_of(taken).filter(|&lane| is_local(lane));
        let mut left = local.fold(0_u32, |lanes, lane| lanes | 1 << lane);
        if left == 0 {
            return;
        }
        let inner = Inner::read(self, frames);
        // Mostly all come out of one tunnel.
        while left != 0 {
            let lane = left.trailing_zeros() as usize;
            left &= !self.leave_tunnel(snapshot, &inner, lane, left);
        }
    }

    /// Does that for the frame in `lane`, and for those of the same tunnel in `left`. Returns them
    /// all, whether they were taken or not.
    fn leave_tunnel(&mut self, snapshot: &Snapshot, inner: &Inner, lane: usize, left: u32) -> u32 {
        let [.., source, destination, _] = self.words;
        let of_lane = |word: u32x8| word.to_array()[lane];
        let same = source.simd_eq(u32x8::splat(of_lane(source)))
            & destination.simd_eq(u32x8::splat(of_lane(destination)));
        let same_bits = same.to_bitmask() & left;
        let [from, to] =
            [source, destination].map(|word| Ipv4Addr::from(of_lane(word).to_le_bytes()));
        let Some((id, tunnel)) = snapshot.tunnels.ending_with_id(from, to) else {
            return same_bits;
        };
        let is_left = super::of_bits(same_bits);
        let is_taken =
            is_left & inner.holds & inner.ecn_holds & inner.ttl(tunnel).simd_gt(u32x8::ONE);
        let taken = is_taken.to_bitmask();
        if taken == 0 {
            return same_bits;
        }
        let leaves = look_up(snapshot.fib.v4_trie(), [from_be(inner.words[4])], is_taken);
        let tos = inner.tos(tunnel);
        let words = inner.with(tos, inner.ttl(tunnel));
        for (word, inner) in self.words.iter_mut().zip(words) {
            *word = is_taken.select(inner, *word);
        }
        let marking = Marking::behind(tos >> 2, inner.outer_tos >> 2, id);
        self.marking = is_taken.select(marking, self.marking);
        self.leaves = is_taken.select(leaves, self.leaves);
        self.left_tunnel |= taken;
        same_bits
    }
}

/// The inner packets of eight frames, and what of the outer headers matters for them.
struct Inner {
    words: [u32x8; HEADER_WORDS],
    outer_tos: u32x8,
    outer_ttl: u32x8,
    /// By lane: all ones if it is a whole packet of IPv4 that routers forward, and so is the outer.
    holds: u32x8,
    /// By lane: the ECN field after the tunnel (RFC 6040, figure 4).
    ecn: u32x8,
    /// By lane: all ones unless the packet must be dropped for its ECN fields.
    ecn_holds: u32x8,
}

impl Inner {
    #[inline(always)]
    fn read<F: Frame>(outer: &Eight, frames: &[F]) -> Self {
        /// More fragments, and the offset.
        const FRAGMENT: u32 = 0xFF3F_0000;
        const END: usize = ethernet::HEADER_BYTES + 2 * ipv4::HEADER_BYTES;
        let [_, _, _, words @ ..] = words_from(frames, END - 32);
        let [first, _, _, source, destination] = words;
        let [outer_first, outer_second, outer_third, ..] = outer.words;
        let outer_bytes = be16(outer_first >> 16);
        let both_headers = u32x8::splat(2 * u32::from(ipv4::HEADER_LENGTH));
        let holds = octet(outer_third >> 8).simd_eq(u32x8::splat(ipv4::PROTOCOL_IPV4.into()))
            & (outer_second & u32x8::splat(FRAGMENT)).simd_eq(u32x8::ZERO)
            & outer_bytes.simd_ge(both_headers)
            & octet(first).simd_eq(u32x8::splat(0x45))
            & v4_length_holds(first, outer_bytes, ipv4::HEADER_BYTES)
            & checksum_holds(words)
            & are_v4_unicast(source, destination);
        let [outer_tos, tos] = [outer_first, first].map(|word| octet(word >> 8));
        let field = u32x8::splat(0b11);
        let (outer_ecn, ecn) = (outer_tos & field, tos & field);
        let is_capable = ecn.simd_ne(u32x8::ZERO);
        let is_congested = outer_ecn.simd_eq(field);
        let is_upgraded = outer_ecn.simd_eq(u32x8::ONE) & ecn.simd_eq(u32x8::splat(0b10));
        let merged = is_congested.select(field, is_upgraded.select(u32x8::ONE, ecn));
        Self {
            words,
            outer_tos,
            outer_ttl: octet(outer_third),
            holds,
            ecn: is_capable & merged,
            ecn_holds: is_capable | !is_congested,
        }
    }

    /// The TOS octet after `tunnel`.
    #[inline(always)]
    fn tos(&self, tunnel: &Tunnel) -> u32x8 {
        let is_uniform = tunnel.dscp == TunnelMode::Uniform;
        let dscp_of = if is_uniform { self.outer_tos } else { octet(self.words[0] >> 8) };
        dscp_of & u32x8::splat(0xFC) | self.ecn
    }

    /// The TTL after `tunnel`.
    #[inline(always)]
    fn ttl(&self, tunnel: &Tunnel) -> u32x8 {
        let is_uniform = tunnel.ttl == TunnelMode::Uniform;
        if is_uniform { self.outer_ttl } else { octet(self.words[2]) }
    }

    /// The inner headers with this TOS and TTL.
    #[inline(always)]
    fn with(&self, tos: u32x8, ttl: u32x8) -> [u32x8; HEADER_WORDS] {
        let [first, second, third, source, destination] = self.words;
        let octet_1 = u32x8::splat(0xFF00);
        let now: u32x8 = first & !octet_1 | tos << 8;
        let changed: u32x8 = (first & octet_1) + octet(third) - (now & octet_1) - ttl;
        let third = third & octet_1 | ttl | mended(third >> 16, changed) << 16;
        [now, second, third, source, destination]
    }
}

const _: () = assert!(OTHER == u32::MAX, "no marking behind a tunnel has all bits");
