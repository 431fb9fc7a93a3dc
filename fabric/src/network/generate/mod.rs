//! Topologies of known kinds, from a few numbers.
//!
//! Hosts are `H1`, `H2`, ... in the order of their switches. Ports to hosts come first on a switch,
//! then those to other switches, then those without a link; BCube's servers have them the other way
//! round.

mod bcube;
mod clos;
mod fat_tree;
mod hyperx;
mod jellyfish;
mod lattice;
mod parameters;
mod slim_fly;
mod torus;

pub use parameters::{GenerateError, Kind, Parameters};

use crate::length::Length;
use crate::network::{End, Link, Network};
use dataplane::time::Speed;

/// Builds the network that `parameters` ask for.
///
/// # Errors
/// A number is missing, out of range, or of no use to this kind of network.
pub fn build(parameters: &Parameters) -> Result<Network, GenerateError> {
    let mut draft = Draft::new(parameters);
    match parameters.kind() {
        Kind::Clos => clos::build(&mut draft, parameters)?,
        Kind::FatTree => {
            parameters.allow(&["k", "pods"])?;
            let k = parameters.even("k", 2, 256)?;
            let pods = parameters.optional("pods", 1, k)?;
            fat_tree::build(&mut draft, k, pods.unwrap_or(k), false);
        }
        Kind::F10 => {
            parameters.allow(&["k"])?;
            let k = parameters.even("k", 4, 256)?;
            fat_tree::build(&mut draft, k, k, true);
        }
        Kind::Jellyfish => jellyfish::build(&mut draft, parameters)?,
        Kind::Bcube => bcube::build(&mut draft, parameters)?,
        Kind::Hyperx => hyperx::build(&mut draft, parameters)?,
        Kind::Torus => torus::build(&mut draft, parameters, true)?,
        Kind::Mesh => torus::build(&mut draft, parameters, false)?,
        Kind::SlimFly => slim_fly::build(&mut draft, parameters)?,
    }
    Ok(draft.network)
}

/// A network being built, and the next free port of each switch.
struct Draft {
    network: Network,
    /// By switch: how many of its ports are taken, from the first on.
    taken: Vec<u32>,
    speed: Option<Speed>,
    length: Option<Length>,
}

impl Draft {
    fn new(parameters: &Parameters) -> Self {
        let Parameters { speed, length, .. } = *parameters;
        Self { network: Network::new(), taken: Vec::new(), speed, length }
    }

    fn switch(&mut self, name: String, ports: usize) -> u32 {
        self.taken.push(0);
        self.network.add_switch(name, ports)
    }

    /// The next free port of a switch.
    fn port(&mut self, switch: u32) -> u32 {
        let slot = self.network.slots_of(switch).start + self.taken[switch as usize];
        self.taken[switch as usize] += 1;
        slot
    }

    fn join(&mut self, one: End, other: End) {
        let link = Link { ends: [one, other], speed: self.speed, length: self.length };
        self.network.add_link(link).expect("a generator takes each port once");
    }

    /// Links two switches by their next free ports, and returns the slots.
    fn link(&mut self, one: u32, other: u32) -> [u32; 2] {
        let slots = [self.port(one), self.port(other)];
        self.join(End::Slot(slots[0]), End::Slot(slots[1]));
        slots
    }

    /// Gives a switch `count` hosts.
    fn hosts(&mut self, switch: u32, count: usize) {
        for _ in 0..count {
            let host = self.network.add_host(format!("H{}", self.network.hosts() + 1));
            let slot = self.port(switch);
            self.join(End::Slot(slot), End::Host(host));
        }
    }
}
