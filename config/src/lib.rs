//! What an operator writes: files read, checked and explained.
//!
//! [`SwitchConfig`] is a switch: SWITCH.toml, and the rule and route files it names, read, checked
//! and turned into the types of `dataplane`. [`rule_file`], [`path_file`] and [`plan_file`] are
//! files on their own. [`NetworkConfig`] is a network with its expected paths, in the types of
//! `fabric`; [`ScenarioConfig`] adds traffic and faults, to be simulated, and [`CampaignConfig`] is
//! many simulations. [`headroom`] is what a lossless port must keep free.
//!
//! Nothing here does more than read files. Every error is one line that says where something is
//! wrong and what would be right: [`ConfigError`].
#![forbid(unsafe_code)]

pub mod campaign;
mod did_you_mean;
mod error;
mod explain;
mod fields;
mod file;
mod file_kind;
pub mod gfc;
pub mod headroom;
pub mod import;
pub mod json;
mod key_path;
pub mod message;
mod names;
pub mod network;
mod old_words;
pub mod path_file;
pub mod plan_file;
pub mod rule_file;
pub mod scenario;
mod shard;
pub mod sonic;
mod source;
pub mod switch;
pub mod units;

pub use campaign::CampaignConfig;
pub use error::ConfigError;
pub use file_kind::FileKind;
pub use network::NetworkConfig;
pub use scenario::ScenarioConfig;
pub use shard::{Shard, ShardError};
pub use source::{read_json, read_text};
pub use switch::SwitchConfig;
