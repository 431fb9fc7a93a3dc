//! INTERFACE, VLAN, VLAN_MEMBER, PORTCHANNEL, STATIC_ROUTE, NEIGH and ACL_RULE: what a port
//! forwards, and where to.

use super::findings::Place;
use super::model::{Model, Neighbor, Port, Route};
use super::reader::{Reader, Said};
use dataplane::wire::MacAddress;
use ipnet::IpNet;
use std::net::IpAddr;

/// Gives the ports their addresses and VLANs, and the switch its routes and neighbors.
pub(super) fn read(reader: &mut Reader<'_>, model: &mut Model) {
    vlans(reader, &mut model.ports);
    interfaces(reader, &mut model.ports);
    port_channels(reader, &mut model.ports);
    routes(reader, model);
    neighbors(reader, model);
    access_lists(reader);
    let db = reader.db;
    let daemon = db.names().find(|name| name.starts_with("BGP_NEIGHBOR") && !db.is_empty(name));
    model.routing = daemon.map(str::to_owned);
}

fn interfaces(reader: &mut Reader<'_>, ports: &mut [Port]) {
    let db = reader.db;
    for key in db.keys("INTERFACE") {
        let (name, address) = match key.split_once('|') {
            Some((name, address)) => (name, Some(address)),
            None => (key, None),
        };
        let place = Place::new("INTERFACE", key, "");
        in_vrf(reader, "INTERFACE", key);
        if !db.has("PORT", name) {
            reader.wrong(&place, "names no PORT; add it");
            continue;
        }
        let Some(port) = ports.iter_mut().find(|port| port.name == name) else { continue };
        if let Some(address) = address {
            add_address(reader, port, &place, address);
        }
    }
}

pub(super) fn in_vrf(reader: &mut Reader<'_>, table: &str, key: &str) {
    for field in ["vrf_name", "vnet_name"] {
        if let Some(vrf) = reader.text(table, key, field)
            && vrf.value != "default"
        {
            let why = "there is one table of routes; take the interface out of the VRF";
            reader.refuse(&Place::new(table, key, field), why);
        }
    }
}

fn add_address(reader: &mut Reader<'_>, port: &mut Port, place: &Place, address: &str) {
    match address.trim().parse::<IpNet>() {
        Ok(network) => port.addresses.push(Said::new(network.to_string(), place.to_string())),
        Err(_) => {
            reader.wrong(place, "has no address with the length of its network, as 10.0.0.1/31");
        }
    }
}

fn vlans(reader: &mut Reader<'_>, ports: &mut [Port]) {
    let db = reader.db;
    for key in db.keys("VLAN_MEMBER") {
        let place = Place::new("VLAN_MEMBER", key, "");
        let parts = key.split_once('|');
        let vlan = parts.and_then(|(vlan, _)| {
            let number: u16 = vlan.strip_prefix("Vlan")?.parse().ok()?;
            (1..=4_094).contains(&number).then_some(number)
        });
        let (Some((_, name)), Some(vlan)) = (parts, vlan) else {
            reader.wrong(&place, "is no VlanNUMBER|PORT with a number from 1 to 4094");
            continue;
        };
        if name.starts_with("PortChannel") {
            // Said of the port channel itself.
            continue;
        }
        if !db.has("PORT", name) {
            reader.wrong(&place, "names no PORT; add it");
            continue;
        }
        let mode = reader.text("VLAN_MEMBER", key, "tagging_mode");
        let Some(port) = ports.iter_mut().find(|port| port.name == name) else { continue };
        match mode.as_ref().map_or("tagged", |mode| mode.value.as_str()) {
            "tagged" => port.vlans.push(Said::new(vlan, place.to_string())),
            "untagged" if port.access.is_some() => {
                reader.wrong(&place, "is a second untagged VLAN of the port; one is the most");
            }
            "untagged" => port.access = Some(Said::new(vlan, place.to_string())),
            _ => {
                let place = Place::new("VLAN_MEMBER", key, "tagging_mode");
                reader.wrong(&place, "is neither tagged nor untagged");
            }
        }
    }
    for port in ports.iter().filter(|port| port.access.is_some() || !port.vlans.is_empty()) {
        let prefix = format!("{}|", port.name);
        if let Some(key) = db.keys("INTERFACE").find(|key| key.starts_with(&prefix)) {
            let why = "the port is a member of a VLAN, so it has no address; remove one of both";
            reader.wrong(&Place::new("INTERFACE", key, ""), why);
        }
    }
}

/// A channel of one member is that member.
fn port_channels(reader: &mut Reader<'_>, ports: &mut [Port]) {
    const NAME: &str = "PORTCHANNEL";
    let db = reader.db;
    for key in db.keys(NAME) {
        let mut members: Vec<String> = db
            .keys("PORTCHANNEL_MEMBER")
            .filter_map(|member| member.split_once('|'))
            .filter(|(channel, _)| *channel == key)
            .map(|(_, port)| port.to_owned())
            .collect();
        for member in reader.words(NAME, key, "members") {
            if !members.contains(&member) {
                members.push(member);
            }
        }
        members.retain(|member| ports.iter().any(|port| port.name == *member));
        let place = Place::new(NAME, key, "");
        let why = "there is no link aggregation";
        let [member] = members.as_slice() else {
            if !members.is_empty() {
                let why =
                    format!("{why}; give its {} members networks of their own", members.len());
                reader.refuse(&place, why);
            }
            continue;
        };
        reader.approximate(&place, why, "its only member is a port of its own, without LACP");
        let Some(port) = ports.iter_mut().find(|port| port.name == *member) else { continue };
        for key in db.keys("PORTCHANNEL_INTERFACE") {
            in_vrf(reader, "PORTCHANNEL_INTERFACE", key);
        }
        let of_channel = |row: &&str| row.split_once('|').is_some_and(|(name, _)| name == key);
        for row in db.keys("PORTCHANNEL_INTERFACE").filter(of_channel) {
            let address = row.split_once('|').map_or("", |(_, address)| address);
            add_address(reader, port, &Place::new("PORTCHANNEL_INTERFACE", row, ""), address);
        }
        for row in db.keys("VLAN_MEMBER") {
            let Some((vlan, _)) = row.split_once('|').filter(|(_, name)| *name == key) else {
                continue;
            };
            let Some(vlan) = vlan.strip_prefix("Vlan").and_then(|vlan| vlan.parse().ok()) else {
                continue;
            };
            let mode = reader.text("VLAN_MEMBER", row, "tagging_mode");
            let said = Said::new(vlan, format!("VLAN_MEMBER|{row}"));
            if mode.is_some_and(|mode| mode.value == "untagged") {
                port.access = Some(said);
            } else {
                port.vlans.push(said);
            }
        }
    }
}

fn routes(reader: &mut Reader<'_>, model: &mut Model) {
    const TABLE: &str = "STATIC_ROUTE";
    let db = reader.db;
    for key in db.keys(TABLE) {
        let place = Place::new(TABLE, key, "");
        let (vrf, prefix) = key.split_once('|').unwrap_or(("default", key));
        if vrf != "default" {
            reader.refuse(&place, "there is one table of routes; take the route out of the VRF");
            continue;
        }
        let Ok(prefix) = prefix.parse::<IpNet>() else {
            reader.wrong(&place, "is no prefix; write it as 10.9.0.0/16");
            continue;
        };
        if let Some(other) = db
            .fields(TABLE, key)
            .find(|field| {
                !["nexthop", "blackhole", "ifname", "distance", "advertise", "bfd"].contains(field)
            })
            .filter(|field| *field != "nexthop-vrf")
        {
            reader.refuse(
                &Place::new(TABLE, key, other),
                "a route has no such field here; remove it",
            );
        }
        let vrfs = reader.words(TABLE, key, "nexthop-vrf");
        if vrfs.iter().any(|vrf| vrf != "default") {
            reader.refuse(&Place::new(TABLE, key, "nexthop-vrf"), "there is one table of routes");
        }
        let blackholes = reader.words(TABLE, key, "blackhole");
        let is_blackhole = !blackholes.is_empty() && blackholes.iter().all(|word| word == "true");
        let via = reader.words(TABLE, key, "nexthop");
        let parsed: Vec<IpAddr> = via.iter().filter_map(|via| via.parse().ok()).collect();
        let nowhere = parsed.iter().any(IpAddr::is_unspecified);
        if !is_blackhole && (parsed.is_empty() || parsed.len() != via.len() || nowhere) {
            let why =
                "names no gateway by its address; a route by its port alone has no counterpart";
            reader.refuse(&Place::new(TABLE, key, "nexthop"), why);
            continue;
        }
        let via = parsed.iter().filter(|_| !is_blackhole).map(IpAddr::to_string).collect();
        model.routes.push(Route {
            to: prefix.trunc().to_string(),
            via,
            tunnel: None,
            from: place.to_string(),
        });
    }
}

fn neighbors(reader: &mut Reader<'_>, model: &mut Model) {
    let db = reader.db;
    for key in db.keys("NEIGH") {
        let place = Place::new("NEIGH", key, "");
        let parts = key.split_once('|');
        let address = parts.and_then(|(_, address)| address.parse::<IpAddr>().ok());
        let (Some((port, _)), Some(address)) = (parts, address) else {
            reader.wrong(&place, "is no PORT|ADDRESS; write it as Ethernet0|10.0.0.1");
            continue;
        };
        let Some(mac) = reader.text("NEIGH", key, "neigh") else { continue };
        let Ok(mac) = mac.value.parse::<MacAddress>() else {
            reader.wrong(
                &Place::new("NEIGH", key, "neigh"),
                "is no MAC address; write it as 02:00:00:00:00:01",
            );
            continue;
        };
        if !model.ports.iter().any(|known| known.name == port) {
            if !db.has("PORT", port) {
                reader.refuse(&place, "is behind no port; a neighbor is behind one with addresses");
            }
            continue;
        }
        model.neighbors.push(Neighbor {
            address: address.to_string(),
            mac: mac.to_string(),
            port: port.to_owned(),
            from: place.to_string(),
        });
    }
}

/// An ACL that drops or redirects is never left out: what it keeps away would come in. One for
/// the machine's own services is the machine's.
fn access_lists(reader: &mut Reader<'_>) {
    let db = reader.db;
    for key in db.keys("ACL_RULE") {
        let table = key.split('|').next().unwrap_or_default();
        let kind = reader.text("ACL_TABLE", table, "type").map(|kind| kind.value);
        match kind.as_deref() {
            Some("CTRLPLANE") => {}
            Some("MIRROR" | "MIRRORV6" | "MIRROR_DSCP") => {
                let place = Place::new("ACL_RULE", key, "");
                let why = "frames are not mirrored; `knotless capture` takes them";
                reader.approximate(&place, why, "it is left out");
            }
            _ => {
                let why = "there are no access lists; remove the rule if the switch may do without";
                reader.refuse(&Place::new("ACL_RULE", key, ""), why);
            }
        }
    }
}
