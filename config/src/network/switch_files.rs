//! A network whose switches are SWITCH.toml files: the files, and what the network adds to them.

use super::Tables;
use super::schema::{HostTable, SwitchTable};
use crate::error::ConfigError;
use crate::source::Source;
use crate::switch::{PortConfig, SwitchConfig};
use dataplane::limits::TAGS;
use dataplane::snapshot::PortMode;
use dataplane::time::Speed;
use fabric::Network;
use fabric::network::End;
use std::net::IpAddr;
use toml::Spanned;

/// The files of all switches, and what the network says of its hosts.
#[derive(Clone, Debug)]
pub struct SwitchFiles {
    /// By number of the switch: its file.
    pub switches: Vec<SwitchConfig>,
    /// By number of the host.
    pub hosts: Vec<HostConfig>,
}

/// What the network says of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostConfig {
    /// Its addresses, one at the least.
    pub addresses: Vec<IpAddr>,
    /// Bit d: it sends with DSCP d.
    pub dscps: u64,
}

const _: () = assert!(TAGS == 64, "a bit for each DSCP");

impl SwitchFiles {
    /// The port of a slot.
    pub(crate) fn port(&self, network: &Network, slot: u32) -> &PortConfig {
        &self.switches[network.owner(slot) as usize].ports[network.port(slot).index()]
    }

    /// The speed of the port at this end of a link; `None` for a host.
    pub(super) fn speed(&self, network: &Network, end: End) -> Option<Speed> {
        let End::Slot(slot) = end else { return None };
        let switch = &self.switches[network.owner(slot) as usize];
        Some(switch.settings.ports[network.port(slot).index()].speed)
    }
}

/// The files that the tables name; `None` if they name none.
///
/// # Errors
/// A file is wrong or its switch cannot be part of such a network, some switches have a file and
/// some do not, or the hosts do not suit.
pub(super) fn read(source: &Source, file: &Tables<'_>) -> Result<Option<SwitchFiles>, ConfigError> {
    let has_files = file.switch.iter().any(|table| table.get_ref().config.is_some());
    let hosts = file.host.iter().map(|table| host(source, table.get_ref(), has_files));
    let hosts = hosts.collect::<Result<Vec<_>, _>>()?;
    if !has_files {
        return Ok(None);
    }
    let switches = file.switch.iter().map(|table| switch(source, table));
    Ok(Some(SwitchFiles { switches: switches.collect::<Result<_, _>>()?, hosts }))
}

fn switch(source: &Source, table: &Spanned<SwitchTable>) -> Result<SwitchConfig, ConfigError> {
    let table = table.get_ref();
    let Some(field) = &table.config else {
        let message = "other switches of this network have a `config`, and this one has none; add \
                       its SWITCH.toml";
        return Err(source.at(table.name.span(), message));
    };
    if let Some(ports) = &table.ports {
        let message = "`config` says which ports there are; remove `ports`";
        return Err(source.at(ports.span(), message));
    }
    let config = SwitchConfig::of(&source.read_named(field)?)?;
    match obstacle(&config) {
        Some(message) => {
            let file = crate::message::path(config.file());
            Err(source.at(field.span(), format!("{file}: {message}")))
        }
        None => Ok(config),
    }
}

/// Why a switch cannot be part of such a network.
fn obstacle(config: &SwitchConfig) -> Option<String> {
    if config.tag_map.ttl_classes.is_some() {
        return Some("[ttl] is not for a network of switch files; go by tags".to_owned());
    }
    let bridged = config.ports.iter().find(|port| matches!(port.mode, PortMode::Bridged(_)))?;
    let name = &bridged.name;
    Some(format!(
        "port `{name}` bridges, and where its frames go no file says; give it `addresses`"
    ))
}

fn host(source: &Source, table: &HostTable, has_files: bool) -> Result<HostConfig, ConfigError> {
    let addresses: Vec<IpAddr> = table.addresses.iter().map(|it| it.get_ref().0).collect();
    let dscps = table
        .dscp
        .as_ref()
        .map(|list| list.get_ref().iter().fold(0_u64, |bits, dscp| bits | 1 << dscp.get_ref().0));
    let extra = table.addresses.first().map(Spanned::span);
    let extra = extra.or_else(|| table.dscp.as_ref().map(Spanned::span));
    match extra {
        Some(span) if !has_files => {
            let message = "only hosts at switches with a `config` have addresses and DSCPs of their \
                           own; remove this";
            Err(source.at(span, message))
        }
        _ if has_files && addresses.is_empty() => {
            let message = "this host has no address, so no switch knows it; add `addresses`";
            Err(source.at(table.name.span(), message))
        }
        _ => Ok(HostConfig { addresses, dscps: dscps.unwrap_or(u64::MAX) }),
    }
}
