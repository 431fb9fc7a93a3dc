//! MAC addresses.

use core::fmt;
use core::str::FromStr;

/// A MAC address, as it stands on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MacAddress(pub [u8; 6]);

impl MacAddress {
    /// All stations.
    pub const BROADCAST: Self = Self([0xFF; 6]);
    /// Where PAUSE and PFC frames go (IEEE 802.3 Annex 31B). Never forwarded.
    pub const MAC_CONTROL: Self = Self([0x01, 0x80, 0xC2, 0x00, 0x00, 0x01]);
    /// Where LLDP frames go (IEEE 802.1AB, nearest bridge). Never forwarded.
    pub const LLDP: Self = Self([0x01, 0x80, 0xC2, 0x00, 0x00, 0x0E]);

    /// Whether this is a multicast or the broadcast address.
    #[inline(always)]
    pub const fn is_multicast(self) -> bool {
        self.0[0] & 1 == 1
    }

    /// Whether a bridge must keep this address to itself: 01:80:C2:00:00:00 to 0F (IEEE 802.1Q
    /// 8.6.3).
    #[inline(always)]
    pub const fn is_link_local(self) -> bool {
        let [a, b, c, d, e, f] = self.0;
        a == 0x01 && b == 0x80 && c == 0xC2 && d == 0 && e == 0 && f <= 0x0F
    }

    /// The address as a number, the first octet highest.
    #[inline(always)]
    pub(crate) const fn to_u64(self) -> u64 {
        let [a, b, c, d, e, f] = self.0;
        u64::from_be_bytes([0, 0, a, b, c, d, e, f])
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// The text is not six hexadecimal octets separated by colons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a MAC address is six hexadecimal octets, as in 02:00:00:00:00:01")]
pub struct NotAMacAddress;

impl FromStr for MacAddress {
    type Err = NotAMacAddress;
    fn from_str(text: &str) -> Result<Self, NotAMacAddress> {
        let mut octets = [0; 6];
        let mut parts = text.split(':');
        for octet in &mut octets {
            let part = parts.next().filter(|part| part.len() == 2).ok_or(NotAMacAddress)?;
            *octet = u8::from_str_radix(part, 16).map_err(|_| NotAMacAddress)?;
        }
        if parts.next().is_some() { Err(NotAMacAddress) } else { Ok(Self(octets)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn text_goes_there_and_back() {
        let mac: MacAddress = "01:80:c2:00:00:01".parse().unwrap();
        assert_eq!(mac, MacAddress::MAC_CONTROL);
        assert_eq!(mac.to_string(), "01:80:c2:00:00:01");
        for wrong in
            ["", "01:80:c2:00:00", "01:80:c2:00:00:01:02", "1:80:c2:0:0:1", "g1:80:c2:00:00:01"]
        {
            assert_eq!(wrong.parse::<MacAddress>(), Err(NotAMacAddress), "{wrong}");
        }
    }

    #[test]
    fn only_the_sixteen_reserved_addresses_are_link_local() {
        assert!(MacAddress::LLDP.is_link_local());
        assert!(!MacAddress([0x01, 0x80, 0xC2, 0, 0, 0x10]).is_link_local());
        assert!(!MacAddress::BROADCAST.is_link_local());
    }
}
