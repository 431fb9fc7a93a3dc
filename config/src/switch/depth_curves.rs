//! `[[ecn]]` and `[[wred]]`: which frames a long queue marks, and which it drops early.

use super::buffer;
use super::port_draft::PortDraft;
use super::schema::{Field, SwitchFile};
use crate::error::ConfigError;
use crate::fields::{PriorityField, Size};
use crate::source::Source;
use crate::units::show_size;
use dataplane::ids::Priority;
use dataplane::limits::PRIORITIES;
use dataplane::settings::{BufferSettings, DepthCurve, Threshold};
use toml::Spanned;

/// What a table says of a curve.
struct Stated<'a> {
    /// The table's name.
    table: &'static str,
    /// What begins at `kmin`: by itself, and as a sentence that goes on.
    what: &'static str,
    what_starts: &'static str,
    priority: &'a Spanned<PriorityField>,
    kmin: &'a Spanned<Size>,
    kmax: &'a Spanned<Size>,
    pmax: &'a Field<f64>,
}

/// The curve of each priority.
type Curves = [Option<DepthCurve>; PRIORITIES];

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
) -> Result<Curves, ConfigError> {
    let mut curves = Curves::default();
    for table in &file.ecn {
        let table = table.get_ref();
        let stated = Stated {
            table: "[[ecn]]",
            what: "marking",
            what_starts: "marking starts",
            priority: &table.priority,
            kmin: &table.kmin,
            kmax: &table.kmax,
            pmax: &table.pmax,
        };
        stated.add_to(source, &mut curves)?;
        let pauses = xoff_bytes(table.priority.get_ref().0, ports, settings);
        stated.check_below(
            source,
            pauses.map_or_else(|| tail_drop(settings), |at| (at, "PFC pauses")),
        )?;
    }
    Ok(curves)
}

/// The early drops of each priority.
///
/// # Errors
/// Thresholds in the wrong order, or so high that the queue is full before a frame is dropped
/// early; or a priority that is lossless on all ports.
pub(super) fn wred(
    source: &Source,
    file: &SwitchFile,
    ports: &[PortDraft<'_>],
    settings: &BufferSettings,
) -> Result<Curves, ConfigError> {
    let mut curves = Curves::default();
    for table in &file.wred {
        let table = table.get_ref();
        let stated = Stated {
            table: "[[wred]]",
            what: "early drops",
            what_starts: "early drops start",
            priority: &table.priority,
            kmin: &table.kmin,
            kmax: &table.kmax,
            pmax: &table.pmax,
        };
        stated.add_to(source, &mut curves)?;
        stated.check_below(source, tail_drop(settings))?;
        let priority = table.priority.get_ref().0;
        if ports.iter().all(|port| port.settings.lossless[priority.index()].is_some()) {
            let message = format!(
                "priority {priority} is lossless, and nothing lossless is dropped early; mark its \
                 frames with [[ecn]]"
            );
            return Err(source.at(table.priority.span(), message));
        }
    }
    Ok(curves)
}

impl Stated<'_> {
    fn add_to(&self, source: &Source, curves: &mut Curves) -> Result<(), ConfigError> {
        let priority = self.priority.get_ref().0;
        let curve = &mut curves[priority.index()];
        if curve.is_some() {
            let table = self.table;
            let message = format!("priority {priority} has a table {table} already; one is enough");
            return Err(source.at(self.priority.span(), message));
        }
        *curve = Some(self.curve(source)?);
        Ok(())
    }

    fn curve(&self, source: &Source) -> Result<DepthCurve, ConfigError> {
        let (kmin, kmax) = (self.kmin.get_ref().0, self.kmax.get_ref().0);
        if kmin > kmax {
            let message = format!(
                "`kmin` {} is above `kmax` {}; {} at `kmin`",
                show_size(kmin),
                show_size(kmax),
                self.what_starts
            );
            return Err(source.at(self.kmin.span(), message));
        }
        let kmax_bytes = u32::try_from(kmax).map_err(|_| {
            source.at(self.kmax.span(), format!("`kmax` is {}; 4 GB is the most", show_size(kmax)))
        })?;
        let pmax = self.pmax.as_ref().map_or(0.05, |field| *field.get_ref());
        if !(pmax > 0.0 && pmax <= 1.0) {
            let span = self.pmax.as_ref().map_or(0..0, Spanned::span);
            let message = format!("`pmax` is {pmax}; it is a probability above 0 and up to 1");
            return Err(source.at(span, message));
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "above 0, at most 65,536"
        )]
        let pmax_q16 = (pmax * 65_536.0).round() as u32;
        let kmin_bytes = u32::try_from(kmin).unwrap_or(kmax_bytes);
        Ok(DepthCurve { kmin_bytes, kmax_bytes, pmax_q16: pmax_q16.max(1) })
    }

    /// The curve must begin below what stops a frame otherwise.
    fn check_below(&self, source: &Source, (limit, what): (u64, &str)) -> Result<(), ConfigError> {
        if self.kmin.get_ref().0 < limit {
            return Ok(());
        }
        let message = format!(
            "`kmin` is {}, and {what} at {} already; {} must start well below that",
            show_size(self.kmin.get_ref().0),
            show_size(limit),
            self.what
        );
        Err(source.at(self.kmin.span(), message))
    }
}

/// Where a lossy queue drops whatever comes.
const fn tail_drop(settings: &BufferSettings) -> (u64, &'static str) {
    (settings.lossy_queue_bytes as u64, "the lossy queue drops")
}

/// The least PFC threshold of a priority that is lossless somewhere.
fn xoff_bytes(
    priority: Priority,
    ports: &[PortDraft<'_>],
    settings: &BufferSettings,
) -> Option<u64> {
    let pool = buffer::pool_bytes(settings, ports);
    let viqs = ports.iter().filter_map(|port| port.settings.lossless[priority.index()]);
    let thresholds = viqs.map(|viq| match viq.threshold {
        Threshold::Static { xoff_bytes } => u64::from(xoff_bytes),
        Threshold::Dynamic { alpha_log2, .. } => {
            let share = if alpha_log2 >= 0 { pool } else { pool >> -alpha_log2 };
            u64::from(viq.reserved_bytes) + share
        }
    });
    thresholds.min()
}
