//! `[scheduler]` and `[[ecn]]`: which priority goes next, and which frames are marked.

use super::buffer;
use super::port_draft::PortDraft;
use super::schema::{EcnTable, SwitchFile};
use crate::error::ConfigError;
use crate::source::Source;
use crate::units::show_size;
use dataplane::ids::Priority;
use dataplane::limits::PRIORITIES;
use dataplane::settings::{BufferSettings, EcnSettings, SchedulerSettings, Threshold};
use toml::Spanned;

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

/// ECN marking of each priority.
///
/// # Errors
/// Thresholds in the wrong order, or so high that a frame would be paused or dropped before one is
/// marked.
pub(super) fn ecn(
    source: &Source,
    file: &SwitchFile,
    ports: &[PortDraft<'_>],
    settings: &BufferSettings,
) -> Result<[Option<EcnSettings>; PRIORITIES], ConfigError> {
    let mut ecn = [None; PRIORITIES];
    for table in &file.ecn {
        let field = &table.get_ref().priority;
        let priority = field.get_ref().0;
        if ecn[priority.index()].is_some() {
            let message = format!("priority {priority} has an [[ecn]] already; one is enough");
            return Err(source.at(field.span(), message));
        }
        let marking = marking(source, table)?;
        check_early(source, table, priority, ports, settings)?;
        ecn[priority.index()] = Some(marking);
    }
    Ok(ecn)
}

fn marking(source: &Source, table: &Spanned<EcnTable>) -> Result<EcnSettings, ConfigError> {
    let table = table.get_ref();
    let (kmin, kmax) = (table.kmin.get_ref().0, table.kmax.get_ref().0);
    if kmin > kmax {
        let message = format!(
            "`kmin` {} is above `kmax` {}; marking starts at `kmin`",
            show_size(kmin),
            show_size(kmax)
        );
        return Err(source.at(table.kmin.span(), message));
    }
    let kmax_bytes = u32::try_from(kmax).map_err(|_| {
        source.at(table.kmax.span(), format!("`kmax` is {}; 4 GB is the most", show_size(kmax)))
    })?;
    let pmax = table.pmax.as_ref().map_or(0.05, |field| *field.get_ref());
    if !(pmax > 0.0 && pmax <= 1.0) {
        let span = table.pmax.as_ref().map_or(0..0, Spanned::span);
        return Err(
            source.at(span, format!("`pmax` is {pmax}; it is a probability above 0 and up to 1"))
        );
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "above 0, at most 65,536"
    )]
    let pmax_q16 = (pmax * 65_536.0).round() as u32;
    let kmin_bytes = u32::try_from(kmin).unwrap_or(kmax_bytes);
    Ok(EcnSettings { kmin_bytes, kmax_bytes, pmax_q16: pmax_q16.max(1) })
}

/// Marking must start below what stops a frame otherwise: the PFC threshold of a lossless priority,
/// the tail drop of a lossy one.
fn check_early(
    source: &Source,
    table: &Spanned<EcnTable>,
    priority: Priority,
    ports: &[PortDraft<'_>],
    settings: &BufferSettings,
) -> Result<(), ConfigError> {
    let kmin = &table.get_ref().kmin;
    let pool = buffer::pool_bytes(settings, ports);
    let thresholds = ports.iter().filter_map(|port| port.settings.lossless[priority.index()]).map(
        |viq| match viq.threshold {
            Threshold::Static { xoff_bytes } => u64::from(xoff_bytes),
            Threshold::Dynamic { alpha_log2, .. } => {
                let share = if alpha_log2 >= 0 { pool } else { pool >> -alpha_log2 };
                u64::from(viq.reserved_bytes) + share
            }
        },
    );
    let (limit, what) = match thresholds.min() {
        Some(xoff) => (xoff, "PFC pauses"),
        None => (u64::from(settings.lossy_queue_bytes), "the lossy queue drops"),
    };
    if kmin.get_ref().0 < limit {
        return Ok(());
    }
    let message = format!(
        "`kmin` is {}, and {what} at {} already; marking must start well below that",
        show_size(kmin.get_ref().0),
        show_size(limit)
    );
    Err(source.at(kmin.span(), message))
}
