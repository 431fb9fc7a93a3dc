//! The PFC watchdog through a whole worker: what a storm costs, and whom.

use dataplane::control_rings::Command;
use dataplane::counters::DropReason;
use dataplane::ids::Priority;
use dataplane::pfc::watchdog::{Action, Watchdog, WatchdogSettings};
use dataplane::testing::{Rig, RigBuilder};
use dataplane::wire::MacAddress;
use dataplane::wire::mac_control::{MacControl, Pfc};
use std::sync::Arc;

const MS: u64 = 1_000_000;

/// Three ports whose storms are found after 200 ms and over after 400 ms.
fn builder(action: Action) -> RigBuilder {
    let mut builder = RigBuilder::routed(3);
    let watchdog = WatchdogSettings { detection_ns: 200 * MS, restoration_ns: 400 * MS, action };
    for port in &mut builder.settings.ports {
        port.watchdog = Some(watchdog);
    }
    builder
}

fn load(rig: &mut Rig, from: u8, to: u8, dscp: u8, count: u32) {
    rig.load(from, to, dscp, count);
    rig.settle();
}

/// Port `number`'s peer pauses the classes of `bits` for `ms`, as a host gone mad would.
fn storm(rig: &mut Rig, number: u8, bits: u8, ms: u64) {
    for _ in 0..ms {
        pause(rig, number, bits, 0xFFFF);
        rig.wait(MS);
    }
    rig.settle();
}

fn pause(rig: &mut Rig, number: u8, bits: u8, quanta: u16) {
    let classes = Priority::all().filter(|p| bits & p.bit() != 0);
    let pfc = classes.fold(Pfc::default(), |pfc, p| pfc.with(p, quanta));
    rig.arrive(number, &pfc.to_frame(MacAddress([2, 0, 0, 1, 9, 9])));
    rig.settle();
}

/// How many data frames left by port `number`, and the pauses that it asked for.
fn left(rig: &mut Rig, number: u8) -> (usize, usize) {
    let sent = rig.sent(number);
    let (control, data): (Vec<_>, Vec<_>) =
        sent.into_iter().partition(|frame| frame[12..14] == [0x88, 0x08]);
    let pauses = |pfc: Pfc| {
        let asks = |p: Priority| pfc.enabled_bits & p.bit() != 0 && pfc.quanta[p.index()] != 0;
        Priority::all().any(asks)
    };
    let is_pause =
        |frame: &&Vec<u8>| matches!(MacControl::parse(frame), MacControl::Pfc(pfc) if pauses(pfc));
    (data.len(), control.iter().filter(is_pause).count())
}

#[test]
fn a_storm_of_less_than_the_detection_time_costs_nothing() {
    let mut rig = builder(Action::Drop).build();
    load(&mut rig, 1, 2, 26, 0);
    pause(&mut rig, 2, 1 << 3, 0xFFFF);
    load(&mut rig, 1, 2, 26, 5);
    storm(&mut rig, 2, 1 << 3, 199);
    pause(&mut rig, 2, 1 << 3, 0);
    assert_eq!(left(&mut rig, 2), (5, 0));
    assert_eq!((rig.totals().dropped, rig.report(2).counters.pfc.storms[3]), (0, 0));
}

#[test]
fn drop_discards_what_waits_and_what_comes_until_the_storm_is_over() {
    let mut rig = builder(Action::Drop).build();
    pause(&mut rig, 2, 1 << 3, 0xFFFF);
    load(&mut rig, 1, 2, 26, 5);
    storm(&mut rig, 2, 1 << 3, 201);
    assert_eq!(rig.dropped(2, DropReason::Watchdog), 5, "what waited");
    load(&mut rig, 1, 2, 26, 7);
    assert_eq!(rig.dropped(2, DropReason::Watchdog), 12, "what came for it");
    load(&mut rig, 2, 3, 26, 3);
    assert_eq!(rig.dropped(2, DropReason::Watchdog), 15, "what came from it in the same class");
    load(&mut rig, 1, 2, 27, 2);
    load(&mut rig, 2, 3, 27, 2);
    load(&mut rig, 1, 2, 0, 2);
    load(&mut rig, 1, 3, 26, 2);
    assert_eq!((left(&mut rig, 2).0, left(&mut rig, 3).0), (4, 4), "nobody else loses anything");
    let queues = rig.report(2).queues;
    assert!(queues[3].stormed && !queues[4].stormed);
    rig.wait(404 * MS);
    load(&mut rig, 1, 2, 26, 4);
    load(&mut rig, 2, 3, 26, 4);
    assert_eq!((left(&mut rig, 2).0, left(&mut rig, 3).0), (4, 4), "all is as before");
    let pfc = rig.report(2).counters.pfc;
    assert_eq!((pfc.storms[3], pfc.restored[3]), (1, 1));
    let totals = rig.totals();
    assert_eq!((totals.dropped, totals.held), (15, 0));
}

#[test]
fn a_storm_is_found_and_ended_though_nothing_is_sent() {
    let mut rig = builder(Action::Drop).build();
    storm(&mut rig, 2, 1 << 3, 201);
    assert!(rig.report(2).queues[3].stormed);
    let next = rig.turn()[0].next;
    assert_eq!(next.ns_since(rig.now), 2_355_392, "the last pause runs out");
    rig.wait(2_355_392);
    let next = rig.turn()[0].next;
    assert_eq!(next.ns_since(rig.now), 400 * MS, "and after 400 ms more the storm is over");
    rig.wait(400 * MS);
    rig.settle();
    assert!(!rig.report(2).queues[3].stormed);
}

/// sonic-buildimage 23444: frames were dropped and upstream paused all the same.
#[test]
fn no_pause_goes_upstream_while_frames_are_dropped() {
    let mut rig = builder(Action::Drop).build();
    storm(&mut rig, 2, 1 << 3, 201);
    for _ in 0..10 {
        load(&mut rig, 1, 2, 26, 60);
        load(&mut rig, 2, 3, 26, 60);
    }
    assert_eq!((left(&mut rig, 1), left(&mut rig, 2)), ((0, 0), (0, 0)));
    assert_eq!(rig.dropped(2, DropReason::Watchdog), 1_200);
    assert_eq!(rig.report(1).counters.pfc.tx_frames, 0);
}

/// What was paused upstream before the storm was found goes on when its queue is emptied.
#[test]
fn upstream_resumes_when_the_queue_is_dropped() {
    let mut rig = builder(Action::Drop).build();
    pause(&mut rig, 2, 1 << 3, 0xFFFF);
    load(&mut rig, 1, 2, 26, 40);
    assert!(rig.report(1).queues[3].tx_paused);
    storm(&mut rig, 2, 1 << 3, 201);
    assert!(!rig.report(1).queues[3].tx_paused);
    assert_eq!(rig.report(1).queues[3].viq_bytes, 0);
}

#[test]
fn forward_sends_in_spite_of_the_pause_and_loses_nothing() {
    let mut rig = builder(Action::Forward).build();
    pause(&mut rig, 2, 1 << 3, 0xFFFF);
    load(&mut rig, 1, 2, 26, 5);
    assert_eq!(left(&mut rig, 2), (0, 0));
    storm(&mut rig, 2, 1 << 3, 201);
    load(&mut rig, 1, 2, 26, 5);
    assert_eq!(left(&mut rig, 2), (10, 0));
    rig.wait(404 * MS);
    rig.settle();
    pause(&mut rig, 2, 1 << 3, 0xFFFF);
    load(&mut rig, 1, 2, 26, 5);
    assert_eq!(left(&mut rig, 2), (0, 0), "after the storm a pause is a pause");
    assert_eq!(rig.totals().dropped, 0);
}

#[test]
fn alert_only_counts() {
    let mut rig = builder(Action::Alert).build();
    pause(&mut rig, 2, 1 << 3, 0xFFFF);
    load(&mut rig, 1, 2, 26, 5);
    storm(&mut rig, 2, 1 << 3, 201);
    assert_eq!((left(&mut rig, 2), rig.totals().held), ((0, 0), 5));
    assert_eq!(rig.report(2).counters.pfc.storms[3], 1);
}

/// sonic-buildimage 29203, through the switch.
#[test]
fn all_classes_of_all_ports_in_a_storm_are_one_storm_each() {
    let mut rig = builder(Action::Drop).build();
    for _ in 0..2_000 {
        (1..=3).for_each(|port| pause(&mut rig, port, 0xFF, 0xFFFF));
        rig.wait(MS);
    }
    for port in 1..=3 {
        let pfc = rig.report(port).counters.pfc;
        // Classes 3 and 4 are lossless; the others do not obey.
        assert_eq!((pfc.storms, pfc.restored), ([0, 0, 0, 1, 1, 0, 0, 0], [0; 8]), "port {port}");
    }
}

#[test]
fn a_link_that_comes_back_has_no_storm() {
    let mut rig = builder(Action::Drop).build();
    storm(&mut rig, 2, 1 << 3, 201);
    let port = dataplane::ids::PortId::from_number(2).unwrap();
    for up in [false, true] {
        rig.command(|| Command::Link(port, up));
        rig.settle();
    }
    load(&mut rig, 1, 2, 26, 5);
    assert_eq!((left(&mut rig, 2).0, rig.report(2).queues[3].stormed), (5, false));
}

/// sonic-swss 1480 and 2402: a change of the configuration during a storm left it half undone. What
/// may change here is the tables, and the watchdog does not ask them.
#[test]
fn new_tables_during_a_storm_leave_it_as_it_is() {
    let mut rig = builder(Action::Drop).build();
    storm(&mut rig, 2, 1 << 3, 201);
    let snapshot = Arc::new(rig.builder.snapshot(1));
    rig.command(|| Command::Install(Arc::clone(&snapshot)));
    load(&mut rig, 1, 2, 26, 5);
    assert_eq!(rig.dropped(2, DropReason::Watchdog), 5);
    rig.wait(404 * MS);
    load(&mut rig, 1, 2, 26, 5);
    assert_eq!(left(&mut rig, 2).0, 5);
}

/// The queue belongs to another worker than the frames.
#[test]
fn frames_of_another_worker_are_discarded_by_the_ports_owner() {
    for sends_for_others in [false, true] {
        let mut builder = builder(Action::Drop).owned_by(2, 1);
        builder.sends_for_others = sends_for_others;
        let mut rig = builder.build();
        storm(&mut rig, 2, 1 << 3, 201);
        load(&mut rig, 1, 2, 26, 9);
        load(&mut rig, 1, 2, 27, 3);
        assert_eq!(rig.dropped(2, DropReason::Watchdog), 9);
        let totals = rig.totals();
        assert_eq!((totals.sent, totals.dropped, totals.held), (3, 9, 0));
        assert_eq!(rig.report(1).queues[3].viq_bytes, 0);
    }
}

#[test]
fn the_history_of_pauses_is_exact() {
    let mut rig = builder(Action::Alert).build();
    for (paused_ns, free_ns) in [(1_000, 500), (70_000, 3), (31, 999)] {
        pause(&mut rig, 2, 1 << 3, 0xFFFF);
        rig.wait(paused_ns);
        pause(&mut rig, 2, 1 << 3, 0);
        rig.wait(free_ns);
    }
    let report = rig.report(2);
    assert_eq!(report.counters.pfc.rx_pauses[3], 3);
    assert_eq!(report.counters.pfc.rx_paused_ns[3], 71_031);
    assert_eq!(report.queues[3].rx_recent_pause_ns, 31);
    pause(&mut rig, 2, 1 << 3, 0xFFFF);
    rig.wait(12);
    assert_eq!(rig.report(2).queues[3].rx_recent_pause_ns, 12, "the one that runs");
}

/// sonic-swss 1480 and 2402, with the settings themselves: a storm goes on under other ones, and is
/// over when there is no watchdog.
#[test]
fn another_watchdog_during_a_storm_takes_it_over() {
    let settings =
        |action| WatchdogSettings { detection_ns: 200 * MS, restoration_ns: 100 * MS, action };
    let port = dataplane::ids::PortId::from_number(2).unwrap();
    let set = |rig: &mut Rig, settings: Option<WatchdogSettings>| {
        rig.command(|| Command::Watchdog(port, settings.map(|it| Box::new(Watchdog::new(it)))));
        rig.settle();
    };
    let mut rig = builder(Action::Alert).build();
    pause(&mut rig, 2, 1 << 3, 0xFFFF);
    load(&mut rig, 1, 2, 26, 5);
    storm(&mut rig, 2, 1 << 3, 201);
    assert_eq!((left(&mut rig, 2), rig.totals().held), ((0, 0), 5));
    set(&mut rig, Some(settings(Action::Drop)));
    assert_eq!((rig.dropped(2, DropReason::Watchdog), rig.totals().held), (5, 0));
    // 3.4 ms is what is left of the last pause.
    rig.wait(104 * MS);
    load(&mut rig, 1, 2, 26, 4);
    let pfc = rig.report(2).counters.pfc;
    assert_eq!((left(&mut rig, 2).0, pfc.storms[3], pfc.restored[3]), (4, 1, 1), "the new time");

    storm(&mut rig, 2, 1 << 3, 201);
    load(&mut rig, 1, 2, 26, 6);
    set(&mut rig, None);
    let pfc = rig.report(2).counters.pfc;
    assert_eq!((pfc.storms[3], pfc.restored[3], rig.report(2).queues[3].stormed), (2, 2, false));
    pause(&mut rig, 2, 1 << 3, 0xFFFF);
    load(&mut rig, 1, 2, 26, 7);
    assert_eq!((left(&mut rig, 2).0, rig.totals().held), (0, 7), "a pause is one again");
    assert_eq!(rig.totals().dropped, 11);
}

/// Whatever the watchdog is told to do, and whichever worker owns a port.
#[test]
fn the_big_red_switch_drops_what_is_lossless_and_obeys_no_pause() {
    for sends_for_others in [false, true] {
        let mut builder = builder(Action::Alert).owned_by(2, 1);
        builder.sends_for_others = sends_for_others;
        let mut rig = builder.build();
        pause(&mut rig, 2, 1 << 3, 0xFFFF);
        load(&mut rig, 1, 2, 26, 5);
        rig.command(|| Command::BigRedSwitch(true));
        rig.settle();
        assert_eq!(
            (rig.dropped(2, DropReason::Watchdog), rig.totals().held),
            (5, 0),
            "what waited"
        );
        load(&mut rig, 1, 2, 26, 60);
        load(&mut rig, 3, 1, 27, 2);
        load(&mut rig, 1, 2, 0, 4);
        let dropped = |rig: &Rig| [1, 2, 3].map(|port| rig.dropped(port, DropReason::Watchdog));
        assert_eq!(dropped(&rig), [60, 5, 2], "what came");
        assert_eq!((rig.totals().sent, left(&mut rig, 1)), (4, (0, 0)), "nobody is paused");
        // A link that comes back changes nothing.
        let port = dataplane::ids::PortId::from_number(1).unwrap();
        for up in [false, true] {
            rig.command(|| Command::Link(port, up));
            rig.settle();
        }
        load(&mut rig, 1, 2, 26, 3);
        assert_eq!(dropped(&rig), [63, 5, 2]);
        let storms = [1, 2, 3].map(|port| rig.report(port).counters.pfc.storms);
        assert_eq!(storms, [[0; 8]; 3], "it is no storm");

        rig.command(|| Command::BigRedSwitch(false));
        rig.wait(4 * MS);
        load(&mut rig, 1, 2, 26, 6);
        pause(&mut rig, 2, 1 << 3, 0xFFFF);
        load(&mut rig, 1, 2, 26, 7);
        let totals = rig.totals();
        let expected = (10, 70, 7);
        assert_eq!((totals.sent, totals.dropped, totals.held), expected, "a pause is one again");
    }
}

#[test]
fn the_big_red_switch_can_be_on_at_the_start() {
    let mut builder = RigBuilder::routed(3);
    builder.settings.big_red_switch = true;
    let mut rig = builder.build();
    pause(&mut rig, 2, 1 << 3, 0xFFFF);
    load(&mut rig, 1, 2, 26, 5);
    load(&mut rig, 1, 2, 0, 5);
    assert_eq!((rig.dropped(1, DropReason::Watchdog), left(&mut rig, 2).0), (5, 5));
    rig.command(|| Command::BigRedSwitch(false));
    rig.wait(4 * MS);
    load(&mut rig, 1, 2, 26, 5);
    assert_eq!((left(&mut rig, 2).0, rig.totals().dropped), (5, 5));
}
