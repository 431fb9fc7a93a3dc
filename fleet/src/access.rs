//! How the store is reached: endpoints, TLS, user.

use crate::store::StoreError;
use etcd_client::{Certificate, Client, ConnectOptions, Identity, TlsOptions};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// How long a request may take.
const REQUEST_MAX: Duration = Duration::from_secs(5);
/// How long a connection may take.
const CONNECT_MAX: Duration = Duration::from_secs(2);
/// How often a connection is checked, and how long the answer may take: a member that is cut off
/// without a word is noticed within the sum.
const PING: (Duration, Duration) = (Duration::from_secs(3), Duration::from_secs(3));

/// What it takes to reach the store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// URLs, `http://` or `https://`.
    pub endpoints: Vec<String>,
    /// The certificate of the authority that signed those of the members (PEM).
    pub ca: Option<PathBuf>,
    /// The client's own certificate, and its key (PEM).
    pub identity: Option<(PathBuf, PathBuf)>,
    /// The user, and the file with the password in its first line.
    pub user: Option<(String, PathBuf)>,
}

/// A connection to the store, which many agents of a process can share.
#[derive(Clone)]
pub struct Channel {
    pub(crate) client: Client,
}

impl std::fmt::Debug for Channel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Channel")
    }
}

impl Access {
    /// Connects. Files are read anew each time, so certificates and passwords can be replaced.
    ///
    /// # Errors
    /// A file cannot be read, an endpoint is no URL, or the user is refused. Without a user no
    /// member needs to answer yet.
    pub async fn connect(&self) -> Result<Channel, StoreError> {
        let read = |path: &PathBuf| {
            fs::read_to_string(path)
                .map_err(|error| StoreError::Input(format!("{}:1:1: {error}", path.display())))
        };
        let (interval, answer) = PING;
        let mut options = ConnectOptions::new()
            .with_connect_timeout(CONNECT_MAX)
            .with_timeout(REQUEST_MAX)
            .with_keep_alive(interval, answer)
            .with_keep_alive_while_idle(true)
            .with_require_leader(true)
            .with_auto_token_refresh(true);
        if self.ca.is_some() || self.identity.is_some() {
            let mut tls = TlsOptions::new();
            if let Some(ca) = &self.ca {
                tls = tls.ca_certificate(Certificate::from_pem(read(ca)?));
            }
            if let Some((certificate, key)) = &self.identity {
                tls = tls.identity(Identity::from_pem(read(certificate)?, read(key)?));
            }
            options = options.with_tls(tls);
        }
        if let Some((user, file)) = &self.user {
            let text = read(file)?;
            options = options.with_user(user, text.lines().next().unwrap_or_default());
        }
        let connected = tokio::time::timeout(
            CONNECT_MAX + REQUEST_MAX,
            Client::connect(&self.endpoints, Some(options)),
        );
        match connected.await {
            Ok(client) => Ok(Channel { client: client? }),
            Err(_) => Err(StoreError::Silent),
        }
    }
}
