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

/// There is no such port.
#[derive(Debug, thiserror::Error)]
#[error("there is no port `{name}`; name a port of `ctl ports`, or a number, 1 to {count}")]
pub(crate) struct NoPort {
    name: String,
    count: usize,
}

/// The port with the name `text`, or else with that number.
///
/// # Errors
/// There is none.
pub(crate) fn find_port<'a, P: NamedPort>(ports: &'a [P], text: &str) -> Result<&'a P, NoPort> {
    let named = ports.iter().find(|port| port.name() == text);
    let numbered = || ports.iter().find(|port| port.number().to_string() == text);
    named.or_else(numbered).ok_or_else(|| NoPort { name: text.to_owned(), count: ports.len() })
}
