use super::*;
use crate::counters::PfcCounters;
use crate::time::Speed;
use crate::wire::mac_control::Pfc;

const P3: Priority = Priority::from_low_bits(3);
const P4: Priority = Priority::from_low_bits(4);
const MS: u64 = 1_000_000;

/// A port at 10G with all classes lossless; detection time 200 ms, restoration time 400 ms.
struct Bench {
    receiver: Receiver,
    watchdog: Watchdog,
}

impl Bench {
    fn new(action: Action) -> Self {
        let settings =
            WatchdogSettings { detection_ns: 200 * MS, restoration_ns: 400 * MS, action };
        Self {
            receiver: Receiver::new(0xFF, Speed::from_gbps(10)),
            watchdog: Watchdog::new(settings),
        }
    }

    /// Receives a PFC frame with `quanta` for the classes in `bits`, and checks.
    fn hears(&mut self, bits: u8, quanta: u16, at_ns: u64) -> Changed {
        let now = Instant::from_ns(at_ns);
        self.receiver.expire(now);
        let pfc = Priority::all().filter(|p| bits & p.bit() != 0);
        let pfc = pfc.fold(Pfc::default(), |pfc, p| pfc.with(p, quanta));
        self.receiver.receive(&pfc, now);
        self.watchdog.look(&self.receiver, now)
    }

    /// Checks without a PFC frame.
    fn looks(&mut self, at_ns: u64) -> Changed {
        let now = Instant::from_ns(at_ns);
        self.receiver.expire(now);
        self.watchdog.look(&self.receiver, now)
    }

    /// Pauses `bits` from `from_ns` to `to_ns`, refreshed every millisecond. Returns how many
    /// storms began and ended.
    fn storm(&mut self, bits: u8, from_ns: u64, to_ns: u64) -> (u32, u32) {
        let looks = (from_ns..to_ns).step_by(1_000_000).map(|ns| self.hears(bits, 0xFFFF, ns));
        looks.fold((0, 0), |(began, ended), changed| {
            (began + changed.began_bits.count_ones(), ended + changed.ended_bits.count_ones())
        })
    }
}

#[test]
fn a_pause_without_a_break_is_a_storm_to_the_nanosecond() {
    let mut bench = Bench::new(Action::Drop);
    assert_eq!(bench.storm(P3.bit(), 7, 200 * MS), (0, 0));
    assert_eq!(bench.watchdog.due(&bench.receiver), Instant::from_ns(7 + 200 * MS));
    assert_eq!(bench.looks(6 + 200 * MS), Changed::default());
    let began = Changed { began_bits: P3.bit(), ended_bits: 0 };
    assert_eq!(bench.looks(7 + 200 * MS), began);
    assert_eq!(bench.watchdog.stormed_bits(), P3.bit());
    // The last pause, sent at 199 ms, expires after 65,535 quanta: 3,355,392 ns at 10G.
    let out_ns = 199 * MS + 7 + 3_355_392;
    assert_eq!(bench.watchdog.due(&bench.receiver), Instant::from_ns(out_ns));
    assert_eq!(bench.looks(out_ns), Changed::default());
    let due_ns = out_ns + 400 * MS;
    assert_eq!(bench.watchdog.due(&bench.receiver), Instant::from_ns(due_ns));
    assert_eq!(bench.looks(due_ns - 1), Changed::default());
    assert_eq!(bench.looks(due_ns), Changed { began_bits: 0, ended_bits: P3.bit() });
    assert_eq!(bench.watchdog.due(&bench.receiver), Instant::NEVER);
}

/// sonic-buildimage 29203: with all priorities in a storm the watchdog switched PFC off, received
/// no more pauses, restored, and received them again: 170 times in 20 minutes.
#[test]
fn all_priorities_in_a_storm_do_not_flap() {
    let mut bench = Bench::new(Action::Drop);
    assert_eq!(bench.storm(0xFF, 0, 1_200_000 * MS / 100), (8, 0));
    assert_eq!(bench.watchdog.ignored_bits(), 0xFF);
}

/// sonic-swss 4581: frames that resume were counted as frames that pause, and a storm never ended.
#[test]
fn frames_that_resume_do_not_prolong_a_storm() {
    let mut bench = Bench::new(Action::Drop);
    assert_eq!(bench.storm(P3.bit(), 0, 300 * MS), (1, 0));
    for ns in (300 * MS..700 * MS).step_by(1_000_000) {
        assert_eq!(bench.hears(P3.bit(), 0, ns), Changed::default());
    }
    let ended = bench.hears(P3.bit(), 0, 700 * MS);
    assert_eq!(ended, Changed { began_bits: 0, ended_bits: P3.bit() });
}

/// sonic-swss 3036, SONiC 1535: many short pauses were detected as a storm.
#[test]
fn many_short_pauses_are_no_storm() {
    let mut bench = Bench::new(Action::Drop);
    for ms in 0..2_000 {
        // Paused for all but 10 us of each millisecond.
        assert_eq!(bench.hears(P3.bit(), 0xFFFF, ms * MS), Changed::default());
        assert_eq!(bench.hears(P3.bit(), 0, ms * MS + 990_000), Changed::default());
    }
    let mut counters = PfcCounters::default();
    bench.receiver.count_into(&mut counters);
    assert_eq!((counters.rx_pauses[3], counters.rx_paused_ns[3]), (2_000, 2_000 * 990_000));
    assert_eq!(bench.receiver.recent_ns(P3, Instant::from_ns(2_000 * MS)), 990_000);
}

/// A pause that is not refreshed expires: that is no storm either.
#[test]
fn a_pause_that_runs_out_between_refreshes_begins_anew() {
    let mut bench = Bench::new(Action::Drop);
    // 65,535 quanta are 3,355 us at 10G.
    let changes = (0..100).map(|n| bench.hears(P3.bit(), 0xFFFF, n * 4 * MS));
    assert!(changes.into_iter().all(|changed| changed == Changed::default()));
}

/// sonic-buildimage 5898: after a storm, frames of other queues were dropped. Classes are
/// independent.
#[test]
fn a_storm_in_one_class_is_none_in_another() {
    let mut bench = Bench::new(Action::Drop);
    bench.hears(P4.bit(), 0xFFFF, 150 * MS);
    assert_eq!(bench.storm(P3.bit(), 0, 300 * MS), (1, 0));
    assert_eq!(
        (bench.watchdog.discarded_bits(), bench.watchdog.ignored_bits()),
        (P3.bit(), P3.bit())
    );
    bench.looks(800 * MS);
    assert_eq!((bench.watchdog.discarded_bits(), bench.watchdog.stormed_bits()), (0, 0));
}

#[test]
fn actions_differ_in_what_is_obeyed_and_discarded() {
    for (action, ignored, discarded) in
        [(Action::Drop, P3.bit(), P3.bit()), (Action::Forward, P3.bit(), 0), (Action::Alert, 0, 0)]
    {
        let mut bench = Bench::new(action);
        bench.storm(P3.bit(), 0, 300 * MS);
        let bits = (bench.watchdog.ignored_bits(), bench.watchdog.discarded_bits());
        assert_eq!(bits, (ignored, discarded), "{action:?}");
        assert_eq!(bench.watchdog.stormed_bits(), P3.bit());
    }
}

#[test]
fn a_link_that_goes_down_takes_its_storm_with_it() {
    let mut bench = Bench::new(Action::Drop);
    bench.storm(P3.bit(), 0, 300 * MS);
    bench.receiver.reset(Instant::from_ns(300 * MS));
    bench.watchdog.reset();
    assert_eq!(bench.watchdog.due(&bench.receiver), Instant::NEVER);
    assert_eq!(bench.storm(P3.bit(), 301 * MS, 500 * MS), (0, 0), "counted from anew");
}
