//! `[metrics]`: where the metrics are served by HTTP.

use super::runtime::SOCKET_PATH_MAX;
use super::schema::SwitchFile;
use crate::error::ConfigError;
use crate::message;
use crate::source::Source;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Where the metrics are served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetricsAddress {
    /// A TCP port at this address; port 0 is any free one.
    Tcp(SocketAddr),
    /// A unix socket at this path.
    Unix(PathBuf),
}

impl fmt::Display for MetricsAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", message::path(path)),
        }
    }
}

/// Where the metrics are served, if they are.
///
/// # Errors
/// `listen` is no address with a port and no path of a socket, or is the control socket.
pub(super) fn address(
    source: &Source,
    file: &SwitchFile,
    control_socket: &Path,
) -> Result<Option<MetricsAddress>, ConfigError> {
    let Some(field) = &file.metrics.listen else { return Ok(None) };
    let text = field.get_ref().as_str();
    let Some(path) = text.strip_prefix("unix:") else {
        let no_address = |_| {
            source.at(
                field.span(),
                format!(
                    "`{text}` is no place to listen; write an IP address with a port, such as \
                     \"127.0.0.1:9477\" or \"[::1]:9477\", or \"unix:PATH\""
                ),
            )
        };
        return text.parse().map(|it| Some(MetricsAddress::Tcp(it))).map_err(no_address);
    };
    let resolved = source.resolve(Path::new(path));
    let bytes = resolved.as_os_str().len();
    if path.is_empty() || bytes > SOCKET_PATH_MAX {
        let message = format!("a socket's path has 1 to {SOCKET_PATH_MAX} bytes; this has {bytes}");
        return Err(source.at(field.span(), message));
    }
    if resolved == control_socket {
        let message = "this is the control socket; give the metrics a path of their own";
        return Err(source.at(field.span(), message));
    }
    Ok(Some(MetricsAddress::Unix(resolved)))
}
