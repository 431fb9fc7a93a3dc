//! The maps of a port: DSCP or PCP to traffic class, traffic class to priority group and to queue.

use super::findings::Place;
use super::ports::qos_key;
use super::reader::{Reader, Said};

/// Traffic classes that a map may name.
const CLASSES: usize = 16;

/// From DSCP to traffic class.
pub(super) type Dscps = [u8; 64];

/// The maps of one port. A class that a map does not name goes to 0, as do all where there is no
/// map (SAI).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PortMaps {
    pub(super) dscp: Option<Said<Dscps>>,
    pub(super) pcp: Option<Said<[u8; 8]>>,
    group: [u8; CLASSES],
    queue: [u8; CLASSES],
    pub(super) group_name: String,
    pub(super) queue_name: String,
}

/// A map from a traffic class, and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClassMap {
    pub(super) name: String,
    to: [u8; CLASSES],
}

impl ClassMap {
    /// What a class is mapped to.
    pub(super) fn of(&self, class: u8) -> u8 {
        self.to.get(usize::from(class)).copied().unwrap_or_default()
    }
}

impl PortMaps {
    /// The priority group of a traffic class.
    pub(super) fn group(&self, class: u8) -> u8 {
        self.group.get(usize::from(class)).copied().unwrap_or_default()
    }

    /// The queue of a traffic class.
    pub(super) fn queue(&self, class: u8) -> u8 {
        self.queue.get(usize::from(class)).copied().unwrap_or_default()
    }
}

/// Fields of `PORT_QOS_MAP` that would change what a frame looks like or when it goes.
const WITHOUT_COUNTERPART: [(&str, &str, &str); 6] = [
    ("tc_to_dscp_map", "the DSCP of a frame follows from its tag", "frames keep their DSCP"),
    ("tc_to_dot1p_map", "the PCP of a frame follows from its tag", "the PCP is that of the tag"),
    ("scheduler", "a port has no rate but its speed", "the port sends as fast as it can"),
    ("dscp_to_fc_map", "there are no forwarding classes", "it is left out"),
    ("exp_to_fc_map", "there are no forwarding classes", "it is left out"),
    ("mpls_tc_to_tc_map", "MPLS is bridged only", "it is left out"),
];

/// The maps of a port, as `PORT_QOS_MAP` binds them to it or to all ports.
pub(super) fn of_port(reader: &mut Reader<'_>, port: &str) -> PortMaps {
    let key = qos_key(reader, port);
    let mut maps = PortMaps {
        dscp: None,
        pcp: None,
        group: [0; CLASSES],
        queue: [0; CLASSES],
        group_name: String::new(),
        queue_name: String::new(),
    };
    for (key, is_global) in key.map(|key| (key, false)).into_iter().chain([("global", true)]) {
        if maps.dscp.is_none() {
            let at = ("PORT_QOS_MAP", key, "dscp_to_tc_map");
            maps.dscp = of_markings(reader, at, "DSCP_TO_TC_MAP");
        }
        if maps.pcp.is_none() {
            let at = ("PORT_QOS_MAP", key, "dot1p_to_tc_map");
            maps.pcp = of_markings(reader, at, "DOT1P_TO_TC_MAP");
        }
        if is_global {
            continue;
        }
        let at = ("PORT_QOS_MAP", key, "tc_to_pg_map");
        if let Some(ClassMap { name, to }) = of_classes(reader, at, "TC_TO_PRIORITY_GROUP_MAP") {
            (maps.group_name, maps.group) = (name, to);
        }
        let at = ("PORT_QOS_MAP", key, "tc_to_queue_map");
        if let Some(ClassMap { name, to }) = of_classes(reader, at, "TC_TO_QUEUE_MAP") {
            (maps.queue_name, maps.queue) = (name, to);
        }
        identity(reader, key, "pfc_to_queue_map", "MAP_PFC_PRIORITY_TO_QUEUE");
        identity(reader, key, "pfc_to_pg_map", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP");
        for (field, why, instead) in WITHOUT_COUNTERPART {
            if reader.text("PORT_QOS_MAP", key, field).is_some() {
                reader.approximate(&Place::new("PORT_QOS_MAP", key, field), why, instead);
            }
        }
    }
    maps
}

/// The map from a marking to a class that a field names.
pub(super) fn of_markings<const N: usize>(
    reader: &mut Reader<'_>,
    at: (&str, &str, &str),
    table: &str,
) -> Option<Said<[u8; N]>> {
    let name = reader.known_reference(at, table)?;
    let mut map = [0; N];
    each(reader, table, &name.value, N, CLASSES, |from, to| {
        if let Some(place) = map.get_mut(from) {
            *place = to;
        }
    });
    let from = format!("{table}|{}", name.value);
    Some(Said::new(map, from))
}

/// The map from a class to a priority group, a queue or a DSCP that a field names.
pub(super) fn of_classes(
    reader: &mut Reader<'_>,
    at: (&str, &str, &str),
    table: &str,
) -> Option<ClassMap> {
    let name = reader.known_reference(at, table)?.value;
    let mut map = [0; CLASSES];
    each(reader, table, &name, CLASSES, 64, |from, to| {
        if let Some(place) = map.get_mut(from) {
            *place = to;
        }
    });
    Some(ClassMap { name, to: map })
}

/// A pause of a priority stops the queue of its number, and a priority group sends that of its own.
fn identity(reader: &mut Reader<'_>, key: &str, field: &str, table: &str) {
    let Some(name) = reader.known_reference(("PORT_QOS_MAP", key, field), table) else { return };
    let mut moved = Vec::new();
    each(reader, table, &name.value, 8, 64, |from, to| {
        if usize::from(to) != from {
            moved.push(from);
        }
    });
    for from in moved {
        let place = Place::new(table, &name.value, &from.to_string());
        let why = "is not its own number; a priority pauses the queue of its number here";
        reader.refuse(&place, why);
    }
}

/// Every pair of numbers of a map; what is none is an error.
fn each(
    reader: &mut Reader<'_>,
    table: &str,
    name: &str,
    from_end: usize,
    to_end: usize,
    mut take: impl FnMut(usize, u8),
) {
    let db = reader.db;
    for field in db.fields(table, name) {
        let place = Place::new(table, name, field);
        let Some(from) = field.parse::<usize>().ok().filter(|&from| from < from_end) else {
            if field != "NULL" {
                reader.wrong(&place, format!("is no number from 0 to {}", from_end - 1));
            }
            continue;
        };
        let most = i64::try_from(to_end - 1).unwrap_or(i64::MAX);
        let Some(to) = reader.number(table, name, field, 0..=most) else { continue };
        take(from, u8::try_from(to.value).unwrap_or_default());
    }
}
