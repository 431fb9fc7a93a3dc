//! Files of other simulators, read and written as a SCENARIO.toml.
//!
//! Read are topologies and flows of the HPCC simulator (`topology.txt`, `flow.txt`) and of htsim
//! (`.topo`, `.cm`). What has no exact counterpart here is refused at its place.

mod fat_tree;
pub mod hpcc;
pub mod htsim;
mod lines;
mod model;
mod scenario_text;
#[cfg(test)]
mod tests;

pub use model::Imported;
pub use scenario_text::{ScenarioOptions, scenario_text};
