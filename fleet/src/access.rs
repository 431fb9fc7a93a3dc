//! How the store is reached: endpoints, TLS, user.

use crate::error::StoreError;
use etcd_client::{Certificate, Client, ConnectOptions, Identity, TlsOptions};
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::PathBuf;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// How long a request may take.
const REQUEST_MAX: Duration = Duration::from_secs(5);
/// How long a connection may take.
const CONNECT_MAX: Duration = Duration::from_secs(2);
/// How long a member may take to be reached; then another one is tried.
const REACH_MAX: Duration = Duration::from_secs(2);
/// How long after all members were tried in vain they are tried again.
const RETRY: Duration = Duration::from_millis(300);
/// A key that is read to see whether a member answers; nobody writes it.
const PROBE: &str = "/knotless";
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
    /// Connects to a member that answers, and to that one only: whoever loses it connects anew, and
    /// finds another. The first one that is tried is another one each time, so that clients
    /// spread. Files are read anew, so certificates and passwords can be replaced.
    ///
    /// # Errors
    /// A file cannot be read, an endpoint is no URL, the user is refused, or no member answers.
    pub async fn connect(&self) -> Result<Channel, StoreError> {
        let options = self.options()?;
        let count = self.endpoints.len();
        let first =
            usize::try_from(RandomState::new().build_hasher().finish() % 1_024).unwrap_or(0);
        for at in 0..count {
            match reach(&self.endpoints[(first + at) % count], &options).await {
                Err(StoreError::Silent) => {}
                answered => return answered,
            }
        }
        Err(StoreError::Silent)
    }

    /// [`Access::connect`], again and again while no member answers: whoever lost the leader
    /// elects another one first, which takes seconds.
    ///
    /// # Errors
    /// As [`Access::connect`]; that no member answers, once `patience` is over.
    pub async fn connect_within(&self, patience: Duration) -> Result<Channel, StoreError> {
        let until = Instant::now() + patience;
        loop {
            match self.connect().await {
                Err(StoreError::Silent) if Instant::now() < until => sleep(RETRY).await,
                answered => return answered,
            }
        }
    }

    fn options(&self) -> Result<ConnectOptions, StoreError> {
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
        Ok(options)
    }
}

/// A connection to one member, if it answers and has a leader.
async fn reach(endpoint: &str, options: &ConnectOptions) -> Result<Channel, StoreError> {
    let reached = async {
        let mut client = Client::connect([endpoint], Some(options.clone())).await?;
        match client.get(PROBE, None).await.map_err(StoreError::from) {
            // A user who may not read it has an answer, too.
            Ok(_) | Err(StoreError::Refused(_)) => Ok(Channel { client }),
            Err(error) => Err(error),
        }
    };
    timeout(REACH_MAX, reached).await.unwrap_or(Err(StoreError::Silent))
}
