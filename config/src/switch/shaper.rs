//! `[[shaper]]`: the peak rates of queues, by port.

use super::port_draft::{PortDraft, named_port};
use super::schema::{ShaperTable, SwitchFile};
use crate::error::ConfigError;
use crate::source::Source;
use crate::units::show_size;
use dataplane::ids::Priority;
use dataplane::limits::PRIORITIES;
use dataplane::queue::shaper::{FCS_BYTES, PeakRate};
use dataplane::time::Speed;
use std::ops::RangeInclusive;
use toml::Spanned;

const RATES: RangeInclusive<u64> = 8..=1_600_000_000_000;
/// For how long a worker may be away from a port, and behind a device of the kernel, without
/// costing a queue its rate.
const CATCH_UP_NS: u64 = 200_000;
const KERNEL_CATCH_UP_NS: u64 = 10_000_000;

/// Gives the queues of ports their peak rates. What names a port comes before what names none.
///
/// # Errors
/// A rate or a burst is out of range, a port does not exist, or a queue has two tables.
pub(super) fn apply(
    source: &Source,
    file: &SwitchFile,
    ports: &mut [PortDraft<'_>],
) -> Result<(), ConfigError> {
    let mut general: [Option<&Spanned<ShaperTable>>; PRIORITIES] = [None; PRIORITIES];
    for table in &file.shaper {
        check(source, table.get_ref())?;
        let priority = table.get_ref().priority.get_ref().0;
        let Some(list) = &table.get_ref().ports else {
            if general[priority.index()].replace(table).is_some() {
                let message = format!(
                    "priority {priority} has a [[shaper]] already; one is enough, unless they name \
                     their `ports`"
                );
                return Err(source.at(table.get_ref().priority.span(), message));
            }
            continue;
        };
        for name in list.get_ref() {
            let port = &mut ports[named_port(source, name, ports)?];
            let peak = peak(table.get_ref(), port);
            if port.settings.peak_rates[priority.index()].replace(peak).is_some() {
                let message = format!(
                    "port `{}` has a [[shaper]] with priority {priority} already; name it once",
                    port.name()
                );
                return Err(source.at(name.span(), message));
            }
        }
    }
    for (priority, table) in Priority::all().zip(general) {
        let Some(table) = table else { continue };
        for port in ports.iter_mut() {
            let peak = peak(table.get_ref(), port);
            port.settings.peak_rates[priority.index()].get_or_insert(peak);
        }
    }
    Ok(())
}

fn check(source: &Source, table: &ShaperTable) -> Result<(), ConfigError> {
    let rate = table.peak_rate.get_ref().0;
    if !RATES.contains(&rate) {
        let message = format!("a `peak_rate` of {rate} bit/s; it is 8 to 1.6T");
        return Err(source.at(table.peak_rate.span(), message));
    }
    match &table.peak_burst {
        Some(field) if field.get_ref().0 > u64::from(u32::MAX) => {
            let message =
                format!("a `peak_burst` of {}; 4 GB is the most", show_size(field.get_ref().0));
            Err(source.at(field.span(), message))
        }
        _ => Ok(()),
    }
}

fn peak(table: &ShaperTable, port: &PortDraft<'_>) -> PeakRate {
    let bps = table.peak_rate.get_ref().0;
    let burst = table.peak_burst.as_ref().map_or_else(
        || {
            let is_kernel = port.config.device.kind().is_kernel();
            let late_ns = if is_kernel { KERNEL_CATCH_UP_NS } else { CATCH_UP_NS };
            let late = u128::from(bps) * u128::from(late_ns) / 8_000_000_000;
            u64::try_from(late).unwrap_or(u64::MAX)
                + 2 * (port.frame_bytes() + u64::from(FCS_BYTES))
        },
        |field| field.get_ref().0,
    );
    PeakRate { rate: Speed::from_bps(bps), burst_bytes: u32::try_from(burst).unwrap_or(u32::MAX) }
}
