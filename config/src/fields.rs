//! Values of a TOML or JSON file that are more than a number or a string: each says what it should
//! have been when it is not.

use crate::units::{self, Length};
use core::marker::PhantomData;
use dataplane::ids::{Priority, Tag};
use dataplane::l2::Vid;
use dataplane::time::Speed;
use dataplane::wire::MacAddress;
use ipnet::IpNet;
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use std::fmt;
use std::net::IpAddr;
use std::ops::RangeInclusive;

/// A value written as text, as a whole number, or as either.
pub(crate) trait Value: Sized {
    /// What is right, for the message when something else stands there.
    const EXPECTED: &'static str;

    /// From a quoted text; `Err` is the whole message.
    fn from_text(text: &str) -> Result<Self, String> {
        Err(format!("`{text}` is not {}", Self::EXPECTED))
    }

    /// From a whole number; `Err` is the whole message.
    fn from_number(number: i128) -> Result<Self, String> {
        Err(format!("`{number}` is not {}", Self::EXPECTED))
    }
}

/// Reads a [`Value`] through serde.
struct ValueVisitor<T>(PhantomData<T>);

impl<T: Value> Visitor<'_> for ValueVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        T::from_text(text).map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        T::from_number(number.into()).map_err(E::custom)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        T::from_number(number.into()).map_err(E::custom)
    }
}

/// A newtype field that is a [`Value`].
macro_rules! fields {
    ($($(#[$doc:meta])* $name:ident($inner:ty);)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) struct $name(pub(crate) $inner);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                from.deserialize_any(ValueVisitor(PhantomData))
            }
        }
    )*};
}

/// The numbers of `3` or `3-4`, below `end`.
pub(crate) fn number_range(text: &str, end: u8) -> Option<RangeInclusive<u8>> {
    let number = |text: &str| text.trim().parse::<u8>().ok().filter(|&number| number < end);
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (number(first)?, number(last)?);
    (first <= last).then_some(first..=last)
}

fields! {
    /// Bytes: `9216`, `"64KB"`, `"64KiB"`, `"12MB"`.
    Size(u64);
    /// Bits per second: `"200M"`, `"2.5G"`, `"40G"`.
    Rate(Speed);
    /// Bits per second of traffic: `9600`, `"200M"`, `"1.5G"`.
    TrafficRate(u64);
    /// A cable's length: `"10m"`, `"0.5m"`, `"2km"`.
    Cable(Length);
    /// Nanoseconds: `"20us"`, `"300s"`.
    Duration(u64);
    /// 0 to 7.
    PriorityField(Priority);
    /// 0 to 63.
    TagField(Tag);
    /// 0 to 63.
    Dscp(u8);
    /// 0 to 7.
    Pcp(u8);
    /// 1 to 4094.
    VlanField(Vid);
    /// `"02:00:00:00:00:01"`.
    Mac(MacAddress);
    /// `"10.0.1.2"`, `"fd00::2"`.
    Address(IpAddr);
    /// An address and the length of its network: `"10.0.1.1/24"`, `"fd00:1::1/64"`.
    Network(IpNet);
}

impl Value for Size {
    const EXPECTED: &'static str = "a size, such as 9216, \"64KB\" or \"12MB\"";
    fn from_text(text: &str) -> Result<Self, String> {
        units::parse_size(text).map(Self).map_err(|error| error.to_string())
    }
    fn from_number(number: i128) -> Result<Self, String> {
        u64::try_from(number).map(Self).map_err(|_| format!("`{number}` is not {}", Self::EXPECTED))
    }
}

impl Value for Rate {
    const EXPECTED: &'static str = "a speed, such as \"200M\" or \"40G\"";
    fn from_text(text: &str) -> Result<Self, String> {
        units::parse_speed(text).map(Self).map_err(|error| error.to_string())
    }
}

impl Value for TrafficRate {
    const EXPECTED: &'static str = "a rate, such as \"200M\" or \"1.5G\"";
    fn from_text(text: &str) -> Result<Self, String> {
        units::parse_rate_bps(text).map(Self).map_err(|error| error.to_string())
    }
    fn from_number(number: i128) -> Result<Self, String> {
        u64::try_from(number).map(Self).map_err(|_| format!("`{number}` is not {}", Self::EXPECTED))
    }
}

impl Value for Cable {
    const EXPECTED: &'static str = "a length, such as \"10m\"";
    fn from_text(text: &str) -> Result<Self, String> {
        units::parse_length(text).map(Self).map_err(|error| error.to_string())
    }
}

impl Value for Duration {
    const EXPECTED: &'static str = "a time, such as \"20us\" or \"300s\"";
    fn from_text(text: &str) -> Result<Self, String> {
        units::parse_duration_ns(text).map(Self).map_err(|error| error.to_string())
    }
}

/// Whole numbers of a range.
macro_rules! numbers {
    ($($name:ident: $expected:literal, $new:expr;)*) => {$(
        impl Value for $name {
            const EXPECTED: &'static str = $expected;
            fn from_number(number: i128) -> Result<Self, String> {
                let wrong = || format!("{number} is not {}", $expected);
                number.try_into().ok().and_then($new).map(Self).ok_or_else(wrong)
            }
        }
    )*};
}

numbers! {
    PriorityField: "a priority; there are eight, 0 to 7", Priority::new;
    TagField: "a tag; tags are 0 to 63", Tag::new;
    Dscp: "a DSCP; they are 0 to 63", |dscp: u8| (dscp < 64).then_some(dscp);
    Pcp: "a PCP; they are 0 to 7", |pcp: u8| (pcp < 8).then_some(pcp);
    VlanField: "a VLAN; they are 1 to 4094", Vid::new;
}

impl Value for Mac {
    const EXPECTED: &'static str = "a MAC address, such as \"02:00:00:00:00:01\"";
    fn from_text(text: &str) -> Result<Self, String> {
        text.parse().map(Self).map_err(|_| format!("`{text}` is not {}", Self::EXPECTED))
    }
}

impl Value for Address {
    const EXPECTED: &'static str = "an IP address, such as \"10.0.1.2\" or \"fd00::2\"";
    fn from_text(text: &str) -> Result<Self, String> {
        text.parse().map(Self).map_err(|_| format!("`{text}` is not {}", Self::EXPECTED))
    }
}

impl Value for Network {
    const EXPECTED: &'static str =
        "an IP address with the length of its prefix, such as \"10.0.1.1/24\" or \"fd00:1::1/64\"";
    fn from_text(text: &str) -> Result<Self, String> {
        text.parse().map(Self).map_err(|_| format!("`{text}` is not {}", Self::EXPECTED))
    }
}

/// VLANs of a trunk: a number, or a range as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VidRange {
    /// The first.
    pub(crate) first: Vid,
    /// The last, the first itself at the least.
    pub(crate) last: Vid,
}

impl<'de> Deserialize<'de> for VidRange {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(ValueVisitor(PhantomData))
    }
}

impl Value for VidRange {
    const EXPECTED: &'static str = "a VLAN (1 to 4094) or a range such as \"100-199\"";
    fn from_text(text: &str) -> Result<Self, String> {
        let end = |text: &str| text.trim().parse().ok().and_then(Vid::new);
        let ends = text.split_once('-').and_then(|(first, last)| Some((end(first)?, end(last)?)));
        match ends {
            Some((first, last)) if first <= last => Ok(Self { first, last }),
            _ => Err(format!("`{text}` is not {}", Self::EXPECTED)),
        }
    }
    fn from_number(number: i128) -> Result<Self, String> {
        let vlan = number.try_into().ok().and_then(Vid::new);
        vlan.map(|vlan| Self { first: vlan, last: vlan })
            .ok_or_else(|| format!("{number} is not {}", Self::EXPECTED))
    }
}

/// Whether a port has a TAP, and how it is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TapField {
    /// With the port's name, or without a TAP.
    Is(bool),
    /// With this name.
    Named(String),
}

impl<'de> Deserialize<'de> for TapField {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(TapVisitor)
    }
}

struct TapVisitor;

impl Visitor<'_> for TapVisitor {
    type Value = TapField;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("true, false, or the name of an interface")
    }

    fn visit_bool<E: Error>(self, is: bool) -> Result<TapField, E> {
        Ok(TapField::Is(is))
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<TapField, E> {
        Ok(TapField::Named(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    fn read<T: for<'de> Deserialize<'de>>(value: &str) -> Result<T, String> {
        #[derive(Deserialize)]
        struct Line<T> {
            x: T,
        }
        let text = format!("x = {value}");
        toml::from_str::<Line<T>>(&text)
            .map(|line| line.x)
            .map_err(|error| error.message().to_owned())
    }

    fn vid(value: u16) -> Vid {
        Vid::new(value).unwrap()
    }

    #[test]
    fn a_size_is_text_or_a_number_and_nothing_else() {
        assert_eq!(read("9216"), Ok(Size(9_216)));
        assert_eq!(read("'64KB'"), Ok(Size(64_000)));
        for wrong in ["-1", "1.5", "true", "'12XB'", "[]"] {
            let message = read::<Size>(wrong).unwrap_err();
            assert!(message.contains("a size"), "{wrong}: {message}");
        }
    }

    #[test]
    fn numbers_stay_within_their_range() {
        assert_eq!(read("7"), Ok(PriorityField(Priority::from_low_bits(7))));
        assert_eq!(
            read::<PriorityField>("8").unwrap_err(),
            "8 is not a priority; there are eight, 0 to 7"
        );
        assert_eq!(read::<TagField>("64").unwrap_err(), "64 is not a tag; tags are 0 to 63");
        assert!(read::<TagField>("-1").is_err() && read::<TagField>("300").is_err());
        assert!(read::<VlanField>("0").is_err() && read::<VlanField>("4095").is_err());
        assert_eq!(read("4094"), Ok(VlanField(vid(4_094))));
    }

    #[test]
    fn a_range_of_vlans_has_two_ends_in_order() {
        let range = |first, last| VidRange { first: vid(first), last: vid(last) };
        assert_eq!(read("10"), Ok(range(10, 10)));
        assert_eq!(read("'100-199'"), Ok(range(100, 199)));
        for wrong in ["'199-100'", "'0-5'", "'5'", "'-'", "'1-2-3'", "5000"] {
            assert!(read::<VidRange>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn addresses_say_how_they_are_written() {
        assert!(read::<Network>("'10.0.1.1/24'").is_ok());
        assert!(read::<Network>("'10.0.1.1'").unwrap_err().contains("\"10.0.1.1/24\""));
        assert!(read::<Address>("'10.0.1.300'").unwrap_err().contains("an IP address"));
        assert!(read::<Mac>("'2:0:0:0:0:1'").unwrap_err().contains("\"02:00:00:00:00:01\""));
    }
}
