//! From [`Routes`] to [`Fib`], change by change.
//!
//! The control thread has two tables: workers use one, and the other is idle. The compiler keeps
//! what both are to answer, and a log of what changed in that; [`Compiler::apply`] brings the idle
//! one up to date, however far behind it is.

use super::changes::{Change, Changes, GroupKey};
use super::compile::{Prefix, SHAPE};
use super::precedence::Answer;
use super::prefixes::Prefixes;
use super::route::Target;
use super::routes::Routes;
use super::runs::Runs;
use super::spreads::{NeedsOtherRun, Spreads, adjacency};
use super::trie::Trie;
use super::{Fib, Hop, Leaf};
use crate::tunnel::TunnelId;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::net::IpAddr;
use ipnet::IpNet;

/// A table with more changes than this part of its prefixes is built anew.
const REBUILD_PART: u64 = 8;

impl Routes {
    /// The table for the packet path, built from scratch. Takes about half a microsecond for each
    /// route; see [`Compiler`] for tables that change.
    pub fn compile(&self) -> Fib {
        let mut compiler = Compiler::default();
        let (mut v4, mut v6) = compiler.lists(self);
        Fib {
            v4: Trie::compile(&mut v4),
            v6: Trie::compile(&mut v6),
            hops: compiler.runs.into_vec().into_boxed_slice(),
            ..Fib::default()
        }
    }
}

/// What changed in the tables.
#[derive(Clone, Copy, Debug)]
enum Logged {
    V4(u32, u8),
    V6(u128, u8),
    /// The run of this leaf has other hops.
    Run(Leaf),
}

/// Compiles one routing table.
#[derive(Clone, Debug)]
pub struct Compiler {
    v4: Prefixes<u32>,
    v6: Prefixes<u128>,
    runs: Runs,
    spreads: Spreads,
    discard: Leaf,
    local: Leaf,
    neighbors: BTreeMap<IpAddr, Leaf>,
    /// One for each tunnel that a route has led to.
    tunnels: BTreeMap<TunnelId, Leaf>,
    log: VecDeque<Logged>,
    /// Number of the first change of the log. The numbers of tables that no compiler made are 0.
    log_start: u64,
    /// What the table was brought up to that is not idle.
    other_position: u64,
}

impl Default for Compiler {
    fn default() -> Self {
        let mut runs = Runs::default();
        let (discard, local) = (runs.add(&[Hop::Discard]), runs.add(&[Hop::Local]));
        Self {
            v4: Prefixes::of(&[]),
            v6: Prefixes::of(&[]),
            runs,
            spreads: Spreads::default(),
            discard,
            local,
            neighbors: BTreeMap::new(),
            tunnels: BTreeMap::new(),
            log: VecDeque::new(),
            log_start: 1,
            other_position: 0,
        }
    }
}

impl Compiler {
    /// A compiler of nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes over what has changed in `routes`.
    pub fn update(&mut self, routes: &mut Routes) {
        match routes.changes.take() {
            Changes::Everything => self.rebuild(routes),
            Changes::Some(changes) => {
                for change in changes {
                    match change {
                        Change::Route(prefix) => self.route(routes, prefix),
                        Change::Neighbor(address) => self.neighbor(routes, address),
                        Change::Group(group) => self.group(routes, group),
                    }
                }
            }
        }
        self.log.extend(self.runs.take_changed().into_iter().map(Logged::Run));
        // Only now does no prefix lead to their runs.
        for group in routes.take_freed() {
            self.spreads.release(&mut self.runs, group);
        }
    }

    /// Brings a table up to date: one of two that take turns, made by this compiler or
    /// [`Fib::default`].
    pub fn apply(&mut self, fib: &mut Fib) {
        let end = self.log_start + self.log.len() as u64;
        let behind = end - fib.position.min(end);
        let prefixes = (self.v4.len() + self.v6.len()) as u64;
        if fib.position < self.log_start || behind > prefixes / REBUILD_PART + 64 {
            fib.v4.replace(&mut fib.free_v4, &self.v4, SHAPE);
            fib.v6.replace(&mut fib.free_v6, &self.v6, SHAPE);
            fib.hops = self.runs.as_slice().into();
        } else {
            let from = usize::try_from(fib.position - self.log_start).unwrap_or(usize::MAX);
            self.replay(from, fib);
        }
        fib.position = end;
        // What both tables have need not be kept.
        let kept_from = self.other_position.clamp(self.log_start, end);
        let gone = usize::try_from(kept_from - self.log_start).unwrap_or(usize::MAX);
        self.log.drain(..gone);
        (self.log_start, self.other_position) = (kept_from, end);
    }

    fn replay(&self, from: usize, fib: &mut Fib) {
        fib.grow_hops(self.runs.as_slice().len());
        for logged in self.log.range(from..) {
            match *logged {
                Logged::V4(address, len) => {
                    fib.v4.update(&mut fib.free_v4, &self.v4, (address, len));
                }
                Logged::V6(address, len) => {
                    fib.v6.update(&mut fib.free_v6, &self.v6, (address, len));
                }
                Logged::Run(leaf) => {
                    let run = leaf.first()..leaf.first() + leaf.members();
                    fib.hops[run.clone()].copy_from_slice(&self.runs.as_slice()[run]);
                }
            }
        }
    }

    fn rebuild(&mut self, routes: &Routes) {
        for leaf in core::mem::take(&mut self.neighbors).into_values() {
            self.runs.release(leaf);
        }
        for key in self.spreads.keys() {
            // A new table has other static routes; its learned ones are those of the old table.
            if matches!(key, GroupKey::Static(_)) || routes.paths_of(key).is_empty() {
                self.spreads.release(&mut self.runs, key);
            } else {
                let _another_run_is_made_below = self.spreads.refresh(&mut self.runs, routes, key);
            }
        }
        let (v4, v6) = self.lists(routes);
        (self.v4, self.v6) = (Prefixes::of(&v4), Prefixes::of(&v6));
        // No table is up to date after this.
        self.log_start += self.log.len() as u64 + 1;
        self.log.clear();
    }

    fn lists(&mut self, routes: &Routes) -> (Vec<Prefix<u32>>, Vec<Prefix<u128>>) {
        let (mut v4, mut v6) = (Vec::new(), Vec::new());
        for prefix in routes.prefixes() {
            let Some(leaf) = self.leaf(routes, prefix, None) else { continue };
            let len = prefix.prefix_len();
            match prefix.addr() {
                IpAddr::V4(address) => v4.push(Prefix { address: address.to_bits(), len, leaf }),
                IpAddr::V6(address) => v6.push(Prefix { address: address.to_bits(), len, leaf }),
            }
        }
        (v4, v6)
    }

    /// The leaf of exactly this prefix; it was `before`.
    fn leaf(&mut self, routes: &Routes, prefix: IpNet, before: Option<Leaf>) -> Option<Leaf> {
        Some(match routes.answer(prefix)? {
            Answer::Discard => self.discard,
            Answer::Local => self.local,
            Answer::NoRoute => Leaf::NO_ROUTE,
            Answer::Resolve(port) => self.spreads.resolve(&mut self.runs, port),
            Answer::Tunnel(id) => {
                *self.tunnels.entry(id).or_insert_with(|| self.runs.add(&[Hop::Tunnel(id)]))
            }
            Answer::Group(key) => self.spreads.leaf(&mut self.runs, routes, key, before),
            Answer::Neighbor(station) => {
                let hop = adjacency(&station).map_or(Hop::NoRoute, Hop::Forward);
                match self.neighbors.get(&station.address) {
                    Some(&leaf) => {
                        self.runs.set(leaf, &[hop]);
                        leaf
                    }
                    None => {
                        let leaf = self.runs.add(&[hop]);
                        self.neighbors.insert(station.address, leaf);
                        leaf
                    }
                }
            }
        })
    }

    fn route(&mut self, routes: &Routes, prefix: IpNet) {
        self.prefix(routes, prefix);
        // Whether a neighbor has a prefix of its own depends on the routes that it is in.
        let (first, last) = (prefix.network(), prefix.broadcast());
        let inside: Vec<IpAddr> =
            routes.neighbors.range(first..=last).map(|(&address, _)| address).collect();
        for address in inside {
            self.prefix(routes, IpNet::from(address));
        }
    }

    fn neighbor(&mut self, routes: &Routes, address: IpAddr) {
        self.prefix(routes, IpNet::from(address));
        if !routes.neighbors.contains_key(&address)
            && let Some(leaf) = self.neighbors.remove(&address)
        {
            self.runs.release(leaf);
        }
        for group in self.spreads.by_gateway(address) {
            self.group(routes, group);
        }
    }

    fn group(&mut self, routes: &Routes, key: GroupKey) {
        if let Err(NeedsOtherRun) = self.spreads.refresh(&mut self.runs, routes, key)
            && let GroupKey::Learned(group) = key
        {
            let of_group = routes.learned();
            let of_group = of_group.filter(|(_, route)| route.target == Target::Group(group));
            let of_group: Vec<IpNet> = of_group.map(|(prefix, _)| prefix).collect();
            of_group.into_iter().for_each(|prefix| self.route(routes, prefix));
        }
    }

    /// Compiles exactly this prefix again.
    fn prefix(&mut self, routes: &Routes, prefix: IpNet) {
        let len = prefix.prefix_len();
        match prefix.addr() {
            IpAddr::V4(address) => {
                let address = address.to_bits();
                let before = self.v4.get(address, len);
                let leaf = self.leaf(routes, prefix, before);
                if self.v4.set(address, len, leaf) {
                    self.log.push_back(Logged::V4(address, len));
                }
            }
            IpAddr::V6(address) => {
                let address = address.to_bits();
                let before = self.v6.get(address, len);
                let leaf = self.leaf(routes, prefix, before);
                if self.v6.set(address, len, leaf) {
                    self.log.push_back(Logged::V6(address, len));
                }
            }
        }
    }
}
