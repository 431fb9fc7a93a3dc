//! What follows from neighbors: frames that wait for them, questions, and what is said about them.

use super::agent::{HostAgent, InterfaceState, open_ip};
use super::counters::Outcome;
use super::ethernet::Incoming;
use super::icmp::IcmpError;
use super::interface::Interface;
use super::neighbor_cache::{Due, Learned, NeighborKey, NeighborUpdate, Resolution};
use super::{Output, arp, ndisc};
use alloc::vec::Vec;
use core::net::IpAddr;
use dataplane::time::Instant;
use dataplane::wire::MacAddress;

/// What a message about neighbors asks of the agent.
#[derive(Debug)]
pub(super) struct NeighborMessage {
    /// What it says about who.
    pub(super) update: Option<(IpAddr, NeighborUpdate)>,
    /// The answer, and the outcome if it is given.
    pub(super) reply: Option<(Vec<u8>, Outcome)>,
    /// The outcome if there is no answer and the claim is of no interest.
    pub(super) otherwise: Outcome,
}

impl HostAgent {
    /// A frame whose next hop has no MAC address yet.
    pub(super) fn handle_unresolved(
        &mut self,
        now: Instant,
        at: usize,
        incoming: &Incoming<'_>,
        bytes: &[u8],
        next_hop: Option<NeighborKey>,
    ) -> Result<Outcome, Outcome> {
        let key = next_hop.ok_or(Outcome::NoNextHop)?;
        self.can_ask(key)?;
        match self.start(now, key) {
            Resolution::Resolved => {
                // Punted before the route that a NeighborUp made was in place.
                let port = self.interfaces[at].interface.port;
                self.outputs.push_back(Output::Release { port, frame: bytes.into() });
                return Ok(Outcome::Released);
            }
            Resolution::Failed => {
                if let Ok(packet) = open_ip(incoming) {
                    self.report(now, at, incoming, &packet, IcmpError::HostUnreachable);
                }
                return Ok(Outcome::HostUnreachable);
            }
            Resolution::Full => return Err(Outcome::NeighborsFull),
            Resolution::Started | Resolution::Unresolved => {}
        }
        let port = self.interfaces[at].interface.port;
        let is_pending = self.pending.push(key, port, bytes);
        if is_pending { Ok(Outcome::Pending) } else { Err(Outcome::PendingFull) }
    }

    /// Whether `key` can be a neighbor, and we have an address to ask for it from.
    pub(super) fn can_ask(&self, key: NeighborKey) -> Result<(), Outcome> {
        let egress = interface_towards(&self.interfaces, key).ok_or(Outcome::NoInterface)?;
        let is_ours = self.interfaces.iter().any(|slot| slot.interface.owns(key.address));
        let has_source = egress.source_for(key.address).is_some();
        let can_ask = !is_ours && egress.is_host(key.address) && has_source;
        if can_ask { Ok(()) } else { Err(Outcome::NoNextHop) }
    }

    /// Looks a neighbor up, and begins to ask for it if it is new.
    pub(super) fn start(&mut self, now: Instant, key: NeighborKey) -> Resolution {
        let resolution = self.neighbors.resolve(now, key);
        match resolution {
            Resolution::Started => self.ask(key, None),
            Resolution::Full => self.counters.neighbors_refused += 1,
            _ => {}
        }
        resolution
    }

    /// Believes what a message says as far as that is safe, and answers it.
    pub(super) fn follow(
        &mut self,
        now: Instant,
        at: usize,
        message: NeighborMessage,
    ) -> Result<Outcome, Outcome> {
        let mut outcome = message.otherwise;
        if let Some((address, update)) = message.update {
            let is_ours = update.mac == Some(self.interfaces[at].interface.mac);
            if is_ours || self.owns(at, address) {
                return Err(Outcome::Spoofed);
            }
            if self.learn(now, at, address, update)? {
                outcome = Outcome::NeighborHeard;
            }
        }
        if let Some((frame, answered)) = message.reply {
            self.send(at, frame);
            outcome = answered;
        }
        Ok(outcome)
    }

    /// Takes in what is said of `address` at an interface; whether it is a neighbor now.
    fn learn(
        &mut self,
        now: Instant,
        at: usize,
        address: IpAddr,
        update: NeighborUpdate,
    ) -> Result<bool, Outcome> {
        let interface = &self.interfaces[at].interface;
        let key = NeighborKey { port: interface.port, address };
        // Two VLANs of one port have different neighbors; one must not speak for the other's.
        if interface_towards(&self.interfaces, key)
            .is_none_or(|towards| towards.vlan != interface.vlan)
        {
            return Ok(false);
        }
        match self.neighbors.learn(now, key, update) {
            Learned::Up(mac) => {
                self.counters.neighbors_up += 1;
                self.outputs.push_back(Output::NeighborUp { neighbor: key, mac });
                self.release(key);
            }
            Learned::Moved(mac) => {
                self.counters.neighbors_moved += 1;
                self.outputs.push_back(Output::NeighborUp { neighbor: key, mac });
            }
            Learned::Same => {}
            Learned::ConflictsWithStatic => return Err(Outcome::Spoofed),
            Learned::Unknown => return Ok(false),
            Learned::Full => {
                self.counters.neighbors_refused += 1;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Does what is due about a neighbor.
    pub(super) fn do_due(&mut self, now: Instant, key: NeighborKey, due: Due) {
        match due {
            Due::Ask => self.ask(key, None),
            Due::Probe(mac) => self.ask(key, Some(mac)),
            Due::Failed => {
                self.counters.neighbors_failed += 1;
                self.give_up(now, key);
            }
            Due::Lost => {
                self.counters.neighbors_lost += 1;
                self.outputs.push_back(Output::NeighborDown { neighbor: key });
            }
        }
    }

    /// Sends what waits for `key` back into the pipeline.
    pub(super) fn release(&mut self, key: NeighborKey) {
        for pending in self.pending.take(key) {
            self.counters.count(Outcome::Released);
            self.outputs.push_back(Output::Release { port: pending.port, frame: pending.frame });
        }
    }

    /// Drops what waits for `key`, which does not answer, and tells the senders.
    fn give_up(&mut self, now: Instant, key: NeighborKey) {
        for pending in self.pending.take(key) {
            self.counters.count(Outcome::HostUnreachable);
            let Some(incoming) = Incoming::open(&pending.frame) else { continue };
            let Some(at) = self.interface_of(pending.port, &incoming) else { continue };
            if let Ok(packet) = open_ip(&incoming) {
                self.report(now, at, &incoming, &packet, IcmpError::HostUnreachable);
            }
        }
    }

    /// Drops what waited for neighbors that have been removed, and says so of those that were up.
    pub(super) fn forget(&mut self, gone: Vec<(NeighborKey, bool)>) {
        for (neighbor, was_up) in gone {
            if was_up {
                self.outputs.push_back(Output::NeighborDown { neighbor });
            }
            for _ in self.pending.take(neighbor) {
                self.counters.count(Outcome::InterfaceGone);
            }
        }
    }

    /// Asks for a neighbor: everybody, or itself if its MAC address is known.
    fn ask(&mut self, key: NeighborKey, mac: Option<MacAddress>) {
        let Some(interface) = interface_towards(&self.interfaces, key) else { return };
        let frame = match key.address {
            IpAddr::V4(target) => arp::request(interface, target, mac),
            IpAddr::V6(target) => ndisc::solicitation(interface, target, mac),
        };
        let Some(frame) = frame else { return };
        match mac {
            Some(_) => self.counters.probes_sent += 1,
            None => self.counters.requests_sent += 1,
        }
        self.outputs.push_back(Output::Send { port: key.port, frame });
    }

    /// Announces the addresses of the interfaces that `which` picks.
    pub(super) fn announce(&mut self, which: impl Fn(&Interface) -> bool) {
        for InterfaceState { interface, .. } in
            self.interfaces.iter().filter(|slot| which(&slot.interface))
        {
            let link_local = IpAddr::V6(interface.link_local());
            let addresses = interface.addresses.iter().map(|net| net.addr());
            let others = addresses.filter(|&address| address != link_local);
            for address in others.chain([link_local]) {
                let frame = match address {
                    IpAddr::V4(ours) => arp::announcement(interface, ours),
                    IpAddr::V6(ours) => ndisc::announcement(interface, ours),
                };
                self.counters.announcements_sent += 1;
                self.outputs.push_back(Output::Send { port: interface.port, frame });
            }
        }
    }
}

/// The interface through which a neighbor is reached: of those at its port the one that has it on
/// its link, else the first.
pub(super) fn interface_towards(
    interfaces: &[InterfaceState],
    key: NeighborKey,
) -> Option<&Interface> {
    let at_port = || interfaces.iter().map(|slot| &slot.interface).filter(|i| i.port == key.port);
    at_port().find(|interface| interface.is_on_link(key.address)).or_else(|| at_port().next())
}
