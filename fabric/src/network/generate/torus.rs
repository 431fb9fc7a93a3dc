//! Tori and meshes: switches in a lattice, each linked to the next one in each dimension; in a
//! torus the last one to the first, too.

use super::{Draft, GenerateError, Parameters};
use dataplane::limits::PORTS_MAX;

/// Builds it. Switch `X` is numbered with the first coordinate fastest.
pub(super) fn build(
    draft: &mut Draft,
    parameters: &Parameters,
    wraps: bool,
) -> Result<(), GenerateError> {
    parameters.allow(&["shape", "hosts"])?;
    let shape = parameters.shape()?;
    let hosts = parameters.optional("hosts", 1, PORTS_MAX)?.unwrap_or(1);
    let ports = hosts + 2 * shape.len();
    if ports > PORTS_MAX {
        let message = format!("a switch would need {ports} ports; it can have {PORTS_MAX}");
        return Err(GenerateError::wrong("hosts", message));
    }
    let factors: Vec<usize> = shape.iter().copied().chain([ports]).collect();
    parameters.check_size(&factors)?;
    let count = shape.iter().product();
    let switches: Vec<u32> =
        (1..=count).map(|number| draft.switch(format!("X{number}"), ports)).collect();
    switches.iter().for_each(|&switch| draft.hosts(switch, hosts));
    let mut stride = 1;
    for (dimension, &size) in (0..).zip(&shape) {
        for at in 0..count {
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
