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

    /// Whether frames of the class may fill the whole ring to the control thread. The others leave
    /// half of it free: these are what a network does not converge without.
    const fn has_whole_ring(self) -> bool {
        matches!(self, Self::ArpNd | Self::Bgp | Self::Bfd | Self::Ospf | Self::Isis | Self::Lldp)
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
    /// Dropped: above the rate of the class, or the ring was full.
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

/// The policers of a worker, by slot of its receive queues.
#[derive(Clone, Debug)]
pub(crate) struct HostPolicers(Box<[QueuePolicers]>);

impl HostPolicers {
    /// For so many receive queues.
    pub(crate) fn new(rates: &HostRates, queues: usize) -> Self {
        let limiters = core::array::from_fn(|class| RateLimiter::of(rates[class]));
        let queue = QueuePolicers { limiters, counters: HostCounters::default() };
        let all: Vec<_> = (0..queues).map(|_| queue.clone()).collect();
        Self(all.into_boxed_slice())
    }

    /// Whether a frame of `class` may go to the control thread now, into a ring with `free` places.
    pub(crate) fn admits(
        &mut self,
        slot: usize,
        class: HostClass,
        free: usize,
        now: Instant,
    ) -> bool {
        (class.has_whole_ring() || free > PUNT_FRAMES / 2)
            && self.0[slot].limiters[class as usize].take(now)
    }

    /// Counts a frame of `class`.
    pub(crate) fn count(&mut self, slot: usize, class: HostClass, is_passed: bool) {
        let counters = &mut self.0[slot].counters;
        let frames =
            if is_passed { &mut counters.passed_frames } else { &mut counters.dropped_frames };
        frames[class as usize] += 1;
    }

    /// What was counted.
    pub(crate) fn counters(&self, slot: usize) -> HostCounters {
        self.0.get(slot).map(|queue| queue.counters).unwrap_or_default()
    }
}

#[cfg(test)]
#[path = "host_class_tests.rs"]
mod tests;
