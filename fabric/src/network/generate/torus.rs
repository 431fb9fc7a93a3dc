//! Tori and meshes: switches in a lattice, each linked to the next one in each dimension; in a
//! torus the last one to the first, too.

use super::lattice::{self, Lattice};
use super::{Draft, GenerateError, Parameters};

/// Builds it.
pub(super) fn build(
    draft: &mut Draft,
    parameters: &Parameters,
    wraps: bool,
) -> Result<(), GenerateError> {
    let network_ports = |shape: &[usize]| 2 * shape.len();
    let Lattice { shape, switches } = lattice::build(draft, parameters, network_ports)?;
    let mut stride = 1;
    for (dimension, &size) in (0..).zip(&shape) {
        for at in 0..switches.len() {
            let coordinate = at / stride % size;
            // Two switches in a row are linked once.
            let is_last = coordinate + 1 == size;
            if is_last && (!wraps || size == 2) {
                continue;
            }
            let next = if is_last { at - coordinate * stride } else { at + stride };
            let slots = draft.link(switches[at], switches[next]);
            slots.iter().for_each(|&slot| draft.network.set_dimension(slot, dimension));
        }
        stride *= size;
    }
    Ok(())
}
