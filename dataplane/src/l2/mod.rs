//! Bridging: VLANs and learned addresses.

mod mac_eight;
mod mac_slice;
mod mac_slot;
mod mac_table;
mod vid;
mod vlan;

pub(crate) use mac_eight::Stations;
pub use mac_slice::MacSlice;
pub use mac_slot::{MacEntry, Origin};
pub use mac_table::{Learned, MacTable};
pub use vid::{Vid, VidSet};
pub use vlan::{EgressForm, VlanPort, VlanTable};
