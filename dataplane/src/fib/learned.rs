//! Routes that a routing daemon gives while the switch runs, beside the static ones of its files. A
//! static route for the same prefix wins.

use super::capacity::{LEARNED_MAX, RoutesError};
use super::changes::{Change, Changes, GroupKey};
use super::groups::{GroupId, Path};
use super::prefix_map::longest_match;
use super::route::{AnyRoute, Learned, Target};
use super::routes::Routes;
use alloc::vec::Vec;
use core::net::IpAddr;
use ipnet::IpNet;

impl Routes {
    /// The group of these paths, 1 to [`ECMP_MAX`](crate::limits::ECMP_MAX), for
    /// [`Self::set_learned`]. Without a route it does not last: see [`Self::drop_unused_group`].
    ///
    /// # Errors
    /// No path, too many, or too many groups.
    pub fn group_of(&mut self, paths: &[Path]) -> Result<GroupId, RoutesError> {
        self.groups.of_paths(paths)
    }

    /// A new group with these paths, which [`Self::set_group`] may change for all its routes. It
    /// stays until [`Self::release_group`] and as long as a route points to it.
    ///
    /// # Errors
    /// No path, too many, or too many groups.
    pub fn add_group(&mut self, paths: &[Path]) -> Result<GroupId, RoutesError> {
        self.groups.hold(paths)
    }

    /// Gives a group of [`Self::add_group`] other paths. Returns whether that is news.
    ///
    /// A group without paths is no way.
    ///
    /// # Errors
    /// Too many; the group is as it was.
    pub fn set_group(&mut self, group: GroupId, paths: &[Path]) -> Result<bool, RoutesError> {
        let differs = self.groups.set(group, paths)?;
        if differs {
            self.changed(Change::Group(GroupKey::Learned(group)));
        }
        Ok(differs)
    }

    /// Nobody will ask for this group by its name any more.
    pub fn release_group(&mut self, group: GroupId) {
        self.groups.release(group);
    }

    /// Forgets a group of [`Self::group_of`] that got no route.
    pub fn drop_unused_group(&mut self, group: GroupId) {
        self.groups.free_unused(group);
    }

    /// The paths of a group.
    pub fn paths(&self, group: GroupId) -> &[Path] {
        self.groups.paths(group)
    }

    /// Whether the MAC address of this path's gateway is known.
    pub fn is_resolved(&self, path: &Path) -> bool {
        let stations = path.gateway.map_or_else(Vec::new, |it| self.stations_by(path, it));
        stations.first().is_some_and(|station| station.mac.is_some())
    }

    /// Adds a learned route; one for the same prefix is replaced and returned. Address bits beyond
    /// the prefix do not matter.
    ///
    /// # Errors
    /// The table has no room for it.
    pub fn set_learned(
        &mut self,
        prefix: IpNet,
        route: Learned,
    ) -> Result<Option<Learned>, RoutesError> {
        let prefix = prefix.trunc();
        if self.learned.len() >= LEARNED_MAX && !self.learned.contains_key(&prefix) {
            return Err(RoutesError::LearnedFull);
        }
        if let Target::Group(group) = route.target {
            self.groups.add_route(group);
        }
        let old = self.learned.insert(prefix, route);
        if let Some(Learned { target: Target::Group(group), .. }) = old {
            self.groups.remove_route(group);
        }
        if old.is_none_or(|old| old.target != route.target) {
            self.changed(Change::Route(prefix));
        }
        Ok(old)
    }

    /// Removes and returns a learned route.
    pub fn remove_learned(&mut self, prefix: IpNet) -> Option<Learned> {
        let old = self.learned.remove(&prefix.trunc())?;
        if let Target::Group(group) = old.target {
            self.groups.remove_route(group);
        }
        self.changed(Change::Route(prefix.trunc()));
        Some(old)
    }

    /// The learned route for exactly this prefix.
    pub fn learned_at(&self, prefix: IpNet) -> Option<&Learned> {
        self.learned.get(&prefix.trunc())
    }

    /// All learned routes, by prefix.
    pub fn learned(&self) -> impl ExactSizeIterator<Item = (IpNet, &Learned)> {
        self.learned.iter().map(|(&prefix, route)| (prefix, route))
    }

    /// Moves the learned routes of `old` here, with their groups.
    pub fn take_learned(&mut self, old: &mut Self) {
        self.learned = core::mem::take(&mut old.learned);
        core::mem::swap(&mut self.groups, &mut old.groups);
        self.changes = Changes::Everything;
    }

    /// The route with the longest prefix that `address` is in; of two for one prefix the static
    /// one.
    pub(super) fn route_to(&self, address: IpAddr) -> Option<(IpNet, AnyRoute<'_>)> {
        let fixed = longest_match(&self.routes, address);
        let learned = longest_match(&self.learned, address);
        match (fixed, learned) {
            (Some((prefix, route)), Some((other, _)))
                if prefix.prefix_len() >= other.prefix_len() =>
            {
                Some((prefix, AnyRoute::Static(&route.route)))
            }
            (_, Some((prefix, route))) => Some((prefix, AnyRoute::Learned(route.target))),
            (Some((prefix, route)), None) => Some((prefix, AnyRoute::Static(&route.route))),
            (None, None) => None,
        }
    }
}
