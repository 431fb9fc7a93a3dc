//! `[[qos_map]]`: the priorities of tags by port, for VIQ and VEQ apart (SONiC: PORT_QOS_MAP).

use super::port_draft::{PortDraft, named_port};
use super::schema::{QosMapTable, SwitchFile};
use super::tag_map;
use crate::error::ConfigError;
use crate::fields::PriorityField;
use crate::source::Source;
use dataplane::ids::{Priority, Tag};
use dataplane::limits::TAGS;
use dataplane::pipeline::classify::TagMap;
use dataplane::qos_map::QosMap;
use std::collections::BTreeMap;
use std::sync::Arc;
use toml::Spanned;

/// Gives the ports their maps.
///
/// # Errors
/// A port has two maps, a key is no tag, a lossless tag would be in a lossy queue, or a lossy one
/// in a lossless queue.
pub(super) fn apply(
    source: &Source,
    file: &SwitchFile,
    lossless_bits: u8,
    tags: &TagMap,
    ports: &mut [PortDraft<'_>],
) -> Result<(), ConfigError> {
    let Some(first) = file.qos_map.first() else { return Ok(()) };
    if file.ttl.is_some() {
        let message = "lossless frames go by their hops ([ttl]), not by tags; remove [[qos_map]]";
        return Err(source.at(first.span(), message));
    }
    let has_rules = file.rules.is_some() || file.fabric.is_some();
    let reader = Reader { source, lossless_bits, tags, has_rules };
    let mut general = None;
    for table in &file.qos_map {
        let map = Arc::new(reader.read(table)?);
        let Some(list) = &table.get_ref().ports else {
            if general.replace(map).is_some() {
                let message =
                    "a [[qos_map]] without `ports` is there already; name the ports of one";
                return Err(source.at(table.span(), message));
            }
            continue;
        };
        for name in list.get_ref() {
            let port = &mut ports[named_port(source, name, ports)?];
            if port.config.qos_map.replace(Arc::clone(&map)).is_some() {
                let message = format!(
                    "port `{}` has a [[qos_map]] already; name it in one of them",
                    port.name()
                );
                return Err(source.at(name.span(), message));
            }
        }
    }
    for port in ports.iter_mut().filter(|port| port.config.qos_map.is_none()) {
        port.config.qos_map.clone_from(&general);
    }
    Ok(())
}

/// The priority group and the queue of a tag at ports with this map, or without one.
pub(crate) fn priorities(map: Option<&QosMap>, tags: &TagMap, tag: Tag) -> (Priority, Priority) {
    let own = tags.priority[tag.index()];
    map.map_or((own, own), |map| (map.priority_group[tag.index()], map.queue[tag.index()]))
}

struct Reader<'a> {
    source: &'a Source,
    lossless_bits: u8,
    tags: &'a TagMap,
    has_rules: bool,
}

impl Reader<'_> {
    fn read(&self, spanned: &Spanned<QosMapTable>) -> Result<QosMap, ConfigError> {
        let table = spanned.get_ref();
        if table.priority_group.is_empty() && table.queue.is_empty() {
            let message = "this map maps nothing; add `priority_group` or `queue`";
            return Err(self.source.at(spanned.span(), message));
        }
        let mut map = QosMap::plain(self.tags.priority);
        self.fill(&mut map.priority_group, &table.priority_group, "priority_group")?;
        self.fill(&mut map.queue, &table.queue, "queue")?;
        Ok(map)
    }

    fn fill(
        &self,
        priorities: &mut [Priority; TAGS],
        entries: &BTreeMap<String, Spanned<PriorityField>>,
        name: &str,
    ) -> Result<(), ConfigError> {
        tag_map::each(self.source, entries, name, |tag, &PriorityField(priority)| {
            priorities[tag.index()] = priority;
            self.contradiction(tag, priority, name).map_or(Ok(()), Err)
        })
    }

    /// Why `tag` may not have `priority`.
    fn contradiction(&self, tag: Tag, priority: Priority, name: &str) -> Option<String> {
        let is_lossless = self.tags.is_lossless(tag);
        let becomes_lossless = self.lossless_bits & priority.bit() != 0;
        match (is_lossless, becomes_lossless) {
            (true, false) => Some(format!(
                "tag {tag} is lossless and priority {priority} is not, so its frames could be lost; \
                 give it a `{name}` with a [[lossless]]"
            )),
            (false, true) => Some(format!(
                "tag {tag} is lossy and priority {priority} is lossless, so lossy frames would pause \
                 senders; give it a `{name}` without a [[lossless]]"
            )),
            (true, true) if self.has_rules && priority != self.tags.priority[tag.index()] => {
                Some(format!(
                    "tag {tag} has priority {} by the rules, which are proven free of deadlock with \
                     it; leave it out here",
                    self.tags.priority[tag.index()]
                ))
            }
            _ => None,
        }
    }
}
