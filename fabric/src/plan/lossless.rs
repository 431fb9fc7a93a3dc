//! With tags a deadlock cannot happen in transit: the rules exclude it for every turn. What can
//! happen is that a flow meets turns that no rule keeps lossless, or has no path at all.
//!
//! A flow is what has an old and a new path between the same two hosts. While it changes, some of
//! its switches go by the old path and others by the new one, so its frames may take any mixture.
//! If every mixture is lossless, the new path is added before the old one is removed: the flow is
//! lossless at every moment. If one is not, the old path is removed first, so that no frame turns
//! lossy on the way; the flow has no path for that time. A new path that is not lossless by itself
//! needs other rules first.

use super::change::{Change, Kind};
use super::order::Order;
use super::route::Route;
use crate::network::Network;
use crate::verify::{NetworkRules, Table, start_state};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Why a flow turns lossy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Its old path is not lossless as it is.
    OldPath,
    /// Its new path is not lossless: compile rules for it first.
    NewPath,
    /// A mixture of its paths is not, so the old one is removed first.
    Mixture,
}

/// A flow that is lossy at some moment, or would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LossyFlow {
    /// The operation that adds its new path, or removes its old one if it has no new one.
    pub operation: u32,
    /// Why.
    pub cause: Cause,
    /// The turn that no rule keeps lossless: the slots it comes in and goes out by.
    pub turn: (u32, u32),
}

/// The order that keeps flows lossless as far as that can be, and the flows of which it cannot.
#[derive(Clone, Debug, Default)]
pub struct LosslessOrder {
    /// The order.
    pub order: Order,
    /// Flows that are lossy at some moment, or would be in another order.
    pub lossy: Vec<LossyFlow>,
}

/// By host and host: the operations that remove its paths, and those that add some.
type Flows = BTreeMap<(u32, u32), [Vec<u32>; 2]>;

/// Looks at every flow by itself. Paths that do not begin and end at hosts have no flow.
pub fn order(network: &Network, rules: &NetworkRules, change: &Change) -> LosslessOrder {
    let table = Table::new(network, rules);
    let start = start_state(rules, &table, 0);
    let first_lossy = |routes: &[&Route]| first_lossy(network, &table, start, routes);
    let mut flows = Flows::new();
    for (number, operation) in (0..).zip(&change.operations) {
        let route = &operation.path.route;
        if let Some(hosts) = route.source.zip(route.target) {
            let of = usize::from(operation.kind == Kind::Add);
            flows.entry(hosts).or_default()[of].push(number);
        }
    }
    let mut pairs = Vec::new();
    let mut lossy = Vec::new();
    for [olds, news] in flows.values() {
        let routes = |of: &[u32]| {
            of.iter().map(|&one| &change.operations[one as usize].path.route).collect::<Vec<_>>()
        };
        let (old_routes, new_routes) = (routes(olds), routes(news));
        let mut is_lossy = false;
        for (operations, routes, cause) in
            [(olds, &old_routes, Cause::OldPath), (news, &new_routes, Cause::NewPath)]
        {
            for (&operation, route) in operations.iter().zip(routes) {
                if let Some(turn) = first_lossy(&[route]) {
                    is_lossy = true;
                    lossy.push(LossyFlow { operation, cause, turn });
                }
            }
        }
        let (Some(_), Some(&operation)) = (olds.first(), news.first()) else { continue };
        let all = [old_routes, new_routes].concat();
        let mixed = first_lossy(&all).filter(|_| !is_lossy);
        if let Some(turn) = mixed {
            lossy.push(LossyFlow { operation, cause: Cause::Mixture, turn });
        }
        for &old in olds {
            let pair = |&new: &u32| if mixed.is_some() { (old, new) } else { (new, old) };
            pairs.extend(news.iter().map(pair));
        }
    }
    lossy.sort_by_key(|flow| flow.operation);
    LosslessOrder { order: Order::new(change.operations.len(), pairs), lossy }
}

/// The first turn that is not lossless on any way that a frame can take if each switch goes by any
/// one of `routes`, which begin at one host and end at one.
fn first_lossy(
    network: &Network,
    table: &Table,
    start: u8,
    routes: &[&Route],
) -> Option<(u32, u32)> {
    let mut next: HashMap<u32, Vec<u32>> = HashMap::new();
    for route in routes {
        for (input, output) in route.turns(network) {
            let outputs = next.entry(network.owner(input)).or_default();
            if !outputs.contains(&output) {
                outputs.push(output);
            }
        }
    }
    let source = routes.first().and_then(|route| route.source)?;
    let mut work = vec![(source, start)];
    let mut seen: HashSet<(u32, u8)> = work.iter().copied().collect();
    while let Some((input, state)) = work.pop() {
        let outputs = next.get(&network.owner(input)).map_or(&[][..], |outputs| outputs);
        for &output in outputs {
            let after = table.turn(network, input, output, state);
            if after == table.lossy() {
                return Some((input, output));
            }
            if let Some(far) = network.far_slot(output)
                && seen.insert((far, after))
            {
                work.push((far, after));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::RuleSet;
    use crate::support::{self, named_paths};
    use dataplane::ids::{PortId, Priority, Tag};
    use dataplane::rules::{TagMatch, TcamEntry};

    /// A ring of four with a host at A and one at C: two ways between them.
    fn network() -> Network {
        let links = [
            ("A:1", "B:1"),
            ("B:2", "C:1"),
            ("A:2", "D:1"),
            ("D:2", "C:2"),
            ("B:3", "D:3"),
            ("A:3", "H"),
            ("C:3", "J"),
        ];
        support::network(&["A", "B", "C", "D"].map(|name| (name, 3)), &["H", "J"], &links)
    }

    /// Rules that keep only these turns: a switch's letter, in, out.
    fn rules(network: &Network, turns: &[(&str, u8, u8)]) -> NetworkRules {
        let set = |name: &str| {
            let own = turns.iter().filter(|turn| turn.0 == name);
            let port = |number: u8| PortId::from_number(number.into()).into_iter().collect();
            let tag = |value: u8| Tag::new(value).unwrap();
            RuleSet {
                switch: name.to_owned(),
                ports: 3,
                lossy_tag: tag(0),
                initial_tag: tag(1),
                initial_tags: Vec::new(),
                priorities: [(tag(1), Priority::new(3).unwrap())].into(),
                entries: own
                    .map(|&(_, i, o)| TcamEntry {
                        tag: TagMatch::exactly(tag(1)),
                        in_ports: port(i),
                        out_ports: port(o),
                        new_tag: tag(1),
                    })
                    .collect(),
            }
        };
        NetworkRules::new(network, ["A", "B", "C", "D"].map(set).into()).unwrap()
    }

    fn change(network: &Network, old: &str, new: &str) -> Change {
        Change::between(network, named_paths(network, old), named_paths(network, new))
    }

    const LEFT: [(&str, u8, u8); 3] = [("A", 3, 1), ("B", 1, 2), ("C", 1, 3)];
    const RIGHT: [(&str, u8, u8); 3] = [("A", 3, 2), ("D", 1, 2), ("C", 2, 3)];

    #[test]
    fn a_flow_whose_mixtures_are_lossless_gets_its_new_path_first() {
        let network = network();
        let rules = rules(&network, &[LEFT, RIGHT].concat());
        let change = change(&network, "p: H A B C J", "p: H A D C J");
        let found = order(&network, &rules, &change);
        assert_eq!((found.order.pairs(), found.lossy.len()), (&[(1, 0)][..], 0));
    }

    #[test]
    fn a_flow_with_a_lossy_mixture_has_its_old_path_removed_first() {
        let network = network();
        // Both ways pass B and D, in opposite order: a mixture can turn back, which no rule allows.
        let both = [
            ("A", 3, 1),
            ("B", 1, 3),
            ("D", 3, 2),
            ("C", 2, 3),
            ("A", 3, 2),
            ("D", 1, 3),
            ("B", 3, 2),
            ("C", 1, 3),
        ];
        let rules = rules(&network, &both);
        let change = change(&network, "p: H A B D C J", "q: H A D B C J");
        let found = order(&network, &rules, &change);
        assert_eq!(found.order.pairs(), [(0, 1)]);
        assert_eq!((found.lossy.len(), found.lossy[0].cause), (1, Cause::Mixture));
    }

    #[test]
    fn a_path_that_is_lossy_by_itself_is_named_with_the_turn() {
        let network = network();
        let rules = rules(&network, &[&LEFT[..], &RIGHT[..2]].concat());
        for (old, new, cause, operation) in [
            ("p: H A B C J", "p: H A D C J", Cause::NewPath, 1),
            ("p: H A D C J", "p: H A B C J", Cause::OldPath, 0),
        ] {
            let found = order(&network, &rules, &change(&network, old, new));
            let turn = found.lossy[0].turn;
            assert_eq!([turn.0, turn.1].map(|slot| network.show(slot)), ["C:2", "C:3"]);
            assert_eq!((found.lossy[0].cause, found.lossy[0].operation), (cause, operation));
            assert_eq!(found.lossy.len(), 1);
        }
    }
}
