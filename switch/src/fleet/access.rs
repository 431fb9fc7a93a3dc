//! How etcd is reached from the command line.

use super::Failure;
use clap::Args;
use config::switch::is_network_name;
use fleet::{Access, Channel, Store};
use std::path::PathBuf;
use std::time::Duration;

/// How long a command tries a store that does not answer. A store that has lost its leader elects
/// another one within seconds.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where the store is, and as whom.
#[derive(Clone, Debug, Args)]
pub(super) struct AccessArgs {
    /// URLs of etcd's members
    #[arg(
        long,
        value_name = "URL",
        value_delimiter = ',',
        global = true,
        default_value = "http://127.0.0.1:2379"
    )]
    etcd: Vec<String>,
    /// The network's name in etcd
    #[arg(long, value_name = "NAME", global = true, default_value = "fabric",
          value_parser = network)]
    pub(super) network: String,
    /// Certificate of the authority that signed those of the members (PEM), for https
    #[arg(long, value_name = "FILE", global = true)]
    ca: Option<PathBuf>,
    /// Certificate of this client (PEM)
    #[arg(long, value_name = "FILE", global = true, requires = "key")]
    certificate: Option<PathBuf>,
    /// Key of this client (PEM)
    #[arg(long, value_name = "FILE", global = true, requires = "certificate")]
    key: Option<PathBuf>,
    /// User of etcd
    #[arg(long, value_name = "USER", global = true, requires = "password_file")]
    user: Option<String>,
    /// File whose first line is the user's password
    #[arg(long, value_name = "FILE", global = true, requires = "user")]
    password_file: Option<PathBuf>,
}

fn network(word: &str) -> Result<String, String> {
    if is_network_name(word) {
        return Ok(word.to_owned());
    }
    Err("use 1 to 63 letters, digits, `-`, `_` and `.`".to_owned())
}

impl AccessArgs {
    /// As the client takes it.
    fn access(&self) -> Access {
        Access {
            endpoints: self.etcd.clone(),
            ca: self.ca.clone(),
            identity: self.certificate.clone().zip(self.key.clone()),
            user: self.user.clone().zip(self.password_file.clone()),
        }
    }

    /// The store of the network.
    pub(super) async fn store(&self) -> Result<Store, Failure> {
        self.store_within(PATIENCE).await
    }

    /// The store of the network, which is tried for `patience` if it does not answer.
    pub(super) async fn store_within(&self, patience: Duration) -> Result<Store, Failure> {
        Ok(Store::new(&self.channel_within(patience).await?, &self.network))
    }

    /// A connection to the store.
    pub(super) async fn channel(&self) -> Result<Channel, Failure> {
        self.channel_within(PATIENCE).await
    }

    async fn channel_within(&self, patience: Duration) -> Result<Channel, Failure> {
        Ok(self.access().connect_within(patience).await?)
    }
}
