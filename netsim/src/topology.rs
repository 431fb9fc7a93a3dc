//! Links between nodes, and the addresses of nodes.
//!
//! Addresses follow from numbers: link n has 172.16.0.0/12's n-th network of four, the hosts of
//! switch n have 10.0.0.0/8's n-th network of 256, and a flow with a path of its own has its number
//! above 100.64.0.0, so that two such flows to one host need not agree on a way anywhere.

use crate::build_error::BuildError;
use crate::event::{NODES_MAX, WIRES_MAX};
use crate::link::{Endpoint, Ends, LinkSpec};
use dataplane::fib::ROUTES_MAX;
use dataplane::ids::PortId;
use dataplane::wire::MacAddress;
use ipnet::Ipv4Net;
use std::collections::VecDeque;
use std::net::Ipv4Addr;

/// A switch, as [`NetworkBuilder::switch`](crate::builder::NetworkBuilder::switch) named it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SwitchId(pub(crate) usize);

impl SwitchId {
    /// The end of a link at this switch's port `number`, counted from 1.
    pub const fn port(self, number: usize) -> End {
        End::Switch(self, number)
    }

    /// Counted from 0, in the order in which the switches were added.
    pub const fn index(self) -> usize {
        self.0
    }
}

/// A host, as [`NetworkBuilder::host`](crate::builder::NetworkBuilder::host) named it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostId(pub(crate) usize);

/// One end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// A switch's port, by its number, counted from 1.
    Switch(SwitchId, usize),
    /// A host's only port.
    Host(HostId),
}

impl From<HostId> for End {
    fn from(host: HostId) -> Self {
        Self::Host(host)
    }
}

/// A link as it was added.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkDraft {
    pub(crate) ends: [End; 2],
    pub(crate) spec: LinkSpec,
}

/// The peer at the other end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    /// A switch, and which port of it.
    Switch(SwitchId, PortId),
    /// A host.
    Host(HostId),
}

/// A linked port of a switch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attachment {
    pub(crate) peer: Peer,
    /// Index of the link.
    pub(crate) link: usize,
    /// Which of its two ends this is.
    pub(crate) side: usize,
}

impl Attachment {
    /// The number of the wire that leads away from here. A link has two, the one from its first end
    /// first.
    #[expect(clippy::cast_possible_truncation, reason = "links are checked to be far below 2^31")]
    pub(crate) const fn wire(&self) -> u32 {
        (2 * self.link + self.side) as u32
    }

    /// The number of the wire that leads here.
    pub(crate) const fn wire_back(&self) -> u32 {
        self.wire() ^ 1
    }
}

/// The checked links.
#[derive(Debug)]
pub(crate) struct Topology {
    pub(crate) links: Vec<LinkDraft>,
    /// By switch and port index; `None` where no link is.
    pub(crate) ports: Vec<Vec<Option<Attachment>>>,
    /// By host: its switch, and which port of it.
    pub(crate) access: Vec<(SwitchId, PortId)>,
    /// By host: its number among the hosts of its switch.
    places: Vec<u8>,
    /// By host: the address that it has instead, if there is any.
    pub(crate) given: Vec<Option<Ipv4Addr>>,
}

/// Links whose networks fit 172.16.0.0/12.
const LINKS_MAX: usize = 1 << 18;
/// Switches whose hosts fit 10.0.0.0/8.
const SWITCHES_MAX: usize = 1 << 16;
const _: () = assert!(2 * LINKS_MAX <= WIRES_MAX && LINKS_MAX + SWITCHES_MAX <= NODES_MAX);
/// Flows: a switch may need a route for each, and all must fit its table.
pub(crate) const FLOWS_MAX: usize = ROUTES_MAX / 2;

const _: () = assert!(2 * FLOWS_MAX <= 1 << 22, "flows there and back fit 100.64.0.0/10");

impl Topology {
    /// The ports of `switch` to which hosts are linked.
    pub(crate) fn host_ports(&self, switch: SwitchId) -> Vec<PortId> {
        let access = self.access.iter().filter(|(owner, _)| *owner == switch);
        access.map(|&(_, port)| port).collect()
    }

    /// Checks that every link joins free ports of a switch and of another switch or a host, and
    /// that every host has a link.
    pub(crate) fn new(
        switches: &[String],
        hosts: &[String],
        links: Vec<LinkDraft>,
    ) -> Result<Self, BuildError> {
        for (what, count, most) in
            [("links", links.len(), LINKS_MAX), ("switches", switches.len(), SWITCHES_MAX)]
        {
            if count > most {
                return Err(BuildError::TooMany { what, count, most });
            }
        }
        let mut ports: Vec<Vec<Option<Attachment>>> = vec![Vec::new(); switches.len()];
        let mut access: Vec<Option<(SwitchId, PortId)>> = vec![None; hosts.len()];
        for (link, draft) in links.iter().enumerate() {
            for side in 0..2 {
                let peer = match draft.ends[1 - side] {
                    End::Switch(peer, number) => Peer::Switch(peer, port(switches, peer, number)?),
                    End::Host(host) => Peer::Host(host),
                };
                match draft.ends[side] {
                    End::Switch(switch, number) => {
                        let port = port(switches, switch, number)?;
                        let slots = &mut ports[switch.0];
                        slots.resize(slots.len().max(number), None);
                        let attachment = Attachment { peer, link, side };
                        if slots[port.index()].replace(attachment).is_some() {
                            let switch = switches[switch.0].clone();
                            return Err(BuildError::PortTaken { switch, port });
                        }
                    }
                    End::Host(host) => {
                        let name = || hosts[host.0].clone();
                        let Peer::Switch(switch, port) = peer else {
                            return Err(BuildError::HostToHost { host: name() });
                        };
                        if access[host.0].replace((switch, port)).is_some() {
                            return Err(BuildError::HostTaken { host: name() });
                        }
                    }
                }
            }
        }
        let linked = access.into_iter().zip(hosts).map(|(access, host)| {
            access.ok_or_else(|| BuildError::HostUnlinked { host: host.clone() })
        });
        let access: Vec<(SwitchId, PortId)> = linked.collect::<Result<_, _>>()?;
        let mut counts = vec![0_u8; switches.len()];
        let places = access.iter().map(|(switch, _)| {
            let count = &mut counts[switch.0];
            *count = count.checked_add(1)?;
            Some(*count)
        });
        let places: Option<Vec<u8>> = places.collect();
        let (what, most) = ("hosts of a switch", usize::from(u8::MAX));
        let too_many = BuildError::TooMany { what, count: most + 1, most };
        let given = vec![None; access.len()];
        Ok(Self { links, ports, access, places: places.ok_or(too_many)?, given })
    }

    /// By switch: hops to the nearest host; 0 if none is reachable.
    pub(crate) fn levels(&self) -> Vec<u32> {
        let mut levels = vec![0; self.ports.len()];
        let mut frontier: VecDeque<SwitchId> = VecDeque::new();
        for &(switch, _) in &self.access {
            if std::mem::replace(&mut levels[switch.0], 1) == 0 {
                frontier.push_back(switch);
            }
        }
        while let Some(at) = frontier.pop_front() {
            for (_, attachment) in self.attachments(at) {
                if let Peer::Switch(next, _) = attachment.peer
                    && levels[next.0] == 0
                {
                    levels[next.0] = levels[at.0] + 1;
                    frontier.push_back(next);
                }
            }
        }
        levels
    }

    /// A host's address.
    pub(crate) fn host_address(&self, host: HostId) -> Ipv4Addr {
        if let Some(given) = self.given[host.0] {
            return given;
        }
        let net = u32::from(self.switch_net(self.access[host.0].0).network());
        Ipv4Addr::from(net | u32::from(self.places[host.0]))
    }

    /// The addresses of a switch's hosts.
    pub(crate) fn switch_net(&self, switch: SwitchId) -> Ipv4Net {
        Ipv4Net::new_assert(Ipv4Addr::from(0x0A00_0000 | low_32_bits(switch.0) << 8), 24)
    }

    /// The ends of both wires of every link, the one from its first end first. Nodes are numbered
    /// switches first.
    pub(crate) fn ends(&self) -> Vec<Ends> {
        let endpoint = |end: End| {
            let (node, port) = match end {
                End::Switch(switch, number) => {
                    (switch.0, PortId::from_number(number).unwrap_or_default())
                }
                End::Host(host) => (self.ports.len() + host.0, PortId::FIRST),
            };
            Endpoint { node: low_32_bits(node), port }
        };
        let both = self.links.iter().flat_map(|link| {
            let [one, other] = link.ends.map(endpoint);
            [Ends { from: one, to: other }, Ends { from: other, to: one }]
        });
        both.collect()
    }

    /// The linked ports of `switch`, lowest first.
    pub(crate) fn attachments(
        &self,
        switch: SwitchId,
    ) -> impl Iterator<Item = (PortId, &Attachment)> {
        let ports = (0..).map_while(PortId::from_index);
        ports.zip(&self.ports[switch.0]).filter_map(|(port, slot)| Some((port, slot.as_ref()?)))
    }
}

fn port(switches: &[String], switch: SwitchId, number: usize) -> Result<PortId, BuildError> {
    PortId::from_number(number)
        .ok_or_else(|| BuildError::NoSuchPort { switch: switches[switch.0].clone(), number })
}

/// The address of a link's end.
pub(crate) fn link_address(link: usize, side: usize) -> Ipv4Addr {
    Ipv4Addr::from(0xAC10_0000 + 4 * low_32_bits(link) + 1 + low_32_bits(side))
}

/// The destination address of flow number `flow`, which has a path of its own.
pub(crate) fn path_address(flow: usize) -> Ipv4Addr {
    Ipv4Addr::from(0x6440_0000 + low_32_bits(flow))
}

/// The MAC address of a port of node number `node`, switches first, then hosts.
pub(crate) fn mac(node: usize, port: PortId) -> MacAddress {
    let [.., a, b, c] = low_32_bits(node).to_be_bytes();
    MacAddress([0x02, 0, a, b, c, low_32_bits(port.index()).to_be_bytes()[3]])
}

/// Numbers of nodes, links and flows are checked to be far below 2^32.
#[expect(clippy::cast_possible_truncation, reason = "checked where they are counted")]
const fn low_32_bits(number: usize) -> u32 {
    number as u32
}
