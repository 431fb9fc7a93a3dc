//! What HyperX, tori and meshes share: switches in a lattice, with hosts.

use super::{Draft, GenerateError, Parameters};
use dataplane::limits::PORTS_MAX;

/// The switches of a lattice, without links between them. Switch `X` is numbered with the first
/// coordinate fastest.
pub(super) struct Lattice {
    pub(super) shape: Vec<usize>,
    pub(super) switches: Vec<u32>,
}

/// Builds the switches of `shape`, with `hosts` each and the ports to others that `network_ports`
/// says.
pub(super) fn build(
    draft: &mut Draft,
    parameters: &Parameters,
    network_ports: impl Fn(&[usize]) -> usize,
) -> Result<Lattice, GenerateError> {
    parameters.allow(&["shape", "hosts"])?;
    let shape = parameters.shape()?;
    let hosts = parameters.optional("hosts", 1, PORTS_MAX)?.unwrap_or(1);
    let ports = hosts + network_ports(&shape);
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
    Ok(Lattice { shape, switches })
}
