//! The driver: an endpoint behind a packet socket, which obeys PFC frame by frame.

use super::RoceError;
use super::args::LinkArgs;
use super::backlog::Backlog;
use super::exchange::Pair;
use crate::traffic::TrafficError;
use crate::traffic::clock::Clock;
use crate::traffic::interface::Interface;
use crate::traffic::socket::{Listen, PacketSocket, ReceiveRing, SOCKET_BURST_MAX};
use arrayvec::ArrayVec;
use dataplane::counters::PfcCounters;
use dataplane::ids::Priority;
use dataplane::limits::WIRE_OVERHEAD_BYTES;
use dataplane::pfc::receiver::Receiver;
use dataplane::time::Instant;
use dataplane::wire::mac_control::{MacControl, Pfc};
use dataplane::wire::{MacAddress, be16, ethernet};
use roce::congestion::{Congestion, PathFacts};
use roce::memory::VecMemory;
use roce::psn::Psn;
use roce::time::Picoseconds;
use roce::wire::{HEAD_BYTES_MAX, UDP_PORT};
use roce::work::QueuePairId;
use roce::{Endpoint, EndpointSettings, Head, Peer, QueuePairSettings};
use socket2::SockRef;
use std::net::{IpAddr, UdpSocket};

/// Frames between two looks at what has arrived.
const BURST: usize = 8;
/// Shorter sleeps overshoot; the clock is polled instead.
const SLEEP_NS_MIN: u64 = 3_000;
/// The longest sleep while others than the socket may have something to say.
const SLEEP_NS_MAX: u64 = 1_000_000;
const RECEIVE_BYTES: usize = 64 << 20;
const PS_PER_NS: u64 = 1_000;

/// An endpoint on an interface.
pub(super) struct Driver {
    pub(super) endpoint: Endpoint,
    pub(super) memory: VecMemory,
    pub(super) interface: Interface,
    link: LinkArgs,
    socket: PacketSocket,
    ring: ReceiveRing,
    clock: Clock,
    pauses: Receiver,
    /// Without what `pauses` counts.
    pfc: PfcCounters,
    backlog: Backlog,
    head: Head,
    /// Frames that were built and that the interface has not taken, and their PFC priorities.
    frames: Vec<(u8, Vec<u8>)>,
    /// Buffers of frames that were sent.
    spare: Vec<Vec<u8>>,
    /// When the link is free for the next frame.
    free_ps: Picoseconds,
    /// Bursts that the interface did not take whole.
    pub(super) refused: u64,
    /// Holds the port, so that the kernel does not answer that it is closed.
    _port: Option<UdpSocket>,
}

impl Driver {
    /// Opens an endpoint with the address `ip` on `interface`.
    ///
    /// # Errors
    /// The system refuses a raw socket (it takes CAP_NET_RAW).
    pub(super) fn open(
        interface: Interface,
        ip: IpAddr,
        link: &LinkArgs,
    ) -> Result<Self, RoceError> {
        let socket = PacketSocket::open(&interface, Listen::Everything)?;
        socket.set_receive_buffer(RECEIVE_BYTES)?;
        socket.set_qdisc_bypass()?;
        let ring = ReceiveRing::new(&socket)?;
        let mut settings = EndpointSettings::new(interface.mac, ip);
        settings.pacing_slack_ps = link.slack_ns * PS_PER_NS;
        settings.cnp_interval_ps = link.cnp_interval_ns * PS_PER_NS;
        settings.cnp_dscp = link.cnp_dscp;
        settings.cnp_priority = link.cnp_priority.value();
        let obeyed_bits = if link.ignore_pfc { 0 } else { u8::MAX };
        let port = UdpSocket::bind((ip, UDP_PORT)).ok();
        if let Some(port) = &port {
            // What it keeps nobody reads. A larger buffer does no harm.
            let _cannot = SockRef::from(port).set_recv_buffer_size(1);
        }
        Ok(Self {
            endpoint: Endpoint::new(settings),
            memory: VecMemory::default(),
            interface,
            link: link.clone(),
            socket,
            ring,
            clock: Clock::start(),
            pauses: Receiver::new(obeyed_bits, link.speed),
            pfc: PfcCounters::default(),
            backlog: Backlog::new(link.priority, link.speed),
            head: [0; HEAD_BYTES_MAX],
            frames: Vec::new(),
            spare: Vec::new(),
            free_ps: 0,
            refused: 0,
            _port: port,
        })
    }

    /// Now.
    pub(super) fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Now, as the endpoint counts time.
    pub(super) fn now_ps(&self) -> Picoseconds {
        self.clock.now().ns * PS_PER_NS
    }

    /// A new queue pair for packets of `mtu`; it, its number, and its first packet's.
    pub(super) fn create_queue_pair(&mut self, mtu: u32) -> (QueuePairId, u32, Psn) {
        let psn = Psn::new(u32::from_le_bytes(
            (crate::traffic::clock::monotonic_ns() >> 8).to_le_bytes()[..4]
                .try_into()
                .unwrap_or_default(),
        ));
        let link = &self.link;
        let path = PathFacts {
            speed_bps: link.rate_bps.unwrap_or_else(|| link.speed.bps()),
            base_rtt_ps: link.base_rtt_ns * PS_PER_NS,
            packet_bytes: mtu,
            hops: 1,
        };
        let settings = QueuePairSettings {
            mtu,
            dscp: link.dscp,
            priority: link.priority.value(),
            ecn: !link.no_ecn,
            recovery: link.recovery(),
            acknowledge_every: link.acknowledge_every,
            timeout_ps: link.timeout_ns * PS_PER_NS,
            psn,
            ..QueuePairSettings::default()
        };
        let congestion = Congestion::new(&link.algorithm(), &path);
        let (queue_pair, number) = self.endpoint.create_queue_pair(settings, congestion);
        (queue_pair, number, psn)
    }

    /// Connects a queue pair to the one that the other side told. Its frames go where the kernel's
    /// route leads.
    ///
    /// # Errors
    /// There is no route, or nobody answers there.
    pub(super) fn connect(
        &mut self,
        queue_pair: QueuePairId,
        theirs: &Pair,
    ) -> Result<(), RoceError> {
        let mac = match self.link.peer_mac {
            Some(mac) => mac,
            None => self.resolve(theirs.ip)?,
        };
        let (ip, psn) = (theirs.ip, theirs.psn);
        let peer = Peer { mac, ip, queue_pair: theirs.queue_pair, psn };
        self.endpoint.connect(queue_pair, peer);
        Ok(())
    }

    fn resolve(&self, ip: IpAddr) -> Result<MacAddress, TrafficError> {
        let route = self.interface.route(ip)?;
        self.interface.neighbor(route.next_hop)
    }

    /// Receives and sends what is due, a burst of each; whether there was anything.
    ///
    /// # Errors
    /// The interface is down or gone.
    pub(super) fn turn(&mut self) -> Result<bool, RoceError> {
        let received = self.receive()?;
        self.pauses.expire(self.clock.now());
        let sent = self.transmit()?;
        Ok(received + sent > 0)
    }

    fn receive(&mut self) -> Result<usize, RoceError> {
        let Self { endpoint, memory, clock, pauses, pfc, ring, socket, interface, .. } = self;
        let own = interface.mac;
        let frames = ring.receive(socket, |frame| {
            let now = clock.now();
            match be16(frame.bytes, 12) {
                Some(ethernet::MAC_CONTROL) => {
                    pauses.expire(now);
                    match MacControl::parse(frame.bytes) {
                        MacControl::Pfc(control) => pauses.receive(&control, now),
                        MacControl::Pause => pfc.rx_link_pause_frames += 1,
                        MacControl::Unknown => pfc.rx_unknown_frames += 1,
                        MacControl::Truncated => pfc.rx_truncated_frames += 1,
                    }
                }
                _ if frame.bytes.starts_with(&own.0) => {
                    endpoint.receive(now.ns * PS_PER_NS, frame.bytes, frame.bytes.len(), memory);
                }
                _ => {}
            }
        })?;
        let control = self.backlog.on_burst(frames == SOCKET_BURST_MAX, self.clock.now());
        control.map_or(Ok(()), |control| self.send_pfc(control))?;
        Ok(frames)
    }

    /// Sends a PFC frame, ahead of everything. One that the interface has no room for is lost; the
    /// next one says the same.
    fn send_pfc(&mut self, control: Pfc) -> Result<(), RoceError> {
        let frame = control.to_frame(self.interface.mac);
        self.socket.send(&[&frame])?;
        Ok(())
    }

    fn transmit(&mut self) -> Result<usize, RoceError> {
        let now = self.clock.now();
        let now_ps = now.ns * PS_PER_NS;
        let paused_bits = self.pauses.paused_bits();
        let slack_ps = self.link.slack_ns * PS_PER_NS;
        while self.frames.len() < BURST && self.free_ps <= now_ps {
            let departure = self.endpoint.transmit(now_ps, paused_bits, &mut self.head);
            let Some(departure) = departure else { break };
            let payload = self.memory.read(departure.payload, departure.payload_bytes);
            let mut frame = self.spare.pop().unwrap_or_default();
            departure.write_frame(&self.head, payload, &mut frame);
            let wire_bytes = u64::try_from(frame.len() + WIRE_OVERHEAD_BYTES).unwrap_or(0);
            let earliest = self.free_ps.max(now_ps.saturating_sub(slack_ps));
            self.free_ps = earliest + self.link.speed.bytes_ps(wire_bytes);
            self.frames.push((departure.priority, frame));
        }
        // A frame that the interface had no room for obeys a pause that has come since.
        let may_go = |(priority, _): &&(u8, Vec<u8>)| paused_bits >> priority & 1 == 0;
        let accepted = {
            let frames = self.frames.iter().take_while(may_go).map(|(_, frame)| &frame[..]);
            let burst: ArrayVec<&[u8], BURST> = frames.collect();
            if burst.is_empty() {
                return Ok(0);
            }
            let accepted = self.socket.send(&burst)?;
            self.refused += u64::from(accepted < burst.len());
            accepted
        };
        for (priority, frame) in self.frames.drain(..accepted) {
            let bytes = u32::try_from(frame.len()).unwrap_or(u32::MAX);
            self.pauses.sent(Priority::from_low_bits(priority), bytes, now);
            self.spare.push(frame);
        }
        Ok(accepted)
    }

    /// Sleeps until there may be something to do, or `until`.
    ///
    /// # Errors
    /// The system refuses to wait.
    pub(super) fn sleep(&self, until: Instant) -> Result<(), RoceError> {
        let now = self.clock.now();
        let wants_ps = self.endpoint.wants_turn_at_ps(self.pauses.paused_bits());
        let wants = Instant::from_ns(wants_ps.max(self.free_ps).div_ceil(PS_PER_NS));
        // The interface had no room: it is asked again soon.
        let wants =
            if self.frames.is_empty() { wants } else { now + self.link.slack_ns.min(20_000) };
        let wants = wants.min(self.pauses.expires_at()).min(until).min(now + SLEEP_NS_MAX);
        let coalesced = wants.max(now + self.link.slack_ns.min(50_000));
        let wait_ns = coalesced.ns_since(now);
        if wait_ns >= SLEEP_NS_MIN {
            self.socket.wait(wait_ns)?;
        }
        Ok(())
    }

    /// Time for which our priority was paused.
    pub(super) fn paused_ns(&self) -> u64 {
        let mut counters = self.pfc;
        self.pauses.count_into(&mut counters);
        let priority = self.link.priority;
        counters.rx_paused_ns[priority.index()] + self.pauses.running_ns(priority, self.now())
    }

    /// Pauses of our priority, and pauses that we have made.
    pub(super) fn pauses(&self) -> (u64, u64) {
        let mut counters = self.pfc;
        self.pauses.count_into(&mut counters);
        (counters.rx_pauses[self.link.priority.index()], self.backlog.pauses)
    }

    /// Frames that reached the socket while its buffer was full.
    ///
    /// # Errors
    /// The system call fails.
    pub(super) fn socket_drops(&self) -> Result<u64, RoceError> {
        Ok(self.socket.take_statistics()?.dropped)
    }
}

/// The MTU of packets that an interface's frames have room for.
pub(super) fn packet_mtu(interface_mtu: u32) -> u32 {
    // IPv6, UDP, BTH, RETH, immediate data and the CRC.
    let room = interface_mtu.saturating_sub(40 + 8 + 12 + 16 + 4 + 4);
    [4_096, 2_048, 1_024, 512].into_iter().find(|&mtu| mtu <= room).unwrap_or(256)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_mtu_that_fits() {
        assert_eq!(
            [1_500, 9_000, 4_180, 4_179, 576].map(packet_mtu),
            [1_024, 4_096, 4_096, 2_048, 256]
        );
        assert_eq!(packet_mtu(596), 512);
    }
}
