//! What must have been learned: levels by a search from the hosts, rules by the compiler.

use crate::world::World;
use agents::lldp::{Orientation, PortRole};
use fabric::RuleSet;
use fabric::compile::{Algorithm, Budget, Options, compile, port_roles};
use fabric::network::{Network, Peer};
use fabric::paths::{PathKind, PathSet, PathSpec};
use std::collections::VecDeque;

/// The compiler's rules for paths with one bounce, and how many bounces they are good for: where no
/// path can bounce, the compiler needs no second tag.
pub(crate) fn compiled(network: &Network) -> (Vec<RuleSet>, u8) {
    let spec = PathSpec::new(PathKind::UpDown { bounces: 1 });
    let paths = PathSet::build(network, &spec).unwrap_or_else(|error| panic!("{error}"));
    let options = Options { algorithm: Algorithm::UpDown, lossless_max: 7, budget: Budget::Work };
    let compiled = compile(network, &paths, &options, &|_| {}).unwrap();
    assert_eq!(compiled.method, "switches by level");
    let bounces = u8::try_from(compiled.lossless_priorities - 1).unwrap();
    (compiled.rules, bounces)
}

/// By switch: one more than the links between it and the nearest switch with a host.
pub(crate) fn levels(network: &Network) -> Vec<Option<u8>> {
    let mut levels = vec![None; network.switches()];
    let all = 0..u32::try_from(network.switches()).unwrap();
    let mut queue: VecDeque<u32> =
        all.filter(|&switch| network.host_slots_of(switch).next().is_some()).collect();
    queue.iter().for_each(|&switch| levels[switch as usize] = Some(1));
    while let Some(switch) = queue.pop_front() {
        for slot in network.slots_of(switch) {
            if let Peer::Slot(far) = network.peer(slot) {
                let far = network.owner(far) as usize;
                if levels[far].is_none() {
                    levels[far] = levels[switch as usize].map(|level| level + 1);
                    queue.push_back(u32::try_from(far).unwrap());
                }
            }
        }
    }
    levels
}

/// How the ports of `switch` must face.
pub(crate) fn facings(network: &Network, levels: &[Option<u8>], switch: u32) -> Vec<PortRole> {
    let facing = |slot| match network.peer(slot) {
        Peer::None => PortRole::NoLink,
        Peer::Host(_) => PortRole::Downlink,
        Peer::Slot(far) if levels[network.owner(far) as usize] < levels[switch as usize] => {
            PortRole::Downlink
        }
        Peer::Slot(_) => PortRole::Uplink,
    };
    network.slots_of(switch).map(facing).collect()
}

/// Everything that a world has learned must be so.
pub(crate) fn judge(world: &World, what: &str) {
    let left = world.left();
    let levels = levels(&left);
    // Without a host there is no path, and nothing that rules could be for.
    let compiled = (left.hosts() > 0).then(|| compiled(&left));
    for (number, switch) in (0..).zip(0..world.network().switches()) {
        let name = left.switch_name(number);
        let Some(agent) = world.agent(switch) else { continue };
        assert_eq!(agent.level(), levels[switch], "{what}: level of {name}");
        let Some(ours) = levels[switch] else { continue };
        let found: Vec<PortRole> = agent.port_roles().collect();
        assert_eq!(found, facings(&left, &levels, number), "{what}: ports of {name}");
        for slot in left.slots_of(number) {
            let found = agent.port(left.port(slot)).unwrap().orientation;
            let expected = match left.peer(slot) {
                Peer::None => Orientation::Unknown,
                Peer::Host(_) => Orientation::Downlink,
                Peer::Slot(far) if levels[left.owner(far) as usize] < Some(ours) => {
                    Orientation::Downlink
                }
                Peer::Slot(_) => Orientation::Uplink,
            };
            assert_eq!(found, expected, "{what}: {name}:{}", left.port(slot));
        }
        if let Some((rules, bounces)) = &compiled {
            let learned = port_roles::rules(name, &found, *bounces);
            assert_eq!(learned, rules[switch], "{what}: rules of {name}");
        }
    }
}
