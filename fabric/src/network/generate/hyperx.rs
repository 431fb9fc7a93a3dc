//! HyperX: switches in a lattice, each linked to all that differ from it in one coordinate (Ahn et
//! al., 2009).

use super::lattice::{self, Lattice};
use super::{Draft, GenerateError, Parameters};

/// Builds it.
pub(super) fn build(draft: &mut Draft, parameters: &Parameters) -> Result<(), GenerateError> {
    let network_ports = |shape: &[usize]| shape.iter().map(|size| size - 1).sum();
    let Lattice { shape, switches } = lattice::build(draft, parameters, network_ports)?;
    let mut stride = 1;
    for (dimension, &size) in (0..).zip(&shape) {
        for at in 0..switches.len() {
            let coordinate = at / stride % size;
            for further in 1..size - coordinate {
                let slots = draft.link(switches[at], switches[at + further * stride]);
                slots.iter().for_each(|&slot| draft.network.set_dimension(slot, dimension));
            }
        }
        stride *= size;
    }
    Ok(())
}
