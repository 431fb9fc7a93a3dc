//! From the maps of all ports to tags: which priority a DSCP has, and where that depends on the
//! port.
//!
//! A tag is the DSCP of its number. Its priority is the priority group of its class if that is
//! lossless, and its queue if not: a lossy frame holds no priority group's buffer here. What a port
//! does otherwise is a `[[qos_map]]`.

use super::findings::Place;
use super::maps::{Dscps, PortMaps};
use super::model::{Model, QosMap, Tag};
use super::reader::{Reader, most_common};
use std::collections::BTreeMap;

/// Queues that a port has.
const QUEUES: u8 = 8;

/// Each port's maps, beside the port of the same place.
pub(super) struct Classes<'a> {
    pub(super) maps: &'a [PortMaps],
    /// Lossless priority groups of each port, as bits.
    pub(super) lossless: &'a [u8],
}

impl Classes<'_> {
    /// Fills in the tags and what differs by port. Returns the lossless priorities that a tag leads
    /// to.
    pub(super) fn build(&self, reader: &mut Reader<'_>, model: &mut Model) -> u8 {
        if self.maps.iter().all(|maps| maps.dscp.is_none() && maps.pcp.is_none()) {
            return 0;
        }
        let by_dscp = self.goes_by_dscp();
        let classes = self.classes(by_dscp);
        self.say_classes(reader, model, by_dscp, &classes);
        let of_tag = |tag: u8| classes[usize::from(tag)];
        let lossless: Vec<Option<u8>> =
            (0..64).map(|tag| self.lossless_group(reader, model, tag, of_tag(tag))).collect();
        let used = lossless.iter().flatten().fold(0, |bits, group| bits | 1 << group);
        let mut groups: Vec<Vec<(u8, u8)>> = vec![Vec::new(); self.maps.len()];
        let mut queues = groups.clone();
        for (tag, group) in (0..64).zip(lossless) {
            let class = of_tag(tag);
            let own: Vec<u8> = self.maps.iter().map(|maps| maps.queue(class)).collect();
            if let Some(at) = own.iter().position(|&queue| queue >= QUEUES) {
                let name = &self.maps[at].queue_name;
                let place = Place::new("TC_TO_QUEUE_MAP", name, &class.to_string());
                reader.refuse(&place, "there are eight queues, 0 to 7");
                continue;
            }
            let chosen: Vec<u8> = own
                .iter()
                .zip(self.maps)
                .map(|(&queue, maps)| chosen_queue(reader, maps, class, queue, group, used))
                .collect();
            let common = most_common(&chosen).copied().unwrap_or_default();
            let priority = group.unwrap_or(common);
            if let Some(group) = group {
                self.other_groups(tag, class, group, &mut groups);
            }
            for (queue, of_port) in chosen.iter().zip(&mut queues) {
                if *queue != priority {
                    of_port.push((tag, *queue));
                }
            }
            let from = self.from(by_dscp, tag, class, group);
            model.tags.push(Tag { tag, priority, pcp: None, from });
        }
        self.pcps(reader, model, by_dscp, &classes);
        self.maps_of_ports(model, groups, queues);
        used
    }

    fn goes_by_dscp(&self) -> bool {
        self.maps.iter().any(|maps| maps.dscp.is_some())
    }

    /// The traffic class of each tag.
    pub(super) fn of_tags(&self) -> Dscps {
        self.classes(self.goes_by_dscp())
    }

    /// The traffic class of each DSCP: that of most ports, and the lossless one where ports differ.
    fn classes(&self, by_dscp: bool) -> Dscps {
        if !by_dscp {
            let first = self.maps.iter().find_map(|maps| maps.pcp.as_ref());
            let mut classes = [0; 64];
            for (place, class) in classes.iter_mut().zip(first.map_or([0; 8], |map| map.value)) {
                *place = class;
            }
            return classes;
        }
        let known: Vec<Dscps> =
            self.maps.iter().filter_map(|maps| maps.dscp.as_ref()).map(|map| map.value).collect();
        let mut classes = most_common(&known).copied().unwrap_or([0; 64]);
        for (dscp, class) in classes.iter_mut().enumerate() {
            let lossless = self.maps.iter().zip(self.lossless).find_map(|(maps, bits)| {
                let own = maps.dscp.as_ref()?.value[dscp];
                is_in(*bits, maps.group(own)).then_some(own)
            });
            *class = lossless.unwrap_or(*class);
        }
        classes
    }

    /// Says where a port puts a DSCP into another class than is taken.
    fn say_classes(&self, reader: &mut Reader<'_>, model: &Model, by_dscp: bool, classes: &Dscps) {
        for (maps, port) in self.maps.iter().zip(&model.ports) {
            let place = |field| Place::new("PORT_QOS_MAP", &port.name, field);
            let Some(map) = &maps.dscp else {
                let goes_by_pcp = maps.pcp.is_some();
                if by_dscp && !goes_by_pcp {
                    let why = "the port goes by no marking, and others do";
                    let instead = "it goes by DSCP, as the others";
                    reader.approximate(&place("dscp_to_tc_map"), why, instead);
                }
                continue;
            };
            let differing =
                map.value.iter().zip(classes).enumerate().filter(|(_, (own, class))| {
                    let queues = |class: u8| self.maps.iter().map(move |maps| maps.queue(class));
                    own != class && !queues(**own).eq(queues(**class))
                });
            let differing: Vec<String> = differing.map(|(dscp, _)| dscp.to_string()).collect();
            if !differing.is_empty() {
                let why = format!(
                    "{} gives DSCP {} another class than other ports do, and the queue of a DSCP does \
                     not depend on the port where a frame comes in",
                    map.from,
                    differing.join(", ")
                );
                let instead = "the DSCP has the lossless class of those, or that of most ports";
                reader.approximate(&place("dscp_to_tc_map"), why, instead);
            }
        }
    }

    /// The lossless priority group of a class, if a port has one.
    fn lossless_group(
        &self,
        reader: &mut Reader<'_>,
        model: &Model,
        tag: u8,
        class: u8,
    ) -> Option<u8> {
        let each = || self.maps.iter().zip(self.lossless).zip(&model.ports);
        let groups: Vec<u8> = each()
            .map(|((maps, bits), _)| (maps.group(class), *bits))
            .filter(|&(group, bits)| is_in(bits, group))
            .map(|(group, _)| group)
            .collect();
        let group = *most_common(&groups)?;
        for ((maps, bits), port) in each() {
            let own = maps.dscp.as_ref().map_or(class, |map| map.value[usize::from(tag)]);
            // Where the tag's group is lossy, so is the tag.
            if !is_in(*bits, maps.group(own)) && is_in(*bits, group) {
                let why = format!(
                    "DSCP {tag} is lossless at other ports, and not at this one, where priority group \
                     {group} is lossless for others"
                );
                let place = Place::new("PORT_QOS_MAP", &port.name, "tc_to_pg_map");
                reader.approximate(&place, why, "it is lossless here, too");
            }
        }
        Some(group)
    }

    /// Ports where the class has another lossless group.
    fn other_groups(&self, tag: u8, class: u8, group: u8, groups: &mut [Vec<(u8, u8)>]) {
        for ((maps, bits), of_port) in self.maps.iter().zip(self.lossless).zip(groups) {
            let own = maps.dscp.as_ref().map_or(class, |map| map.value[usize::from(tag)]);
            let own = maps.group(own);
            if own != group && is_in(*bits, own) {
                of_port.push((tag, own));
            }
        }
    }

    fn from(&self, by_dscp: bool, tag: u8, class: u8, group: Option<u8>) -> String {
        let maps = self.maps.iter();
        let marking = if by_dscp {
            let own = |maps: &&PortMaps| {
                maps.dscp.as_ref().is_some_and(|map| map.value[usize::from(tag)] == class)
            };
            maps.clone().find(own).and_then(|maps| maps.dscp.as_ref()).map(|map| &map.from)
        } else {
            maps.clone().find_map(|maps| maps.pcp.as_ref()).map(|map| &map.from)
        };
        let marking = marking.map_or("DSCP_TO_TC_MAP", String::as_str);
        let (table, name) = match group {
            Some(_) => ("TC_TO_PRIORITY_GROUP_MAP", self.maps.iter().map(|maps| &maps.group_name)),
            None => return self.key_of_queue(marking, tag, class),
        };
        let name = name.clone().find(|name| !name.is_empty()).map_or("", String::as_str);
        format!("{marking}|{tag} = \"{class}\", {table}|{name}|{class}")
    }

    fn key_of_queue(&self, marking: &str, tag: u8, class: u8) -> String {
        let names = self.maps.iter().map(|maps| maps.queue_name.as_str());
        let name = names.clone().find(|name| !name.is_empty()).unwrap_or_default();
        format!("{marking}|{tag} = \"{class}\", TC_TO_QUEUE_MAP|{name}|{class}")
    }

    /// Gives each PCP a tag of its class, where a port goes by PCP.
    fn pcps(&self, reader: &mut Reader<'_>, model: &mut Model, by_dscp: bool, classes: &Dscps) {
        let mut first = None;
        for (maps, port) in self.maps.iter().zip(&mut model.ports) {
            let (None, Some(map)) = (&maps.dscp, &maps.pcp) else { continue };
            port.by_pcp = Some(map.from.clone());
            match first {
                None => first = Some(map),
                Some(known) if known.value == map.value => {}
                Some(_) => {
                    let place = Place::new("PORT_QOS_MAP", &port.name, "dot1p_to_tc_map");
                    reader.refuse(&place, "another map than that of other ports; use one for all");
                }
            }
        }
        let Some(map) = first else { return };
        let mut taken = BTreeMap::new();
        for (pcp, class) in (0..8_u8).zip(map.value) {
            let is_free =
                |tag: &u8| !taken.contains_key(tag) && classes[usize::from(*tag)] == class;
            let selectors = if by_dscp { vec![pcp * 8] } else { vec![pcp] };
            let tag = selectors.into_iter().chain(0..64).find(is_free);
            match tag {
                Some(tag) => _ = taken.insert(tag, pcp),
                None => {
                    let place = Place::new(&map.from, &pcp.to_string(), "");
                    let why =
                        format!("no DSCP leads to class {class}, so no tag can carry this PCP");
                    reader.refuse(&place, why);
                }
            }
        }
        for tag in &mut model.tags {
            tag.pcp = taken.get(&tag.tag).copied();
        }
    }

    /// Joins ports that differ in the same way.
    fn maps_of_ports(
        &self,
        model: &mut Model,
        groups: Vec<Vec<(u8, u8)>>,
        queues: Vec<Vec<(u8, u8)>>,
    ) {
        let mut joined: BTreeMap<_, (Vec<String>, String)> = BTreeMap::new();
        for (((group, queue), maps), port) in
            groups.into_iter().zip(queues).zip(self.maps).zip(&model.ports)
        {
            if group.is_empty() && queue.is_empty() {
                continue;
            }
            let from = format!(
                "TC_TO_PRIORITY_GROUP_MAP|{}, TC_TO_QUEUE_MAP|{}",
                maps.group_name, maps.queue_name
            );
            let entry = joined.entry((group, queue)).or_insert_with(|| (Vec::new(), from));
            entry.0.push(port.name.clone());
        }
        for ((priority_group, queue), (ports, from)) in joined {
            model.maps.push(QosMap { ports, priority_group, queue, from });
        }
    }
}

fn is_in(bits: u8, priority: u8) -> bool {
    priority < 8 && bits >> priority & 1 == 1
}

/// The queue of a class at a port, where `queue` is what its map says. A lossless frame leaves by a
/// lossless queue, and a lossy one by a lossy queue.
fn chosen_queue(
    reader: &mut Reader<'_>,
    maps: &PortMaps,
    class: u8,
    queue: u8,
    group: Option<u8>,
    lossless: u8,
) -> u8 {
    if group.is_some() == is_in(lossless, queue) {
        return queue;
    }
    let place = Place::new("TC_TO_QUEUE_MAP", &maps.queue_name, &class.to_string());
    let lossy = (0..QUEUES).find(|&priority| !is_in(lossless, priority)).unwrap_or_default();
    let (instead, why) = match group {
        Some(group) => (group, format!("class {class} is lossless, and its queue is not")),
        None => (lossy, format!("class {class} is lossy, and its queue is lossless")),
    };
    reader.approximate(&place, why, format!("it leaves by queue {instead}"));
    instead
}
