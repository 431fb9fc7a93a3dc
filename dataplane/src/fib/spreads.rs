//! Groups in the table of hops: each has a run of buckets, which stays where it is.
//!
//! A group that takes the place of another one on a route inherits its buckets: members of both
//! keep their flows. Which of several predecessors it inherits from is a matter of history; while
//! it lives, its buckets change with its own members only.

use super::buckets::{deal, deal_again, without_unusable};
use super::changes::GroupKey;
use super::groups::Path;
use super::routes::{Interface, NextHop, Routes};
use super::runs::Runs;
use super::{Adjacency, Hop, Leaf};
use crate::ids::PortId;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::net::IpAddr;

/// A group in the table of hops.
#[derive(Clone, Debug)]
struct Spread {
    leaf: Leaf,
    /// The paths that the buckets are for.
    paths: Vec<Path>,
    /// By bucket the place of its path; empty if the group leads to the destination itself.
    buckets: Vec<u8>,
}

/// All groups that routes point to.
#[derive(Clone, Debug, Default)]
pub(super) struct Spreads {
    groups: BTreeMap<GroupKey, Spread>,
    /// Whose run it is, by the index of its first hop.
    owners: BTreeMap<usize, GroupKey>,
    /// The groups with a path by this gateway.
    of_gateway: BTreeMap<IpAddr, BTreeSet<GroupKey>>,
    /// The hops that ask for a destination on a port's link.
    resolve: BTreeMap<PortId, Leaf>,
}

impl Spreads {
    /// The leaf of a question for the destination, on this port.
    pub(super) fn resolve(&mut self, runs: &mut Runs, port: PortId) -> Leaf {
        *self.resolve.entry(port).or_insert_with(|| runs.add(&[Hop::Resolve { port }]))
    }

    /// The groups with a path by `gateway`.
    pub(super) fn by_gateway(&self, gateway: IpAddr) -> Vec<GroupKey> {
        self.of_gateway.get(&gateway).into_iter().flatten().copied().collect()
    }

    /// All groups.
    pub(super) fn keys(&self) -> Vec<GroupKey> {
        self.groups.keys().copied().collect()
    }

    /// The leaf of a group, on a route whose leaf was `before`.
    pub(super) fn leaf(
        &mut self,
        runs: &mut Runs,
        routes: &Routes,
        key: GroupKey,
        before: Option<Leaf>,
    ) -> Leaf {
        if let Some(spread) = self.groups.get(&key) {
            return spread.leaf;
        }
        let paths = routes.paths_of(key).to_vec();
        // A path without a gateway leads to the destination itself, which has to be asked for.
        let spread = if let Some(port) = on_link(&paths) {
            Spread { leaf: self.resolve(runs, port), paths, buckets: Vec::new() }
        } else {
            let before = before.and_then(|leaf| self.groups.get(self.owners.get(&leaf.first())?));
            let buckets = before.and_then(|before| inherit(before, &paths));
            let buckets = buckets.unwrap_or_else(|| deal(&weights(&paths)));
            let leaf = runs.add(&hops(routes, &paths, &buckets));
            self.owners.insert(leaf.first(), key);
            Spread { leaf, paths, buckets }
        };
        for gateway in spread.paths.iter().filter_map(|path| path.gateway) {
            self.of_gateway.entry(gateway).or_default().insert(key);
        }
        let leaf = spread.leaf;
        self.groups.insert(key, spread);
        leaf
    }

    /// Brings a group up to date with its paths and their neighbors.
    ///
    /// # Errors
    /// The group needs another run: its routes have to be compiled again.
    pub(super) fn refresh(
        &mut self,
        runs: &mut Runs,
        routes: &Routes,
        key: GroupKey,
    ) -> Result<(), NeedsOtherRun> {
        let paths = routes.paths_of(key);
        let Some(spread) = self.groups.get_mut(&key) else { return Ok(()) };
        if spread.paths != paths {
            let is_on_link = on_link(paths).is_some() || spread.buckets.is_empty();
            let Some(buckets) = inherit(spread, paths).filter(|_| !is_on_link) else {
                self.release(runs, key);
                return Err(NeedsOtherRun);
            };
            let old = core::mem::replace(&mut spread.paths, paths.to_vec());
            spread.buckets = buckets;
            self.forget_gateways(key, &old);
            for gateway in paths.iter().filter_map(|path| path.gateway) {
                self.of_gateway.entry(gateway).or_default().insert(key);
            }
        }
        let Some(spread) = self.groups.get(&key).filter(|spread| !spread.buckets.is_empty()) else {
            return Ok(());
        };
        runs.set(spread.leaf, &hops(routes, &spread.paths, &spread.buckets));
        Ok(())
    }

    /// Forgets a group that no route points to.
    pub(super) fn release(&mut self, runs: &mut Runs, key: GroupKey) {
        let Some(spread) = self.groups.remove(&key) else { return };
        self.forget_gateways(key, &spread.paths);
        if !spread.buckets.is_empty() {
            self.owners.remove(&spread.leaf.first());
            runs.release(spread.leaf);
        }
    }

    fn forget_gateways(&mut self, key: GroupKey, paths: &[Path]) {
        for gateway in paths.iter().filter_map(|path| path.gateway) {
            if let Some(groups) = self.of_gateway.get_mut(&gateway) {
                groups.remove(&key);
                if groups.is_empty() {
                    self.of_gateway.remove(&gateway);
                }
            }
        }
    }
}

/// A group has more paths than its run has buckets, or none where it had some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NeedsOtherRun;

/// The port of the first path that leads to the destination itself.
fn on_link(paths: &[Path]) -> Option<PortId> {
    paths.iter().find_map(|path| path.gateway.is_none().then_some(path.port?))
}

fn weights(paths: &[Path]) -> Vec<u16> {
    // A group without a path is one that leads nowhere.
    if paths.is_empty() { Vec::from([1]) } else { paths.iter().map(|path| path.weight).collect() }
}

/// The buckets of `paths` in the place of those of `before`; `None` if there are too few, or
/// nothing is to be inherited.
fn inherit(before: &Spread, paths: &[Path]) -> Option<Vec<u8>> {
    let count = before.buckets.len();
    let fits = if count == 1 { paths.len() <= 1 } else { paths.len() <= count };
    if count == 0 || !fits {
        return None;
    }
    let alike = |one: &Path, other: &Path| (one.gateway, one.port) == (other.gateway, other.port);
    let place = |member: u8| {
        let old = before.paths.get(usize::from(member))?;
        u8::try_from(paths.iter().position(|path| alike(path, old))?).ok()
    };
    Some(deal_again(&before.buckets, place, &weights(paths)))
}

/// The hops of a group's buckets: those of paths whose gateway has a known MAC address; if there is
/// none, a question for the first.
fn hops(routes: &Routes, paths: &[Path], buckets: &[u8]) -> Vec<Hop> {
    let stations: Vec<Vec<NextHop>> = paths
        .iter()
        .map(|path| path.gateway.map_or_else(Vec::new, |it| routes.stations_by(path, it)))
        .collect();
    let known: Vec<Option<Adjacency>> =
        stations.iter().map(|members| members.first().and_then(adjacency)).collect();
    if known.iter().all(Option::is_none) {
        let first = stations.iter().flatten().next();
        let hop = first.map_or(Hop::NoRoute, |it| Hop::Resolve { port: it.interface.port });
        return alloc::vec![hop; buckets.len()];
    }
    let is_known = |member: u8| known.get(usize::from(member)).is_some_and(Option::is_some);
    let mut buckets = buckets.to_vec();
    without_unusable(&mut buckets, is_known);
    let hop = |&member: &u8| known[usize::from(member)].map_or(Hop::NoRoute, Hop::Forward);
    buckets.iter().map(hop).collect()
}

/// The way to a station whose MAC address is known.
pub(super) fn adjacency(station: &NextHop) -> Option<Adjacency> {
    let Interface { port, vlan, mac, frame_bytes_max, .. } = station.interface;
    Some(Adjacency::new(port, vlan, frame_bytes_max, station.mac?, mac))
}
