//! What a device does at its limits, on `net_ring`: a ring of 1024 places whose transmit end is its
//! own receive end.
#![cfg(feature = "dpdk")]

#[allow(dead_code, reason = "each test file uses a part of it")]
mod rig;

use dataplane::device::Device;
use dataplane::frame::{Burst, Frame, HEAD_BYTES};
use dataplane::limits::BURST_MAX;
use dataplane::time::{Instant, Speed};
use rig::{Pools, bytes, eal, port_1, receive, send, test_frame};
use std::thread;
use switch::dpdk::device::{DeviceDrops, DevicePort, DpdkDevice};
use switch::dpdk::flow_control::FlowControl;
use switch::dpdk::lcore;
use switch::dpdk::mempool::Pool;
use switch::dpdk::pacer::TxCap;
use switch::dpdk::port::{Port, PortOptions};
use switch::dpdk::rx_backlog::BacklogSource;

#[test]
fn a_full_device_leaves_the_rest_of_the_burst_in_order() {
    let pools = Pools::new(eal(), "full", 2_047);
    let (_port, mut device) = pools.device(eal(), "net_ring_full", &PortOptions::default());
    let (mut sent, mut burst) = (0, Burst::new());
    loop {
        while !burst.is_full() {
            let number: usize = sent + burst.len();
            let marked = u32::try_from(number).unwrap().to_be_bytes();
            burst.push(pools.data.alloc_with(&marked).unwrap());
        }
        device.tx_burst(port_1(), &mut burst, Instant::ZERO);
        sent += BURST_MAX - burst.len();
        if !burst.is_empty() {
            break;
        }
    }
    assert!((BURST_MAX..2_000).contains(&sent), "the ring took {sent}");
    let number = |frame: &_| u32::from_be_bytes(bytes(frame).try_into().unwrap()) as usize;
    let left: Vec<_> = burst.iter().map(number).collect();
    assert_eq!(left, (sent..sent + left.len()).collect::<Vec<_>>());
    let before = burst.len();
    device.tx_burst(port_1(), &mut burst, Instant::ZERO);
    assert_eq!(burst.len(), before, "still full");

    let received = receive(&mut device, sent);
    assert_eq!(received.iter().map(number).collect::<Vec<_>>(), (0..sent).collect::<Vec<_>>());
    drop(received);
    assert_eq!(pools.in_use().0 as usize, left.len());
    device.recycle(&mut burst);
    assert!(burst.is_empty());
    assert_eq!(pools.in_use(), (0, 0));
}

#[test]
fn a_burst_that_already_holds_frames_is_added_to_and_never_overfilled() {
    let pools = Pools::new(eal(), "append", 255);
    let (_port, mut device) = pools.device(eal(), "net_ring_append", &PortOptions::default());
    let sent = BURST_MAX + 36;
    send(&mut device, (0..sent).map(|n| pools.data.alloc_with(&test_frame(n, 60)).unwrap()));
    let mut burst = Burst::new();
    for number in 1_000..1_010 {
        burst.push(pools.data.alloc_with(&test_frame(number, 60)).unwrap());
    }
    device.rx_burst(port_1(), BURST_MAX, &mut burst);
    assert_eq!(burst.len(), BURST_MAX);
    let expected: Vec<_> = (1_000..1_010).chain(0..BURST_MAX - 10).collect();
    for (frame, number) in burst.iter().zip(expected) {
        assert_eq!(bytes(frame), test_frame(number, 60));
    }
    device.rx_burst(port_1(), BURST_MAX, &mut burst);
    assert_eq!(burst.len(), BURST_MAX, "no room, nothing received");
    let rest = receive(&mut device, 46);
    let expected: Vec<_> = (BURST_MAX - 10..sent).map(|n| test_frame(n, 60)).collect();
    assert_eq!(rest.iter().map(bytes).collect::<Vec<_>>(), expected, "and nothing lost");
}

#[test]
fn a_frame_with_a_short_first_piece_is_given_a_whole_head() {
    let pools = Pools::new(eal(), "head", 255);
    // Data of 2048 bytes: the first piece of a longer frame is 2048 bytes, less what is taken off.
    let options = PortOptions { mtu_bytes: 9_000, ..PortOptions::default() };
    let (_port, mut device) = pools.device(eal(), "net_ring_head", &options);
    let original = test_frame(1, 4_500);
    let long = pools.data.alloc_with(&original).unwrap();
    assert_eq!(long.segments(), 3);

    for taken_off in [2_048 - 127, 2_048 - 20, 2_047, 2_048] {
        let mut frame = device.copy(&long).unwrap();
        assert_eq!(frame.segments(), 3);
        assert!(frame.shrink_front(taken_off));
        assert!(frame.head().len() < HEAD_BYTES);
        send(&mut device, [frame]);
        let received = receive(&mut device, 1).remove(0);
        assert!(received.head().len() >= HEAD_BYTES, "{taken_off} off");
        assert_eq!(bytes(&received), original[taken_off..], "{taken_off} off");
    }
    drop(long);
    assert_eq!(pools.in_use(), (0, 0));
}

#[test]
fn a_frame_of_the_mtu_with_two_vlan_tags_passes() {
    let pools = Pools::new(eal(), "longest", 255);
    let options = PortOptions { mtu_bytes: 1_500, ..PortOptions::default() };
    let (_port, mut device) = pools.device(eal(), "net_ring_longest", &options);
    let lengths = [60, 1_522, 61];
    let frames = lengths.map(|length| pools.data.alloc_with(&test_frame(0, length)).unwrap());
    send(&mut device, frames);
    let received: Vec<_> = receive(&mut device, 3).iter().map(Frame::len).collect();
    assert_eq!(received, lengths);
    assert_eq!(device.drops(port_1()), DeviceDrops::default());
    assert_eq!(pools.in_use(), (0, 0));
}

#[test]
fn control_frames_are_there_when_data_has_used_up_its_pool() {
    let pools = Pools::new(eal(), "control", 31);
    let (_port, mut device) = pools.device(eal(), "net_ring_control", &PortOptions::default());
    let all: Vec<_> = std::iter::from_fn(|| pools.data.alloc()).collect();
    assert_eq!(all.len(), 31);
    assert_eq!(pools.data.available(), 0);
    assert!(device.copy(&all[0]).is_none());
    let pfc = test_frame(3, 60);
    let control = device.make_control(&pfc).unwrap();
    assert_eq!(bytes(&control), pfc);
    assert_eq!(pools.in_use(), (31, 1));
    let long = device.make_control(&[0; 65_535]).unwrap();
    assert_eq!(pools.in_use(), (31, 33));
    assert!(device.make_control(&[0; 65_535]).is_none(), "30 buffers are left, 32 are needed");
    assert_eq!(pools.in_use(), (31, 33), "what was taken for it is back");
    drop(long);
    let mut more: Vec<_> = std::iter::from_fn(|| device.make_control(&pfc)).collect();
    assert_eq!(more.len(), 62, "63 in all");
    more.clear();
    drop((control, all));
    assert_eq!(pools.in_use(), (0, 0));
}

#[test]
fn frames_freed_and_allocated_on_registered_threads_all_come_home() {
    let data = Pool::new(eal(), "threads", 4_095, 2_048, 256).unwrap();
    thread::scope(|scope| {
        for number in 0..3 {
            let data = &data;
            scope.spawn(move || {
                let _lcore = lcore::register_thread(eal()).unwrap();
                for round in 0..2_000 {
                    let frames: Vec<_> = (0..64).map_while(|_| data.alloc()).collect();
                    assert!(!frames.is_empty(), "thread {number}, round {round}");
                }
            });
        }
    });
    assert_eq!(data.in_use(), 0);
    assert_eq!(data.available(), 4_095);
}

#[test]
fn properties_of_a_virtual_port() {
    let pools = Pools::new(eal(), "info", 63);
    let (port, queues) =
        Port::open(eal(), "net_ring_info", &PortOptions::default(), &pools.data).unwrap();
    let info = port.info();
    assert_eq!((info.driver.as_str(), info.is_virtual), ("net_ring", true));
    assert_eq!(info.flow_control, FlowControl::Virtual);
    assert!(port.is_up());
    let again = Port::open(eal(), "net_ring_info", &PortOptions::default(), &pools.data);
    assert!(again.is_err(), "a device is opened once");

    let cap = TxCap { speed: Speed::from_gbps(10), bytes: 3_000 };
    let ports = vec![DevicePort { port: port_1(), queues, tx_cap: Some(cap) }];
    let mut device = DpdkDevice::new(ports, vec![], vec![], &pools.data, &pools.control);
    assert_eq!(port.info().rx_backlog, BacklogSource::None, "a sender waits");
    assert_eq!(device.rx_backlog_frames(port_1()), None);
    assert_eq!(device.tx_room_bytes(port_1(), Instant::ZERO), 3_000);
    send(&mut device, [pools.data.alloc_with(&test_frame(0, 976)).unwrap()]);
    assert_eq!(device.tx_room_bytes(port_1(), Instant::ZERO), 2_000);
    assert_eq!(device.tx_room_bytes(port_1(), Instant::from_ns(1_000_000)), 3_000);

    drop((port, device));
    let (_port, _queues) =
        Port::open(eal(), "net_ring_info", &PortOptions::default(), &pools.data).unwrap();
}

#[test]
fn a_pool_that_cannot_be_is_refused_with_the_reason() {
    for (frames, room, cache, wrong) in [
        (0, 2_048, 0, "at least one frame"),
        (63, 100, 0, "128 to 65407"),
        (63, u16::MAX, 0, "128 to 65407"),
        (63, 2_048, 63, "two thirds"),
        (4_095, 2_048, 513, "at most 512"),
        (10_000_000, 9_000, 0, "MB"),
    ] {
        let error = Pool::new(eal(), "refused", frames, room, cache).unwrap_err().to_string();
        assert!(error.contains(wrong), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}
