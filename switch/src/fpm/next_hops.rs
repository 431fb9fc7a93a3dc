//! Next hops by the numbers that zebra gives them, and the groups of the routing table that they
//! are. A number that changes its meaning changes all routes that name it.

use super::netlink::{NextHop, RawPath};
use super::ports::PortIndexes;
use dataplane::fib::{GroupId, Path, Routes, RoutesError};
use dataplane::limits::ECMP_MAX;
use std::collections::{BTreeSet, HashMap};

/// Numbers that one session may define.
pub(super) const NEXT_HOPS_MAX: usize = 1 << 17;

/// What a next hop comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Resolved {
    /// These paths, all by ports of ours.
    Paths(Vec<Path>),
    /// Nowhere.
    Blackhole,
    /// By interfaces that are no ports of ours.
    NotOurs,
    /// In a way that is not understood.
    Unsupported,
    /// By a number that stands for nothing yet.
    Unknown,
}

#[derive(Debug)]
struct Defined {
    content: NextHop,
    /// The group of the table, once a route uses it.
    group: Option<GroupId>,
}

/// All numbers of a session.
#[derive(Debug, Default)]
pub(super) struct NextHops {
    numbered: HashMap<u32, Defined>,
    /// The groups that a number is a member of.
    groups_with: HashMap<u32, BTreeSet<u32>>,
}

impl NextHops {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.numbered.len()
    }

    /// `number` stands for `content` from now on. Returns whether routes changed by it, or `None`
    /// if there is no room for it.
    pub(super) fn set(
        &mut self,
        number: u32,
        content: NextHop,
        routes: &mut Routes,
        ports: &mut dyn PortIndexes,
    ) -> Option<bool> {
        if self.numbered.len() >= NEXT_HOPS_MAX && !self.numbered.contains_key(&number) {
            return None;
        }
        self.forget_members(number);
        let is_too_large = matches!(&content, NextHop::Group(members) if members.len() > ECMP_MAX);
        let content = if is_too_large { NextHop::Unsupported } else { content };
        if let NextHop::Group(members) = &content {
            for (member, _) in members {
                self.groups_with.entry(*member).or_default().insert(number);
            }
        }
        let group = self.numbered.get(&number).and_then(|old| old.group);
        self.numbered.insert(number, Defined { content, group });
        let around = self.groups_with.get(&number).cloned().unwrap_or_default();
        let mut changed = false;
        for number in around.into_iter().chain([number]) {
            changed |= self.update(number, routes, ports);
        }
        Some(changed)
    }

    /// The groups that `number` is a member of.
    pub(super) fn groups_with(&self, number: u32) -> impl Iterator<Item = u32> {
        self.groups_with.get(&number).into_iter().flatten().copied()
    }

    /// `number` stands for nothing any more. Routes that use it stay as they are until they are
    /// removed or replaced.
    pub(super) fn remove(&mut self, number: u32, routes: &mut Routes) {
        self.forget_members(number);
        if let Some(Defined { group: Some(group), .. }) = self.numbered.remove(&number) {
            routes.release_group(group);
        }
    }

    /// Forgets all numbers. Routes that use them stay.
    pub(super) fn clear(&mut self, routes: &mut Routes) {
        for group in self.numbered.values().filter_map(|numbered| numbered.group) {
            routes.release_group(group);
        }
        *self = Self::default();
    }

    /// What `number` comes to, and its group of the table if it has paths.
    pub(super) fn group(
        &mut self,
        number: u32,
        routes: &mut Routes,
        ports: &mut dyn PortIndexes,
    ) -> Result<(Resolved, Option<GroupId>), RoutesError> {
        if let Some(Defined { group: Some(group), .. }) = self.numbered.get(&number) {
            return Ok((Resolved::Paths(Vec::new()), Some(*group)));
        }
        let resolved = self.resolve(number, ports);
        let (Resolved::Paths(paths), Some(numbered)) = (&resolved, self.numbered.get_mut(&number))
        else {
            return Ok((resolved, None));
        };
        let group = routes.add_group(paths)?;
        numbered.group = Some(group);
        Ok((resolved, Some(group)))
    }

    /// Whether `number`, or each path that it has, is still to come.
    pub(super) fn is_unknown(&self, number: u32, ports: &mut dyn PortIndexes) -> bool {
        self.resolve(number, ports) == Resolved::Unknown
    }

    /// Gives the group of `number`, if it has one, the paths that it has now.
    fn update(&mut self, number: u32, routes: &mut Routes, ports: &mut dyn PortIndexes) -> bool {
        let Some(group) = self.numbered.get(&number).and_then(|numbered| numbered.group) else {
            return false;
        };
        let paths = match self.resolve(number, ports) {
            Resolved::Paths(paths) => paths,
            // Its routes lead nowhere until zebra sends them again.
            Resolved::Blackhole | Resolved::NotOurs | Resolved::Unsupported | Resolved::Unknown => {
                Vec::new()
            }
        };
        routes.set_group(group, &paths).unwrap_or(false)
    }

    fn resolve(&self, number: u32, ports: &mut dyn PortIndexes) -> Resolved {
        match self.numbered.get(&number).map(|numbered| &numbered.content) {
            None => Resolved::Unknown,
            Some(NextHop::Unsupported) => Resolved::Unsupported,
            Some(NextHop::Blackhole) => Resolved::Blackhole,
            Some(NextHop::Path(path)) => resolve_all(&[*path], ports),
            Some(NextHop::Group(members)) => {
                // A group's members are no groups.
                let paths = members.iter().filter_map(|(number, weight)| {
                    match self.numbered.get(number).map(|numbered| &numbered.content) {
                        Some(NextHop::Path(path)) => Some(RawPath { weight: *weight, ..*path }),
                        _ => None,
                    }
                });
                let paths: Vec<RawPath> = paths.collect();
                let is_known = |(number, _): &(u32, u16)| self.numbered.contains_key(number);
                if paths.is_empty() && !members.iter().all(is_known) {
                    return Resolved::Unknown;
                }
                resolve_all(&paths, ports)
            }
        }
    }

    fn forget_members(&mut self, number: u32) {
        let Some(Defined { content: NextHop::Group(members), .. }) = self.numbered.get(&number)
        else {
            return;
        };
        for (member, _) in members {
            if let Some(groups) = self.groups_with.get_mut(member) {
                groups.remove(&number);
                if groups.is_empty() {
                    self.groups_with.remove(member);
                }
            }
        }
    }
}

/// The paths that go by ports of ours. A gateway without an interface goes by the connected network
/// that it is in.
pub(super) fn resolve_all(raw: &[RawPath], ports: &mut dyn PortIndexes) -> Resolved {
    let paths = raw.iter().filter_map(|path| {
        let port = match path.interface {
            Some(interface) => Some(ports.port_of(interface)?),
            None => None,
        };
        let leads_somewhere = path.gateway.is_some() || port.is_some();
        leads_somewhere.then_some(Path { gateway: path.gateway, port, weight: path.weight })
    });
    let paths: Vec<Path> = paths.collect();
    if paths.is_empty() { Resolved::NotOurs } else { Resolved::Paths(paths) }
}
