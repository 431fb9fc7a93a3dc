//! Two ports joined by shared memory (`net_memif`): one device, two rings, frames in several pieces
//! across them, and a worker thread that is an lcore.
#![cfg(feature = "dpdk")]

#[allow(dead_code, reason = "each test file uses a part of it")]
mod rig;

use dataplane::device::Device;
use dataplane::frame::Burst;
use dataplane::ids::PortId;
use dataplane::limits::BURST_MAX;
use dataplane::time::Instant;
use rig::{Folder, Pools, bytes, eal, test_frame};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant as WallTime};
use switch::dpdk::device::{DevicePort, DpdkDevice};
use switch::dpdk::lcore;
use switch::dpdk::port::{Port, PortOptions};

const PATIENCE: Duration = Duration::from_secs(10);

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let started = WallTime::now();
    while !done() {
        assert!(started.elapsed() < PATIENCE, "{what} within {PATIENCE:?}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Server and client ends, connected.
fn connected_pair(pools: &Pools, folder: &Folder, name: &str) -> (Vec<Arc<Port>>, DpdkDevice) {
    let socket = folder.file("memif.sock");
    let options = PortOptions { mtu_bytes: 9_000, ..PortOptions::default() };
    let (mut watchers, mut ports) = (Vec::new(), Vec::new());
    for (number, role) in [(1, "server"), (2, "client")] {
        let vdev = format!(
            "net_memif_{name}_{role},role={role},socket={},socket-abstract=no",
            socket.display()
        );
        let (port, queues) = Port::open(eal(), &vdev, &options, &pools.data).unwrap();
        watchers.push(port);
        let port = PortId::from_number(number).unwrap();
        ports.push(DevicePort { port, queues, tx_cap: None });
    }
    let device = DpdkDevice::new(ports, vec![], vec![], &pools.data, &pools.control);
    wait_until("the link comes up", || watchers.iter().all(|port| port.is_up()));
    (watchers, device)
}

#[test]
fn frames_of_all_lengths_cross_in_both_directions_on_an_lcore() {
    let pools = Pools::new(eal(), "memif", 4_095);
    let folder = Folder::new("memif");
    let (watchers, mut device) = connected_pair(&pools, &folder, "cross");
    thread::scope(|scope| {
        scope.spawn(|| {
            let _lcore = lcore::register_thread(eal()).unwrap();
            for (from, to) in [(1, 2), (2, 1)] {
                let ports = [from, to].map(|number| PortId::from_number(number).unwrap());
                cross(&pools, &mut device, ports);
            }
        });
    });
    assert_eq!(pools.in_use(), (0, 0));
    assert!(watchers.iter().all(|port| port.counters().rx_frames == 300));
    drop((watchers, device));
    assert_eq!(pools.in_use(), (0, 0));
}

/// DPDK handles a peer's disconnect on its interrupt thread, which must not read what closing has
/// freed. Closed on another thread, 4 of 20 runs of this test ended by a signal.
#[test]
fn a_port_is_closed_while_its_peer_disconnects() {
    let pools = Pools::new(eal(), "memif-close", 255);
    let folder = Folder::new("memif-close");
    for _ in 0..200 {
        drop(connected_pair(&pools, &folder, "close"));
    }
    assert_eq!(pools.in_use(), (0, 0));
}

/// 300 frames of 60 to 8731 bytes, checked one by one.
fn cross(pools: &Pools, device: &mut DpdkDevice, [from, to]: [PortId; 2]) {
    let expected: Vec<_> = (0..300).map(|n| test_frame(n, 60 + n * 29)).collect();
    let (mut sent, mut received) = (0, 0);
    let (mut outgoing, mut incoming) = (Burst::new(), Burst::new());
    wait_until("all frames cross", || {
        while sent < expected.len() && !outgoing.is_full() {
            outgoing
                .push(pools.data.alloc_with(&expected[sent]).expect("the pool is large enough"));
            sent += 1;
        }
        device.tx_burst(from, &mut outgoing, Instant::ZERO);
        device.rx_burst(to, BURST_MAX, &mut incoming);
        for frame in incoming.drain(..) {
            assert_eq!(bytes(&frame), expected[received], "frame {received}");
            received += 1;
        }
        received == expected.len()
    });
}
