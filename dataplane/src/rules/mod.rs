//! Rules: (tag, in port, out port) -> new tag, or lossy. Papers: Tagger, section V and Fig. 9.
//!
//! [`TcamEntry`] is what a rule file holds: first match wins, no match is lossy. [`RuleTable`] is
//! what the packet path reads: two loads, whatever the number of entries. [`linear`] is the slow,
//! obvious oracle that the table is tested against.

mod entry;
pub mod linear;
mod table;

pub use entry::{PortSet, TagMatch, TcamEntry};
pub use table::RuleTable;
