//! `[scheduler]`: which priority goes next.

use super::port_draft::PortDraft;
use super::schema::SwitchFile;
use crate::error::ConfigError;
use crate::source::Source;
use crate::units::show_size;
use dataplane::ids::Priority;
use dataplane::limits::PRIORITIES;
use dataplane::settings::SchedulerSettings;

/// The scheduler of every port.
///
/// # Errors
/// A weight or a quantum out of range, or a priority both strict and weighted.
pub(super) fn scheduler(
    source: &Source,
    file: &SwitchFile,
    ports: &[PortDraft<'_>],
) -> Result<SchedulerSettings, ConfigError> {
    let table = &file.scheduler;
    let mut strict_bits = 0;
    for field in &table.strict {
        strict_bits |= field.get_ref().0.bit();
    }
    let longest = ports.iter().map(PortDraft::frame_bytes).max().unwrap_or_default();
    let quantum = match &table.quantum {
        None => longest,
        Some(field) if (64..=1_000_000).contains(&field.get_ref().0) => field.get_ref().0,
        Some(field) => {
            let message =
                format!("a `quantum` of {}; it is 64 B to 1 MB", show_size(field.get_ref().0));
            return Err(source.at(field.span(), message));
        }
    };
    let mut weights = [1; PRIORITIES];
    for (key, field) in &table.weights {
        let priority = key.parse().ok().and_then(Priority::new).ok_or_else(|| {
            source.at(field.span(), format!("`{key}` is not a priority; there are eight, 0 to 7"))
        })?;
        if strict_bits & priority.bit() != 0 {
            let message =
                format!("priority {priority} is strict, so it has no weight; drop one of the two");
            return Err(source.at(field.span(), message));
        }
        if !(1..=255).contains(field.get_ref()) {
            let message =
                format!("priority {priority} has weight {}; it is 1 to 255", field.get_ref());
            return Err(source.at(field.span(), message));
        }
        weights[priority.index()] = *field.get_ref();
    }
    let quantum_bytes = weights.map(|weight| u32::try_from(weight * quantum).unwrap_or(u32::MAX));
    Ok(SchedulerSettings { strict_bits, quantum_bytes, fair: table.fair.unwrap_or(true) })
}
