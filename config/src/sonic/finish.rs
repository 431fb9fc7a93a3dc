//! The size of the buffer, which follows from what the switch itself computes, and the check that
//! what was written is a switch.

use super::model::Model;
use super::toml_text::{Text, write};
use super::{ImportOptions, SonicError};
use crate::error::ConfigError;
use crate::message;
use crate::names::is_in_names;
use crate::switch::{SIZE_DEFAULT, SIZE_MAX, SIZE_MIN, SwitchConfig};
use dataplane::settings::set_aside_bytes;
use std::path::Path;

/// SWITCH.toml.
///
/// # Errors
/// It is none, because of something that only shows when all of it is put together.
pub(super) fn text(
    file: &Path,
    model: &Model,
    approximations: &[String],
    options: &ImportOptions,
) -> Result<String, SonicError> {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let plain = stem.trim_start_matches('.').chars().filter(|&c| is_in_names(c));
    let name: String = plain.take(63).collect();
    let name = if name.is_empty() { "sonic".to_owned() } else { name };
    let written = |size: Option<u64>| write(model, &name, &options.device, approximations, size);
    let refuse = |text: &Text, error: &ConfigError| {
        let from = text.from(error.line);
        let place = if from.is_empty() { String::new() } else { format!("{from}: ") };
        SonicError::Refused(vec![format!("{}: {place}{}", message::path(file), error.message)])
    };
    let check = |text: &Text| {
        SwitchConfig::parse(file, &text.to_string()).map_err(|error| refuse(text, &error))
    };
    let lossy = model.buffer.lossy.as_ref().map(|said| said.value);
    let shared = model.buffer.shared.as_ref().map(|said| said.value);
    let size = match (model.lossless.is_empty(), shared, lossy) {
        (true, _, lossy) => lossy.map(|lossy| lossy.max(SIZE_MIN)),
        (false, None, None) => None,
        (false, shared, lossy) => {
            // Any promise fits into the largest buffer: so it is learned what is promised.
            let settings = check(&written(Some(SIZE_MAX)))?.settings;
            let pool_bytes = settings.buffer.headroom_pool_bytes;
            let aside = set_aside_bytes(settings.ports.iter(), pool_bytes);
            // Where only one of the two is said, the other is as by default.
            let shared = shared.unwrap_or_else(|| aside.max(SIZE_DEFAULT));
            let lossless = shared.saturating_add(aside);
            Some(lossless.saturating_add(lossy.unwrap_or(lossless / 3 + 1)).max(SIZE_MIN))
        }
    };
    let text = written(size);
    check(&text)?;
    Ok(text.to_string())
}
