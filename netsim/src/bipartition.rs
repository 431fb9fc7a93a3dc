//! Whether a network is bipartite, so that every link leads from one side to the other. A Clos is,
//! and so are a ring of an even number of switches and every network without a ring.

use crate::link::Ends;

/// The side of each of `nodes` nodes; all `false` if the network is not bipartite.
pub(crate) fn bipartition(wires: &[Ends], nodes: usize) -> Vec<bool> {
    let mut next = vec![Vec::new(); nodes];
    for wire in wires {
        next[wire.from.node()].push(wire.to.node());
    }
    let mut sides = vec![None; nodes];
    for start in 0..nodes {
        if sides[start].is_some() {
            continue;
        }
        sides[start] = Some(false);
        let mut reached = vec![start];
        while let Some(node) = reached.pop() {
            for &other in &next[node] {
                if sides[other].is_none() {
                    sides[other] = sides[node].map(|side| !side);
                    reached.push(other);
                } else if sides[other] == sides[node] {
                    return vec![false; nodes];
                }
            }
        }
    }
    sides.into_iter().map(|side| side == Some(true)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Endpoint;
    use dataplane::ids::PortId;

    /// Both wires of each of these links.
    fn wires(links: &[(u32, u32)]) -> Vec<Ends> {
        let end = |node| Endpoint { node, port: PortId::FIRST };
        let both = links.iter().flat_map(|&(a, b)| [(a, b), (b, a)]);
        both.map(|(from, to)| Ends { from: end(from), to: end(to) }).collect()
    }

    #[test]
    fn a_ring_has_two_sides_if_its_number_is_even() {
        let ring = |count| (0..count).map(|n| (n, (n + 1) % count)).collect::<Vec<_>>();
        assert_eq!(bipartition(&wires(&ring(4)), 4), [false, true, false, true]);
        assert_eq!(bipartition(&wires(&ring(5)), 5), [false; 5]);
        assert_eq!(
            bipartition(&wires(&[(0, 0)]), 1),
            [false],
            "a loop at one switch is a ring of one"
        );
    }

    #[test]
    fn parts_without_a_link_between_them_have_sides_each_and_one_ring_takes_them_from_all() {
        let tree = [(3, 1), (1, 0), (4, 2)];
        assert_eq!(bipartition(&wires(&tree), 6), [false, true, false, false, true, false]);
        let with_ring = [&tree[..], &[(5, 6), (6, 7), (7, 5)]].concat();
        assert_eq!(bipartition(&wires(&with_ring), 8), [false; 8]);
    }
}
