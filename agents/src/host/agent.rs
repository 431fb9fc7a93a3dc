//! The agent: its interface, and which part handles which frame.

use super::counters::{AgentCounters, Outcome};
use super::ethernet::Incoming;
use super::icmp::{self, IcmpError};
use super::interface::Interface;
use super::io::{HostIo, interface_towards};
use super::ip::{Fragment, IpPacket};
use super::neighbor::{Neighbor, NeighborKey, NeighborsFull, NextHop};
use super::neighbor_cache::Resolution;
use super::neighbor_manager::NeighborManager;
use super::output::Output;
use super::settings::AgentSettings;
use super::{arp, ndisc};
use alloc::vec::Vec;
use core::net::IpAddr;
use dataplane::ids::PortId;
use dataplane::punt::PuntReason;
use dataplane::time::Instant;
use dataplane::wire::MacAddress;
use smoltcp::wire::{EthernetProtocol, IpProtocol};

/// The switch as a host on its own links. The [module](super) describes how to drive it.
#[derive(Clone, Debug)]
pub struct HostAgent {
    io: HostIo,
    neighbors: NeighborManager,
}

impl HostAgent {
    /// An agent with these interfaces. It announces their addresses at once.
    pub fn new(interfaces: Vec<Interface>, settings: AgentSettings) -> Self {
        let io = HostIo::new(settings.icmp_errors_per_second);
        let mut agent = Self { io, neighbors: NeighborManager::new(settings) };
        agent.set_interfaces(interfaces);
        agent
    }

    /// Replaces all interfaces. Announces those that are new or have changed. Removes neighbors
    /// that are not reached as before, unless they are static.
    pub fn set_interfaces(&mut self, interfaces: Vec<Interface>) {
        let old = self.io.replace_interfaces(interfaces);
        self.neighbors.retain(&mut self.io, |io, key| {
            let (before, after) = (interface_towards(old.iter(), key), io.interface_towards(key));
            before.zip(after).is_some_and(|(before, after)| {
                before.vlan == after.vlan
                    && before.is_on_link(key.address) == after.is_on_link(key.address)
                    && !io.is_ours(key.address)
            })
        });
        self.announce(|interface| !old.contains(interface));
    }

    /// Replaces the addresses of the switch that are on no port: echoes to them are answered.
    pub fn set_locals(&mut self, addresses: Vec<IpAddr>) {
        self.io.locals = addresses;
    }

    /// The link at `port` came up or went down. If it came up, our addresses are announced there,
    /// and who has not answered is asked again. If it went down, its neighbors are removed, unless
    /// they are static.
    pub fn handle_link(&mut self, now: Instant, port: PortId, is_up: bool) {
        if is_up {
            self.announce(|interface| interface.port == port);
            self.neighbors.ask_again(&mut self.io, now, port);
        } else {
            self.neighbors.retain(&mut self.io, |_, key| key.port != port);
        }
    }

    /// Configures a neighbor. It is up at once. No timeout and no message changes it.
    ///
    /// # Errors
    /// If the neighbor cache is full. Nothing has changed then.
    pub fn add_static_neighbor(
        &mut self,
        now: Instant,
        neighbor: NeighborKey,
        mac: MacAddress,
    ) -> Result<(), NeighborsFull> {
        self.neighbors.add_static(&mut self.io, now, neighbor, mac)
    }

    /// Removes a configured neighbor. It can then be resolved as any other.
    pub fn remove_static_neighbor(&mut self, neighbor: NeighborKey) {
        self.neighbors.remove_static(&mut self.io, neighbor);
    }

    /// Resolves a neighbor for which no frame waits, such as a gateway whose traffic currently
    /// takes another path. Has no effect if the neighbor is known, is being resolved, or was found
    /// unreachable a short while ago, so it may be called repeatedly.
    pub fn resolve(&mut self, now: Instant, neighbor: NeighborKey) {
        let _cannot_be_asked = self.neighbors.resolve(&mut self.io, now, neighbor);
    }

    /// Handles a punted frame: the whole frame as received at `port`, without its FCS. `next_hop`
    /// is where it was to be sent. [`PuntReason::Unresolved`], [`PuntReason::Resolve`] and
    /// [`PuntReason::TooBig`] need it; with any other reason it is ignored.
    ///
    /// The outcome is counted. It is returned for callers that trace frames.
    pub fn handle_frame(
        &mut self,
        now: Instant,
        port: PortId,
        reason: PuntReason,
        bytes: &[u8],
        next_hop: Option<NextHop>,
    ) -> Outcome {
        self.io.counters.frames_in += 1;
        let outcome = if self.io.is_full() {
            Outcome::OutputsFull
        } else {
            self.dispatch(now, port, reason, bytes, next_hop).unwrap_or_else(|ended| ended)
        };
        self.io.count(outcome);
        outcome
    }

    /// Does what is due at `now`. The caller calls it when [`Self::poll_timeout`] says; an earlier
    /// call has no effect.
    pub fn handle_timeout(&mut self, now: Instant) {
        while !self.io.is_full() && self.neighbors.handle_due(&mut self.io, now) {}
    }

    /// The next output, in order; `None` if none waits.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.io.pop()
    }

    /// When [`Self::handle_timeout`] is next due; `None` if no timeout is pending.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.neighbors.next_deadline()
    }

    /// The neighbors, in order of port and address.
    pub fn neighbors(&self, now: Instant) -> impl Iterator<Item = Neighbor> {
        self.neighbors.iter(now)
    }

    /// How many neighbors are behind `port`, and how many times one there was not added, since the
    /// port has its share of the cache or the cache is full.
    pub fn neighbors_at(&self, port: PortId) -> (usize, u64) {
        self.neighbors.counts(port)
    }

    /// The counters since the agent was created.
    pub fn counters(&self) -> &AgentCounters {
        &self.io.counters
    }

    /// The number of frames that wait for a neighbor.
    pub fn pending_frames(&self) -> usize {
        self.neighbors.pending().frames()
    }

    /// The bytes of the frames that wait for a neighbor.
    pub fn pending_bytes(&self) -> usize {
        self.neighbors.pending().bytes()
    }

    /// Handles a frame by the reason why it was punted.
    fn dispatch(
        &mut self,
        now: Instant,
        port: PortId,
        reason: PuntReason,
        bytes: &[u8],
        next_hop: Option<NextHop>,
    ) -> Result<Outcome, Outcome> {
        let incoming = Incoming::open(bytes).ok_or(Outcome::Malformed)?;
        let index = self.io.interface_of(port, &incoming).ok_or(Outcome::NoInterface)?;
        if incoming.source == self.io.interface(index).mac {
            return Err(Outcome::Spoofed);
        }
        match reason {
            PuntReason::ForUs => self.handle_ours(now, index, &incoming),
            PuntReason::Lldp | PuntReason::Host => Err(Outcome::Unsupported),
            PuntReason::Unresolved => {
                let key = next_hop.ok_or(Outcome::NoNextHop)?.neighbor;
                let frame = (&incoming, bytes);
                self.neighbors.handle_unresolved(&mut self.io, now, index, frame, key)
            }
            PuntReason::Resolve => {
                let key = next_hop.ok_or(Outcome::NoNextHop)?.neighbor;
                match self.neighbors.resolve(&mut self.io, now, key)? {
                    Resolution::Full => Err(Outcome::NeighborsFull),
                    _ => Ok(Outcome::Asked),
                }
            }
            PuntReason::Unreachable => {
                let packet = IpPacket::of_frame(&incoming)?;
                let error = IcmpError::HostUnreachable;
                self.io.send_icmp_error(now, index, &incoming, &packet, error);
                Ok(Outcome::HostUnreachable)
            }
            PuntReason::TtlExpired => {
                let packet = IpPacket::of_frame(&incoming)?;
                if self.io.is_ours_at(index, packet.addresses.destination()) {
                    return self.handle_ours(now, index, &incoming);
                }
                self.io.send_icmp_error(now, index, &incoming, &packet, IcmpError::TtlExpired);
                Ok(Outcome::TtlExpired)
            }
            PuntReason::NoRoute => {
                let packet = IpPacket::of_frame(&incoming)?;
                self.io.send_icmp_error(now, index, &incoming, &packet, IcmpError::NoRoute);
                Ok(Outcome::NoRoute)
            }
            PuntReason::TooBig => {
                let packet = IpPacket::of_frame(&incoming)?;
                let NextHop { neighbor, tunnel_bytes } = next_hop.ok_or(Outcome::NoNextHop)?;
                let egress = self.io.interface_towards(neighbor).ok_or(Outcome::NoInterface)?;
                let mtu_bytes = egress.mtu_bytes.saturating_sub(tunnel_bytes);
                // The switch does not fragment, so packets that allow it are reported too.
                let error = IcmpError::TooBig { mtu_bytes };
                self.io.send_icmp_error(now, index, &incoming, &packet, error);
                Ok(Outcome::TooBig)
            }
        }
    }

    /// Handles ARP, neighbor discovery, or IP that may be for us.
    fn handle_ours(
        &mut self,
        now: Instant,
        index: usize,
        incoming: &Incoming<'_>,
    ) -> Result<Outcome, Outcome> {
        let interface = self.io.interface(index);
        let is_to_us = incoming.destination == interface.mac;
        if !is_to_us && !incoming.destination.is_multicast() {
            return Err(Outcome::NotForUs);
        }
        match incoming.ethertype {
            EthernetProtocol::Arp => {
                let message = arp::process(interface, incoming)?;
                self.neighbors.handle_message(&mut self.io, now, index, message)
            }
            EthernetProtocol::Ipv4 | EthernetProtocol::Ipv6 => {
                let packet = IpPacket::of_frame(incoming)?;
                if ndisc::is_ndisc(&packet) {
                    let message = ndisc::process(interface, incoming, &packet)?;
                    self.neighbors.handle_message(&mut self.io, now, index, message)
                } else if is_to_us && self.io.is_ours_at(index, packet.addresses.destination()) {
                    self.handle_ip(now, index, incoming, &packet)
                } else {
                    Err(Outcome::NotForUs)
                }
            }
            EthernetProtocol::Unknown(_) => Err(Outcome::Unsupported),
        }
    }

    /// Handles IP to one of our addresses.
    fn handle_ip(
        &mut self,
        now: Instant,
        index: usize,
        incoming: &Incoming<'_>,
        packet: &IpPacket<'_>,
    ) -> Result<Outcome, Outcome> {
        let interface = self.io.interface(index);
        if self.io.is_ours_at(index, packet.addresses.source()) {
            return Err(Outcome::Spoofed);
        }
        if !interface.is_host(packet.addresses.source()) {
            return Err(Outcome::Malformed);
        }
        if interface.has_tap {
            return Ok(Outcome::LeftToHost);
        }
        if !matches!(packet.fragment, Fragment::Whole | Fragment::Atomic) {
            return Err(Outcome::Fragment);
        }
        match packet.protocol {
            IpProtocol::Icmp | IpProtocol::Icmpv6 => {
                let frame = icmp::echo_reply(interface, incoming, packet)?;
                self.io.send(index, frame);
                Ok(Outcome::EchoAnswered)
            }
            IpProtocol::Udp => {
                self.io.send_icmp_error(now, index, incoming, packet, IcmpError::PortUnreachable);
                Ok(Outcome::PortUnreachable)
            }
            _ => Err(Outcome::Unsupported),
        }
    }

    /// Announces the addresses of the interfaces that `which` selects.
    fn announce(&mut self, which: impl Fn(&Interface) -> bool) {
        let frames: Vec<_> = self
            .io
            .interfaces()
            .filter(|interface| which(interface))
            .flat_map(announcements)
            .collect();
        for (port, frame) in frames {
            self.io.counters.announcements_sent += 1;
            self.io.push(Output::Send { port, frame });
        }
    }
}

/// The announcements of an interface's addresses; the link-local address is the last.
fn announcements(interface: &Interface) -> impl Iterator<Item = (PortId, Vec<u8>)> {
    let link_local = IpAddr::V6(interface.link_local());
    let addresses = interface.addresses.iter().map(|net| net.addr());
    let others = addresses.filter(move |&address| address != link_local);
    others.chain([link_local]).map(|address| {
        let frame = match address {
            IpAddr::V4(ours) => arp::announcement(interface, ours),
            IpAddr::V6(ours) => ndisc::announcement(interface, ours),
        };
        (interface.port, frame)
    })
}
