//! The MAC table against a `BTreeMap` that does the same, slowly.

use super::*;
use crate::ids::PortId;
use crate::settings::MacTableSettings;
use crate::time::Instant;
use crate::wire::MacAddress;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use proptest::prelude::*;

const AGE_NS: u64 = 1_000_000;

fn table(entries_max: usize) -> MacTable {
    table_that_holds(entries_max, 0)
}

fn table_that_holds(entries_max: usize, hold_ns: u64) -> MacTable {
    MacTable::with_capacity(MacTableSettings { entries_max, age_ns: AGE_NS, hold_ns }, 1)
}

fn vid(value: u16) -> Vid {
    Vid::new(value).unwrap()
}

fn port(number: usize) -> PortId {
    PortId::from_number(number).unwrap()
}

fn mac(number: u64) -> MacAddress {
    let [_, _, _, d, e, f, g, h] = number.to_be_bytes();
    MacAddress([2, d, e, f, g, h])
}

/// One pass over all slots: nothing that is due can be missed if nothing else happens meanwhile.
fn age_all(table: &mut MacTable, now: Instant) -> Vec<MacEntry> {
    let mut forgotten = Vec::new();
    let budget = table.slots() + table.len();
    let count = table.age(now, budget, |entry| forgotten.push(entry));
    assert_eq!(count, forgotten.len());
    forgotten
}

fn local_len(table: &MacTable) -> usize {
    table.iter().filter(|entry| entry.origin == Origin::Local).count()
}

#[test]
fn a_station_is_found_where_it_was_last_heard() {
    let mut table = table(8);
    let now = Instant::ZERO;
    assert_eq!(table.lookup(vid(1), mac(1)), None);
    assert_eq!(table.learn(vid(1), mac(1), port(1), now), Learned::New);
    assert_eq!(table.learn(vid(1), mac(1), port(1), now), Learned::Refreshed);
    assert_eq!(table.learn(vid(1), mac(1), port(2), now), Learned::Moved { from: port(1) });
    assert_eq!(table.lookup(vid(1), mac(1)), Some(port(2)));
    assert_eq!(table.lookup(vid(2), mac(1)), None, "another VLAN is another network");
    assert_eq!((table.len(), local_len(&table)), (1, 1));
}

#[test]
fn group_addresses_and_zero_are_no_stations() {
    let mut table = table(8);
    for nobody in [MacAddress::BROADCAST, MacAddress::LLDP, MacAddress::default()] {
        assert_eq!(table.learn(vid(1), nobody, port(1), Instant::ZERO), Learned::Ignored);
        assert_eq!(table.remote_learn(vid(1), nobody, port(1), Instant::ZERO), Learned::Ignored);
        assert_eq!(table.lookup(vid(1), nobody), None);
    }
    assert!(table.is_empty());
}

#[test]
fn a_full_table_learns_nothing_new_and_still_serves_what_it_knows() {
    for entries_max in [0, 1, 100, 4096] {
        let mut table = table(entries_max);
        let slots = table.slots();
        let stations = entries_max as u64;
        for n in 0..stations {
            // The share of a port is for what it learns itself.
            let learned = table.remote_learn(vid(1), mac(n), port(1), Instant::ZERO);
            assert_eq!(learned, Learned::New, "{n}");
        }
        assert_eq!(table.learn(vid(1), mac(stations), port(1), Instant::ZERO), Learned::Full);
        assert_eq!(
            table.remote_learn(vid(1), mac(stations), port(1), Instant::ZERO),
            Learned::Full
        );
        for n in 0..stations {
            let moved = table.learn(vid(1), mac(n), port(2), Instant::ZERO);
            assert_eq!(moved, Learned::Moved { from: port(1) });
        }
        assert_eq!((table.len(), table.slots()), (entries_max, slots));
    }
}

#[test]
fn ageing_walks_a_few_slots_at_a_time_and_forgets_each_silent_station_once() {
    let mut table = table(1250);
    for n in 0..1000 {
        assert_eq!(table.learn(vid(1), mac(n), port(1), Instant::ZERO), Learned::New);
    }
    let due = Instant::from_ns(AGE_NS + 2 * STAMP_NS);
    table.learn(vid(1), mac(7), port(1), due);
    let mut forgotten = Vec::new();
    let mut calls = 0;
    while table.len() > 1 {
        let before = table.len();
        let count = table.age(due, 16, |entry| forgotten.push(entry.mac));
        assert!(count <= 16 && before - table.len() == count);
        calls += 1;
        assert!(calls <= 2 * table.slots() / 16, "two passes are enough");
    }
    forgotten.sort();
    assert_eq!(forgotten, (0..1000).filter(|&n| n != 7).map(mac).collect::<Vec<_>>());
    assert_eq!(table.lookup(vid(1), mac(7)), Some(port(1)));
}

#[test]
fn a_station_is_never_forgotten_before_its_age() {
    for start_ns in [0, 1, STAMP_NS - 1, STAMP_NS, 123_456_789] {
        let mut table = table(8);
        table.learn(vid(1), mac(1), port(1), Instant::from_ns(start_ns));
        assert_eq!(age_all(&mut table, Instant::from_ns(start_ns + AGE_NS)), []);
        let due = Instant::from_ns(start_ns + AGE_NS + 2 * STAMP_NS);
        assert_eq!(age_all(&mut table, due).len(), 1, "{start_ns}");
    }
}

#[test]
fn what_others_learnt_is_theirs_to_forget() {
    let mut table = table(8);
    let later = Instant::from_ns(100 * AGE_NS);
    assert_eq!(table.remote_learn(vid(1), mac(1), port(9), Instant::ZERO), Learned::New);
    assert_eq!((table.len(), local_len(&table)), (1, 0));
    assert_eq!(age_all(&mut table, later), []);
    assert_eq!(table.lookup(vid(1), mac(1)), Some(port(9)));
    assert!(!table.remote_forget(vid(1), mac(1), port(8)), "it has been learned elsewhere since");
    assert!(table.remote_forget(vid(1), mac(1), port(9)));
    assert!(!table.remote_forget(vid(1), mac(1), port(9)));
    table.learn(vid(1), mac(2), port(1), later);
    assert!(!table.remote_forget(vid(1), mac(2), port(1)), "ours");
}

#[test]
fn a_station_that_changes_workers_changes_hands() {
    let mut table = table(8);
    let at = |number| Instant::from_ns(number * STAMP_NS);
    table.learn(vid(1), mac(1), port(1), at(1));
    let moved = table.remote_learn(vid(1), mac(1), port(9), at(5));
    assert_eq!((moved, local_len(&table)), (Learned::Moved { from: port(1) }, 0));
    let back = table.learn(vid(1), mac(1), port(1), at(6));
    assert_eq!((back, local_len(&table)), (Learned::Moved { from: port(9) }, 1));
}

/// A host makes up addresses; another one moves to its port; the rest is learned as before.
#[test]
fn a_port_has_a_share_and_what_is_known_stays() {
    let mut table = table(1_000);
    assert_eq!(table.learn(vid(1), mac(5_000), port(2), Instant::ZERO), Learned::New);
    let learned = (0..2_000)
        .filter(|&n| table.learn(vid(1), mac(n), port(1), Instant::ZERO) == Learned::New)
        .count();
    assert_eq!(learned, 800, "four times what is free");
    let counts =
        MacPortCounts { addresses: 800, refused_frames: 1_200, ..MacPortCounts::default() };
    assert_eq!(table.counts(port(1)), counts);
    for n in 6_000..6_150 {
        assert_eq!(table.learn(vid(1), mac(n), port(3), Instant::ZERO), Learned::New);
    }
    assert_eq!(table.lookup(vid(1), mac(5_000)), Some(port(2)));
    assert_eq!(table.learn(vid(1), mac(7), port(1), Instant::ZERO), Learned::Refreshed);

    let moved = table.learn(vid(1), mac(5_000), port(1), Instant::ZERO);
    assert_eq!(moved, Learned::Moved { from: port(2) });
    assert_eq!(table.counts(port(2)).addresses, 0);
    assert_eq!(table.counts(port(1)), MacPortCounts { addresses: 801, moves: 1, ..counts });
    assert_eq!(table.flush_port(port(1), |_| ()), 801);
    assert_eq!(table.counts(port(1)).addresses, 0);
}

#[test]
fn a_static_station_neither_moves_nor_ages_nor_counts_to_a_share() {
    let mut table = table(0);
    let late = Instant::from_ns(100 * AGE_NS);
    table.put_static(vid(1), mac(1), port(1));
    assert_eq!(table.learn(vid(1), mac(1), port(2), late), Learned::Kept { on: port(1) });
    assert_eq!(table.learn(vid(1), mac(1), port(1), late), Learned::Refreshed);
    let (moved, news) = (port(9), Instant::from_ns(200 * AGE_NS));
    assert_eq!(table.remote_move(vid(1), mac(1), moved, news), Learned::Kept { on: port(1) });
    table.remote_keep(vid(1), mac(1), moved, news);
    assert!(!table.remote_forget(vid(1), mac(1), port(1)));
    assert_eq!(table.flush_port(port(1), |_| ()), 0);
    assert!(age_all(&mut table, Instant::from_ns(1_000 * AGE_NS)).is_empty());
    assert_eq!(table.lookup(vid(1), mac(1)), Some(port(1)));
    let held = MacPortCounts { held_frames: 1, ..MacPortCounts::default() };
    assert_eq!(table.counts(port(2)), held);
    let there = MacPortCounts { addresses: 1, ..MacPortCounts::default() };
    assert_eq!(table.counts(port(1)), there);
    table.put_static(vid(1), mac(1), port(2));
    assert_eq!(table.lookup(vid(1), mac(1)), Some(port(2)), "the operator may move it");
    table.remove_static(vid(1), mac(1));
    assert!(table.is_empty());
}

#[test]
fn only_a_static_station_is_removed_as_one() {
    let mut table = table(8);
    table.learn(vid(1), mac(1), port(1), Instant::ZERO);
    table.remove_static(vid(1), mac(1));
    table.remove_static(vid(1), mac(2));
    assert_eq!(table.lookup(vid(1), mac(1)), Some(port(1)));
}

#[test]
fn a_station_moves_once_it_is_silent_for_the_hold_time() {
    const HOLD_NS: u64 = 100 * STAMP_NS;
    let mut table = table_that_holds(8, HOLD_NS);
    let at = |number| Instant::from_ns(number * STAMP_NS);
    table.learn(vid(1), mac(1), port(1), at(0));
    assert_eq!(table.learn(vid(1), mac(1), port(2), at(99)), Learned::Kept { on: port(1) });
    assert_eq!(table.learn(vid(1), mac(1), port(1), at(99)), Learned::Refreshed);
    assert_eq!(table.learn(vid(1), mac(1), port(2), at(198)), Learned::Kept { on: port(1) });
    assert_eq!(table.learn(vid(1), mac(1), port(2), at(199)), Learned::Moved { from: port(1) });
    assert_eq!(table.learn(vid(1), mac(1), port(1), at(200)), Learned::Kept { on: port(2) });
    assert_eq!(table.counts(port(2)).held_frames, 2);
    assert_eq!(table.counts(port(1)).held_frames, 1);
    // Another worker, which has not heard it here, says that it has moved: only that gives way.
    assert_eq!(table.remote_move(vid(1), mac(1), port(9), at(250)), Learned::Kept { on: port(2) });
    assert_eq!(
        table.remote_learn(vid(1), mac(1), port(9), at(250)),
        Learned::Moved { from: port(2) }
    );
    table.remote_keep(vid(1), mac(1), port(8), at(240));
    assert_eq!(table.lookup(vid(1), mac(1)), Some(port(8)), "whose it is, its worker says");
    assert_eq!(table.learn(vid(1), mac(1), port(1), at(339)), Learned::Kept { on: port(8) });
    assert_eq!(table.learn(vid(1), mac(1), port(1), at(340)), Learned::Moved { from: port(8) });
}

#[test]
fn news_of_two_workers_end_alike_in_either_order() {
    let (early, late) = (Instant::from_ns(STAMP_NS), Instant::from_ns(9 * STAMP_NS));
    let mut in_order = table(8);
    in_order.remote_learn(vid(1), mac(1), port(8), early);
    assert_eq!(
        in_order.remote_learn(vid(1), mac(1), port(9), late),
        Learned::Moved { from: port(8) }
    );
    let mut reversed = table(8);
    reversed.remote_learn(vid(1), mac(1), port(9), late);
    assert_eq!(reversed.remote_learn(vid(1), mac(1), port(8), early), Learned::Ignored);
    assert_eq!(in_order.lookup(vid(1), mac(1)), Some(port(9)));
    assert_eq!(reversed.lookup(vid(1), mac(1)), Some(port(9)));
}

#[test]
fn addresses_made_to_collide_cost_no_frame_more_than_the_limit() {
    let mut table = table(4096);
    let home = table.home(Key::new(vid(1), mac(0)));
    let colliding = (0_u64..).map(mac).filter(|&mac| table.home(Key::new(vid(1), mac)) == home);
    let colliding: Vec<MacAddress> = colliding.take(PROBES_MAX + 1).collect();
    let (&last, fitting) = colliding.split_last().unwrap();
    for &mac in fitting {
        assert_eq!(table.learn(vid(1), mac, port(1), Instant::ZERO), Learned::New);
    }
    assert_eq!(table.learn(vid(1), last, port(1), Instant::ZERO), Learned::Full);
    assert_eq!(table.lookup(vid(1), last), None);
    assert!(fitting.iter().all(|&mac| table.lookup(vid(1), mac) == Some(port(1))));
    table.learn(vid(1), fitting[3], port(2), Instant::ZERO);
    assert_eq!(table.flush_port(port(2), |_| ()), 1);
    assert_eq!(table.learn(vid(1), last, port(1), Instant::ZERO), Learned::New, "a place is free");
}

/// What can happen to a table.
#[derive(Clone, Debug)]
enum Event {
    Learn(u16, u64, usize),
    RemoteLearn(u16, u64, usize, bool),
    RemoteKeep(u16, u64, usize),
    PutStatic(u16, u64, usize),
    RemoveStatic(u16, u64),
    RemoteForget(u16, u64, usize),
    FlushPort(usize),
    Wait(u64),
    Age(usize),
    AgeAll,
}

fn event() -> impl Strategy<Value = Event> {
    let key = || (1..4_u16, 0..20_u64);
    prop_oneof![
        8 => (key(), 1..5_usize).prop_map(|((v, m), p)| Event::Learn(v, m, p)),
        4 => (key(), 5..8_usize, any::<bool>())
            .prop_map(|((v, m), p, moves)| Event::RemoteLearn(v, m, p, moves)),
        1 => (key(), 5..8_usize).prop_map(|((v, m), p)| Event::RemoteKeep(v, m, p)),
        1 => (key(), 1..8_usize).prop_map(|((v, m), p)| Event::PutStatic(v, m, p)),
        1 => key().prop_map(|(v, m)| Event::RemoveStatic(v, m)),
        3 => (key(), 5..8_usize).prop_map(|((v, m), p)| Event::RemoteForget(v, m, p)),
        1 => (1..8_usize).prop_map(Event::FlushPort),
        3 => (0..AGE_NS / STAMP_NS / 2).prop_map(Event::Wait),
        2 => (0..40_usize).prop_map(Event::Age),
        1 => Just(Event::AgeAll),
    ]
}

/// The oracle: (VLAN, address) -> (port, last seen, origin).
#[derive(Default)]
struct Plain {
    entries: BTreeMap<(Vid, MacAddress), (PortId, Instant, Origin)>,
    hold_ns: u64,
}

impl Plain {
    fn on(&self, port: PortId) -> usize {
        self.entries.values().filter(|&&(at, ..)| at == port).count()
    }

    fn learn(&mut self, max: usize, entry: MacEntry, is_move: bool) -> Learned {
        let key = (entry.vid, entry.mac);
        let is_local = entry.origin == Origin::Local;
        let value = (entry.port, entry.seen, entry.origin);
        let known = self.entries.get(&key).copied();
        let Some((on, seen, origin)) = known else {
            let free = max.saturating_sub(self.entries.len());
            if free == 0 || is_local && self.on(entry.port) >= 4 * free {
                return Learned::Full;
            }
            self.entries.insert(key, value);
            return Learned::New;
        };
        if origin == Origin::Static {
            return if on == entry.port { Learned::Refreshed } else { Learned::Kept { on } };
        }
        if !is_local && origin == Origin::Remote && seen > entry.seen {
            return Learned::Ignored;
        }
        // A worker's own news are held by what it knows; another's only if they are of a move, and
        // by what this one has heard itself.
        let may_hold = is_local || is_move && origin == Origin::Local;
        if on != entry.port && may_hold && entry.seen.ns_since(seen) < self.hold_ns {
            return Learned::Kept { on };
        }
        self.entries.insert(key, value);
        if on == entry.port { Learned::Refreshed } else { Learned::Moved { from: on } }
    }

    fn may_be_forgotten(&self, entry: &MacEntry, now: Instant) -> bool {
        let known = self.entries.get(&(entry.vid, entry.mac));
        known.is_some_and(|&(_, seen, origin)| {
            origin == Origin::Local && now.ns_since(seen) > AGE_NS
        })
    }

    fn must_be_forgotten(&self, now: Instant) -> usize {
        let due = |(_, seen, origin): &&(PortId, Instant, Origin)| {
            *origin == Origin::Local && now.ns_since(*seen) > AGE_NS + 2 * STAMP_NS
        };
        self.entries.values().filter(due).count()
    }
}

proptest! {
    #[test]
    fn any_history_leaves_the_table_as_a_btree_map_would_be(
        entries_max in 0..30_usize,
        seed in any::<u64>(),
        hold_stamps in prop_oneof![Just(0), 0..400_u64],
        events in proptest::collection::vec(event(), 0..200),
    ) {
        let hold_ns = hold_stamps * STAMP_NS;
        let settings = MacTableSettings { entries_max, age_ns: AGE_NS, hold_ns };
        let mut table = MacTable::with_capacity(settings, seed);
        let mut fast_path = Plain { hold_ns, ..Plain::default() };
        let mut now = Instant::from_ns(10 * STAMP_NS);
        for event in events {
            match event {
                Event::Learn(v, m, p) => {
                    let found = table.learn(vid(v), mac(m), port(p), now);
                    let entry = MacEntry {
                        vid: vid(v), mac: mac(m), port: port(p), seen: now, origin: Origin::Local,
                    };
                    prop_assert_eq!(found, fast_path.learn(entries_max, entry, false));
                }
                Event::RemoteLearn(v, m, p, moves) => {
                    let learn = if moves { MacTable::remote_move } else { MacTable::remote_learn };
                    let found = learn(&mut table, vid(v), mac(m), port(p), now);
                    let entry = MacEntry {
                        vid: vid(v), mac: mac(m), port: port(p), seen: now, origin: Origin::Remote,
                    };
                    prop_assert_eq!(found, fast_path.learn(entries_max, entry, moves));
                }
                Event::RemoteKeep(v, m, p) => {
                    table.remote_keep(vid(v), mac(m), port(p), now);
                    let known = fast_path.entries.get_mut(&(vid(v), mac(m)));
                    if let Some(known) = known.filter(|(.., origin)| *origin != Origin::Static) {
                        *known = (port(p), now, Origin::Remote);
                    }
                }
                Event::PutStatic(v, m, p) => {
                    table.put_static(vid(v), mac(m), port(p));
                    let value = (port(p), now, Origin::Static);
                    fast_path.entries.insert((vid(v), mac(m)), value);
                }
                Event::RemoveStatic(v, m) => {
                    table.remove_static(vid(v), mac(m));
                    fast_path.entries.retain(|key, (.., origin)| {
                        *key != (vid(v), mac(m)) || *origin != Origin::Static
                    });
                }
                Event::RemoteForget(v, m, p) => {
                    let key = (vid(v), mac(m));
                    let known = fast_path.entries.get(&key);
                    let there = known.is_some_and(|&(at, _, origin)| {
                        at == port(p) && origin == Origin::Remote
                    });
                    if there {
                        fast_path.entries.remove(&key);
                    }
                    prop_assert_eq!(table.remote_forget(key.0, key.1, port(p)), there);
                }
                Event::FlushPort(p) => {
                    let mut flushed = Vec::new();
                    table.flush_port(port(p), |entry| flushed.push((entry.vid, entry.mac)));
                    let on_it = |(at, _, origin): &(PortId, Instant, Origin)| {
                        *at == port(p) && *origin != Origin::Static
                    };
                    let entries = fast_path.entries.iter();
                    let truth: Vec<_> =
                        entries.filter(|(_, it)| on_it(it)).map(|(key, _)| *key).collect();
                    flushed.sort();
                    prop_assert_eq!(flushed, truth);
                    fast_path.entries.retain(|_, it| !on_it(it));
                }
                // Whole units of the stamp, so that both know the same times.
                Event::Wait(stamps) => now = now + stamps * STAMP_NS,
                Event::Age(budget) => {
                    let mut forgotten = Vec::new();
                    table.age(now, budget, |entry| forgotten.push(entry));
                    prop_assert!(forgotten.len() <= budget);
                    for entry in forgotten {
                        prop_assert!(fast_path.may_be_forgotten(&entry, now), "{:?}", entry);
                        fast_path.entries.remove(&(entry.vid, entry.mac));
                    }
                }
                Event::AgeAll => {
                    for entry in age_all(&mut table, now) {
                        prop_assert!(fast_path.may_be_forgotten(&entry, now), "{:?}", entry);
                        fast_path.entries.remove(&(entry.vid, entry.mac));
                    }
                    prop_assert_eq!(fast_path.must_be_forgotten(now), 0);
                }
            }
            check_same(&table, &fast_path)?;
        }
    }
}

fn check_same(table: &MacTable, fast_path: &Plain) -> Result<(), TestCaseError> {
    let mut found: Vec<_> = table.iter().map(|e| ((e.vid, e.mac), (e.port, e.origin))).collect();
    found.sort_by_key(|(key, _)| *key);
    let truth: Vec<_> =
        fast_path.entries.iter().map(|(&key, &(port, _, origin))| (key, (port, origin))).collect();
    prop_assert_eq!(&found, &truth);
    prop_assert_eq!(table.len(), truth.len());
    for p in (1..8).map(port) {
        prop_assert_eq!(table.counts(p).addresses as usize, fast_path.on(p));
    }
    for v in 1..4 {
        for m in 0..20 {
            let known = fast_path.entries.get(&(vid(v), mac(m))).map(|(port, ..)| *port);
            prop_assert_eq!(table.lookup(vid(v), mac(m)), known);
        }
    }
    Ok(())
}
