//! What an endpoint and its queue pairs are set to.

use crate::psn::Psn;
use crate::time::{PS_PER_US, Picoseconds};
use dataplane::wire::MacAddress;
use std::net::IpAddr;

/// Of a whole endpoint.
#[derive(Clone, Debug)]
pub struct EndpointSettings {
    /// Its own MAC address.
    pub mac: MacAddress,
    /// Its own IP address.
    pub ip: IpAddr,
    /// The number of the first queue pair; 0 and 1 have a meaning of their own in InfiniBand.
    pub first_queue_pair: u32,
    /// Whether the invariant CRC of packets that are there as a whole is checked.
    pub checks_icrc: bool,
    /// Whether packets for another address than ours, or not from the peer's, are dropped. An
    /// emulator may send to addresses that only say the path.
    pub checks_addresses: bool,
    /// At most one congestion notification packet a queue pair in this time; 0 for one a marked
    /// packet.
    pub cnp_interval_ps: Picoseconds,
    /// DSCP of congestion notification packets.
    pub cnp_dscp: u8,
    /// Their PFC priority, 0 to 7.
    pub cnp_priority: u8,
    /// How late a packet may depart without the next one departing later, too. 0 where the driver
    /// is never late, as in an emulator.
    pub pacing_slack_ps: Picoseconds,
}

impl EndpointSettings {
    /// The usual settings of an endpoint with these addresses: a CNP each 50 us in DSCP 48 and
    /// priority 6, as NICs do.
    pub const fn new(mac: MacAddress, ip: IpAddr) -> Self {
        Self {
            mac,
            ip,
            first_queue_pair: 0x11,
            checks_icrc: true,
            checks_addresses: true,
            cnp_interval_ps: 50 * PS_PER_US,
            cnp_dscp: 48,
            cnp_priority: 6,
            pacing_slack_ps: 0,
        }
    }
}

/// How losses are repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Everything from the lost packet on is sent again, as InfiniBand says.
    GoBackN,
    /// Only what was lost is sent again; the receiver keeps what came after it, as IRN does (Mittal
    /// et al. 2018). Both ends must be set to it.
    SelectiveRepeat {
        /// Packets that may be in flight, the bandwidth-delay product; 1 to 16,384.
        window_packets: u32,
    },
}

/// Of one queue pair.
#[derive(Clone, Debug)]
pub struct QueuePairSettings {
    /// Payload bytes of a full packet: 256, 512, 1,024, 2,048 or 4,096.
    pub mtu: u32,
    /// DSCP of its packets.
    pub dscp: u8,
    /// PFC priority of its packets, 0 to 7.
    pub priority: u8,
    /// Whether its data packets say ECT(0), so that switches mark rather than drop them.
    pub ecn: bool,
    /// DSCP and PFC priority of its acknowledgments, if they are not those of its packets.
    pub acknowledgments: Option<(u8, u8)>,
    /// Priority, drop eligibility and VLAN id of an 802.1Q tag.
    pub tci: Option<u16>,
    /// How losses are repaired.
    pub recovery: Recovery,
    /// The last of this many packets asks for an acknowledgment, and so does each last packet of a
    /// message.
    pub acknowledge_every: u32,
    /// The requester repeats what is not acknowledged for this long.
    pub timeout_ps: Picoseconds,
    /// Timeouts in a row after which it gives up.
    pub retries: u8,
    /// RNR NAKs in a row after which it gives up; 7 for never.
    pub rnr_retries: u8,
    /// Code of the time that the responder asks for when it has no receive buffer; 12 is 0.64 ms.
    pub rnr_timer: u8,
    /// READ and atomic requests in flight, in each direction.
    pub reads_max: u8,
    /// Requests posted and not completed.
    pub requests_max: u32,
    /// First packet sequence number that it sends.
    pub psn: Psn,
}

impl Default for QueuePairSettings {
    fn default() -> Self {
        Self {
            mtu: 1_024,
            dscp: 26,
            priority: 3,
            ecn: true,
            acknowledgments: None,
            tci: None,
            recovery: Recovery::GoBackN,
            acknowledge_every: 16,
            timeout_ps: 67_000 * PS_PER_US,
            retries: 7,
            rnr_retries: 7,
            rnr_timer: 12,
            reads_max: 16,
            requests_max: 1_024,
            psn: Psn::new(0),
        }
    }
}

/// The other side of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    /// Where frames to it go: its MAC address, or its router's.
    pub mac: MacAddress,
    /// Its IP address, of the same family as ours.
    pub ip: IpAddr,
    /// Its queue pair.
    pub queue_pair: u32,
    /// First packet sequence number that it sends.
    pub psn: Psn,
}
