//! From flows and collectives to the endpoints of all hosts, connected.

use super::collective::{Program, connections};
use super::paths::{PathLength, PathLengths};
use super::rank::Rank;
use super::{BUFFERS, Due, Ideal, MESSAGE_BYTES, Pair, RdmaHost, Use};
use crate::event::Picoseconds;
use crate::flow::{FlowId, FlowSpec, Pace, TTL_START};
use crate::topology::{HostId, SwitchId};
use config::scenario::{CollectiveKind, Roce};
use dataplane::ids::Tag;
use dataplane::limits::WIRE_OVERHEAD_BYTES;
use dataplane::pipeline::classify::TagMap;
use dataplane::time::Speed;
use dataplane::wire::MacAddress;
use hdrhistogram::Histogram;
use roce::congestion::{Congestion, PathFacts};
use roce::memory::Region;
use roce::psn::Psn;
use roce::work::QueuePairId;
use roce::{Endpoint, EndpointSettings, Peer, QueuePairSettings, Recovery};
use std::collections::{BTreeMap, BinaryHeap};
use std::net::Ipv4Addr;

/// Simple flows that a network with RoCE may have: frames of the next one could be taken for RoCE's
/// (see `RdmaHost::is_for_it`).
pub(crate) const SIMPLE_FLOWS_MAX: usize = 0xFFFF;
/// The number of a host's first queue pair.
pub(super) const FIRST_QUEUE_PAIR: u32 = 0x11;
/// Bytes of a frame without payload: Ethernet, IP, UDP, BTH, CRC.
const HEADERS_BYTES: u64 = 14 + 20 + 8 + 12 + 4;
/// Slowdowns, in thousandths, up to a million times, to two digits.
const SLOWDOWN_MOST: u64 = 1_000_000_000;
const SLOWDOWN_DIGITS: u8 = 2;

/// A collective of the network.
#[derive(Clone, Debug)]
pub(crate) struct CollectiveSpec {
    pub(crate) kind: CollectiveKind,
    /// By rank.
    pub(crate) hosts: Vec<HostId>,
    pub(crate) bytes: u64,
    pub(crate) chunks: u32,
    pub(crate) rounds: u32,
    pub(crate) start_ps: Picoseconds,
    /// By rank: what a message takes to be computed.
    pub(crate) compute_ps: Vec<Picoseconds>,
    pub(crate) tag: Tag,
}

/// How frames are marked, and in which priority they leave hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Class {
    pub(crate) dscp: u8,
    pub(crate) priority: u8,
}

impl Class {
    /// Of frames that hosts send with `tag`.
    pub(crate) fn of(tag: Tag, tags: &TagMap) -> Self {
        let priority = tags.priority_leaving(tag, TTL_START).value();
        Self { dscp: tags.dscp[tag.index()], priority }
    }
}

/// A flow of the network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowPlan {
    pub(crate) flow: FlowId,
    pub(crate) from: HostId,
    pub(crate) to: HostId,
    /// The addresses that its packets go to, and their answers.
    pub(crate) addresses: [Ipv4Addr; 2],
    pub(crate) class: Class,
    pub(crate) start_ps: Picoseconds,
    pub(crate) size_bytes: Option<u64>,
    /// The most it may send, if that is less than the port.
    pub(crate) rate: Option<Speed>,
}

impl FlowPlan {
    /// `flow`, whose packets and answers go to `addresses`.
    pub(crate) fn new(
        flow: FlowId,
        spec: &FlowSpec,
        addresses: [Ipv4Addr; 2],
        tags: &TagMap,
    ) -> Self {
        let FlowSpec { from, to, start_ps, size_bytes, .. } = *spec;
        let rate = match spec.pace {
            Pace::BackToBack => None,
            Pace::Steady(rate) | Pace::Random(rate) => Some(rate),
        };
        let class = Class::of(spec.tag, tags);
        Self { flow, from, to, addresses, class, start_ps, size_bytes, rate }
    }
}

/// What is known of a host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostFacts {
    pub(crate) mac: MacAddress,
    pub(crate) address: Ipv4Addr,
    /// The switch's.
    pub(crate) gateway_mac: MacAddress,
    pub(crate) speed: Speed,
    /// Its switch and link.
    pub(crate) access: (SwitchId, usize),
}

/// Makes the endpoints.
#[derive(Debug)]
pub(crate) struct Planner<'a> {
    roce: Roce,
    facts: Vec<HostFacts>,
    lengths: PathLengths<'a>,
    /// The class of notifications.
    cnp: Class,
    endpoints: Endpoints,
}

/// By host, its endpoint, if it has one; and what flows would take on an idle network, 0 for those
/// without end.
pub(crate) type Endpoints = (Vec<Option<Box<RdmaHost>>>, BTreeMap<FlowId, Picoseconds>);

/// Bytes of a full data frame.
fn frame_bytes(roce: &Roce) -> u64 {
    HEADERS_BYTES + u64::from(roce.mtu)
}

/// What a flow of `bytes` takes that a host with a port of `speed` sends over an idle path, whose
/// other links are no slower. A short last packet comes right behind the full one before it.
fn ideal_ps(roce: &Roce, length: &PathLength, speed: Speed, bytes: u64) -> Picoseconds {
    let mtu = u64::from(roce.mtu);
    let packets = bytes.div_ceil(mtu).max(1);
    let last_bytes = HEADERS_BYTES + (bytes - (packets - 1) * mtu).next_multiple_of(4);
    let Some(between) = packets.checked_sub(2) else { return length.there_ps(last_bytes) };
    let overhead = WIRE_OVERHEAD_BYTES as u64;
    let full_bytes = frame_bytes(roce);
    let behind_bytes = between * (full_bytes + overhead) + last_bytes + overhead;
    length.there_ps(full_bytes) + speed.bytes_ps(behind_bytes)
}

impl<'a> Planner<'a> {
    pub(crate) fn new(
        roce: Roce,
        facts: Vec<HostFacts>,
        lengths: PathLengths<'a>,
        cnp: Class,
    ) -> Self {
        let hosts = facts.iter().map(|_| None).collect();
        Self { roce, facts, lengths, cnp, endpoints: (hosts, BTreeMap::new()) }
    }

    /// What was planned.
    pub(crate) fn finish(self) -> Endpoints {
        self.endpoints
    }

    fn host(&mut self, host: HostId) -> &mut RdmaHost {
        let facts = self.facts[host.0];
        let (roce, cnp) = (self.roce, self.cnp);
        self.endpoints.0[host.0].get_or_insert_with(|| {
            let mut endpoint = Endpoint::new(EndpointSettings {
                first_queue_pair: FIRST_QUEUE_PAIR,
                checks_icrc: false,
                // A flow with a path of its own is sent to an address of its own: see
                // `RdmaHost::receive`.
                checks_addresses: false,
                cnp_interval_ps: roce.cnp_interval_ns.saturating_mul(1_000),
                cnp_dscp: cnp.dscp,
                cnp_priority: cnp.priority,
                ..EndpointSettings::new(facts.mac, facts.address.into())
            });
            endpoint.register(Region { address: 0, bytes: 1 << 32, is_remote: false });
            let slowdowns = Histogram::new_with_max(SLOWDOWN_MOST, SLOWDOWN_DIGITS);
            Box::new(RdmaHost {
                endpoint,
                pairs: Vec::new(),
                ranks: Vec::new(),
                due: BinaryHeap::new(),
                number: 0,
                messages: Vec::new(),
                planned_ps: 0,
                has_stopped: false,
                slowdowns: slowdowns.expect("digits and bounds that it allows"),
                failures: 0,
            })
        })
    }

    /// The path between two hosts; an empty one if there is none.
    fn length(&mut self, from: HostId, to: HostId) -> PathLength {
        let [start, end] = [from, to].map(|host| self.facts[host.0].access);
        self.lengths.between(start, end).unwrap_or_default()
    }

    /// Creates a queue pair at `from` for packets to `to`, of at most `rate`; its index.
    fn create(
        &mut self,
        from: HostId,
        to: HostId,
        class: Class,
        rate: Option<Speed>,
        pair: Pair,
    ) -> u32 {
        let length = self.length(from, to);
        let roce = self.roce;
        let speed = self.facts[from.0].speed;
        let speed = rate.map_or(speed, |rate| rate.min(speed));
        let base_rtt_ps = roce.base_rtt_ns.map_or_else(
            || length.round_trip_ps(frame_bytes(&roce)),
            |ns| ns.saturating_mul(1_000),
        );
        let path = PathFacts {
            speed_bps: speed.bps(),
            base_rtt_ps,
            packet_bytes: roce.mtu,
            hops: length.switches,
        };
        let settings = QueuePairSettings {
            mtu: roce.mtu,
            dscp: class.dscp,
            priority: class.priority,
            recovery: match roce.selective_packets {
                None => Recovery::GoBackN,
                Some(window_packets) => Recovery::SelectiveRepeat { window_packets },
            },
            acknowledge_every: roce.acknowledge_every,
            timeout_ps: roce.timeout_ns.saturating_mul(1_000),
            // An emulated flow waits for ever, as its network may.
            retries: u8::MAX,
            requests_max: u32::MAX,
            ..QueuePairSettings::default()
        };
        let congestion = Congestion::new(&roce.algorithm, &path);
        let host = self.host(from);
        let (queue_pair, _) = host.endpoint.create_queue_pair(settings, congestion);
        host.pairs.push(pair);
        queue_pair.0
    }

    fn connect(&mut self, host: HostId, queue_pair: u32, address: Ipv4Addr, peer: u32) {
        let mac = self.facts[host.0].gateway_mac;
        let queue_pair_number = FIRST_QUEUE_PAIR + peer;
        let peer =
            Peer { mac, ip: address.into(), queue_pair: queue_pair_number, psn: Psn::new(0) };
        self.host(host).endpoint.connect(QueuePairId(queue_pair), peer);
    }

    fn post_buffers(&mut self, host: HostId, queue_pair: u32) {
        let host = self.host(host);
        (0..BUFFERS).for_each(|_| host.post_buffer(QueuePairId(queue_pair)));
    }

    /// A flow: a queue pair at each end.
    pub(crate) fn flow(&mut self, plan: &FlowPlan) {
        let FlowPlan { flow, from, to, addresses, class, start_ps, size_bytes, rate } = *plan;
        let [address, back] = addresses;
        let [source, target] = [from, to].map(|host| self.facts[host.0].address);
        let purpose = Use::Sender { flow, left_bytes: size_bytes };
        // Packets come from a host's own address, whatever that of the flow is.
        let pair = Pair { purpose, address: back, peer: target };
        let sender = self.create(from, to, class, rate, pair);
        let left_messages = size_bytes.map(|bytes| bytes.div_ceil(MESSAGE_BYTES));
        let purpose = Use::Receiver { flow, left_messages };
        let receiver = self.create(to, from, class, None, Pair { purpose, address, peer: source });
        self.connect(from, sender, address, receiver);
        self.connect(to, receiver, back, sender);
        self.post_buffers(to, receiver);
        self.host(from).plan(start_ps, Due::Flow { queue_pair: sender });
        let (length, speed) = (self.length(from, to), self.facts[from.0].speed);
        let ideal_ps = size_bytes.map_or(0, |bytes| ideal_ps(&self.roce, &length, speed, bytes));
        self.endpoints.1.insert(flow, ideal_ps);
    }

    /// Collective number `number`.
    pub(crate) fn collective(&mut self, number: usize, spec: &CollectiveSpec, class: Class) {
        let ranks = u32::try_from(spec.hosts.len()).unwrap_or(u32::MAX);
        // By rank: its number at its host.
        let mut places = Vec::with_capacity(spec.hosts.len());
        for ((rank, &host), &compute_ps) in (0..).zip(&spec.hosts).zip(&spec.compute_ps) {
            let CollectiveSpec { kind, bytes, chunks, rounds, start_ps, .. } = *spec;
            let program = Program { kind, rank, ranks, bytes, chunks, rounds };
            let host = self.host(host);
            let place = host.ranks.len();
            host.ranks.push(Rank::new(program, number, compute_ps));
            host.plan(start_ps, Due::Rank { rank: place });
            places.push(place);
        }
        for (one, other) in connections(spec.kind, ranks) {
            let [first, second] = [(one, other), (other, one)].map(|((rank, slot), (peer, _))| {
                let [host, far] = [rank, peer].map(|rank| spec.hosts[rank as usize]);
                let place = places[rank as usize];
                let length = self.length(host, far);
                let speed_bps = self.facts[host.0].speed.bps();
                let ideal = Ideal {
                    round_trip_ps: length.round_trip_ps(frame_bytes(&self.roce)),
                    speed_bps,
                };
                let [address, peer] = [host, far].map(|host| self.facts[host.0].address);
                let purpose = Use::Slot { rank: place, slot, ideal };
                let pair = Pair { purpose, address, peer };
                let queue_pair = self.create(host, far, class, None, pair);
                self.host(host).ranks[place].queue_pairs[slot as usize] = Some(queue_pair);
                self.post_buffers(host, queue_pair);
                (host, queue_pair, peer)
            });
            self.connect(first.0, first.1, first.2, second.1);
            self.connect(second.0, second.1, second.2, first.1);
        }
    }
}
