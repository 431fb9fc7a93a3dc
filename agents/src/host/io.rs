//! What all parts of the agent share: the interfaces, the queue of outputs, the counters, and the
//! ICMP errors that leave by an interface.

use super::counters::{AgentCounters, Outcome};
use super::ethernet::Incoming;
use super::icmp::{self, IcmpError};
use super::interface::{Interface, is_link_local};
use super::ip::IpPacket;
use super::neighbor::NeighborKey;
use super::output::Output;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::mem;
use core::net::IpAddr;
use dataplane::ids::PortId;
use dataplane::l2::Vid;
use dataplane::limiter::RateLimiter;
use dataplane::time::Instant;
use dataplane::wire::ethernet;

/// Outputs that may wait for the caller. When the queue is full, frames are refused and timeouts
/// are not handled, so the queue stays bounded even if the caller is slow to empty it.
const OUTPUTS_MAX: usize = 4_096;

/// An interface, and the rate limit of its ICMP errors.
#[derive(Clone, Debug)]
struct InterfaceState {
    interface: Interface,
    errors: RateLimiter,
}

/// The interfaces, outputs and counters of an agent. An interface is named by its index.
#[derive(Clone, Debug)]
pub(super) struct HostIo {
    interfaces: Vec<InterfaceState>,
    /// Addresses of the switch that are on no port.
    pub(super) locals: Vec<IpAddr>,
    outputs: VecDeque<Output>,
    pub(super) counters: AgentCounters,
    icmp_errors_per_second: u32,
}

impl HostIo {
    /// Without interfaces.
    pub(super) fn new(icmp_errors_per_second: u32) -> Self {
        Self {
            interfaces: Vec::new(),
            locals: Vec::new(),
            outputs: VecDeque::new(),
            counters: AgentCounters::default(),
            icmp_errors_per_second,
        }
    }

    /// Replaces the interfaces and returns the old ones. An interface with the same port and VLAN
    /// keeps its rate limit.
    pub(super) fn replace_interfaces(&mut self, interfaces: Vec<Interface>) -> Vec<Interface> {
        let old = mem::take(&mut self.interfaces);
        let with_limit = |interface: Interface| {
            let is_same = |state: &&InterfaceState| {
                (state.interface.port, state.interface.vlan) == (interface.port, interface.vlan)
            };
            let errors = match old.iter().find(is_same) {
                Some(state) => state.errors.clone(),
                None => RateLimiter::new(self.icmp_errors_per_second),
            };
            InterfaceState { interface, errors }
        };
        self.interfaces = interfaces.into_iter().map(with_limit).collect();
        old.into_iter().map(|state| state.interface).collect()
    }

    /// All interfaces, in order of their indices.
    pub(super) fn interfaces(&self) -> impl Iterator<Item = &Interface> + Clone {
        self.interfaces.iter().map(|state| &state.interface)
    }

    /// The interface with this index.
    pub(super) fn interface(&self, index: usize) -> &Interface {
        &self.interfaces[index].interface
    }

    /// The index of the interface that received a frame, by port and VLAN. A frame without a VLAN
    /// belongs to the interface without a VLAN; if there is none, to the first interface of the
    /// port, as on the packet path.
    pub(super) fn interface_of(&self, port: PortId, incoming: &Incoming<'_>) -> Option<usize> {
        let vid = ethernet::vid(incoming.tci);
        let has_vid = |vlan: Option<Vid>| vlan.map_or(0, Vid::value) == vid;
        let find = |is_it: &dyn Fn(&Interface) -> bool| {
            self.interfaces().position(|interface| interface.port == port && is_it(interface))
        };
        find(&|interface| has_vid(interface.vlan))
            .or_else(|| if vid == 0 { find(&|_| true) } else { None })
    }

    /// The interface through which a neighbor is reached.
    pub(super) fn interface_towards(&self, key: NeighborKey) -> Option<&Interface> {
        interface_towards(self.interfaces(), key)
    }

    /// Whether `address` is an address of any interface, or one that is on no port.
    pub(super) fn is_ours(&self, address: IpAddr) -> bool {
        self.locals.contains(&address) || self.interfaces().any(|interface| interface.owns(address))
    }

    /// Whether a sender on the link of interface `index` reaches us by `address`: any address of
    /// the switch, except link-local addresses of other links.
    pub(super) fn is_ours_at(&self, index: usize, address: IpAddr) -> bool {
        if is_link_local(address) {
            self.interface(index).owns(address)
        } else {
            self.is_ours(address)
        }
    }

    /// Whether the caller must take outputs before anything else is done.
    pub(super) fn is_full(&self) -> bool {
        self.outputs.len() >= OUTPUTS_MAX
    }

    /// Queues an output for the caller.
    pub(super) fn push(&mut self, output: Output) {
        self.outputs.push_back(output);
    }

    /// The oldest output that waits.
    pub(super) fn pop(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// Sends a frame at the port of interface `index`.
    pub(super) fn send(&mut self, index: usize, frame: Vec<u8>) {
        let port = self.interface(index).port;
        self.push(Output::Send { port, frame });
    }

    /// Counts how a frame ended.
    pub(super) fn count(&mut self, outcome: Outcome) {
        self.counters.count(outcome);
    }

    /// Sends `error` to the sender of `packet`, which interface `index` received, if the RFCs allow
    /// an error about it and the rate limit permits one.
    pub(super) fn send_icmp_error(
        &mut self,
        now: Instant,
        index: usize,
        incoming: &Incoming<'_>,
        packet: &IpPacket<'_>,
        error: IcmpError,
    ) {
        let is_from_us = self.is_ours_at(index, packet.addresses.source());
        let source = match error {
            IcmpError::PortUnreachable => Some(packet.addresses.destination()),
            _ => self.error_source(index, packet.addresses.source()),
        };
        let InterfaceState { interface, errors } = &mut self.interfaces[index];
        let frame = source
            .filter(|_| !is_from_us && icmp::may_send_error(interface, incoming, packet))
            .and_then(|source| icmp::error_frame(interface, incoming, packet, source, error));
        match frame {
            None => self.counters.errors_withheld += 1,
            Some(_) if !errors.take(now) => self.counters.errors_limited += 1,
            Some(frame) => {
                self.counters.errors_sent += 1;
                self.send(index, frame);
            }
        }
    }

    /// The source address of an error to `peer`: an address of the interface that sends it, so a
    /// traceroute shows the path taken. If that interface has only a link-local address and `peer`
    /// is not link-local, the first other address of the switch is used: a link-local address is
    /// not routed and does not identify the switch beyond its link.
    fn error_source(&self, index: usize, peer: IpAddr) -> Option<IpAddr> {
        let is_routable = |address: &IpAddr| is_link_local(peer) || !is_link_local(*address);
        let here = self.interface(index).source_for(peer);
        here.filter(is_routable)
            .or_else(|| {
                let all = self.interfaces().filter_map(|interface| interface.source_for(peer));
                all.into_iter().find(is_routable)
            })
            .or(here)
    }
}

/// The interface through which a neighbor is reached: of the interfaces at its port the first with
/// its address on the link; if there is none, the first.
pub(super) fn interface_towards<'a>(
    interfaces: impl Iterator<Item = &'a Interface> + Clone,
    key: NeighborKey,
) -> Option<&'a Interface> {
    let mut at_port = interfaces.filter(|interface| interface.port == key.port);
    at_port.clone().find(|interface| interface.is_on_link(key.address)).or_else(|| at_port.next())
}
