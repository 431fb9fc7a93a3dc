//! A queue that serves ingress ports in turn, instead of frames in the order in which they came.
//!
//! One FIFO for all gives each ingress port a share of what it brings: hosts that send at full
//! speed push aside what has come a long way, and their share grows with every hop. Served in turn,
//! by deficit round robin, each ingress port gets the same. Frames of one ingress port, so of one
//! flow, stay in order.

use super::veq::{Arena, Held, Note, Veq};
use crate::frame::Frame;
use crate::limits::PORTS_MAX;
use alloc::vec::Vec;

/// Bytes a round for each ingress port: a little more than an ordinary frame.
const QUANTUM_BYTES: u32 = 2_048;

/// Words of a set of lanes: one for each port, and one for the switch's own frames.
const WORDS: usize = PORTS_MAX / 64 + 1;

/// A FIFO for each ingress port, and one for the switch's own frames.
#[derive(Debug)]
pub(super) struct Lanes {
    lanes: Vec<Lane>,
    /// Whose first frame is the next to leave, if any waits.
    current: usize,
    /// Bit by lane: those in which frames wait.
    active: [u64; WORDS],
}

#[derive(Debug, Default)]
struct Lane {
    veq: Veq,
    deficit_bytes: u32,
}

impl Lanes {
    /// Lanes for `ports` ingress ports.
    pub(super) fn new(ports: usize) -> Self {
        let lanes = (0..=ports).map(|_| Lane::default()).collect();
        Self { lanes, current: 0, active: [0; WORDS] }
    }

    fn has_frames(&self, lane: usize) -> bool {
        self.active[lane / 64] >> (lane % 64) & 1 == 1
    }

    /// The lane with frames that comes after `lane`, around the circle; `lane` itself if no other
    /// has any.
    fn next_after(&self, lane: usize) -> usize {
        let first = lane + 1;
        let (word, bit) = (first / 64, first % 64);
        let above = self.active.get(word).map_or(0, |bits| bits & (u64::MAX << bit));
        if above != 0 {
            return word * 64 + above.trailing_zeros() as usize;
        }
        let later = (word + 1..WORDS).chain(0..WORDS);
        let found = later.map(|at| (at, self.active[at])).find(|&(_, bits)| bits != 0);
        found.map_or(lane, |(at, bits)| at * 64 + bits.trailing_zeros() as usize)
    }

    /// The lane of a frame; frames of the switch's own have the last.
    fn lane_of(&self, note: &Note) -> usize {
        note.viq.port_index().min(self.lanes.len() - 1)
    }

    /// Adds a frame behind the others of its ingress port.
    pub(super) fn push_back<F: Frame>(
        &mut self,
        arena: &mut Arena<F>,
        held: Held<F>,
    ) -> Result<(), Held<F>> {
        let at = self.lane_of(&held.note);
        if !self.has_frames(self.current) {
            self.current = at;
        }
        self.lanes[at].veq.push_back(arena, held)?;
        self.active[at / 64] |= 1 << (at % 64);
        Ok(())
    }

    /// Puts a frame back before all others, with the credit that it was taken with.
    pub(super) fn push_front<F: Frame>(
        &mut self,
        arena: &mut Arena<F>,
        held: Held<F>,
    ) -> Result<(), Held<F>> {
        let at = self.lane_of(&held.note);
        self.current = at;
        let bytes = u32::from(held.note.bytes);
        self.lanes[at].veq.push_front(arena, held)?;
        self.lanes[at].deficit_bytes += bytes;
        self.active[at / 64] |= 1 << (at % 64);
        Ok(())
    }

    /// The note of the frame that is next.
    pub(super) fn front<'a, F: Frame>(&self, arena: &'a Arena<F>) -> Option<&'a Note> {
        let lane = &self.lanes[self.current].veq;
        if lane.is_empty() { None } else { lane.front(arena) }
    }

    /// Takes the next frame.
    pub(super) fn pop_front<F: Frame>(&mut self, arena: &mut Arena<F>) -> Option<Held<F>> {
        let lane = &mut self.lanes[self.current];
        let held = lane.veq.pop_front(arena)?;
        lane.deficit_bytes = lane.deficit_bytes.saturating_sub(u32::from(held.note.bytes));
        self.choose(arena);
        Some(held)
    }

    /// The next frames of the lane whose turn it is, as many as stand together and its credit
    /// reaches for; those that the caller takes out it has to [count](Self::took).
    pub(super) fn front_frames<'a, F: Frame>(
        &self,
        arena: &'a mut Arena<F>,
        frames_max: usize,
    ) -> &'a mut [Option<Held<F>>] {
        let lane = &self.lanes[self.current];
        if lane.veq.is_empty() {
            return &mut [];
        }
        let places = lane.veq.front_frames(arena, frames_max);
        // The first one has its turn, whatever credit is left of a lane that was alone.
        let mut spent_bytes = 0;
        let reached = places.iter().flatten().take_while(|held| {
            let is_first = spent_bytes == 0;
            spent_bytes += u32::from(held.note.bytes);
            is_first || spent_bytes <= lane.deficit_bytes
        });
        let count = reached.count();
        &mut places[..count]
    }

    /// Counts `frames` of `bytes` in all that were taken out of the lane whose turn it is.
    pub(super) fn took<F: Frame>(&mut self, arena: &mut Arena<F>, frames: usize, bytes: u32) {
        let lane = &mut self.lanes[self.current];
        lane.veq.took(arena, frames, bytes);
        lane.deficit_bytes = lane.deficit_bytes.saturating_sub(bytes);
        self.choose(arena);
    }

    /// Goes on to the lane whose turn it is.
    fn choose<F: Frame>(&mut self, arena: &Arena<F>) {
        loop {
            let lane = &mut self.lanes[self.current];
            if lane.veq.is_empty() {
                // An empty one loses its credit, so that nobody saves up while idle.
                lane.deficit_bytes = 0;
                self.active[self.current / 64] &= !(1 << (self.current % 64));
                if self.active == [0; WORDS] {
                    return;
                }
            } else if lane
                .veq
                .front(arena)
                .is_some_and(|note| u32::from(note.bytes) <= lane.deficit_bytes)
            {
                return;
            }
            self.current = self.next_after(self.current);
            self.lanes[self.current].deficit_bytes += QUANTUM_BYTES;
        }
    }

    /// The notes of all frames, lane by lane.
    pub(super) fn notes<'a, F: Frame>(
        &'a self,
        arena: &'a Arena<F>,
    ) -> impl Iterator<Item = &'a Note> {
        self.lanes.iter().flat_map(|lane| lane.veq.own_notes(arena))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::ViqId;
    use crate::ids::{PortId, Priority};
    use crate::testing::TestFrame;
    use proptest::prelude::*;

    fn held(port: usize, bytes: u16, number: u8) -> Held<TestFrame> {
        let viq = ViqId::new(PortId::from_index(port).unwrap(), Priority::default());
        let note = Note { viq, bytes, arrived_ns: number.into(), ..Note::NONE };
        Held { frame: TestFrame::new(&[number]), note }
    }

    /// Port and number of each frame that is taken, the first `count`.
    fn order(lanes: &mut Lanes, arena: &mut Arena<TestFrame>, count: usize) -> Vec<(usize, u32)> {
        let take = |_| lanes.pop_front(arena).map(|h| (h.note.viq.port_index(), h.note.arrived_ns));
        (0..count).filter_map(take).collect()
    }

    #[test]
    fn ports_take_turns_however_much_each_brings() {
        let (mut lanes, mut arena) = (Lanes::new(3), Arena::new(100, 4));
        for (port, count) in [(0, 20), (2, 5)] {
            for number in 0..count {
                lanes.push_back(&mut arena, held(port, 1_500, number)).unwrap();
            }
        }
        let order = order(&mut lanes, &mut arena, 25);
        let of_two = order[..11].iter().filter(|(port, _)| *port == 2).count();
        assert!(of_two >= 4, "{order:?}");
        assert!(order[11..].iter().all(|(port, _)| *port == 0));
    }

    #[test]
    fn turns_are_fair_in_bytes_not_in_frames() {
        let (mut lanes, mut arena) = (Lanes::new(2), Arena::new(3_000, 3));
        for number in 0..200 {
            lanes.push_back(&mut arena, held(0, 1_500, number)).unwrap();
            for _ in 0..10 {
                lanes.push_back(&mut arena, held(1, 150, number)).unwrap();
            }
        }
        let order = order(&mut lanes, &mut arena, 550);
        let short = order.iter().filter(|(port, _)| *port == 1).count();
        let (long_bytes, short_bytes) = ((550 - short) * 1_500, short * 150);
        assert!(long_bytes.abs_diff(short_bytes) < 8_000, "{long_bytes} and {short_bytes}");
    }

    proptest! {
        /// Taking several frames at once gives the order of taking one after the other.
        #[test]
        fn frames_taken_together_are_those_taken_one_by_one(
            arriving in proptest::collection::vec((0_usize..4, 60_u16..9_000), 1..200),
            at_once in 1_usize..10,
        ) {
            let (mut one, mut one_arena) = (Lanes::new(3), Arena::new(200, 4));
            let (mut many, mut many_arena) = (Lanes::new(3), Arena::new(200, 4));
            for (number, &(port, bytes)) in (0_u8..).zip(&arriving) {
                one.push_back(&mut one_arena, held(port, bytes, number)).unwrap();
                many.push_back(&mut many_arena, held(port, bytes, number)).unwrap();
            }
            let expected = order(&mut one, &mut one_arena, arriving.len());
            let mut taken = Vec::new();
            while taken.len() < arriving.len() {
                let places = many.front_frames(&mut many_arena, at_once);
                prop_assert!(!places.is_empty() && places.len() <= at_once);
                let frames: Vec<Note> =
                    places.iter_mut().filter_map(|place| Some(place.take()?.note)).collect();
                let bytes = frames.iter().map(|note| u32::from(note.bytes)).sum();
                taken.extend(frames.iter().map(|note| (note.viq.port_index(), note.arrived_ns)));
                many.took(&mut many_arena, frames.len(), bytes);
            }
            prop_assert_eq!(taken, expected);
            prop_assert_eq!(many.front_frames(&mut many_arena, 9).len(), 0);
        }

        /// Against a list for each port: nothing is lost, each port's frames stay in order, and the
        /// front is what is taken next.
        #[test]
        fn each_port_is_a_fifo(steps in proptest::collection::vec((0_u8..4, 0_usize..4, 60_u16..9_000), 0..300)) {
            let (mut lanes, mut arena) = (Lanes::new(3), Arena::new(400, 4));
            let mut lists: [alloc::collections::VecDeque<u32>; 4] = Default::default();
            let mut number = 0;
            for (kind, port, bytes) in steps {
                if kind > 0 {
                    number += 1;
                    let viq = ViqId::new(PortId::from_index(port).unwrap(), Priority::default());
                    let viq = if port == 3 { ViqId::NONE } else { viq };
                    let note = Note { viq, bytes, arrived_ns: number, ..Note::NONE };
                    lanes.push_back(&mut arena, Held { frame: TestFrame::new(&[0]), note }).unwrap();
                    lists[port].push_back(number);
                    continue;
                }
                let front = lanes.front(&arena).copied();
                let taken = lanes.pop_front(&mut arena);
                prop_assert_eq!(front, taken.as_ref().map(|held| held.note));
                prop_assert_eq!(taken.is_none(), lists.iter().all(|list| list.is_empty()));
                let Some(held) = taken else { continue };
                let port = held.note.viq.port_index().min(3);
                prop_assert_eq!(lists[port].pop_front(), Some(held.note.arrived_ns));
                if bytes % 3 == 0 {
                    lists[port].push_front(held.note.arrived_ns);
                    let note = held.note;
                    lanes.push_front(&mut arena, held).unwrap();
                    prop_assert_eq!(lanes.front(&arena), Some(&note));
                }
            }
            let left: usize = lists.iter().map(|list| list.len()).sum();
            prop_assert_eq!(lanes.notes(&arena).count(), left);
        }
    }
}
