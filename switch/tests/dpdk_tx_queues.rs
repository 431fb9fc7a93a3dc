//! Transmit queues for workers that do not own a port: where a device has them, and where not.
#![cfg(feature = "dpdk")]

#[allow(dead_code, reason = "each test file uses a part of it")]
mod rig;

use dataplane::device::Device;
use dataplane::frame::Burst;
use dataplane::time::Instant;
use rig::{Pools, eal, port_1, test_frame};
use switch::dpdk::device::{DevicePort, DpdkDevice, ForeignPort};
use switch::dpdk::port::{Port, PortOptions};

fn options(tx_queues: u16) -> PortOptions {
    PortOptions { tx_queues, ..PortOptions::default() }
}

#[test]
fn two_devices_send_at_one_port_each_by_its_own_queue() {
    let pools = Pools::new(eal(), "queues", 63);
    let (port, mut queues) = Port::open(eal(), "net_null_q", &options(2), &pools.data).unwrap();
    assert_eq!(port.info().tx_queues, 2);
    let queue = queues.take_spare().expect("one more than the owner's");
    assert_eq!((queue.number(), queues.take_spare().is_none()), (1, true));
    let own = vec![DevicePort { port: port_1(), queues, tx_cap: None }];
    let mut owner = DpdkDevice::new(own, vec![], vec![], &pools.data, &pools.control);
    let foreign = vec![ForeignPort { port: port_1(), queue }];
    let mut other = DpdkDevice::new(vec![], vec![], foreign, &pools.data, &pools.control);
    assert!(other.has_tx_queue(port_1()) && !owner.has_tx_queue(port_1()));
    assert_eq!(other.tx_room_bytes(port_1(), Instant::ZERO), u32::MAX);
    for (device, frames) in [(&mut owner, 3), (&mut other, 5)] {
        let mut burst = Burst::new();
        burst.extend((0..frames).map(|n| pools.data.alloc_with(&test_frame(n, 60)).unwrap()));
        device.tx_burst(port_1(), &mut burst, Instant::ZERO);
        assert!(burst.is_empty());
    }
    assert_eq!(port.counters().tx_frames, 8);
    drop((port, owner));
    assert!(other.has_tx_queue(port_1()), "the port stays open for whoever has a queue");
    drop(other);
    assert_eq!(pools.in_use(), (0, 0));
}

#[test]
fn a_device_without_so_many_queues_gets_one() {
    let pools = Pools::new(eal(), "one", 63);
    let (port, mut queues) = Port::open(eal(), "net_ring_q", &options(2), &pools.data).unwrap();
    assert_eq!(port.info().tx_queues, 1);
    assert!(queues.take_spare().is_none());
}
