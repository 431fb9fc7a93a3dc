//! The topology of a network: switches, hosts, and which port is linked to which.
//!
//! A **slot** is a port of a switch, numbered across the whole network: the ports of switch 0 come
//! first, then those of switch 1, and so on. All that is known of ports lies in arrays indexed by
//! slot, which is what lets ten thousand switches of 64 ports stay in a few megabytes.
//!
//! A slot names a directed channel too, the one that enters the switch by that port; in Tagger's
//! notation slot and tag together are the node (A_i, x).

pub mod generate;

use crate::length::Length;
use dataplane::ids::PortId;
use dataplane::limits::PORTS_MAX;
use dataplane::time::Speed;

/// Set in an entry of `Network::peers` that is a host.
const HOST_BIT: u32 = 1 << 31;
/// An entry of `Network::peers` without a link.
const NO_PEER: u32 = u32::MAX;

/// What is at the other end of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// Nothing.
    None,
    /// A host, by its number.
    Host(u32),
    /// A port of a switch, by its slot.
    Slot(u32),
}

/// One end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// A port of a switch, by its slot.
    Slot(u32),
    /// A host's only port, by the host's number.
    Host(u32),
}

/// A link as the file has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its two ends.
    pub ends: [End; 2],
    /// Its speed, if the file gives one.
    pub speed: Option<Speed>,
    /// The cable's length, if the file gives one.
    pub length: Option<Length>,
}

/// Why a link cannot be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// A port or a host has a link already.
    #[error("has a link already")]
    Used(End),
    /// Both ends are hosts.
    #[error("joins two hosts; one end must be a switch's port, such as \"A:1\"")]
    NoSwitch,
    /// Both ends are the same port.
    #[error("leads back to the port it comes from")]
    SamePort,
    /// Both ends are ports of one switch.
    #[error("joins a switch to itself; one end must be at another switch or a host")]
    SameSwitch,
}

/// Switches and hosts by number, their ports by slot. See the [module](self).
#[derive(Clone, Debug, Default)]
pub struct Network {
    switch_names: Vec<String>,
    host_names: Vec<String>,
    /// The first slot of each switch, and one past the last slot.
    first_slot: Vec<u32>,
    /// By slot: its switch.
    owner: Vec<u32>,
    /// By slot: a slot, `HOST_BIT` and a host, or `NO_PEER`.
    peers: Vec<u32>,
    /// By host: the slot it is linked to, or `NO_PEER`.
    host_slots: Vec<u32>,
    links: Vec<Link>,
    /// By slot: its port's name; empty if no port of the network has one.
    port_names: Vec<String>,
    /// By slot: the dimension of its link, where the topology has dimensions.
    dimensions: Vec<u8>,
}

/// A count or an index as it is stored.
///
/// # Panics
/// From 2^31 on, which no network that fits in memory reaches.
pub(crate) fn u32_of(value: usize) -> u32 {
    u32::try_from(value).ok().filter(|&value| value < HOST_BIT).expect("fewer than 2^31 of a kind")
}

impl Network {
    /// A network of nothing.
    pub fn new() -> Self {
        Self { first_slot: vec![0], ..Self::default() }
    }

    /// Adds a switch of `ports` ports, 1 to [`PORTS_MAX`], and returns its number.
    pub fn add_switch(&mut self, name: impl Into<String>, ports: usize) -> u32 {
        let switch = u32_of(self.switch_names.len());
        let ports = ports.clamp(1, PORTS_MAX);
        self.switch_names.push(name.into());
        self.owner.resize(self.owner.len() + ports, switch);
        self.peers.resize(self.owner.len(), NO_PEER);
        self.first_slot.push(u32_of(self.owner.len()));
        switch
    }

    /// Gives a port a name, by which files then name it too.
    pub fn name_port(&mut self, slot: u32, name: impl Into<String>) {
        self.port_names.resize(self.owner.len(), String::new());
        self.port_names[slot as usize] = name.into();
    }

    /// The slot of a switch's port by the port's name.
    pub fn slot_named(&self, switch: u32, name: &str) -> Option<u32> {
        let of = |slot: &u32| self.port_names.get(*slot as usize).is_some_and(|it| it == name);
        self.slots_of(switch).find(of)
    }

    /// A port's name; its number if it has none.
    pub fn port_name(&self, slot: u32) -> String {
        let name = self.port_names.get(slot as usize).filter(|name| !name.is_empty());
        name.map_or_else(|| self.port(slot).to_string(), String::clone)
    }

    /// Adds a host and returns its number.
    pub fn add_host(&mut self, name: impl Into<String>) -> u32 {
        self.host_names.push(name.into());
        self.host_slots.push(NO_PEER);
        u32_of(self.host_names.len() - 1)
    }

    /// Adds a link.
    ///
    /// # Errors
    /// An end has a link already, both are hosts, or both are at the same switch.
    pub fn add_link(&mut self, link: Link) -> Result<(), LinkError> {
        let [one, other] = link.ends;
        if one == other {
            return Err(LinkError::SamePort);
        }
        if let Some(used) = link.ends.into_iter().find(|&end| self.is_linked(end)) {
            return Err(LinkError::Used(used));
        }
        let code = |end| match end {
            End::Slot(slot) => slot,
            End::Host(host) => HOST_BIT | host,
        };
        match (one, other) {
            (End::Host(_), End::Host(_)) => return Err(LinkError::NoSwitch),
            (End::Slot(slot), End::Host(host)) | (End::Host(host), End::Slot(slot)) => {
                self.peers[slot as usize] = code(End::Host(host));
                self.host_slots[host as usize] = slot;
            }
            (End::Slot(a), End::Slot(b)) if self.owner(a) == self.owner(b) => {
                return Err(LinkError::SameSwitch);
            }
            (End::Slot(a), End::Slot(b)) => {
                self.peers[a as usize] = b;
                self.peers[b as usize] = a;
            }
        }
        self.links.push(link);
        Ok(())
    }

    /// The number of the link that has this end.
    pub fn link_with(&self, end: End) -> Option<usize> {
        self.links.iter().position(|link| link.ends.contains(&end))
    }

    /// The end of a link by its name: `A:3`, or a host. `None` if there is no such end, or it has
    /// no link.
    pub fn linked_end(&self, name: &str) -> Option<End> {
        let end = match name.split_once(':') {
            Some((switch, port)) => {
                let switch = self.switch_named(switch)?;
                let numbered = || self.slot(switch, PortId::from_number(port.parse().ok()?)?);
                End::Slot(self.slot_named(switch, port).or_else(numbered)?)
            }
            None => End::Host(u32_of(self.host_names.iter().position(|host| host == name)?)),
        };
        self.is_linked(end).then_some(end)
    }

    /// The switch of this name.
    pub fn switch_named(&self, name: &str) -> Option<u32> {
        self.switch_names.iter().position(|switch| switch == name).map(u32_of)
    }

    /// Whether an end has a link.
    pub fn is_linked(&self, end: End) -> bool {
        match end {
            End::Slot(slot) => self.peers[slot as usize] != NO_PEER,
            End::Host(host) => self.host_slots[host as usize] != NO_PEER,
        }
    }

    /// Says of which dimension the link at `slot` is.
    pub(super) fn set_dimension(&mut self, slot: u32, dimension: u8) {
        self.dimensions.resize(self.owner.len(), 0);
        self.dimensions[slot as usize] = dimension;
    }

    /// How many switches there are.
    pub const fn switches(&self) -> usize {
        self.switch_names.len()
    }

    /// The numbers of all switches.
    pub fn all_switches(&self) -> std::ops::Range<u32> {
        0..u32_of(self.switch_names.len())
    }

    /// How many hosts there are.
    pub const fn hosts(&self) -> usize {
        self.host_names.len()
    }

    /// How many slots there are.
    pub const fn slots(&self) -> usize {
        self.owner.len()
    }

    /// All links, in the order of the file.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// The name of a switch.
    pub fn switch_name(&self, switch: u32) -> &str {
        &self.switch_names[switch as usize]
    }

    /// The name of a host.
    pub fn host_name(&self, host: u32) -> &str {
        &self.host_names[host as usize]
    }

    /// How many ports a switch has.
    pub fn ports(&self, switch: u32) -> usize {
        self.slots_of(switch).len()
    }

    /// The slots of a switch: port 1, port 2, ...
    pub fn slots_of(&self, switch: u32) -> std::ops::Range<u32> {
        self.first_slot[switch as usize]..self.first_slot[switch as usize + 1]
    }

    /// The slot of a switch's port.
    pub fn slot(&self, switch: u32, port: PortId) -> Option<u32> {
        let slots = self.slots_of(switch);
        slots.start.checked_add(u32::from(port.index_u16())).filter(|slot| slots.contains(slot))
    }

    /// The slot of a switch's port by the port's index, which the switch must have.
    pub(crate) fn slot_at(&self, switch: u32, port_index: u8) -> u32 {
        self.first_slot[switch as usize] + u32::from(port_index)
    }

    /// The switch that has this slot.
    pub fn owner(&self, slot: u32) -> u32 {
        self.owner[slot as usize]
    }

    /// The port of a slot.
    pub fn port(&self, slot: u32) -> PortId {
        let index = slot - self.first_slot[self.owner(slot) as usize];
        PortId::from_index(index as usize).expect("a switch has PORTS_MAX ports at the most")
    }

    /// The index of a slot's port, in the width it is stored in.
    pub(crate) fn port_index(&self, slot: u32) -> u8 {
        u8::try_from(self.port(slot).index()).expect("PORTS_MAX is 256")
    }

    /// What is at the other end of a slot's port.
    pub fn peer(&self, slot: u32) -> Peer {
        match self.peers[slot as usize] {
            NO_PEER => Peer::None,
            peer if peer & HOST_BIT != 0 => Peer::Host(peer & !HOST_BIT),
            peer => Peer::Slot(peer),
        }
    }

    /// The slot at the other end of a link between switches; `None` for a host's port or one
    /// without a link.
    pub fn far_slot(&self, slot: u32) -> Option<u32> {
        let peer = self.peers[slot as usize];
        (peer & HOST_BIT == 0).then_some(peer)
    }

    /// The slot that a host is linked to.
    pub fn host_slot(&self, host: u32) -> Option<u32> {
        Some(self.host_slots[host as usize]).filter(|&slot| slot != NO_PEER)
    }

    /// The slots of a switch that lead to hosts, lowest first.
    pub fn host_slots_of(&self, switch: u32) -> impl Iterator<Item = u32> + '_ {
        self.slots_of(switch).filter(|&slot| matches!(self.peer(slot), Peer::Host(_)))
    }

    /// The links of a switch to other switches, as (its slot, the far slot), lowest port first.
    pub fn neighbors(&self, switch: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.slots_of(switch).filter_map(|slot| Some((slot, self.far_slot(slot)?)))
    }

    /// The dimension of the link at a slot, where the topology has dimensions (BCube, HyperX).
    pub(crate) fn dimension(&self, slot: u32) -> Option<u8> {
        self.dimensions.get(slot as usize).copied()
    }

    /// A port as files name it: `A:3`.
    pub fn show(&self, slot: u32) -> String {
        format!("{}:{}", self.switch_name(self.owner(slot)), self.port_name(slot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(one: End, other: End) -> Link {
        Link { ends: [one, other], speed: None, length: None }
    }

    #[test]
    fn a_link_is_seen_from_both_ends_and_only_once() {
        let mut network = Network::new();
        let (a, b) = (network.add_switch("A", 2), network.add_switch("B", 3));
        let host = network.add_host("H");
        let (a1, a2, b3) =
            (network.slots_of(a).start, network.slots_of(a).start + 1, network.slots_of(b).end - 1);
        network.add_link(plain(End::Slot(a2), End::Slot(b3))).unwrap();
        network.add_link(plain(End::Host(host), End::Slot(a1))).unwrap();
        assert_eq!(network.far_slot(a2), Some(b3));
        assert_eq!(network.far_slot(b3), Some(a2));
        assert_eq!(network.peer(a1), Peer::Host(host));
        assert_eq!(network.far_slot(a1), None);
        assert_eq!(network.host_slot(host), Some(a1));
        assert_eq!(network.peer(b3 - 1), Peer::None);
        assert_eq!(network.show(b3), "B:3");
        assert_eq!(network.neighbors(a).collect::<Vec<_>>(), [(a2, b3)]);
        assert_eq!(network.slot(a, PortId::from_number(3).unwrap()), None);

        let used = network.add_link(plain(End::Slot(a2), End::Slot(b3 - 1)));
        assert_eq!(used, Err(LinkError::Used(End::Slot(a2))));
        let other = network.add_host("J");
        assert_eq!(
            network.add_link(plain(End::Host(other), End::Host(host))),
            Err(LinkError::Used(End::Host(host)))
        );
        let third = network.add_host("K");
        assert_eq!(
            network.add_link(plain(End::Host(other), End::Host(third))),
            Err(LinkError::NoSwitch)
        );
        let same = End::Slot(b3 - 1);
        assert_eq!(network.add_link(plain(same, same)), Err(LinkError::SamePort));
        assert_eq!(network.links().len(), 2, "what is refused leaves no trace");
    }
}
