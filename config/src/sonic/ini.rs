//! `port_config.ini` and `pg_profile_lookup.ini`: tables of words, a line each.

use super::db::Db;
use crate::error::ConfigError;
use crate::source::Source;
use crate::units::{Length, parse_length};

/// A line of `pg_profile_lookup.ini`: what a lossless priority group gets at this speed with a
/// cable of this length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LookupLine {
    pub(super) mbps: u64,
    pub(super) cable: Length,
    pub(super) size: u64,
    pub(super) xon: u64,
    pub(super) xoff: u64,
    pub(super) dynamic_th: i64,
    pub(super) xon_offset: Option<u64>,
    /// Speed and cable, to be named.
    pub(super) from: String,
}

/// Reads `pg_profile_lookup.ini`.
///
/// # Errors
/// A line has other words than speed, cable, size, xon, xoff, threshold and maybe xon_offset.
pub(super) fn pg_lookup(source: &Source) -> Result<Vec<LookupLine>, ConfigError> {
    let mut lines = Vec::new();
    for (offset, words) in words(source) {
        let wrong = |word: &str| {
            let message = format!(
                "`{word}` is not right here; a line is SPEED CABLE SIZE XON XOFF THRESHOLD [XON_OFFSET], \
                 such as 40000 5m 1248 2288 53248 -3"
            );
            source.at(offset..offset, message)
        };
        let [mbps, cable, size, xon, xoff, threshold, rest @ ..] = words.as_slice() else {
            return Err(wrong(words.first().copied().unwrap_or_default()));
        };
        let bytes = |word: &str| match word.parse::<u64>() {
            Ok(bytes) if bytes <= 1 << 40 => Ok(bytes),
            _ => Err(wrong(word)),
        };
        lines.push(LookupLine {
            mbps: bytes(mbps)?,
            cable: parse_length(cable).map_err(|_| wrong(cable))?,
            size: bytes(size)?,
            xon: bytes(xon)?,
            xoff: bytes(xoff)?,
            dynamic_th: threshold.parse().map_err(|_| wrong(threshold))?,
            xon_offset: rest.first().map(|word| bytes(word)).transpose()?,
            from: format!("pg_profile_lookup.ini|{mbps} {cable}"),
        });
    }
    Ok(lines)
}

/// Adds `port_config.ini` to the database: to the ports that are there what they do not say, and
/// all ports if there are none.
///
/// # Errors
/// A line has more words than the head has columns.
pub(super) fn add_ports(source: &Source, db: &mut Db) -> Result<(), ConfigError> {
    let head = source.text().lines().find_map(|line| {
        let words: Vec<&str> = line.trim_start_matches(['#', ' ']).split_whitespace().collect();
        (line.starts_with('#') && words.first() == Some(&"name")).then_some(words)
    });
    let head = head.unwrap_or_else(|| vec!["name", "lanes", "alias", "index", "speed"]);
    let all = db.is_empty("PORT");
    for (offset, words) in words(source) {
        let (Some(name), true) = (words.first(), words.len() <= head.len()) else {
            let message =
                format!("a line has {} words at the most: {}", head.len(), head.join(" "));
            return Err(source.at(offset..offset, message));
        };
        if !all && !db.has("PORT", name) {
            continue;
        }
        for (column, word) in head.iter().zip(&words).skip(1) {
            if ["lanes", "alias", "index", "speed"].contains(column) {
                db.default_field("PORT", name, column, word);
            }
        }
    }
    Ok(())
}

/// The words of each line that has any, and where it begins.
fn words(source: &Source) -> impl Iterator<Item = (usize, Vec<&str>)> {
    source.text().lines().filter_map(|line| {
        let words: Vec<&str> =
            line.split('#').next().unwrap_or_default().split_whitespace().collect();
        (!words.is_empty()).then(|| (source.offset_of(line), words))
    })
}
