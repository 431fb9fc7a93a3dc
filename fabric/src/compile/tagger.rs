//! The Tagger paper's own algorithms (Tagger, section V): Algorithm 1, a tag more at every hop, and
//! Algorithm 2, which merges tags greedily.
//!
//! A node of the tagged graph is (slot, tag); hops count from 0, and a frame has tag hop + 1 under
//! Algorithm 1. That the Tagger paper's title of it says "decreases" is a slip: its code
//! increments.

use super::rule_matrix::RuleMatrix;
use super::topology_order::AcyclicGraph;
use super::turns::UsedTurns;
use crate::graph::Digraph;
use crate::network::Network;
use crate::network::u32_of;
use crate::paths::Walks;

/// Algorithm 1: every turn raises the tag. `tags` are the lossless tags that switches see; one more
/// is seen by hosts only, after the last hop.
pub(super) fn brute_force(walks: &Walks<'_>, tags: usize) -> RuleMatrix {
    let Walks { network, paths, .. } = *walks;
    let mut matrix = RuleMatrix::new(network);
    let last = u8::try_from(tags).unwrap_or(u8::MAX);
    for class in 0..paths.classes() {
        walks.tally_in_order(class, tags + 2, &mut |input, output, state, _| {
            let is_last = network.far_slot(output).is_none();
            if state >= last || state + 1 == last && !is_last {
                return last + 1;
            }
            matrix.set(input, state, output, state + 1);
            state + 1
        });
    }
    matrix
}

/// What Algorithm 2 found.
pub(super) struct Merged {
    pub(super) matrix: RuleMatrix,
    /// Cells for which merging left two different new tags.
    pub(super) conflicts: u64,
    /// Tags that are used.
    pub(super) tags: usize,
}

/// Algorithm 2, with at most `tags_max` tags; what needs more is lossy.
///
/// Merging can leave (tag, in, out) with two new tags, which no switch can do. The lower one is
/// taken: its edge is in the graph already, so it closes no cycle. Frames may then come to a switch
/// with a lower tag than the graph has for them; [`complete`] gives them rules, and follows every
/// path to the end.
pub(super) fn greedy(walks: &Walks<'_>, tags_max: usize, tell: &dyn Fn(&str)) -> Merged {
    let Walks { network, paths, .. } = *walks;
    let hops = paths.longest(network).min(usize::from(u8::MAX) - 1);
    tell("building the tagged graph");
    let used = UsedTurns::collect(walks, 0, hops, |_, _, hop| hop + 1);
    tell("merging tags");
    let merged = merge(network, &used, hops);
    let (matrix, conflicts) = merged_matrix(network, &used, hops, &merged, tags_max);
    tell("completing the rules");
    let (matrix, tags) = complete(walks, matrix, tags_max);
    Merged { matrix, conflicts, tags }
}

/// By hop and slot: the merged tag, counted from 0, of the nodes that are in the graph.
type Merge = Vec<Vec<u8>>;

/// Not in the graph.
const ABSENT: u8 = u8::MAX;

/// Algorithm 2 as printed: nodes by tag, then in the order of switches and ports; a node that would
/// close a cycle in the current merged tag goes to the next one. A cycle is only looked for between
/// the ends of the new edges.
fn merge(network: &Network, used: &UsedTurns, hops: usize) -> Merge {
    let mut merge: Merge = vec![vec![ABSENT; network.slots()]; hops];
    let mut graph = AcyclicGraph::new(network.slots());
    let mut current = 0;
    let mut tails = Vec::new();
    for hop in 0..hops {
        let mut has_spilled = false;
        for slot in 0..u32_of(network.slots()) {
            if used.outputs(slot, hop).is_empty() {
                continue;
            }
            tails.clear();
            if let (Some(before), Some(far)) = (hop.checked_sub(1), network.far_slot(slot)) {
                let port = network.port(far);
                tails.extend(network.slots_of(network.owner(far)).filter(|&tail| {
                    merge[before][tail as usize] == current
                        && used.outputs(tail, before).contains(port)
                }));
            }
            let fits = graph.add_edges_to(slot, &tails);
            merge[hop][slot as usize] = current + u8::from(!fits);
            has_spilled |= !fits;
        }
        if has_spilled {
            // The nodes that spilled have one old tag, so there is no edge among them yet.
            graph = AcyclicGraph::new(network.slots());
            current += 1;
        }
    }
    merge
}

/// The rules of the merged graph, the lower new tag where it has two; and how often it has.
fn merged_matrix(
    network: &Network,
    used: &UsedTurns,
    hops: usize,
    merge: &Merge,
    tags_max: usize,
) -> (RuleMatrix, u64) {
    let mut matrix = RuleMatrix::new(network);
    let mut conflicting = std::collections::HashSet::new();
    for hop in 0..hops {
        for slot in 0..u32_of(network.slots()) {
            let tag = merge[hop][slot as usize];
            if tag == ABSENT || usize::from(tag) >= tags_max {
                continue;
            }
            let switch = network.owner(slot);
            for output in used.outputs(slot, hop).iter() {
                let Some(output) = network.slot(switch, output) else { continue };
                // To a host the tag stays: there is no buffer of ours behind it.
                let new_tag = network
                    .far_slot(output)
                    .map_or(tag, |far| merge.get(hop + 1).map_or(tag, |row| row[far as usize]));
                match matrix.get(slot, tag, output) {
                    Some(known) if known != new_tag => {
                        conflicting.insert((slot, tag, output));
                        matrix.set(slot, tag, output, known.min(new_tag));
                    }
                    Some(_) => {}
                    None => matrix.set(slot, tag, output, new_tag),
                }
            }
        }
    }
    (matrix, conflicting.len() as u64)
}

/// Follows every path. A turn without a rule gets one: the tag stays if the turn ascends in a
/// topological order of the turns that keep it, else it rises. Returns the rules that paths use,
/// and how many tags.
fn complete(walks: &Walks<'_>, mut matrix: RuleMatrix, tags_max: usize) -> (RuleMatrix, usize) {
    let Walks { network, paths, .. } = *walks;
    let places: Vec<Vec<u32>> =
        (0..tags_max).map(|tag| topological(network, &matrix, tag)).collect();
    let lossy = u8::try_from(tags_max).unwrap_or(u8::MAX);
    let mut reached = RuleMatrix::new(network);
    let mut highest = 0;
    for class in 0..paths.classes() {
        let mut turn = |input, output, state: u8, _| {
            if state >= lossy {
                return lossy;
            }
            let new_tag = matrix.get(input, state, output).unwrap_or_else(|| {
                let places = &places[usize::from(state)];
                let stays = network
                    .far_slot(output)
                    .is_none_or(|far| places[input as usize] < places[far as usize]);
                matrix.set(input, state, output, state + u8::from(!stays));
                state + u8::from(!stays)
            });
            if new_tag >= lossy {
                return lossy;
            }
            reached.set(input, state, output, new_tag);
            highest = highest.max(new_tag);
            new_tag
        };
        walks.tally_in_order(class, tags_max + 1, &mut turn);
    }
    (reached, usize::from(highest) + 1)
}

/// By slot: its place in a topological order of the turns that keep `tag`. A host's slot has none
/// before it, as nothing turns into it.
fn topological(network: &Network, matrix: &RuleMatrix, tag: usize) -> Vec<u32> {
    let (mut tails, mut heads) = (Vec::new(), Vec::new());
    matrix.for_each(|slot, of, output, new_tag| {
        if usize::from(of) == tag
            && of == new_tag
            && let Some(far) = network.far_slot(output)
        {
            tails.push(slot);
            heads.push(far);
        }
    });
    let graph = Digraph::new(network.slots(), tails, heads);
    let places = graph.topological((0..u32_of(network.slots())).rev(), |_| true);
    debug_assert!(places.is_some(), "Algorithm 2 merges without a cycle");
    places.unwrap_or_else(|| vec![0; network.slots()])
}
