//! Times and limits, and what the agent advertises of the system and of each port.

use super::pdu::{Capabilities, ManagementAddress};
use super::peer_policy::AllowedPeer;
use super::topology::{Device, Profile};
use alloc::string::String;
use dataplane::wire::MacAddress;

pub(super) const SECOND_NS: u64 = 1_000_000_000;

/// The agent's times and limits. The defaults are those of IEEE 802.1AB-2016, clause 9.2.5.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LldpSettings {
    /// Seconds between two frames when nothing changes (msgTxInterval), at least 1.
    pub interval_s: u16,
    /// Intervals for which neighbors keep what we advertise (msgTxHold): the TTL is
    /// `interval_s * hold`.
    pub hold: u16,
    /// Frames sent a second apart when a port comes up or a neighbor is new (txFastInit).
    pub fast_frames: u8,
    /// Frames that a port may send at once when much changes (txCreditMax). One credit returns each
    /// second.
    pub credit_frames: u8,
    /// Seconds for which a port sends nothing after its shutdown LLDPDU (reinitDelay).
    pub reinit_s: u16,
    /// Neighbors kept per port. A link of a fabric has one.
    pub neighbors_max: usize,
    /// The format of the topology TLV that is sent. Both formats are read.
    pub profile: Profile,
    /// What this device is.
    pub device: Device,
    /// Whether levels are learned and advertised. If not, the agent only keeps neighbors.
    pub learns: bool,
    /// The level, if the operator has fixed it; 1 to [`LEVEL_MAX`](super::LEVEL_MAX).
    pub level: Option<u8>,
    /// The highest level that is learned; 1 to [`LEVEL_MAX`](super::LEVEL_MAX). Levels that no
    /// switch has any more are forgotten when they have risen to it.
    pub level_limit: u8,
}

impl Default for LldpSettings {
    fn default() -> Self {
        Self {
            interval_s: 30,
            hold: 4,
            fast_frames: 4,
            credit_frames: 5,
            reinit_s: 2,
            neighbors_max: 4,
            profile: Profile::Standard,
            device: Device::Bridge,
            learns: true,
            level: None,
            level_limit: super::LEVEL_LIMIT_DEFAULT,
        }
    }
}

impl LldpSettings {
    /// The TTL of our LLDPDUs, in seconds.
    pub const fn ttl_s(&self) -> u16 {
        self.interval_s.saturating_mul(self.hold)
    }
}

/// What is advertised of the whole system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct System {
    /// The chassis id: a MAC address of the switch.
    pub chassis: MacAddress,
    /// The system name. An empty name is not sent.
    pub name: String,
    /// The system description. An empty description is not sent.
    pub description: String,
    /// The system capabilities. `None` is not sent.
    pub capabilities: Option<Capabilities>,
    /// The management address. `None` is not sent.
    pub management: Option<ManagementAddress>,
}

/// What is advertised of a port, and which neighbor it accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortSettings {
    /// The source address of our frames.
    pub mac: MacAddress,
    /// The port's name: its port id.
    pub name: String,
    /// The port description. An empty description is not sent.
    pub description: String,
    /// The longest frame, with FCS. 0 is not sent.
    pub max_frame_bytes: u16,
    /// Bit p is set if PFC protects priority p. `None` is not sent.
    pub pfc_bits: Option<u8>,
    /// What may be at the other end.
    pub allowed_peer: AllowedPeer,
}
