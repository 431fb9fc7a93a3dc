//! Deals nodes and wires out to the parts of a network.

use crate::link::{Endpoint, Ends, Wire};
use crate::network::Place;

/// Which part has which nodes.
#[derive(Debug)]
pub(crate) struct Deal {
    /// By node, switches first, then hosts.
    pub(crate) places: Vec<Place>,
    pub(crate) parts: usize,
}

impl Deal {
    /// `parts` parts, with the nodes that `of` says; in each, nodes keep their order.
    pub(crate) fn new(of: &[usize], parts: usize) -> Self {
        let mut counts = vec![0; parts];
        let place = |&part: &usize| {
            let node = counts[part];
            counts[part] += 1;
            Place { part, node }
        };
        Self { places: of.iter().map(place).collect(), parts }
    }

    /// By part, its share of `nodes`, the first of which is number `first`.
    pub(crate) fn nodes<T>(&self, nodes: Vec<T>, first: usize) -> Vec<Vec<T>> {
        let mut dealt: Vec<Vec<T>> = (0..self.parts).map(|_| Vec::new()).collect();
        for (node, place) in nodes.into_iter().zip(&self.places[first..]) {
            dealt[place.part].push(node);
        }
        dealt
    }

    /// All wires as `part` has them; `wire` makes one that ends where it is told.
    pub(crate) fn wires(
        &self,
        part: usize,
        ends: &[Ends],
        wire: impl Fn(usize, Endpoint) -> Wire,
    ) -> Vec<Wire> {
        let of_part = |(number, ends): (usize, &Ends)| {
            let [from, to] = [ends.from, ends.to].map(|end| self.places[end.node()]);
            let node = u32::try_from(to.node).unwrap_or(u32::MAX);
            let mut wire = wire(number, Endpoint { node, ..ends.to });
            if from.part == part && to.part != part {
                wire.lead_to(to.part);
            }
            wire
        };
        ends.iter().enumerate().map(of_part).collect()
    }
}
