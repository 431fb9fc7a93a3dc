//! The fat-tree of k-port switches, and F10, which wires every other pod differently.
//!
//! k pods of k/2 edge and k/2 aggregation switches, k^2/4 cores, k/2 hosts on each edge switch
//! (Al-Fares et al., 2008). In a fat-tree, and in F10's pods of type A, aggregation switch j is
//! linked to the cores j k/2 .. (j + 1) k/2, a row of the square of cores. In F10's pods of type B
//! it is linked to the cores j, j + k/2, j + k, ..., a column (Liu et al., 2013): a core that loses
//! its link into a pod then has a way of two more hops around.

use super::Draft;

/// Builds it for an even `k`, with the first `pods` of its pods; the cores' other ports are free.
/// Switches are `E1`.. (edge), `A1`.. (aggregation) and `C1`.. (core).
pub(super) fn build(draft: &mut Draft, k: usize, pods: usize, is_f10: bool) {
    let half = k / 2;
    let mut tier = |letter: &str, count: usize| -> Vec<u32> {
        (1..=count).map(|number| draft.switch(format!("{letter}{number}"), k)).collect()
    };
    let edges = tier("E", pods * half);
    let aggregations = tier("A", pods * half);
    let cores = tier("C", half * half);
    for (pod, (edges, aggregations)) in
        edges.chunks(half).zip(aggregations.chunks(half)).enumerate()
    {
        for &edge in edges {
            draft.hosts(edge, half);
            for &aggregation in aggregations {
                draft.link(edge, aggregation);
            }
        }
        for (j, &aggregation) in aggregations.iter().enumerate() {
            for i in 0..half {
                let is_type_b = is_f10 && !pod.is_multiple_of(2);
                let core = if is_type_b { i * half + j } else { j * half + i };
                draft.link(aggregation, cores[core]);
            }
        }
    }
}
