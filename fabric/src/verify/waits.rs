//! Who waits for whom: the graph of buffers, and whether it has a cycle.
//!
//! A buffer is (slot, priority). It waits for another if the rules let a frame turn from the one
//! into the other, whether any path does so or not. Every buffer of a class of in ports waits for
//! every buffer behind a class of out ports that it has a lossless answer for, so the graph is kept
//! in classes: from (switch, class of in ports, priority) to (switch, class of out ports,
//! priority), and from there over each link to the next switch. A cycle in one graph is a cycle in
//! the other, and this one has a few edges for each port instead of one for each pair of ports.

use super::rule_set::NetworkRules;
use super::table::Table;
use crate::graph::Digraph;
use crate::network::Network;
use crate::network::u32_of;
use dataplane::ids::{Priority, Tag};
use dataplane::limits::PRIORITIES;
use rayon::prelude::*;

/// Buffers visited after which the search for a shorter cycle ends.
const VISITS_MAX: usize = 200_000_000;

/// One buffer of a cycle, and what frames in it do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The slot that frames come in by.
    pub input: u32,
    /// The tag they come with.
    pub tag: Tag,
    /// The slot they go out by, to the next hop of the cycle.
    pub output: u32,
    /// The tag they go out with.
    pub new_tag: Tag,
}

/// The graph. Nodes are pairs of a class and a priority.
pub(super) struct Waits<'a> {
    network: &'a Network,
    rules: &'a NetworkRules,
    table: &'a Table,
    /// By switch: its first node. Nodes of in ports come first, then those of out ports.
    first: Vec<u32>,
    /// An edge leads to the node that is waited for.
    graph: Digraph,
    /// By edge over a link: the slot at its far end; by edge within a switch: nothing of use.
    entered: Vec<u32>,
}

impl<'a> Waits<'a> {
    pub(super) fn new(network: &'a Network, rules: &'a NetworkRules, table: &'a Table) -> Self {
        let mut first = vec![0];
        for switch in 0..u32_of(network.switches()) {
            let (inputs, outputs) = table.shape(switch);
            first.push(first[switch as usize] + u32_of((inputs + outputs) * PRIORITIES));
        }
        let mut waits =
            Self { network, rules, table, first, graph: Digraph::default(), entered: Vec::new() };
        let (mut tails, mut heads) = (Vec::new(), Vec::new());
        let mut edges: Vec<Vec<(u32, u32)>> = Vec::new();
        for switch in 0..u32_of(network.switches()) {
            let (inputs, outputs) = table.shape(switch);
            edges.clear();
            edges.resize((inputs + outputs) * PRIORITIES, Vec::new());
            let first = waits.first[switch as usize];
            waits.inner_edges(switch, &mut |from, to| {
                let from = &mut edges[(from - first) as usize];
                if !from.iter().any(|&(head, _)| head == to) {
                    from.push((to, 0));
                }
            });
            for (slot, far) in network.neighbors(switch) {
                let output = usize::from(table.out_classes[slot as usize]);
                let input = usize::from(table.in_classes[far as usize]);
                for priority in Priority::all() {
                    let from = waits.output_node(switch, output, priority) - first;
                    let to = waits.input_node(network.owner(far), input, priority);
                    edges[from as usize].push((to, far));
                }
            }
            for (tail, list) in (first..).zip(&edges) {
                tails.extend(list.iter().map(|_| tail));
                heads.extend(list.iter().map(|&(head, _)| head));
                waits.entered.extend(list.iter().map(|&(_, far)| far));
            }
        }
        let nodes = waits.first[network.switches()];
        waits.graph = Digraph::new(nodes as usize, tails, heads);
        waits
    }

    fn input_node(&self, switch: u32, class: usize, priority: Priority) -> u32 {
        self.first[switch as usize] + u32_of(class * PRIORITIES + priority.index())
    }

    fn output_node(&self, switch: u32, class: usize, priority: Priority) -> u32 {
        self.input_node(switch, self.table.shape(switch).0 + class, priority)
    }

    /// Calls `edge` for each lossless answer of a switch.
    fn inner_edges(&self, switch: u32, edge: &mut impl FnMut(u32, u32)) {
        let (inputs, outputs) = self.table.shape(switch);
        for state in 0..self.table.lossy() {
            for input in 0..inputs {
                for output in 0..outputs {
                    let next = self.table.answer(switch, state, input, output);
                    if next != self.table.lossy() {
                        let from = self.input_node(switch, input, self.priority(state));
                        edge(from, self.output_node(switch, output, self.priority(next)));
                    }
                }
            }
        }
    }

    fn priority(&self, state: u8) -> Priority {
        self.rules.priorities[&self.table.tags[usize::from(state)]]
    }

    /// The nodes that are on a cycle.
    pub(super) fn on_cycles(&self) -> Vec<u32> {
        self.graph.on_cycles(|_| true).0
    }

    /// The shortest cycle among `on_cycles`: the shortest of all if there are few enough of them to
    /// start from each.
    pub(super) fn shortest_cycle(&self, on_cycles: &[u32]) -> Vec<Hop> {
        let mut is_left = vec![false; self.graph.nodes()];
        on_cycles.iter().for_each(|&node| is_left[node as usize] = true);
        let starts_max = (VISITS_MAX / self.graph.edges().max(1)).max(16);
        let found = on_cycles.par_iter().take(starts_max).filter_map(|&node| {
            let mut path = self.cycle_through(node, &is_left)?;
            // Begin at the lowest node, so that the same cycle is the same whoever found it.
            let lowest = (0..path.len()).min_by_key(|&at| path[at])?;
            path.rotate_left(lowest);
            Some(path)
        });
        let shortest =
            found.min_by(|one, two| one.len().cmp(&two.len()).then_with(|| one.cmp(two)));
        let mut hops = shortest.map(|edges| self.hops(&edges)).unwrap_or_default();
        let lowest = (0..hops.len()).min_by_key(|&at| hops[at].input).unwrap_or(0);
        hops.rotate_left(lowest);
        hops
    }

    /// The edges of a shortest cycle through `start`: a breadth-first search back to it.
    fn cycle_through(&self, start: u32, is_left: &[bool]) -> Option<Vec<u32>> {
        let mut came_by = std::collections::HashMap::new();
        let mut frontier = vec![start];
        while !frontier.is_empty() {
            let mut found = Vec::new();
            for node in frontier {
                for &edge in self.graph.leaving(node) {
                    let head = self.graph.heads[edge as usize];
                    if !is_left[head as usize] || came_by.contains_key(&head) {
                        continue;
                    }
                    came_by.insert(head, (node, edge));
                    if head == start {
                        return Some(trace(start, &came_by));
                    }
                    found.push(head);
                }
            }
            frontier = found;
        }
        None
    }

    /// From the edges of a cycle to what frames do on it.
    fn hops(&self, edges: &[u32]) -> Vec<Hop> {
        let count = edges.len();
        let node_before = |at: usize| self.graph.heads[edges[(at + count - 1) % count] as usize];
        let over_links: Vec<usize> = (0..count)
            .filter(|&at| {
                let tail = node_before(at);
                let switch = self.switch_of(tail);
                (tail - self.first[switch as usize]) as usize / PRIORITIES
                    >= self.table.shape(switch).0
            })
            .collect();
        let entered: Vec<(u32, u32)> = over_links
            .iter()
            .map(|&at| (self.entered[edges[at] as usize], self.graph.heads[edges[at] as usize]))
            .collect();
        let pairs = entered.iter().zip(entered.iter().cycle().skip(1));
        pairs.filter_map(|(&(input, from), &(far, to))| self.hop(input, from, far, to)).collect()
    }

    /// The turn from the buffer behind `input`, node `from`, to the one behind `far`, node `to`.
    fn hop(&self, input: u32, from: u32, far: u32, to: u32) -> Option<Hop> {
        let output = self.network.far_slot(far)?;
        let priority_of = |node: u32| {
            let index = (node - self.first[self.switch_of(node) as usize]) as usize % PRIORITIES;
            Priority::all().nth(index)
        };
        let (waits, held) = (priority_of(from)?, priority_of(to)?);
        (0..self.table.lossy()).find_map(|state| {
            let next = self.table.turn(self.network, input, output, state);
            let fits = next != self.table.lossy()
                && self.priority(state) == waits
                && self.priority(next) == held;
            let tag = |state: u8| self.table.tags[usize::from(state)];
            fits.then(|| Hop { input, tag: tag(state), output, new_tag: tag(next) })
        })
    }

    fn switch_of(&self, node: u32) -> u32 {
        u32_of(self.first.partition_point(|&first| first <= node) - 1)
    }
}

/// The edges from `start` back to it, by how each node was come to.
fn trace(start: u32, came_by: &std::collections::HashMap<u32, (u32, u32)>) -> Vec<u32> {
    let mut edges = Vec::new();
    let mut node = start;
    while let Some(&(before, edge)) = came_by.get(&node) {
        edges.push(edge);
        node = before;
        if node == start {
            break;
        }
    }
    edges.reverse();
    edges
}
