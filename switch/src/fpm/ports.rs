//! From the kernel's numbers of interfaces to ports.

use crate::host_taps::InterfaceIndexes;
use dataplane::ids::PortId;
use nix::net::if_::if_nametoindex;
use std::collections::HashMap;
use std::fmt::Debug;
use std::time::{Duration, Instant};

/// Who knows which interface stands for which port.
pub(crate) trait PortIndexes: Debug + Send {
    /// The port of the interface with this number in the kernel.
    fn port_of(&mut self, interface: u32) -> Option<PortId>;
}

impl PortIndexes for InterfaceIndexes {
    fn port_of(&mut self, interface: u32) -> Option<PortId> {
        Self::port_of(self, interface)
    }
}

/// How often the kernel is asked for interfaces that were not there.
const ASK_INTERVAL: Duration = Duration::from_secs(1);

/// Interfaces that have the names of the ports.
#[derive(Debug)]
pub(crate) struct NamedPorts {
    names: Vec<(String, PortId)>,
    known: HashMap<u32, PortId>,
    asked_at: Option<Instant>,
}

impl NamedPorts {
    /// Ports with these names.
    pub(crate) fn new(names: Vec<(String, PortId)>) -> Self {
        Self { names, known: HashMap::new(), asked_at: None }
    }

    fn ask(&mut self) {
        let found = self.names.iter().filter_map(|(name, port)| {
            let interface = if_nametoindex(name.as_str()).ok()?;
            Some((interface, *port))
        });
        self.known = found.collect();
    }
}

impl PortIndexes for NamedPorts {
    fn port_of(&mut self, interface: u32) -> Option<PortId> {
        let known = self.known.get(&interface).copied();
        // An interface may have been made, or made again, since.
        if known.is_none() && self.asked_at.is_none_or(|at| at.elapsed() >= ASK_INTERVAL) {
            self.ask();
            self.asked_at = Some(Instant::now());
            return self.known.get(&interface).copied();
        }
        known
    }
}
