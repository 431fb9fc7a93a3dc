//! Who is at the other end of each link, and what follows for a fabric: IEEE 802.1AB, and levels
//! learned by it.
//!
//! The agent says who the switch is, hears who its neighbors are, and learns from their Topology
//! Recognition TLVs (IEEE 802.1Qcz-2023, D.2.16; the 802.1 slides "Self-learning of switch type,
//! level and port type in CLOS network", 2019) how far the switch is from the hosts and which ports
//! lead up. It is sans-IO, as the [host agent](crate::host) is: inputs carry the time, outputs
//! wait in a queue, and [`LldpAgent::poll_timeout`] says when it wants to be called again. The
//! control thread runs it, and so does an emulator. Nothing that a neighbor sends makes it
//! panic, grow beyond its bounds, or send more than a frame a second and port on average.
//!
//! | file | idea |
//! |---|---|
//! | `tlv` | type, length, value: cut out of bytes, and written |
//! | `pdu` | a whole LLDPDU, read and written |
//! | `org_tlv` | TLVs of 802.1 and 802.3: PFC, frame size |
//! | `topology` | the Topology Recognition TLV in both profiles |
//! | `transmitter` | when a port sends |
//! | `neighbors` | whom a port hears |
//! | `peer_policy` | what is believed of a neighbor's word, and what is not |
//! | `flap_damping` | a neighbor that changes its mind too often |
//! | `learning` | from what is believed to level and port types: the slides' steps 1 to 4 |
//! | `condition` | what is worth telling an operator about a port |
//! | `port` | one port: all of the above, joined |
//! | `agent` | the agent |

mod agent;
mod condition;
mod counters;
mod flap_damping;
mod learning;
mod neighbors;
mod org_tlv;
mod pdu;
mod peer_policy;
mod port;
#[cfg(test)]
mod tests;
mod tlv;
mod topology;
mod transmitter;

pub use agent::{LldpAgent, Output, PortView};
pub use condition::{Condition, Conditions};
pub use counters::{LldpCounters, Outcome};
pub use learning::{AcceptedPeer, LEVEL_MAX, Learned, PortRole, learn};
pub use neighbors::Neighbor;
pub use org_tlv::PfcConfiguration;
pub use pdu::{Capabilities, Id, ManagementAddress, Pdu, PduError};
pub use peer_policy::{AllowedPeer, PeerClaim};
pub use topology::{Device, Orientation, Profile, SLIDES_OUI, Topology};

use alloc::string::String;
use dataplane::wire::MacAddress;

const SECOND_NS: u64 = 1_000_000_000;

/// The agent's times and limits. The defaults are those of IEEE 802.1AB-2016, clause 9.2.5.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LldpSettings {
    /// Seconds between two frames when nothing happens (msgTxInterval), at least 1.
    pub interval_s: u16,
    /// Intervals that what we say holds (msgTxHold): the TTL is `interval_s * hold`.
    pub hold: u16,
    /// Frames sent a second apart when a port comes up or a neighbor is new (txFastInit).
    pub fast_frames: u8,
    /// Frames a port may send at once when much changes; one comes back a second (txCreditMax).
    pub credit_frames: u8,
    /// Seconds a port is silent after it has said goodbye (reinitDelay).
    pub reinit_s: u16,
    /// Neighbors kept at a port; a fabric's link has one.
    pub neighbors_max: usize,
    /// How the topology is said. What others say is read in either form.
    pub profile: Profile,
    /// What this device is.
    pub device: Device,
    /// Whether levels are learned and said; without, the agent only knows its neighbors.
    pub learns: bool,
    /// The level, where the operator has fixed it; 1 to [`LEVEL_MAX`].
    pub level: Option<u8>,
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
        }
    }
}

impl LldpSettings {
    /// What we say holds so long, in seconds.
    pub const fn ttl_s(&self) -> u16 {
        self.interval_s.saturating_mul(self.hold)
    }
}

/// What is said of the whole system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct System {
    /// The chassis: an address of the switch.
    pub chassis: MacAddress,
    /// Its name; empty is not said.
    pub name: String,
    /// What it is, in words; empty is not said.
    pub description: String,
    /// What it can do and does; `None` is not said.
    pub capabilities: Option<Capabilities>,
    /// Where it is managed; `None` is not said.
    pub management: Option<ManagementAddress>,
}

/// What is said of a port, and what its neighbor may say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortSettings {
    /// Source of our frames.
    pub mac: MacAddress,
    /// The port's name: its port id.
    pub name: String,
    /// What it is, in words; empty is not said.
    pub description: String,
    /// The longest frame, FCS included; 0 is not said.
    pub max_frame_bytes: u16,
    /// The priorities that PFC protects here; `None` is not said.
    pub pfc_bits: Option<u8>,
    /// What may be at the other end.
    pub allowed_peer: AllowedPeer,
}
