//! What messages change in the routing table, and which routes are stale.
//!
//! After each connection zebra sends all routes again, and does not say when it is done; after its
//! own restart the daemons that gave it routes need their time, too. So routes of earlier sessions
//! stay until the caller says that they have had time enough.

use super::netlink::{
    self, Message, NetlinkError, RTN_BLACKHOLE, RTN_PROHIBIT, RTN_UNICAST, RTN_UNREACHABLE,
    RouteMessage, Ways,
};
use super::next_hops::{NextHops, Resolved, resolve_all};
use super::ports::PortIndexes;
use super::read_back::lacks_gateways;
use super::waiting::Waiting;
use dataplane::fib::{Learned, Routes, RoutesError, Target};
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `RT_TABLE_MAIN`: what zebra sends for its default VRF.
const TABLE_MAIN: u32 = 254;

/// Why a route is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Refusal {
    /// It is for another table than main: another VRF.
    OtherTable,
    /// It leads by interfaces that are no ports of the switch.
    NotOurs,
    /// It is of a type that is no unicast route, has labels, or an unknown next hop.
    Unsupported,
    /// The table is full, or the route has too many paths.
    Full,
}

impl Refusal {
    /// All of them.
    pub(crate) const ALL: [Self; 4] =
        [Self::OtherTable, Self::NotOurs, Self::Unsupported, Self::Full];

    /// Its name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::OtherTable => "other_table",
            Self::NotOurs => "not_ours",
            Self::Unsupported => "unsupported",
            Self::Full => "full",
        }
    }
}

/// What became of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Effect {
    /// Whether the packet path needs new tables.
    pub(super) changed: bool,
    /// Of a new route: whether it is taken.
    pub(super) route: Option<Result<(), Refusal>>,
}

/// The routes of all sessions, and the next hops of the last one.
#[derive(Debug)]
pub(super) struct State {
    ports: Box<dyn PortIndexes>,
    next_hops: NextHops,
    /// Routes by numbers that stand for nothing yet.
    waiting: Waiting,
    /// Number of the session: the mark of its routes.
    session: u32,
    /// Routes with that mark.
    fresh: usize,
    /// Messages read.
    pub(super) messages: u64,
    /// Routes not taken, by cause.
    pub(super) refused: BTreeMap<Refusal, u64>,
}

impl State {
    pub(super) fn new(ports: Box<dyn PortIndexes>) -> Self {
        Self {
            ports,
            next_hops: NextHops::default(),
            waiting: Waiting::default(),
            session: 0,
            fresh: 0,
            messages: 0,
            refused: BTreeMap::new(),
        }
    }

    /// A session begins: all routes are stale, and its numbers are its own.
    pub(super) fn begin_session(&mut self, routes: &mut Routes) {
        self.session = self.session.wrapping_add(1);
        self.fresh = 0;
        self.next_hops.clear(routes);
        self.waiting = Waiting::default();
    }

    /// Routes that the last session has not given.
    pub(super) fn stale(&self, routes: &Routes) -> usize {
        routes.learned().len().saturating_sub(self.fresh)
    }

    /// Next hops that have a number.
    pub(super) fn next_hops(&self) -> usize {
        self.next_hops.len()
    }

    /// Removes the stale routes; returns how many.
    pub(super) fn sweep(&mut self, routes: &mut Routes) -> usize {
        let is_stale = |route: &Learned| route.mark != self.session;
        let stale = routes.learned().filter(|(_, route)| is_stale(route));
        let stale: Vec<IpNet> = stale.map(|(prefix, _)| prefix).collect();
        for &prefix in &stale {
            routes.remove_learned(prefix);
        }
        stale.len()
    }

    /// Does what the messages of a frame say; `each` learns what became of each, and its bytes.
    ///
    /// # Errors
    /// The frame cannot be read. What came before in it is done.
    pub(super) fn handle(
        &mut self,
        mut frame: &[u8],
        routes: &mut Routes,
        mut each: impl FnMut(Effect, &[u8]),
    ) -> Result<(), NetlinkError> {
        let mut messages = Vec::new();
        let mut end = Ok(());
        loop {
            match netlink::take(&mut frame) {
                Ok(Some(message)) => messages.push(message),
                Ok(None) => break,
                Err(error) => {
                    end = Err(error);
                    break;
                }
            }
        }
        self.messages += messages.len() as u64;
        let mut messages = messages.into_iter().peekable();
        while let Some((message, bytes)) = messages.next() {
            // A removal and its successor are one change (FRR before 10.0).
            if let (Message::DelRoute(old), Some((Message::NewRoute(new), _))) =
                (&message, messages.peek())
                && (old.prefix, old.table) == (new.prefix, new.table)
            {
                continue;
            }
            each(self.handle_message(message, routes), bytes);
        }
        end
    }

    fn handle_message(&mut self, message: Message, routes: &mut Routes) -> Effect {
        match message {
            Message::NewRoute(route) => {
                let prefix = route.prefix;
                if route.table == TABLE_MAIN {
                    self.waiting.forget(prefix);
                }
                if let Some(number) = self.unknown_number(&route)
                    && self.waiting.add(number, &route)
                {
                    // The route that it replaces stays until then.
                    self.keep(prefix, routes);
                    return Effect::default();
                }
                match self.new_route(&route, routes) {
                    Ok(changed) => Effect { changed, route: Some(Ok(())) },
                    Err(refusal) => {
                        *self.refused.entry(refusal).or_default() += 1;
                        // The route that it replaces is none of zebra's any more.
                        let changed = refusal != Refusal::OtherTable && self.remove(prefix, routes);
                        Effect { changed, route: Some(Err(refusal)) }
                    }
                }
            }
            Message::DelRoute(route) => {
                if route.table == TABLE_MAIN {
                    self.waiting.forget(route.prefix);
                }
                let changed = route.table == TABLE_MAIN && self.remove(route.prefix, routes);
                Effect { changed, route: None }
            }
            Message::NewNextHop(number, content) => {
                match self.next_hops.set(number, content, routes, &mut *self.ports) {
                    Some(changed) => {
                        let changed = self.take_waiting(number, routes) || changed;
                        Effect { changed, route: None }
                    }
                    None => {
                        *self.refused.entry(Refusal::Full).or_default() += 1;
                        Effect::default()
                    }
                }
            }
            Message::DelNextHop(number) => {
                self.next_hops.remove(number, routes);
                Effect::default()
            }
            Message::Other(_) => Effect::default(),
        }
    }

    /// The number that a route waits for, if it does.
    fn unknown_number(&mut self, route: &RouteMessage) -> Option<u32> {
        match route.ways {
            Ways::Number(number) if route.table == TABLE_MAIN && route.kind == RTN_UNICAST => {
                self.next_hops.is_unknown(number, &mut *self.ports).then_some(number)
            }
            _ => None,
        }
    }

    /// Takes the routes that waited for `number`, or for a group with it.
    fn take_waiting(&mut self, number: u32, routes: &mut Routes) -> bool {
        if self.waiting.is_empty() {
            return false;
        }
        let numbers: Vec<u32> = self.next_hops.groups_with(number).chain([number]).collect();
        let mut changed = false;
        for number in numbers {
            if !self.next_hops.is_unknown(number, &mut *self.ports) {
                for route in self.waiting.take(number) {
                    match self.new_route(&route, routes) {
                        Ok(is_change) => changed |= is_change,
                        Err(refusal) => {
                            *self.refused.entry(refusal).or_default() += 1;
                            changed |= self.remove(route.prefix, routes);
                        }
                    }
                }
            }
        }
        changed
    }

    /// The route for `prefix`, if there is one, is no stale one any more.
    fn keep(&mut self, prefix: IpNet, routes: &mut Routes) {
        if let Some(&old) = routes.learned_at(prefix)
            && old.mark != self.session
        {
            let _replaced = routes.set_learned(prefix, Learned { mark: self.session, ..old });
            self.fresh += 1;
        }
    }

    /// Takes a route; returns whether it changes the table.
    fn new_route(&mut self, message: &RouteMessage, routes: &mut Routes) -> Result<bool, Refusal> {
        if message.table != TABLE_MAIN {
            return Err(Refusal::OtherTable);
        }
        if is_of_a_link(message.prefix) {
            return Ok(false);
        }
        let target = match message.kind {
            RTN_UNICAST => self.target(&message.ways, routes)?,
            RTN_BLACKHOLE => Target::Blackhole,
            RTN_UNREACHABLE | RTN_PROHIBIT => Target::Unreachable,
            _ => return Err(Refusal::Unsupported),
        };
        let target = self.with_gateways(message, target, routes);
        let route = Learned { target, protocol: message.protocol, mark: self.session };
        match routes.set_learned(message.prefix, route) {
            Ok(old) => {
                let was_fresh = old.is_some_and(|old| old.mark == self.session);
                self.fresh += usize::from(!was_fresh);
                Ok(old.is_none_or(|old| old.target != target))
            }
            Err(error) => {
                if let Target::Group(group) = target {
                    routes.drop_unused_group(group);
                }
                Err(refusal(error))
            }
        }
    }

    /// Where a route leads: as the one that it replaces, if zebra has only lost its gateways.
    fn with_gateways(&self, message: &RouteMessage, target: Target, routes: &mut Routes) -> Target {
        let of_old = |old: &Learned| (old.protocol == message.protocol).then_some(old.target);
        let old = routes.learned_at(message.prefix).and_then(of_old);
        let (Some(Target::Group(old)), Target::Group(new)) = (old, target) else { return target };
        if !lacks_gateways(message.prefix, routes.paths(old), routes.paths(new)) {
            return target;
        }
        routes.drop_unused_group(new);
        Target::Group(old)
    }

    fn target(&mut self, ways: &Ways, routes: &mut Routes) -> Result<Target, Refusal> {
        let ports = &mut *self.ports;
        let (resolved, group) = match ways {
            Ways::Number(number) => {
                self.next_hops.group(*number, routes, ports).map_err(refusal)?
            }
            Ways::Paths(paths) => (resolve_all(paths, ports), None),
            Ways::Unsupported => return Err(Refusal::Unsupported),
        };
        match (resolved, group) {
            (_, Some(group)) => Ok(Target::Group(group)),
            (Resolved::Paths(paths), None) => {
                routes.group_of(&paths).map(Target::Group).map_err(refusal)
            }
            (Resolved::Blackhole, None) => Ok(Target::Blackhole),
            (Resolved::NotOurs, None) => Err(Refusal::NotOurs),
            (Resolved::Unsupported | Resolved::Unknown, None) => Err(Refusal::Unsupported),
        }
    }

    fn remove(&mut self, prefix: IpNet, routes: &mut Routes) -> bool {
        let Some(old) = routes.remove_learned(prefix) else { return false };
        self.fresh -= usize::from(old.mark == self.session && self.fresh > 0);
        true
    }
}

/// What every link has and no router forwards by: the daemon's list has them, and they mean nothing
/// here.
fn is_of_a_link(prefix: IpNet) -> bool {
    match prefix {
        IpNet::V4(net) => net.addr().is_link_local() || net.addr().is_multicast(),
        IpNet::V6(net) => net.addr().is_unicast_link_local() || net.addr().is_multicast(),
    }
}

const fn refusal(error: RoutesError) -> Refusal {
    match error {
        RoutesError::LearnedFull
        | RoutesError::GroupsFull
        | RoutesError::RoutesFull
        | RoutesError::NeighborsFull
        | RoutesError::TooManyGateways(_) => Refusal::Full,
        RoutesError::NoGateway | RoutesError::MulticastNeighbor(_) => Refusal::Unsupported,
    }
}
