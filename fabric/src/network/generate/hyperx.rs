//! HyperX: switches in a lattice, each linked to all that differ from it in one coordinate (Ahn et
//! al., 2009).

use super::{Draft, GenerateError, Parameters};
use dataplane::limits::PORTS_MAX;

/// Builds it. Switch `X` is numbered with the first coordinate fastest.
pub(super) fn build(draft: &mut Draft, parameters: &Parameters) -> Result<(), GenerateError> {
    parameters.allow(&["shape", "hosts"])?;
    let shape = parameters.shape()?;
    let hosts = parameters.optional("hosts", 1, PORTS_MAX)?.unwrap_or(1);
    let ports = hosts + shape.iter().map(|size| size - 1).sum::<usize>();
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
            for further in 1..size - coordinate {
                let slots = draft.link(switches[at], switches[at + further * stride]);
                slots.iter().for_each(|&slot| draft.network.set_dimension(slot, dimension));
            }
        }
        stride *= size;
    }
    Ok(())
}
