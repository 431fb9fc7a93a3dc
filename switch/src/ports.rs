//! Ports as operators call them.

use crate::control::stats::PortStats;
use config::switch::PortConfig;

/// What has a name and, counted from 1, a number.
pub(crate) trait NamedPort {
    /// Its name.
    fn name(&self) -> &str;
    /// Its number.
    fn number(&self) -> usize;
}

impl NamedPort for PortConfig {
    fn name(&self) -> &str {
        &self.name
    }

    fn number(&self) -> usize {
        self.id.number()
    }
}

impl NamedPort for PortStats {
    fn name(&self) -> &str {
        &self.name
    }

    fn number(&self) -> usize {
        self.number
    }
}

/// The port with the name `text`, or else with that number.
pub(crate) fn find_port<'a, P: NamedPort>(ports: &'a [P], text: &str) -> Option<&'a P> {
    let named = ports.iter().find(|port| port.name() == text);
    named.or_else(|| ports.iter().find(|port| port.number().to_string() == text))
}
