//! Groups of paths: what learned routes point to. Many thousand routes share a few groups, so a
//! group that changes, or a next hop in it, changes all of its routes at once.

use super::capacity::RoutesError;
use crate::ids::PortId;
use crate::limits::ECMP_MAX;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::IpAddr;

/// One of the ways of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path {
    /// The gateway, of either address family; `None` if the destination itself is on the link.
    pub gateway: Option<IpAddr>,
    /// The port that it is behind; `None`: the port of the connected network that it is in.
    pub port: Option<PortId>,
    /// Its share of the flows, in relation to the weights of the other paths; 0 counts as 1.
    pub weight: u16,
}

/// Names a group of one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(u32);

#[derive(Clone, Debug)]
struct Group {
    paths: Vec<Path>,
    /// Routes that point to it.
    routes: u32,
    /// Whether somebody holds it by its name. Otherwise it is found by its paths.
    is_held: bool,
}

/// All groups.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    slots: Vec<Option<Group>>,
    free: Vec<GroupId>,
    /// Freed since [`Self::recycle`]: a compiler may still know them.
    freed: Vec<GroupId>,
    max: usize,
    by_paths: BTreeMap<Vec<Path>, GroupId>,
}

impl GroupId {
    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }
}

impl Groups {
    /// No group, of at most `max`.
    pub(super) const fn new(max: usize) -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            freed: Vec::new(),
            max,
            by_paths: BTreeMap::new(),
        }
    }

    /// The groups that were freed; from now on their numbers may be others'.
    pub(super) fn recycle(&mut self) -> Vec<GroupId> {
        self.free.extend_from_slice(&self.freed);
        core::mem::take(&mut self.freed)
    }

    fn get(&self, id: GroupId) -> Option<&Group> {
        self.slots.get(id.index()).and_then(Option::as_ref)
    }

    pub(super) fn paths(&self, id: GroupId) -> &[Path] {
        self.get(id).map_or(&[], |group| &group.paths)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[Path]> {
        self.slots.iter().flatten().map(|group| group.paths.as_slice())
    }

    /// The group with these paths that nobody holds.
    pub(super) fn of_paths(&mut self, paths: &[Path]) -> Result<GroupId, RoutesError> {
        if let Some(&known) = self.by_paths.get(paths) {
            return Ok(known);
        }
        let id = self.insert(paths, false)?;
        self.by_paths.insert(paths.to_vec(), id);
        Ok(id)
    }

    /// A new group, held until [`Self::release`].
    pub(super) fn hold(&mut self, paths: &[Path]) -> Result<GroupId, RoutesError> {
        self.insert(paths, true)
    }

    fn insert(&mut self, paths: &[Path], is_held: bool) -> Result<GroupId, RoutesError> {
        check(paths)?;
        let group = Group { paths: paths.to_vec(), routes: 0, is_held };
        if let Some(id) = self.free.pop() {
            self.slots[id.index()] = Some(group);
            return Ok(id);
        }
        if self.slots.len() >= self.max {
            return Err(RoutesError::GroupsFull);
        }
        #[expect(clippy::cast_possible_truncation, reason = "there are at most GROUPS_MAX")]
        let id = GroupId(self.slots.len() as u32);
        self.slots.push(Some(group));
        Ok(id)
    }

    /// Gives a held group other paths; returns whether they differ.
    pub(super) fn set(&mut self, id: GroupId, paths: &[Path]) -> Result<bool, RoutesError> {
        if !paths.is_empty() {
            check(paths)?;
        }
        let Some(Some(group)) = self.slots.get_mut(id.index()) else { return Ok(false) };
        let differs = group.paths != paths;
        group.paths = paths.to_vec();
        Ok(differs)
    }

    /// The group is held no longer; it stays as long as a route points to it.
    pub(super) fn release(&mut self, id: GroupId) {
        if let Some(Some(group)) = self.slots.get_mut(id.index()) {
            group.is_held = false;
        }
        self.free_unused(id);
    }

    pub(super) fn add_route(&mut self, id: GroupId) {
        if let Some(Some(group)) = self.slots.get_mut(id.index()) {
            group.routes += 1;
        }
    }

    pub(super) fn remove_route(&mut self, id: GroupId) {
        if let Some(Some(group)) = self.slots.get_mut(id.index()) {
            group.routes = group.routes.saturating_sub(1);
        }
        self.free_unused(id);
    }

    /// Frees the group if nobody holds it and no route points to it.
    pub(super) fn free_unused(&mut self, id: GroupId) {
        let Some(slot) = self.slots.get_mut(id.index()) else { return };
        if let Some(group) = slot.take_if(|group| group.routes == 0 && !group.is_held) {
            if self.by_paths.get(&group.paths) == Some(&id) {
                self.by_paths.remove(&group.paths);
            }
            self.freed.push(id);
        }
    }
}

fn check(paths: &[Path]) -> Result<(), RoutesError> {
    match paths.len() {
        0 => Err(RoutesError::NoGateway),
        1..=ECMP_MAX => Ok(()),
        count => Err(RoutesError::TooManyGateways(count)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fib::capacity::GROUPS_MAX;

    fn path(last: u8) -> Path {
        Path { gateway: Some(IpAddr::from([10, 0, 0, last])), port: None, weight: 1 }
    }

    #[test]
    fn a_group_lives_as_long_as_a_route_or_a_holder() {
        let mut groups = Groups::new(GROUPS_MAX);
        let shared = groups.of_paths(&[path(1)]).unwrap();
        assert_eq!(groups.of_paths(&[path(1)]), Ok(shared));
        groups.add_route(shared);
        groups.add_route(shared);
        groups.remove_route(shared);
        assert_eq!(groups.paths(shared), [path(1)]);
        groups.remove_route(shared);
        assert!(groups.get(shared).is_none());
        let held = groups.hold(&[path(1)]).unwrap();
        assert_ne!(groups.of_paths(&[path(1)]), Ok(held), "its paths may change");
        assert_eq!(groups.recycle(), [shared]);
        assert_eq!(groups.set(held, &[path(2)]), Ok(true));
        assert_eq!(groups.set(held, &[path(2)]), Ok(false));
        groups.add_route(held);
        groups.release(held);
        assert_eq!(groups.paths(held), [path(2)]);
        groups.remove_route(held);
        assert!(groups.get(held).is_none());
    }

    #[test]
    fn groups_without_a_path_or_with_too_many_are_refused() {
        let mut groups = Groups::new(GROUPS_MAX);
        assert_eq!(groups.hold(&[]), Err(RoutesError::NoGateway));
        let many = [path(1); ECMP_MAX + 1];
        assert_eq!(groups.hold(&many), Err(RoutesError::TooManyGateways(ECMP_MAX + 1)));
        for _ in 0..GROUPS_MAX {
            groups.hold(&[path(1)]).unwrap();
        }
        assert_eq!(groups.hold(&[path(1)]), Err(RoutesError::GroupsFull));
    }
}
