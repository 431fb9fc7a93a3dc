//! TLVs (IEEE 802.1AB-2016, 8.4): a type of 7 bits, a length of 9 bits, and a value of up to 511
//! octets.

use alloc::vec::Vec;

/// The end of an LLDPDU.
pub(super) const END: u8 = 0;
/// The sender.
pub(super) const CHASSIS_ID: u8 = 1;
/// The port of the sender.
pub(super) const PORT_ID: u8 = 2;
/// Time to live.
pub(super) const TTL: u8 = 3;
/// The port description.
pub(super) const PORT_DESCRIPTION: u8 = 4;
/// The system name.
pub(super) const SYSTEM_NAME: u8 = 5;
/// The system description.
pub(super) const SYSTEM_DESCRIPTION: u8 = 6;
/// The system capabilities.
pub(super) const CAPABILITIES: u8 = 7;
/// A management address.
pub(super) const MANAGEMENT_ADDRESS: u8 = 8;
/// An organizationally specific TLV.
pub(super) const ORG_SPECIFIC: u8 = 127;

/// The longest value.
const VALUE_BYTES_MAX: usize = 511;

/// One TLV.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tlv<'a> {
    pub(super) kind: u8,
    pub(super) value: &'a [u8],
}

/// A TLV is longer than the rest of the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Truncated;

/// Reads TLVs one after the other. It ends after a truncated TLV or at the end of the bytes.
#[derive(Clone, Debug)]
pub(super) struct Reader<'a> {
    left: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { left: bytes }
    }
}

impl<'a> Iterator for Reader<'a> {
    type Item = Result<Tlv<'a>, Truncated>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left.is_empty() {
            return None;
        }
        let tlv = self.left.split_first_chunk::<2>().and_then(|(head, rest)| {
            let head = u16::from_be_bytes(*head);
            let (value, rest) = rest.split_at_checked(usize::from(head & 0x1FF))?;
            // Seven bits.
            let kind = u8::try_from(head >> 9).unwrap_or_default();
            Some((Tlv { kind, value }, rest))
        });
        let Some((tlv, rest)) = tlv else {
            self.left = &[];
            return Some(Err(Truncated));
        };
        self.left = rest;
        Some(Ok(tlv))
    }
}

/// Appends a TLV whose value is the concatenation of `pieces`, truncated to the maximum length.
pub(super) fn write(into: &mut Vec<u8>, kind: u8, pieces: &[&[u8]]) {
    let start = into.len();
    into.extend([0, 0]);
    pieces.iter().for_each(|piece| into.extend(*piece));
    into.truncate(start + 2 + VALUE_BYTES_MAX);
    let bytes = u16::try_from(into.len() - start - 2).unwrap_or_default();
    let head = u16::from(kind & 0x7F) << 9 | bytes;
    into[start..start + 2].copy_from_slice(&head.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn tlvs_that_are_written_are_read(
            tlvs in prop::collection::vec((0..128_u8, prop::collection::vec(any::<u8>(), 0..512)), 0..9),
        ) {
            let mut bytes = Vec::new();
            for (kind, value) in &tlvs {
                let (one, other) = value.split_at(value.len() / 3);
                write(&mut bytes, *kind, &[one, other]);
            }
            let read: Vec<_> = Reader::new(&bytes).map(|tlv| tlv.map(|t| (t.kind, t.value.to_vec()))).collect();
            let written: Vec<_> = tlvs.into_iter().map(Ok).collect();
            prop_assert_eq!(read, written);
        }

        #[test]
        fn any_bytes_are_read_as_tlvs_or_truncated(bytes: Vec<u8>) {
            let (mut again, mut is_cut) = (Vec::new(), false);
            for tlv in Reader::new(&bytes) {
                prop_assert!(!is_cut, "nothing follows what is cut short");
                match tlv {
                    Ok(tlv) => write(&mut again, tlv.kind, &[tlv.value]),
                    Err(Truncated) => is_cut = true,
                }
            }
            prop_assert!(bytes.starts_with(&again));
            prop_assert_eq!(is_cut, bytes != again);
        }
    }

    #[test]
    fn a_value_is_truncated_to_the_maximum_length() {
        let mut bytes = Vec::new();
        write(&mut bytes, SYSTEM_NAME, &[&[7; 500], &[8; 500]]);
        assert_eq!(bytes.len(), 2 + VALUE_BYTES_MAX);
        assert_eq!(&bytes[..2], &[0x0B, 0xFF]);
        let tlv = Reader::new(&bytes).next().unwrap().unwrap();
        assert_eq!(tlv.value, [vec![7; 500], vec![8; 11]].concat());
    }
}
