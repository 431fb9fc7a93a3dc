//! MUX_CABLE: servers behind two switches, of which one is active.
//!
//! The switch on standby sends what is for the server to the other one, by the tunnel, and drops
//! what its port to the server receives. Here the latter is `source_check`: the route back to the
//! server leads into the tunnel.

use super::MuxState;
use super::findings::Place;
use super::model::{Model, Route};
use super::reader::Reader;
use ipnet::IpNet;

const TABLE: &str = "MUX_CABLE";

/// Says which ports have a mux cable.
pub(super) fn ports(reader: &Reader<'_>, model: &mut Model) {
    for port in &mut model.ports {
        port.has_mux = reader.db.has(TABLE, &port.name);
    }
}

/// Gives servers on standby their routes; `otherwise` is the state where the database has none.
pub(super) fn read(reader: &mut Reader<'_>, model: &mut Model, otherwise: Option<MuxState>) {
    let keys: Vec<&str> = reader.db.keys(TABLE).collect();
    for key in keys {
        if !reader.db.has("PORT", key) {
            reader.wrong(&Place::new(TABLE, key, ""), "names no PORT; add it");
            continue;
        }
        if state(reader, key, otherwise) == MuxState::Standby {
            standby(reader, model, key);
        }
    }
}

fn state(reader: &mut Reader<'_>, key: &str, otherwise: Option<MuxState>) -> MuxState {
    let said = reader.text(TABLE, key, "state");
    let word = said.as_ref().map_or("auto", |said| said.value.as_str());
    match (word, otherwise) {
        ("active", _) => MuxState::Active,
        ("standby", _) => MuxState::Standby,
        ("auto" | "manual" | "detach", Some(otherwise)) => otherwise,
        ("auto" | "manual" | "detach", None) => {
            let why = format!(
                "`{word}`: only the running switch knows whether it is active; give --mux active or \
                 --mux standby"
            );
            reader.approximate(&Place::new(TABLE, key, "state"), why, "it is active");
            MuxState::Active
        }
        _ => {
            let why = format!("`{word}` is none of auto, manual, active, standby and detach");
            reader.wrong(&Place::new(TABLE, key, "state"), why);
            MuxState::Active
        }
    }
}

fn standby(reader: &mut Reader<'_>, model: &mut Model, key: &str) {
    let place = |field: &str| Place::new(TABLE, key, field);
    let is_up = model.ports.iter().any(|port| port.name == key);
    let tunnel = model.tunnels.iter().find(|tunnel| tunnel.remote.is_some());
    let Some(tunnel) = tunnel.map(|tunnel| tunnel.name.clone()) else {
        let why = "on standby needs a TUNNEL and the PEER_SWITCH at its other end; add both";
        reader.refuse(&place("state"), why);
        return;
    };
    let mut any = false;
    for field in ["server_ipv4", "server_ipv6"] {
        let Some(server) = reader.text(TABLE, key, field) else { continue };
        any = true;
        let Ok(prefix) = server.value.parse::<IpNet>() else {
            let why =
                format!("`{}` is no address with its length, as 192.168.0.2/32", server.value);
            reader.wrong(&place(field), why);
            continue;
        };
        model.routes.push(Route {
            to: prefix.trunc().to_string(),
            via: Vec::new(),
            tunnel: Some(tunnel.clone()),
            from: place(field).to_string(),
        });
    }
    if !any {
        reader.wrong(&place(""), "has no server_ipv4; add the server's address");
    }
    // Both cables of an active-active server carry what it sends.
    let cable = reader.text(TABLE, key, "cable_type");
    if !is_up || cable.is_some_and(|cable| cable.value == "active-active") {
        return;
    }
    let Some(port) = model.ports.iter_mut().find(|port| port.name == key) else { return };
    if port.access.is_some() || !port.vlans.is_empty() {
        let why = "a port on standby drops what it receives";
        reader.approximate(&place("state"), why, "it is bridged, as that of other ports");
    } else {
        port.standby = Some(format!("{TABLE}|{key}, a port on standby drops what it receives"));
    }
}
