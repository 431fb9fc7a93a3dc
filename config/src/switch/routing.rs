//! `[routing]`: where a routing daemon gives the switch its routes.

use super::schema::SwitchFile;
use crate::error::ConfigError;
use crate::source::Source;
use std::net::SocketAddr;

/// FRR's own default for the restart of a BGP neighbor (`bgp graceful-restart restart-time`).
const STALE_NS_DEFAULT: u64 = 120_000_000_000;

/// The server for FRR's Forwarding Plane Manager protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fpm {
    /// Where it listens; port 0 is any free one.
    pub address: SocketAddr,
    /// How long routes of an earlier connection stay after a new one begins.
    pub stale_ns: u64,
}

/// The server, if there is one.
///
/// # Errors
/// `fpm` is no address with a port, or `stale_time` stands alone.
pub(super) fn fpm(source: &Source, file: &SwitchFile) -> Result<Option<Fpm>, ConfigError> {
    let Some(field) = &file.routing.fpm else {
        return match &file.routing.stale_time {
            None => Ok(None),
            Some(field) => {
                let message = "`stale_time` is about the routes of `fpm`; add that, or remove this";
                Err(source.at(field.span(), message))
            }
        };
    };
    let text = field.get_ref().as_str();
    let address = text.parse().map_err(|_| {
        let message = format!(
            "`{text}` is no place to listen; write an IP address with a port, such as \
             \"127.0.0.1:2620\""
        );
        source.at(field.span(), message)
    })?;
    let stale = file.routing.stale_time.as_ref().map(|field| field.get_ref().0);
    Ok(Some(Fpm { address, stale_ns: stale.unwrap_or(STALE_NS_DEFAULT) }))
}
