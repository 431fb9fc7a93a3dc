//! Who waits for whom across switches: what each says of its own queues, put together by the links.

use fabric::Network;
use fabric::network::Peer;
use fleet::records::Seen;
use std::collections::{BTreeMap, BTreeSet};

/// A buffer: the slot that frames came in by, and their priority.
type Buffer = (u32, usize);

/// The waits of all switches.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Waits {
    /// One line each.
    pub(super) lines: Vec<String>,
    /// Buffers that wait for each other in a ring, if there are any: a deadlock.
    pub(super) ring: Vec<String>,
}

/// Puts them together.
pub(super) fn waits(network: &Network, seen: &BTreeMap<String, Seen>) -> Waits {
    let mut edges: BTreeMap<Buffer, BTreeSet<Buffer>> = BTreeMap::new();
    let mut lines = Vec::new();
    for switch in network.all_switches() {
        let name = network.switch_name(switch);
        let slot = |port: usize| {
            network.slots_of(switch).find(|&slot| network.port(slot).number() == port)
        };
        for wait in seen.get(name).iter().flat_map(|seen| &seen.waits) {
            let Some(out) = slot(wait.port) else { continue };
            let (seconds, priority) = (wait.ms / 1_000, wait.priority);
            let whom = match network.peer(out) {
                Peer::Host(host) => format!("host {}", network.host_name(host)),
                Peer::Slot(far) => network.show(far),
                Peer::None => "nobody of the network".to_owned(),
            };
            lines.push(format!(
                "{} priority {priority} waits for {whom}, for {seconds} s",
                network.show(out)
            ));
            let Peer::Slot(far) = network.peer(out) else { continue };
            for &(port, of) in &wait.origins {
                if let Some(input) = slot(port) {
                    edges.entry((input, of)).or_default().insert((far, priority));
                }
            }
        }
    }
    let ring = ring(&edges).into_iter();
    let ring = ring.map(|(slot, priority)| format!("{} priority {priority}", network.show(slot)));
    Waits { lines, ring: ring.collect() }
}

/// A ring of buffers, each waiting for the next; empty if there is none.
fn ring(edges: &BTreeMap<Buffer, BTreeSet<Buffer>>) -> Vec<Buffer> {
    let mut left = edges.clone();
    // What waits for nobody who waits is on no ring.
    loop {
        let known: BTreeSet<Buffer> = left.keys().copied().collect();
        let before: usize = left.values().map(BTreeSet::len).sum();
        left.values_mut().for_each(|heads| heads.retain(|head| known.contains(head)));
        left.retain(|_, heads| !heads.is_empty());
        if left.values().map(BTreeSet::len).sum::<usize>() == before {
            break;
        }
    }
    let Some(mut at) = left.keys().next().copied() else { return Vec::new() };
    let mut path = Vec::new();
    while let Some(next) = left.get(&at).and_then(|heads| heads.first()) {
        if let Some(start) = path.iter().position(|&buffer| buffer == at) {
            return path.split_off(start);
        }
        path.push(at);
        at = *next;
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::NetworkConfig;
    use fleet::records::Wait;
    use std::path::Path;

    fn network() -> Network {
        let mut text = String::new();
        for name in ["A", "B", "C"] {
            text +=
                &format!("[[switch]]\nname = '{name}'\nports = 3\n[[host]]\nname = 'H{name}'\n");
            text += &format!("[[link]]\nends = ['{name}:3', 'H{name}']\n");
        }
        for ends in ["'A:1', 'B:2'", "'B:1', 'C:2'", "'C:1', 'A:2'"] {
            text += &format!("[[link]]\nends = [{ends}]\n");
        }
        text += "[paths]\nkind = 'shortest'\n";
        NetworkConfig::parse(Path::new("n.toml"), &text).unwrap().network
    }

    /// Each waits at port `port` with frames that came in by port `origin`.
    fn all_wait(port: usize, origin: usize) -> BTreeMap<String, Seen> {
        let wait = Wait { port, priority: 1, ms: 3_000, origins: vec![(origin, 1)] };
        let seen = Seen { waits: vec![wait], ..Seen::default() };
        ["A", "B", "C"].map(|name| (name.to_owned(), seen.clone())).into()
    }

    #[test]
    fn a_ring_is_found_across_switches_and_a_chain_is_none() {
        let network = network();
        let found = waits(&network, &all_wait(1, 2));
        assert_eq!(found.lines[0], "A:1 priority 1 waits for B:2, for 3 s");
        assert_eq!(found.ring, ["A:2 priority 1", "B:2 priority 1", "C:2 priority 1"]);
        let mut chain = all_wait(1, 2);
        chain.remove("C");
        assert_eq!(waits(&network, &chain).ring, [] as [String; 0]);
        let to_hosts = waits(&network, &all_wait(3, 2));
        assert_eq!(to_hosts.ring, [] as [String; 0]);
        assert_eq!(to_hosts.lines[0], "A:3 priority 1 waits for host HA, for 3 s");
    }
}
