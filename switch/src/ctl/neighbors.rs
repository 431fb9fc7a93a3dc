//! The neighbors: LLDP, then ARP and ND.

use super::tables::Rows;
use super::views::duration;
use crate::control::protocol::{LldpRow, LldpTable, NeighborRow};

/// Both tables; the LLDP table only if LLDP is enabled.
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

/// The value, or a dash.
fn or_dash(text: Option<&str>) -> String {
    text.unwrap_or("-").to_owned()
}

fn links(lldp: &LldpTable) -> String {
    Rows(&lldp.neighbors, usize::MAX).table([
        ("port", |row| row.port.clone()),
        ("type", |row| row.orientation.clone()),
        ("neighbor", |row| row.system_name.clone().unwrap_or_else(|| row.chassis.clone())),
        ("its port", |row| row.port_id.clone()),
        ("device", |row| device(row)),
        ("level", |row| row.level.map_or_else(|| "-".to_owned(), |level| level.to_string())),
        ("pfc", |row| row.pfc_priorities.as_deref().map_or_else(|| "-".to_owned(), priorities)),
        ("heard", |row| format!("{} ago", duration(row.age_ns))),
        ("conditions", |row| row.conditions.join(" ")),
    ])
}

fn priorities(list: &[u8]) -> String {
    let list: Vec<String> = list.iter().map(ToString::to_string).collect();
    if list.is_empty() { "none".to_owned() } else { list.join(",") }
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
    Rows(rows, usize::MAX).table([
        ("port", |row| row.port.clone()),
        ("address", |row| row.address.clone()),
        ("mac", |row| or_dash(row.mac.as_deref())),
        ("state", |row| row.state.clone()),
        ("heard", |row| format!("{} ago", duration(row.age_ns))),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> LldpRow {
        LldpRow {
            port: "up1".to_owned(),
            orientation: "uplink".to_owned(),
            chassis: "02:00:00:00:00:01".to_owned(),
            port_id: "p7".to_owned(),
            device: Some("router".to_owned()),
            level: Some(2),
            pfc_priorities: Some(vec![3, 4]),
            age_ns: 12_000_000_000,
            conditions: vec!["pfc_mismatch".to_owned()],
            ..LldpRow::default()
        }
    }

    #[test]
    fn the_ends_of_links_stand_above_the_addresses() {
        let named = LldpRow { system_name: Some("spine1".to_owned()), ..row() };
        let host = LldpRow {
            port: "h1".to_owned(),
            orientation: "downlink".to_owned(),
            router: Some(false),
            bridge: Some(true),
            device: None,
            level: None,
            pfc_priorities: None,
            conditions: Vec::new(),
            ..row()
        };
        let lldp =
            LldpTable { enabled: true, learns: true, level: Some(1), neighbors: vec![host, named] };
        let shown = text(&lldp, &[]);
        let lines: Vec<Vec<&str>> =
            shown.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0], ["level", "1"]);
        let heads = [
            "port",
            "type",
            "neighbor",
            "its",
            "port",
            "device",
            "level",
            "pfc",
            "heard",
            "conditions",
        ];
        assert_eq!(lines[2], heads);
        let host = ["h1", "downlink", "02:00:00:00:00:01", "p7", "bridge", "-", "-"];
        assert_eq!(lines[3][..7], host);
        assert_eq!(lines[4][..7], ["up1", "uplink", "spine1", "p7", "router", "2", "3,4"]);
        assert_eq!(lines[4].last(), Some(&"pfc_mismatch"));
        assert_eq!(lines[6], ["port", "address", "mac", "state", "heard"]);
    }

    #[test]
    fn without_lldp_there_are_addresses_only() {
        assert_eq!(text(&LldpTable::default(), &[]).lines().count(), 1);
    }
}
