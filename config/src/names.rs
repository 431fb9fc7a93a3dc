//! The names of nodes and ports, as files give them: what each stands for, or what was meant.

use crate::did_you_mean;
use dataplane::ids::PortId;
use fabric::Network;
use fabric::network::End;
use std::collections::HashMap;

/// Whether `c` may be in the name of a switch or node.
pub(crate) const fn is_in_names(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

/// Whether `text` may be the name of a switch or node, and so of a file.
pub(crate) fn is_name(text: &str) -> bool {
    (1..=63).contains(&text.len()) && !text.starts_with('.') && text.chars().all(is_in_names)
}

/// Nodes by name. Ordered output never comes from it, so its order does not matter.
#[derive(Debug, Default)]
pub(crate) struct Names<'a> {
    pub(crate) nodes: HashMap<&'a str, Node>,
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    /// A switch, by its number.
    Switch(u32),
    /// A host, by its number.
    Host(u32),
}

impl<'a> Names<'a> {
    /// The names of a whole network.
    pub(crate) fn of(network: &'a Network) -> Self {
        let mut names = Self::default();
        for switch in network.all_switches() {
            names.nodes.insert(network.switch_name(switch), Node::Switch(switch));
        }
        for host in (0..).take(network.hosts()) {
            names.nodes.insert(network.host_name(host), Node::Host(host));
        }
        names
    }

    /// What `name` stands for; `Err` is the whole message.
    pub(crate) fn find(&self, name: &str) -> Result<Node, String> {
        self.nodes.get(name).copied().ok_or_else(|| {
            // Hundreds of thousands of names are no help, and slow to compare.
            let few = self.nodes.len() <= 1_000;
            let mut known: Vec<&str> = self.nodes.keys().filter(|_| few).copied().collect();
            known.sort_unstable();
            match did_you_mean::nearest(name, known) {
                Some(near) => {
                    format!("there is no switch or host `{name}`; did you mean `{near}`?")
                }
                None => format!("there is no switch or host `{name}`; name one of those declared"),
            }
        })
    }
}

/// One end of a link; `Err` is the whole message.
pub(crate) fn find_end(network: &Network, names: &Names<'_>, text: &str) -> Result<End, String> {
    let (name, port) = match text.split_once(':') {
        Some((name, port)) => (name, Some(port)),
        None => (text, None),
    };
    match (names.find(name)?, port) {
        (Node::Host(host), None) => Ok(End::Host(host)),
        (Node::Host(_), Some(_)) => {
            Err(format!("`{name}` is a host and has one port; write \"{name}\""))
        }
        (Node::Switch(switch), Some(port)) => slot_of(network, switch, port).map(End::Slot),
        (Node::Switch(_), None) => {
            Err(format!("`{name}` is a switch; say which port, such as \"{name}:1\""))
        }
    }
}

/// As [`find_end`], of an end that has a link.
pub(crate) fn linked_end(network: &Network, names: &Names<'_>, text: &str) -> Result<End, String> {
    let end = find_end(network, names, text)?;
    if network.is_linked(end) {
        return Ok(end);
    }
    Err(format!("`{text}` has no link; name a port that has one"))
}

/// A switch's port by its name, or its number as text; `Err` is the whole message.
pub(crate) fn slot_of(network: &Network, switch: u32, port: &str) -> Result<u32, String> {
    if let Some(slot) = network.slot_named(switch, port) {
        return Ok(slot);
    }
    let number = port.parse().ok().and_then(PortId::from_number);
    number.and_then(|port| network.slot(switch, port)).ok_or_else(|| {
        let (name, ports) = (network.switch_name(switch), network.ports(switch));
        let named = network.slots_of(switch).map(|slot| network.port_name(slot));
        let named: Vec<String> = named.filter(|name| name.parse::<usize>().is_err()).collect();
        match did_you_mean::nearest(port, named.iter().map(String::as_str)) {
            Some(near) => format!("`{name}` has no port `{port}`; did you mean `{near}`?"),
            None => format!("`{name}` has no port `{port}`; its ports are 1 to {ports}"),
        }
    })
}
