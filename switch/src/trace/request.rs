//! What is asked of a switch: to walk a frame through its tables.

use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// Bytes of a frame that are sent to the switch: all headers that it reads are in them.
pub(crate) const HEAD_BYTES_MAX: usize = 256;

/// A frame to be traced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TraceRequest {
    /// Name or number of the ingress port; without one, the routed port whose network has the
    /// source address.
    #[serde(default)]
    pub port: Option<String>,
    /// The frame.
    pub frame: TracedFrame,
    /// What bridged ports have learned of the frame's addresses.
    #[serde(default)]
    pub stations: Vec<Station>,
}

/// A frame, as bytes or as a description.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TracedFrame {
    /// As it was on a wire.
    Captured {
        /// Its first [`HEAD_BYTES_MAX`] bytes, in hexadecimal digits.
        head: String,
        /// Its length, without FCS.
        frame_bytes: usize,
    },
    /// To be made.
    Described(Box<Description>),
}

/// A frame by its fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Description {
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// 0 to 63.
    pub dscp: u8,
    /// IP protocol: 17 is UDP.
    pub protocol: u8,
    /// Source port, for UDP, TCP and SCTP.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// TTL or hop limit.
    pub ttl: u8,
    /// VLAN ID, if the frame is tagged.
    pub vlan: Option<u16>,
    /// PCP of the tag: 0 to 7.
    pub pcp: u8,
    /// Length without FCS.
    pub frame_bytes: usize,
    /// Source MAC address.
    pub source_mac: Option<String>,
    /// Destination MAC address; without one, that of the ingress port.
    pub destination_mac: Option<String>,
}

/// An address that was learned on a bridged port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Station {
    /// Its VLAN.
    pub vlan: u16,
    /// Its address.
    pub mac: String,
    /// Name of the port.
    pub port: String,
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _to_a_string = write!(text, "{byte:02x}");
        text
    })
}

/// The bytes that these hexadecimal digits are; `None` if they are none.
pub(crate) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |octet: u8| char::from(octet).to_digit(16).and_then(|it| u8::try_from(it).ok());
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| Some(digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn digits_are_read_as_they_are_written(bytes: Vec<u8>, text: String) {
            prop_assert_eq!(unhex(&hex(&bytes)), Some(bytes));
            if let Some(bytes) = unhex(&text) {
                prop_assert_eq!(hex(&bytes), text.to_ascii_lowercase());
            }
        }
    }
}
