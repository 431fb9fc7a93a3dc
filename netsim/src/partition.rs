//! Which nodes run in one thread: parts of equal work with few links between them.
//!
//! Hosts go with their switch. Switches are assigned level by level, by their distance from the
//! hosts: those next to hosts in the order of a breadth-first search, cut into parts; those above
//! each to the part with most of its links, as long as that has room. Exchanges of two switches
//! that leave fewer links between parts follow. A Clos is so divided by pods, a ring into arcs.
//!
//! Work is as the speed of links, since a network that is busy keeps all of them busy. The nodes of
//! one side of a bipartite network run at another time than those of the other side (see
//! `event_queue`), so each side is divided equally.

use crate::link::Ends;
use std::collections::VecDeque;

/// Rounds of exchanges at the most, and switches for which they are tried: the time is as the
/// square.
const ROUNDS: usize = 8;
const SWITCHES_MAX: usize = 4_096;
/// The work of a switch for a link, and of a host for its link.
const OF_SWITCH: u64 = 2;
const OF_HOST: u64 = 1;

/// A switch.
#[derive(Clone, Default)]
struct Switch {
    /// Other switches, each with the speed of the links to it.
    next: Vec<(usize, u64)>,
    /// By side, the work of the switch and its hosts.
    work: [u64; 2],
    has_hosts: bool,
    level: usize,
}

/// The part of each node, of `parts`. Nodes are `switches` switches, then hosts; `sides` says on
/// which side each is. `wires` have these ends and speeds, both ways.
pub(crate) fn partition(
    wires: &[(Ends, u64)],
    switches: usize,
    sides: &[bool],
    parts: usize,
) -> Vec<usize> {
    let mut graph = vec![Switch::default(); switches];
    let mut access = vec![0; sides.len() - switches];
    for &(Ends { from, to }, speed) in wires {
        let (from, to) = (from.node(), to.node());
        match (from.checked_sub(switches), to.checked_sub(switches)) {
            (None, None) => {
                graph[from].next.push((to, speed));
                graph[from].work[usize::from(sides[from])] += OF_SWITCH * speed;
            }
            (None, Some(host)) => {
                access[host] = from;
                graph[from].has_hosts = true;
                graph[from].work[usize::from(sides[from])] += OF_SWITCH * speed;
                graph[from].work[usize::from(sides[to])] += OF_HOST * speed;
            }
            _ => {}
        }
    }
    let order = order(&mut graph);
    let mut of = assign(&graph, &order, parts);
    if switches <= SWITCHES_MAX {
        exchange(&graph, &mut of, parts);
    }
    let hosts: Vec<usize> = access.iter().map(|&switch| of[switch]).collect();
    of.extend(hosts);
    of
}

/// The switches level by level, and in each as a breadth-first search finds them.
fn order(graph: &mut [Switch]) -> Vec<usize> {
    let far = graph.len();
    graph.iter_mut().for_each(|switch| switch.level = if switch.has_hosts { 0 } else { far });
    let mut reached: VecDeque<usize> = (0..far).filter(|&at| graph[at].has_hosts).collect();
    while let Some(at) = reached.pop_front() {
        let level = graph[at].level + 1;
        for (other, _) in graph[at].next.clone() {
            if graph[other].level > level {
                graph[other].level = level;
                reached.push_back(other);
            }
        }
    }
    let mut seen = vec![false; far];
    let mut order = Vec::with_capacity(far);
    for start in 0..far {
        let mut reached = VecDeque::from([start]);
        while let Some(at) = reached.pop_front() {
            if !std::mem::replace(&mut seen[at], true) {
                order.push(at);
                reached.extend(graph[at].next.iter().map(|&(other, _)| other));
            }
        }
    }
    order.sort_by_key(|&at| graph[at].level);
    order
}

/// What a part has so far.
type Loads = [u64; 2];

fn assign(graph: &[Switch], order: &[usize], parts: usize) -> Vec<usize> {
    let mut of = vec![usize::MAX; graph.len()];
    let mut loads: Vec<Loads> = vec![[0; 2]; parts];
    let mut total = [0; 2];
    for level in order.chunk_by(|&a, &b| graph[a].level == graph[b].level) {
        for &at in level {
            (0..2).for_each(|side| total[side] += graph[at].work[side]);
        }
        // Those first that are linked to one part much more than to others.
        let mut level: Vec<(u64, usize)> =
            level.iter().map(|&at| (preference(&links(graph, &of, at, parts)), at)).collect();
        level.sort_by_key(|&(preference, _)| std::cmp::Reverse(preference));
        for (_, at) in level {
            let work = graph[at].work;
            let has_room = |part: &usize| {
                let share = |side| total[side] / parts as u64;
                (0..2).all(|side| loads[*part][side] + work[side] / 2 <= share(side))
            };
            let links = links(graph, &of, at, parts);
            // Of equal parts the first, so that neighbors in the order stay together.
            let best = (0..parts).filter(has_room).max_by_key(|&part| (links[part], parts - part));
            let least = (0..parts).min_by_key(|&part| loads[part].iter().sum::<u64>());
            let part = best.or(least).unwrap_or(0);
            (0..2).for_each(|side| loads[part][side] += work[side]);
            of[at] = part;
        }
    }
    of
}

/// By part, the speed of the links of a switch to it.
fn links(graph: &[Switch], of: &[usize], at: usize, parts: usize) -> Vec<u64> {
    let mut sums = vec![0; parts];
    for &(other, speed) in &graph[at].next {
        if let Some(sum) = sums.get_mut(of[other]) {
            *sum += speed;
        }
    }
    sums
}

/// By how much the best part is better than the second.
fn preference(links: &[u64]) -> u64 {
    let mut sorted = links.to_vec();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    sorted.first().unwrap_or(&0) - sorted.get(1).unwrap_or(&0)
}

/// Exchanges pairs of switches with equal work while that leaves less between parts.
fn exchange(graph: &[Switch], of: &mut [usize], parts: usize) {
    let all = graph.len();
    let mut sums: Vec<Vec<u64>> = (0..all).map(|at| links(graph, of, at, parts)).collect();
    for _ in 0..ROUNDS {
        let mut is_better = false;
        for a in 0..all {
            for b in a + 1..all {
                if of[a] == of[b] || graph[a].work != graph[b].work {
                    continue;
                }
                let inside = sums[a][of[a]] + sums[b][of[b]];
                let after = sums[a][of[b]] + sums[b][of[a]];
                if after <= inside || after <= inside + 2 * between(graph, a, b) {
                    continue;
                }
                of.swap(a, b);
                for (moved, from, to) in [(a, of[b], of[a]), (b, of[a], of[b])] {
                    for &(other, speed) in &graph[moved].next {
                        sums[other][from] -= speed;
                        sums[other][to] += speed;
                    }
                }
                is_better = true;
            }
        }
        if !is_better {
            return;
        }
    }
}

/// The speed of the links between two switches.
fn between(graph: &[Switch], a: usize, b: usize) -> u64 {
    graph[a].next.iter().filter(|&&(other, _)| other == b).map(|&(_, speed)| speed).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Endpoint;
    use dataplane::ids::PortId;

    /// Both wires of these links.
    fn wires(links: &[(usize, usize)]) -> Vec<(Ends, u64)> {
        let end =
            |node: usize| Endpoint { node: u32::try_from(node).unwrap(), port: PortId::FIRST };
        let both = links.iter().flat_map(|&(a, b)| [(a, b), (b, a)]);
        both.map(|(from, to)| (Ends { from: end(from), to: end(to) }, 40)).collect()
    }

    /// How many links are between parts, and how many switches and hosts each part has.
    fn judge(links: &[(usize, usize)], of: &[usize], switches: usize) -> (usize, Vec<[usize; 2]>) {
        let cut = links.iter().filter(|&&(a, b)| of[a] != of[b]).count();
        let parts = of.iter().max().unwrap() + 1;
        let count = |part| {
            [&of[..switches], &of[switches..]]
                .map(|nodes: &[usize]| nodes.iter().filter(|&&of| of == part).count())
        };
        (cut, (0..parts).map(count).collect())
    }

    #[test]
    fn a_ring_is_cut_into_arcs() {
        // Twelve switches in an order that is not that of the ring, each with a host.
        let at = |n: usize| n * 5 % 12;
        let ring = (0..12).map(|n| (at(n), at((n + 1) % 12)));
        let links: Vec<_> = ring.chain((0..12).map(|n| (n, 12 + n))).collect();
        for (parts, each) in [(2, 6), (3, 4), (4, 3)] {
            let of = partition(&wires(&links), 12, &[false; 24], parts);
            let (cut, counts) = judge(&links, &of, 12);
            assert_eq!(counts, vec![[each; 2]; parts]);
            assert!(cut <= 2 * parts, "{cut} links between {parts} parts");
        }
    }

    #[test]
    fn a_fat_tree_is_cut_above_its_pods_whatever_the_order_of_its_switches() {
        // Four pods of two edges and two aggregation switches, four cores, two hosts at each edge.
        for scramble in [1, 3, 7, 9] {
            let node = |n: usize| n * scramble % 20;
            let mut links = Vec::new();
            for pod in 0..4 {
                for edge in 0..2 {
                    (0..2).for_each(|agg| {
                        links.push((node(2 * pod + edge), node(8 + 2 * pod + agg)))
                    });
                    (0..2).for_each(|host| {
                        links.push((node(2 * pod + edge), 20 + 4 * pod + 2 * edge + host))
                    });
                }
                for agg in 0..2 {
                    (0..2).for_each(|core| {
                        links.push((node(8 + 2 * pod + agg), node(16 + 2 * agg + core)))
                    });
                }
            }
            let of = partition(&wires(&links), 20, &[false; 36], 2);
            assert_eq!(judge(&links, &of, 20), (8, vec![[10, 8]; 2]), "{scramble}");
        }
    }

    #[test]
    fn parts_without_anything_are_none_of_its_business() {
        assert_eq!(partition(&[], 1, &[false], 3), [0]);
        assert!(partition(&wires(&[(0, 1)]), 2, &[false; 2], 5).iter().all(|&part| part < 5));
    }
}
