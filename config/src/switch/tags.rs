//! Tags, DSCPs, PCPs and priorities: which belongs to which.
//!
//! Tag and DSCP are one to one: every DSCP has a tag of its own, so whatever marking a frame came
//! with, it can leave with. A tag is lossless if its priority is; the marking of a lossless tag
//! comes from `[[tag]]` or is the tag's own number, and no other marking leads to that tag.

use super::schema::{SwitchFile, TagTable};
use crate::error::ConfigError;
use crate::source::Source;
use dataplane::ids::{Priority, Tag};
use dataplane::limits::{PRIORITIES, TAGS};
use dataplane::pipeline::classify::TagMap;
use dataplane::ttl_class::TtlClasses;
use fabric::RuleSet;
use std::ops::Range;
use toml::Spanned;

/// What is known about each tag while the map is put together.
struct Draft<'a> {
    source: &'a Source,
    /// Bit p: priority p is lossless.
    lossless_priorities: u8,
    priority: [Option<Priority>; TAGS],
    dscp: [Option<u8>; TAGS],
    pcp: [Option<u8>; TAGS],
}

/// The map that `[[tag]]`, `[[lossless]]` and the rules together describe.
///
/// # Errors
/// They contradict each other.
pub(super) fn build(
    source: &Source,
    file: &SwitchFile,
    lossless_priorities: u8,
    rules: Option<&RuleSet>,
    ttl_classes: Option<TtlClasses>,
) -> Result<TagMap, ConfigError> {
    let mut draft = Draft {
        source,
        lossless_priorities,
        priority: [None; TAGS],
        dscp: [None; TAGS],
        pcp: [None; TAGS],
    };
    if let Some(rules) = rules {
        draft.take_rules(file, rules)?;
    }
    draft.take_tables(&file.tag, rules)?;
    match &ttl_classes {
        Some(ttl_classes) => draft.reach_first_class(file, ttl_classes)?,
        None if rules.is_none() => draft.reach_every_lossless_priority(file)?,
        None => {}
    }
    let lossy_tag = draft.lossy_tag(file, rules)?;
    let initial_tag = match rules {
        Some(rules) => rules.initial_tag,
        None => Tag::all().find(|&tag| draft.is_lossless(tag)).unwrap_or(lossy_tag),
    };
    let further = rules.map_or(&[][..], |rules| &rules.initial_tags);
    let initial_tags =
        further.iter().fold(1 << initial_tag.index(), |bits, tag| bits | 1 << tag.index());
    draft.number_lossless_dscps(file)?;
    draft.number_other_dscps();
    let pcp_to_tag = draft.number_pcps(file, lossy_tag)?;
    let map = draft.finish(lossy_tag, initial_tag, pcp_to_tag);
    Ok(TagMap { ttl_classes, initial_tags, ..map })
}

impl Draft<'_> {
    fn is_lossless(&self, tag: Tag) -> bool {
        self.priority[tag.index()].is_some_and(|priority| self.is_lossless_priority(priority))
    }

    fn is_lossless_priority(&self, priority: Priority) -> bool {
        self.lossless_priorities & priority.bit() != 0
    }

    /// The lossless tags of the rules and their priorities; each must be lossless here.
    fn take_rules(&mut self, file: &SwitchFile, rules: &RuleSet) -> Result<(), ConfigError> {
        for (&tag, &priority) in &rules.priorities {
            if !self.is_lossless_priority(priority) {
                let message = format!(
                    "the rules give tag {tag} the priority {priority}, which is not lossless here; \
                     add [[lossless]] with priority = {priority}"
                );
                return Err(self.source.at(rules_span(file), message));
            }
            self.priority[tag.index()] = Some(priority);
        }
        Ok(())
    }

    fn take_tables(
        &mut self,
        tables: &[Spanned<TagTable>],
        rules: Option<&RuleSet>,
    ) -> Result<(), ConfigError> {
        let mut seen = 0u64;
        for table in tables {
            let table = table.get_ref();
            let tag = table.tag.get_ref().0;
            if seen >> tag.index() & 1 == 1 {
                let message = format!("tag {tag} has a [[tag]] already; one is enough");
                return Err(self.source.at(table.tag.span(), message));
            }
            seen |= 1 << tag.index();
            self.take_priority(table, tag, rules)?;
            self.take_marking(table, tag)?;
        }
        Ok(())
    }

    fn take_priority(
        &mut self,
        table: &TagTable,
        tag: Tag,
        rules: Option<&RuleSet>,
    ) -> Result<(), ConfigError> {
        let Some(field) = &table.priority else { return Ok(()) };
        let priority = field.get_ref().0;
        let wrong = |message: String| Err(self.source.at(field.span(), message));
        if let Some(known) = self.priority[tag.index()].filter(|&known| known != priority) {
            return wrong(format!(
                "tag {tag} has the priority {known} in the rules; say {known} here or leave it out"
            ));
        }
        if let Some(rules) = rules.filter(|_| self.is_lossless_priority(priority)) {
            if tag == rules.lossy_tag {
                return wrong(format!(
                    "tag {tag} is the rules' lossy tag and priority {priority} is lossless; give it \
                     one without [[lossless]]"
                ));
            }
            if !rules.priorities.contains_key(&tag) {
                return wrong(format!(
                    "priority {priority} is lossless, but the rules do not know tag {tag}: all its \
                     frames would become lossy; use a tag of the rules or a lossy priority"
                ));
            }
        }
        self.priority[tag.index()] = Some(priority);
        Ok(())
    }

    fn take_marking(&mut self, table: &TagTable, tag: Tag) -> Result<(), ConfigError> {
        let (dscp, span) = match &table.dscp {
            Some(field) => (field.get_ref().0, field.span()),
            None => (tag.value(), table.tag.span()),
        };
        if let Some(other) = Tag::all().find(|other| self.dscp[other.index()] == Some(dscp)) {
            let message = format!(
                "DSCP {dscp} already carries tag {other}; give tag {tag} a `dscp` of its own"
            );
            return Err(self.source.at(span, message));
        }
        self.dscp[tag.index()] = Some(dscp);
        self.pcp[tag.index()] = table.pcp.as_ref().map(|field| field.get_ref().0);
        Ok(())
    }

    /// Without rules every lossless priority needs a tag that leads to it. If no `[[tag]]` is given
    /// at all, that is the tag of the same number, which makes DSCP 3 the priority 3.
    fn reach_every_lossless_priority(&mut self, file: &SwitchFile) -> Result<(), ConfigError> {
        for table in &file.lossless {
            let field = &table.get_ref().priority;
            let priority = field.get_ref().0;
            if file.tag.is_empty() {
                self.priority[priority.index()] = Some(priority);
            } else if !self.priority.contains(&Some(priority)) {
                let message = format!(
                    "no [[tag]] leads to priority {priority}, so nothing would use it; add [[tag]] with \
                     priority = {priority}, or take this table out"
                );
                return Err(self.source.at(field.span(), message));
            }
        }
        Ok(())
    }

    /// Where classes go by hops, a marking only says that a frame is lossless, and that is the
    /// first class that comes here. Without any `[[tag]]` it is the tag of the first class's own
    /// number.
    fn reach_first_class(
        &mut self,
        file: &SwitchFile,
        ttl_classes: &TtlClasses,
    ) -> Result<(), ConfigError> {
        let Some(here) =
            ttl_classes.classes_here().next().map(|class| ttl_classes.priorities[class])
        else {
            return Ok(());
        };
        // The same marking in the whole network, whichever classes come to this switch.
        let first = ttl_classes.priorities[1];
        for table in &file.tag {
            let Some(field) = &table.get_ref().priority else { continue };
            let priority = field.get_ref().0;
            if self.is_lossless_priority(priority) && priority != here {
                let message = format!(
                    "frames become priority {priority} by their hops ([ttl]); a lossless tag has the \
                     priority {here} here"
                );
                return Err(self.source.at(field.span(), message));
            }
        }
        if self.priority.contains(&Some(here)) {
            return Ok(());
        }
        if !file.tag.is_empty() {
            let span = file.tag.first().map_or(0..0, Spanned::span);
            let message = format!(
                "no [[tag]] is lossless; give the one of lossless frames the priority {here}"
            );
            return Err(self.source.at(span, message));
        }
        self.priority[first.index()] = Some(here);
        Ok(())
    }

    /// The rules' lossy tag; without rules the one that DSCP 0 leads to, or the first that is
    /// lossy.
    fn lossy_tag(&self, file: &SwitchFile, rules: Option<&RuleSet>) -> Result<Tag, ConfigError> {
        if let Some(rules) = rules {
            return Ok(rules.lossy_tag);
        }
        let best_effort = Tag::all().find(|tag| self.dscp[tag.index()] == Some(0));
        best_effort.into_iter().chain(Tag::all()).find(|&tag| !self.is_lossless(tag)).ok_or_else(
            || {
                let span = file.tag.first().map_or(0..0, Spanned::span);
                self.source.at(span, "all 64 tags are lossless; leave one for lossy frames")
            },
        )
    }

    /// A lossless tag that no table mentions travels in the DSCP of its own number.
    fn number_lossless_dscps(&mut self, file: &SwitchFile) -> Result<(), ConfigError> {
        for tag in Tag::all() {
            if self.dscp[tag.index()].is_some() || !self.is_lossless(tag) {
                continue;
            }
            let own = Some(tag.value());
            if let Some(other) = Tag::all().find(|other| self.dscp[other.index()] == own) {
                let message = format!(
                    "lossless tag {tag} has no DSCP: {tag} already carries tag {other}; add [[tag]] with \
                     tag = {tag} and a `dscp`"
                );
                return Err(self.source.at(rules_span(file), message));
            }
            self.dscp[tag.index()] = own;
        }
        Ok(())
    }

    /// The other tags: each the DSCP of its own number where that is free, then what is left, in
    /// order. So a DSCP that lost its tag to a lossless one still has a lossy tag of its own.
    fn number_other_dscps(&mut self) {
        for own_number in [true, false] {
            for tag in Tag::all() {
                if self.dscp[tag.index()].is_some() {
                    continue;
                }
                let mut free = (0..64u8).filter(|&dscp| !self.dscp.contains(&Some(dscp)));
                let dscp = free.find(|&dscp| !own_number || dscp == tag.value());
                self.dscp[tag.index()] = dscp;
            }
        }
    }

    /// A lossless tag has the PCP of its priority, a lossy one the class selector of its DSCP (the
    /// upper three bits) unless that is a lossless PCP. Returns the tag of each PCP.
    fn number_pcps(
        &mut self,
        file: &SwitchFile,
        lossy_tag: Tag,
    ) -> Result<[Tag; PRIORITIES], ConfigError> {
        for tag in Tag::all().filter(|&tag| self.is_lossless(tag)).collect::<Vec<_>>() {
            let own = self.priority[tag.index()].map(Priority::value);
            self.pcp[tag.index()] = self.pcp[tag.index()].or(own);
        }
        let lossless_pcp = |draft: &Self, pcp: u8| {
            Tag::all().any(|tag| draft.is_lossless(tag) && draft.pcp[tag.index()] == Some(pcp))
        };
        let Some(fallback) = (0..8).find(|&pcp| !lossless_pcp(self, pcp)) else {
            let span = file.tag.first().map_or_else(|| rules_span(file), Spanned::span);
            let message = "all eight PCPs carry lossless tags; leave one for lossy frames";
            return Err(self.source.at(span, message));
        };
        for tag in Tag::all().filter(|&tag| !self.is_lossless(tag)).collect::<Vec<_>>() {
            if let Some(pcp) = self.pcp[tag.index()] {
                if lossless_pcp(self, pcp) {
                    return Err(self.lossless_pcp_on_lossy_tag(file, tag, pcp));
                }
                continue;
            }
            let selector = self.dscp[tag.index()].map_or(0, |dscp| dscp >> 3);
            let pcp = if lossless_pcp(self, selector) { fallback } else { selector };
            self.pcp[tag.index()] = Some(pcp);
        }
        Ok(std::array::from_fn(|pcp| self.tag_of_pcp(pcp, file, lossy_tag)))
    }

    fn lossless_pcp_on_lossy_tag(&self, file: &SwitchFile, tag: Tag, pcp: u8) -> ConfigError {
        let table =
            file.tag.iter().map(Spanned::get_ref).find(|table| table.tag.get_ref().0 == tag);
        let span = table.and_then(|table| table.pcp.as_ref()).map_or(0..0, Spanned::span);
        let message =
            format!("PCP {pcp} carries a lossless tag, and tag {tag} is lossy; use another");
        self.source.at(span, message)
    }

    /// The tag of a frame that has nothing but its PCP. Of several lossless ones the highest: a tag
    /// may rise, it must never fall. Of several lossy ones a listed one, then the class selector.
    fn tag_of_pcp(&self, pcp: usize, file: &SwitchFile, lossy_tag: Tag) -> Tag {
        let carried: Vec<Tag> = Tag::all()
            .filter(|tag| self.pcp[tag.index()].is_some_and(|own| usize::from(own) == pcp))
            .collect();
        let lossless = carried.iter().rev().find(|&&tag| self.is_lossless(tag));
        let listed = file.tag.iter().map(|table| table.get_ref().tag.get_ref().0);
        let selector =
            |tag: &&Tag| self.dscp[tag.index()].is_some_and(|dscp| usize::from(dscp) == pcp * 8);
        lossless
            .copied()
            .or_else(|| listed.into_iter().find(|tag| carried.contains(tag)))
            .or_else(|| carried.iter().find(selector).copied())
            .or_else(|| carried.first().copied())
            .unwrap_or(lossy_tag)
    }

    fn finish(self, lossy_tag: Tag, initial_tag: Tag, pcp_to_tag: [Tag; PRIORITIES]) -> TagMap {
        let lossless_tags = Tag::all()
            .filter(|&tag| self.is_lossless(tag))
            .fold(0, |bits, tag| bits | 1 << tag.index());
        let lossy = Priority::all().find(|&p| !self.is_lossless_priority(p)).unwrap_or_default();
        let mut dscp_to_tag = [lossy_tag; TAGS];
        for tag in Tag::all() {
            let dscp = self.dscp[tag.index()].unwrap_or_default();
            dscp_to_tag[usize::from(dscp)] = tag;
        }
        TagMap {
            ttl_classes: None,
            dscp_to_tag,
            pcp_to_tag,
            priority: self.priority.map(|priority| priority.unwrap_or(lossy)),
            dscp: std::array::from_fn(|tag| self.dscp[tag].unwrap_or_default()),
            pcp: std::array::from_fn(|tag| self.pcp[tag].unwrap_or_default()),
            lossless_tags,
            lossy_tag,
            initial_tag,
            initial_tags: 0,
        }
    }
}

fn rules_span(file: &SwitchFile) -> Range<usize> {
    let learned = || file.fabric.as_ref().map_or(0..0, Spanned::span);
    file.rules.as_ref().map_or_else(learned, Spanned::span)
}
