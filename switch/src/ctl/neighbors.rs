//! Who is next to the switch: at the ends of its links by LLDP, and by IP address.

use super::tables::{table, text as table_text};
use super::views::duration;
use crate::control::protocol::{LldpRow, LldpTable, NeighborRow};

/// Both tables; that of LLDP only where it is spoken.
pub(super) fn text(lldp: &LldpTable, rows: &[NeighborRow]) -> String {
    let mut parts = Vec::new();
    if lldp.enabled {
        if lldp.learns {
            let level = lldp.level.map_or_else(|| "unknown".to_owned(), |level| level.to_string());
            parts.push(format!("level {level}\n"));
        }
        parts.push(links(lldp) + "\n");
    }
    parts.push(addresses(rows));
    parts.join("\n")
}

/// What somebody says, or a dash.
fn or_dash(said: Option<&str>) -> String {
    said.unwrap_or("-").to_owned()
}

fn links(lldp: &LldpTable) -> String {
    let headings =
        ["port", "type", "neighbor", "its port", "device", "level", "pfc", "heard", "remarks"];
    let mut table = table(headings);
    for row in &lldp.neighbors {
        let pfc = row.pfc_priorities.as_ref().map(|list| {
            let list: Vec<String> = list.iter().map(ToString::to_string).collect();
            if list.is_empty() { "none".to_owned() } else { list.join(",") }
        });
        table.add_row([
            row.port.clone(),
            row.orientation.clone(),
            row.system_name.clone().unwrap_or_else(|| row.chassis.clone()),
            row.port_id.clone(),
            device(row),
            row.level.map_or_else(|| "-".to_owned(), |level| level.to_string()),
            or_dash(pfc.as_deref()),
            format!("{} ago", duration(row.age_ns)),
            row.conditions.join(" "),
        ]);
    }
    table_text(&table)
}

/// By the topology TLV, or else by its capabilities.
fn device(row: &LldpRow) -> String {
    let by_capabilities = match (row.bridge, row.router) {
        (_, Some(true)) => Some("router"),
        (Some(true), _) => Some("bridge"),
        _ => None,
    };
    or_dash(row.device.as_deref().or(by_capabilities))
}

fn addresses(rows: &[NeighborRow]) -> String {
    let mut table = table(["port", "address", "mac", "state", "heard"]);
    for row in rows {
        table.add_row([
            row.port.clone(),
            row.address.clone(),
            or_dash(row.mac.as_deref()),
            row.state.clone(),
            format!("{} ago", duration(row.age_ns)),
        ]);
    }
    table_text(&table)
}
