//! What happens when, and to which node.
//!
//! Nodes reach each other only by frames, and a frame takes as long as its wire: nothing that a
//! node does within one such span changes what another meets in the same span. So time goes by in
//! lookaheads no longer than the shortest of these spans, and in each lookahead every node does all that
//! is its own, from the first instant to the last, before the next node does. What a node needs of
//! memory is fetched once a lookahead instead of once an kind, which is most of what time goes for;
//! and the result is the same as if the instants of all nodes were interleaved (Chandy and Misra's
//! lookahead, in one thread).
//!
//! Where nodes have two bipartition, and every wire leads from one to the other, as in a Clos, one side
//! can be half a lookahead ahead of the other. Then lookaheads are twice as long: what arrives in one of
//! a node's lookaheads was sent before the middle of it, and so far the other side has come.
//!
//! At one node, events come in the order of their time, and at one instant in an order that depends
//! on nothing else: arrivals by wire, ports whose wires become free, and the node's own alarm.
//!
//! Windows lie in a wheel of lists; what is further off waits in a heap.

use dataplane::ids::PortId;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Picoseconds in a nanosecond, the unit the dataplane counts in.
pub(crate) const PS_PER_NS: u64 = 1_000;

/// Picoseconds since the start of the run; 64 bits last 213 days.
pub type Picoseconds = u64;

/// Later than anything that happens.
pub(crate) const NEVER: Picoseconds = u64::MAX;

/// Bits of a key: the node, when in its lookahead, what, and at which wire or port.
const NODE_BITS: u32 = 19;
const OFFSET_BITS: u32 = 22;
const KIND_BITS: u32 = 2;
const WIRE_BITS: u32 = 21;
const _: () = assert!(NODE_BITS + OFFSET_BITS + KIND_BITS + WIRE_BITS == u64::BITS);

/// Nodes that a network may have.
pub(crate) const NODES_MAX: usize = 1 << NODE_BITS;
/// Wires that a network may have.
pub(crate) const WIRES_MAX: usize = 1 << WIRE_BITS;
/// The longest lookahead: 4 us. Longer ones would save little more.
const LOOKAHEAD_PS_MAX: Picoseconds = 1 << OFFSET_BITS;

/// Windows of the wheel.
const LOOKAHEADS: u64 = WHEEL_SLOTS as u64;
const WHEEL_SLOTS: usize = 1_024;
const WORDS: usize = WHEEL_SLOTS / 64;

/// Something that happens to a node at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    /// The oldest frame in flight on this wire has arrived whole.
    Arrival(u32),
    /// The wire of this port of the node is free again, and the node waits for it.
    Free(PortId),
    /// The node wanted to be woken.
    Wake,
}

/// An kind, as it comes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) node: u32,
    pub(crate) at_ps: Picoseconds,
    pub(crate) kind: EventKind,
    /// Whether another of this node comes up at this instant.
    pub(crate) has_more: bool,
}

/// An kind of a lookahead in one word, so that sorting words sorts events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key(u64);

impl Key {
    const ARRIVAL: u64 = 0;
    const FREE: u64 = 1;
    const WAKE: u64 = 2;

    #[inline(always)]
    fn new(node: u32, offset_ps: u64, kind: EventKind) -> Self {
        let (kind, at) = match kind {
            EventKind::Arrival(wire) => (Self::ARRIVAL, wire),
            EventKind::Free(port) => (Self::FREE, u32::from(port.index_u16())),
            EventKind::Wake => (Self::WAKE, 0),
        };
        let place = u64::from(node) << OFFSET_BITS | offset_ps;
        Self((place << KIND_BITS | kind) << WIRE_BITS | u64::from(at))
    }

    #[inline(always)]
    const fn node(self) -> u32 {
        (self.0 >> (u64::BITS - NODE_BITS)) as u32
    }

    /// Whether both are of one node and one instant.
    #[inline(always)]
    const fn is_simultaneous_with(self, other: Self) -> bool {
        (self.0 ^ other.0) >> (KIND_BITS + WIRE_BITS) == 0
    }

    #[inline(always)]
    const fn offset_ps(self) -> u64 {
        self.0 >> (KIND_BITS + WIRE_BITS) & (LOOKAHEAD_PS_MAX - 1)
    }

    #[inline(always)]
    const fn kind_bits(self) -> u64 {
        self.0 >> WIRE_BITS & 3
    }

    /// The wire or port.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the low bits")]
    const fn at(self) -> u32 {
        (self.0 & (WIRES_MAX as u64 - 1)) as u32
    }

    #[inline(always)]
    fn port(self) -> PortId {
        PortId::from_index(self.at() as usize).unwrap_or(PortId::FIRST)
    }

    #[inline(always)]
    fn kind(self) -> EventKind {
        match self.kind_bits() {
            Self::ARRIVAL => EventKind::Arrival(self.at()),
            Self::FREE => EventKind::Free(self.port()),
            _ => EventKind::Wake,
        }
    }
}

/// Events yet to come.
#[derive(Debug)]
pub(crate) struct EventQueue {
    width_ps: Picoseconds,
    /// Half of it, or 0 if all nodes are on one side.
    half_ps: Picoseconds,
    /// By node: how much earlier its lookaheads begin than full widths since time 0, which is nothing
    /// or half of one.
    lead_ps: Vec<Picoseconds>,
    /// The lookahead in hand, or the first that may have events. Even ones are of the nodes with a
    /// lead, odd ones of the others.
    lookahead: u64,
    /// Of the lookahead in hand: the lead of its nodes, when it starts, which may be before time 0,
    /// and when what is in hand of it ends, which is 0 if nothing is.
    lookahead_lead_ps: Picoseconds,
    start_ps: Picoseconds,
    end_ps: Picoseconds,
    /// Its events, the next one last.
    in_hand: Vec<Key>,
    /// Those of one kind; see [`Self::by_kind`].
    arrivals: Vec<Key>,
    frees: Vec<Key>,
    /// To sort them: where each node's begin, and the other list.
    places: Vec<u32>,
    dealt: Vec<Key>,
    /// What the node whose turn it is has planned for itself in the lookahead, the next one last.
    soon: Vec<Key>,
    /// By number, less whole turns of the wheel: the events of a lookahead, in any order.
    lists: Box<[Vec<Key>; WHEEL_SLOTS]>,
    /// A bit for each lookahead that has a list.
    occupied: [u64; WORDS],
    /// Lists to use again, so that the same memory is.
    spare: Vec<Vec<Key>>,
    /// What lay beyond the wheel when it was planned, by lookahead.
    far: BinaryHeap<Reverse<(u64, Key)>>,
}

const fn on_wheel(lookahead: u64) -> usize {
    (lookahead % LOOKAHEADS) as usize
}

impl EventQueue {
    /// No events yet, of nodes whose frames take `span_ps` at the least from one to another. The
    /// nodes are in `bipartition`: all on one, or on two with wires between them only.
    pub(crate) fn new(span_ps: Picoseconds, bipartition: &[bool]) -> Self {
        let (half_ps, width_ps) = if bipartition.contains(&true) {
            let half_ps = span_ps.clamp(1, LOOKAHEAD_PS_MAX / 2);
            (half_ps, 2 * half_ps)
        } else {
            (0, span_ps.clamp(1, LOOKAHEAD_PS_MAX))
        };
        Self {
            width_ps,
            half_ps,
            lead_ps: bipartition.iter().map(|&side| if side { half_ps } else { 0 }).collect(),
            lookahead: 0,
            lookahead_lead_ps: 0,
            start_ps: 0,
            end_ps: 0,
            in_hand: Vec::new(),
            arrivals: Vec::new(),
            frees: Vec::new(),
            places: vec![0; bipartition.len()],
            dealt: Vec::new(),
            soon: Vec::new(),
            lists: Box::new([const { Vec::new() }; WHEEL_SLOTS]),
            occupied: [0; WORDS],
            spare: Vec::new(),
            far: BinaryHeap::new(),
        }
    }

    /// The number of the lookahead that has `at_ps`, of nodes with this lead, and how far into it that
    /// is.
    #[inline(always)]
    const fn lookahead_of(&self, at_ps: Picoseconds, lead_ps: Picoseconds) -> (u64, u64) {
        let widths = (at_ps + lead_ps) / self.width_ps;
        (2 * widths + (lead_ps == 0) as u64, at_ps + lead_ps - widths * self.width_ps)
    }

    /// Plans `kind` of `node` for `at_ps`, which has not gone by. While a lookahead is in hand, what
    /// happens in it can only be for the node whose turn it is.
    #[inline(always)]
    pub(crate) fn plan(&mut self, at_ps: Picoseconds, node: u32, kind: EventKind) {
        let lead_ps = self.lead_ps[node as usize];
        if at_ps < self.end_ps && lead_ps == self.lookahead_lead_ps {
            return self.plan_soon(Key::new(node, at_ps.wrapping_sub(self.start_ps), kind));
        }
        let (lookahead, offset_ps) = self.lookahead_of(at_ps, lead_ps);
        let key = Key::new(node, offset_ps, kind);
        // One place is left for the lookahead before, to which a stop may lead back.
        if lookahead - self.lookahead < LOOKAHEADS - 1 {
            self.put(lookahead, key);
        } else {
            self.far.push(Reverse((lookahead, key)));
        }
    }

    #[inline(never)]
    fn plan_soon(&mut self, key: Key) {
        let at = self.soon.partition_point(|&other| other > key);
        self.soon.insert(at, key);
    }

    #[inline(always)]
    fn put(&mut self, lookahead: u64, key: Key) {
        let place = on_wheel(lookahead);
        let list = &mut self.lists[place];
        if list.capacity() == 0
            && let Some(spare) = self.spare.pop()
        {
            *list = spare;
        }
        list.push(key);
        self.occupied[place / 64] |= 1 << (place % 64);
    }

    /// Takes the next lookahead that has events until `until_ps` in hand; whether there is one. The
    /// one before must be done.
    pub(crate) fn take_lookahead(&mut self, until_ps: Picoseconds) -> bool {
        // What was left of the lookahead in hand comes after `until_ps`.
        self.lookahead += u64::from(std::mem::take(&mut self.end_ps) != 0);
        let on_wheel_next = self.next_occupied();
        let far_next = self.far.peek().map(|Reverse((lookahead, _))| *lookahead);
        let next = on_wheel_next.into_iter().chain(far_next).min();
        let Some(next) = next.filter(|&next| self.start_of(next) <= until_ps) else {
            self.stop_at(until_ps);
            return false;
        };
        self.lookahead = next;
        self.lookahead_lead_ps = self.lead_of(next);
        self.start_ps = (next / 2 * self.width_ps).wrapping_sub(self.lookahead_lead_ps);
        if on_wheel_next == Some(next) {
            let place = on_wheel(next);
            self.occupied[place / 64] &= !(1 << (place % 64));
            let before =
                std::mem::replace(&mut self.in_hand, std::mem::take(&mut self.lists[place]));
            self.spare.push(before);
        }
        while let Some(entry) = self.far.peek_mut().filter(|far| far.0.0 == next) {
            self.in_hand.push(std::collections::binary_heap::PeekMut::pop(entry).0.1);
        }
        let last_ps = self.start_ps.wrapping_add(self.width_ps - 1);
        if until_ps < last_ps {
            self.put_back(until_ps.wrapping_sub(self.start_ps));
        }
        self.end_ps = last_ps.min(until_ps) + 1;
        self.sort();
        true
    }

    /// The lead of the nodes of a lookahead.
    const fn lead_of(&self, lookahead: u64) -> Picoseconds {
        if lookahead.is_multiple_of(2) { self.half_ps } else { 0 }
    }

    /// When a lookahead starts, or time does.
    const fn start_of(&self, lookahead: u64) -> Picoseconds {
        (lookahead / 2 * self.width_ps).saturating_sub(self.lead_of(lookahead))
    }

    /// All nodes have come to `until_ps`: goes on with the first of the lookaheads that have it.
    fn stop_at(&mut self, until_ps: Picoseconds) {
        let of_both = [self.half_ps, 0].map(|lead_ps| self.lookahead_of(until_ps, lead_ps).0);
        self.lookahead = of_both[0].min(of_both[1]);
    }

    /// When the lookaheads in hand so far have all ended: until then all nodes are done.
    pub(crate) const fn done_ps(&self) -> Picoseconds {
        self.end_ps.saturating_sub(self.half_ps)
    }

    /// Sorts what is in hand, the next one last. Where many nodes have a few events each, they are
    /// dealt out to the nodes first, which takes a step for each of both; then little is unsorted.
    fn sort(&mut self) {
        let Self { in_hand, places, dealt, .. } = self;
        if in_hand.len() < places.len() / 4 {
            return in_hand.sort_unstable_by_key(|&key| Reverse(key));
        }
        places.fill(0);
        for key in &*in_hand {
            places[key.node() as usize] += 1;
        }
        let mut end = 0;
        for place in places.iter_mut().rev() {
            end += *place;
            *place = end;
        }
        dealt.clear();
        dealt.resize(in_hand.len(), Key(0));
        // From the last: a node's later events were mostly planned later.
        for &key in &*in_hand {
            let place = &mut places[key.node() as usize];
            *place -= 1;
            dealt[*place as usize] = key;
        }
        std::mem::swap(in_hand, dealt);
        for at in 1..in_hand.len() {
            let key = in_hand[at];
            let mut to = at;
            while to > 0 && in_hand[to - 1] < key {
                in_hand[to] = in_hand[to - 1];
                to -= 1;
            }
            in_hand[to] = key;
        }
    }

    /// Leaves what comes after `offset_ps` for later.
    #[cold]
    fn put_back(&mut self, offset_ps: u64) {
        let later = self.in_hand.extract_if(.., |key| key.offset_ps() > offset_ps);
        let later: Vec<Key> = later.collect();
        later.into_iter().for_each(|key| self.put(self.lookahead, key));
    }

    /// Takes what happens next in the lookahead in hand: to which node, when, what, and whether more
    /// happens to it at that instant. What a node has planned for itself in the lookahead comes before
    /// anything that happens to the next one.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<Event> {
        if !self.soon.is_empty() {
            return self.pop_also_soon();
        }
        let next = self.in_hand.pop()?;
        let has_more = self.in_hand.last().is_some_and(|key| key.is_simultaneous_with(next));
        Some(self.event(next, has_more))
    }

    /// The same where a node has planned something for itself.
    #[inline(never)]
    fn pop_also_soon(&mut self) -> Option<Event> {
        let next = self.next()?;
        if self.soon.last() == Some(&next) {
            self.soon.pop();
        } else {
            self.in_hand.pop();
        }
        let has_more = self.next().is_some_and(|key| key.is_simultaneous_with(next));
        Some(self.event(next, has_more))
    }

    fn next(&self) -> Option<Key> {
        let in_hand = self.in_hand.last().copied();
        in_hand.into_iter().chain(self.soon.last().copied()).min()
    }

    #[inline(always)]
    fn event(&self, key: Key, has_more: bool) -> Event {
        let at_ps = self.start_ps.wrapping_add(key.offset_ps());
        Event { node: key.node(), at_ps, kind: key.kind(), has_more }
    }

    /// The events of the lookahead in hand, each kind by itself: wires that bring frames, and ports of
    /// nodes whose wires become free.
    #[inline(always)]
    pub(crate) fn by_kind(
        &mut self,
    ) -> (impl Iterator<Item = u32>, impl Iterator<Item = (u32, PortId)>) {
        let Self { in_hand, arrivals, frees, .. } = self;
        if arrivals.len() < in_hand.len() {
            arrivals.resize(in_hand.len(), Key(0));
            frees.resize(in_hand.len(), Key(0));
        }
        // Each is put in both lists, and stays in one: nothing branches on the kind, which follows
        // no pattern.
        let (mut arrived, mut freed) = (0, 0);
        for &key in &*in_hand {
            arrivals[arrived] = key;
            frees[freed] = key;
            arrived += usize::from(key.kind_bits() == Key::ARRIVAL);
            freed += usize::from(key.kind_bits() == Key::FREE);
        }
        let arrivals = arrivals[..arrived].iter().map(|key| key.at());
        (arrivals, frees[..freed].iter().map(|key| (key.node(), key.port())))
    }

    /// The number of the first lookahead that has a list.
    fn next_occupied(&self) -> Option<u64> {
        let start = on_wheel(self.lookahead);
        let (first_word, bit) = (start / 64, start % 64);
        let masked = self.occupied[first_word] & (u64::MAX << bit);
        let rest = (1..=WORDS).map(|ahead| (first_word + ahead) % WORDS);
        let words =
            std::iter::once((first_word, masked)).chain(rest.map(|at| (at, self.occupied[at])));
        let (word, bits) = words.into_iter().find(|&(_, bits)| bits != 0)?;
        let place = (word * 64) as u64 + u64::from(bits.trailing_zeros());
        let ahead = (place + LOOKAHEADS - start as u64) % LOOKAHEADS;
        Some(self.lookahead + ahead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dataplane::limits::PORTS_MAX;
    use proptest::prelude::*;
    use random::Draw;
    use std::collections::BTreeSet;

    const NODES: u32 = 6;
    /// By node: what happened, and when.
    type Logs = Vec<Vec<(Picoseconds, EventKind)>>;

    /// What comes of an kind, drawn from that kind alone: a node hears of another after
    /// `span_ps`, of one of the other side if there are `two_sides`, and of itself at any time.
    fn next(
        node: u32,
        at_ps: Picoseconds,
        kind: EventKind,
        span_ps: u64,
        two_sides: bool,
    ) -> Option<(u64, u32, EventKind)> {
        let mut rng = random::substream(at_ps, Key::new(node, 0, kind).0);
        let ahead_ps = match rng.below(4) {
            0 => rng.below(3),
            1 => rng.below(span_ps),
            2 => rng.below(40 * span_ps),
            _ => rng.below(3 * LOOKAHEADS * span_ps),
        };
        let mut to = u32::try_from(rng.below(u64::from(NODES))).unwrap();
        if two_sides {
            to = (to & !1) | (node & 1 ^ 1);
        }
        let wire = u32::try_from(rng.below(WIRES_MAX as u64)).unwrap();
        let port = PortId::from_index(wire as usize % PORTS_MAX).unwrap();
        match rng.below(100) {
            0..2 => None,
            2..50 => Some((at_ps + span_ps + ahead_ps, to, EventKind::Arrival(wire))),
            50..80 => Some((at_ps + 1 + ahead_ps, node, EventKind::Free(port))),
            _ => Some((at_ps + 1 + ahead_ps, node, EventKind::Wake)),
        }
    }

    /// The oracle: whatever is first, of all nodes, in one sorted set.
    fn interleaved(span_ps: u64, until_ps: Picoseconds, two_sides: bool) -> Logs {
        let mut logs = vec![Vec::new(); NODES as usize];
        let mut sorted: BTreeSet<(u64, Key)> =
            (0..NODES).map(|node| (0, Key::new(node, 0, EventKind::Wake))).collect();
        while let Some((at_ps, key)) = sorted.pop_first().filter(|first| first.0 <= until_ps) {
            logs[key.node() as usize].push((at_ps, key.kind()));
            let planned = next(key.node(), at_ps, key.kind(), span_ps, two_sides);
            sorted.extend(planned.map(|(at_ps, node, kind)| (at_ps, Key::new(node, 0, kind))));
        }
        logs
    }

    proptest! {
        #[test]
        fn each_node_meets_what_it_would_if_all_nodes_ran_at_once(
            nodes in NODES as usize..60, two_sides: bool,
            span_ps in prop_oneof![1_u64..5, 5_u64..100_000, 3_000_000_u64..9_000_000],
            stops in proptest::collection::vec(0_u64..1_000, 1..30),
        ) {
            let bipartition: Vec<bool> = (0..nodes).map(|node| two_sides && node % 2 == 1).collect();
            let mut queue = EventQueue::new(span_ps, &bipartition);
            let mut logs: Logs = vec![Vec::new(); NODES as usize];
            (0..NODES).for_each(|node| queue.plan(0, node, EventKind::Wake));
            let mut until_ps = 0;
            for stop in stops {
                until_ps += stop * span_ps / 10;
                while queue.take_lookahead(until_ps) {
                    while let Some(first) = queue.pop() {
                        let (node, at_ps) = (first.node, first.at_ps);
                        let before = logs[node as usize].last().map(|last| last.0);
                        prop_assert!(before < Some(at_ps) && at_ps <= until_ps);
                        let (mut events, mut has_more) = (vec![first.kind], first.has_more);
                        while has_more {
                            let also = queue.pop().unwrap();
                            prop_assert_eq!((also.node, also.at_ps), (node, at_ps));
                            events.push(also.kind);
                            has_more = also.has_more;
                        }
                        for kind in events {
                            logs[node as usize].push((at_ps, kind));
                            let planned = next(node, at_ps, kind, span_ps, two_sides);
                            if let Some((at_ps, node, kind)) = planned {
                                queue.plan(at_ps, node, kind);
                            }
                        }
                    }
                }
            }
            prop_assert_eq!(logs, interleaved(span_ps, until_ps, two_sides));
        }
    }
}
