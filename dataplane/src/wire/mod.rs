//! Bytes on the wire: where each header's fields are, and how to read and write them.
//!
//! Every function here takes a slice and never reads past its end; a header that is cut short is an
//! answer (`None`, [`parse::Kind::Bad`]), not a panic.

pub mod ethernet;
pub mod ipv4;
pub mod ipv6;
mod mac;
pub mod mac_control;
pub mod parse;
pub mod telemetry;

pub use mac::{MacAddress, NotAMacAddress};

/// The big-endian 16 bits at `at`; `None` past the end.
#[inline(always)]
pub fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    array_at(bytes, at).map(|two| u16::from_be_bytes(*two))
}

/// The `N` bytes at `at`; `None` if they are not all there.
#[inline(always)]
pub(crate) fn array_at<const N: usize>(bytes: &[u8], at: usize) -> Option<&[u8; N]> {
    bytes.get(at..)?.first_chunk()
}
