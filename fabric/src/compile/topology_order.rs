//! A directed graph that stays acyclic: an edge that would close a cycle is refused, at the cost of
//! looking only at nodes between its two ends in a topological order that is kept up to date
//! (Pearce and Kelly, "A dynamic topological sort algorithm for directed acyclic graphs", 2006).

use crate::network::u32_of;

/// Nodes are numbered from 0.
#[derive(Clone, Debug)]
pub(crate) struct AcyclicGraph {
    heads: Vec<Vec<u32>>,
    tails: Vec<Vec<u32>>,
    /// By node: its place in a topological order.
    places: Vec<u32>,
    /// By node: seen in the search that is going on.
    is_seen: Vec<bool>,
}

impl AcyclicGraph {
    /// `nodes` nodes and no edge.
    pub(crate) fn new(nodes: usize) -> Self {
        let first_to_last: Vec<u32> = (0..u32_of(nodes)).collect();
        Self::ordered(&first_to_last)
    }

    /// These nodes, each once, and no edge. They stay in this order as far as edges allow.
    pub(crate) fn ordered(first_to_last: &[u32]) -> Self {
        let nodes = first_to_last.len();
        let mut places = vec![0; nodes];
        for (place, &node) in (0..).zip(first_to_last) {
            places[node as usize] = place;
        }
        Self {
            heads: vec![Vec::new(); nodes],
            tails: vec![Vec::new(); nodes],
            places,
            is_seen: vec![false; nodes],
        }
    }

    /// Adds an edge, unless it closes a cycle; returns whether it is there.
    pub(crate) fn add_edge(&mut self, tail: u32, head: u32) -> bool {
        if tail == head {
            return false;
        }
        if self.heads[tail as usize].contains(&head) {
            return true;
        }
        if self.place(tail) > self.place(head) && !self.reorder(tail, head) {
            return false;
        }
        self.heads[tail as usize].push(head);
        self.tails[head as usize].push(tail);
        true
    }

    /// Adds edges to `head` from all of `tails`, or none of them if any closes a cycle.
    pub(crate) fn add_edges_to(&mut self, head: u32, tails: &[u32]) -> bool {
        let mut added = Vec::new();
        for &tail in tails {
            let was_there = self.heads[tail as usize].contains(&head);
            if !self.add_edge(tail, head) {
                // The order stays topological when edges go.
                for tail in added {
                    self.remove_edge(tail, head);
                }
                return false;
            }
            if !was_there {
                added.push(tail);
            }
        }
        true
    }

    /// Removes an edge; the order stays topological.
    pub(crate) fn remove_edge(&mut self, tail: u32, head: u32) {
        self.heads[tail as usize].retain(|&other| other != head);
        self.tails[head as usize].retain(|&other| other != tail);
    }

    /// A shortest way from one node to another, by its nodes; empty if there is none.
    pub(crate) fn way(&self, from: u32, to: u32) -> Vec<u32> {
        let mut before: std::collections::HashMap<u32, u32> = std::collections::HashMap::new();
        let mut queue = std::collections::VecDeque::from([from]);
        while let Some(node) = queue.pop_front() {
            if node == to {
                let back = std::iter::successors(Some(to), |node| before.get(node).copied());
                let mut way: Vec<u32> = back.collect();
                way.reverse();
                return way;
            }
            for &head in &self.heads[node as usize] {
                let leads_there = head != from && self.place(head) <= self.place(to);
                if leads_there && !before.contains_key(&head) {
                    before.insert(head, node);
                    queue.push_back(head);
                }
            }
        }
        Vec::new()
    }

    /// Where a node stands in a topological order.
    pub(crate) fn place(&self, node: u32) -> u32 {
        self.places[node as usize]
    }

    /// Makes `tail` come before `head`; `false` if a path leads from `head` to `tail`.
    fn reorder(&mut self, tail: u32, head: u32) -> bool {
        let (first, last) = (self.place(head), self.place(tail));
        let Some(mut after) = self.search(head, |place| place <= last, true, tail) else {
            return false;
        };
        let mut before =
            self.search(tail, |place| place >= first, false, u32::MAX).unwrap_or_default();
        // What leads to the tail takes the first of all their places, what the head leads to the
        // last ones.
        before.sort_unstable_by_key(|&node| self.place(node));
        after.sort_unstable_by_key(|&node| self.place(node));
        let nodes: Vec<u32> = before.into_iter().chain(after).collect();
        let mut places: Vec<u32> = nodes.iter().map(|&node| self.place(node)).collect();
        places.sort_unstable();
        for (node, place) in nodes.into_iter().zip(places) {
            self.places[node as usize] = place;
        }
        true
    }

    /// What can be reached from `start`, forward or backward, over nodes in the places that are
    /// `inside`; `None` if `target` is among it.
    fn search(
        &mut self,
        start: u32,
        inside: impl Fn(u32) -> bool,
        forward: bool,
        target: u32,
    ) -> Option<Vec<u32>> {
        let mut found = vec![start];
        self.is_seen[start as usize] = true;
        let mut hit = false;
        let mut at = 0;
        while at < found.len() && !hit {
            let node = found[at] as usize;
            at += 1;
            let next = if forward { &self.heads[node] } else { &self.tails[node] };
            for &other in next {
                hit |= other == target;
                if inside(self.places[other as usize]) && !self.is_seen[other as usize] {
                    self.is_seen[other as usize] = true;
                    found.push(other);
                }
            }
        }
        for &node in &found {
            self.is_seen[node as usize] = false;
        }
        (!hit).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The oracle: a search of the whole graph for a way from `head` back to `tail`.
    fn closes_cycle(edges: &[(u32, u32)], tail: u32, head: u32) -> bool {
        let mut seen = vec![head];
        let mut at = 0;
        while at < seen.len() {
            let node = seen[at];
            at += 1;
            for &(_, next) in edges.iter().filter(|&&(tail, _)| tail == node) {
                if !seen.contains(&next) {
                    seen.push(next);
                }
            }
        }
        seen.contains(&tail)
    }

    proptest! {
        #[test]
        fn an_edge_is_refused_exactly_if_it_closes_a_cycle(
            wanted in proptest::collection::vec((0..12_u32, 0..12_u32), 0..80),
        ) {
            let mut graph = AcyclicGraph::new(12);
            let mut edges = Vec::new();
            for (tail, head) in wanted {
                let is_refused = closes_cycle(&edges, tail, head);
                prop_assert_eq!(graph.add_edge(tail, head), !is_refused);
                if !is_refused {
                    edges.push((tail, head));
                }
                for &(tail, head) in &edges {
                    prop_assert!(graph.place(tail) < graph.place(head), "a topological order");
                }
            }
        }

        #[test]
        fn several_edges_are_added_together_or_not_at_all(
            groups in proptest::collection::vec(
                (0..10_u32, proptest::collection::vec(0..10_u32, 1..4)), 0..30),
        ) {
            let mut graph = AcyclicGraph::new(10);
            let mut edges: Vec<(u32, u32)> = Vec::new();
            for (head, tails) in groups {
                let is_refused = tails.iter().any(|&tail| closes_cycle(&edges, tail, head));
                prop_assert_eq!(graph.add_edges_to(head, &tails), !is_refused);
                if !is_refused {
                    edges.extend(tails.iter().map(|&tail| (tail, head)));
                }
                let count: usize = graph.heads.iter().map(Vec::len).sum();
                edges.sort_unstable();
                edges.dedup();
                prop_assert_eq!(count, edges.len());
            }
        }
    }
}
