//! What a switch publishes of what it sees: small, and the same as long as nothing changes.

use crate::control::protocol::LldpTable;
use crate::control::stats::{PortStats, Stats, Wait};
use fleet::records::{self, Neighbor, Seen};
use std::collections::BTreeMap;

/// Shorter waits are the work of flow control, and not published.
const WAIT_NS_MIN: u64 = 1_000_000_000;
/// Waits and alarms that are published.
const ROWS_MAX: usize = 32;

/// From the statistics and the LLDP neighbors of a switch.
pub(super) fn seen(stats: &Stats, lldp: &LldpTable) -> Seen {
    let number = |name: &str| stats.ports.iter().find(|port| port.name == name).map(|it| it.number);
    let neighbors = lldp.neighbors.iter().filter_map(|row| {
        let name = row.system_name.as_ref().unwrap_or(&row.chassis);
        Some((number(&row.port)?, Neighbor { name: name.clone(), port: row.port_id.clone() }))
    });
    let waits = stats.waits.iter().filter(|wait| wait.paused_for_ns >= WAIT_NS_MIN);
    Seen {
        level: lldp.level,
        ports: stats.ports.iter().map(|port| (port.number, port.name.clone())).collect(),
        neighbors: neighbors.collect::<BTreeMap<_, _>>(),
        waits: waits.map(wait).take(ROWS_MAX).collect(),
        alarms: stats.ports.iter().flat_map(alarms).take(ROWS_MAX).collect(),
        lossless_drops: stats.ports.iter().map(|port| port.lossless_dropped()).sum(),
    }
}

fn wait(wait: &Wait) -> records::Wait {
    let paused = wait.origins.iter().filter(|origin| origin.paused);
    records::Wait {
        port: wait.port,
        priority: wait.priority,
        // In whole seconds, so that not every look is news.
        ms: wait.paused_for_ns / WAIT_NS_MIN * 1_000,
        origins: paused.map(|origin| (origin.port, origin.priority)).collect(),
    }
}

fn alarms(port: &PortStats) -> Vec<String> {
    let name = &port.name;
    let fault = port.fault.iter().map(|fault| format!("port {name}: {fault}"));
    let down = (port.in_service && !port.link).then(|| format!("port {name}: its link is down"));
    let conditions = port.lldp.iter().flat_map(|lldp| &lldp.conditions);
    let conditions = conditions.map(|condition| format!("port {name}: {condition}"));
    fault.chain(down).chain(conditions).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::protocol::LldpRow;
    use crate::control::stats::Origin;

    #[test]
    fn long_waits_neighbors_and_alarms_are_published() {
        let port = |number, name: &str, link| PortStats {
            number,
            name: name.to_owned(),
            link,
            in_service: true,
            ..PortStats::default()
        };
        let origin = |port, paused| Origin { port, priority: 1, paused, ..Origin::default() };
        let wait = |ms: u64| Wait {
            port: 2,
            priority: 1,
            paused_for_ns: ms * 1_000_000,
            origins: vec![origin(1, true), origin(3, false)],
            ..Wait::default()
        };
        let stats = Stats {
            ports: vec![port(1, "up", true), port(2, "down", false)],
            waits: vec![wait(999), wait(3_700)],
            ..Stats::default()
        };
        let row = LldpRow { port: "down".into(), chassis: "c".into(), ..LldpRow::default() };
        let lldp = LldpTable { level: Some(2), neighbors: vec![row], ..LldpTable::default() };
        let seen = seen(&stats, &lldp);
        assert_eq!(seen.neighbors[&2].name, "c");
        let expected = records::Wait { port: 2, priority: 1, ms: 3_000, origins: vec![(1, 1)] };
        assert_eq!(seen.waits, [expected]);
        assert_eq!(seen.alarms, ["port down: its link is down"]);
        assert_eq!(seen.level, Some(2));
    }
}
