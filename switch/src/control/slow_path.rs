//! Punted frames: to the agent, and the agent's outputs.
//!
//! A frame that waited for its next hop is sent to the workers behind the tables that contain the
//! next hop, so it finds them in use.

use super::lldp::LldpControl;
use super::tables::Tables;
use super::workers::Workers;
use crate::host_taps::HostTaps;
use crate::platform::Platform;
use agents::host::{AgentSettings, HostAgent, NeighborKey, NextHop, Output};
use dataplane::control_rings::{Command, Punted};
use dataplane::host_class::HostClass;
use dataplane::ids::PortId;
use dataplane::punt::PuntReason;
use dataplane::time::Instant;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Frames taken from each worker in one step, so that a flood of them does not delay other work.
const PUNTS_A_STEP: usize = 256;

/// Interval of the requests for unresolved gateways.
const RESOLVE_NS: u64 = 1_000_000_000;
/// Searching for them takes at most this fraction of the time.
const RESOLVE_SHARE: u64 = 100;

/// The agent, and the frames between it and the workers.
#[derive(Debug)]
pub(super) struct SlowPath {
    pub(super) agent: HostAgent,
    /// The bytes of the frame in hand.
    bytes: Vec<u8>,
    /// Frames to be sent to the workers behind the next tables.
    releases: Vec<(PortId, Vec<u8>)>,
    /// Frames of the switch itself for which no buffer was left.
    pub(super) unmade_frames: u64,
    /// When unresolved gateways are requested next.
    resolve_at: Instant,
}

impl SlowPath {
    pub(super) fn new(tables: &Tables) -> Self {
        let mut agent = HostAgent::new(tables.interfaces().to_vec(), agent_settings(tables));
        agent.set_locals(tables.config().loopback.clone());
        Self {
            agent,
            bytes: Vec::new(),
            releases: Vec::new(),
            unmade_frames: 0,
            resolve_at: Instant::ZERO,
        }
    }

    /// Passes punted frames to the agents. Returns whether there were any.
    pub(super) fn take_punted<P: Platform>(
        &mut self,
        platform: &P,
        workers: &mut Workers<P::Frame>,
        tables: &Tables,
        (mut lldp, mut host): (Option<&mut LldpControl>, Option<&mut HostTaps>),
        now: Instant,
    ) -> bool {
        let mut any = false;
        for worker in workers.iter_mut() {
            for _ in 0..PUNTS_A_STEP {
                let Some(punted) = worker.punted() else { break };
                any = true;
                let agents = (lldp.as_deref_mut(), host.as_deref_mut());
                self.handle(platform, tables, agents, now, &punted);
            }
        }
        any
    }

    fn handle<P: Platform>(
        &mut self,
        platform: &P,
        tables: &Tables,
        (lldp, host): (Option<&mut LldpControl>, Option<&mut HostTaps>),
        now: Instant,
        punted: &Punted<P::Frame>,
    ) {
        self.bytes.clear();
        platform.read(&punted.frame, &mut self.bytes);
        if punted.reason == PuntReason::Lldp
            && let Some(lldp) = lldp
        {
            return lldp.handle_frame(now, punted.port, &self.bytes);
        }
        if let Some(host) = host.filter(|host| host.has(punted.port))
            && is_for_host(punted.reason)
        {
            host.deliver(punted.port, &self.bytes);
            // The agent learns neighbors from its copy, and answers nothing.
            if punted.class != Some(HostClass::ArpNd) {
                return;
            }
        }
        let next_hop = next_hop(tables, punted.reason, &self.bytes);
        self.agent.handle_frame(now, punted.port, punted.reason, &self.bytes, next_hop);
    }

    /// Requests unresolved gateways when due: while another gateway of the route is resolved, no
    /// frame triggers the request.
    pub(super) fn resolve_gateways<P: Platform>(
        &mut self,
        platform: &P,
        tables: &Tables,
        now: Instant,
    ) {
        if now < self.resolve_at {
            return;
        }
        for hop in tables.routes().unresolved_gateways() {
            let key = NeighborKey { port: hop.interface.port, address: hop.address };
            self.agent.resolve(now, key);
        }
        // A search of many thousand routes takes long.
        let took_ns = platform.now().ns_since(now);
        self.resolve_at = now + RESOLVE_NS.max(took_ns * RESOLVE_SHARE);
    }

    /// Processes the agent's outputs. Returns whether the packet path needs new tables.
    pub(super) fn process_outputs<P: Platform>(
        &mut self,
        platform: &P,
        workers: &mut Workers<P::Frame>,
        tables: &mut Tables,
    ) -> bool {
        let mut needs_tables = false;
        while let Some(output) = self.agent.poll_output() {
            match output {
                Output::Send { port, frame } => match platform.frame(&frame) {
                    Some(frame) => workers.command(port, Command::Send(port, frame)),
                    None => self.unmade_frames += 1,
                },
                Output::NeighborUp { neighbor, mac } => {
                    needs_tables |= tables.neighbor_up(neighbor, mac);
                }
                Output::NeighborDown { neighbor } => needs_tables |= tables.neighbor_down(neighbor),
                Output::Release { port, frame } => self.releases.push((port, frame)),
            }
        }
        needs_tables
    }

    /// Whether frames wait for the next tables.
    pub(super) const fn has_releases(&self) -> bool {
        !self.releases.is_empty()
    }

    /// Sends the frames that waited for tables after them.
    pub(super) fn release<P: Platform>(&mut self, platform: &P, workers: &mut Workers<P::Frame>) {
        for (port, bytes) in self.releases.drain(..) {
            match platform.frame(&bytes) {
                Some(frame) => workers.command(port, Command::Receive(port, frame)),
                None => self.unmade_frames += 1,
            }
        }
    }
}

/// Whether the kernel gets a frame that was punted for this reason, where it has the port's TAP.
/// What cannot be forwarded the switch itself tells the sender.
const fn is_for_host(reason: PuntReason) -> bool {
    matches!(reason, PuntReason::ForUs | PuntReason::Lldp | PuntReason::Host)
}

/// The defaults, with room for the static neighbors beside those that are found.
fn agent_settings(tables: &Tables) -> AgentSettings {
    let settings = AgentSettings::default();
    let neighbors_max = settings.neighbors_max + tables.config().neighbors.len();
    AgentSettings { neighbors_max, ..settings }
}

/// The next hop of a punted frame, for the reasons that need it.
fn next_hop(tables: &Tables, reason: PuntReason, bytes: &[u8]) -> Option<NextHop> {
    match reason {
        PuntReason::Unresolved | PuntReason::Resolve => {
            tables.unresolved_hop(destination(bytes)?).map(NextHop::from)
        }
        PuntReason::TooBig => tables.narrowest_hop(destination(bytes)?),
        PuntReason::ForUs
        | PuntReason::TtlExpired
        | PuntReason::NoRoute
        | PuntReason::Lldp
        | PuntReason::Host
        | PuntReason::Unreachable => None,
    }
}

const ETHERTYPE_IPV4: [u8; 2] = [0x08, 0x00];
const ETHERTYPE_IPV6: [u8; 2] = [0x86, 0xDD];
const ETHERTYPES_VLAN: [[u8; 2]; 2] = [[0x81, 0x00], [0x88, 0xA8]];

/// The IP address that a frame with up to two VLAN tags is for.
fn destination(frame: &[u8]) -> Option<IpAddr> {
    let mut l3 = 14;
    let mut ethertype = *frame.get(12..)?.first_chunk::<2>()?;
    for _ in 0..2 {
        if ETHERTYPES_VLAN.contains(&ethertype) {
            l3 += 4;
            ethertype = *frame.get(l3 - 2..)?.first_chunk::<2>()?;
        }
    }
    match ethertype {
        ETHERTYPE_IPV4 => {
            let octets = *frame.get(l3 + 16..)?.first_chunk::<4>()?;
            Some(IpAddr::V4(Ipv4Addr::from(octets)))
        }
        ETHERTYPE_IPV6 => {
            let octets = *frame.get(l3 + 24..)?.first_chunk::<16>()?;
            Some(IpAddr::V6(Ipv6Addr::from(octets)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(tags: &[u8], ethertype: [u8; 2], header: &[u8]) -> Vec<u8> {
        [&[0; 12], tags, &ethertype, header].concat()
    }

    #[test]
    fn the_destination_is_found_behind_up_to_two_tags() {
        let mut v4 = [0; 20];
        v4[16..].copy_from_slice(&[10, 1, 2, 3]);
        let mut v6 = [0; 40];
        v6[24..].copy_from_slice(&Ipv6Addr::LOCALHOST.octets());
        for tags in [&[][..], &[0x81, 0, 0, 5], &[0x88, 0xA8, 0, 5, 0x81, 0, 0, 6]] {
            let found = destination(&frame(tags, ETHERTYPE_IPV4, &v4));
            assert_eq!(found, Some("10.1.2.3".parse().unwrap()), "{tags:?}");
            let found = destination(&frame(tags, ETHERTYPE_IPV6, &v6));
            assert_eq!(found, Some("::1".parse().unwrap()), "{tags:?}");
        }
    }

    #[test]
    fn what_is_cut_short_or_not_ip_has_no_destination() {
        let whole = frame(&[0x81, 0, 0, 5], ETHERTYPE_IPV6, &[0; 40]);
        for end in 0..whole.len() {
            assert_eq!(destination(&whole[..end]), None, "{end} bytes");
        }
        assert_eq!(destination(&frame(&[], [0x08, 0x06], &[0; 28])), None);
    }
}
