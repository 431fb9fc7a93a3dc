//! `[fleet]`: the store of rules for all switches.

use super::Field;
use crate::fields::Duration;
use serde::Deserialize;
use std::path::PathBuf;
use toml::Spanned;

/// `[fleet]`: the switch takes its rules from etcd, and says there what it runs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::switch) struct FleetTable {
    /// The network's name, as `knotless fleet init` made it.
    pub(in crate::switch) network: Spanned<String>,
    /// URLs of etcd's members, `"http://ADDRESS:2379"` or `"https://..."`.
    pub(in crate::switch) endpoints: Spanned<Vec<Spanned<String>>>,
    /// The certificate of the authority that signed those of the members (PEM). Needed for
    /// `https`.
    pub(in crate::switch) ca: Field<PathBuf>,
    /// The switch's own certificate (PEM), if etcd wants one (`--client-cert-auth`).
    pub(in crate::switch) certificate: Field<PathBuf>,
    /// Its key (PEM).
    pub(in crate::switch) key: Field<PathBuf>,
    /// The user, if etcd's authentication is enabled.
    pub(in crate::switch) user: Field<String>,
    /// The file whose first line is the user's password.
    pub(in crate::switch) password_file: Field<PathBuf>,
    /// How long a switch that starts waits for the store before it goes by its last rules on disk.
    /// Default `"3s"`.
    pub(in crate::switch) start_wait: Field<Duration>,
}
