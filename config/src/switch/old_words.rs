//! Words of SWITCH.toml that have been renamed.

use super::schema::SwitchFile;
use crate::error::ConfigError;
use crate::old_words::{OldWords, RenamedKey, tables_named};
use crate::source::Source;
use std::borrow::Cow;
use std::ops::Range;
use toml::de::{DeTable, DeValue};

const KEYS: [RenamedKey; 8] = [
    RenamedKey {
        table: "lossless",
        old: "xoff",
        new: "static_th",
        note: "; what SONiC calls `xoff` is `headroom` here",
    },
    RenamedKey::new("port", "length", "cable_length"),
    RenamedKey::new("port", "rx_ring", "rx_desc"),
    RenamedKey::new("port", "tx_ring", "tx_desc"),
    RenamedKey::new("port", "tx_limit", "tx_byte_limit"),
    RenamedKey::new("port", "faces", "peer"),
    RenamedKey::new("headroom", "peer_tx_limit", "peer_tx_byte_limit"),
    RenamedKey::new("gfc", "start", "b1"),
];

/// Reads the file. Adds a warning to `warnings` for each old word, at its first place.
///
/// # Errors
/// The file is no SWITCH.toml, has an old word and its new one in the same table, or has SONiC's
/// `xoff`.
pub(super) fn read(
    source: &Source,
    warnings: &mut Vec<ConfigError>,
) -> Result<SwitchFile, ConfigError> {
    let mut words = OldWords::default();
    let file = source.toml_after(|tables| {
        refuse_sonic_xoff(source, tables)?;
        words.rename(source, tables, &KEYS)?;
        for workers in tables_named(tables, "workers") {
            let places = idle_busy(workers).into_iter().collect();
            let [old, new] = ["`idle = \"busy\"`", "`idle = \"poll\"`"].map(str::to_owned);
            words.add(old, new, "", places);
        }
        Ok(())
    })?;
    warnings.extend(words.warnings(source));
    Ok(file)
}

/// Refuses a buffer profile of SONiC, which has `xoff`, its headroom, beside `dynamic_th`. Here
/// `xoff` was a threshold itself, and never stood beside another one.
fn refuse_sonic_xoff(source: &Source, tables: &mut DeTable<'_>) -> Result<(), ConfigError> {
    for table in tables_named(tables, "lossless") {
        if table.contains_key("dynamic_th")
            && let Some((key, _)) = table.get_key_value("xoff")
        {
            let message = "`xoff` beside `dynamic_th` is SONiC's word for the headroom; write \
                           `headroom`";
            return Err(source.at(key.span(), message));
        }
    }
    Ok(())
}

/// Makes `idle = "busy"` of `[workers]` into `"poll"`, and returns where it stands.
fn idle_busy(workers: &mut DeTable<'_>) -> Option<Range<usize>> {
    let idle = workers.get_mut("idle")?;
    let place = idle.span();
    match idle.get_mut() {
        DeValue::String(word) if word == "busy" => *word = Cow::Borrowed("poll"),
        _ => return None,
    }
    Some(place)
}
