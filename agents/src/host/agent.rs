//! The agent itself: which part handles a frame, and what follows from it.

use super::counters::{AgentCounters, Outcome};
use super::ethernet::Incoming;
use super::icmp::IcmpError;
use super::interface::{Interface, is_link_local};
use super::ip::{Fragment, IpPacket};
use super::neighbor_cache::{Neighbor, NeighborCache, NeighborKey, NeighborsFull, Resolution};
use super::neighbor_manager::interface_towards;
use super::pending_frames::PendingFrames;
use super::{AgentSettings, Output, arp, icmp, ndisc};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::mem;
use core::net::IpAddr;
use dataplane::ids::PortId;
use dataplane::l2::Vid;
use dataplane::limiter::RateLimiter;
use dataplane::punt::PuntReason;
use dataplane::time::Instant;
use dataplane::wire::{MacAddress, ethernet};
use smoltcp::wire::{EthernetProtocol, IpProtocol};

/// Outputs that may wait for the caller. With more, frames are refused and time stands still, so
/// that no traffic makes the queue grow without bound where the caller is slow to take them.
const OUTPUTS_MAX: usize = 4_096;

/// An interface, and the errors it may still send.
#[derive(Clone, Debug)]
pub(super) struct InterfaceState {
    pub(super) interface: Interface,
    errors: RateLimiter,
}

/// The switch as a host on its own links. See the [module](super) for how to drive it.
#[derive(Clone, Debug)]
pub struct HostAgent {
    settings: AgentSettings,
    pub(super) interfaces: Vec<InterfaceState>,
    pub(super) neighbors: NeighborCache,
    pub(super) pending: PendingFrames,
    pub(super) outputs: VecDeque<Output>,
    pub(super) counters: AgentCounters,
}

impl HostAgent {
    /// An agent with these interfaces. It announces their addresses at once.
    pub fn new(interfaces: Vec<Interface>, settings: AgentSettings) -> Self {
        let mut agent = Self {
            interfaces: Vec::new(),
            neighbors: NeighborCache::new(settings.clone()),
            pending: PendingFrames::new(settings.pending_frames_max, settings.pending_bytes_max),
            outputs: VecDeque::new(),
            counters: AgentCounters::default(),
            settings,
        };
        agent.set_interfaces(interfaces);
        agent
    }

    /// Puts `interfaces` in the place of those there were. What is new or has changed is announced;
    /// neighbors that are not where they were are forgotten, unless static.
    pub fn set_interfaces(&mut self, interfaces: Vec<Interface>) {
        let old = mem::take(&mut self.interfaces);
        self.interfaces = interfaces
            .into_iter()
            .map(|interface| {
                let same = |slot: &&InterfaceState| {
                    (slot.interface.port, slot.interface.vlan) == (interface.port, interface.vlan)
                };
                let errors = match old.iter().find(same) {
                    Some(slot) => slot.errors.clone(),
                    None => RateLimiter::new(self.settings.icmp_errors_per_second),
                };
                InterfaceState { interface, errors }
            })
            .collect();
        let interfaces = &self.interfaces;
        let gone = self.neighbors.retain(|key| {
            let (before, after) =
                (interface_towards(&old, key), interface_towards(interfaces, key));
            before.zip(after).is_some_and(|(before, after)| {
                before.vlan == after.vlan
                    && before.is_on_link(key.address) == after.is_on_link(key.address)
                    && !interfaces.iter().any(|slot| slot.interface.owns(key.address))
            })
        });
        self.forget(gone);
        self.announce(|interface| !old.iter().any(|slot| slot.interface == *interface));
    }

    /// The link at `port` came up, and our addresses are announced there, or went down, and its
    /// neighbors are forgotten, unless static.
    pub fn handle_link(&mut self, port: PortId, is_up: bool) {
        if is_up {
            self.announce(|interface| interface.port == port);
        } else {
            let gone = self.neighbors.retain(|key| key.port != port);
            self.forget(gone);
        }
    }

    /// Configures a neighbor: it is up at once, and neither time nor any message changes that.
    ///
    /// # Errors
    /// If the table is full; nothing has changed then.
    pub fn add_static_neighbor(
        &mut self,
        now: Instant,
        neighbor: NeighborKey,
        mac: MacAddress,
    ) -> Result<(), NeighborsFull> {
        if self.neighbors.pin(now, neighbor, mac)? {
            self.outputs.push_back(Output::NeighborUp { neighbor, mac });
        }
        self.release(neighbor);
        Ok(())
    }

    /// Removes a configured neighbor. It may be found again as any other.
    pub fn remove_static_neighbor(&mut self, neighbor: NeighborKey) {
        if self.neighbors.unpin(neighbor) {
            self.outputs.push_back(Output::NeighborDown { neighbor });
        }
    }

    /// Asks for a neighbor that no frame waits for, such as a gateway whose traffic goes another
    /// way meanwhile. Does nothing while it is known, asked for already, or was found unreachable a
    /// short while ago; so it may be called again and again.
    pub fn resolve(&mut self, now: Instant, neighbor: NeighborKey) {
        if self.can_ask(neighbor).is_ok() {
            self.start(now, neighbor);
        }
    }

    /// A frame that the packet path punted: the whole frame as it came in at `port`, without its
    /// FCS. `next_hop` is where it was to go: needed with [`PuntReason::Unresolved`] and
    /// [`PuntReason::TooBig`], ignored with any other reason.
    ///
    /// The outcome is also counted; it is returned for whoever traces frames.
    pub fn handle_frame(
        &mut self,
        now: Instant,
        port: PortId,
        reason: PuntReason,
        bytes: &[u8],
        next_hop: Option<NeighborKey>,
    ) -> Outcome {
        self.counters.frames_in += 1;
        let outcome = if self.outputs.len() >= OUTPUTS_MAX {
            Outcome::OutputsFull
        } else {
            self.dispatch(now, port, reason, bytes, next_hop).unwrap_or_else(|ended| ended)
        };
        self.counters.count(outcome);
        outcome
    }

    /// Time has passed. Call it when [`Self::poll_timeout`] says; earlier does no harm.
    pub fn handle_timeout(&mut self, now: Instant) {
        while self.outputs.len() < OUTPUTS_MAX {
            let Some((key, due)) = self.neighbors.poll_due(now) else { return };
            self.do_due(now, key, due);
        }
    }

    /// The next thing to be done, in order; `None` if all is.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// When [`Self::handle_timeout`] is next due; `None` if nothing waits for time to pass.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.neighbors.next_deadline()
    }

    /// The interfaces.
    pub fn interfaces(&self) -> impl Iterator<Item = &Interface> {
        self.interfaces.iter().map(|slot| &slot.interface)
    }

    /// The neighbors, in order of port and address.
    pub fn neighbors(&self, now: Instant) -> impl Iterator<Item = Neighbor> {
        self.neighbors.iter(now)
    }

    /// What the agent has counted since it started.
    pub fn counters(&self) -> &AgentCounters {
        &self.counters
    }

    /// Frames that wait for a neighbor now.
    pub fn pending_frames(&self) -> usize {
        self.pending.frames()
    }

    /// Bytes of the frames that wait now.
    pub fn pending_bytes(&self) -> usize {
        self.pending.bytes()
    }

    fn dispatch(
        &mut self,
        now: Instant,
        port: PortId,
        reason: PuntReason,
        bytes: &[u8],
        next_hop: Option<NeighborKey>,
    ) -> Result<Outcome, Outcome> {
        let incoming = Incoming::open(bytes).ok_or(Outcome::Malformed)?;
        let at = self.interface_of(port, &incoming).ok_or(Outcome::NoInterface)?;
        if incoming.source == self.interfaces[at].interface.mac {
            return Err(Outcome::Spoofed);
        }
        match reason {
            PuntReason::ForUs => self.handle_ours(now, at, &incoming),
            PuntReason::Lldp => Err(Outcome::Unsupported),
            PuntReason::Unresolved => self.handle_unresolved(now, at, &incoming, bytes, next_hop),
            PuntReason::Resolve => {
                let key = next_hop.ok_or(Outcome::NoNextHop)?;
                self.can_ask(key)?;
                match self.start(now, key) {
                    Resolution::Full => Err(Outcome::NeighborsFull),
                    _ => Ok(Outcome::Asked),
                }
            }
            PuntReason::Unreachable => {
                let packet = open_ip(&incoming)?;
                self.report(now, at, &incoming, &packet, IcmpError::HostUnreachable);
                Ok(Outcome::HostUnreachable)
            }
            PuntReason::TtlExpired => {
                let packet = open_ip(&incoming)?;
                if self.owns(at, packet.ends.destination()) {
                    return self.handle_ours(now, at, &incoming);
                }
                self.report(now, at, &incoming, &packet, IcmpError::TtlExpired);
                Ok(Outcome::TtlExpired)
            }
            PuntReason::NoRoute => {
                let packet = open_ip(&incoming)?;
                self.report(now, at, &incoming, &packet, IcmpError::NoRoute);
                Ok(Outcome::NoRoute)
            }
            PuntReason::TooBig => {
                let packet = open_ip(&incoming)?;
                let key = next_hop.ok_or(Outcome::NoNextHop)?;
                let egress =
                    interface_towards(&self.interfaces, key).ok_or(Outcome::NoInterface)?;
                // A packet that could be fragmented is reported, too: the switch does not fragment.
                let error = IcmpError::TooBig { mtu_bytes: egress.mtu_bytes };
                self.report(now, at, &incoming, &packet, error);
                Ok(Outcome::TooBig)
            }
        }
    }

    /// ARP, neighbor discovery, or IP that may be for us.
    fn handle_ours(
        &mut self,
        now: Instant,
        at: usize,
        incoming: &Incoming<'_>,
    ) -> Result<Outcome, Outcome> {
        let interface = &self.interfaces[at].interface;
        let is_to_us = incoming.destination == interface.mac;
        if !is_to_us && !incoming.destination.is_multicast() {
            return Err(Outcome::NotForUs);
        }
        match incoming.ethertype {
            EthernetProtocol::Arp => {
                let message = arp::process(interface, incoming)?;
                self.follow(now, at, message)
            }
            EthernetProtocol::Ipv4 | EthernetProtocol::Ipv6 => {
                let packet = open_ip(incoming)?;
                if ndisc::is_ndisc(&packet) {
                    let message = ndisc::process(interface, incoming, &packet)?;
                    self.follow(now, at, message)
                } else if is_to_us && self.owns(at, packet.ends.destination()) {
                    self.handle_ip(now, at, incoming, &packet)
                } else {
                    Err(Outcome::NotForUs)
                }
            }
            EthernetProtocol::Unknown(_) => Err(Outcome::Unsupported),
        }
    }

    /// IP to one of our addresses.
    fn handle_ip(
        &mut self,
        now: Instant,
        at: usize,
        incoming: &Incoming<'_>,
        packet: &IpPacket<'_>,
    ) -> Result<Outcome, Outcome> {
        let InterfaceState { interface, .. } = &self.interfaces[at];
        if self.owns(at, packet.ends.source()) {
            return Err(Outcome::Spoofed);
        }
        if !interface.is_host(packet.ends.source()) {
            return Err(Outcome::Malformed);
        }
        if !matches!(packet.fragment, Fragment::Whole | Fragment::Atomic) {
            return Err(Outcome::Fragment);
        }
        match packet.protocol {
            IpProtocol::Icmp | IpProtocol::Icmpv6 => {
                let frame = icmp::echo_reply(interface, incoming, packet)?;
                self.send(at, frame);
                Ok(Outcome::EchoAnswered)
            }
            IpProtocol::Udp => {
                self.report(now, at, incoming, packet, IcmpError::PortUnreachable);
                Ok(Outcome::PortUnreachable)
            }
            _ => Err(Outcome::Unsupported),
        }
    }

    /// Tells the sender of `packet` about `problem`, if that is allowed and not too often.
    pub(super) fn report(
        &mut self,
        now: Instant,
        at: usize,
        incoming: &Incoming<'_>,
        packet: &IpPacket<'_>,
        error: IcmpError,
    ) {
        let is_from_us = self.owns(at, packet.ends.source());
        let source = match error {
            IcmpError::PortUnreachable => Some(packet.ends.destination()),
            _ => self.error_source(at, packet.ends.source()),
        };
        let InterfaceState { interface, errors } = &mut self.interfaces[at];
        let frame = source
            .filter(|_| !is_from_us && icmp::may_report(interface, incoming, packet))
            .and_then(|source| icmp::error_message(interface, incoming, packet, source, error));
        match frame {
            None => self.counters.errors_withheld += 1,
            Some(_) if !errors.take(now) => self.counters.errors_limited += 1,
            Some(frame) => {
                self.counters.errors_sent += 1;
                self.send(at, frame);
            }
        }
    }

    /// The address that errors to `peer` come from: one of the interface they leave by, so that a
    /// traceroute shows the way taken. On a link without addresses of its own any other address of
    /// the switch, for a link-local one says nothing beyond the link, and is not routed.
    fn error_source(&self, at: usize, peer: IpAddr) -> Option<IpAddr> {
        let is_meaningful = |address: &IpAddr| is_link_local(peer) || !is_link_local(*address);
        let here = self.interfaces[at].interface.source_for(peer);
        here.filter(is_meaningful)
            .or_else(|| {
                let all = self.interfaces.iter().filter_map(|slot| slot.interface.source_for(peer));
                all.into_iter().find(is_meaningful)
            })
            .or(here)
    }

    pub(super) fn send(&mut self, at: usize, frame: Vec<u8>) {
        let port = self.interfaces[at].interface.port;
        self.outputs.push_back(Output::Send { port, frame });
    }

    /// The interface where a frame came in, by its port and VLAN. A frame without a VLAN belongs to
    /// the interface without one or, as on the packet path, to whichever the port has.
    pub(super) fn interface_of(&self, port: PortId, incoming: &Incoming<'_>) -> Option<usize> {
        let vid = ethernet::vid(incoming.tci);
        let is_named = |vlan: Option<Vid>| vlan.map_or(0, Vid::value) == vid;
        let find = |is_it: &dyn Fn(&Interface) -> bool| {
            self.interfaces
                .iter()
                .position(|slot| slot.interface.port == port && is_it(&slot.interface))
        };
        find(&|interface| is_named(interface.vlan))
            .or_else(|| if vid == 0 { find(&|_| true) } else { None })
    }

    /// Whether `address` is ours for someone at this interface: any address of the switch, but a
    /// link-local one only on its own link.
    pub(super) fn owns(&self, at: usize, address: IpAddr) -> bool {
        if is_link_local(address) {
            self.interfaces[at].interface.owns(address)
        } else {
            self.interfaces.iter().any(|slot| slot.interface.owns(address))
        }
    }
}

/// The IP packet in a frame.
pub(super) fn open_ip<'a>(incoming: &Incoming<'a>) -> Result<IpPacket<'a>, Outcome> {
    match incoming.ethertype {
        EthernetProtocol::Ipv4 | EthernetProtocol::Ipv6 => {
            IpPacket::open(incoming.ethertype, incoming.payload).ok_or(Outcome::Malformed)
        }
        _ => Err(Outcome::Unsupported),
    }
}
