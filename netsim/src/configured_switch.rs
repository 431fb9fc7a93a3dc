//! A switch of the network that a SWITCH.toml describes.

use crate::build_error::BuildError;
use crate::switch_node::TableParts;
use config::SwitchConfig;
use dataplane::fib::Routes;
use dataplane::settings::SwitchSettings;

/// What the switch `name` is built with: settings, tables and routes. Of `tables` only what does
/// not depend on the file is kept.
///
/// # Errors
/// A port is paced, or the routing table cannot hold the routes.
pub(crate) fn parts(
    config: &SwitchConfig,
    name: &str,
    tables: TableParts,
) -> Result<(SwitchSettings, TableParts, Routes), BuildError> {
    if let Some(port) = config.settings.ports.iter().find(|port| port.paced) {
        let (switch, port) = (name.to_owned(), port.name.clone());
        return Err(BuildError::Paced { switch, port });
    }
    let tables = TableParts {
        forwarding: config.forwarding(),
        tags: config.tag_map.clone(),
        rules: config.rules.as_ref().map(|rules| rules.entries.clone()),
        tunnels: config.tunnel_table(),
        seed: config.settings.seed,
        ..tables
    };
    Ok((config.settings.clone(), tables, config.routing_table()?))
}
