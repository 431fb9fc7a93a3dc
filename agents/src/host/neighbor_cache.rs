//! The cache of neighbors: one state machine for ARP and neighbor discovery.
//!
//! ```text
//!              answer                          no answer for reachable_ns
//! INCOMPLETE ---------> REACHABLE ---------------------------------+
//!   |  ^ asks every     ^   ^                                      v
//!   |  | retry_ns       |   +-------------- answer ------------- STALE --- tries probes: gone
//!   |  resolve()        | answer                                  ^
//!   +-- tries asked --> FAILED --- hold_down_ns: gone             +--- any other word of it
//! ```
//!
//! RFC 4861's machine, less DELAY: a switch's slow path does not see which neighbors are used, so
//! every stale one is probed, and one that is gone frees its entry and its route. An entry has at
//! most one deadline. Nothing is evicted to make room: a scan of unused addresses fills its quarter
//! of the table and then is refused, and a flood of invented neighbors meets the probes.

use super::AgentSettings;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::fmt;
use core::net::IpAddr;
use dataplane::ids::PortId;
use dataplane::time::Instant;
use dataplane::wire::MacAddress;

/// A neighbor: an address at a port. Link-local addresses mean something only together with one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NeighborKey {
    /// The port whose link it is on.
    pub port: PortId,
    /// Its IP address.
    pub address: IpAddr,
}

/// What is known of a neighbor (RFC 4861, 7.3.2, and two of ours).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NeighborState {
    /// Asked for, no answer yet; frames wait.
    Incomplete,
    /// It answered, not long ago.
    Reachable,
    /// It was there; being probed, or soon to be. Frames still go to it.
    Stale,
    /// It did not answer, and is not asked for again for a while.
    Failed,
    /// Configured.
    Static,
}

/// One row of the table, for display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbor {
    /// Who.
    pub key: NeighborKey,
    /// Its MAC address, if it is known.
    pub mac: Option<MacAddress>,
    /// What is known of it.
    pub state: NeighborState,
    /// Time since it last answered or said where it is; since it was first asked for, if it never
    /// has; since it was configured.
    pub age_ns: u64,
}

/// The table of neighbors holds as many as it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeighborsFull {
    /// How many that is.
    pub neighbors_max: usize,
}

impl fmt::Display for NeighborsFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the table holds {} neighbors, as many as it may", self.neighbors_max)
    }
}

impl core::error::Error for NeighborsFull {}

/// How a message came to speak of a neighbor; decides how far it is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UpdateKind {
    /// It answers our question: proof that the neighbor hears us.
    Solicited,
    /// The neighbor asks for us, and says where it is itself. We are about to hear from it.
    Request,
    /// Nobody asked, and it speaks to nobody in particular.
    Unsolicited,
}

/// What a message says about a neighbor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NeighborUpdate {
    pub(super) kind: UpdateKind,
    /// `None` where the message leaves it out: the one that is known.
    pub(super) mac: Option<MacAddress>,
    /// Whether it stands against another MAC address that is known.
    pub(super) overrides: bool,
}

/// What a claim changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Learned {
    /// Frames can go to it now.
    Up(MacAddress),
    /// Frames must go to another MAC address now.
    Moved(MacAddress),
    /// Nothing for frames.
    Same,
    /// It contradicts a static neighbor.
    ConflictsWithStatic,
    /// Nobody asked for this neighbor.
    Unknown,
    /// There is no room.
    Full,
}

/// What a frame to a neighbor meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resolution {
    /// It can go.
    Resolved,
    /// It must wait; an answer is awaited already.
    Unresolved,
    /// It must wait; the first question is due now.
    Started,
    /// There was no answer a short while ago.
    Failed,
    /// There is no room.
    Full,
}

/// What is to be done about a neighbor because time has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// Ask whoever has the address.
    Ask,
    /// Ask the neighbor itself.
    Probe(MacAddress),
    /// It never answered: what waits for it has no hope.
    Failed,
    /// It no longer answers and has been removed.
    Lost,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Incomplete { asked: u8 },
    Reachable { mac: MacAddress },
    Stale { mac: MacAddress, probed: u8 },
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
    heard: Instant,
    /// When something is due; [`Instant::NEVER`] if nothing is.
    deadline: Instant,
}

/// The table.
#[derive(Clone, Debug)]
pub(super) struct NeighborCache {
    settings: AgentSettings,
    entries: BTreeMap<NeighborKey, Entry>,
    /// The deadlines of all entries that have one.
    deadlines: BTreeSet<(Instant, NeighborKey)>,
    /// Entries without a MAC address.
    unresolved: usize,
}

impl NeighborCache {
    pub(super) fn new(settings: AgentSettings) -> Self {
        let (entries, deadlines) = (BTreeMap::new(), BTreeSet::new());
        Self { settings, entries, deadlines, unresolved: 0 }
    }

    /// A frame must go to `key`.
    pub(super) fn resolve(&mut self, now: Instant, key: NeighborKey) -> Resolution {
        match self.entries.get(&key).map(|entry| entry.state) {
            Some(State::Incomplete { .. }) => Resolution::Unresolved,
            Some(State::Failed) => Resolution::Failed,
            Some(_) => Resolution::Resolved,
            None if self.is_full() || self.unresolved >= self.settings.neighbors_max / 4 => {
                Resolution::Full
            }
            None => {
                let deadline = now + self.settings.retry_ns;
                self.put(key, State::Incomplete { asked: 1 }, now, deadline);
                Resolution::Started
            }
        }
    }

    /// A message speaks of `key` (RFC 4861, 7.2.3 and 7.2.5).
    pub(super) fn learn(
        &mut self,
        now: Instant,
        key: NeighborKey,
        update: NeighborUpdate,
    ) -> Learned {
        let Some(&Entry { state, heard, .. }) = self.entries.get(&key) else {
            return self.meet(now, key, update);
        };
        if let State::Static { mac } = state {
            let agrees = update.mac.is_none_or(|updated| updated == mac);
            return if agrees { Learned::Same } else { Learned::ConflictsWithStatic };
        }
        let Some(mac) = update.mac.or_else(|| state.mac()) else { return Learned::Same };
        let moved = state.mac().is_some_and(|known| known != mac);
        match (moved, state) {
            (true, State::Reachable { mac }) if !update.overrides => {
                // Two speak for one address; a probe will show which of them is there.
                self.put_stale(now, heard, key, mac);
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

    /// Somebody we do not know is spoken of.
    fn meet(&mut self, now: Instant, key: NeighborKey, update: NeighborUpdate) -> Learned {
        match (update.kind, update.mac) {
            (UpdateKind::Request, Some(_)) if self.is_full() => Learned::Full,
            (UpdateKind::Request, Some(mac)) => {
                self.put_stale(now, now, key, mac);
                Learned::Up(mac)
            }
            _ => Learned::Unknown,
        }
    }

    /// Configures a neighbor in place of what was known of it; true if its MAC address is new.
    pub(super) fn pin(
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

    /// Removes a configured neighbor; false if there is none.
    pub(super) fn unpin(&mut self, key: NeighborKey) -> bool {
        let is_pinned =
            self.entries.get(&key).is_some_and(|entry| matches!(entry.state, State::Static { .. }));
        is_pinned && self.take(key).is_some()
    }

    /// Removes every neighbor that is not static and that `keep` refuses; returns them, and
    /// whether frames could go to each.
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

    /// The next thing that is due, if one is.
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

    /// When something is next due.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|&(deadline, _)| deadline)
    }

    /// The table, in order of port and address.
    pub(super) fn iter(&self, now: Instant) -> impl Iterator<Item = Neighbor> {
        self.entries.iter().map(move |(&key, entry)| Neighbor {
            key,
            mac: entry.state.mac(),
            state: entry.state.name(),
            age_ns: now.ns_since(entry.heard),
        })
    }

    /// The deadline of `key` has come.
    fn expire(&mut self, now: Instant, key: NeighborKey) -> Option<Due> {
        let Entry { state, heard, .. } = self.take(key)?;
        let tries = self.settings.tries.max(1);
        let retry = now + self.settings.retry_ns;
        match state {
            State::Incomplete { asked } if asked < tries => {
                self.put(key, State::Incomplete { asked: asked + 1 }, heard, retry);
                Some(Due::Ask)
            }
            State::Incomplete { .. } => {
                self.put(key, State::Failed, heard, now + self.settings.hold_down_ns);
                Some(Due::Failed)
            }
            State::Reachable { mac } => {
                self.put(key, State::Stale { mac, probed: 1 }, heard, retry);
                Some(Due::Probe(mac))
            }
            State::Stale { mac, probed } if probed < tries => {
                self.put(key, State::Stale { mac, probed: probed + 1 }, heard, retry);
                Some(Due::Probe(mac))
            }
            State::Stale { .. } => Some(Due::Lost),
            State::Failed | State::Static { .. } => None,
        }
    }

    fn is_full(&self) -> bool {
        self.entries.len() >= self.settings.neighbors_max
    }

    fn put_stale(&mut self, now: Instant, heard: Instant, key: NeighborKey, mac: MacAddress) {
        let first_probe = now + self.settings.first_probe_ns;
        self.put(key, State::Stale { mac, probed: 0 }, heard, first_probe);
    }

    /// The only place where an entry comes in, with its deadline and its share of the limits.
    fn put(&mut self, key: NeighborKey, state: State, heard: Instant, deadline: Instant) {
        self.take(key);
        self.unresolved += usize::from(state.mac().is_none());
        if deadline != Instant::NEVER {
            self.deadlines.insert((deadline, key));
        }
        self.entries.insert(key, Entry { state, heard, deadline });
    }

    /// The only place where an entry goes.
    fn take(&mut self, key: NeighborKey) -> Option<Entry> {
        let entry = self.entries.remove(&key)?;
        self.unresolved -= usize::from(entry.state.mac().is_none());
        self.deadlines.remove(&(entry.deadline, key));
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::Ipv4Addr;
    use proptest::prelude::*;

    /// The bookkeeping beside the table, found again by looking at every entry.
    fn assert_consistent(cache: &NeighborCache) {
        let entries = cache.entries.iter();
        let unresolved = entries.clone().filter(|(_, entry)| entry.state.mac().is_none()).count();
        let timed = entries.filter(|(_, entry)| entry.deadline != Instant::NEVER);
        let deadlines: BTreeSet<_> = timed.map(|(&key, entry)| (entry.deadline, key)).collect();
        assert_eq!((cache.unresolved, &cache.deadlines), (unresolved, &deadlines));
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
                    port: PortId::default(),
                    address: Ipv4Addr::new(10, 0, 0, host).into(),
                };
                let mac = MacAddress([2, 0, 0, 0, 0, mac]);
                let update = |kind| NeighborUpdate { kind, mac: Some(mac), overrides: ms % 2 == 0 };
                match what {
                    0 | 1 => drop(cache.resolve(now, key)),
                    2 => drop(cache.learn(now, key, update(UpdateKind::Solicited))),
                    3 => drop(cache.learn(now, key, update(UpdateKind::Request))),
                    4 => drop(cache.learn(now, key, update(UpdateKind::Unsolicited))),
                    5 => drop(cache.pin(now, key, mac)),
                    6 => drop(cache.unpin(key)),
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
