//! Addresses of the switch itself, its tunnel and the servers on standby, as LOOPBACK_INTERFACE,
//! TUNNEL, PEER_SWITCH and MUX_CABLE.

use super::export_tables::Tables;
use crate::switch::{PortConfig, SwitchConfig, TunnelConfig, priorities};
use dataplane::fib::Route;
use dataplane::ids::{Priority, Tag};
use dataplane::limits::TAGS;
use dataplane::tunnel::{Tunnel, TunnelMode, TunnelPriorityGroup};
use ipnet::IpNet;

/// The name that SONiC's orchagent knows.
const NAME: &str = "MuxTunnel0";
const PEER: &str = "peer";
/// The name of the tunnel's maps.
const MAP: &str = "AZURE_TUNNEL";

/// Writes all but the maps of the tunnel.
pub(super) fn write(tables: &mut Tables, config: &SwitchConfig, names: &[String]) {
    for address in &config.loopback {
        let length = if address.is_ipv4() { 32 } else { 128 };
        tables.entry("LOOPBACK_INTERFACE", "Loopback0");
        tables.entry("LOOPBACK_INTERFACE", &format!("Loopback0|{address}/{length}"));
    }
    if let Some(second) = config.tunnels.get(1) {
        let why = "SONiC has one tunnel, that to the other switch of a pair; leave it out";
        tables.refuse(format!("[[tunnel]] {}", second.name), why);
    }
    let Some(TunnelConfig { name, tunnel }) = config.tunnels.first() else { return };
    let mut set = |field: &str, value: String| tables.set("TUNNEL", NAME, field, value);
    set("tunnel_type", "IPINIP".to_owned());
    set("dst_ip", tunnel.local.to_string());
    set("dscp_mode", mode(tunnel.dscp));
    set("ttl_mode", mode(tunnel.ttl));
    set("ecn_mode", "standard".to_owned());
    set("encap_ecn_mode", "standard".to_owned());
    let Some(remote) = tunnel.remote else { return };
    if !tunnel.any_remote {
        set("src_ip", remote.to_string());
    }
    if tunnel.ttl == TunnelMode::Uniform {
        let why = "SONiC's outer headers begin with a TTL of their own; use ttl = \"pipe\"";
        tables.refuse(format!("[[tunnel]] {name}"), why);
    }
    tables.set("PEER_SWITCH", PEER, "address_ipv4", remote.to_string());
    tables.set("DEVICE_METADATA", "localhost", "subtype", "DualToR");
    tables.set("DEVICE_METADATA", "localhost", "peer_switch", PEER);
    let status = if needs_map(tunnel) { "enabled" } else { "disabled" };
    tables.set("SYSTEM_DEFAULTS", "tunnel_qos_remap", "status", status);
    servers(tables, config, names);
}

fn mode(mode: TunnelMode) -> String {
    match mode {
        TunnelMode::Pipe => "pipe",
        TunnelMode::Uniform => "uniform",
    }
    .to_owned()
}

/// A route into the tunnel is that of a server on standby.
fn servers(tables: &mut Tables, config: &SwitchConfig, names: &[String]) {
    const TABLE: &str = "MUX_CABLE";
    for (prefix, _) in config.routes.iter().filter(|(_, route)| is_tunnel(route)) {
        let port = config.ports.iter().find(|port| is_server_of(port, prefix));
        let name = port.and_then(|port| Some((port, names.get(port.id.index())?)));
        let Some((port, name)) = name else {
            let why = "SONiC's tunnel takes what is for servers on standby; give one's address, and \
                       its port a network with it";
            tables.refuse(format!("[[route]] {prefix}"), why);
            continue;
        };
        let field = if prefix.addr().is_ipv4() { "server_ipv4" } else { "server_ipv6" };
        let entry = tables.entry(TABLE, name);
        let second = entry.insert(field.to_owned(), prefix.to_string());
        entry.insert("state".to_owned(), "standby".to_owned());
        if !port.checks_source {
            entry.insert("cable_type".to_owned(), "active-active".to_owned());
        }
        if second.is_some() {
            let why = "SONiC has one server at a port; leave the others out";
            tables.refuse(format!("[[route]] {prefix}"), why);
        }
        tables.set("PORT", name, "mux_cable", "true");
    }
}

const fn is_tunnel(route: &Route) -> bool {
    matches!(route, Route::Tunnel { .. })
}

fn is_server_of(port: &PortConfig, prefix: &IpNet) -> bool {
    prefix.prefix_len() == prefix.max_prefix_len()
        && port.addresses.iter().any(|network| network.contains(prefix))
}

/// Whether a server on standby is behind a port.
pub(super) fn is_standby(config: &SwitchConfig, port: &PortConfig) -> bool {
    let mut tunneled = config.routes.iter().filter(|(_, route)| is_tunnel(route));
    tunneled.any(|(prefix, _)| is_server_of(port, prefix))
}

/// The tunnel whose outer headers have DSCPs by a map: all that SONiC does not copy.
pub(super) fn mapped(config: &SwitchConfig) -> Option<&Tunnel> {
    config.tunnels.first().map(|config| &config.tunnel).filter(|tunnel| needs_map(tunnel))
}

fn needs_map(tunnel: &Tunnel) -> bool {
    let is_own = Tag::all().all(|tag| tunnel.outer_tag[tag.index()] == tag);
    tunnel.remote.is_some() && (tunnel.dscp == TunnelMode::Pipe || !is_own)
}

/// Writes the maps of the tunnel. Tags of a class have the same outer tag.
pub(super) fn maps(tables: &mut Tables, config: &SwitchConfig, of_tag: &[u8; TAGS]) {
    let Some(tunnel) = mapped(config) else { return };
    let tags = &config.tag_map;
    let ports: Vec<_> = config.ports.iter().filter(|port| !is_standby(config, port)).collect();
    for tag in Tag::all() {
        let class = of_tag[tag.index()].to_string();
        let outer = tunnel.outer_tag[tag.index()];
        let dscp = tags.dscp[outer.index()];
        tables.set("TC_TO_DSCP_MAP", MAP, &class, dscp.to_string());
        let queue = same(tables, &ports, |port| priorities(port.qos_map.as_deref(), tags, outer).1);
        tables.set("TC_TO_QUEUE_MAP", MAP, &class, queue.to_string());
    }
    tables.set("TUNNEL", NAME, "encap_tc_to_dscp_map", MAP);
    tables.set("TUNNEL", NAME, "encap_tc_to_queue_map", MAP);
    if tunnel.priority_group == TunnelPriorityGroup::Outer {
        return;
    }
    for (dscp, tag) in tags.dscp_to_tag.iter().enumerate() {
        let outer = tunnel.outer_tag[tag.index()];
        // What was lossy on the way stays so.
        let is_lossy = tags.is_lossless(*tag) && !tags.is_lossless(outer);
        let after = if is_lossy { tags.lossy_tag } else { *tag };
        let class = of_tag[after.index()].to_string();
        tables.set("DSCP_TO_TC_MAP", MAP, &dscp.to_string(), class.clone());
        let outer = tunnel.outer_tag[after.index()];
        let group = same(tables, &ports, |port| priorities(port.qos_map.as_deref(), tags, outer).0);
        tables.set("TC_TO_PRIORITY_GROUP_MAP", MAP, &class, group.to_string());
    }
    tables.set("TUNNEL", NAME, "decap_dscp_to_tc_map", MAP);
    tables.set("TUNNEL", NAME, "decap_tc_to_pg_map", MAP);
}

/// What is the same at all ports by which the tunnel may lead.
fn same(
    tables: &mut Tables,
    ports: &[&PortConfig],
    of: impl Fn(&PortConfig) -> Priority,
) -> Priority {
    let mut all = ports.iter().copied().map(of);
    let first = all.next().unwrap_or_default();
    if all.any(|other| other != first) {
        let why = "SONiC's tunnel has one map for all ports; give these ports one [[qos_map]]";
        tables.refuse("[[tunnel]] outer_tag", why);
    }
    first
}
