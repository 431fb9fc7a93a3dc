//! Which operation must be done before which other one begins: the reconfiguration paper's
//! configuration dependency graph (section 4.1).

/// A partial order of operations, by number.
///
/// Numbers from [`Self::operations`] on are **barriers**: they change nothing and are done as soon
/// as all that they wait for is done. With a barrier, m operations that all precede n others are m
/// + n pairs instead of m times n.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    operations: usize,
    /// Sorted, each once.
    pairs: Vec<(u32, u32)>,
    /// By operation and barrier: where its pairs begin as the one before; one more for the end.
    starts: Vec<u32>,
    /// The second of each pair.
    afters: Vec<u32>,
}

/// Which operations may begin, as others end.
#[derive(Clone, Debug)]
pub struct Progress<'a> {
    order: &'a Order,
    /// By operation and barrier: for how many it still waits.
    waits: Vec<u32>,
}

impl<'a> Progress<'a> {
    /// Nothing is done yet; `ready` takes the operations that may begin.
    pub fn new(order: &'a Order, ready: &mut Vec<u32>) -> Self {
        let mut progress = Self { order, waits: order.waits() };
        let free = |&node: &u32| progress.waits[node as usize] == 0;
        let nodes: Vec<u32> = (0..).take(order.nodes()).filter(free).collect();
        progress.release(nodes, ready);
        progress
    }

    /// An operation is done; `ready` takes those that may begin now and could not before.
    pub fn done(&mut self, operation: u32, ready: &mut Vec<u32>) {
        let nodes = self.unblock(operation);
        self.release(nodes, ready);
    }

    /// Nothing need wait for `node` any more; returns what waits for nothing now.
    fn unblock(&mut self, node: u32) -> Vec<u32> {
        let mut unblocked = Vec::new();
        for &after in self.order.after(node) {
            self.waits[after as usize] -= 1;
            if self.waits[after as usize] == 0 {
                unblocked.push(after);
            }
        }
        unblocked
    }

    /// These wait for nothing: operations are ready, and barriers are done at once.
    fn release(&mut self, mut nodes: Vec<u32>, ready: &mut Vec<u32>) {
        while let Some(node) = nodes.pop() {
            if self.order.is_barrier(node) {
                nodes.extend(self.unblock(node));
            } else {
                ready.push(node);
            }
        }
    }
}

/// Operations that wait for each other in a ring: no order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("operations {} wait for each other; drop one of these constraints", show(.0))]
pub struct OrderError(pub Vec<u32>);

fn show(ring: &[u32]) -> String {
    let ids: Vec<String> = ring.iter().map(|operation| (operation + 1).to_string()).collect();
    ids.join(" < ")
}

impl Order {
    /// The order of `operations` operations in which the first of each pair is done before the
    /// second begins.
    ///
    /// # Panics
    /// A pair names an operation that there is not.
    pub fn new(operations: usize, pairs: Vec<(u32, u32)>) -> Self {
        Self::with_barriers(operations, 0, pairs)
    }

    /// The same with so many barriers, whose numbers follow those of the operations.
    ///
    /// # Panics
    /// A pair names an operation or a barrier that there is not.
    pub fn with_barriers(operations: usize, barriers: usize, mut pairs: Vec<(u32, u32)>) -> Self {
        pairs.sort_unstable();
        pairs.dedup();
        let nodes = operations + barriers;
        let mut starts = vec![0; nodes + 1];
        for &(before, after) in &pairs {
            assert!((after as usize) < nodes, "{after} is neither an operation nor a barrier");
            starts[before as usize + 1] += 1;
        }
        for node in 0..nodes {
            starts[node + 1] += starts[node];
        }
        let afters = pairs.iter().map(|&(_, after)| after).collect();
        Self { operations, pairs, starts, afters }
    }

    /// The constraints among operations and barriers, sorted.
    pub fn pairs(&self) -> &[(u32, u32)] {
        &self.pairs
    }

    /// How many operations there are.
    pub const fn operations(&self) -> usize {
        self.operations
    }

    /// How many barriers there are.
    pub const fn barriers(&self) -> usize {
        self.nodes() - self.operations
    }

    /// How many operations and barriers there are.
    const fn nodes(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Whether a number is that of a barrier.
    pub(crate) const fn is_barrier(&self, node: u32) -> bool {
        node as usize >= self.operations
    }

    /// The same order without barriers: a pair for each operation that must be done before another
    /// one because of a pair or of barriers between them. `None` if more than `most` entries would
    /// have to be written to find that out, or if it is no order.
    pub fn pairwise(&self, most: usize) -> Option<Vec<(u32, u32)>> {
        let mut before: Vec<Vec<u32>> = vec![Vec::new(); self.nodes()];
        let (mut written, mut pairs) = (0, Vec::new());
        for node in self.sorted().ok()? {
            let mut own = std::mem::take(&mut before[node as usize]);
            own.sort_unstable();
            own.dedup();
            if !self.is_barrier(node) {
                pairs.extend(own.drain(..).map(|one| (one, node)));
                own.push(node);
            }
            for &after in self.after(node) {
                written += own.len();
                if written > most {
                    return None;
                }
                before[after as usize].extend(&own);
            }
        }
        pairs.sort_unstable();
        Some(pairs)
    }

    /// The operations and barriers that wait for this one.
    pub fn after(&self, operation: u32) -> &[u32] {
        let at = operation as usize;
        &self.afters[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    /// Whether no remove (below `removes`) waits, and nothing waits for an add.
    pub(super) fn is_removes_first(&self, removes: usize) -> bool {
        let waits_for_no_add = |b: u32| (b as usize) < removes || self.is_barrier(b);
        self.pairs.iter().all(|&(b, a)| waits_for_no_add(b) && a as usize >= removes)
    }

    /// By operation and barrier: for how many it waits.
    pub fn waits(&self) -> Vec<u32> {
        let mut waits = vec![0; self.nodes()];
        self.pairs.iter().for_each(|&(_, after)| waits[after as usize] += 1);
        waits
    }

    /// All operations and barriers, each after those it waits for.
    ///
    /// # Errors
    /// Some wait for each other.
    pub fn sorted(&self) -> Result<Vec<u32>, OrderError> {
        let mut waits = self.waits();
        let mut sorted: Vec<u32> = (0..).take(self.nodes()).collect();
        sorted.retain(|&operation| waits[operation as usize] == 0);
        let mut at = 0;
        while at < sorted.len() {
            for &after in self.after(sorted[at]) {
                waits[after as usize] -= 1;
                if waits[after as usize] == 0 {
                    sorted.push(after);
                }
            }
            at += 1;
        }
        if sorted.len() == self.nodes() { Ok(sorted) } else { Err(self.ring(&waits)) }
    }

    /// Operations in a ring, given how many others each still waits for.
    fn ring(&self, waits: &[u32]) -> OrderError {
        let stuck = |operation: u32| waits[operation as usize] > 0;
        let before = |operation: u32| {
            let mut pairs = self.pairs.iter();
            pairs.find(|&&(before, after)| after == operation && stuck(before)).map(|pair| pair.0)
        };
        let start = (0..).take(self.nodes()).find(|&operation| stuck(operation));
        let mut seen: Vec<u32> = start.into_iter().collect();
        while let Some(next) = seen.last().and_then(|&last| before(last)) {
            if let Some(at) = seen.iter().position(|&operation| operation == next) {
                seen.drain(..at);
                break;
            }
            seen.push(next);
        }
        seen.reverse();
        OrderError(seen)
    }

    /// When the last operation ends if each begins when those it waits for have ended and takes its
    /// time in `times`; of an order without a ring.
    pub fn longest(&self, times: &[u64]) -> u64 {
        let mut begins = vec![0_u64; self.nodes()];
        let mut end = 0;
        for operation in self.sorted().unwrap_or_default() {
            let own = times.get(operation as usize).copied().unwrap_or(0);
            let done = begins[operation as usize].saturating_add(own);
            end = end.max(done);
            for &after in self.after(operation) {
                begins[after as usize] = begins[after as usize].max(done);
            }
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reconfiguration paper's Fig. 5: o1 before o3 and o4, o2 before o3; numbered from 0 here.
    #[test]
    fn fig_5_has_the_configuration_paths_and_sortings_of_the_paper() {
        let order = Order::new(4, vec![(0, 2), (0, 3), (1, 2), (0, 2)]);
        assert_eq!(order.pairs(), [(0, 2), (0, 3), (1, 2)]);
        assert_eq!(order.waits(), [0, 0, 2, 1]);
        assert_eq!(order.after(0), [2, 3]);
        assert_eq!(order.longest(&[3, 5, 4, 1]), 9);
        let sorted = order.sorted().unwrap();
        let place = |operation| sorted.iter().position(|&other| other == operation);
        assert!(order.pairs().iter().all(|&(before, after)| place(before) < place(after)));
    }

    #[test]
    fn a_ring_is_no_order() {
        let error = Order::new(4, vec![(0, 1), (1, 2), (2, 1), (2, 3)]).sorted().unwrap_err();
        assert_eq!(error.0.len(), 2);
        assert!(error.to_string().contains("wait for each other"), "{error}");
    }
}
