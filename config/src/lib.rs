//! What an operator writes, and what follows from it.
//!
//! [`SwitchConfig`] is a switch: SWITCH.toml, and the rule and route files it names, read, checked
//! and turned into the types of `dataplane`. [`RuleSet`] is a rule file on its own. [`headroom`] is
//! what a lossless port must keep free. [`ScenarioConfig`] is a network with traffic and faults, to
//! be simulated.
//!
//! Nothing here does more than read files. Every error is one line that says where something is
//! wrong and what would be right: [`ConfigError`].
#![forbid(unsafe_code)]

pub mod compile;
mod error;
mod explain;
pub mod fields;
mod file;
pub mod gentle;
pub mod headroom;
pub mod json;
pub mod message;
pub mod network;
pub mod paths;
pub mod plan;
mod rule_file;
pub mod scenario;
mod suggest;
pub mod switch;
pub mod units;
pub mod verify;

pub use error::{ConfigError, read_text};
pub use file::FILE_BYTES_MAX;
pub use network::{Network, NetworkConfig};
pub use paths::PathSet;
pub use rule_file::RuleSet;
pub use scenario::ScenarioConfig;
pub use switch::SwitchConfig;
