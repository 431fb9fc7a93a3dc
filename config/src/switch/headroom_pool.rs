//! `[buffer]`: `headroom_pool` and `over_subscribe_ratio`, the headroom that lossless priorities
//! share.

use super::port_draft::PortDraft;
use super::schema::BufferTable;
use crate::error::ConfigError;
use crate::source::Source;
use crate::units::show_size;

/// The size of the pool; `None` if each priority of each port has its own headroom.
///
/// # Errors
/// Two sizes, a ratio that is out of range, or a pool that not even one priority fits in.
pub(super) fn build(
    source: &Source,
    table: &BufferTable,
    ports: &[PortDraft<'_>],
) -> Result<Option<u64>, ConfigError> {
    let viqs = ports.iter().flat_map(|port| port.settings.lossless.iter().flatten());
    let headrooms = viqs.map(|viq| u64::from(viq.headroom_bytes));
    let largest = headrooms.max().unwrap_or_default();
    let all: u64 = ports.iter().map(|port| port.settings.headroom_bytes()).sum();
    let (bytes, span) = match (&table.headroom_pool, &table.over_subscribe_ratio) {
        (None, None) => return Ok(None),
        (Some(_), Some(ratio)) => {
            let message = "`headroom_pool` and `over_subscribe_ratio` both say how large the pool \
                           of headroom is; give one of them";
            return Err(source.at(ratio.span(), message));
        }
        (Some(pool), None) => (pool.get_ref().0, pool.span()),
        (None, Some(ratio)) => {
            let most = (ports.len() as u64).max(1);
            if !(1..=most).contains(ratio.get_ref()) {
                let message = format!(
                    "`over_subscribe_ratio` is {}; it is 1 to {most}, the number of ports",
                    ratio.get_ref()
                );
                return Err(source.at(ratio.span(), message));
            }
            (all / ratio.get_ref(), ratio.span())
        }
    };
    if bytes < largest {
        let message = format!(
            "the pool of headroom is {}, and one lossless priority of a port needs {}; give \
             `headroom_pool` that at least",
            show_size(bytes),
            show_size(largest)
        );
        return Err(source.at(span, message));
    }
    // More than all of it is never used.
    Ok(Some(bytes.min(all)))
}
