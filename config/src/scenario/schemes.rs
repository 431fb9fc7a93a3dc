//! `[scheme]`: how deadlock is, or is not, prevented. One file is run under many schemes, so it may
//! say something of each.

use super::gfc::{Bound, Gfc, GfcForm};
use super::reader::Reader;
use super::schema::SchemeTable;
use super::settings::{bytes, narrow, one_of};
use crate::error::ConfigError;
use crate::fields::Duration;
use crate::network::schema::Field;
use dataplane::pfc::watchdog::{Action, WatchdogSettings};
use fabric::compile::LOSSLESS_MAX;
use std::path::PathBuf;
use toml::Spanned;

/// PFC has so many.
const CLASSES_MAX: i64 = 8;

/// How deadlock is, or is not, prevented.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheme {
    /// Which.
    pub kind: SchemeKind,
    /// `tagger` and `updown`: lossless priorities at the most.
    pub priorities_max: u8,
    /// `tagger`: rule files, instead of compiled ones.
    pub rules: Option<PathBuf>,
    /// `ttl`: so many classes; `None` for as many as the longest path needs.
    pub classes: Option<u8>,
    /// `ttl`: the network is a tree, and each switch holds every second class.
    pub tree: bool,
    /// `ttl`: each class has a part of the buffer of its own.
    pub partitions: bool,
    /// `ttl`: hosts pause by DSCP, in the one class that they send in.
    pub hosts_by_dscp: bool,
    /// `ttl`: switches translate the pauses of such hosts.
    pub translate: bool,
    /// `watchdog`: when it acts, and how.
    pub watchdog: WatchdogSettings,
    /// `gfc`: how rates follow queues.
    pub gfc: Gfc,
}

impl Default for Scheme {
    /// Plain PFC, and each of the others as it is if nothing is said.
    fn default() -> Self {
        const MS: u64 = 1_000_000;
        Self {
            kind: SchemeKind::Pfc,
            priorities_max: LOSSLESS_MAX,
            rules: None,
            classes: None,
            tree: false,
            partitions: false,
            hosts_by_dscp: false,
            translate: false,
            watchdog: WatchdogSettings {
                detection_ns: 200 * MS,
                restoration_ns: 400 * MS,
                action: Action::Drop,
            },
            gfc: Gfc::default(),
        }
    }
}

/// A scheme by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SchemeKind {
    /// Plain PFC on one priority; it can deadlock.
    Pfc,
    /// The same, and a watchdog that drops when it has been paused for too long.
    Watchdog,
    /// Tags that rise where compiled rules say so.
    Tagger,
    /// Tags that rise where a frame came down and goes up: switches learn their levels by LLDP and
    /// write their rules themselves.
    UpDown,
    /// Classes by hops.
    Ttl,
    /// Gentle flow control on one priority.
    Gfc,
    /// No PFC at all: what does not fit is dropped.
    Lossy,
}

impl SchemeKind {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Pfc, Self::Watchdog, Self::Tagger, Self::UpDown, Self::Ttl, Self::Gfc, Self::Lossy];

    /// As files and people write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pfc => "pfc",
            Self::Watchdog => "watchdog",
            Self::Tagger => "tagger",
            Self::UpDown => "updown",
            Self::Ttl => "ttl",
            Self::Gfc => "gfc",
            Self::Lossy => "lossy",
        }
    }

    /// The scheme of this name; `Err` is the whole message.
    ///
    /// # Errors
    /// There is none.
    pub fn from_name(name: &str) -> Result<Self, String> {
        one_of("scheme", name, &Self::ALL.map(|kind| (kind.name(), kind)))
    }
}

pub(super) fn scheme(reader: &Reader<'_>, table: &SchemeTable) -> Result<Scheme, ConfigError> {
    let default = Scheme::default();
    let kind = named(reader, &table.kind, SchemeKind::from_name)?;
    Ok(Scheme {
        kind: kind.unwrap_or(default.kind),
        priorities_max: count(reader, "priorities", &table.priorities, 1, i64::from(LOSSLESS_MAX))?
            .unwrap_or(default.priorities_max),
        rules: rules(reader, table)?,
        classes: count(reader, "classes", &table.classes, 2, CLASSES_MAX)?,
        tree: table.tree,
        partitions: table.partitions,
        hosts_by_dscp: named(reader, &table.hosts, |name| {
            one_of("way of hosts to pause", name, &[("class", false), ("dscp", true)])
        })?
        .unwrap_or(default.hosts_by_dscp),
        translate: table.translate,
        watchdog: watchdog(reader, table, default.watchdog)?,
        gfc: gfc(reader, table)?,
    })
}

/// What a field names, by a function whose `Err` is the whole message.
fn named<T>(
    reader: &Reader<'_>,
    field: &Field<String>,
    from_name: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>, ConfigError> {
    let read = |field: &Spanned<String>| {
        from_name(field.get_ref()).map_err(|message| reader.wrong(field.span(), message))
    };
    field.as_ref().map(read).transpose()
}

fn count(
    reader: &Reader<'_>,
    name: &str,
    field: &Field<i64>,
    least: i64,
    most: i64,
) -> Result<Option<u8>, ConfigError> {
    let Some(field) = field else { return Ok(None) };
    Ok(u8::try_from(reader.number(name, field, least..=most)?).ok())
}

fn rules(reader: &Reader<'_>, table: &SchemeTable) -> Result<Option<PathBuf>, ConfigError> {
    let Some(field) = &table.rules else { return Ok(None) };
    let directory = reader.source.resolve(field.get_ref());
    if directory.is_dir() {
        return Ok(Some(directory));
    }
    let message = format!(
        "{} is no directory; name one with a rule file for each switch, or remove `rules`",
        directory.display()
    );
    Err(reader.wrong(field.span(), message))
}

fn watchdog(
    reader: &Reader<'_>,
    table: &SchemeTable,
    default: WatchdogSettings,
) -> Result<WatchdogSettings, ConfigError> {
    let time = |field: &Field<Duration>, default_ns| match field {
        None => Ok(default_ns),
        Some(field) => reader.at_least(field, 1_000, "a watchdog waits 1 us at the least"),
    };
    let action = named(reader, &table.action, crate::switch::watchdog_action)?;
    Ok(WatchdogSettings {
        detection_ns: time(&table.detection_time, default.detection_ns)?,
        restoration_ns: time(&table.restoration_time, default.restoration_ns)?,
        action: action.unwrap_or(default.action),
    })
}

fn gfc(reader: &Reader<'_>, table: &SchemeTable) -> Result<Gfc, ConfigError> {
    let default = Gfc::default();
    let form = named(reader, &table.form, |name| one_of("form", name, &GfcForm::ALL))?;
    let bound = named(reader, &table.bound, |name| one_of("bound", name, &Bound::ALL))?;
    let period = table.period.as_ref().map(|field| {
        reader.at_least(field, 100, "messages of a link with credits are 100 ns apart at the least")
    });
    if let (Some(b1), Some(bm)) = (&table.b1, bytes(&table.bm))
        && b1.get_ref().0 >= bm
    {
        let message = "slowing down begins below `bm`; lower `b1`";
        return Err(reader.wrong(b1.span(), message));
    }
    Ok(Gfc {
        form: form.unwrap_or(default.form),
        bound: bound.unwrap_or(default.bound),
        full_bytes: narrow(reader, &table.bm)?,
        slack_bytes: narrow(reader, &table.slack)?,
        start_bytes: narrow(reader, &table.b1)?,
        period_ns: period.transpose()?.unwrap_or(default.period_ns),
        senders: u32::try_from(reader.network.hosts()).unwrap_or(u32::MAX),
    })
}
