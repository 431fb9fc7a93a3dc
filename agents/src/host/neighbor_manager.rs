//! Resolution of next hops: the requests and probes to send, the updates that ARP and neighbor
//! discovery bring, and the frames that wait for a MAC address.

use super::counters::Outcome;
use super::ethernet::Incoming;
use super::icmp::IcmpError;
use super::interface::Interface;
use super::io::HostIo;
use super::ip::IpPacket;
use super::neighbor::{Neighbor, NeighborKey, NeighborsFull};
use super::neighbor_cache::{Due, Learned, NeighborCache, Resolution};
use super::neighbor_message::{NeighborMessage, NeighborUpdate};
use super::output::Output;
use super::pending_frames::PendingFrames;
use super::settings::AgentSettings;
use super::{arp, ndisc};
use core::net::IpAddr;
use dataplane::ids::PortId;
use dataplane::time::Instant;
use dataplane::wire::MacAddress;

/// The neighbors of all interfaces, and the frames that wait for them.
#[derive(Clone, Debug)]
pub(super) struct NeighborManager {
    cache: NeighborCache,
    pending: PendingFrames,
}

impl NeighborManager {
    /// Without neighbors.
    pub(super) fn new(settings: AgentSettings) -> Self {
        let pending = PendingFrames::new(settings.pending_frames_max, settings.pending_bytes_max);
        Self { cache: NeighborCache::new(settings), pending }
    }

    /// Handles a frame whose next hop has no MAC address yet. `index` is the interface that
    /// received it, `bytes` is the whole frame.
    pub(super) fn handle_unresolved(
        &mut self,
        io: &mut HostIo,
        now: Instant,
        index: usize,
        (incoming, bytes): (&Incoming<'_>, &[u8]),
        key: NeighborKey,
    ) -> Result<Outcome, Outcome> {
        let port = io.interface(index).port;
        match self.resolve(io, now, key)? {
            Resolution::Resolved => {
                // It was punted before the route of a NeighborUp was installed.
                io.push(Output::Release { port, frame: bytes.into() });
                Ok(Outcome::Released)
            }
            Resolution::Failed => {
                if let Ok(packet) = IpPacket::of_frame(incoming) {
                    io.send_icmp_error(now, index, incoming, &packet, IcmpError::HostUnreachable);
                }
                Ok(Outcome::HostUnreachable)
            }
            Resolution::Full => Err(Outcome::NeighborsFull),
            Resolution::Started | Resolution::Unresolved => {
                let is_pending = self.pending.push(key, port, bytes);
                if is_pending { Ok(Outcome::Pending) } else { Err(Outcome::PendingFull) }
            }
        }
    }

    /// Looks a neighbor up, and sends a request for it if it is new.
    ///
    /// # Errors
    /// If `key` cannot be a neighbor, or we have no address to send a request from.
    pub(super) fn resolve(
        &mut self,
        io: &mut HostIo,
        now: Instant,
        key: NeighborKey,
    ) -> Result<Resolution, Outcome> {
        let egress = io.interface_towards(key).ok_or(Outcome::NoInterface)?;
        let has_source = egress.source_for(key.address).is_some();
        if io.is_ours(key.address) || !egress.is_host(key.address) || !has_source {
            return Err(Outcome::NoNextHop);
        }
        let resolution = self.cache.resolve(now, key);
        match resolution {
            Resolution::Started => send_request(io, key, None),
            Resolution::Full => io.counters.neighbors_refused += 1,
            _ => {}
        }
        Ok(resolution)
    }

    /// Handles an ARP or neighbor discovery message that interface `index` received: applies its
    /// update as far as that is safe, and sends its reply.
    pub(super) fn handle_message(
        &mut self,
        io: &mut HostIo,
        now: Instant,
        index: usize,
        message: NeighborMessage,
    ) -> Result<Outcome, Outcome> {
        let mut outcome = message.otherwise;
        if let Some((address, update)) = message.update {
            let has_our_mac = update.mac == Some(io.interface(index).mac);
            if has_our_mac || io.is_ours_at(index, address) {
                return Err(Outcome::Spoofed);
            }
            if self.learn(io, now, index, (address, update))? {
                outcome = Outcome::NeighborHeard;
            }
        }
        match message.reply {
            Some(_) if io.interface(index).has_tap => outcome = Outcome::LeftToHost,
            Some((frame, answered)) => {
                io.send(index, frame);
                outcome = answered;
            }
            None => {}
        }
        Ok(outcome)
    }

    /// Applies an update about `address` that interface `index` received. Returns whether `address`
    /// is a neighbor now.
    fn learn(
        &mut self,
        io: &mut HostIo,
        now: Instant,
        index: usize,
        (address, update): (IpAddr, NeighborUpdate),
    ) -> Result<bool, Outcome> {
        let Interface { port, vlan, .. } = *io.interface(index);
        let key = NeighborKey { port, address };
        // Two VLANs of one port have different neighbors. A message in one VLAN must not change a
        // neighbor of the other.
        if io.interface_towards(key).is_none_or(|towards| towards.vlan != vlan) {
            return Ok(false);
        }
        match self.cache.learn(now, key, update) {
            Learned::Up(mac) => {
                io.counters.neighbors_up += 1;
                io.push(Output::NeighborUp { neighbor: key, mac });
                self.release(io, key);
            }
            Learned::Moved(mac) => {
                io.counters.neighbors_moved += 1;
                io.push(Output::NeighborUp { neighbor: key, mac });
            }
            Learned::Same => {}
            Learned::ConflictsWithStatic => return Err(Outcome::Spoofed),
            Learned::Unknown => return Ok(false),
            Learned::Full => {
                io.counters.neighbors_refused += 1;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Configures a neighbor.
    pub(super) fn add_static(
        &mut self,
        io: &mut HostIo,
        now: Instant,
        neighbor: NeighborKey,
        mac: MacAddress,
    ) -> Result<(), NeighborsFull> {
        if self.cache.add_static(now, neighbor, mac)? {
            io.push(Output::NeighborUp { neighbor, mac });
        }
        self.release(io, neighbor);
        Ok(())
    }

    /// Removes a configured neighbor.
    pub(super) fn remove_static(&mut self, io: &mut HostIo, neighbor: NeighborKey) {
        if self.cache.remove_static(neighbor) {
            io.push(Output::NeighborDown { neighbor });
        }
    }

    /// Removes every neighbor that is not static and that `keep` refuses. Drops the frames that
    /// wait for them.
    pub(super) fn retain(&mut self, io: &mut HostIo, keep: impl Fn(&HostIo, NeighborKey) -> bool) {
        for (neighbor, was_up) in self.cache.retain(|key| keep(io, key)) {
            if was_up {
                io.push(Output::NeighborDown { neighbor });
            }
            for _ in self.pending.take(neighbor) {
                io.count(Outcome::InterfaceGone);
            }
        }
    }

    /// Sends new requests for the neighbors at `port` that have not answered. Those from before
    /// the link came up prove nothing.
    pub(super) fn ask_again(&mut self, io: &mut HostIo, now: Instant, port: PortId) {
        for key in self.cache.start_again(now, port) {
            send_request(io, key, None);
        }
    }

    /// Handles the next deadline of a neighbor that has come. Returns false if there is none.
    pub(super) fn handle_due(&mut self, io: &mut HostIo, now: Instant) -> bool {
        let Some((key, due)) = self.cache.poll_due(now) else { return false };
        match due {
            Due::Request => send_request(io, key, None),
            Due::Probe(mac) => send_request(io, key, Some(mac)),
            Due::Failed => {
                io.counters.neighbors_failed += 1;
                self.drop_pending(io, now, key);
            }
            Due::Lost => {
                io.counters.neighbors_lost += 1;
                io.push(Output::NeighborDown { neighbor: key });
            }
        }
        true
    }

    /// When [`Self::handle_due`] next has something to do.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.cache.next_deadline()
    }

    /// The neighbors, in order of port and address.
    pub(super) fn iter(&self, now: Instant) -> impl Iterator<Item = Neighbor> {
        self.cache.iter(now)
    }

    /// Neighbors behind `port`, and how many times one there was not added.
    pub(super) fn counts(&self, port: PortId) -> (usize, u64) {
        let counts = self.cache.counts(port);
        (counts.entries, counts.refused)
    }

    /// The frames that wait.
    pub(super) const fn pending(&self) -> &PendingFrames {
        &self.pending
    }

    /// Returns the frames that wait for `key` to the pipeline.
    fn release(&mut self, io: &mut HostIo, key: NeighborKey) {
        for pending in self.pending.take(key) {
            io.count(Outcome::Released);
            io.push(Output::Release { port: pending.port, frame: pending.frame });
        }
    }

    /// Drops the frames that wait for `key`, which does not answer, and sends ICMP errors to their
    /// senders.
    fn drop_pending(&mut self, io: &mut HostIo, now: Instant, key: NeighborKey) {
        for pending in self.pending.take(key) {
            io.count(Outcome::HostUnreachable);
            let Some(incoming) = Incoming::open(&pending.frame) else { continue };
            let Some(index) = io.interface_of(pending.port, &incoming) else { continue };
            if let Ok(packet) = IpPacket::of_frame(&incoming) {
                io.send_icmp_error(now, index, &incoming, &packet, IcmpError::HostUnreachable);
            }
        }
    }
}

/// Sends a request for a neighbor: to all nodes of the link, or to `mac` as a probe if its MAC
/// address is known.
fn send_request(io: &mut HostIo, key: NeighborKey, mac: Option<MacAddress>) {
    let Some(interface) = io.interface_towards(key) else { return };
    let frame = match key.address {
        IpAddr::V4(target) => arp::request(interface, target, mac),
        IpAddr::V6(target) => ndisc::solicitation(interface, target, mac),
    };
    let Some(frame) = frame else { return };
    match mac {
        Some(_) => io.counters.probes_sent += 1,
        None => io.counters.requests_sent += 1,
    }
    io.push(Output::Send { port: key.port, frame });
}
