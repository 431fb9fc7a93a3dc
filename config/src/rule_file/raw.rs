//! The JSON as it stands, each part with its place in the text, before it means anything.

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// The file. A [`RawValue`] is a piece of the text itself, so it knows where it stands.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawFile<'a> {
    #[serde(borrow)]
    pub(super) switch: &'a RawValue,
    #[serde(borrow)]
    pub(super) ports: &'a RawValue,
    #[serde(borrow)]
    pub(super) lossy_tag: &'a RawValue,
    #[serde(borrow)]
    pub(super) initial_tag: &'a RawValue,
    #[serde(borrow)]
    pub(super) initial_tags: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) priorities: &'a RawValue,
    #[serde(borrow)]
    pub(super) entries: Vec<&'a RawValue>,
}

/// One of `entries`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawEntry {
    pub(super) tag: RawTag,
    #[serde(rename = "in")]
    pub(super) input: Vec<u64>,
    #[serde(rename = "out")]
    pub(super) output: Vec<u64>,
    pub(super) new_tag: u64,
}

/// The tags an entry matches.
pub(super) enum RawTag {
    /// One tag.
    Exact(u64),
    /// Every tag that agrees with `value` in the bits of `mask`.
    Masked { value: u64, mask: u64 },
}

// By hand: serde's untagged enums say nothing about what is wrong.
impl<'de> Deserialize<'de> for RawTag {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct TagVisitor;
        impl<'de> Visitor<'de> for TagVisitor {
            type Value = RawTag;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a tag (0 to 63) or {\"value\": .., \"mask\": ..}")
            }
            fn visit_u64<E>(self, tag: u64) -> Result<RawTag, E> {
                Ok(RawTag::Exact(tag))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RawTag, A::Error> {
                #[derive(Deserialize)]
                #[serde(deny_unknown_fields)]
                struct Masked {
                    value: u64,
                    mask: u64,
                }
                let Masked { value, mask } = Masked::deserialize(MapAccessDeserializer::new(map))?;
                Ok(RawTag::Masked { value, mask })
            }
        }
        from.deserialize_any(TagVisitor)
    }
}

/// `priorities`, with nothing lost if a key stands there twice.
pub(super) struct RawMap(pub(super) Vec<(String, u64)>);

impl<'de> Deserialize<'de> for RawMap {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct PairsVisitor;
        impl<'de> Visitor<'de> for PairsVisitor {
            type Value = RawMap;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of tags and priorities, such as {\"1\": 1, \"2\": 2}")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawMap, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(RawMap(pairs))
            }
        }
        from.deserialize_map(PairsVisitor)
    }
}
