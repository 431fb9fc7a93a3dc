//! Who may connect to the control socket, and what each may do: by the groups of the process at
//! the other end, as the kernel reports them (`SO_PEERCRED`, `SO_PEERGROUPS`, socket(7)).

use super::peer_groups::peer_groups;
use config::switch::ControlGroups;
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use nix::unistd::{Group, geteuid};
use std::io;
use std::os::unix::net::UnixStream;

/// What a client may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Ask.
    Read,
    /// Ask, change, and stop the switch.
    Change,
}

/// Who may connect, beside root and the switch's own user, who may do everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Access {
    own_user: u32,
    read_group: Option<u32>,
    change_group: Option<u32>,
}

/// Why a client or a group is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AccessError {
    /// The configuration names a group that this machine does not have.
    #[error(
        "[control] names the group `{0}`, which this machine does not have; make it with \
             `groupadd --system {0}`, or name another"
    )]
    NoGroup(String),
    /// The list of groups cannot be read.
    #[error("cannot look up the group `{name}` of [control]: {error}")]
    LookUp {
        /// The group.
        name: String,
        /// The error.
        error: io::Error,
    },
    /// The client is in none of the groups.
    #[error("user {0} is in no group that may ask this switch; see [control] in its file")]
    Stranger(u32),
    /// The kernel does not tell who the client is.
    #[error("cannot tell who asks: {0}")]
    Unknown(#[from] io::Error),
}

impl Access {
    /// The groups of this machine by their names.
    ///
    /// # Errors
    /// One does not exist.
    pub(crate) fn of(groups: &ControlGroups) -> Result<Self, AccessError> {
        let (read_group, change_group) = (number(&groups.read)?, number(&groups.change)?);
        Ok(Self { own_user: geteuid().as_raw(), read_group, change_group })
    }

    /// The mode of the socket. If groups may connect, everybody can, and who is in none of them is
    /// told so: a file has one group only.
    pub(super) const fn socket_mode(self) -> u32 {
        if self.read_group.is_some() || self.change_group.is_some() { 0o666 } else { 0o600 }
    }

    /// What the client at the other end may do.
    ///
    /// # Errors
    /// It may do nothing.
    pub(super) fn role_of(self, client: &UnixStream) -> Result<Role, AccessError> {
        if self.socket_mode() == 0o600 {
            // The kernel let nobody else connect.
            return Ok(Role::Change);
        }
        let peer = getsockopt(client, PeerCredentials).map_err(io::Error::from)?;
        let mut groups = peer_groups(client)?;
        groups.push(peer.gid());
        self.role(peer.uid(), &groups)
    }

    fn role(self, user: u32, groups: &[u32]) -> Result<Role, AccessError> {
        let is_in = |group: Option<u32>| group.is_some_and(|group| groups.contains(&group));
        if user == 0 || user == self.own_user || is_in(self.change_group) {
            Ok(Role::Change)
        } else if is_in(self.read_group) {
            Ok(Role::Read)
        } else {
            Err(AccessError::Stranger(user))
        }
    }
}

fn number(name: &Option<String>) -> Result<Option<u32>, AccessError> {
    let Some(name) = name else { return Ok(None) };
    match Group::from_name(name) {
        Ok(Some(group)) => Ok(Some(group.gid.as_raw())),
        Ok(None) => Err(AccessError::NoGroup(name.clone())),
        Err(error) => Err(AccessError::LookUp { name: name.clone(), error: error.into() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_more_powerful_of_two_groups_decides_and_strangers_may_nothing() {
        let access = Access { own_user: 900, read_group: Some(5), change_group: Some(6) };
        let role = |user, groups: &[u32]| access.role(user, groups);
        assert_eq!(role(1000, &[1, 5]).unwrap(), Role::Read);
        assert_eq!(role(1000, &[5, 6]).unwrap(), Role::Change);
        assert_eq!(role(1000, &[6]).unwrap(), Role::Change);
        assert_eq!(role(0, &[]).unwrap(), Role::Change, "root");
        assert_eq!(role(900, &[]).unwrap(), Role::Change, "its own user");
        assert!(matches!(role(1000, &[1, 0]), Err(AccessError::Stranger(1000))));
        let only_read = Access { change_group: None, ..access };
        assert!(matches!(only_read.role(1000, &[6]), Err(AccessError::Stranger(1000))));
    }

    #[test]
    fn a_socket_without_groups_is_its_users_alone() {
        assert_eq!(Access::default().socket_mode(), 0o600);
        assert_eq!(Access { read_group: Some(1), ..Access::default() }.socket_mode(), 0o666);
    }

    #[test]
    fn a_group_that_does_not_exist_is_named() {
        let groups = ControlGroups { read: Some("no-such-group".into()), change: None };
        let error = Access::of(&groups).unwrap_err().to_string();
        assert!(error.contains("the group `no-such-group`, which this machine"), "{error}");
        let root = ControlGroups { read: None, change: Some("root".into()) };
        assert_eq!(Access::of(&root).unwrap().change_group, Some(0));
    }
}
