//! Several receive queues of a port, each polled by its own device: a file for each queue.
#![cfg(feature = "dpdk")]

#[allow(dead_code, reason = "each test file uses a part of it")]
mod pcap;
#[allow(dead_code, reason = "each test file uses a part of it")]
mod rig;

use dataplane::device::Device;
use dataplane::frame::Burst;
use dataplane::ids::PortId;
use dataplane::limits::BURST_MAX;
use dataplane::time::Instant;
use pcap::write_pcap;
use rig::{Folder, Pools, bytes, eal, port_1, receive, test_frame};
use switch::dpdk::device::{DevicePort, DpdkDevice, FurtherQueue};
use switch::dpdk::port::{Port, PortOptions};

fn options(rx_queues: u16) -> PortOptions {
    PortOptions { rx_queues, rx_descriptors: 64, ..PortOptions::default() }
}

#[test]
fn each_device_receives_by_its_own_queue() {
    let folder = Folder::new("rx-queues");
    let frames =
        |from: usize| -> Vec<Vec<u8>> { (from..from + 9).map(|n| test_frame(n, 70)).collect() };
    let (first, second) = (frames(0), frames(100));
    let files = [folder.file("a.pcap"), folder.file("b.pcap")];
    write_pcap(&files[0], &first);
    write_pcap(&files[1], &second);
    let vdev =
        format!("net_pcap_rxq,rx_pcap={},rx_pcap={}", files[0].display(), files[1].display());
    let pools = Pools::new(eal(), "rxq", 511);
    let (port, mut queues) = Port::open(eal(), &vdev, &options(2), &pools.data).unwrap();
    assert_eq!((port.info().rx_queues, port.info().spreads_flows), (2, false));
    let mut further = queues.take_further();
    assert_eq!((further.len(), queues.take_further().len()), (1, 0), "there is one of each");
    let queue = further.remove(0);
    assert_eq!(queue.number(), 1);

    let own = vec![DevicePort { port: port_1(), queues, tx_cap: None }];
    let mut owner = DpdkDevice::new(own, vec![], vec![], &pools.data, &pools.control);
    let id = PortId::from_number(7).unwrap();
    let further = vec![FurtherQueue { id, queue }];
    let mut other = DpdkDevice::new(vec![], further, vec![], &pools.data, &pools.control);
    assert_eq!(other.tx_room_bytes(id, Instant::ZERO), 0, "it receives only");
    assert!(!other.has_tx_queue(id));

    let received: Vec<_> = receive(&mut owner, 9).iter().map(bytes).collect();
    assert_eq!(received, first);
    let mut burst = Burst::new();
    other.rx_burst(id, BURST_MAX, &mut burst);
    assert_eq!(burst.iter().map(bytes).collect::<Vec<_>>(), second);
    drop(burst);
    drop((port, owner, other));
    assert_eq!(pools.in_use(), (0, 0));
}

#[test]
fn more_queues_than_a_device_has_are_refused() {
    let folder = Folder::new("rx-refused");
    let file = folder.file("a.pcap");
    write_pcap(&file, &[test_frame(0, 60)]);
    let pools = Pools::new(eal(), "rxr", 63);
    let vdev = format!("net_pcap_rxr,rx_pcap={}", file.display());
    let refused = Port::open(eal(), &vdev, &options(2), &pools.data).unwrap_err().to_string();
    assert!(refused.contains("does not take 2 receive queues"), "{refused}");
    assert!(refused.contains("net_pcap takes up to 1"), "{refused}");
    // The device is closed again, and opens with one.
    let (_port, _queues) = Port::open(eal(), &vdev, &options(1), &pools.data).unwrap();
}
