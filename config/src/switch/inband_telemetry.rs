//! `[inband_telemetry]`: what switches write into packets for the congestion control of their
//! senders.

use super::name_hash;
use super::port_draft::PortDraft;
use super::schema::SwitchFile;
use crate::error::ConfigError;
use crate::source::Source;
use dataplane::settings::TelemetrySettings;
use dataplane::wire::telemetry::{SWITCH_NUMBERS, speed_code};

/// The telemetry that the switch writes, if it does.
///
/// # Errors
/// A number out of range, or a port whose speed telemetry has no code for.
pub(super) fn build(
    source: &Source,
    file: &SwitchFile,
    ports: &[PortDraft<'_>],
) -> Result<Option<TelemetrySettings>, ConfigError> {
    let Some(table) = &file.inband_telemetry else { return Ok(None) };
    let is_unknown = |port: &&PortDraft<'_>| speed_code(port.settings.speed).is_none();
    if let Some(port) = ports.iter().find(is_unknown) {
        let (name, mbps) = (&port.settings.name, port.settings.speed.bps() / 1_000_000);
        let message = format!(
            "port {name} has {mbps} Mb/s, which telemetry cannot say; it knows 10M, 100M, 200M, \
             500M, 1G, 2.5G, 5G, 10G, 25G, 40G, 50G, 100G, 200G, 400G and 800G"
        );
        return Err(source.at(table.span(), message));
    }
    let numbers = i64::from(SWITCH_NUMBERS);
    let switch = match &table.get_ref().switch {
        None => name_hash(file.name.get_ref()) % u64::from(SWITCH_NUMBERS),
        Some(field) => {
            let number = *field.get_ref();
            let valid = u64::try_from(number).ok().filter(|_| number < numbers);
            valid.ok_or_else(|| {
                let message = format!("`switch` is {number}; it is 0 to {}", numbers - 1);
                source.at(field.span(), message)
            })?
        }
    };
    Ok(Some(TelemetrySettings { switch: u16::try_from(switch).unwrap_or(0) }))
}
