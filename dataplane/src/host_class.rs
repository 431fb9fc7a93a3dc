//! Classes of frames for the control thread: what is policed apart, so that a flood of one kind
//! does not keep the others away.
//!
//! With TAPs the host's daemons receive what the switch is addressed by. The worker decides before
//! the ring to the control thread, because the ring and that thread are what a flood would fill.
//! Each receive queue has a policer of its own for each class: a neighbor that floods spends its
//! own share.

use crate::limiter::{PoliceRate, RateLimiter};
use crate::limits::PUNT_FRAMES;
use crate::punt::PuntReason;
use crate::time::Instant;
use crate::wire::parse::{Kind, flow_ports, parse};
use crate::wire::{MacAddress, array_at};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use strum::{IntoStaticStr, VariantArray};

/// What a frame for the control thread is. The protocols are told by their numbers, so an address
/// that is flooded by one of them still hears the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[repr(u8)]
pub enum HostClass {
    /// ARP, and neighbor and router discovery of IPv6.
    ArpNd,
    /// BGP: TCP port 179.
    Bgp,
    /// BFD: UDP ports 3784, 3785 (from this link: TTL 255), 4784, 6784 and 7784.
    Bfd,
    /// OSPF: IP protocol 89.
    Ospf,
    /// IS-IS, by its group addresses.
    Isis,
    /// LLDP.
    Lldp,
    /// ICMP and ICMPv6 but neighbor discovery.
    Icmp,
    /// Any other IP to an address of the switch: ssh.
    Local,
    /// Everything else: other multicast, other ethertypes.
    Other,
    /// What cannot be forwarded, and whose sender or next hop the switch has to ask or to tell.
    Exception,
}

impl HostClass {
    /// All of them, in the order of their counters.
    pub const ALL: &[Self] = Self::VARIANTS;
    /// How many.
    pub const COUNT: usize = Self::ALL.len();

    /// The name in SWITCH.toml, in tables and in metrics.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The class of a frame of `frame_bytes` that is punted for `reason` and begins with `head`.
    pub(crate) fn of(reason: PuntReason, head: &[u8], frame_bytes: usize) -> Self {
        match reason {
            PuntReason::Lldp => Self::Lldp,
            PuntReason::ForUs | PuntReason::Host => Self::of_frame(head, frame_bytes),
            PuntReason::TtlExpired
            | PuntReason::Unresolved
            | PuntReason::TooBig
            | PuntReason::NoRoute
            | PuntReason::Resolve
            | PuntReason::Unreachable => Self::Exception,
        }
    }

    fn of_frame(head: &[u8], frame_bytes: usize) -> Self {
        let parsed = parse(head, frame_bytes);
        let to = head.first_chunk::<6>().copied().map(MacAddress).unwrap_or_default();
        match parsed.kind {
            Kind::Arp => Self::ArpNd,
            Kind::Lldp => Self::Lldp,
            Kind::Ipv4 | Kind::Ipv6 => {
                let l3 = usize::from(parsed.l3);
                let by_protocol = Self::of_ip(head, parsed.kind, l3, parsed.ttl);
                let rest = if to.is_multicast() { Self::Other } else { Self::Local };
                by_protocol.unwrap_or(rest)
            }
            _ if is_isis(to) => Self::Isis,
            _ => Self::Other,
        }
    }

    /// The class by protocol and port, if they have one.
    fn of_ip(head: &[u8], kind: Kind, l3: usize, ttl: u8) -> Option<Self> {
        const ICMP: u8 = 1;
        const TCP: u8 = 6;
        const UDP: u8 = 17;
        const ICMPV6: u8 = 58;
        const OSPF: u8 = 89;
        let flow = flow_ports(head, kind, l3);
        match (flow.protocol, flow.ports) {
            (TCP, (179, _) | (_, 179)) => Some(Self::Bgp),
            // RFC 5881, 5: one hop away, the TTL is 255. What was routed is somebody else's.
            (UDP, (_, 3784 | 3785)) if ttl == u8::MAX => Some(Self::Bfd),
            (UDP, (_, 4784 | 6784 | 7784)) => Some(Self::Bfd),
            (OSPF, _) => Some(Self::Ospf),
            (ICMPV6, _) if kind == Kind::Ipv6 => {
                // Router solicitation to redirect.
                let message = array_at::<1>(head, l3 + crate::wire::ipv6::HEADER_BYTES);
                let is_nd = message.is_some_and(|&[octet]| (133..=137).contains(&octet));
                Some(if is_nd { Self::ArpNd } else { Self::Icmp })
            }
            (ICMP, _) if kind == Kind::Ipv4 => Some(Self::Icmp),
            _ => None,
        }
    }

    /// How many places of the ring to the control thread frames of the class may hold for each one
    /// that is free: more where a network does not converge without them.
    const fn places_per_free(self) -> usize {
        match self {
            Self::ArpNd | Self::Bgp | Self::Bfd | Self::Ospf | Self::Isis | Self::Lldp => 2,
            Self::Icmp | Self::Local | Self::Other | Self::Exception => 1,
        }
    }
}

/// ISO 10589, 8.4.8, and RFC 1195: all level 1 systems, all level 2 systems, all end systems, all
/// intermediate systems.
pub(crate) const fn is_isis(to: MacAddress) -> bool {
    matches!(
        to.0,
        [0x01, 0x80, 0xC2, 0x00, 0x00, 0x14 | 0x15] | [0x09, 0x00, 0x2B, 0x00, 0x00, 0x04 | 0x05]
    )
}

/// The rates of all classes, in the order of [`HostClass::ALL`].
pub type HostRates = [PoliceRate; HostClass::COUNT];

/// Frames of each class, in the order of [`HostClass::ALL`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostCounters {
    /// Given to the control thread.
    pub passed_frames: [u64; HostClass::COUNT],
    /// Dropped: above the rate of the class, or without a place in the ring.
    pub dropped_frames: [u64; HostClass::COUNT],
}

impl HostCounters {
    /// Adds what another worker counted.
    pub fn add(&mut self, other: &Self) {
        for class in 0..HostClass::COUNT {
            self.passed_frames[class] += other.passed_frames[class];
            self.dropped_frames[class] += other.dropped_frames[class];
        }
    }
}

/// The policers of one receive queue, and what they counted.
#[derive(Clone, Debug)]
struct QueuePolicers {
    limiters: [RateLimiter; HostClass::COUNT],
    counters: HostCounters,
}

/// Which receive queue and class hold the places of the ring to the control thread. What is in a
/// ring is what was put in last, so the worker knows it without asking the control thread.
#[derive(Clone, Debug)]
struct Places {
    /// The holders by place, the oldest first.
    holders: VecDeque<u16>,
    /// The places of each holder.
    held: Box<[u16]>,
}

impl Places {
    /// For so many receive queues.
    fn new(queues: usize) -> Self {
        let held = alloc::vec![0; queues * HostClass::COUNT].into_boxed_slice();
        Self { holders: VecDeque::with_capacity(PUNT_FRAMES), held }
    }

    const fn holder(slot: usize, class: HostClass) -> usize {
        slot * HostClass::COUNT + class as usize
    }

    /// Whether there is a place for a frame of `class` while `free` places are free: dynamic
    /// thresholds as in a shared buffer (Choudhury and Hahne), so that however many flood, each
    /// other one finds a place.
    fn has_one_for(&mut self, slot: usize, class: HostClass, free: usize) -> bool {
        while self.holders.len() > PUNT_FRAMES - free {
            let Some(holder) = self.holders.pop_front() else { break };
            self.held[usize::from(holder)] -= 1;
        }
        usize::from(self.held[Self::holder(slot, class)]) < class.places_per_free() * free
    }

    /// A frame of `class` was put into the ring.
    fn put(&mut self, slot: usize, class: HostClass) {
        let holder = Self::holder(slot, class);
        self.held[holder] += 1;
        self.holders.push_back(u16::try_from(holder).unwrap_or(u16::MAX));
    }
}

/// The policers of a worker, by slot of its receive queues.
#[derive(Clone, Debug)]
pub(crate) struct HostPolicers {
    queues: Box<[QueuePolicers]>,
    places: Places,
}

impl HostPolicers {
    /// For so many receive queues.
    pub(crate) fn new(rates: &HostRates, queues: usize) -> Self {
        let limiters = core::array::from_fn(|class| RateLimiter::of(rates[class]));
        let queue = QueuePolicers { limiters, counters: HostCounters::default() };
        let all: Vec<_> = (0..queues).map(|_| queue.clone()).collect();
        Self { queues: all.into_boxed_slice(), places: Places::new(queues) }
    }

    /// Whether a frame of `class` may go to the control thread now, into a ring with `free` places.
    /// If so, it does ([`Self::pass`]).
    pub(crate) fn admits(
        &mut self,
        slot: usize,
        class: HostClass,
        free: usize,
        now: Instant,
    ) -> bool {
        self.places.has_one_for(slot, class, free)
            && self.queues[slot].limiters[class as usize].take(now)
    }

    /// A frame of `class` was put into the ring.
    pub(crate) fn pass(&mut self, slot: usize, class: HostClass) {
        self.places.put(slot, class);
        self.queues[slot].counters.passed_frames[class as usize] += 1;
    }

    /// A frame of `class` was dropped.
    pub(crate) fn drop(&mut self, slot: usize, class: HostClass) {
        self.queues[slot].counters.dropped_frames[class as usize] += 1;
    }

    /// What was counted.
    pub(crate) fn counters(&self, slot: usize) -> HostCounters {
        self.queues.get(slot).map(|queue| queue.counters).unwrap_or_default()
    }
}

#[cfg(test)]
#[path = "host_class_tests.rs"]
mod tests;
