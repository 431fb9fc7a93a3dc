//! `[paths]`: which paths are expected to be lossless (Tagger's ELP, section VI-B).

use super::schema::{Field, PathsKind, PathsTable};
use crate::error::ConfigError;
use crate::path_file;
use crate::source::Source;
use dataplane::limits::TAGS;
use fabric::Network;
use fabric::paths::{PathKind, PathSpec};
use toml::Spanned;

/// The most application classes: each needs a priority of its own.
const CLASSES_MAX: i64 = 7;

/// Reads the table; without it, [`PathKind::ShortestTrees`].
pub(super) fn read(
    source: &Source,
    table: Option<&Spanned<PathsTable>>,
    network: &Network,
) -> Result<PathSpec, ConfigError> {
    let Some(table) = table.map(Spanned::get_ref) else {
        return Ok(PathSpec::new(PathKind::ShortestTrees));
    };
    let kind = *table.kind.get_ref();
    refuse(source, "file", table.file.as_ref().map(Spanned::span), kind == PathsKind::File)?;
    let bounces = table.bounces.as_ref().map(Spanned::span);
    refuse(source, "bounces", bounces, kind == PathsKind::UpDown)?;
    let of_classes = table.class_bounces.as_ref().map(Spanned::span);
    refuse(source, "class_bounces", of_classes.clone(), kind == PathsKind::UpDown)?;
    refuse(source, "k", table.k.as_ref().map(Spanned::span), kind == PathsKind::KShortest)?;
    let number = |name: &str, field: &Field<i64>, least: i64, most: i64| {
        let Some(field) = field else { return Ok(None) };
        let value = *field.get_ref();
        if !(least..=most).contains(&value) {
            let message = format!("`{name}` is {value}; use {least} to {most}");
            return Err(source.at(field.span(), message));
        }
        Ok(Some(value))
    };
    let bounces_max = i64::try_from(TAGS).unwrap_or(i64::MAX) - 2;
    let class_bounces = class_bounces(source, table, bounces_max)?;
    let needs = |what: &str| source.at(table.kind.span(), format!("these paths need {what}"));
    let kind = match kind {
        PathsKind::ShortestTrees => PathKind::ShortestTrees,
        PathsKind::Shortest => PathKind::Shortest,
        PathsKind::UpDown => {
            let bounces = number("bounces", &table.bounces, 0, bounces_max)?.unwrap_or(0);
            let bounces = u8::try_from(bounces).unwrap_or(u8::MAX);
            let most = class_bounces.iter().copied().max();
            PathKind::UpDown { bounces: most.unwrap_or(bounces) }
        }
        PathsKind::KShortest => {
            let k = number("k", &table.k, 1, 1 << 20)?;
            let k = k.ok_or_else(|| needs("`k`, how many for each pair of switches"))?;
            PathKind::KShortest { k: usize::try_from(k).unwrap_or(1) }
        }
        PathsKind::AllSimple => PathKind::AllSimple,
        PathsKind::File => {
            let field = table.file.as_ref();
            let field = field.ok_or_else(|| needs("`file`, with one path a line"))?;
            PathKind::File(path_file::read(&source.read_named(field)?, network)?)
        }
    };
    let random = number("random", &table.random, 0, 100_000_000)?.unwrap_or(0);
    let switches = number("random_switches", &table.random_switches, 2, 200)?;
    let seed = number("seed", &table.seed, 0, i64::MAX)?.unwrap_or(1);
    let listed = i64::try_from(class_bounces.len()).unwrap_or(CLASSES_MAX).max(1);
    let classes = number("classes", &table.classes, 1, CLASSES_MAX)?.unwrap_or(listed);
    if !class_bounces.is_empty() && classes != listed {
        let span = of_classes.unwrap_or_default();
        let message = format!(
            "`class_bounces` has {listed} classes and `classes` is {classes}; remove `classes`, or \
             give one number for each class"
        );
        return Err(source.at(span, message));
    }
    Ok(PathSpec {
        kind,
        random: usize::try_from(random).unwrap_or(0),
        random_switches: switches.and_then(|switches| usize::try_from(switches).ok()),
        seed: u64::try_from(seed).unwrap_or(1),
        classes: u8::try_from(classes).unwrap_or(1),
        class_bounces,
    })
}

/// `class_bounces`: one number for each application class; excludes `bounces`.
fn class_bounces(
    source: &Source,
    table: &PathsTable,
    bounces_max: i64,
) -> Result<Vec<u8>, ConfigError> {
    let Some(field) = &table.class_bounces else { return Ok(Vec::new()) };
    let list = field.get_ref();
    if let Some(bounces) = &table.bounces {
        let message = "`class_bounces` has the bounces of each class; remove `bounces`";
        return Err(source.at(bounces.span(), message));
    }
    let count = i64::try_from(list.len()).unwrap_or(i64::MAX);
    if !(1..=CLASSES_MAX).contains(&count) {
        let message = format!(
            "`class_bounces` has {count} classes; give one number for each of 1 to {CLASSES_MAX}"
        );
        return Err(source.at(field.span(), message));
    }
    list.iter()
        .map(|bounces| {
            let value = *bounces.get_ref();
            u8::try_from(value).ok().filter(|_| value <= bounces_max).ok_or_else(|| {
                let message =
                    format!("`class_bounces` has {value}; a class has 0 to {bounces_max} bounces");
                source.at(bounces.span(), message)
            })
        })
        .collect()
}

/// Refuses a field that this kind of paths does not take.
fn refuse(
    source: &Source,
    name: &str,
    span: Option<std::ops::Range<usize>>,
    is_taken: bool,
) -> Result<(), ConfigError> {
    match span {
        Some(span) if !is_taken => {
            let message = format!("these paths take no `{name}`; remove it, or change `kind`");
            Err(source.at(span, message))
        }
        _ => Ok(()),
    }
}
