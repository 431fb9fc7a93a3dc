//! `[[initial_tag]]`: which markings select which application class at untrusted ports (Tagger,
//! VI-A; IEEE 802.1Q, 6.9.4: priority regeneration).

use super::port_draft::{PortDraft, named_port};
use super::schema::{InitialTagTable, SwitchFile};
use crate::error::ConfigError;
use crate::source::Source;
use dataplane::ids::Tag;
use dataplane::limits::{PRIORITIES, TAGS};
use dataplane::pipeline::classify::{ClassifyBy, TagMap};
use std::ops::Range;
use toml::Spanned;

/// Gives the untrusted ports their initial tags.
///
/// # Errors
/// An entry has no marking, a tag that no class starts with, or a port at which it has no effect;
/// or two entries disagree.
pub(super) fn apply(
    source: &Source,
    file: &SwitchFile,
    tags: &TagMap,
    ports: &mut [PortDraft<'_>],
) -> Result<(), ConfigError> {
    let Some(first) = file.initial_tag.first() else { return Ok(()) };
    if file.ttl.is_some() {
        let message =
            "lossless frames go by their hops ([ttl]), not by tags; remove [[initial_tag]]";
        return Err(source.at(first.span(), message));
    }
    let mut entries = Vec::with_capacity(file.initial_tag.len());
    for table in &file.initial_tag {
        entries.push(Entry::read(source, file, tags, table, ports)?);
    }
    // What is said of a port comes before what is said of all.
    let (named, general): (Vec<&Entry>, Vec<&Entry>) =
        entries.iter().partition(|entry| entry.ports.is_some());
    for (index, port) in ports.iter_mut().enumerate() {
        let mut seen = Seen::default();
        for group in [&named, &general] {
            let mut here = Seen::default();
            let for_port = group.iter().filter(|entry| entry.is_for(port, index, tags));
            for entry in for_port.collect::<Vec<_>>() {
                entry.give(source, port, &seen, &mut here)?;
            }
            seen.add(&here);
        }
    }
    Ok(())
}

/// One `[[initial_tag]]`, read.
struct Entry {
    tag: Tag,
    dscps: Vec<(u8, Range<usize>)>,
    pcps: Vec<(u8, Range<usize>)>,
    /// Indexes of ports, if the entry names them.
    ports: Option<Vec<usize>>,
}

/// The markings that have an entry, at one port.
#[derive(Clone, Copy, Default)]
struct Seen {
    dscps: u64,
    pcps: u8,
}

const _: () = assert!(TAGS == 64 && PRIORITIES == 8, "a bit for each marking");

impl Seen {
    const fn add(&mut self, other: &Self) {
        self.dscps |= other.dscps;
        self.pcps |= other.pcps;
    }
}

impl Entry {
    fn read(
        source: &Source,
        file: &SwitchFile,
        tags: &TagMap,
        table: &Spanned<InitialTagTable>,
        ports: &[PortDraft<'_>],
    ) -> Result<Self, ConfigError> {
        let (span, table) = (table.span(), table.get_ref());
        let dscps = table.dscp.iter().flat_map(|list| list.get_ref());
        let dscps: Vec<_> = dscps.map(|dscp| (dscp.get_ref().0, dscp.span())).collect();
        let pcps = table.pcp.iter().flat_map(|list| list.get_ref());
        let pcps: Vec<_> = pcps.map(|pcp| (pcp.get_ref().0, pcp.span())).collect();
        if dscps.is_empty() && pcps.is_empty() {
            let message = "no marking selects this tag; add `dscp` or `pcp`, a list of them";
            return Err(source.at(span, message));
        }
        let tag = table.tag.get_ref().0;
        let has_rules = file.rules.is_some() || file.fabric.is_some();
        if has_rules && tags.is_lossless(tag) && tags.initial_tags >> tag.index() & 1 == 0 {
            let message = format!(
                "no application class of the rules starts with tag {tag}, so its frames would have \
                 fewer bounces than the rules provide for; use {}, or compile with `classes`",
                list(tags.initial_tags)
            );
            return Err(source.at(table.tag.span(), message));
        }
        let named = table.ports.as_ref().map(|list| {
            list.get_ref().iter().map(|name| named_port(source, name, ports)).collect()
        });
        let entry = Self { tag, dscps, pcps, ports: named.transpose()? };
        entry.check_effect(source, tags, ports, &span, table)?;
        Ok(entry)
    }

    /// That every port that is named, or some port if none is, goes by these markings.
    fn check_effect(
        &self,
        source: &Source,
        tags: &TagMap,
        ports: &[PortDraft<'_>],
        span: &Range<usize>,
        table: &InitialTagTable,
    ) -> Result<(), ConfigError> {
        let Some(named) = &self.ports else {
            if ports.iter().any(|port| self.obstacle(port, tags).is_none()) {
                return Ok(());
            }
            let message = "no untrusted port goes by these markings; remove this table";
            return Err(source.at(span.clone(), message));
        };
        let names = table.ports.iter().flat_map(|list| list.get_ref());
        for (&port, name) in named.iter().zip(names) {
            if let Some(obstacle) = self.obstacle(&ports[port], tags) {
                let message = format!("port `{}` {obstacle}", ports[port].name());
                return Err(source.at(name.span(), message));
            }
        }
        Ok(())
    }

    /// Why the entry has no effect at a port.
    fn obstacle(&self, port: &PortDraft<'_>, tags: &TagMap) -> Option<&'static str> {
        let trust = &port.config.trust;
        match trust.by {
            _ if trust.trusted => Some("is trusted: its markings are its tags; remove it here"),
            ClassifyBy::Port => {
                Some("goes by its default tag (classify = \"port\"), not by markings")
            }
            ClassifyBy::Pcp if self.pcps.is_empty() => {
                Some("goes by PCP; give the entry `pcp`, or remove the port here")
            }
            _ if tags.is_lossless(self.tag) && !port.pfc => {
                Some("has pfc = false, so nothing is lossless there; remove it here")
            }
            _ => None,
        }
    }

    /// Whether the entry applies to a port, which is `index` among the ports.
    fn is_for(&self, port: &PortDraft<'_>, index: usize, tags: &TagMap) -> bool {
        match &self.ports {
            Some(named) => named.contains(&index),
            None => self.obstacle(port, tags).is_none(),
        }
    }

    /// Gives the port its tags for the markings that are not among `before`, and adds them to
    /// `here`.
    fn give(
        &self,
        source: &Source,
        port: &mut PortDraft<'_>,
        before: &Seen,
        here: &mut Seen,
    ) -> Result<(), ConfigError> {
        let twice = |what: &str, value: u8, span: &Range<usize>, name: &str| {
            let message = format!(
                "{what} {value} has an initial tag at port `{name}` already; one is enough"
            );
            source.at(span.clone(), message)
        };
        let (name, initial) = (&port.config.name, &mut port.config.trust.initial);
        for (dscp, span) in &self.dscps {
            let bit = 1_u64 << dscp;
            if here.dscps & bit != 0 {
                return Err(twice("DSCP", *dscp, span, name));
            }
            here.dscps |= bit;
            if before.dscps & bit == 0 {
                initial.by_dscp[usize::from(*dscp)] = Some(self.tag);
            }
        }
        for (pcp, span) in &self.pcps {
            let bit = 1_u8 << pcp;
            if here.pcps & bit != 0 {
                return Err(twice("PCP", *pcp, span, name));
            }
            here.pcps |= bit;
            if before.pcps & bit == 0 {
                initial.by_pcp[usize::from(*pcp)] = Some(self.tag);
            }
        }
        Ok(())
    }
}

/// The tags whose bits are set.
fn list(tags: u64) -> String {
    let tags = Tag::all().filter(|tag| tags >> tag.index() & 1 == 1);
    tags.map(|tag| tag.to_string()).collect::<Vec<_>>().join(", ")
}
