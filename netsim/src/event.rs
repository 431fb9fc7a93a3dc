//! What happens when: discrete events in the order of their time, and at one time in the order in
//! which they were planned. Nothing else decides the order, so a run repeats.
//!
//! Most events are planned for the next few microseconds, so those lie in a wheel of buckets of
//! some nanoseconds, each a list; the bucket that is due is sorted when its time has come. What is
//! further off waits in a heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Picoseconds in a nanosecond, the unit the dataplane counts in.
pub(crate) const PS_PER_NS: u64 = 1_000;

/// Picoseconds since the start of the run; 64 bits last 213 days.
pub type Picoseconds = u64;

/// Later than anything that happens.
pub(crate) const NEVER: Picoseconds = u64::MAX;

/// A bucket is so many bits of picoseconds wide: 4 ns.
const BUCKET_BITS: u32 = 12;
/// Buckets of the wheel, which spans 17 us: a longest frame at 1G, or 3 km of cable.
const BUCKETS: u64 = 4_096;
const WORDS: usize = (BUCKETS / 64) as usize;
/// The end of a list.
const NONE: u32 = u32::MAX;

/// Something that happens at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    /// The oldest frame in flight on this wire has arrived whole.
    Arrival(u32),
    /// This wire is free again, and its sender waits for it.
    Free(u32),
    /// This node wanted to be woken.
    Wake(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    at_ps: Picoseconds,
    sequence: u64,
    event: Event,
}

impl Entry {
    /// What comes first: one compare, since no two entries have one sequence number.
    #[inline(always)]
    const fn key(&self) -> u128 {
        (self.at_ps as u128) << 64 | self.sequence as u128
    }
}

impl Ord for Entry {
    #[inline(always)]
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Entry {
    #[inline(always)]
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// An entry in the list of its bucket, or in the list of places to use again.
#[derive(Clone, Copy, Debug)]
struct Place {
    entry: Entry,
    next: u32,
}

/// Events yet to come.
#[derive(Debug)]
pub(crate) struct EventQueue {
    planned: u64,
    /// The bucket in hand, by number counted from time 0, and its entries, the next one last.
    bucket: u64,
    in_hand: Vec<Entry>,
    /// By bucket number, less whole turns of the wheel: the first place of its list.
    heads: Vec<u32>,
    /// A bit for each bucket that has a list.
    occupied: [u64; WORDS],
    places: Vec<Place>,
    unused: u32,
    /// What lay beyond the wheel when it was planned.
    far: BinaryHeap<Reverse<Entry>>,
}

impl Default for EventQueue {
    fn default() -> Self {
        Self {
            planned: 0,
            bucket: 0,
            in_hand: Vec::new(),
            heads: vec![NONE; WORDS * 64],
            occupied: [0; WORDS],
            places: Vec::new(),
            unused: NONE,
            far: BinaryHeap::new(),
        }
    }
}

const fn bucket_of(at_ps: Picoseconds) -> u64 {
    at_ps >> BUCKET_BITS
}

const fn on_wheel(bucket: u64) -> usize {
    (bucket % BUCKETS) as usize
}

impl EventQueue {
    /// Plans `event` for `at_ps`, which has not gone by.
    #[inline]
    pub(crate) fn plan(&mut self, at_ps: Picoseconds, event: Event) {
        self.planned += 1;
        let entry = Entry { at_ps, sequence: self.planned, event };
        let bucket = bucket_of(at_ps);
        if bucket <= self.bucket {
            let later = |other: &Entry| other > &entry;
            let at = self.in_hand.partition_point(later);
            self.in_hand.insert(at, entry);
        } else if bucket - self.bucket < BUCKETS {
            self.put(on_wheel(bucket), entry);
        } else {
            self.far.push(Reverse(entry));
        }
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "fewer events than 2^32 fit memory")]
    fn put(&mut self, bucket: usize, entry: Entry) {
        let place = Place { entry, next: self.heads[bucket] };
        let at = self.unused;
        if let Some(unused) = self.places.get_mut(at as usize) {
            self.unused = unused.next;
            *unused = place;
            self.heads[bucket] = at;
        } else {
            self.heads[bucket] = self.places.len() as u32;
            self.places.push(place);
        }
        self.occupied[bucket / 64] |= 1 << (bucket % 64);
    }

    /// When the next event is; `None` if there is none.
    #[inline(always)]
    pub(crate) fn next_at_ps(&self) -> Option<Picoseconds> {
        self.in_hand.last().map(|entry| entry.at_ps)
    }

    /// Takes the next bucket that has events in hand, if none is; whether it did.
    #[inline(always)]
    pub(crate) fn take_bucket(&mut self) -> bool {
        self.in_hand.is_empty() && self.turn_wheel()
    }

    /// The events of the bucket in hand.
    #[inline(always)]
    pub(crate) fn in_hand(&self) -> impl Iterator<Item = Event> {
        self.in_hand.iter().map(|entry| entry.event)
    }

    /// Takes the next event if it happens at `now_ps`.
    #[inline]
    pub(crate) fn pop_at(&mut self, now_ps: Picoseconds) -> Option<Event> {
        self.in_hand.pop_if(|next| next.at_ps == now_ps).map(|entry| entry.event)
    }

    #[inline(never)]
    fn turn_wheel(&mut self) -> bool {
        let on_wheel_next = self.next_occupied();
        let far_next = self.far.peek().map(|Reverse(entry)| bucket_of(entry.at_ps));
        let Some(next) = on_wheel_next.into_iter().chain(far_next).min() else { return false };
        self.bucket = next;
        if on_wheel_next == Some(next) {
            self.take_list(on_wheel(next));
        }
        while let Some(entry) = self.far.peek_mut().filter(|far| bucket_of(far.0.at_ps) == next) {
            self.in_hand.push(std::collections::binary_heap::PeekMut::pop(entry).0);
        }
        // Within a bucket times differ in the low bits only, so one word says who comes first.
        let order = |entry: &Entry| Reverse(entry.at_ps << (64 - BUCKET_BITS) | entry.sequence);
        self.in_hand.sort_unstable_by_key(order);
        true
    }

    /// The number of the next bucket after the one in hand that has a list.
    fn next_occupied(&self) -> Option<u64> {
        let start = on_wheel(self.bucket + 1);
        let (first_word, bit) = (start / 64, start % 64);
        let masked = self.occupied[first_word] & (u64::MAX << bit);
        let rest = (1..=WORDS).map(|ahead| (first_word + ahead) % WORDS);
        let words =
            std::iter::once((first_word, masked)).chain(rest.map(|at| (at, self.occupied[at])));
        let (word, bits) = words.into_iter().find(|&(_, bits)| bits != 0)?;
        let place = (word * 64) as u64 + u64::from(bits.trailing_zeros());
        let ahead = (place + BUCKETS - start as u64) % BUCKETS;
        Some(self.bucket + 1 + ahead)
    }

    fn take_list(&mut self, bucket: usize) {
        let mut at = std::mem::replace(&mut self.heads[bucket], NONE);
        self.occupied[bucket / 64] &= !(1 << (bucket % 64));
        while let Some(place) = self.places.get_mut(at as usize) {
            self.in_hand.push(place.entry);
            let next = std::mem::replace(&mut place.next, self.unused);
            self.unused = at;
            at = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Spans to the next event: within a bucket, on the wheel, at its edge, far beyond it.
    fn span_ps() -> impl Strategy<Value = u64> {
        let wheel_ps = BUCKETS << BUCKET_BITS;
        prop_oneof![0_u64..20, 0_u64..100_000, wheel_ps - 5_000..wheel_ps + 5_000, 0..wheel_ps * 40]
    }

    proptest! {
        /// The oracle: a list that is sorted before each look.
        #[test]
        fn events_come_in_the_order_of_time_and_then_of_planning(
            plans in proptest::collection::vec((span_ps(), 0_usize..4), 0..300),
        ) {
            let mut queue = EventQueue::default();
            let mut oracle: Vec<(u64, u32)> = Vec::new();
            let mut now_ps = 0;
            let end = std::iter::repeat_n((0, 4), plans.len());
            for (number, (span_ps, pops)) in (0..).zip(plans.iter().copied().chain(end)) {
                if (number as usize) < plans.len() {
                    queue.plan(now_ps + span_ps, Event::Wake(number));
                    oracle.push((now_ps + span_ps, number));
                    oracle.sort_unstable();
                }
                for _ in 0..pops.min(oracle.len()) {
                    let (at_ps, number) = oracle.remove(0);
                    queue.take_bucket();
                    prop_assert_eq!(queue.next_at_ps(), Some(at_ps));
                    prop_assert_eq!(queue.pop_at(at_ps + 1), None, "not yet");
                    prop_assert_eq!(queue.pop_at(at_ps), Some(Event::Wake(number)));
                    now_ps = at_ps;
                }
            }
            queue.take_bucket();
            prop_assert_eq!(queue.next_at_ps(), oracle.first().map(|&(at_ps, _)| at_ps));
        }
    }
}
