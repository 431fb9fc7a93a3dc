//! The estimate of a pool's memory is enough for it, in hugepages where the machine has them free
//! and in plain memory elsewhere, and frames pass either way.
#![cfg(feature = "dpdk")]

#[allow(dead_code, reason = "each test file uses a part of it")]
mod rig;

use rig::{Pools, bytes, receive, send, test_frame};
use switch::dpdk::eal::{Eal, EalOptions};
use switch::dpdk::memory::{Memory, MemoryInUse};
use switch::dpdk::port::PortOptions;

#[test]
fn what_was_estimated_is_enough() {
    const FRAMES: u32 = 16_383;
    let mb = Pools::memory_mb(FRAMES);
    let eal = Eal::init(&EalOptions::new(Memory::Auto { mb })).unwrap();
    println!("{}", eal.memory());
    let (MemoryInUse::Hugepages { mb: taken } | MemoryInUse::FellBack { mb: taken, .. }) =
        eal.memory()
    else {
        panic!("{}", eal.memory());
    };
    assert_eq!(taken, mb);

    let pools = Pools::new(&eal, "estimate", FRAMES);
    let (port, mut device) = pools.device(&eal, "net_ring_estimate", &PortOptions::default());
    let every_frame: Vec<_> = std::iter::from_fn(|| pools.data.alloc()).collect();
    assert_eq!(every_frame.len(), FRAMES as usize);
    drop(every_frame);
    send(&mut device, (0..500).map(|n| pools.data.alloc_with(&test_frame(n, 1_500)).unwrap()));
    for (number, frame) in receive(&mut device, 500).iter().enumerate() {
        assert_eq!(bytes(frame), test_frame(number, 1_500));
    }
    drop((port, device));
    assert_eq!(pools.in_use(), (0, 0));
}
