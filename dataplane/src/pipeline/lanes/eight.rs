//! Reads and classifies the headers of eight frames.

use super::marking::{DEI, PCP, TAGGED};
use super::{EIGHTS, LANES, be16, lanes_of, octet, of_bits, of_lanes};
use crate::frame::{Frame, length_bytes};
use crate::limits::BurstBits;
use crate::pipeline::class::Class;
use crate::snapshot::FastPathPort;
use crate::wire::parse::{Kind, parse};
use crate::wire::{ethernet, ipv4, ipv6};
use wide::u32x8;

/// Words of an IPv4 header without options.
pub(super) const HEADER_WORDS: usize = ipv4::HEADER_BYTES / 4;

/// Words that are kept: those of the header, and the one behind it.
pub(super) const WORDS: usize = HEADER_WORDS + 1;

/// Octets that are read of each frame: Ethernet with a tag, and of IPv6 up to the first one of the
/// destination. Shorter frames are not taken.
const HEAD_BYTES: usize =
    ethernet::HEADER_BYTES + ethernet::TAG_BYTES + ipv6::DESTINATION_OFFSET + 1;

/// Octets in the eight words that end with the one behind an IPv4 header.
const WORDS_BYTES: usize = 32;

/// Bits of a MAC address in eight octets.
const MAC_BITS: u64 = (1 << 48) - 1;

/// The two octets of an ethertype, as the upper half of a word that was read from the wire.
const fn ethertype(value: u16) -> u32 {
    value.swap_bytes() as u32
}

/// Eight frames, or fewer. All have a VLAN tag or none has; other frames are not taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Eight {
    /// The first 24 octets of the IP header: in IPv4 all of it, and the word behind it, where the
    /// ports of UDP and TCP are.
    pub(super) words: [u32x8; WORDS],
    pub(super) frame_bytes: u32x8,
    /// What the class follows from; see [`Marking`](super::marking::Marking). [`OTHER`] for a frame
    /// that is not taken.
    pub(super) marking: u32x8,
    /// Bits of the [`Leaf`](crate::fib::Leaf) that the destination resolved to, or of
    /// [`Through`](super::tunnels::Through); of a bridged frame, of the
    /// [`Target`](super::stations::Target).
    pub(super) leaves: u32x8,
    /// Bits of the frames with IPv6.
    pub(super) v6: u32,
    /// Bits of the frames that came out of a tunnel, and whose words are those of the inner header.
    pub(super) left_tunnel: u32,
    pub(super) is_tagged: bool,
}

impl Default for Eight {
    /// No frames.
    fn default() -> Self {
        let none = u32x8::ZERO;
        Self {
            words: [none; WORDS],
            frame_bytes: none,
            marking: u32x8::splat(OTHER),
            leaves: none,
            v6: 0,
            left_tunnel: 0,
            is_tagged: false,
        }
    }
}

/// The marking of a frame that the fast path does not take.
pub(super) const OTHER: u32 = Class::UNKNOWN.bits();

/// What [`Eight::read`] read: words from the wire, lowest octet first.
struct Read {
    eight: Eight,
    /// The first eight octets, which begin with the destination MAC address.
    mac: [u64; LANES],
    /// The first word of an IPv4 source address.
    source: u32x8,
    /// The first octet of an IPv6 destination address.
    v6_target: u32x8,
    /// The tag control information; 0 without a tag.
    tci: u32x8,
    tos: u32x8,
    ttl: u32x8,
    /// By lane: all ones if it is IP, and the header holds.
    is_ip: u32x8,
}

impl Eight {
    /// Reads the headers of up to eight frames, none of which is taken yet.
    #[inline(always)]
    fn read<'a, F: Frame>(frames: &[Option<&'a F>; LANES]) -> Read {
        const SHORT: [u8; HEAD_BYTES] = [0; HEAD_BYTES];
        // Written out: the compiler makes a call of a closure over so many elements.
        let [a, b, c, d, e, f, g, h] = *frames;
        let head = |frame: Option<&'a F>| -> &'a [u8; HEAD_BYTES] {
            frame.and_then(|frame| frame.head().first_chunk()).unwrap_or(&SHORT)
        };
        let heads = [head(a), head(b), head(c), head(d), head(e), head(f), head(g), head(h)];
        let bytes = |frame: Option<&F>| frame.map_or(0, |frame| u32::from(length_bytes(frame)));
        let frame_bytes = u32x8::new([
            bytes(a),
            bytes(b),
            bytes(c),
            bytes(d),
            bytes(e),
            bytes(f),
            bytes(g),
            bytes(h),
        ]);
        let is_tagged = heads[0][12..14] == ethernet::VLAN.to_be_bytes();
        // The words end behind the IPv4 header, wherever that is.
        let loaded = |l3: usize| {
            let from = l3 + ipv4::HEADER_BYTES + 4 - WORDS_BYTES;
            let words = |head: &[u8; HEAD_BYTES]| {
                bytemuck::pod_read_unaligned(&head[from..][..WORDS_BYTES])
            };
            u32x8::transpose(heads.map(words))
        };
        // Two constant offsets, not one that varies.
        let words = if is_tagged { loaded(l3(true)) } else { loaded(l3(false)) };
        let [tag_word, type_word, first, second, third, source, destination, behind] = words;
        let mac =
            heads.map(|head| head.first_chunk().map_or(0, |octets| u64::from_le_bytes(*octets)));
        let type_is = |value| {
            let found: u32x8 = type_word >> 16;
            found.simd_eq(u32x8::splat(ethertype(value)))
        };
        let l3 = l3(is_tagged);
        let v4 = type_is(ethernet::IPV4)
            & octet(first).simd_eq(u32x8::splat(0x45))
            & v4_length_holds(first, frame_bytes, l3)
            & checksum_holds([first, second, third, source, destination]);
        let (mut is_v6, mut is_ip) = (type_is(ethernet::IPV6), v4);
        let (mut tos, mut ttl) = (octet(first >> 8), octet(third));
        let mut v6_target = u32x8::ZERO;
        if is_v6.any() {
            let at = (l3 + ipv6::DESTINATION_OFFSET).min(HEAD_BYTES - 1);
            let [a, b, c, d, e, f, g, h] = heads;
            let first_of = |head: &[u8; HEAD_BYTES]| u32::from(head[at]);
            // Written out, as above.
            v6_target = u32x8::new([
                first_of(a),
                first_of(b),
                first_of(c),
                first_of(d),
                first_of(e),
                first_of(f),
                first_of(g),
                first_of(h),
            ]);
            is_v6 &= v6_holds(first, second, frame_bytes, l3);
            is_ip |= is_v6;
            let class: u32x8 =
                octet(first << 4) & u32x8::splat(0xF0) | (first >> 12 & u32x8::splat(0xF));
            tos = is_v6.select(class, tos);
            ttl = is_v6.select(second >> 24, ttl);
        }
        let mut marking: u32x8 = tos >> 2;
        let mut tci = u32x8::ZERO;
        if is_tagged {
            let found: u32x8 = tag_word >> 16;
            is_ip &= found.simd_eq(u32x8::splat(ethertype(ethernet::VLAN)));
            tci = be16(type_word);
            marking |= tci >> 13 << PCP;
            marking |= u32x8::splat(1 << TAGGED);
        }
        let eight = Self {
            words: [first, second, third, source, destination, behind],
            frame_bytes,
            marking,
            leaves: u32x8::ZERO,
            v6: is_v6.to_bitmask(),
            left_tunnel: 0,
            is_tagged,
        };
        Read { eight, mac, source, v6_target, tci, tos, ttl, is_ip }
    }

    /// Reads and classifies the headers of the burst `rx`, eight frames after the other. Frames
    /// longer than `frame_bytes_max` and two VLAN tags are not taken. Bit i of the result is set if
    /// frame i is a MAC control frame.
    #[inline(always)]
    pub(crate) fn classify_burst<F: Frame, const IS_BRIDGED: bool>(
        eights: &mut [Self; EIGHTS],
        port: &FastPathPort,
        rx: &[F],
        frame_bytes_max: u16,
    ) -> BurstBits {
        let longest = u32::from(frame_bytes_max) + bytes_of(2 * ethernet::TAG_BYTES);
        let (whole, rest) = rx.as_chunks::<LANES>();
        let mut control_bits = 0;
        for (at, (frames, eight)) in whole.iter().zip(eights.iter_mut()).enumerate() {
            let [a, b, c, d, e, f, g, h] = frames;
            let each = [a, b, c, d, e, f, g, h].map(Some);
            *eight = Self::classify::<F, IS_BRIDGED>(port, &each, longest);
            if eight.others() != 0 {
                control_bits |= eight.control_bits(frames) << (LANES * at);
            }
        }
        let at = whole.len();
        if let Some(eight) = eights.get_mut(at).filter(|_| !rest.is_empty()) {
            Self::classify_rest::<F, IS_BRIDGED>(port, rest, longest, eight);
            control_bits |= eight.control_bits(rest) << (LANES * at);
        }
        control_bits
    }

    /// Classifies the frames at the end of a burst, fewer than eight.
    #[inline(never)]
    fn classify_rest<F: Frame, const IS_BRIDGED: bool>(
        port: &FastPathPort,
        rest: &[F],
        frame_bytes_max: u32,
        eight: &mut Self,
    ) {
        let frames = core::array::from_fn(|lane| rest.get(lane));
        *eight = Self::classify::<F, IS_BRIDGED>(port, &frames, frame_bytes_max);
    }

    /// Reads and classifies up to eight frames of a port, which is bridged or routed.
    #[inline(always)]
    pub(super) fn classify<F: Frame, const IS_BRIDGED: bool>(
        port: &FastPathPort,
        frames: &[Option<&F>; LANES],
        frame_bytes_max: u32,
    ) -> Self {
        let read = Self::read(frames);
        if IS_BRIDGED {
            read.bridged(port, frame_bytes_max)
        } else {
            read.routed(port, frame_bytes_max)
        }
    }
}

/// By lane: all ones if the destination MAC address, of which only the bits in `mask` are kept, is
/// `value`. Mostly it is in all lanes. A `value` with other bits is that of no address.
#[inline(always)]
fn with_mac_bits(mac: [u64; LANES], mask: u64, value: u64) -> u32x8 {
    let differ = mac.into_iter().fold(0, |differ, mac| differ | (mac ^ value));
    if differ & mask | value & !mask == 0 {
        u32x8::MAX
    } else {
        // Other numbers than above, so that only here they have to be in memory.
        with_mac_bits_each(&mac.map(|mac| mac & mask), value)
    }
}

/// [`with_mac_bits`] where the bits that are kept differ.
#[cold]
#[inline(never)]
fn with_mac_bits_each(bits: &[u64; LANES], value: u64) -> u32x8 {
    of_lanes(|lane| if bits[lane] == value { u32::MAX } else { 0 })
}

impl Read {
    /// Classifies up to eight frames of a routed port. One that is longer than
    /// `frame_bytes_max` is not taken.
    #[inline(always)]
    fn routed(self, port: &FastPathPort, frame_bytes_max: u32) -> Eight {
        let Self { mut eight, mac, source, v6_target, tci, tos, ttl, is_ip, .. } = self;
        let mut is_taken = is_ip
            & with_mac_bits(mac, MAC_BITS, port.mac_bits)
            & eight.frame_bytes.simd_le(u32x8::splat(frame_bytes_max))
            & ttl.simd_gt(u32x8::ONE);
        if eight.is_tagged {
            let vid = tci & u32x8::splat(0xFFF);
            is_taken &= vid.simd_eq(u32x8::ZERO) | vid.simd_eq(u32x8::splat(port.vlan));
        }
        let mut addresses = are_v4_unicast(source, eight.destination());
        if eight.v6 != 0 {
            addresses = eight.is_v6().select(are_v6_unicast(eight.words[2], v6_target), addresses);
        }
        is_taken &= addresses;
        if port.ttl_classes.is_some() {
            is_taken &= eight.set_ttl_classes(port, tos, ttl);
        }
        eight.take_only(is_taken)
    }

    /// Classifies up to eight frames of a bridged port. Those with IP and the address of
    /// a single station are taken; a bridge forwards them whatever their IP addresses and TTL. One
    /// that is longer than `frame_bytes_max` is not taken.
    #[inline(always)]
    fn bridged(self, port: &FastPathPort, frame_bytes_max: u32) -> Eight {
        let Self { mut eight, mac, tci, tos, ttl, is_ip, .. } = self;
        let mut is_taken = is_ip
            & with_mac_bits(mac, 1, 0)
            & eight.frame_bytes.simd_le(u32x8::splat(frame_bytes_max));
        let dei: u32x8 = tci >> 12 & u32x8::ONE;
        eight.marking |= dei << DEI;
        if port.ttl_classes.is_some() {
            is_taken &= eight.set_ttl_classes(port, tos, ttl);
        }
        eight.take_only(is_taken)
    }
}

impl Eight {
    /// Makes the marking the class that follows from DSCP and TTL. By lane: all ones if it does;
    /// frames with a tag have more markings.
    #[inline(always)]
    fn set_ttl_classes(&mut self, port: &FastPathPort, tos: u32x8, ttl: u32x8) -> u32x8 {
        let Some(ttl_classes) = port.ttl_classes.as_ref().filter(|_| !self.is_tagged) else {
            return u32x8::ZERO;
        };
        let (tos, ttl) = (tos.to_array(), ttl.to_array());
        self.marking = of_lanes(|lane| {
            let class = port.by_dscp[tos[lane] as usize >> 2 & (port.by_dscp.len() - 1)];
            ttl_classes.of(class, ttl[lane].to_le_bytes()[0]).bits()
        });
        u32x8::MAX
    }

    #[inline(always)]
    fn take_only(mut self, is_taken: u32x8) -> Self {
        self.marking = is_taken.select(self.marking, u32x8::splat(OTHER));
        self
    }

    /// Destination addresses of IPv4 packets, in network byte order.
    #[inline(always)]
    pub(super) const fn destination(&self) -> u32x8 {
        self.words[4]
    }

    /// By lane: all ones of a frame with IPv6.
    #[inline(always)]
    pub(super) fn is_v6(&self) -> u32x8 {
        of_bits(self.v6)
    }

    /// The length of the frame in `lane`, as received.
    pub(crate) fn frame_bytes_of(&self, lane: usize) -> u16 {
        u16::try_from(self.frame_bytes.to_array()[lane % LANES]).unwrap_or(u16::MAX)
    }

    /// Where the IP header of each frame is.
    #[inline(always)]
    pub(super) const fn l3(&self) -> usize {
        l3(self.is_tagged)
    }

    /// Where the IP header is by which the frame in `lane` is forwarded.
    #[inline(always)]
    pub(super) const fn l3_of(&self, lane: usize) -> usize {
        let outer = if self.left_tunnel >> lane & 1 == 1 { ipv4::HEADER_BYTES } else { 0 };
        self.l3() + outer
    }

    /// The destination address of a frame with IPv6.
    #[inline(always)]
    pub(super) fn v6_destination<F: Frame>(&self, frame: &F) -> Option<[u8; 16]> {
        frame.head().get(self.l3() + ipv6::DESTINATION_OFFSET..)?.first_chunk().copied()
    }

    /// Bit i is set if frame i is not taken, or there is none.
    #[inline(always)]
    pub(crate) fn others(&self) -> u32 {
        self.marking.simd_eq(u32x8::splat(OTHER)).to_bitmask()
    }

    /// Whether one of the first `count` frames is not taken.
    #[inline(always)]
    pub(crate) fn has_others(&self, count: usize) -> bool {
        self.others() & ((1 << count) - 1) != 0
    }

    /// Bit i is set if frame i is a MAC control frame; such frames are not taken.
    #[inline(never)]
    fn control_bits<F: Frame>(&self, frames: &[F]) -> BurstBits {
        let is_control = |frame: &F| parse(frame.head(), frame.len()).kind == Kind::MacControl;
        let controls =
            lanes_of(self.others()).filter(|&lane| frames.get(lane).is_some_and(is_control));
        controls.fold(0, |bits, lane| bits | 1 << lane)
    }
}

/// Where the IP header is behind Ethernet.
#[inline(always)]
const fn l3(is_tagged: bool) -> usize {
    ethernet::HEADER_BYTES + if is_tagged { ethernet::TAG_BYTES } else { 0 }
}

#[expect(clippy::cast_possible_truncation, reason = "the length of headers")]
const fn bytes_of(header: usize) -> u32 {
    header as u32
}

/// By lane: all ones if the total length is at least the header's and at most what the frame has.
#[inline(always)]
pub(super) fn v4_length_holds(first: u32x8, frame_bytes: u32x8, l3: usize) -> u32x8 {
    let header = u32x8::splat(bytes_of(ipv4::HEADER_BYTES));
    let beyond_header: u32x8 = be16(first >> 16) - header;
    let room: u32x8 = frame_bytes - header - u32x8::splat(bytes_of(l3));
    beyond_header.simd_le(room)
}

/// By lane: all ones if the addresses of an IPv6 packet are such as routers forward: the first word
/// of the source, and the first octet of the destination.
#[inline(always)]
fn are_v6_unicast(source: u32x8, target: u32x8) -> u32x8 {
    // A source whose first word is 0 may be the unspecified or the loopback address.
    octet(source).simd_ne(u32x8::splat(0xFF))
        & source.simd_ne(u32x8::ZERO)
        & (source & u32x8::splat(0xC0FF)).simd_ne(u32x8::splat(0x80FE))
        & target.simd_ne(u32x8::splat(0xFF))
}

/// By lane: all ones if the version is 6 and the frame has the header and the payload.
#[inline(always)]
fn v6_holds(first: u32x8, second: u32x8, frame_bytes: u32x8, l3: usize) -> u32x8 {
    let headers = u32x8::splat(bytes_of(l3 + ipv6::HEADER_BYTES));
    let room: u32x8 = frame_bytes - headers;
    (first & u32x8::splat(0xF0)).simd_eq(u32x8::splat(0x60))
        & frame_bytes.simd_ge(headers)
        & be16(second).simd_le(room)
}

/// By lane: all ones if routers forward packets of IPv4 with these addresses. 169/8 has the
/// link-local network, which the generic path looks for.
#[inline(always)]
pub(super) fn are_v4_unicast(source: u32x8, destination: u32x8) -> u32x8 {
    let first = octet(source);
    let before: u32x8 = first - u32x8::ONE;
    before.simd_lt(u32x8::splat(223))
        & first.simd_ne(u32x8::splat(127))
        & first.simd_ne(u32x8::splat(169))
        & octet(destination).simd_lt(u32x8::splat(224))
}

/// By lane: all ones if the checksum of the IPv4 header in `words` holds.
#[inline(always)]
pub(super) fn checksum_holds(words: [u32x8; 5]) -> u32x8 {
    let low = u32x8::splat(0xFFFF);
    let [a, b, c, d, e] = words.map(|word| (word & low) + (word >> 16));
    let sum: u32x8 = a + b + c + d + e;
    // The ten halves add up to less than 2^20. Folded once, only 65,535 is a multiple of that.
    let folded: u32x8 = (sum & low) + (sum >> 16);
    folded.simd_eq(low)
}
