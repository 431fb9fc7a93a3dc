//! DEVICE_METADATA, PORT and CABLE_LENGTH: the switch's name, and the ports that are up.

use super::findings::Place;
use super::model::Port;
use super::reader::{Reader, Said, split};
use crate::names::{is_in_names, is_name};
use crate::units::parse_length;

const MTU_DEFAULT: u64 = 9_100;
/// Fields of a switch that is a part of another.
const PARTS: [&str; 4] = ["asic_name", "asic_id", "num_asics", "chassis_hostname"];

/// The switch's name; refuses what is one of several ASICs.
pub(super) fn name(reader: &mut Reader<'_>) -> Option<Said<String>> {
    const TABLE: &str = "DEVICE_METADATA";
    for field in PARTS {
        let single = field == "num_asics";
        if let Some(said) = reader.text(TABLE, "localhost", field)
            && !(single && said.value == "1")
        {
            let why = "one of several ASICs; give the database of a switch with one ASIC";
            reader.refuse(&Place::new(TABLE, "localhost", field), why);
        }
    }
    if let Some(said) = reader.text(TABLE, "localhost", "switch_type")
        && ["voq", "fabric", "chassis-packet", "dpu"].contains(&said.value.as_str())
    {
        let why = "a part of a chassis; give the database of a switch of its own";
        reader.refuse(&Place::new(TABLE, "localhost", "switch_type"), why);
    }
    if let Some(role) = reader.text(TABLE, "localhost", "sub_role")
        && role.value != "None"
    {
        let why = "one of several ASICs; give the database of a switch with one ASIC";
        reader.refuse(&Place::new(TABLE, "localhost", "sub_role"), why);
    }
    let name = reader.text(TABLE, "localhost", "hostname")?;
    if !is_name(&name.value) {
        let why = "is no name for a switch; use letters, digits, `-`, `_` and `.`, at most 63";
        reader.wrong(&Place::new(TABLE, "localhost", "hostname"), why);
        return None;
    }
    Some(name)
}

/// The ports that are up, in the order of their numbers. A port that is down takes no part. Where
/// no port says whether it is up, those are that `PORT_QOS_MAP` names, and all if it names none.
pub(super) fn ports(reader: &mut Reader<'_>) -> Vec<Port> {
    let db = reader.db;
    let mut names: Vec<&str> = db.keys("PORT").collect();
    names.sort_by_key(|name| {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        (stem, name[stem.len()..].parse::<u64>().unwrap_or_default())
    });
    let any_says = names.iter().any(|name| db.value("PORT", name, "admin_status").is_some());
    let any_named = names.iter().any(|name| qos_key(reader, name).is_some());
    let mut ports = Vec::new();
    let mut any_is_up = false;
    for name in names {
        let status = reader.text("PORT", name, "admin_status");
        let is_up = match &status {
            Some(status) => status.value == "up",
            None => !any_says && (!any_named || qos_key(reader, name).is_some()),
        };
        any_is_up |= is_up;
        if is_up && let Some(port) = port(reader, name) {
            ports.push(port);
        }
    }
    if !any_is_up {
        let why = "no port is up; give PORT tables, or port_config.ini by --ports";
        reader.wrong(&Place::new("PORT", "", ""), why);
    }
    ports
}

fn port(reader: &mut Reader<'_>, name: &str) -> Option<Port> {
    let place = |field: &str| Place::new("PORT", name, field);
    if name.is_empty()
        || name.len() > 15
        || !name.chars().all(is_in_names)
        || !name.starts_with(|c: char| c.is_ascii_alphabetic())
    {
        reader
            .wrong(&place(""), "is no name of a port; SONiC's are Ethernet0, Ethernet4 and so on");
        return None;
    }
    if let Some(role) = reader.text("PORT", name, "role")
        && !["Ext", "Dpc"].contains(&role.value.as_str())
    {
        reader.refuse(&place("role"), "a port between ASICs; give a switch with one ASIC");
    }
    if let Some(asymmetric) = reader.text("PORT", name, "pfc_asym")
        && asymmetric.value == "on"
    {
        let why = "pauses of all priorities would be obeyed, and only some sent";
        reader.approximate(&place("pfc_asym"), why, "those that are sent are obeyed");
    }
    if let Some(tpid) = reader.text("PORT", name, "tpid")
        && !["0x8100", "0X8100", "33024"].contains(&tpid.value.as_str())
    {
        reader.refuse(&place("tpid"), "a VLAN tag begins with 0x8100 here; use that");
    }
    if let Some(scope) = reader.text("PORT", name, "mux_cable")
        && scope.value == "true"
        && !reader.db.has("MUX_CABLE", name)
    {
        let why = format!("no MUX_CABLE|{name} says which server is behind it, nor in which state");
        reader.approximate(&place("mux_cable"), why, "the port is always active");
    }
    let mbps = reader.number("PORT", name, "speed", 1..=1_600_000);
    if mbps.is_none() && reader.db.value("PORT", name, "speed").is_none() {
        reader
            .wrong(&place("speed"), "is not there; give it in Mb/s, or port_config.ini by --ports");
    }
    let mtu = match reader.number("PORT", name, "mtu", 68..=9_706) {
        Some(mtu) => mtu.map(|mtu| u64::try_from(mtu).unwrap_or(MTU_DEFAULT)),
        None => Said::new(MTU_DEFAULT, "SONiC's default"),
    };
    Some(Port {
        name: name.to_owned(),
        from: format!("PORT|{name}"),
        mbps: mbps?.map(|mbps| u64::try_from(mbps).unwrap_or(1)),
        mtu,
        cable: cable(reader, name),
        addresses: Vec::new(),
        access: None,
        vlans: Vec::new(),
        by_pcp: None,
        pfc: pfc_enable(reader, name),
        lossless: 0,
        has_mux: false,
        standby: None,
        watched: false,
    })
}

/// `CABLE_LENGTH`, of any of its entries.
fn cable(reader: &mut Reader<'_>, name: &str) -> Option<Said<String>> {
    let db = reader.db;
    let key = db.keys("CABLE_LENGTH").find(|key| db.value("CABLE_LENGTH", key, name).is_some())?;
    let said = reader.text("CABLE_LENGTH", key, name)?;
    if parse_length(&said.value).is_err() {
        let why = format!("`{}` is no length; write it as 5m", said.value);
        reader.wrong(&Place::new("CABLE_LENGTH", key, name), why);
        return None;
    }
    // 0m is what the templates write for a port without a cable.
    Some(said)
}

/// `pfc_enable` of `PORT_QOS_MAP`, as bits.
fn pfc_enable(reader: &mut Reader<'_>, name: &str) -> Said<u8> {
    priorities(reader, name, "pfc_enable")
        .unwrap_or_else(|| Said::new(0, format!("PORT_QOS_MAP|{name} has no pfc_enable")))
}

/// A list of priorities of a port in `PORT_QOS_MAP`, as bits.
pub(super) fn priorities(reader: &mut Reader<'_>, port: &str, field: &str) -> Option<Said<u8>> {
    let key = qos_key(reader, port)?;
    let said = reader.text("PORT_QOS_MAP", key, field)?;
    let mut bits = 0;
    for word in split(&said.value) {
        match word.parse::<u8>() {
            Ok(priority) if priority < 8 => bits |= 1 << priority,
            _ => {
                let why = format!("`{word}` is no priority; there are eight, 0 to 7");
                reader.wrong(&Place::new("PORT_QOS_MAP", key, field), why);
            }
        }
    }
    Some(said.map(|_| bits))
}

/// The key of `PORT_QOS_MAP` that is about a port.
pub(super) fn qos_key<'a>(reader: &Reader<'a>, port: &str) -> Option<&'a str> {
    reader.db.keys("PORT_QOS_MAP").find(|key| super::reader::names_port(key, port))
}
