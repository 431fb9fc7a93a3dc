//! Scenarios: from `config`'s [`ScenarioConfig`](config::ScenarioConfig) to an
//! [`Outcome`](crate::outcome::Outcome).
//!
//! ```
//! let text = r#"
//! duration = "100us"
//! generate = { kind = "clos", leaves = 2, spines = 1, hosts = 2 }
//! [[traffic]]
//! kind = "permutation"
//! rate = "10G"
//! "#;
//! let scenario = config::ScenarioConfig::parse("leaves.toml".as_ref(), text)?;
//! let outcome = netsim::scenario::run(&scenario, netsim::scenario::Options::default())?;
//! assert_eq!((outcome.flows.len(), outcome.lossless_drops), (4, 0));
//! assert!(outcome.drained_ps.is_some() && outcome.violations.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bounces;
mod build;
mod compare;
mod error;
mod expect;
mod faults;
mod files;
mod links;
mod losses;
mod observe;
mod roce;
mod run;
mod scheme;
mod sizes;
mod traffic;

pub use bounces::{BounceCounter, Bounces, Failures, Reroute, Setting};
pub use build::{Built, BuiltFlow, build, build_for};
pub use compare::{COMPARED, Comparison, compare};
pub use error::ScenarioError;
pub use expect::judge;
pub use run::{Options, run};
