//! The default algorithm: an order of the links for each tag, found by search, and tags that rise
//! where a path descends in it. See [`TagOrders`] for the proof.

use super::demand::{Demand, union};
use super::order::TagOrders;
use super::tcam;
use super::turns::UsedTurns;
use crate::network::u32_of;
use crate::network::{Network, Peer};
use crate::paths::Walks;
use dataplane::ids::{PortId, Tag};
use dataplane::rules::{PortSet, TcamEntry};

/// Entries for each tag that any order of switches needs at the most.
pub(super) const ENTRIES_PER_TAG: usize = 2;

/// The tag of a state: states count from 0, tags from 1.
pub(super) fn tag_of(state: usize) -> Tag {
    let tag = u8::try_from(state + 1).ok().and_then(Tag::new);
    tag.expect("there are as many lossless tags as priorities at the most")
}

/// The rules of every switch for `tags` lossless tags, a list for each switch.
pub(super) struct Rules<'a> {
    pub(super) network: &'a Network,
    pub(super) orders: &'a TagOrders,
    pub(super) tags: usize,
    pub(super) lossy_tag: Tag,
    /// Whether paths of one host of a switch stand for those of all its hosts.
    pub(super) hosts_alike: bool,
}

impl Rules<'_> {
    /// The state after a turn; `tags` if it is lossy.
    pub(super) fn turn(&self, input: u32, output: u32, state: u8) -> u8 {
        if usize::from(state) >= self.tags {
            return state;
        }
        state + u8::from(self.orders.is_raise(input, output, state))
    }

    /// The entries of a switch. What no expected path does is answered as the order says; if that
    /// takes more than two entries for each tag, it is left open, which takes fewer.
    pub(super) fn entries(&self, switch: u32, used: Option<&UsedTurns>) -> Vec<TcamEntry> {
        let strict = tcam::compress(&self.demand(switch, None));
        match used {
            Some(used) if strict.len() > ENTRIES_PER_TAG * self.tags => {
                let free = tcam::compress(&self.demand(switch, Some(used)));
                if free.len() < strict.len() { free } else { strict }
            }
            _ => strict,
        }
    }

    /// What a switch must answer. With `used`, only turns that paths take must get their answer;
    /// the others may keep their tag where they ascend, rise one tag anywhere, or be lossy: the
    /// proof holds for each of these.
    fn demand(&self, switch: u32, used: Option<&UsedTurns>) -> Demand {
        let network = self.network;
        let slots = || network.slots_of(switch);
        let linked = slots().filter(|&slot| network.peer(slot) != Peer::None);
        let may_keep = |input: u32, state: u8| -> PortSet {
            let keeps = slots().filter(|&output| !self.orders.is_raise(input, output, state));
            keeps.map(|output| network.port(output)).collect()
        };
        let states = (0..).take(self.tags);
        let turns = Turns {
            linked: linked.map(|slot| network.port(slot)).collect(),
            may_keep: states
                .map(|state| slots().map(|input| may_keep(input, state)).collect())
                .collect(),
        };
        let first = slots().start;
        let used_by = |input: PortId, state| {
            let slot = first + u32_of(input.index());
            used.map(|used| self.outputs(used, slot, state))
        };
        turns.demand(self.lossy_tag, used_by)
    }

    /// The ports that frames in `state` from `input` go out by. What holds for the host port that
    /// stands for the hosts of a switch holds for all of them.
    fn outputs(&self, used: &UsedTurns, input: u32, state: usize) -> PortSet {
        let switch = self.network.owner(input);
        let hosts = || self.network.host_slots_of(switch);
        if !self.hosts_alike || hosts().nth(1).is_none() {
            return used.outputs(input, state);
        }
        let is_host = matches!(self.network.peer(input), Peer::Host(_));
        let inputs = hosts().filter(|_| is_host).chain([input]);
        let outputs = inputs
            .fold(PortSet::EMPTY, |outputs, input| union(&outputs, &used.outputs(input, state)));
        let all: PortSet = hosts().map(|slot| self.network.port(slot)).collect();
        if outputs.intersection(&all).is_empty() { outputs } else { union(&outputs, &all) }
    }

    /// The turns that paths take under these rules, by state, in every application class.
    pub(super) fn used(&self, walks: &Walks<'_>) -> UsedTurns {
        self.used_by(walks, |input, output, state| self.turn(input, output, state))
    }

    /// The turns that paths take where `turn` says the state after each, in every class.
    pub(super) fn used_by(
        &self,
        walks: &Walks<'_>,
        turn: impl Fn(u32, u32, u8) -> u8 + Sync + Copy,
    ) -> UsedTurns {
        let used = UsedTurns::collect(walks, 0, self.tags, turn);
        for class in 1..walks.paths.classes() {
            used.add(1, walks, class, turn);
        }
        used
    }
}

/// A switch's turns: what rules follow from.
pub(super) struct Turns {
    /// The ports that have a link. A port without one carries no frame.
    pub(super) linked: PortSet,
    /// By tag, counted from 1, and in port: the out ports to which a frame may keep the tag.
    pub(super) may_keep: Vec<Vec<PortSet>>,
}

impl Turns {
    /// What the switch must answer. With `used`, only turns to those ports must get their answer.
    pub(super) fn demand(
        &self,
        lossy_tag: Tag,
        used: impl Fn(PortId, usize) -> Option<PortSet>,
    ) -> Demand {
        let tags = self.may_keep.len();
        let ports = self.may_keep.first().map_or(0, Vec::len);
        let mut demand = Demand::new(ports, lossy_tag);
        let all = || (0..ports).filter_map(PortId::from_index);
        for (state, may_keep) in self.may_keep.iter().enumerate() {
            let tag = tag_of(state);
            let raised = (state + 1 < tags).then(|| tag_of(state + 1));
            for (port, &may_keep) in all().zip(may_keep) {
                let used = used(port, state);
                if self.linked.contains(port) {
                    let must = used.unwrap_or(self.linked);
                    demand.must(tag, port, must.intersection(&may_keep), tag);
                    let raises = must.difference(&may_keep);
                    demand.must(tag, port, raises, raised.unwrap_or(lossy_tag));
                }
                // A port without a link need not be told apart from others.
                let is_free = |output: &PortId| {
                    used.is_some() || !self.linked.contains(port) || !self.linked.contains(*output)
                };
                let free = |ports: PortSet| -> PortSet { ports.iter().filter(is_free).collect() };
                demand.may(tag, port, free(may_keep), tag);
                demand.may(tag, port, free(all().collect()), raised.unwrap_or(lossy_tag));
            }
        }
        demand
    }
}
