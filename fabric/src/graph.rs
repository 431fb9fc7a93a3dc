//! A directed graph of which some edges are there and some are not: components, cycles, and whether
//! there is one.

use crate::network::u32_of;
use std::collections::VecDeque;

/// Nodes looked at as the start of a shortest cycle.
const STARTS_MAX: usize = 2_000;

/// Edges looked at in search of a shortest cycle; a few starts are tried in any case.
const VISITS_MAX: usize = 100_000_000;

/// Nodes and edges by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Digraph {
    /// By edge: where it comes from.
    pub(crate) tails: Vec<u32>,
    /// By edge: where it leads.
    pub(crate) heads: Vec<u32>,
    leaving: Rows,
    entering: Rows,
}

/// Lists of numbers, one after the other.
#[derive(Clone, Debug, Default)]
struct Rows {
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Rows {
    /// The numbers of `keys`, grouped by key.
    fn group(rows: usize, keys: &[u32]) -> Self {
        let mut starts = vec![0; rows + 1];
        keys.iter().for_each(|&key| starts[key as usize + 1] += 1);
        for row in 0..rows {
            starts[row + 1] += starts[row];
        }
        let mut at = starts.clone();
        let mut items = vec![0; keys.len()];
        for (number, &key) in (0..).zip(keys) {
            items[at[key as usize] as usize] = number;
            at[key as usize] += 1;
        }
        Self { starts, items }
    }

    fn row(&self, row: u32) -> &[u32] {
        let at = row as usize;
        &self.items[self.starts[at] as usize..self.starts[at + 1] as usize]
    }
}

impl Digraph {
    pub(crate) fn new(nodes: usize, tails: Vec<u32>, heads: Vec<u32>) -> Self {
        let leaving = Rows::group(nodes, &tails);
        let entering = Rows::group(nodes, &heads);
        Self { tails, heads, leaving, entering }
    }

    pub(crate) const fn edges(&self) -> usize {
        self.tails.len()
    }

    pub(crate) const fn nodes(&self) -> usize {
        self.leaving.starts.len().saturating_sub(1)
    }

    /// The edges that leave a node.
    pub(crate) fn leaving(&self, node: u32) -> &[u32] {
        self.leaving.row(node)
    }

    /// The edges that enter a node.
    pub(crate) fn entering(&self, node: u32) -> &[u32] {
        self.entering.row(node)
    }

    /// Whether the edges that are `present` close no cycle.
    pub(crate) fn is_acyclic(&self, present: impl Fn(u32) -> bool) -> bool {
        self.topological(0..u32_of(self.nodes()), present).is_some()
    }

    /// By node: its place in an order in which every edge that is `present` leads to a later one;
    /// `None` if they close a cycle (Kahn, 1962). Of nodes that may come next, one that just
    /// became ready does, then the last of `nodes`, which are all of them in any order.
    pub(crate) fn topological(
        &self,
        nodes: impl Iterator<Item = u32>,
        present: impl Fn(u32) -> bool,
    ) -> Option<Vec<u32>> {
        let mut missing = vec![0_u32; self.nodes()];
        for (edge, &head) in (0..).zip(&self.heads) {
            missing[head as usize] += u32::from(present(edge));
        }
        let mut ready: Vec<u32> = nodes.filter(|&node| missing[node as usize] == 0).collect();
        let (mut places, mut place) = (vec![0; self.nodes()], 0);
        while let Some(node) = ready.pop() {
            places[node as usize] = place;
            place += 1;
            for &edge in self.leaving(node).iter().filter(|&&edge| present(edge)) {
                let head = self.heads[edge as usize];
                missing[head as usize] -= 1;
                if missing[head as usize] == 0 {
                    ready.push(head);
                }
            }
        }
        (place as usize == self.nodes()).then_some(places)
    }

    /// By node: its strongly connected component, of what can be reached from `roots` over the
    /// edges that are `present` (Tarjan, 1972). What cannot be reached is `u32::MAX`.
    pub(crate) fn components(
        &self,
        roots: impl IntoIterator<Item = u32>,
        present: impl Fn(u32) -> bool,
    ) -> Vec<u32> {
        let nodes = self.nodes();
        let mut search = Search {
            component: vec![u32::MAX; nodes],
            index: vec![u32::MAX; nodes],
            low: vec![0; nodes],
            stack: Vec::new(),
            found: 0,
            components: 0,
        };
        for root in roots {
            if search.index[root as usize] == u32::MAX {
                search.run(self, root, &present);
            }
        }
        search.component
    }

    /// The nodes that are on a cycle of edges that are `present`, and by edge whether it is on one.
    pub(crate) fn on_cycles(&self, present: impl Fn(u32) -> bool) -> (Vec<u32>, Vec<bool>) {
        let component = self.components(0..u32_of(self.nodes()), &present);
        let joins = |(edge, (&tail, &head)): (u32, (&u32, &u32))| {
            present(edge) && component[tail as usize] == component[head as usize]
        };
        let edges: Vec<bool> = (0..).zip(self.tails.iter().zip(&self.heads)).map(joins).collect();
        let is_on = |node: &u32| self.leaving(*node).iter().any(|&edge| edges[edge as usize]);
        ((0..u32_of(self.nodes())).filter(is_on).collect(), edges)
    }

    /// The edges of a short cycle among those that are `present`, the shortest one unless the graph
    /// is large; empty if there is none.
    pub(crate) fn shortest_cycle(&self, present: impl Fn(u32) -> bool) -> Vec<u32> {
        let (nodes, edges) = self.on_cycles(present);
        let mut best = Vec::new();
        let starts = (VISITS_MAX / self.edges().max(1)).clamp(4, STARTS_MAX);
        for start in nodes.into_iter().take(starts) {
            let cycle = self.way(start, start, |edge| edges[edge as usize]);
            if !cycle.is_empty() && (best.is_empty() || cycle.len() < best.len()) {
                best = cycle;
            }
        }
        best
    }

    /// The edges of a shortest way from `from` to `to`, of one edge at the least.
    pub(crate) fn way(&self, from: u32, to: u32, present: impl Fn(u32) -> bool) -> Vec<u32> {
        let mut by = vec![u32::MAX; self.nodes()];
        let mut queue = VecDeque::from([from]);
        while let Some(node) = queue.pop_front() {
            for &edge in self.leaving(node).iter().filter(|&&edge| present(edge)) {
                let head = self.heads[edge as usize];
                if by[head as usize] != u32::MAX {
                    continue;
                }
                by[head as usize] = edge;
                if head == to {
                    return self.back(&by, from, to);
                }
                queue.push_back(head);
            }
        }
        Vec::new()
    }

    /// The way to `to`, by the edge that each node was found by.
    fn back(&self, by: &[u32], from: u32, to: u32) -> Vec<u32> {
        let mut way = vec![by[to as usize]];
        while let Some(&edge) = way.last() {
            let tail = self.tails[edge as usize];
            if tail == from {
                break;
            }
            way.push(by[tail as usize]);
        }
        way.reverse();
        way
    }
}

/// Tarjan's search, without recursion: paths through a network may be long.
struct Search {
    component: Vec<u32>,
    index: Vec<u32>,
    low: Vec<u32>,
    stack: Vec<u32>,
    found: u32,
    components: u32,
}

impl Search {
    fn run(&mut self, graph: &Digraph, root: u32, present: &impl Fn(u32) -> bool) {
        // A node, and how many of its edges have been looked at.
        let mut calls = vec![(root, 0_usize)];
        self.enter(root);
        while let Some((node, at)) = calls.last_mut() {
            let node = *node;
            let Some(&edge) = graph.leaving(node).get(*at) else {
                calls.pop();
                self.leave(node);
                if let Some(&(parent, _)) = calls.last() {
                    let low = self.low[node as usize];
                    self.low[parent as usize] = self.low[parent as usize].min(low);
                }
                continue;
            };
            *at += 1;
            if !present(edge) {
                continue;
            }
            let head = graph.heads[edge as usize];
            if self.index[head as usize] == u32::MAX {
                self.enter(head);
                calls.push((head, 0));
            } else if self.component[head as usize] == u32::MAX {
                let index = self.index[head as usize];
                self.low[node as usize] = self.low[node as usize].min(index);
            }
        }
    }

    fn enter(&mut self, node: u32) {
        self.index[node as usize] = self.found;
        self.low[node as usize] = self.found;
        self.found += 1;
        self.stack.push(node);
    }

    /// All of a node's edges have been looked at: if it is the first of its component, that ends.
    fn leave(&mut self, node: u32) {
        if self.low[node as usize] != self.index[node as usize] {
            return;
        }
        while let Some(member) = self.stack.pop() {
            self.component[member as usize] = self.components;
            if member == node {
                break;
            }
        }
        self.components += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NODES: u32 = 8;

    /// By node and node: whether one leads to the other (Warshall, 1962).
    fn leads(edges: &[(u32, u32)]) -> Vec<Vec<bool>> {
        let nodes = NODES as usize;
        let mut leads = vec![vec![false; nodes]; nodes];
        edges.iter().for_each(|&(tail, head)| leads[tail as usize][head as usize] = true);
        for middle in 0..nodes {
            for from in 0..nodes {
                for to in 0..nodes {
                    leads[from][to] |= leads[from][middle] && leads[middle][to];
                }
            }
        }
        leads
    }

    proptest! {
        #[test]
        fn components_and_cycles_are_those_of_the_closure(
            edges in proptest::collection::vec((0..NODES, 0..NODES), 0..24),
            mask in any::<u32>(),
        ) {
            let (tails, heads) = edges.iter().copied().unzip();
            let graph = Digraph::new(NODES as usize, tails, heads);
            let present = |edge: u32| mask >> edge & 1 == 1;
            let chosen: Vec<_> =
                (0..).zip(&edges).filter(|&(edge, _)| present(edge)).map(|(_, &e)| e).collect();
            let leads = leads(&chosen);
            let cyclic = (0..NODES as usize).any(|node| leads[node][node]);
            prop_assert_eq!(graph.is_acyclic(present), !cyclic);
            let component = graph.components(0..NODES, present);
            for a in 0..NODES as usize {
                for b in 0..NODES as usize {
                    let together = a == b || leads[a][b] && leads[b][a];
                    prop_assert_eq!(component[a] == component[b], together);
                }
            }
            let cycle = graph.shortest_cycle(present);
            prop_assert_eq!(cycle.is_empty(), !cyclic);
            for (at, &edge) in cycle.iter().enumerate() {
                let next = cycle[(at + 1) % cycle.len()];
                prop_assert!(present(edge));
                prop_assert_eq!(graph.heads[edge as usize], graph.tails[next as usize]);
            }
        }
    }
}
