//! BUFFER_PG and BUFFER_PROFILE: which priority groups are lossless, and what each gets.

use super::findings::Place;
use super::ini::LookupLine;
use super::model::{Port, Threshold};
use super::reader::{Reader, Said, names_port};
use crate::units::{Length, parse_length};
use std::collections::BTreeMap;

/// What a lossless priority group gets at a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Profile {
    /// Bytes set aside, without the headroom.
    pub(super) size: Option<u64>,
    pub(super) threshold: Option<Threshold>,
    pub(super) xon: u64,
    pub(super) xon_offset: u64,
    /// `None`: computed.
    pub(super) headroom: Option<u64>,
    pub(super) pool: String,
    /// Key of what says so.
    pub(super) from: String,
}

impl Profile {
    /// Whether a group gets the same by it, whatever its name and pool.
    pub(super) fn gives_the_same_as(&self, other: &Self) -> bool {
        let given = |profile: &Self| {
            let Self { size, threshold, xon, xon_offset, headroom, .. } = *profile;
            (size, threshold, xon, xon_offset, headroom)
        };
        given(self) == given(other)
    }
}

/// Priority groups and where their profiles come from.
pub(super) struct Profiles<'a> {
    groups: BTreeMap<(String, u8), &'a str>,
    lookup: Option<&'a [LookupLine]>,
    is_dynamic: bool,
    default_th: Option<i64>,
    over_subscribe_ratio: Option<Said<i64>>,
}

pub(super) const POOL: &str = "ingress_lossless_pool";

impl<'a> Profiles<'a> {
    pub(super) fn new(reader: &mut Reader<'a>, lookup: Option<&'a [LookupLine]>) -> Self {
        let rows = reader.by_port_and_number("BUFFER_PG");
        let groups = rows.into_iter().map(|(port, group, key)| ((port, group), key)).collect();
        let model = reader.text("DEVICE_METADATA", "localhost", "buffer_model");
        const DEFAULTS: &str = "DEFAULT_LOSSLESS_BUFFER_PARAMETER";
        let (mut default_th, mut over_subscribe_ratio) = (None, None);
        for key in reader.db.keys(DEFAULTS) {
            default_th = reader.number(DEFAULTS, key, "default_dynamic_th", -8..=8);
            let ratio = reader.number(DEFAULTS, key, "over_subscribe_ratio", 0..=1_000);
            over_subscribe_ratio = ratio.filter(|ratio| ratio.value > 0);
        }
        let is_dynamic =
            default_th.is_some() || model.is_some_and(|model| model.value == "dynamic");
        let default_th = default_th.map(|th| th.value);
        Self { groups, lookup, is_dynamic, default_th, over_subscribe_ratio }
    }

    /// By how much all headroom exceeds the pool of headroom, where that has no size.
    pub(super) const fn over_subscribe_ratio(&self) -> Option<&Said<i64>> {
        self.over_subscribe_ratio.as_ref()
    }

    /// The profile of a group in which the port sends and obeys PFC. `None`: it is not lossless.
    pub(super) fn of_group(
        &self,
        reader: &mut Reader<'_>,
        port: &Port,
        group: u8,
    ) -> Option<Profile> {
        let Some(&key) = self.groups.get(&(port.name.clone(), group)) else {
            return self.generated(reader, port, group);
        };
        let at = ("BUFFER_PG", key, "profile");
        let Some(name) = reader.reference(at, "BUFFER_PROFILE") else {
            // NULL: the dynamic model computes it.
            return Some(self.computed(format!("BUFFER_PG|{key}|profile = \"NULL\"")));
        };
        let name = name.value;
        if !reader.db.has("BUFFER_PROFILE", &name) {
            if name.starts_with("pg_lossless_") {
                return self.generated(reader, port, group);
            }
            reader.known_reference(at, "BUFFER_PROFILE")?;
        }
        self.written(reader, port, &name)
    }

    fn written(&self, reader: &mut Reader<'_>, port: &Port, name: &str) -> Option<Profile> {
        const TABLE: &str = "BUFFER_PROFILE";
        let from = format!("{TABLE}|{name}");
        let headroom = reader.bytes(TABLE, name, "xoff").filter(|xoff| xoff.value > 0);
        let threshold = threshold(reader, name);
        let Some(headroom) = headroom else {
            let kind = reader.text(TABLE, name, "headroom_type")?;
            return (kind.value == "dynamic").then(|| Profile {
                threshold,
                from,
                ..self.computed(String::new())
            });
        };
        let size = reader.bytes(TABLE, name, "size").map_or(0, |size| size.value);
        let xon = reader.bytes(TABLE, name, "xon").map_or(0, |xon| xon.value);
        let xon_offset = reader.bytes(TABLE, name, "xon_offset").map_or(0, |xon| xon.value);
        let pool = reader.known_reference((TABLE, name, "pool"), "BUFFER_POOL");
        let size = set_aside(size, xon, headroom.value);
        let threshold = threshold.map(|threshold| with_size(threshold, size));
        if threshold.is_none() {
            let place = Place::new(TABLE, name, "");
            reader.wrong(&place, format!("has no dynamic_th, and {} is lossless by it", port.name));
        }
        Some(Profile {
            size: Some(size),
            threshold,
            xon,
            xon_offset,
            headroom: Some(headroom.value),
            pool: pool.map_or_else(|| POOL.to_owned(), |pool| pool.value),
            from,
        })
    }

    /// What `buffermgrd` makes for a port with PFC: from the lookup file, or by itself.
    fn generated(&self, reader: &mut Reader<'_>, port: &Port, group: u8) -> Option<Profile> {
        let length = port.cable.as_ref().and_then(|cable| parse_length(&cable.value).ok());
        if length.is_some_and(|length| length == Length::from_metres(0)) {
            // SONiC makes none for a port without a cable.
            return None;
        }
        let place = Place::new("PORT_QOS_MAP", &port.name, "pfc_enable");
        let instead = "its headroom is computed from speed, cable and MTU";
        let Some(lookup) = self.lookup else {
            if !self.is_dynamic {
                let why = format!(
                    "BUFFER_PG has no profile for the lossless priority group {group}, and no --pg-lookup \
                     is given"
                );
                reader.approximate(&place, why, instead);
            }
            return Some(self.computed(format!("PORT_QOS_MAP|{}|pfc_enable", port.name)));
        };
        let matches =
            |line: &&LookupLine| line.mbps == port.mbps.value && Some(line.cable) == length;
        let Some(line) = lookup.iter().find(matches) else {
            let mbps = port.mbps.value;
            let cable = port.cable.as_ref().map_or("no known length", |cable| cable.value.as_str());
            let why = format!("the lookup file has no line for {mbps} Mb/s and a cable of {cable}");
            reader.approximate(&place, why, instead);
            return Some(self.computed(format!("PORT_QOS_MAP|{}|pfc_enable", port.name)));
        };
        let size = set_aside(line.size, line.xon, line.xoff);
        Some(Profile {
            size: Some(size),
            threshold: Some(Threshold::Dynamic(line.dynamic_th)),
            xon: line.xon,
            xon_offset: line.xon_offset.unwrap_or_default(),
            headroom: Some(line.xoff),
            pool: POOL.to_owned(),
            from: line.from.clone(),
        })
    }

    fn computed(&self, from: String) -> Profile {
        Profile {
            size: None,
            threshold: self.default_th.map(Threshold::Dynamic),
            xon: 0,
            xon_offset: 0,
            headroom: None,
            pool: POOL.to_owned(),
            from,
        }
    }
}

/// `dynamic_th` or `static_th`, the latter without what is set aside.
fn threshold(reader: &mut Reader<'_>, name: &str) -> Option<Threshold> {
    const TABLE: &str = "BUFFER_PROFILE";
    if let Some(power) = reader.number(TABLE, name, "dynamic_th", -8..=8) {
        return Some(Threshold::Dynamic(power.value));
    }
    reader.bytes(TABLE, name, "static_th").map(|bytes| Threshold::Static(bytes.value))
}

/// SONiC's `static_th` is what a group may hold beyond its size; here its size is a part of it.
fn with_size(threshold: Threshold, size: u64) -> Threshold {
    match threshold {
        Threshold::Static(bytes) => Threshold::Static(bytes.saturating_add(size)),
        dynamic @ Threshold::Dynamic(_) => dynamic,
    }
}

/// Some vendors count the headroom into `size`, which then is xon + xoff at the least.
fn set_aside(size: u64, xon: u64, xoff: u64) -> u64 {
    if size >= xon.saturating_add(xoff) { size - xoff } else { size }
}

/// Whether a queue's or a group's profile limits nothing: `static_th` as large as its pool, or 0,
/// which is no limit (SAI).
pub(super) fn is_unlimited(reader: &mut Reader<'_>, profile: &str) -> bool {
    let Some(Threshold::Static(bytes)) = threshold(reader, profile) else { return false };
    let pool = reader.reference(("BUFFER_PROFILE", profile, "pool"), "BUFFER_POOL");
    let size = pool.and_then(|pool| reader.bytes("BUFFER_POOL", &pool.value, "size"));
    bytes == 0 || size.is_none_or(|size| bytes >= size.value)
}

/// Profiles of the lossy groups that ports in use have, with a key that names each.
pub(super) fn of_lossy_groups(
    reader: &mut Reader<'_>,
    ports: &[Port],
    is_lossless: impl Fn(&str, u8) -> bool,
) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for (port, group, key) in reader.by_port_and_number("BUFFER_PG") {
        let is_used = ports.iter().any(|known| names_port(&port, &known.name));
        if !is_used || is_lossless(&port, group) {
            continue;
        }
        let Some(name) = reader.reference(("BUFFER_PG", key, "profile"), "BUFFER_PROFILE") else {
            continue;
        };
        let is_known = reader.db.has("BUFFER_PROFILE", &name.value);
        if is_known && !found.iter().any(|(known, _)| *known == name.value) {
            found.push((name.value, key.to_owned()));
        }
    }
    found
}

/// A value that all have, with where it is said.
pub(super) fn common<T: Clone + PartialEq>(values: &[(T, String)]) -> Option<(Said<T>, bool)> {
    let plain: Vec<T> = values.iter().map(|(value, _)| value.clone()).collect();
    let most = super::reader::most_common(&plain)?;
    let (value, from) = values.iter().find(|(value, _)| value == most)?;
    let all = plain.iter().all(|value| value == most);
    Some((Said::new(value.clone(), from.clone()), all))
}
