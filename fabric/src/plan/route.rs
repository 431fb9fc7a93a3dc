//! A path as a plan sees it: its switches, the buffers it waits in, and its name.

use crate::network::Network;

/// A way through the network.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Route {
    /// The slot of the host that it begins at, if it begins at a host.
    pub source: Option<u32>,
    /// The first switch.
    pub first: u32,
    /// The slots by which it comes into the other switches: the buffers it waits in.
    pub inputs: Vec<u32>,
    /// The slot of the host that it ends at, if it ends at a host.
    pub target: Option<u32>,
}

impl Route {
    /// Its switches, in order.
    pub fn switches<'a>(&'a self, network: &'a Network) -> impl Iterator<Item = u32> + 'a {
        let others = self.inputs.iter().map(|&input| network.owner(input));
        [self.first].into_iter().chain(others)
    }

    /// How many switches it passes.
    pub const fn len(&self) -> usize {
        self.inputs.len() + 1
    }

    /// Never: a route passes a switch.
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// The pairs of buffers of which the first waits for the second.
    pub fn waits(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.inputs.windows(2).map(|pair| (pair[0], pair[1]))
    }

    /// Its turns, each the slots it comes in and goes out by; of the first and the last switch only
    /// where a host is.
    pub fn turns<'a>(&'a self, network: &'a Network) -> impl Iterator<Item = (u32, u32)> + 'a {
        let inputs = [self.source].into_iter().chain(self.inputs.iter().copied().map(Some));
        let outputs = self.inputs.iter().map(|&input| network.far_slot(input));
        inputs.zip(outputs.chain([self.target])).filter_map(|(input, output)| input.zip(output))
    }
}

/// A route with the name it has in its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPath {
    /// What people call it.
    pub name: String,
    /// Where it leads.
    pub route: Route,
}
