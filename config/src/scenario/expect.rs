//! `[expect.SCHEME]`: what must come out when the scenario runs under that scheme.

use super::reader::Reader;
use super::schema::ExpectTable;
use super::schemes::SchemeKind;
use super::traffic::Flow;
use crate::did_you_mean;
use crate::error::ConfigError;
use crate::fields::Rate;
use dataplane::time::Speed;
use std::collections::BTreeMap;
use toml::Spanned;

/// What must come out; what is `None` or not named may come out either way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expectation {
    /// Whether it deadlocks.
    pub deadlock: Option<bool>,
    /// A deadlock must not close before this.
    pub deadlock_after_ns: Option<u64>,
    /// Nor after this.
    pub deadlock_before_ns: Option<u64>,
    /// Whether every frame leaves once the sources have stopped.
    pub drains: Option<bool>,
    /// Whether lossless frames are lost, whatever the cause.
    pub lossless_drops: Option<bool>,
    /// Whether lossless frames find no headroom, or no room at a host.
    pub headroom_overruns: Option<bool>,
    /// Whether lossy frames are dropped for want of room.
    pub lossy_drops: Option<bool>,
    /// By flow: what it carries in the last quarter of the time, at the least.
    pub at_least: Vec<(String, Speed)>,
    /// By flow: and at the most.
    pub at_most: Vec<(String, Speed)>,
}

pub(super) fn expectations(
    reader: &Reader<'_>,
    tables: &BTreeMap<String, Spanned<ExpectTable>>,
    flows: &[Flow],
) -> Result<BTreeMap<SchemeKind, Expectation>, ConfigError> {
    let read = |(name, table): (&String, &Spanned<ExpectTable>)| {
        let kind =
            SchemeKind::from_name(name).map_err(|message| reader.wrong(table.span(), message))?;
        let table = table.get_ref();
        check_deadlock(reader, table)?;
        let expectation = Expectation {
            deadlock: table.deadlock,
            deadlock_after_ns: table.deadlock_after.as_ref().map(|field| field.get_ref().0),
            deadlock_before_ns: table.deadlock_before.as_ref().map(|field| field.get_ref().0),
            drains: table.drains,
            lossless_drops: table.lossless_drops,
            headroom_overruns: table.headroom_overruns,
            lossy_drops: table.lossy_drops,
            at_least: rates(reader, &table.at_least, flows)?,
            at_most: rates(reader, &table.at_most, flows)?,
        };
        Ok((kind, expectation))
    };
    tables.iter().map(read).collect()
}

/// A deadlock that must not be has no time, and one that must has a time that can be.
fn check_deadlock(reader: &Reader<'_>, table: &ExpectTable) -> Result<(), ConfigError> {
    let times =
        [("deadlock_after", &table.deadlock_after), ("deadlock_before", &table.deadlock_before)];
    for (name, field) in times {
        if let (Some(field), Some(false)) = (field, table.deadlock) {
            let message = format!("`{name}` is of a deadlock that must be; remove it");
            return Err(reader.wrong(field.span(), message));
        }
    }
    if let (Some(after), Some(before)) = (&table.deadlock_after, &table.deadlock_before)
        && before.get_ref().0 < after.get_ref().0
    {
        let message = "this is before `deadlock_after`; use a later time";
        return Err(reader.wrong(before.span(), message));
    }
    Ok(())
}

fn rates(
    reader: &Reader<'_>,
    table: &BTreeMap<String, Spanned<Rate>>,
    flows: &[Flow],
) -> Result<Vec<(String, Speed)>, ConfigError> {
    let known = || flows.iter().map(|flow| flow.name.as_str());
    let check = |(name, rate): (&String, &Spanned<Rate>)| {
        if known().any(|known| known == name) {
            return Ok((name.clone(), rate.get_ref().0));
        }
        let hint = did_you_mean::nearest(name, known()).map_or_else(
            || "name one of [[flow]]".to_owned(),
            |near| format!("did you mean `{near}`?"),
        );
        Err(reader.wrong(rate.span(), format!("there is no flow `{name}`; {hint}")))
    };
    table.iter().map(check).collect()
}
