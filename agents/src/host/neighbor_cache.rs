//! The neighbor cache: one state machine for ARP and neighbor discovery.
//!
//! ```text
//!              answer                          no answer for reachable_ns
//! INCOMPLETE ---------> REACHABLE ---------------------------------+
//!   |  ^ request every  ^   ^                                      v
//!   |  | retry_ns       |   +-------------- answer ------------- STALE --- tries probes: removed
//!   |  resolve()        | answer                                  ^
//!   +-- tries sent ---> FAILED --- hold_down_ns: removed          +--- any other message of it
//! ```
//!
//! This is the state machine of RFC 4861 without DELAY. The slow path of a switch does not see
//! which neighbors are in use, so it probes every stale neighbor. A neighbor that does not answer
//! loses its entry and its route.
//!
//! An entry has at most one deadline. No entry is evicted to make room. A port may have its share
//! of the entries ([`share`]), so the neighbors that one host makes up leave room for those of
//! other ports. At most a quarter of the entries may be unresolved, so a scan of unused addresses
//! cannot fill the cache. Entries of forged neighbors are removed when their probes are not
//! answered.

use super::neighbor::{Neighbor, NeighborKey, NeighborState, NeighborsFull};
use super::neighbor_message::{NeighborUpdate, UpdateKind};
use super::settings::AgentSettings;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use dataplane::ids::PortId;
use dataplane::share;
use dataplane::time::Instant;
use dataplane::wire::MacAddress;

/// The effect of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Learned {
    /// The neighbor is new, or has been resolved.
    Up(MacAddress),
    /// The neighbor has another MAC address.
    Moved(MacAddress),
    /// Frames are forwarded as before.
    Same,
    /// The update has another MAC address than the static neighbor.
    ConflictsWithStatic,
    /// The neighbor is not in the cache, and the update may not add it.
    Unknown,
    /// The cache is full.
    Full,
}

/// What is known of a neighbor to which a frame is to be forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resolution {
    /// The MAC address is known.
    Resolved,
    /// A request was sent before; the frame must wait.
    Unresolved,
    /// The entry is new: the caller sends the first request; the frame must wait.
    Started,
    /// The neighbor did not answer, and no request is sent for a while.
    Failed,
    /// The cache is full.
    Full,
}

/// What the caller must do at a deadline of a neighbor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// Send a request to all nodes of the link.
    Request,
    /// Send a request to the neighbor at this MAC address.
    Probe(MacAddress),
    /// The neighbor did not answer any request: drop the frames that wait for it.
    Failed,
    /// The neighbor stopped answering and has been removed.
    Lost,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Incomplete { requests: u8 },
    Reachable { mac: MacAddress },
    Stale { mac: MacAddress, probes: u8 },
    Failed,
    Static { mac: MacAddress },
}

impl State {
    fn mac(self) -> Option<MacAddress> {
        match self {
            Self::Reachable { mac } | Self::Stale { mac, .. } | Self::Static { mac } => Some(mac),
            Self::Incomplete { .. } | Self::Failed => None,
        }
    }

    fn name(self) -> NeighborState {
        match self {
            Self::Incomplete { .. } => NeighborState::Incomplete,
            Self::Reachable { .. } => NeighborState::Reachable,
            Self::Stale { .. } => NeighborState::Stale,
            Self::Failed => NeighborState::Failed,
            Self::Static { .. } => NeighborState::Static,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    state: State,
    /// When it last answered or announced itself; of an unresolved entry, when it was created.
    heard_at: Instant,
    /// The deadline; [`Instant::NEVER`] if there is none.
    deadline: Instant,
}

/// The neighbors by port and address.
#[derive(Clone, Debug)]
pub(super) struct NeighborCache {
    settings: AgentSettings,
    entries: BTreeMap<NeighborKey, Entry>,
    /// The deadlines of all entries that have one.
    deadlines: BTreeSet<(Instant, NeighborKey)>,
    /// Entries without a MAC address.
    unresolved: usize,
    /// By port with entries, or whose neighbors were refused.
    ports: BTreeMap<PortId, PortCounts>,
}

/// What the cache has of one port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PortCounts {
    /// Entries of the port.
    pub(super) entries: usize,
    /// Those without a MAC address.
    unresolved: usize,
    /// Neighbors that were not added, each time.
    pub(super) refused: u64,
}

impl NeighborCache {
    pub(super) fn new(settings: AgentSettings) -> Self {
        let (entries, deadlines) = (BTreeMap::new(), BTreeSet::new());
        Self { settings, entries, deadlines, unresolved: 0, ports: BTreeMap::new() }
    }

    /// Looks up the neighbor of a frame, and adds an entry if there is none.
    pub(super) fn resolve(&mut self, now: Instant, key: NeighborKey) -> Resolution {
        match self.entries.get(&key).map(|entry| entry.state) {
            Some(State::Incomplete { .. }) => Resolution::Unresolved,
            Some(State::Failed) => Resolution::Failed,
            Some(_) => Resolution::Resolved,
            None if !self.may_add(key.port) || !self.may_add_unresolved(key.port) => {
                self.refuse(key.port);
                Resolution::Full
            }
            None => {
                let deadline = now + self.settings.retry_ns;
                self.put(key, State::Incomplete { requests: 1 }, now, deadline);
                Resolution::Started
            }
        }
    }

    /// Applies an update about `key` (RFC 4861, 7.2.3 and 7.2.5).
    pub(super) fn learn(
        &mut self,
        now: Instant,
        key: NeighborKey,
        update: NeighborUpdate,
    ) -> Learned {
        let Some(&Entry { state, heard_at, .. }) = self.entries.get(&key) else {
            return self.learn_unknown(now, key, update);
        };
        if let State::Static { mac } = state {
            let agrees = update.mac.is_none_or(|updated| updated == mac);
            return if agrees { Learned::Same } else { Learned::ConflictsWithStatic };
        }
        let Some(mac) = update.mac.or_else(|| state.mac()) else { return Learned::Same };
        let moved = state.mac().is_some_and(|known| known != mac);
        match (moved, state) {
            (true, State::Reachable { mac }) if !update.overrides => {
                // Two stations claim one address. A probe shows whether the known one is there.
                self.put_stale(now, heard_at, key, mac);
                return Learned::Same;
            }
            (true, _) if !update.overrides => return Learned::Same,
            (false, State::Reachable { .. } | State::Stale { .. })
                if update.kind != UpdateKind::Solicited =>
            {
                return Learned::Same;
            }
            _ if update.kind == UpdateKind::Solicited => {
                let deadline = now + self.settings.reachable_ns;
                self.put(key, State::Reachable { mac }, now, deadline);
            }
            _ => self.put_stale(now, now, key, mac),
        }
        match (state.mac(), moved) {
            (None, _) => Learned::Up(mac),
            (Some(_), true) => Learned::Moved(mac),
            (Some(_), false) => Learned::Same,
        }
    }

    /// Applies an update about a neighbor that is not in the cache.
    fn learn_unknown(&mut self, now: Instant, key: NeighborKey, update: NeighborUpdate) -> Learned {
        match (update.kind, update.mac) {
            (UpdateKind::Request, Some(_)) if !self.may_add(key.port) => {
                self.refuse(key.port);
                Learned::Full
            }
            (UpdateKind::Request, Some(mac)) => {
                self.put_stale(now, now, key, mac);
                Learned::Up(mac)
            }
            _ => Learned::Unknown,
        }
    }

    /// Configures a neighbor; replaces any entry for it. Returns whether its MAC address is new.
    pub(super) fn add_static(
        &mut self,
        now: Instant,
        key: NeighborKey,
        mac: MacAddress,
    ) -> Result<bool, NeighborsFull> {
        let known = self.entries.get(&key).map(|entry| entry.state);
        if known.is_none() && self.is_full() {
            return Err(NeighborsFull { neighbors_max: self.settings.neighbors_max });
        }
        self.put(key, State::Static { mac }, now, Instant::NEVER);
        Ok(known.and_then(State::mac) != Some(mac))
    }

    /// Removes a configured neighbor. Returns false if there is none.
    pub(super) fn remove_static(&mut self, key: NeighborKey) -> bool {
        let is_static =
            self.entries.get(&key).is_some_and(|entry| matches!(entry.state, State::Static { .. }));
        is_static && self.take(key).is_some()
    }

    /// Starts the requests to the neighbors at `port` that have not answered from the first one,
    /// and returns these neighbors.
    pub(super) fn start_again(&mut self, now: Instant, port: PortId) -> Vec<NeighborKey> {
        let silent = self.entries.iter().filter(|&(key, entry)| {
            key.port == port && matches!(entry.state, State::Incomplete { .. } | State::Failed)
        });
        let silent: Vec<_> = silent.map(|(&key, entry)| (key, entry.heard_at)).collect();
        let deadline = now + self.settings.retry_ns;
        for &(key, heard_at) in &silent {
            self.put(key, State::Incomplete { requests: 1 }, heard_at, deadline);
        }
        silent.into_iter().map(|(key, _)| key).collect()
    }

    /// Removes every neighbor that is not static and that `keep` refuses. Returns each with whether
    /// its MAC address was known.
    pub(super) fn retain(
        &mut self,
        mut keep: impl FnMut(NeighborKey) -> bool,
    ) -> Vec<(NeighborKey, bool)> {
        let gone: Vec<_> = self
            .entries
            .iter()
            .filter(|(key, entry)| !matches!(entry.state, State::Static { .. }) && !keep(**key))
            .map(|(&key, entry)| (key, entry.state.mac().is_some()))
            .collect();
        for &(key, _) in &gone {
            self.take(key);
        }
        gone
    }

    /// Handles the first deadline that has come and requires an action, and returns the action.
    pub(super) fn poll_due(&mut self, now: Instant) -> Option<(NeighborKey, Due)> {
        loop {
            let &(deadline, key) = self.deadlines.first()?;
            if deadline > now {
                return None;
            }
            if let Some(due) = self.expire(now, key) {
                return Some((key, due));
            }
        }
    }

    /// The first deadline.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|&(deadline, _)| deadline)
    }

    /// The neighbors, in order of port and address.
    pub(super) fn iter(&self, now: Instant) -> impl Iterator<Item = Neighbor> {
        self.entries.iter().map(move |(&key, entry)| Neighbor {
            key,
            mac: entry.state.mac(),
            state: entry.state.name(),
            age_ns: now.ns_since(entry.heard_at),
        })
    }

    /// Handles the deadline of `key`.
    fn expire(&mut self, now: Instant, key: NeighborKey) -> Option<Due> {
        let Entry { state, heard_at, .. } = self.take(key)?;
        let tries = self.settings.tries.max(1);
        let retry = now + self.settings.retry_ns;
        match state {
            State::Incomplete { requests } if requests < tries => {
                self.put(key, State::Incomplete { requests: requests + 1 }, heard_at, retry);
                Some(Due::Request)
            }
            State::Incomplete { .. } => {
                self.put(key, State::Failed, heard_at, now + self.settings.hold_down_ns);
                Some(Due::Failed)
            }
            State::Reachable { mac } => {
                self.put(key, State::Stale { mac, probes: 1 }, heard_at, retry);
                Some(Due::Probe(mac))
            }
            State::Stale { mac, probes } if probes < tries => {
                self.put(key, State::Stale { mac, probes: probes + 1 }, heard_at, retry);
                Some(Due::Probe(mac))
            }
            State::Stale { .. } => Some(Due::Lost),
            State::Failed | State::Static { .. } => None,
        }
    }

    fn is_full(&self) -> bool {
        self.entries.len() >= self.settings.neighbors_max
    }

    /// Whether `port` has not had its share of the entries.
    fn may_add(&self, port: PortId) -> bool {
        share::may_add(self.counts(port).entries, self.entries.len(), self.settings.neighbors_max)
    }

    /// Whether `port` has not had its share of the entries that may be unresolved.
    fn may_add_unresolved(&self, port: PortId) -> bool {
        let most = self.settings.neighbors_max / 4;
        share::may_add(self.counts(port).unresolved, self.unresolved, most)
    }

    fn refuse(&mut self, port: PortId) {
        self.ports.entry(port).or_default().refused += 1;
    }

    /// What the cache has of `port`.
    pub(super) fn counts(&self, port: PortId) -> PortCounts {
        self.ports.get(&port).copied().unwrap_or_default()
    }

    fn put_stale(&mut self, now: Instant, heard_at: Instant, key: NeighborKey, mac: MacAddress) {
        let first_probe = now + self.settings.first_probe_ns;
        self.put(key, State::Stale { mac, probes: 0 }, heard_at, first_probe);
    }

    /// Inserts or replaces an entry. Nothing else inserts entries, so deadlines and limits follow.
    fn put(&mut self, key: NeighborKey, state: State, heard_at: Instant, deadline: Instant) {
        self.take(key);
        let is_unresolved = usize::from(state.mac().is_none());
        self.unresolved += is_unresolved;
        let port = self.ports.entry(key.port).or_default();
        port.entries += 1;
        port.unresolved += is_unresolved;
        if deadline != Instant::NEVER {
            self.deadlines.insert((deadline, key));
        }
        self.entries.insert(key, Entry { state, heard_at, deadline });
    }

    /// Removes an entry. Nothing else removes entries.
    fn take(&mut self, key: NeighborKey) -> Option<Entry> {
        let entry = self.entries.remove(&key)?;
        let was_unresolved = usize::from(entry.state.mac().is_none());
        self.unresolved -= was_unresolved;
        let port = self.ports.entry(key.port).or_default();
        port.entries -= 1;
        port.unresolved -= was_unresolved;
        self.deadlines.remove(&(entry.deadline, key));
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::Ipv4Addr;
    use dataplane::ids::PortId;
    use proptest::prelude::*;

    /// Deadlines and limits are those that follow from the entries.
    fn assert_consistent(cache: &NeighborCache) {
        let entries = cache.entries.iter();
        let unresolved = entries.clone().filter(|(_, entry)| entry.state.mac().is_none()).count();
        let timed = entries.filter(|(_, entry)| entry.deadline != Instant::NEVER);
        let deadlines: BTreeSet<_> = timed.map(|(&key, entry)| (entry.deadline, key)).collect();
        assert_eq!((cache.unresolved, &cache.deadlines), (unresolved, &deadlines));
        for (&port, counts) in &cache.ports {
            let own = cache.entries.iter().filter(|(key, _)| key.port == port);
            let without_mac = own.clone().filter(|(_, entry)| entry.state.mac().is_none()).count();
            assert_eq!((counts.entries, counts.unresolved), (own.count(), without_mac));
        }
        assert!(cache.entries.len() <= cache.settings.neighbors_max);
        assert!(unresolved <= cache.settings.neighbors_max / 4);
    }

    proptest! {
        #[test]
        fn deadlines_and_limits_follow_the_table(
            steps in prop::collection::vec((0..8_u8, 0..20_u8, 0..3_u8, 0..6_000_u64), 0..200),
            neighbors_max in 0..12_usize,
            tries in 0..4_u8,
        ) {
            let settings = AgentSettings { neighbors_max, tries, ..AgentSettings::default() };
            let mut cache = NeighborCache::new(settings);
            let mut now = Instant::ZERO;
            for (what, host, mac, ms) in steps {
                let key = NeighborKey {
                    port: PortId::from_index(usize::from(host % 3)).unwrap(),
                    address: Ipv4Addr::new(10, 0, 0, host).into(),
                };
                let mac = MacAddress([2, 0, 0, 0, 0, mac]);
                let update = |kind| NeighborUpdate { kind, mac: Some(mac), overrides: ms % 2 == 0 };
                match what {
                    0 | 1 => drop(cache.resolve(now, key)),
                    2 => drop(cache.learn(now, key, update(UpdateKind::Solicited))),
                    3 => drop(cache.learn(now, key, update(UpdateKind::Request))),
                    4 => drop(cache.learn(now, key, update(UpdateKind::Unsolicited))),
                    5 => drop(cache.add_static(now, key, mac)),
                    6 => drop(cache.remove_static(key)),
                    _ => {
                        now = now + ms * 1_000_000;
                        while let Some((key, due)) = cache.poll_due(now) {
                            let is_there = cache.entries.contains_key(&key);
                            prop_assert_eq!(is_there, due != Due::Lost);
                        }
                        prop_assert!(cache.next_deadline().is_none_or(|next| next > now));
                    }
                }
                assert_consistent(&cache);
            }
        }
    }
}
