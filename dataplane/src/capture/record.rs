//! What a capture records of a frame: where it was, what became of it, and why; then the start of
//! the frame.
//!
//! A record is the same in the worker's ring, on the control socket and in the client: its head of
//! [`HEAD_BYTES`], little-endian, and the captured bytes.

use crate::ids::{PortId, Priority, Tag};

/// Length of a record without the captured bytes.
pub const HEAD_BYTES: usize = 64;
/// "None" in a field of 8 bits, and of 16.
const NONE_8: u8 = u8::MAX;
const NONE_16: u16 = u16::MAX;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// The port received the frame.
    In,
    /// The port's device took the frame.
    Out,
    /// The frame was dropped.
    Drop,
    /// The control thread got the frame.
    Punt,
    /// A MAC control frame: the port received it, or sent it.
    Pause,
}

impl Kind {
    /// Each, at its own index.
    pub const ALL: [Self; 5] = [Self::In, Self::Out, Self::Drop, Self::Punt, Self::Pause];

    /// Its bit in a set of kinds.
    pub const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// What became of a frame, as far as it is known when the record is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Ending {
    /// Not known.
    #[default]
    Unknown,
    /// It is to leave by a port.
    Forwarded,
    /// Each other port of its VLAN gets it.
    Flooded,
    /// The control thread has it.
    Punted,
    /// It is lost.
    Dropped,
    /// The port has obeyed it: MAC control.
    Consumed,
    /// It waits until its next hop is resolved.
    Waits,
    /// It has left.
    Sent,
}

impl Ending {
    const ALL: [Self; 8] = [
        Self::Unknown,
        Self::Forwarded,
        Self::Flooded,
        Self::Punted,
        Self::Dropped,
        Self::Consumed,
        Self::Waits,
        Self::Sent,
    ];
}

/// The state of the queues of a frame: where it came from, and where it goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Depths {
    /// Bytes charged to the frame's VIQ (virtual ingress queue), by this worker.
    pub viq_bytes: u32,
    /// Those of them that use headroom.
    pub headroom_bytes: u32,
    /// Bytes in the VEQ (virtual egress queue) that the frame is in, or for.
    pub veq_bytes: u32,
    /// Frames there.
    pub veq_frames: u32,
    /// Priorities that the peer has paused at the egress port.
    pub rx_paused_bits: u8,
    /// Priorities that are paused at the peer of the ingress port.
    pub tx_paused_bits: u8,
}

/// A record without the captured bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// What happened.
    pub kind: Kind,
    /// What became of the frame.
    pub ending: Ending,
    /// Why: the index of a [`DropReason`](crate::counters::DropReason) if it was dropped, of a
    /// [`PuntReason`](crate::punt::PuntReason) if it was punted.
    pub cause: Option<u8>,
    /// The worker.
    pub worker: u8,
    /// Whether the frame left by `port`, or was to.
    pub is_outbound: bool,
    /// When, in nanoseconds on the workers' clock.
    pub at_ns: u64,
    /// Counts the records of the worker. The record of a frame's arrival has a lower number than
    /// those of what came of it, but is written after them.
    pub number: u32,
    /// Records of the worker, since the one before, that found no room.
    pub missed: u32,
    /// Where: the port whose counters count it.
    pub port: PortId,
    /// Where it came in; a frame of the switch's own came in nowhere.
    pub in_port: Option<PortId>,
    /// Where it leaves, if that is known.
    pub out_port: Option<PortId>,
    /// Its ingress priority.
    pub in_class: Option<Priority>,
    /// Its egress priority.
    pub out_class: Option<Priority>,
    /// The tag that it came with.
    pub in_tag: Option<Tag>,
    /// The tag that it leaves with.
    pub out_tag: Option<Tag>,
    /// Its queues.
    pub depths: Depths,
    /// How long it was in the switch.
    pub waited_ns: u32,
    /// Its length, without the FCS.
    pub frame_bytes: u32,
}

impl Record {
    /// A record of which nothing else is known.
    pub const fn new(kind: Kind, ending: Ending, port: PortId) -> Self {
        Self {
            kind,
            ending,
            cause: None,
            worker: 0,
            is_outbound: false,
            at_ns: 0,
            number: 0,
            missed: 0,
            port,
            in_port: None,
            out_port: None,
            in_class: None,
            out_class: None,
            in_tag: None,
            out_tag: None,
            depths: Depths {
                viq_bytes: 0,
                headroom_bytes: 0,
                veq_bytes: 0,
                veq_frames: 0,
                rx_paused_bits: 0,
                tx_paused_bits: 0,
            },
            waited_ns: 0,
            frame_bytes: 0,
        }
    }

    /// Writes the head of a record with `snap_bytes` captured bytes.
    pub(super) fn write(&self, snap_bytes: u16, to: &mut [u8; HEAD_BYTES]) {
        let port = |port: Option<PortId>| port.map_or(NONE_16, PortId::index_u16);
        let class = |class: Option<Priority>| class.map_or(NONE_8, Priority::value);
        let tag = |tag: Option<Tag>| tag.map_or(NONE_8, Tag::value);
        let Depths { rx_paused_bits, tx_paused_bits, .. } = self.depths;
        let bytes = [
            self.kind as u8,
            self.ending as u8,
            self.cause.unwrap_or(NONE_8),
            self.worker,
            u8::from(self.is_outbound),
            class(self.in_class),
            class(self.out_class),
            tag(self.in_tag),
            tag(self.out_tag),
            rx_paused_bits,
            tx_paused_bits,
            0,
        ];
        let halves = [self.port.index_u16(), port(self.in_port), port(self.out_port), snap_bytes];
        let words = [
            self.number,
            self.missed,
            self.depths.viq_bytes,
            self.depths.headroom_bytes,
            self.depths.veq_bytes,
            self.depths.veq_frames,
            self.waited_ns,
            self.frame_bytes,
        ];
        to[..12].copy_from_slice(&bytes);
        for (place, half) in to[12..20].as_chunks_mut().0.iter_mut().zip(halves) {
            *place = half.to_le_bytes();
        }
        to[20..28].copy_from_slice(&self.at_ns.to_le_bytes());
        for (place, word) in to[28..60].as_chunks_mut().0.iter_mut().zip(words) {
            *place = word.to_le_bytes();
        }
    }

    /// The record at the start of `bytes`, and its captured bytes; `None` if it is not whole.
    pub fn read(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (head, rest) = bytes.split_first_chunk::<HEAD_BYTES>()?;
        let half = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
        let word =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let port = |at: usize| PortId::from_index(usize::from(half(at)));
        let at_ns = u64::from(word(20)) | u64::from(word(24)) << 32;
        let record = Self {
            kind: *Kind::ALL.get(usize::from(head[0]))?,
            ending: *Ending::ALL.get(usize::from(head[1]))?,
            cause: Some(head[2]).filter(|&cause| cause != NONE_8),
            worker: head[3],
            is_outbound: head[4] != 0,
            in_class: Priority::new(head[5]),
            out_class: Priority::new(head[6]),
            in_tag: Tag::new(head[7]),
            out_tag: Tag::new(head[8]),
            depths: Depths {
                rx_paused_bits: head[9],
                tx_paused_bits: head[10],
                viq_bytes: word(36),
                headroom_bytes: word(40),
                veq_bytes: word(44),
                veq_frames: word(48),
            },
            port: port(12)?,
            in_port: port(14),
            out_port: port(16),
            at_ns,
            number: word(28),
            missed: word(32),
            waited_ns: word(52),
            frame_bytes: word(56),
        };
        Some((record, rest.get(..usize::from(half(18)))?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(
            kind in 0..5_usize, ending in 0..8_usize, cause in 0..254_u8, words: [u32; 8], at_ns: u64,
            ports in (0..256_usize, 0..257_usize, 0..257_usize), classes in (0..9_u8, 0..9_u8),
            tags in (0..65_u8, 0..65_u8), bits: (u8, u8), snap in 0..300_u16,
        ) {
            let [number, missed, viq_bytes, headroom_bytes, veq_bytes, veq_frames, waited_ns, frame_bytes] = words;
            let record = Record {
                kind: Kind::ALL[kind],
                ending: Ending::ALL[ending],
                cause: Some(cause),
                worker: bits.0,
                is_outbound: bits.1 & 1 == 1,
                at_ns, number, missed, waited_ns, frame_bytes,
                port: PortId::from_index(ports.0).unwrap(),
                in_port: PortId::from_index(ports.1),
                out_port: PortId::from_index(ports.2),
                in_class: Priority::new(classes.0),
                out_class: Priority::new(classes.1),
                in_tag: Tag::new(tags.0),
                out_tag: Tag::new(tags.1),
                depths: Depths {
                    viq_bytes, headroom_bytes, veq_bytes, veq_frames,
                    rx_paused_bits: bits.0,
                    tx_paused_bits: bits.1,
                },
            };
            let mut head = [0; HEAD_BYTES];
            record.write(snap, &mut head);
            let mut bytes: Vec<u8> = head.to_vec();
            bytes.extend((0..snap).map(|octet| octet as u8));
            let whole = bytes.len();
            bytes.push(7);
            let (read, captured) = Record::read(&bytes).unwrap();
            prop_assert_eq!(read, record);
            prop_assert_eq!(captured, &bytes[HEAD_BYTES..whole]);
            prop_assert!(Record::read(&bytes[..whole - 1]).is_none());
        }
    }
}
