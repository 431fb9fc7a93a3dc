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
    MacTable::with_capacity(MacTableSettings { entries_max, age_ns: AGE_NS }, 1)
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
    let counts = MacPortCounts { addresses: 800, moves: 0, refused_frames: 1_200 };
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
    RemoteLearn(u16, u64, usize),
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
        4 => (key(), 5..8_usize).prop_map(|((v, m), p)| Event::RemoteLearn(v, m, p)),
        3 => (key(), 5..8_usize).prop_map(|((v, m), p)| Event::RemoteForget(v, m, p)),
        1 => (1..8_usize).prop_map(Event::FlushPort),
        3 => (0..AGE_NS / 2).prop_map(Event::Wait),
        2 => (0..40_usize).prop_map(Event::Age),
        1 => Just(Event::AgeAll),
    ]
}

/// The oracle: (VLAN, address) -> (port, last seen, local).
#[derive(Default)]
struct Plain {
    entries: BTreeMap<(Vid, MacAddress), (PortId, Instant, bool)>,
}

impl Plain {
    fn on(&self, port: PortId) -> usize {
        self.entries.values().filter(|&&(at, ..)| at == port).count()
    }

    fn learn(&mut self, max: usize, entry: MacEntry) -> Learned {
        let key = (entry.vid, entry.mac);
        let value = (entry.port, entry.seen, entry.origin == Origin::Local);
        match self.entries.get(&key) {
            None if self.entries.len() >= max => return Learned::Full,
            None if value.2 && self.on(entry.port) >= 4 * (max - self.entries.len()) => {
                return Learned::Full;
            }
            None => {
                self.entries.insert(key, value);
                return Learned::New;
            }
            Some(&(_, seen, false)) if !value.2 && seen > value.1 => return Learned::Ignored,
            Some(_) => {}
        }
        match self.entries.insert(key, value) {
            Some((from, ..)) if from != entry.port => Learned::Moved { from },
            _ => Learned::Refreshed,
        }
    }

    fn may_be_forgotten(&self, entry: &MacEntry, now: Instant) -> bool {
        let known = self.entries.get(&(entry.vid, entry.mac));
        known.is_some_and(|&(_, seen, local)| local && now.ns_since(seen) > AGE_NS)
    }

    fn must_be_forgotten(&self, now: Instant) -> usize {
        let due = |(_, seen, local): &&(PortId, Instant, bool)| {
            *local && now.ns_since(*seen) > AGE_NS + 2 * STAMP_NS
        };
        self.entries.values().filter(due).count()
    }
}

proptest! {
    #[test]
    fn any_history_leaves_the_table_as_a_btree_map_would_be(
        entries_max in 0..30_usize,
        seed in any::<u64>(),
        events in proptest::collection::vec(event(), 0..200),
    ) {
        let settings = MacTableSettings { entries_max, age_ns: AGE_NS };
        let mut table = MacTable::with_capacity(settings, seed);
        let mut fast_path = Plain::default();
        let mut now = Instant::from_ns(12_345);
        for event in events {
            match event {
                Event::Learn(v, m, p) => {
                    let found = table.learn(vid(v), mac(m), port(p), now);
                    let entry = MacEntry {
                        vid: vid(v), mac: mac(m), port: port(p), seen: now, origin: Origin::Local,
                    };
                    prop_assert_eq!(found, fast_path.learn(entries_max, entry));
                }
                Event::RemoteLearn(v, m, p) => {
                    // Whole units of the stamp, so that the order of two news is the same here.
                    let since = Instant::from_ns(now.ns / STAMP_NS * STAMP_NS);
                    let found = table.remote_learn(vid(v), mac(m), port(p), since);
                    let entry = MacEntry {
                        vid: vid(v), mac: mac(m), port: port(p), seen: since, origin: Origin::Remote,
                    };
                    prop_assert_eq!(found, fast_path.learn(entries_max, entry));
                }
                Event::RemoteForget(v, m, p) => {
                    let key = (vid(v), mac(m));
                    let known = fast_path.entries.get(&key);
                    let there = known.is_some_and(|&(at, _, local)| at == port(p) && !local);
                    if there {
                        fast_path.entries.remove(&key);
                    }
                    prop_assert_eq!(table.remote_forget(key.0, key.1, port(p)), there);
                }
                Event::FlushPort(p) => {
                    let mut flushed = Vec::new();
                    table.flush_port(port(p), |entry| flushed.push((entry.vid, entry.mac)));
                    let on_it = |(_, (at, ..)): &(&_, &(PortId, Instant, bool))| *at == port(p);
                    let truth: Vec<_> =
                        fast_path.entries.iter().filter(on_it).map(|(key, _)| *key).collect();
                    flushed.sort();
                    prop_assert_eq!(flushed, truth);
                    fast_path.entries.retain(|_, (at, ..)| *at != port(p));
                }
                Event::Wait(ns) => now = now + ns,
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
    let mut found: Vec<_> =
        table.iter().map(|e| ((e.vid, e.mac), (e.port, e.origin == Origin::Local))).collect();
    found.sort_by_key(|(key, _)| *key);
    let truth: Vec<_> =
        fast_path.entries.iter().map(|(&key, &(port, _, local))| (key, (port, local))).collect();
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
