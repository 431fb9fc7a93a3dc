//! Which operation must be done before which other one begins: the reconfiguration paper's
//! configuration dependency graph (section 4.1).

/// A partial order of operations, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// Sorted, each once.
    pairs: Vec<(u32, u32)>,
    /// By operation: where its pairs begin as the one before; one more for the end.
    starts: Vec<u32>,
    /// The second of each pair.
    afters: Vec<u32>,
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
    pub fn new(operations: usize, mut pairs: Vec<(u32, u32)>) -> Self {
        pairs.sort_unstable();
        pairs.dedup();
        let mut starts = vec![0; operations + 1];
        pairs.iter().for_each(|&(before, _)| starts[before as usize + 1] += 1);
        for operation in 0..operations {
            starts[operation + 1] += starts[operation];
        }
        let afters = pairs.iter().map(|&(_, after)| after).collect();
        Self { pairs, starts, afters }
    }

    /// The constraints, sorted.
    pub fn pairs(&self) -> &[(u32, u32)] {
        &self.pairs
    }

    /// How many operations there are.
    pub const fn operations(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// The operations that wait for this one.
    pub fn after(&self, operation: u32) -> &[u32] {
        let at = operation as usize;
        &self.afters[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    /// Whether every constraint is a remove (below `removes`) before an add.
    pub(super) fn is_removes_first(&self, removes: usize) -> bool {
        self.pairs.iter().all(|&(b, a)| (b as usize) < removes && a as usize >= removes)
    }

    /// By operation: how many it waits for.
    pub fn waits(&self) -> Vec<u32> {
        let mut waits = vec![0; self.operations()];
        self.pairs.iter().for_each(|&(_, after)| waits[after as usize] += 1);
        waits
    }

    /// All operations, each after those it waits for.
    ///
    /// # Errors
    /// Some wait for each other.
    pub fn sorted(&self) -> Result<Vec<u32>, OrderError> {
        let mut waits = self.waits();
        let mut sorted: Vec<u32> = (0..).take(self.operations()).collect();
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
        if sorted.len() == self.operations() { Ok(sorted) } else { Err(self.ring(&waits)) }
    }

    /// Operations in a ring, given how many others each still waits for.
    fn ring(&self, waits: &[u32]) -> OrderError {
        let stuck = |operation: u32| waits[operation as usize] > 0;
        let before = |operation: u32| {
            let mut pairs = self.pairs.iter();
            pairs.find(|&&(before, after)| after == operation && stuck(before)).map(|pair| pair.0)
        };
        let start = (0..).take(self.operations()).find(|&operation| stuck(operation));
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
        let mut begins = vec![0_u64; self.operations()];
        let mut end = 0;
        for operation in self.sorted().unwrap_or_default() {
            let done = begins[operation as usize].saturating_add(times[operation as usize]);
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
