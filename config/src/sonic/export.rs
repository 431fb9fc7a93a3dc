//! A switch as `config_db.json`: its ports, addresses, routes and neighbors. Queues and buffers are
//! in `export_qos.rs`.
//!
//! What SONiC knows of a switch is written so that an import of it is the same switch to its
//! frames. What would forward otherwise there is refused; what is about this program (its cores,
//! its memory, its sockets) is left out.

use super::SonicError;
use super::export_qos;
use super::export_tables::Tables;
use super::export_tunnels;
use crate::message;
use crate::switch::{PortConfig, SwitchConfig};
use dataplane::fib::Route;
use dataplane::l2::{Vid, VlanPort};
use dataplane::pipeline::classify::ClassifyBy;
use dataplane::snapshot::PortMode;
use std::collections::BTreeSet;

/// A switch, exported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// `config_db.json`.
    pub text: String,
}

/// Writes the switch as `config_db.json`.
///
/// # Errors
/// Something of it would be otherwise on SONiC: all of that, a line each.
pub fn export(config: &SwitchConfig) -> Result<Exported, SonicError> {
    let mut tables = Tables::default();
    check_whole(config, &mut tables);
    tables.set("DEVICE_METADATA", "localhost", "hostname", config.name.clone());
    let names = port_names(config);
    for (port, name) in config.ports.iter().zip(&names) {
        port_entry(&mut tables, config, port, name);
        forwarding(&mut tables, port, name);
    }
    routes(&mut tables, config);
    for neighbor in &config.neighbors {
        let Some(port) = names.get(neighbor.port.index()) else { continue };
        let key = format!("{port}|{}", neighbor.address);
        tables.set("NEIGH", &key, "neigh", neighbor.mac.to_string());
        let family = if neighbor.address.is_ipv4() { "IPv4" } else { "IPv6" };
        tables.set("NEIGH", &key, "family", family);
    }
    export_tunnels::write(&mut tables, config, &names);
    export_qos::write(&mut tables, config, &names);
    let text = tables.into_json().map_err(|refused| {
        let file = message::path(config.file());
        SonicError::Refused(refused.iter().map(|line| format!("{file}: {line}")).collect())
    })?;
    Ok(Exported { text })
}

/// What SONiC has no word for, and what would forward otherwise without it.
fn check_whole(config: &SwitchConfig, tables: &mut Tables) {
    if config.rules.is_some() {
        tables.refuse(
            "rules",
            "SONiC has no tag rules, so lossless frames could deadlock; leave them out",
        );
    }
    if config.tag_map.ttl_classes.is_some() {
        tables.refuse("[ttl]", "SONiC has no classes by hops; use [[tag]]");
    }
    if config.settings.ports.iter().any(|port| port.gfc.is_some()) {
        tables.refuse("[gfc]", "SONiC has no gentle flow control; leave it out");
    }
    if !config.static_macs.is_empty() {
        tables.refuse(
            "[[static_mac]]",
            "SONiC keeps no stations in its configuration; leave them out",
        );
    }
}

/// SONiC's ports are named EthernetN. A port with such a name keeps it; others are numbered as on
/// SONiC's virtual switch.
fn port_names(config: &SwitchConfig) -> Vec<String> {
    let is_sonic = |name: &str| {
        name.strip_prefix("Ethernet")
            .is_some_and(|n| !n.is_empty() && n.len() <= 7 && n.bytes().all(|b| b.is_ascii_digit()))
    };
    let own: BTreeSet<&str> =
        config.ports.iter().map(|port| port.name.as_str()).filter(|name| is_sonic(name)).collect();
    let mut free = (0..).map(|number| format!("Ethernet{}", 4 * number));
    let name = |port: &PortConfig| {
        if is_sonic(&port.name) {
            return port.name.clone();
        }
        free.find(|name| !own.contains(name.as_str())).unwrap_or_default()
    };
    config.ports.iter().map(name).collect()
}

fn port_entry(tables: &mut Tables, config: &SwitchConfig, port: &PortConfig, name: &str) {
    let settings = &config.settings.ports[port.id.index()];
    let place = format!("[[port]] {}", port.name);
    let bps = settings.speed.bps();
    if !bps.is_multiple_of(1_000_000) {
        tables.refuse(place.clone(), "SONiC's `speed` is in whole Mb/s");
    }
    tables.set("PORT", name, "alias", port.name.clone());
    tables.set("PORT", name, "lanes", (port.id.index() + 1).to_string());
    tables.set("PORT", name, "index", port.id.number().to_string());
    tables.set("PORT", name, "speed", (bps / 1_000_000).to_string());
    tables.set("PORT", name, "mtu", port.mtu.to_string());
    tables.set("PORT", name, "admin_status", "up");
    let millimetres = port.length.millimetres();
    if millimetres.is_multiple_of(1_000) {
        tables.set("CABLE_LENGTH", "AZURE", name, format!("{}m", millimetres / 1_000));
    } else {
        tables.refuse(place.clone(), "SONiC's cable lengths are whole metres");
    }
    let any_lossless = config.tag_map.lossless_tags != 0;
    if any_lossless && settings.lossless_bits() != 0 && !port.trust.trusted {
        let why =
            "it is not `trusted`, and SONiC believes each marking; make it so, or set pfc = false";
        tables.refuse(place.clone(), why);
    }
    if port.trust.by == ClassifyBy::Port {
        tables.refuse(place.clone(), "it goes by no marking, which remarks frames; SONiC does not");
    }
    // SONiC drops what a port on standby receives.
    if port.checks_source && !export_tunnels::is_standby(config, port) {
        tables.refuse(place, "SONiC checks no sources; leave `source_check` out");
    }
}

fn forwarding(tables: &mut Tables, port: &PortConfig, name: &str) {
    match &port.mode {
        PortMode::Routed { vlan } => {
            if vlan.is_some() {
                let why = "SONiC has a routed VLAN as an interface of its own; leave `vlan` out";
                tables.refuse(format!("[[port]] {}", port.name), why);
            }
            tables.entry("INTERFACE", name);
            for address in &port.addresses {
                tables.entry("INTERFACE", &format!("{name}|{address}"));
            }
        }
        PortMode::Bridged(vlans) => {
            let VlanPort { native, tagged } = &**vlans;
            for vid in (1..=4_094).filter_map(Vid::new) {
                let is_native = *native == Some(vid);
                if !is_native && !tagged.contains(vid) {
                    continue;
                }
                let vlan = format!("Vlan{}", vid.value());
                tables.set("VLAN", &vlan, "vlanid", vid.value().to_string());
                let mode = if is_native { "untagged" } else { "tagged" };
                tables.set("VLAN_MEMBER", &format!("{vlan}|{name}"), "tagging_mode", mode);
            }
        }
    }
}

fn routes(tables: &mut Tables, config: &SwitchConfig) {
    for (prefix, route) in &config.routes {
        let key = prefix.to_string();
        match route {
            Route::Blackhole => tables.set("STATIC_ROUTE", &key, "blackhole", "true"),
            // Said as a server on standby.
            Route::Tunnel { .. } => {}
            Route::Via(gateways) => {
                let gateways: Vec<String> = gateways.iter().map(ToString::to_string).collect();
                tables.set("STATIC_ROUTE", &key, "nexthop", gateways.join(","));
            }
        }
    }
}
