//! The queue of events, run with lookahead.
//!
//! Nodes reach each other only by frames, and a frame takes at least the span of its wire. What a
//! node does within one such span cannot change what another node meets in the same span. So time
//! advances in lookahead windows no longer than the shortest span, and in each window every node
//! runs through all its events before the next node does. A node's memory is then fetched once a
//! window instead of once an event, and fetching memory takes most of the run time. The result is
//! the same as if the events of all nodes were interleaved (Chandy and Misra's lookahead, in one
//! thread).
//!
//! Where the network is bipartite (every wire leads from one side to the other, as in a Clos), one
//! side runs half a window ahead of the other, and windows are twice as long: what arrives in one
//! of a node's windows was sent before the middle of it, and the other side has run that far.
//!
//! Near windows lie in a wheel of lists; far events wait in a heap.

use crate::event::{Event, EventKind, Key, LOOKAHEAD_PS_MAX, Picoseconds};
use dataplane::ids::PortId;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Lookahead windows of the wheel.
const LOOKAHEADS: u64 = WHEEL_SLOTS as u64;
const WHEEL_SLOTS: usize = 1_024;
const WORDS: usize = WHEEL_SLOTS / 64;

/// See the module's head.
#[derive(Debug)]
pub(crate) struct EventQueue {
    width_ps: Picoseconds,
    /// Half of the width, or 0 if the network is not bipartite.
    half_ps: Picoseconds,
    /// By node: how much earlier its windows begin than multiples of the width: 0 or half a width.
    lead_ps: Vec<Picoseconds>,
    /// The number of the current window, or of the first that may have events. Even windows are of
    /// the nodes with a lead, odd windows of the others.
    lookahead: u64,
    /// Of the current window: the lead of its nodes, its start, which may be before time 0, and the
    /// end of the part that is being run, which is 0 if none is.
    lookahead_lead_ps: Picoseconds,
    start_ps: Picoseconds,
    end_ps: Picoseconds,
    /// The events of the current window, the next one last.
    in_hand: Vec<Key>,
    /// The events of one kind; see [`Self::by_kind`].
    arrivals: Vec<Key>,
    frees: Vec<Key>,
    /// For the counting sort: where each node's events begin, and the sorted list.
    places: Vec<u32>,
    dealt: Vec<Key>,
    /// What the running node has planned for itself in the current window, the next one last.
    soon: Vec<Key>,
    /// By window number modulo the size of the wheel: the events of a window, in any order.
    lists: Box<[Vec<Key>; WHEEL_SLOTS]>,
    /// A bit for each window of the wheel that has events.
    occupied: [u64; WORDS],
    /// Empty lists for reuse of their memory.
    spare: Vec<Vec<Key>>,
    /// Events that lay beyond the wheel when they were planned, by window.
    far: BinaryHeap<Reverse<(u64, Key)>>,
}

const fn on_wheel(lookahead: u64) -> usize {
    (lookahead % LOOKAHEADS) as usize
}

impl EventQueue {
    /// An empty queue for nodes whose frames take at least `span_ps` from one to another.
    /// `bipartition` says on which side each node is: all nodes on one side, or on two with wires
    /// between the sides only. The network `has_sides` if it has nodes on both, even where this
    /// queue is for some of one.
    pub(crate) fn new(span_ps: Picoseconds, bipartition: &[bool], has_sides: bool) -> Self {
        let (half_ps, width_ps) = if has_sides {
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

    /// The number of the window that contains `at_ps`, for nodes with this lead, and the offset
    /// into it.
    #[inline(always)]
    const fn lookahead_of(&self, at_ps: Picoseconds, lead_ps: Picoseconds) -> (u64, u64) {
        let widths = (at_ps + lead_ps) / self.width_ps;
        (2 * widths + (lead_ps == 0) as u64, at_ps + lead_ps - widths * self.width_ps)
    }

    /// Plans an event of `node` at `at_ps`, which is not in the past. An event in the current
    /// window can be planned for the running node only.
    #[inline(always)]
    pub(crate) fn plan(&mut self, at_ps: Picoseconds, node: u32, kind: EventKind) {
        let lead_ps = self.lead_ps[node as usize];
        if at_ps < self.end_ps && lead_ps == self.lookahead_lead_ps {
            return self.plan_soon(Key::new(node, at_ps.wrapping_sub(self.start_ps), kind));
        }
        let (lookahead, offset_ps) = self.lookahead_of(at_ps, lead_ps);
        let key = Key::new(node, offset_ps, kind);
        // One slot stays free for the window before: a stop may return to it.
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

    /// Ends the current window, whose events must all have been taken. Returns the number of the
    /// first window that has events, [`u64::MAX`] if none has.
    pub(crate) fn end_lookahead(&mut self) -> u64 {
        // What is left of the window is later than the end of the run.
        self.lookahead += u64::from(std::mem::take(&mut self.end_ps) != 0);
        let on_wheel_next = self.next_occupied();
        let far_next = self.far.peek().map(|Reverse((lookahead, _))| *lookahead);
        on_wheel_next.into_iter().chain(far_next).min().unwrap_or(u64::MAX)
    }

    /// Between windows, the number of the first that may get events.
    pub(crate) const fn lookahead(&self) -> u64 {
        self.lookahead
    }

    /// Makes window `next`, before which no window has events, the current one; returns whether it
    /// begins until `until_ps`.
    pub(crate) fn begin_lookahead(&mut self, next: u64, until_ps: Picoseconds) -> bool {
        if next == u64::MAX || self.start_of(next) > until_ps {
            self.stop_at(until_ps);
            return false;
        }
        self.lookahead = next;
        self.lookahead_lead_ps = self.lead_of(next);
        self.start_ps = (next / 2 * self.width_ps).wrapping_sub(self.lookahead_lead_ps);
        let place = on_wheel(next);
        if self.occupied[place / 64] & 1 << (place % 64) != 0 {
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

    /// Makes the next window that has events until `until_ps` the current one; returns whether
    /// there is one.
    pub(crate) fn take_lookahead(&mut self, until_ps: Picoseconds) -> bool {
        let next = self.end_lookahead();
        self.begin_lookahead(next, until_ps)
    }

    /// The lead of the nodes of a window.
    const fn lead_of(&self, lookahead: u64) -> Picoseconds {
        if lookahead.is_multiple_of(2) { self.half_ps } else { 0 }
    }

    /// The start of a window, or 0 if it begins before the run.
    const fn start_of(&self, lookahead: u64) -> Picoseconds {
        (lookahead / 2 * self.width_ps).saturating_sub(self.lead_of(lookahead))
    }

    /// All nodes have run up to `until_ps`: the next call goes on with the first window that
    /// contains it.
    fn stop_at(&mut self, until_ps: Picoseconds) {
        let of_both = [self.half_ps, 0].map(|lead_ps| self.lookahead_of(until_ps, lead_ps).0);
        self.lookahead = of_both[0].min(of_both[1]);
    }

    /// Up to this time all nodes have run all their events.
    pub(crate) const fn done_ps(&self) -> Picoseconds {
        self.end_ps.saturating_sub(self.half_ps)
    }

    /// Sorts the current window, the next event last. Where many nodes have few events each, a
    /// counting sort by node comes first, in time linear in nodes and events; few pairs are then
    /// out of order.
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
        // Backwards: the later events of a node were mostly planned later.
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

    /// Puts the events after `offset_ps` back into the wheel.
    #[cold]
    fn put_back(&mut self, offset_ps: u64) {
        let later = self.in_hand.extract_if(.., |key| key.offset_ps() > offset_ps);
        let later: Vec<Key> = later.collect();
        later.into_iter().for_each(|key| self.put(self.lookahead, key));
    }

    /// Takes the next event of the current window. Events that the running node has planned for
    /// itself in the window come before any event of the next node.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<Event> {
        if !self.soon.is_empty() {
            return self.pop_also_soon();
        }
        let next = self.in_hand.pop()?;
        let has_more = self.in_hand.last().is_some_and(|key| key.is_simultaneous_with(next));
        Some(self.event(next, has_more))
    }

    /// The same where the running node has planned events for itself.
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

    /// The events of the current window by kind: wires that bring frames, and ports of nodes whose
    /// wires become free.
    #[inline(always)]
    pub(crate) fn by_kind(
        &mut self,
    ) -> (impl Iterator<Item = u32>, impl Iterator<Item = (u32, PortId)>) {
        let Self { in_hand, arrivals, frees, .. } = self;
        if arrivals.len() < in_hand.len() {
            arrivals.resize(in_hand.len(), Key(0));
            frees.resize(in_hand.len(), Key(0));
        }
        // Each event is written to both lists and kept in one: the kind follows no pattern, so a
        // branch on it would often be predicted wrongly.
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

    /// How many events of the current window are left.
    pub(crate) const fn in_hand(&self) -> usize {
        self.in_hand.len()
    }

    /// The number of the first window of the wheel that has events.
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
    use crate::event::WIRES_MAX;
    use dataplane::limits::PORTS_MAX;
    use proptest::prelude::*;
    use random::Draw;
    use std::collections::BTreeSet;

    const NODES: u32 = 6;
    /// By node: what happened, and when.
    type Logs = Vec<Vec<(Picoseconds, EventKind)>>;

    /// The event that an event causes, drawn from that event alone: at another node after
    /// `span_ps`, at a node of the other side if there are `two_sides`, and at its own node at any
    /// time.
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

    /// The oracle: all events of all nodes in one sorted set.
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
        fn each_node_has_the_events_that_it_has_if_all_nodes_run_interleaved(
            nodes in NODES as usize..60, two_sides: bool,
            span_ps in prop_oneof![1_u64..5, 5_u64..100_000, 3_000_000_u64..9_000_000],
            stops in proptest::collection::vec(0_u64..1_000, 1..30),
        ) {
            let bipartition: Vec<bool> = (0..nodes).map(|node| two_sides && node % 2 == 1).collect();
            let mut queue = EventQueue::new(span_ps, &bipartition, two_sides);
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
