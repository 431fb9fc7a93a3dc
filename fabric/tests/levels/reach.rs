//! What holds of learned levels beyond a Clos network of three levels: tall networks up to the
//! TLV's last level, rails, crosslinks, and any network at all.

use crate::judge::{judge, levels};
use crate::support::generated;
use crate::world::{Action, SECOND, World};
use agents::lldp::{LEVEL_MAX, Orientation, PortRole};
use dataplane::ids::{PortId, Tag};
use fabric::RuleSet;
use fabric::compile::port_roles;
use fabric::network::{End, Link, Network, Peer};
use fabric::verify::{NetworkRules, verify_rules};
use random::Draw;

/// A network under construction: each link takes the next free port of a switch.
#[derive(Default)]
struct Draft {
    ports: Vec<usize>,
    hosts: Vec<usize>,
    links: Vec<(usize, usize)>,
}

impl Draft {
    fn switches(count: usize) -> Self {
        Self { ports: vec![0; count], ..Self::default() }
    }

    fn host(&mut self, switch: usize) {
        self.ports[switch] += 1;
        self.hosts.push(switch);
    }

    fn link(&mut self, one: usize, other: usize) {
        self.ports[one] += 1;
        self.ports[other] += 1;
        self.links.push((one, other));
    }

    fn build(&self) -> Network {
        let mut network = Network::new();
        for (number, &ports) in self.ports.iter().enumerate() {
            network.add_switch(format!("S{number}"), ports);
        }
        let mut next = vec![0_u32; self.ports.len()];
        let mut end = |network: &Network, switch: usize| {
            next[switch] += 1;
            End::Slot(network.slots_of(u32::try_from(switch).unwrap()).start + next[switch] - 1)
        };
        for &(one, other) in &self.links {
            let ends = [end(&network, one), end(&network, other)];
            network.add_link(Link { ends, speed: None, length: None }).unwrap();
        }
        for (number, &switch) in self.hosts.iter().enumerate() {
            let host = End::Host(network.add_host(format!("h{number}")));
            let ends = [end(&network, switch), host];
            network.add_link(Link { ends, speed: None, length: None }).unwrap();
        }
        network
    }
}

/// Everything starts at once.
fn started(network: &Network, level_limit: u8) -> World {
    let mut world = World::with_levels(network, level_limit);
    for node in 0..network.switches() + network.hosts() {
        world.plan(0, Action::Node(node, true));
    }
    world
}

/// The rules that the switches have learned.
fn learned(world: &World, bounces: u8) -> Vec<RuleSet> {
    let network = world.network();
    let rules = |switch: u32| {
        let agent = world.agent(switch as usize).unwrap();
        let roles: Vec<_> = agent.port_roles().collect();
        port_roles::rules(network.switch_name(switch), &roles, bounces)
    };
    network.all_switches().map(rules).collect()
}

/// Whether no turn that these rules allow closes a cycle, in any tag.
fn is_proven(network: &Network, rules: Vec<RuleSet>) -> bool {
    verify_rules(network, &NetworkRules::new(network, rules).unwrap()).is_empty()
}

/// `levels` levels of two switches, each linked with both of the next level; hosts at the first.
fn tower(levels: usize) -> Network {
    let mut draft = Draft::switches(2 * levels);
    for level in 1..levels {
        for (below, above) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            draft.link(2 * (level - 1) + below, 2 * level + above);
        }
    }
    [0, 0, 1, 1].into_iter().for_each(|switch| draft.host(switch));
    draft.build()
}

/// The compiler's rules on every level, one more than the default limit included.
#[test]
fn a_network_of_many_levels_learns_them_and_the_compilers_rules() {
    for levels in [2, 8, 9, 16, 40] {
        let network = tower(levels);
        let mut world = started(&network, 40);
        world.run_until(90 * SECOND);
        judge(&world, &format!("{levels} levels"));
    }
}

/// The TLV's last level is 254. Switches above it have none, and their links count as uplinks.
#[test]
fn levels_go_up_to_254_and_a_switch_above_has_none() {
    let network = tower(255);
    let mut world = started(&network, LEVEL_MAX);
    world.run_until(90 * SECOND);
    for (switch, level) in levels(&network).into_iter().enumerate() {
        let level = level.filter(|&level| level <= LEVEL_MAX);
        assert_eq!(world.agent(switch).unwrap().level(), level, "switch {switch}");
    }
    assert_eq!(world.agent(2 * 253).unwrap().level(), Some(254));
    assert!(is_proven(&network, learned(&world, 1)));
}

/// With the default limit a switch of level 9 has no level, and nothing deadlocks.
#[test]
fn above_the_limit_rules_are_safe_and_raise_more() {
    let network = tower(12);
    let mut world = started(&network, 8);
    world.run_until(90 * SECOND);
    let found = |switch| world.agent(switch).unwrap().level();
    assert_eq!((found(2 * 7), found(2 * 8), found(2 * 11)), (Some(8), None, None));
    assert!(is_proven(&network, learned(&world, 1)));
}

/// When the last host has gone, old levels rise to the limit before they are forgotten: one credit,
/// so a second, for each.
#[test]
fn a_higher_limit_forgets_later() {
    let mut took_s = Vec::new();
    for limit in [8, 16, 32] {
        let network = generated("kind = 'fat-tree'\nk = 4");
        let mut world = started(&network, limit);
        world.run_until(20 * SECOND);
        for host in network.switches()..network.switches() + network.hosts() {
            world.plan(20 * SECOND, Action::Node(host, false));
        }
        world.run_until(140 * SECOND);
        let is_forgotten = |switch| world.agent(switch).unwrap().level().is_none();
        assert!((0..network.switches()).all(is_forgotten), "limit {limit}");
        took_s.push((limit, world.changed_at.ns.saturating_sub(20 * SECOND) / SECOND));
    }
    println!("forgotten after (limit, s): {took_s:?}");
    assert!(took_s.iter().all(|&(limit, seconds)| seconds <= u64::from(limit)), "{took_s:?}");
}

/// Rails: each server has a NIC on each rail; a leaf for each pod and rail, spines for each rail,
/// and a core that joins the rails. A NIC is a host to LLDP.
fn rails(pods: usize, rails: usize, spines: usize, cores: usize, servers: usize) -> Network {
    let (first_spine, first_core) = (pods * rails, pods * rails + rails * spines);
    let mut draft = Draft::switches(first_core + cores);
    for rail in 0..rails {
        for spine in 0..spines {
            let spine = first_spine + rail * spines + spine;
            (0..pods).for_each(|pod| draft.link(pod * rails + rail, spine));
            (0..cores).for_each(|core| draft.link(spine, first_core + core));
        }
    }
    for pod in 0..pods {
        for _server in 0..servers {
            (0..rails).for_each(|rail| draft.host(pod * rails + rail));
        }
    }
    draft.build()
}

#[test]
fn rails_are_a_clos_network_whatever_joins_them() {
    for (pods, count, spines, cores) in [(1, 4, 1, 1), (2, 2, 2, 2), (3, 8, 1, 2), (2, 4, 2, 0)] {
        let network = rails(pods, count, spines, cores, 2);
        let mut world = started(&network, 8);
        world.run_until(90 * SECOND);
        let what = format!("{pods} pods, {count} rails, {spines} spines, {cores} cores");
        if cores > 0 {
            judge(&world, &what);
        } else {
            // Rails that nothing joins are networks of their own; the compiler wants one.
            for (switch, level) in levels(&network).into_iter().enumerate() {
                assert_eq!(world.agent(switch).unwrap().level(), level, "{what}");
            }
        }
        assert!(is_proven(&network, learned(&world, 1)), "{what}");
    }
}

/// Leaves in pairs, each pair with a crosslink, below two spines that have one, too.
#[test]
fn a_crosslink_counts_as_an_uplink_at_both_ends() {
    let mut draft = Draft::switches(6);
    for leaf in 0..4 {
        draft.link(leaf, 4);
        draft.link(leaf, 5);
    }
    for (one, other) in [(0, 1), (2, 3), (4, 5)] {
        draft.link(one, other);
    }
    (0..4).for_each(|leaf| draft.host(leaf));
    let network = draft.build();
    let mut world = started(&network, 8);
    world.run_until(90 * SECOND);
    for (one, other) in [(0, 1), (2, 3), (4, 5)] {
        for (here, there) in [(one, other), (other, one)] {
            let (near, _) =
                network.neighbors(here).find(|&(_, far)| network.owner(far) == there).unwrap();
            let found = world.agent(here as usize).unwrap().port(network.port(near)).unwrap();
            assert_eq!(found.orientation, Orientation::Crosslink, "S{here}");
        }
    }
    let rules = learned(&world, 1);
    assert!(is_proven(&network, rules.clone()));
    // From host to host: the tag with which a frame leaves each switch, 0 for lossy.
    let tags = |way: &[u32]| tags(&network, &rules, way);
    assert_eq!(tags(&[0, 1]), [1, 1], "over a crosslink alone no tag rises");
    assert_eq!(tags(&[0, 4, 5, 1]), [1, 1, 1, 1], "nor over the spines'");
    assert_eq!(tags(&[2, 4, 0, 1]), [1, 1, 2, 2], "after a way down it rises");
    assert_eq!(tags(&[2, 4, 0, 1, 5, 3]), [1, 1, 2, 0, 0, 0], "and twice is more than one bounce");
}

/// The tags of a frame after each switch of `way`, by the first entry that matches.
fn tags(network: &Network, rules: &[RuleSet], way: &[u32]) -> Vec<u8> {
    let towards =
        |from: u32, to: u32| network.neighbors(from).find(|&(_, far)| network.owner(far) == to);
    let link = |from, to| {
        let (near, _) = towards(from, to).unwrap_or_else(|| panic!("S{from} and S{to}"));
        network.port(near)
    };
    let host = |switch| network.port(network.host_slots_of(switch).next().unwrap());
    let mut tag = Tag::from_low_bits(1);
    let mut after = Vec::new();
    for (at, &switch) in way.iter().enumerate() {
        let input = at.checked_sub(1).map_or_else(|| host(switch), |last| link(switch, way[last]));
        let output = way.get(at + 1).map_or_else(|| host(switch), |&next| link(switch, next));
        let entries = &rules[switch as usize].entries;
        let first = entries.iter().find(|entry| entry.matches(tag, input, output));
        tag = first.map_or_else(Tag::default, |entry| entry.new_tag);
        after.push(tag.value());
    }
    after
}

/// Any network, hosts anywhere: levels are those of a search, and the rules are proven.
#[test]
fn on_any_network_the_rules_are_free_of_deadlock() {
    let (mut crosslinks, mut highest) = (0, 0);
    for seed in 0..30 {
        let mut rng = random::seeded(seed);
        let switches = 3 + rng.index(30);
        let mut draft = Draft::switches(switches);
        // A tree, and links across it; few hosts, so that levels are many.
        (1..switches).for_each(|switch| draft.link(switch, switch - 1 - rng.index(switch.min(2))));
        for _ in 0..rng.index(1 + switches / 3) {
            let (one, other) = (rng.index(switches), rng.index(switches));
            if one != other {
                draft.link(one, other);
            }
        }
        (0..1 + rng.index(3)).for_each(|_| draft.host(rng.index(3)));
        let network = draft.build();
        let mut world = started(&network, LEVEL_MAX);
        world.run_until(90 * SECOND);
        for (switch, level) in levels(&network).into_iter().enumerate() {
            let agent = world.agent(switch).unwrap();
            assert_eq!(agent.level(), level, "seed {seed}: S{switch}");
            highest = highest.max(level.unwrap_or_default());
            let ports =
                (1..=network.ports(u32::try_from(switch).unwrap())).filter_map(PortId::from_number);
            crosslinks += ports
                .filter(|&port| agent.port(port).unwrap().orientation == Orientation::Crosslink)
                .count();
        }
        assert!(is_proven(&network, learned(&world, 1)), "seed {seed}");
    }
    assert!(crosslinks > 20 && highest > 8, "{crosslinks} crosslinks, level {highest}");
}

/// What the proof rests on: were a crosslink a downlink at both ends, a ring of leaves would wait
/// for itself.
#[test]
fn crosslinks_as_downlinks_would_deadlock() {
    let mut draft = Draft::switches(3);
    [(0, 1), (1, 2), (2, 0)].into_iter().for_each(|(one, other)| draft.link(one, other));
    (0..3).for_each(|leaf| draft.host(leaf));
    let network = draft.build();
    let with = |role: PortRole| -> Vec<RuleSet> {
        let roles = |switch: u32| {
            let role = |slot| match network.peer(slot) {
                Peer::Slot(_) => role,
                _ => PortRole::Downlink,
            };
            network.slots_of(switch).map(role).collect::<Vec<_>>()
        };
        let rules = |switch| port_roles::rules(network.switch_name(switch), &roles(switch), 1);
        network.all_switches().map(rules).collect()
    };
    assert!(is_proven(&network, with(PortRole::Uplink)));
    assert!(!is_proven(&network, with(PortRole::Downlink)));
}
