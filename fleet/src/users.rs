//! Users of etcd with the least rights: a switch can read what it needs, and write its own two
//! keys.

use crate::access::Channel;
use crate::error::StoreError;
use crate::keys::Keys;
use etcd_client::{Error, Permission, RoleRevokePermissionOptions};

/// The rights of one role: keys to read and write, keys to read, prefixes to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rights {
    /// The role's name, and its user's.
    pub name: String,
    /// Keys that it may read and write.
    pub writes: Vec<String>,
    /// Keys that it may read.
    pub reads: Vec<String>,
    /// Prefixes under which it may read all.
    pub reads_under: Vec<String>,
}

/// The user of a switch: `NETWORK.SWITCH`.
pub fn switch_user(network: &str, switch: &str) -> String {
    format!("{network}.{switch}")
}

/// What the user of a switch may do.
pub fn switch_rights(network: &str, switch: &str) -> Rights {
    let keys = Keys::new(network);
    Rights {
        name: switch_user(network, switch),
        writes: vec![keys.ack(switch), keys.seen(switch)],
        reads: vec![keys.want(switch)],
        reads_under: vec![keys.rules("")],
    }
}

/// Makes a role with these rights and a user who has it, with `password`. What is there already
/// stays, and gets the rights and the password.
///
/// # Errors
/// The store refuses: only a user with the role `root` may, once authentication is enabled.
pub async fn add(channel: &Channel, rights: &Rights, password: &str) -> Result<(), StoreError> {
    let mut client = channel.client.clone();
    let name = rights.name.as_str();
    unless_there(client.role_add(name).await.map(drop))?;
    let role = client.role_get(name).await?;
    for old in role.permissions() {
        let mut options = RoleRevokePermissionOptions::new();
        if !old.range_end().is_empty() {
            options = options.with_range_end(old.range_end());
        }
        client.role_revoke_permission(name, old.key(), Some(options)).await?;
    }
    let writes = rights.writes.iter().map(|key| Permission::read_write(key.as_str()));
    let reads = rights.reads.iter().map(|key| Permission::read(key.as_str()));
    let under = rights.reads_under.iter().map(|key| Permission::read(key.as_str()).with_prefix());
    for permission in writes.chain(reads).chain(under) {
        client.role_grant_permission(name, permission).await?;
    }
    match client.user_add(name, password, None).await {
        Ok(_) => {}
        Err(error) if is_there(&error) => {
            client.user_change_password(name, password).await?;
        }
        Err(error) => return Err(error.into()),
    }
    client.user_grant_role(name, name).await?;
    Ok(())
}

fn unless_there(done: Result<(), Error>) -> Result<(), StoreError> {
    match done {
        Err(error) if !is_there(&error) => Err(error.into()),
        _ => Ok(()),
    }
}

fn is_there(error: &Error) -> bool {
    matches!(error, Error::GRpcStatus(status) if status.message().contains("already exists"))
}
