//! What sFlow calls the causes of drops ("sFlow Dropped Packet Notification Structures", 2020).

use dataplane::counters::DropReason;
use dataplane::punt::PuntReason;

/// `drop_reason`: the codes that a switch sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Reason {
    /// `dst_net_unknown`
    DstNetUnknown = 6,
    /// `unknown`
    Unknown = 256,
    /// `ttl_exceeded`
    TtlExceeded = 257,
    /// `acl`
    Acl = 258,
    /// `no_buffer_space`
    NoBufferSpace = 259,
    /// `red`
    Red = 260,
    /// `traffic_shaping`
    TrafficShaping = 261,
    /// `pkt_too_big`
    PktTooBig = 262,
    /// `ingress_vlan_filter`
    IngressVlanFilter = 265,
    /// `port_list_is_empty`
    PortListIsEmpty = 267,
    /// `port_loopback_filter`
    PortLoopbackFilter = 268,
    /// `blackhole_route`
    BlackholeRoute = 269,
    /// `non_ip`
    NonIp = 270,
    /// `ip_header_corrupted`
    IpHeaderCorrupted = 275,
    /// `unresolved_neigh`
    UnresolvedNeigh = 279,
    /// `non_routable_packet`
    NonRoutablePacket = 281,
    /// `unknown_l2`
    UnknownL2 = 284,
    /// `unknown_l3_exception`
    UnknownL3Exception = 286,
    /// `unknown_buffer`
    UnknownBuffer = 287,
}

impl Reason {
    /// Its code.
    pub(super) const fn code(self) -> u32 {
        self as u32
    }

    /// Why a frame was dropped.
    pub(super) const fn of_drop(cause: DropReason) -> Self {
        match cause {
            DropReason::Truncated | DropReason::BadHeader | DropReason::BadChecksum => {
                Self::IpHeaderCorrupted
            }
            DropReason::TooLong | DropReason::TooBig | DropReason::Oversize => Self::PktTooBig,
            DropReason::NotOurMac | DropReason::ReservedAddress => Self::UnknownL2,
            DropReason::VlanNotAllowed => Self::IngressVlanFilter,
            DropReason::SourceCheck => Self::Acl,
            DropReason::NotIp => Self::NonIp,
            DropReason::Unroutable => Self::NonRoutablePacket,
            DropReason::NoRoute => Self::DstNetUnknown,
            DropReason::Blackhole => Self::BlackholeRoute,
            DropReason::TtlExpired => Self::TtlExceeded,
            DropReason::Unresolved => Self::UnresolvedNeigh,
            DropReason::PuntFull => Self::UnknownL3Exception,
            DropReason::PuntPoliced => Self::TrafficShaping,
            DropReason::SourcePortFiltered => Self::PortLoopbackFilter,
            DropReason::NoFloodMembers => Self::PortListIsEmpty,
            DropReason::PortDown => Self::Unknown,
            DropReason::NoBuffer | DropReason::IngressLimit | DropReason::TailDrop => {
                Self::NoBufferSpace
            }
            DropReason::WredDrop => Self::Red,
            DropReason::Watchdog | DropReason::HeadroomOverrun => Self::UnknownBuffer,
        }
    }

    /// Why a frame that the control thread got is not forwarded; `None` if it is for the switch, or
    /// may still be forwarded.
    pub(super) const fn of_punt(reason: PuntReason) -> Option<Self> {
        match reason {
            PuntReason::TtlExpired => Some(Self::TtlExceeded),
            PuntReason::TooBig => Some(Self::PktTooBig),
            PuntReason::NoRoute => Some(Self::DstNetUnknown),
            PuntReason::Unreachable => Some(Self::UnresolvedNeigh),
            PuntReason::ForUs
            | PuntReason::Unresolved
            | PuntReason::Lldp
            | PuntReason::Resolve
            | PuntReason::Host => None,
        }
    }
}

/// What a frame that the control thread got, because it cannot be forwarded, is said to be dropped
/// for: its own word, since the counters of drops do not have it.
pub(super) const fn punted_cause(reason: PuntReason) -> &'static str {
    match reason {
        PuntReason::TtlExpired => "punted_ttl_expired",
        PuntReason::TooBig => "punted_too_big",
        PuntReason::NoRoute => "punted_no_route",
        PuntReason::Unreachable => "punted_unreachable",
        _ => "punted",
    }
}
