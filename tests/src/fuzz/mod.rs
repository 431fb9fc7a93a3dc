//! Bytes at every parser, and sequences of operations at what keeps books.
//!
//! Each target is a function of bytes that panics if a promise is broken. libFuzzer drives them
//! (`make fuzz TARGET=name SECONDS=60`), and so do bounded random tests that run everywhere
//! (`fuzz_bodies.rs`). What a target promises stands at the head of its file.

pub mod agent_frames;
pub mod buffer_ops;
pub mod burst_lengths;
pub mod campaign_toml;
pub mod capture_filter;
pub mod drivers;
pub mod fpm_session;
pub mod lldp_frames;
pub mod network_toml;
pub mod parse;
pub mod plan_files;
pub mod roce_frames;
pub mod rules_json;
pub mod scenario_toml;
mod seeds;
pub mod sonic_json;
pub mod switch_toml;
pub mod trace_frames;
mod upstream;
pub mod worker_ops;

pub use seeds::seeds;

/// A target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// Does what the bytes say.
    pub run: fn(&[u8]),
    /// The longest input that is worth a try, in bytes.
    pub bytes_max: usize,
}

/// All targets.
pub const TARGETS: [Target; 18] = [
    Target { name: "agent_frames", run: agent_frames::run, bytes_max: 2_048 },
    Target { name: "buffer_ops", run: buffer_ops::run, bytes_max: 1_024 },
    Target { name: "burst_lengths", run: burst_lengths::run, bytes_max: 1_024 },
    Target { name: "campaign_toml", run: campaign_toml::run, bytes_max: 2_048 },
    Target { name: "capture_filter", run: capture_filter::run, bytes_max: 1_024 },
    Target { name: "drivers", run: drivers::run, bytes_max: 1_024 },
    Target { name: "lldp_frames", run: lldp_frames::run, bytes_max: 2_048 },
    Target { name: "network_toml", run: network_toml::run, bytes_max: 4_096 },
    Target { name: "parse", run: parse::run, bytes_max: 256 },
    Target { name: "plan_files", run: plan_files::run, bytes_max: 2_048 },
    Target { name: "fpm_session", run: fpm_session::run, bytes_max: 4_096 },
    Target { name: "roce_frames", run: roce_frames::run, bytes_max: 1_024 },
    Target { name: "rules_json", run: rules_json::run, bytes_max: 2_048 },
    Target { name: "scenario_toml", run: scenario_toml::run, bytes_max: 4_096 },
    Target { name: "sonic_json", run: sonic_json::run, bytes_max: 32_768 },
    Target { name: "switch_toml", run: switch_toml::run, bytes_max: 4_096 },
    Target { name: "trace_frames", run: trace_frames::run, bytes_max: 2_048 },
    Target { name: "worker_ops", run: worker_ops::run, bytes_max: 1_024 },
];
