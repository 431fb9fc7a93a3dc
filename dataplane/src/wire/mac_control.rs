//! MAC control frames: PFC (IEEE 802.1Q clause 36, 802.3 Annex 31D) and link PAUSE (Annex 31B).

use super::{MacAddress, be16, ethernet};
use crate::ids::Priority;
use crate::limits::{FRAME_BYTES_MIN, PRIORITIES};

/// Opcode of link PAUSE.
pub(crate) const OPCODE_PAUSE: u16 = 0x0001;
/// Opcode of PFC.
pub(crate) const OPCODE_PFC: u16 = 0x0101;

const OPCODE: usize = 14;
const CLASS_ENABLE: usize = 16;
const TIMES: usize = 18;
/// A PAUSE frame up to the end of its time.
const PAUSE_BYTES: usize = OPCODE + 2 + 2;
/// A PFC frame up to its padding.
const PFC_BYTES: usize = TIMES + 2 * PRIORITIES;

/// What a PFC frame says: for each enabled class, how many quanta to stay silent from now on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pfc {
    /// Bit n set: class n is addressed.
    pub enabled_bits: u8,
    /// Quanta by class; 0 resumes. Means nothing where the class is not enabled.
    pub quanta: [u16; PRIORITIES],
}

impl Pfc {
    /// Adds class `priority` with `quanta`.
    #[must_use]
    pub const fn with(mut self, priority: Priority, quanta: u16) -> Self {
        self.enabled_bits |= priority.bit();
        self.quanta[priority.index()] = quanta;
        self
    }

    /// What it says to a port whose peer has all its lossless frames in `host`: the time of that
    /// class holds for every class of `lossless_bits`, and the peer means no other of these.
    #[must_use]
    pub(crate) const fn spread(&self, host: Priority, lossless_bits: u8) -> Self {
        let others = self.enabled_bits & !(lossless_bits | host.bit());
        let named = if self.enabled_bits & host.bit() == 0 { 0 } else { lossless_bits };
        let mut quanta = self.quanta;
        let mut p = 0;
        while p < PRIORITIES {
            if named >> p & 1 == 1 {
                quanta[p] = self.quanta[host.index()];
            }
            p += 1;
        }
        Self { enabled_bits: others | named, quanta }
    }

    /// The frame, from `source`, padded to the shortest a wire carries.
    pub fn to_frame(&self, source: MacAddress) -> [u8; FRAME_BYTES_MIN] {
        let mut frame = [0; FRAME_BYTES_MIN];
        frame[..6].copy_from_slice(&MacAddress::MAC_CONTROL.0);
        frame[6..12].copy_from_slice(&source.0);
        frame[12..OPCODE].copy_from_slice(&ethernet::MAC_CONTROL.to_be_bytes());
        frame[OPCODE..CLASS_ENABLE].copy_from_slice(&OPCODE_PFC.to_be_bytes());
        frame[CLASS_ENABLE + 1] = self.enabled_bits;
        for (slot, quanta) in frame[TIMES..PFC_BYTES].chunks_exact_mut(2).zip(self.quanta) {
            slot.copy_from_slice(&quanta.to_be_bytes());
        }
        frame
    }
}

/// What a frame of ethertype 0x8808 turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MacControl {
    /// A PFC frame. The source address does not matter, not even a zero one.
    Pfc(Pfc),
    /// Link PAUSE, which a port with PFC must not obey.
    Pause,
    /// Another opcode, or a PFC opcode to another address.
    Unknown,
    /// Cut short before its last field.
    Truncated,
}

impl MacControl {
    /// Reads a frame whose ethertype is 0x8808.
    pub fn parse(frame: &[u8]) -> Self {
        let Some(opcode) = be16(frame, OPCODE) else { return Self::Truncated };
        match opcode {
            OPCODE_PAUSE if frame.len() < PAUSE_BYTES => Self::Truncated,
            OPCODE_PAUSE => Self::Pause,
            OPCODE_PFC if frame.starts_with(&MacAddress::MAC_CONTROL.0) => Self::parse_pfc(frame),
            _ => Self::Unknown,
        }
    }

    fn parse_pfc(frame: &[u8]) -> Self {
        let Some(fields) = frame.get(CLASS_ENABLE..PFC_BYTES) else { return Self::Truncated };
        // The high octet of the vector is reserved: sent as zero, ignored on receipt.
        let mut pfc = Pfc { enabled_bits: fields[1], ..Pfc::default() };
        for (quanta, two) in pfc.quanta.iter_mut().zip(fields[2..].chunks_exact(2)) {
            *quanta = u16::from_be_bytes([two[0], two[1]]);
        }
        Self::Pfc(pfc)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// scapy: `Ether(dst="01:80:c2:00:00:01", src="02:00:00:00:00:01") /
    /// MACControlClassBasedFlowControl( c0_enabled=1, c0_pause_time=0x4321, c5_enabled=1,
    /// c5_pause_time=0x1234)`, padded.
    const GOLDEN: [u8; 34] = [
        0x01, 0x80, 0xC2, 0, 0, 0x01, 0x02, 0, 0, 0, 0, 0x01, 0x88, 0x08, 0x01, 0x01, 0x00, 0x21,
        0x43, 0x21, 0, 0, 0, 0, 0, 0, 0, 0, 0x12, 0x34, 0, 0, 0, 0,
    ];

    #[test]
    fn golden_frame_both_ways() {
        let pfc = Pfc::default()
            .with(Priority::from_low_bits(0), 0x4321)
            .with(Priority::from_low_bits(5), 0x1234);
        let frame = pfc.to_frame(MacAddress([2, 0, 0, 0, 0, 1]));
        assert_eq!(frame[..34], GOLDEN);
        assert_eq!(frame[34..], [0; 26]);
        assert_eq!(MacControl::parse(&GOLDEN), MacControl::Pfc(pfc));
    }

    #[test]
    fn every_cut_is_seen_and_other_opcodes_are_not_pfc() {
        for length in 0..GOLDEN.len() {
            assert_eq!(
                MacControl::parse(&GOLDEN[..length]),
                MacControl::Truncated,
                "{length} bytes"
            );
        }
        let mut frame = GOLDEN;
        frame[14..16].copy_from_slice(&[0, 1]);
        assert_eq!(MacControl::parse(&frame), MacControl::Pause);
        assert_eq!(MacControl::parse(&frame[..18]), MacControl::Pause, "with its time, and no pad");
        for length in 0..18 {
            assert_eq!(
                MacControl::parse(&frame[..length]),
                MacControl::Truncated,
                "{length} bytes"
            );
        }
        frame[14..16].copy_from_slice(&[0x01, 0x02]);
        assert_eq!(MacControl::parse(&frame), MacControl::Unknown);
        let mut unicast = GOLDEN;
        unicast[0] = 0x02;
        assert_eq!(MacControl::parse(&unicast), MacControl::Unknown);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(enabled_bits: u8, quanta: [u16; 8], source: [u8; 6]) {
            let pfc = Pfc { enabled_bits, quanta };
            let frame = pfc.to_frame(MacAddress(source));
            prop_assert_eq!(MacControl::parse(&frame), MacControl::Pfc(pfc));
        }
    }
}
