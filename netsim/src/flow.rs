//! A flow: numbered frames with one mark, from a host to a host, and their counters.
//!
//! The mark is the first twelve bytes of the UDP payload: the flow's number, then the frame's,
//! big-endian.

use crate::event::{NEVER, Picoseconds};
use crate::topology::{HostId, SwitchId};
use dataplane::frame::Frame;
use dataplane::ids::{PortId, Tag};
use dataplane::limits::FRAME_BYTES_MIN;
use dataplane::time::Speed;
use dataplane::wire::{MacAddress, ethernet};
use std::net::Ipv4Addr;

/// The path of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// As the tables route the destination's switch.
    Routed,
    /// A random shortest path of its own, around links that are down.
    Pinned,
    /// Through these switches, from the sender's to the receiver's, each once. Where two switches
    /// share several links, by the lowest port.
    Through(Vec<SwitchId>),
    /// Through these switches, each left by this port; the last leads to the receiver.
    Ports(Vec<(SwitchId, PortId)>),
}

/// A flow, as [`NetworkBuilder::flow`](crate::builder::NetworkBuilder::flow) named it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowId(pub(crate) usize);

/// When a flow's frames are due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Always: as fast as the host's wire and its other flows allow.
    BackToBack,
    /// At even intervals that make this rate on the wire. A frame that cannot be sent when it is
    /// due is sent later.
    Steady(Speed),
    /// This rate on average, at random intervals of up to twice the mean.
    Random(Speed),
}

/// The parameters of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowSpec {
    /// The sender.
    pub from: HostId,
    /// The receiver.
    pub to: HostId,
    /// Its path.
    pub way: Way,
    /// The tag of its frames at the sender; lossless if the network defines it so.
    pub tag: Tag,
    /// Length of every frame, Ethernet header included, FCS not.
    pub frame_bytes: u16,
    /// When frames are due.
    pub pace: Pace,
    /// When the first frame is due.
    pub start_ps: Picoseconds,
    /// When it stops.
    pub stop_ps: Picoseconds,
    /// Whether it is a queue pair of RoCE, as the network's [`Roce`](config::scenario::Roce) says.
    /// The length of its frames and its window are then the transport's, and it does not stop.
    pub is_roce: bool,
    /// Bytes that it carries in frames, headers included, or as payload of RoCE; `None` for a flow
    /// without end.
    pub size_bytes: Option<u64>,
    /// Bytes in flight at most, with acknowledgments and go-back-N as in RoCE NICs; `None` for no
    /// window.
    pub window_bytes: Option<u64>,
}

impl FlowSpec {
    /// Frames of 1,514 bytes with `tag`, back to back from the start, by a shortest way.
    pub const fn new(from: HostId, to: HostId, tag: Tag) -> Self {
        Self {
            from,
            to,
            way: Way::Routed,
            tag,
            frame_bytes: 1_514,
            pace: Pace::BackToBack,
            start_ps: 0,
            stop_ps: NEVER,
            is_roce: false,
            size_bytes: None,
            window_bytes: None,
        }
    }
}

/// A flow's counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowCounters {
    /// Frames that the sender put on its wire.
    pub sent_frames: u64,
    /// Frames that reached the receiver.
    pub received_frames: u64,
    /// Bytes that it took, without FCS; of a flow with a window only those in order, and of RoCE
    /// only payload in order.
    pub received_bytes: u64,
    /// Of RoCE, frames that arrived with Congestion Experienced.
    pub marked_frames: u64,
    /// Frames that arrived after one with a higher number.
    pub reordered_frames: u64,
    /// One more than the highest number that arrived.
    pub next_number: u64,
    /// When the last byte arrived.
    pub finished_ps: Option<Picoseconds>,
}

impl FlowCounters {
    /// Frame number `number` reached the receiver.
    pub(crate) const fn receive(&mut self, number: u64) {
        self.received_frames += 1;
        if number < self.next_number {
            self.reordered_frames += 1;
        } else {
            self.next_number = number + 1;
        }
    }

    /// Frames sent and not received: lost, or still in the network.
    pub const fn missing_frames(&self) -> u64 {
        self.sent_frames.saturating_sub(self.received_frames)
    }
}

/// A frame's mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) flow: u32,
    pub(crate) number: u64,
}

impl Mark {
    /// The frame's number without the round.
    pub(crate) const fn count(self) -> u64 {
        self.number & ((1 << NUMBER_BITS) - 1)
    }

    /// The sender's round.
    pub(crate) const fn round(self) -> u32 {
        (self.number >> NUMBER_BITS) as u32
    }

    /// If this is an acknowledgment: the flow, the number below which its receiver has all frames,
    /// and whether that frame is missing.
    pub(crate) const fn ack(self) -> Option<(u32, u64, bool)> {
        if self.flow & ANSWER_BIT == 0 {
            return None;
        }
        Some((self.flow & !ANSWER_BIT, self.number & !GAP_BIT, self.number & GAP_BIT != 0))
    }
}

const IP: usize = ethernet::HEADER_BYTES;
const UDP: usize = IP + 20;
const FLOW: usize = UDP + 8;
const NUMBER: usize = FLOW + 4;
/// The headers and the mark that every frame of a flow starts with.
pub(crate) const HEAD_BYTES: usize = NUMBER + 8;
/// DSCP and ECN.
const TOS: usize = IP + 1;

/// The addresses of a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Addresses {
    pub(crate) source_mac: MacAddress,
    pub(crate) gateway_mac: MacAddress,
    pub(crate) source: Ipv4Addr,
    pub(crate) destination: Ipv4Addr,
}

/// The head of flow `flow`'s frames, with `dscp`, each of `frame_bytes`; number 0. ECN-capable.
pub(crate) fn head(
    flow: u32,
    addresses: &Addresses,
    dscp: u8,
    frame_bytes: u16,
) -> [u8; HEAD_BYTES] {
    let mut head = [0; HEAD_BYTES];
    head[..6].copy_from_slice(&addresses.gateway_mac.0);
    head[6..12].copy_from_slice(&addresses.source_mac.0);
    head[12..IP].copy_from_slice(&ethernet::IPV4.to_be_bytes());
    let [flow_a, flow_b, flow_c, flow_d] = flow.to_be_bytes();
    let ip_bytes = frame_bytes.saturating_sub(14);
    head[IP..IP + 2].copy_from_slice(&[0x45, dscp << 2 | 0b10]);
    head[IP + 2..IP + 4].copy_from_slice(&ip_bytes.to_be_bytes());
    // Not to be fragmented, UDP.
    head[IP + 6..IP + 10].copy_from_slice(&[0x40, 0, TTL_START, 17]);
    head[IP + 12..IP + 16].copy_from_slice(&addresses.source.octets());
    head[IP + 16..UDP].copy_from_slice(&addresses.destination.octets());
    let sum = checksum(&head[IP..UDP]);
    head[IP + 10..IP + 12].copy_from_slice(&sum.to_be_bytes());
    // The source port carries the entropy, as RoCEv2's does: 49,152 and up. No UDP checksum.
    head[UDP..UDP + 4].copy_from_slice(&[0xC0 | flow_c, flow_d, 0x12, 0xB7]);
    head[UDP + 4..UDP + 6].copy_from_slice(&ip_bytes.saturating_sub(20).to_be_bytes());
    head[FLOW..NUMBER].copy_from_slice(&[flow_a, flow_b, flow_c, flow_d]);
    head
}

/// Bits of a frame's number that count frames; those above count how often the sender went back.
const NUMBER_BITS: u32 = 40;
/// Set in the flow's number of a mark that acknowledges the flow.
const ANSWER_BIT: u32 = 1 << 31;
/// Set in the number of an acknowledgment that reports a gap.
const GAP_BIT: u64 = 1 << 63;

/// Gives a flow's head frame number `number`, in the sender's round `round`.
#[inline(always)]
pub(crate) fn set_number(head: &mut [u8; HEAD_BYTES], round: u32, number: u64) {
    let number = u64::from(round) << NUMBER_BITS | number;
    head[NUMBER..].copy_from_slice(&number.to_be_bytes());
}

/// Makes the head of a flow's acknowledgments from one in their direction.
pub(crate) fn ack_head(mut head: [u8; HEAD_BYTES], flow: u32) -> [u8; HEAD_BYTES] {
    head[FLOW..NUMBER].copy_from_slice(&(flow | ANSWER_BIT).to_be_bytes());
    head
}

/// Writes the number and the gap into an acknowledgment's head.
pub(crate) fn set_ack(head: &mut [u8; HEAD_BYTES], number: u64, is_gap: bool) {
    let gap = if is_gap { GAP_BIT } else { 0 };
    head[NUMBER..].copy_from_slice(&(number | gap).to_be_bytes());
}

/// The TTL that hosts send with.
pub(crate) const TTL_START: u8 = 64;

/// How many frames a flow has; `None` without end.
pub(crate) fn frames_of(spec: &FlowSpec) -> Option<u64> {
    Some(spec.size_bytes?.div_ceil(u64::from(spec.frame_bytes)).max(1))
}

/// The length of a flow's last frame, if it is shorter than the others: the rest, or the least.
pub(crate) fn last_frame_bytes(spec: &FlowSpec) -> Option<u16> {
    let rest = spec.size_bytes? % u64::from(spec.frame_bytes);
    let rest = u16::try_from(rest).ok().filter(|&rest| rest != 0)?;
    Some(rest.max(FRAME_BYTES_MIN_U16))
}

#[expect(clippy::cast_possible_truncation, reason = "60")]
const FRAME_BYTES_MIN_U16: u16 = FRAME_BYTES_MIN as u16;

/// The mark of a frame that is IPv4; `None` if it is not, or too short.
#[inline]
pub(crate) fn mark<F: Frame>(frame: &F) -> Option<Mark> {
    let head = frame.head();
    let is_ip = head.get(12..IP) == Some(&ethernet::IPV4.to_be_bytes());
    let flow = head.get(FLOW..)?.first_chunk()?;
    let number = head.get(NUMBER..)?.first_chunk()?;
    is_ip.then(|| Mark { flow: u32::from_be_bytes(*flow), number: u64::from_be_bytes(*number) })
}

/// The DSCP of a frame of a flow.
#[inline(always)]
pub(crate) fn dscp<F: Frame>(frame: &F) -> u8 {
    frame.head().get(TOS).map_or(0, |tos| tos >> 2)
}

/// The TTL of a frame of a flow.
#[inline(always)]
pub(crate) fn ttl<F: Frame>(frame: &F) -> u8 {
    frame.head().get(IP + 8).copied().unwrap_or_default()
}

/// RFC 791's checksum over a header whose checksum field is zero.
fn checksum(header: &[u8]) -> u16 {
    let (pairs, _) = header.as_chunks::<2>();
    let mut sum: u32 = pairs.iter().map(|&pair| u32::from(u16::from_be_bytes(pair))).sum();
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Pool;
    use dataplane::wire::parse::{Kind, parse};

    #[test]
    fn a_head_is_a_frame_that_the_switch_reads_as_it_was_meant() {
        let addresses = Addresses {
            source_mac: MacAddress([2, 0, 0, 0, 7, 0]),
            gateway_mac: MacAddress([2, 0, 0, 0, 1, 3]),
            source: Ipv4Addr::new(10, 0, 0, 7),
            destination: Ipv4Addr::new(100, 64, 1, 2),
        };
        for frame_bytes in [60, 1_514, 9_000] {
            let mut head = head(0x0102_0304, &addresses, 26, frame_bytes);
            set_number(&mut head, 0, 5 << 30);
            let mut frame = Pool::default().take(&head, frame_bytes);
            let parsed = parse(frame.head(), frame.len());
            assert_eq!((parsed.kind, parsed.tos, parsed.ttl), (Kind::Ipv4, 26 << 2 | 2, 64));
            assert_eq!(mark(&frame), Some(Mark { flow: 0x0102_0304, number: 5 << 30 }));
            assert_eq!(dscp(&frame), 26);
            frame.head_mut()[12] = 0x86;
            assert_eq!(mark(&frame), None);
        }
        assert_eq!(mark(&Pool::default().take(&[0; 20], 20)), None);
    }

    #[test]
    fn a_tally_tells_late_from_missing() {
        let mut counters = FlowCounters { sent_frames: 6, ..FlowCounters::default() };
        [0, 3, 2, 4].into_iter().for_each(|number| counters.receive(number));
        assert_eq!((counters.received_frames, counters.reordered_frames), (4, 1));
        assert_eq!(counters.missing_frames(), 2);
    }
}
