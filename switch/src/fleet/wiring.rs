//! Cables that lead elsewhere than NETWORK.toml says.

use fabric::Network;
use fabric::network::Peer;
use fleet::records::{Neighbor, Seen};
use serde::Serialize;
use std::collections::BTreeMap;

/// A port whose neighbor is another one than it should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Miswired {
    /// The port, as `SWITCH:PORT`.
    pub(super) port: String,
    /// Where it should lead.
    pub(super) expected: String,
    /// Where it leads.
    pub(super) found: String,
}

/// All of them. A port at which nobody speaks LLDP is not known to be miswired, and neither is a
/// host port: hosts say any name.
pub(super) fn miswired(network: &Network, seen: &BTreeMap<String, Seen>) -> Vec<Miswired> {
    let mut found = Vec::new();
    for switch in network.all_switches() {
        let Some(own) = seen.get(network.switch_name(switch)) else { continue };
        for slot in network.slots_of(switch) {
            let Some(neighbor) = own.neighbors.get(&network.port(slot).number()) else { continue };
            let is_switch = seen.contains_key(&neighbor.name);
            let expected = match network.peer(slot) {
                Peer::Slot(far) if is_there(network, seen, far, neighbor) => continue,
                Peer::Slot(far) => network.show(far),
                Peer::Host(_) | Peer::None if !is_switch => continue,
                Peer::Host(host) => format!("host {}", network.host_name(host)),
                Peer::None => "nothing".to_owned(),
            };
            let name = format!("{} port {}", neighbor.name, neighbor.port);
            found.push(Miswired { port: network.show(slot), expected, found: name });
        }
    }
    found
}

/// Whether a neighbor is at this slot: its switch by name, and its port if that says its name.
fn is_there(
    network: &Network,
    seen: &BTreeMap<String, Seen>,
    slot: u32,
    neighbor: &Neighbor,
) -> bool {
    let name = network.switch_name(network.owner(slot));
    let number = network.port(slot).number();
    let port = seen.get(name).and_then(|seen| seen.ports.get(&number));
    neighbor.name == name && port.is_none_or(|port| *port == neighbor.port)
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::NetworkConfig;
    use std::path::Path;

    #[test]
    fn a_crossed_cable_is_found_at_both_ends_and_hosts_are_left_alone() {
        let text = "[[switch]]\nname = 'A'\nports = 3\n[[switch]]\nname = 'B'\nports = 3\n\
                    [[host]]\nname = 'H'\n[[link]]\nends = ['A:1', 'B:1']\n\
                    [[link]]\nends = ['A:2', 'B:2']\n[[link]]\nends = ['A:3', 'H']\n\
                    [paths]\nkind = 'shortest'\n";
        let network = NetworkConfig::parse(Path::new("n.toml"), text).unwrap().network;
        let seen = |name: &str, ports: [&str; 3]| {
            let neighbor = |port: &str| Neighbor { name: name.to_owned(), port: port.to_owned() };
            let all = (1..).zip(ports).filter(|(_, port)| !port.is_empty());
            Seen {
                ports: (1..=3).map(|port| (port, format!("p{port}"))).collect(),
                neighbors: all.map(|(number, port)| (number, neighbor(port))).collect(),
                ..Seen::default()
            }
        };
        let both = |a, b| BTreeMap::from([("A".to_owned(), a), ("B".to_owned(), b)]);
        assert_eq!(
            miswired(&network, &both(seen("B", ["p1", "p2", ""]), seen("A", ["p1", "p2", ""]))),
            []
        );
        let mut a = seen("B", ["p2", "p1", ""]);
        let host = Neighbor { name: "server7".into(), port: "eth0".into() };
        a.neighbors.insert(3, host);
        let found = miswired(&network, &both(a, seen("A", ["p2", "p1", ""])));
        let ports: Vec<&str> = found.iter().map(|it| it.port.as_str()).collect();
        assert_eq!(ports, ["A:1", "A:2", "B:1", "B:2"]);
        assert_eq!((found[0].expected.as_str(), found[0].found.as_str()), ("B:1", "B port p2"));
    }
}
