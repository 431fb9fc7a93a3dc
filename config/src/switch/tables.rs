//! What follows from the file in the dataplane's own tables: forwarding, interfaces, routes, rules.

use super::SwitchConfig;
use dataplane::agent;
use dataplane::fib::{self, Routes, RoutesError};
use dataplane::rules::RuleTable;
use dataplane::snapshot::{PortForwarding, PortMode};

impl SwitchConfig {
    /// Each port's part of a snapshot.
    pub fn forwarding(&self) -> Vec<PortForwarding> {
        let ports = self.ports.iter().zip(&self.settings.ports);
        ports
            .map(|(port, settings)| PortForwarding {
                mac: settings.mac,
                mode: port.mode.clone(),
                trust: port.trust,
            })
            .collect()
    }

    /// The compiled rules; `None` if tags never change.
    pub fn rule_table(&self) -> Option<RuleTable> {
        let rules = self.rules.as_ref()?;
        Some(RuleTable::compile(&rules.entries, rules.ports, rules.lossy_tag))
    }

    /// The routed ports as the control thread's agent sees them.
    pub fn interfaces(&self) -> Vec<agent::Interface> {
        let ports = self.ports.iter().zip(&self.settings.ports);
        ports
            .filter_map(|(port, settings)| {
                let PortMode::Routed { vlan } = port.mode else { return None };
                Some(agent::Interface {
                    port: port.id,
                    mac: settings.mac,
                    vlan,
                    addresses: port.addresses.clone(),
                    mtu_bytes: port.mtu,
                })
            })
            .collect()
    }

    /// The routing table at start: connected networks, static routes, static neighbours.
    ///
    /// # Errors
    /// None for a configuration that was loaded; a changed one may not fit the table.
    pub fn routing_table(&self) -> Result<Routes, RoutesError> {
        let mut routes = Routes::new();
        for (port, settings) in self.ports.iter().zip(&self.settings.ports) {
            let PortMode::Routed { vlan } = port.mode else { continue };
            for &net in &port.addresses {
                routes.set_interface(fib::Interface {
                    net,
                    port: port.id,
                    vlan,
                    mac: settings.mac,
                    frame_bytes_max: settings.frame_bytes_max,
                });
            }
        }
        for (prefix, route) in &self.routes {
            routes.set_route(*prefix, route.clone())?;
        }
        for neighbor in &self.neighbors {
            routes.set_neighbour(neighbor.address, neighbor.port, neighbor.mac)?;
        }
        Ok(routes)
    }
}
