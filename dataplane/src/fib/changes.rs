//! What changed in [`Routes`](super::Routes) since it was compiled last.

use super::groups::GroupId;
use alloc::vec::Vec;
use core::net::IpAddr;
use ipnet::IpNet;

/// Changes that are kept apart; beyond this all is compiled again.
const CHANGES_MAX: usize = 1 << 21;

/// A group of either kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum GroupKey {
    /// The gateways of static routes.
    Static(GroupId),
    /// The paths of learned routes.
    Learned(GroupId),
}

/// Changes, or that everything is one: before the first compilation, after a change of interfaces.
#[derive(Clone, Debug, Default)]
pub(super) enum Changes {
    #[default]
    Everything,
    Some(Vec<Change>),
}

/// What changed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    Route(IpNet),
    Neighbor(IpAddr),
    Group(GroupKey),
}

impl Changes {
    pub(super) fn push(&mut self, change: Change) {
        match self {
            Self::Some(list) if list.len() < CHANGES_MAX => list.push(change),
            Self::Some(_) => *self = Self::Everything,
            Self::Everything => {}
        }
    }

    pub(super) fn take(&mut self) -> Self {
        core::mem::replace(self, Self::Some(Vec::new()))
    }

    /// Whether nobody compiles the table change by change.
    pub(super) const fn is_everything(&self) -> bool {
        matches!(self, Self::Everything)
    }
}
