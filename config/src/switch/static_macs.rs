//! `[[static_mac]]`: stations that the operator puts on bridged ports.

use super::schema::{StaticMacTable, SwitchFile};
use super::{PortConfig, ports};
use crate::error::ConfigError;
use crate::source::Source;
use dataplane::l2::{Vid, VlanPort};
use dataplane::snapshot::{PortMode, StaticMac};
use dataplane::wire::MacAddress;
use std::collections::HashSet;
use std::ops::Range;

/// Static stations of a switch at the most. A worker enters them between two bursts: this many
/// take it about a tenth of a millisecond.
const STATIC_MACS_MAX: usize = 1_024;

/// The stations of the `[[static_mac]]` tables.
///
/// # Errors
/// A station twice, without a bridged port, in a VLAN that the port has not, or with an address
/// that no station can have; too many of them.
pub(super) fn build(
    source: &Source,
    file: &SwitchFile,
    ports: &[PortConfig],
) -> Result<Vec<StaticMac>, ConfigError> {
    let mut seen = HashSet::new();
    let mut stations = Vec::with_capacity(file.static_mac.len());
    for table in &file.static_mac {
        let table = table.get_ref();
        let station = station(source, ports, table)?;
        let wrong = |message: String| Err(source.at(table.mac.span(), message));
        if !seen.insert((station.vid, station.mac)) {
            return wrong(format!(
                "{} has a [[static_mac]] in VLAN {} already",
                station.mac,
                station.vid.value()
            ));
        }
        if seen.len() > STATIC_MACS_MAX {
            return wrong(format!(
                "this is static MAC {}; {STATIC_MACS_MAX} are the most",
                seen.len()
            ));
        }
        stations.push(station);
    }
    Ok(stations)
}

fn station(
    source: &Source,
    ports: &[PortConfig],
    table: &StaticMacTable,
) -> Result<StaticMac, ConfigError> {
    let wrong = |span: Range<usize>, message: String| Err(source.at(span, message));
    let mac = table.mac.get_ref().0;
    if mac.is_multicast() || mac == MacAddress::default() {
        return wrong(
            table.mac.span(),
            format!("{mac} is no station's address; use a unicast one"),
        );
    }
    let port = match ports::find(ports, table.port.get_ref()) {
        Ok(port) => &ports[port.index()],
        Err(message) => return wrong(table.port.span(), message),
    };
    let PortMode::Bridged(vlans) = &port.mode else {
        let message = format!(
            "port `{}` routes; a static MAC is on a port that bridges. Use [[neighbor]] here",
            port.name
        );
        return wrong(table.port.span(), message);
    };
    let vid = match &table.vlan {
        Some(field) => {
            let vid = field.get_ref().0;
            if !vlans.is_member(vid) {
                let message = format!(
                    "VLAN {} is not on port `{}`; use one of its own",
                    vid.value(),
                    port.name
                );
                return wrong(field.span(), message);
            }
            vid
        }
        None => match only_vlan(vlans) {
            Some(vid) => vid,
            None => {
                let message = format!("port `{}` has several VLANs; add `vlan`", port.name);
                return wrong(table.port.span(), message);
            }
        },
    };
    Ok(StaticMac { vid, mac, port: port.id })
}

/// The VLAN of a port that has one.
fn only_vlan(vlans: &VlanPort) -> Option<Vid> {
    let mut members = Vid::all().filter(|&vid| vlans.is_member(vid));
    members.next().filter(|_| members.next().is_none())
}
