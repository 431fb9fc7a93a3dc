//! Jellyfish: a random regular graph of switches (Singla et al., 2012).

use super::{Draft, GenerateError, Parameters};
use dataplane::limits::PORTS_MAX;
use random::{Draw, SplitMix64};
use std::collections::HashSet;

/// Rounds of repair after which a graph is given up and another one tried.
const REPAIRS_MAX: usize = 1_000;

/// Builds it. Switch `J` has hosts on its first ports, the others lead to other switches. Ports to
/// switches are in the order of the switches they lead to.
pub(super) fn build(draft: &mut Draft, parameters: &Parameters) -> Result<(), GenerateError> {
    parameters.allow(&["switches", "ports", "network_ports", "seed"])?;
    let count = parameters.need("switches", 2, 1 << 20)?;
    let ports = parameters.need("ports", 1, PORTS_MAX)?;
    let degree = parameters.need("network_ports", 1, ports)?;
    parameters.check_size(&[count, ports])?;
    if degree >= count {
        let message = format!(
            "`network_ports` is {degree}; {count} switches have at most {} others to link to",
            count - 1
        );
        return Err(GenerateError::wrong("network_ports", message));
    }
    if !(count * degree).is_multiple_of(2) {
        let message = format!("{count} switches of {degree} ports leave one over; make one even");
        return Err(GenerateError::wrong("network_ports", message));
    }
    let edges = random_regular(count, degree, parameters.seed()?);
    let switches: Vec<u32> =
        (1..=count).map(|number| draft.switch(format!("J{number}"), ports)).collect();
    switches.iter().for_each(|&switch| draft.hosts(switch, ports - degree));
    for (one, other) in edges {
        draft.link(switches[one], switches[other]);
    }
    Ok(())
}

/// The edges of a random simple graph in which every node has `degree` edges, in order.
///
/// Ends are paired at random; then, while a pair is a loop or there twice, it exchanges an end with
/// a random other pair. That is the pairing model with the switchings of McKay and Wormald, cut
/// short: near enough to uniform for a topology, and fast at any degree.
fn random_regular(count: usize, degree: usize, seed: u64) -> Vec<(usize, usize)> {
    if degree > count / 2 {
        // A dense graph is what a sparse one leaves out: pairing would hardly ever come out simple.
        let left_out = random_regular(count, count - 1 - degree, seed);
        let left_out: HashSet<(usize, usize)> = left_out.into_iter().collect();
        let all = (0..count).flat_map(|one| (one + 1..count).map(move |other| (one, other)));
        return all.filter(|pair| !left_out.contains(pair)).collect();
    }
    for attempt in 0.. {
        let mut rng = random::seeded(seed.wrapping_add(attempt << 32));
        let mut ends: Vec<usize> = (0..count * degree).map(|end| end / degree).collect();
        rng.shuffle(&mut ends);
        let mut pairs: Vec<(usize, usize)> =
            ends.chunks_exact(2).map(|pair| (pair[0].min(pair[1]), pair[0].max(pair[1]))).collect();
        if repair(&mut pairs, &mut rng) {
            pairs.sort_unstable();
            return pairs;
        }
    }
    Vec::new()
}

/// Makes the graph simple; `false` if that does not come to an end, as in a graph that is nearly
/// complete.
fn repair(pairs: &mut [(usize, usize)], rng: &mut SplitMix64) -> bool {
    let mut seen = HashSet::new();
    let mut wrong: Vec<usize> =
        (0..pairs.len()).filter(|&at| is_loop(pairs[at]) || !seen.insert(pairs[at])).collect();
    let tries = REPAIRS_MAX.saturating_mul(wrong.len().max(1));
    for _ in 0..tries {
        let Some(&at) = wrong.last() else { return true };
        let other = rng.index(pairs.len());
        if wrong.contains(&other) {
            continue;
        }
        let (mut one, mut two) = (pairs[at], pairs[other]);
        let end = if rng.index(2) == 0 { &mut two.0 } else { &mut two.1 };
        std::mem::swap(&mut one.1, end);
        let (one, two) = (ordered(one), ordered(two));
        if is_loop(one) || is_loop(two) || one == two || seen.contains(&one) || seen.contains(&two)
        {
            continue;
        }
        seen.remove(&pairs[other]);
        seen.insert(one);
        seen.insert(two);
        (pairs[at], pairs[other]) = (one, two);
        wrong.pop();
    }
    wrong.is_empty()
}

const fn is_loop(pair: (usize, usize)) -> bool {
    pair.0 == pair.1
}

fn ordered(pair: (usize, usize)) -> (usize, usize) {
    (pair.0.min(pair.1), pair.0.max(pair.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_has_its_degree_and_no_edge_is_there_twice() {
        for (count, degree) in [(2, 1), (5, 4), (6, 3), (10, 9), (10, 8), (40, 20), (300, 7)] {
            let edges = random_regular(count, degree, 7);
            let mut degrees = vec![0; count];
            for &(one, other) in &edges {
                assert!(one < other && other < count);
                degrees[one] += 1;
                degrees[other] += 1;
            }
            assert_eq!(degrees, vec![degree; count], "{count} nodes");
            assert_eq!(edges.iter().collect::<HashSet<_>>().len(), edges.len());
            assert!(edges.is_sorted());
            assert_eq!(edges, random_regular(count, degree, 7), "a seed is a graph");
        }
        assert_ne!(random_regular(40, 4, 1), random_regular(40, 4, 2));
    }
}
