//! LLDP (IEEE 802.1AB): the neighbors of each port, and the levels and port types of a Clos
//! network.
//!
//! The agent advertises the switch and keeps its neighbors. From their Topology Recognition TLVs
//! (IEEE 802.1Qcz-2023, D.2.16; the 802.1 slides "Self-learning of switch type, level and port type
//! in CLOS network", 2019) it learns how many links there are between the switch and the hosts, and
//! which ports are uplinks.
//!
//! It is sans-IO, as the [host agent](crate::host) is: inputs carry the time, outputs wait in a
//! queue, and [`LldpAgent::poll_timeout`] returns when [`LldpAgent::handle_timeout`] is due. The
//! control thread drives it, and so does the emulator. No received frame makes it panic, exceed its
//! limits, or send more than one frame per second and port on average.
//!
//! Each file imports only from files below it in this table.
//!
//! | file | content |
//! |---|---|
//! | `agent` | all ports, and the level that they have in common |
//! | `port` | one port: its neighbors, accepted peer, conditions and transmissions |
//! | `transmitter` | when a port sends |
//! | `neighbors` | the neighbors of a port, and when they expire |
//! | `flap_damping` | a neighbor whose claims change too often is ignored for a while |
//! | `condition` | what a port reports to the operator |
//! | `settings` | times and limits; what is advertised |
//! | `peer_policy` | which claims of a neighbor a port accepts |
//! | `learning` | from accepted peers to level and port types: steps 1 to 4 of the slides |
//! | `pdu` | reads and writes a whole LLDPDU |
//! | `org_tlv` | TLVs of IEEE 802.1 and 802.3: PFC, maximum frame size |
//! | `topology` | the Topology Recognition TLV in both formats |
//! | `tlv` | reads and writes type, length, value |
//! | `counters` | the outcomes of frames, and other counters |

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
mod settings;
#[cfg(test)]
mod tests;
mod tlv;
mod topology;
mod transmitter;

pub use agent::{LldpAgent, Output, PortView};
pub use condition::{Condition, Conditions};
pub use counters::{LldpCounters, Outcome};
pub use learning::{LEVEL_LIMIT_DEFAULT, LEVEL_MAX, PortRole};
pub use neighbors::Neighbor;
pub use org_tlv::PfcConfiguration;
pub use pdu::{Capabilities, Id, ManagementAddress, Pdu};
pub use peer_policy::AllowedPeer;
pub use settings::{LldpSettings, PortSettings, System};
pub use topology::{Device, Orientation, Profile, Topology};
