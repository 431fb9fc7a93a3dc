//! Whether one path is on a cycle, while others come and go: the slow part of the planner.
//!
//! Number the buffers of the path n0, n1, ... in order. Every buffer x of the network gets two
//! labels: the last of them that leads to x, and the first of them that x leads to. The path is on
//! a cycle exactly if at some x the former comes after the latter. Labels only change for the worse
//! while edges are added, each a few times, and a set of edges that is refused is taken back.

use super::change::Dependencies;

/// Nothing of the path leads here.
const NONE: u16 = 0;
/// This leads to nothing of the path.
const NOWHERE: u16 = u16::MAX;

/// Labels of one path at a time.
#[derive(Debug)]
pub(super) struct Labels<'a> {
    dependencies: &'a Dependencies,
    /// By edge: how many reasons there are for it to be there.
    present: Vec<u32>,
    /// By node: the last buffer of the path that leads here, as 1 + its number.
    from: Vec<u16>,
    /// By node: the first buffer of the path that this leads to, as 1 + its number.
    to: Vec<u16>,
    /// What was changed: a node, and its labels before.
    log: Vec<(u32, u16, u16)>,
    work: Vec<u32>,
}

impl<'a> Labels<'a> {
    /// Kept paths only.
    pub(super) fn new(dependencies: &'a Dependencies) -> Self {
        Self {
            dependencies,
            present: dependencies.is_kept.iter().map(|&is_kept| u32::from(is_kept)).collect(),
            from: vec![NONE; dependencies.graph.nodes()],
            to: vec![NOWHERE; dependencies.graph.nodes()],
            log: Vec::new(),
            work: Vec::new(),
        }
    }

    /// Puts a path in force, whatever it closes.
    pub(super) fn insert(&mut self, operation: u32) {
        let dependencies = self.dependencies;
        dependencies.edges_of(operation).iter().for_each(|&edge| self.present[edge as usize] += 1);
    }

    /// Takes one out of force again.
    pub(super) fn take(&mut self, operation: u32) {
        let dependencies = self.dependencies;
        dependencies.edges_of(operation).iter().for_each(|&edge| self.present[edge as usize] -= 1);
    }

    /// Labels everything for the path of `operation`, which is in force. Returns whether it is on
    /// no cycle; if it is on one, there are no labels.
    pub(super) fn start(&mut self, operation: u32) -> bool {
        self.forget();
        let mut is_clear = true;
        // Edges off every cycle were left out, so buffers may be numbered by the edges alone.
        for (number, &edge) in (1..).zip(self.dependencies.edges_of(operation)) {
            let (tail, head) = self.ends(edge);
            is_clear = is_clear && self.lower(tail, number) && self.raise(head, number + 1);
        }
        is_clear = is_clear && self.spread();
        if !is_clear {
            self.forget();
        }
        is_clear
    }

    /// Puts a path in force if the labeled one stays on no cycle; otherwise changes nothing.
    pub(super) fn try_insert(&mut self, operation: u32) -> bool {
        let dependencies = self.dependencies;
        let edges = dependencies.edges_of(operation);
        let mark = self.log.len();
        edges.iter().for_each(|&edge| self.present[edge as usize] += 1);
        let is_clear = edges.iter().all(|&edge| self.pass(edge)) && self.spread();
        if !is_clear {
            self.undo(mark);
            edges.iter().for_each(|&edge| self.present[edge as usize] -= 1);
        }
        is_clear
    }

    fn ends(&self, edge: u32) -> (u32, u32) {
        (self.dependencies.graph.tails[edge as usize], self.dependencies.graph.heads[edge as usize])
    }

    /// Drops all labels.
    pub(super) fn forget(&mut self) {
        self.undo(0);
    }

    fn undo(&mut self, mark: usize) {
        while self.log.len() > mark {
            if let Some((node, from, to)) = self.log.pop() {
                self.from[node as usize] = from;
                self.to[node as usize] = to;
            }
        }
        self.work.clear();
    }

    /// Hands labels over an edge; `false` if that shows a cycle.
    fn pass(&mut self, edge: u32) -> bool {
        let (tail, head) = self.ends(edge);
        self.raise(head, self.from[tail as usize]) && self.lower(tail, self.to[head as usize])
    }

    fn raise(&mut self, node: u32, from: u16) -> bool {
        let at = node as usize;
        if from > self.from[at] {
            self.log.push((node, self.from[at], self.to[at]));
            self.from[at] = from;
            self.work.push(node);
        }
        self.is_fine(at)
    }

    fn lower(&mut self, node: u32, to: u16) -> bool {
        let at = node as usize;
        if to < self.to[at] {
            self.log.push((node, self.from[at], self.to[at]));
            self.to[at] = to;
            self.work.push(node);
        }
        self.is_fine(at)
    }

    fn is_fine(&self, at: usize) -> bool {
        // The buffer itself may lead here and be led to.
        self.from[at] <= self.to[at]
    }

    /// Hands labels on until none changes; `false` if that shows a cycle.
    fn spread(&mut self) -> bool {
        let dependencies = self.dependencies;
        while let Some(node) = self.work.pop() {
            let (from, to) = (self.from[node as usize], self.to[node as usize]);
            if from != NONE {
                for &edge in dependencies.graph.leaving(node) {
                    let head = dependencies.graph.heads[edge as usize];
                    if self.present[edge as usize] > 0 && !self.raise(head, from) {
                        return false;
                    }
                }
            }
            if to != NOWHERE {
                for &edge in dependencies.graph.entering(node) {
                    let tail = dependencies.graph.tails[edge as usize];
                    if self.present[edge as usize] > 0 && !self.lower(tail, to) {
                        return false;
                    }
                }
            }
        }
        true
    }
}
