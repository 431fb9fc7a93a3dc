//! Summary of a NETWORK.toml: switches, hosts, links, paths.

use super::Summary;
use config::NetworkConfig;
use fabric::paths::PathKind;
use serde_json::json;

/// What `config` comes to.
pub(super) fn summary(config: &NetworkConfig) -> Summary {
    let network = &config.network;
    let paths = match &config.paths.kind {
        PathKind::ShortestTrees => "a tree of shortest paths to each switch with hosts".to_owned(),
        PathKind::Shortest => "all shortest paths".to_owned(),
        PathKind::UpDown { bounces } => format!("up-down paths with up to {bounces} bounces"),
        PathKind::KShortest { k } => format!("the {k} shortest paths of each pair"),
        PathKind::AllSimple => "all loop-free paths".to_owned(),
        PathKind::File(listed) => format!("{} paths of a file", listed.len()),
    };
    let random = match config.paths.random {
        0 => String::new(),
        count => format!(", and {count} random ones"),
    };
    let text = format!(
        "network: {} switches, {} hosts, {} links\nlossless: {paths}{random}; application \
         classes: {}",
        network.switches(),
        network.hosts(),
        network.links().len(),
        config.paths.classes
    );
    let json = json!({
        "ok": true,
        "kind": "network",
        "switches": network.switches(),
        "hosts": network.hosts(),
        "links": network.links().len(),
        "classes": config.paths.classes,
    });
    Summary { text, json, warnings: Vec::new(), breaks_promise: false }
}
