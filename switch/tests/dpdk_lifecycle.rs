//! From start to clean-up in one process: the memory that was estimated is enough, everything goes
//! when its last user goes, and there is no second start.
#![cfg(feature = "dpdk")]

#[allow(dead_code, reason = "each test file uses a part of it")]
mod rig;

use rig::{Pools, receive};
use std::sync::Arc;
use std::time::Duration;
use switch::dpdk::clock::Clock;
use switch::dpdk::eal::{Eal, EalOptions};
use switch::dpdk::error::DpdkError;
use switch::dpdk::lcore;
use switch::dpdk::memory::{Memory, MemoryInUse};
use switch::dpdk::port::PortOptions;

const FRAMES: u32 = 8_191;

#[test]
fn a_process_starts_dpdk_once_and_cleans_up_after_it() {
    // More than the machine has in hugepages, so that it must fall back; without hugepages, what
    // the estimate says.
    let mb = Pools::memory_mb(FRAMES).max(hugepages_mb() + 1);
    let too_much = EalOptions::new(Memory::Hugepages { mb });
    assert!(matches!(Eal::init(&too_much), Err(DpdkError::Hugepages { .. })), "and starts nothing");

    let eal = Eal::init(&EalOptions::new(Memory::Auto { mb })).unwrap();
    assert!(matches!(eal.memory(), MemoryInUse::FellBack { mb: taken, .. } if taken == mb));
    assert!(matches!(
        Eal::init(&EalOptions::new(Memory::Plain { mb })),
        Err(DpdkError::AlreadyInitialized)
    ));

    let directory = format!("/var/run/dpdk/knotless-{}", std::process::id());
    assert!(!std::path::Path::new(&directory).exists(), "no trace on the disk");

    let pools = Pools::new(&eal, "life", FRAMES);
    let clock = Clock::new(&eal);
    let (port, mut device) = pools.device(&eal, "net_null0,size=64", &PortOptions::default());
    let frames = std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let _lcore = lcore::register_thread(&eal).unwrap();
            receive(&mut device, 1_000)
        });
        worker.join().unwrap()
    });
    assert!(pools.in_use().0 >= 1_000);

    assert_clock_keeps_time(&clock);

    drop((port, device));
    let weak = Arc::downgrade(&eal);
    drop((frames, pools, eal));
    assert!(weak.upgrade().is_none(), "pools and ports let go of the EAL");
}

/// What the clock counts lies between an interval within and an interval around it, however long
/// the thread is kept waiting in between.
fn assert_clock_keeps_time(clock: &Clock) {
    let around = std::time::Instant::now();
    let started = clock.now();
    let within = std::time::Instant::now();
    std::thread::sleep(Duration::from_millis(200));
    let within_ns = within.elapsed().as_nanos();
    let counted_ns = u128::from(clock.now().ns_since(started));
    let around_ns = around.elapsed().as_nanos();
    let tolerance_ns = around_ns / 1_000;
    assert!(within_ns - tolerance_ns <= counted_ns, "{within_ns} within, {counted_ns} counted");
    assert!(counted_ns <= around_ns + tolerance_ns, "{counted_ns} counted, {around_ns} around");
}

/// MB of 2 MB hugepages that the system has, free or not.
fn hugepages_mb() -> u32 {
    let file = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages";
    let pages = std::fs::read_to_string(file).unwrap_or_default();
    2 * pages.trim().parse::<u32>().unwrap_or(0)
}
