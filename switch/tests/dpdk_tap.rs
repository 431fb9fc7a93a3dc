//! Taps and interfaces of the kernel under a device: one switch each, their link wherever they are,
//! and what their queues lose. Needs root; without, each test says so and does nothing.
#![cfg(feature = "dpdk")]

#[allow(dead_code, reason = "each test file uses a part of it")]
#[path = "rig/netns.rs"]
mod netns;
#[allow(dead_code, reason = "each test file uses a part of it")]
mod rig;

use dataplane::device::Device;
use dataplane::frame::Burst;
use netns::{Other, enter_own, ip, sender, wait_until};
use rig::{Pools, eal, receive};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use switch::dpdk::port::{Port, PortOptions, PortQueues};
use switch::dpdk::rx_backlog::BacklogSource;
use switch::dpdk::rx_queue::RxLosses;

/// A namespace of the test's own, and no other test beside it: the descriptors of DPDK's taps pass
/// to every process that any thread starts, which then has the tap open too.
fn alone() -> Option<MutexGuard<'static, ()>> {
    static ONE: Mutex<()> = Mutex::new(());
    let alone = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    enter_own().then_some(alone)
}

fn open(pools: &Pools, device: &str) -> Result<(Arc<Port>, PortQueues), String> {
    Port::open(eal(), device, &PortOptions::default(), &pools.data).map_err(|it| it.to_string())
}

/// Why `device` cannot be opened.
fn refused(pools: &Pools, device: &str) -> String {
    let error = open(pools, device).map(drop).unwrap_err();
    assert_eq!(error.lines().count(), 1, "{error}");
    println!("{error}");
    error
}

#[test]
fn what_is_no_free_tap_is_refused_and_left_as_it_is() {
    let Some(_alone) = alone() else { return };
    let pools = Pools::new(eal(), "refused", 511);
    for (make, wrong, right) in [
        ("tuntap add kt0 mode tap", "made for one queue", "multi_queue"),
        ("tuntap add kt0 mode tun", "no tap but of kind tun", "iface="),
        ("link add kt0 type veth peer name kt1", "no tap but of kind veth", "iface="),
    ] {
        ip(make);
        let before = ip("-o link show kt0");
        let error = refused(&pools, "net_tap_refused,iface=kt0");
        assert!(error.contains(wrong) && error.contains(right), "{error}");
        assert_eq!(ip("-o link show kt0"), before, "untouched");
        ip("link del kt0");
    }
    let long = refused(&pools, "net_tap_refused,iface=a-name-of-16-byt");
    assert!(long.contains("up to 15 bytes"), "{long}");
    assert_eq!(pools.in_use(), (0, 0));
}

#[test]
fn a_tap_of_another_port_or_process_is_refused_and_free_when_that_ends() {
    let Some(_alone) = alone() else { return };
    let pools = Pools::new(eal(), "taken", 1_023);
    let held = open(&pools, "net_tap_first,iface=kt0").unwrap();
    let before = ip("-o link show kt0");
    let error = refused(&pools, "net_tap_second,iface=kt0");
    assert!(error.contains("kt0 is in use by another port of this switch"), "{error}");
    assert_eq!(ip("-o link show kt0"), before, "its MAC address and state too");
    let error = refused(&pools, "net_tap_first,iface=kt1");
    assert!(error.contains("another port of this switch has it open"), "{error}");
    drop(held);
    assert!(open(&pools, "net_tap_second,iface=kt0").is_ok(), "free again");

    // A process that has a persistent tap open, and is killed.
    ip("tuntap add kt2 mode tap multi_queue");
    let script = "import fcntl,struct,time\n\
                  f=open('/dev/net/tun','r+b',buffering=0)\n\
                  fcntl.ioctl(f,0x400454ca,struct.pack('16sH22x',b'kt2',0x1102))\n\
                  print('open',flush=True)\ntime.sleep(60)";
    let mut other =
        Command::new("python3").args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
    let mut message = [0; 4];
    std::io::Read::read_exact(other.stdout.as_mut().unwrap(), &mut message).unwrap();
    let error = refused(&pools, "net_tap_third,iface=kt2");
    assert!(error.contains(&format!("in use by process {} (python3", other.id())), "{error}");
    other.kill().unwrap();
    other.wait().unwrap();
    let persistent = open(&pools, "net_tap_third,iface=kt2").unwrap();
    drop(persistent);
    assert!(ip("-o link show kt2").contains("kt2"), "it stays");
    assert_eq!(pools.in_use(), (0, 0));
}

#[test]
fn a_tap_that_moved_away_leaves_its_name_free() {
    let Some(_alone) = alone() else { return };
    let pools = Pools::new(eal(), "moved", 1_023);
    let other = Other::new();
    let first = open(&pools, "net_tap_one,iface=kt0").unwrap();
    ip(&format!("link set kt0 netns {}", other.path()));
    let second = open(&pools, "net_tap_two,iface=kt0").unwrap();
    other.ip("link set kt0 up");
    wait_until("both up", || first.0.is_up() && second.0.is_up());
    ip("link set kt0 down");
    wait_until("the second down", || !second.0.is_up());
    assert!(first.0.is_up(), "each looks at its own");
}

/// The control thread asks ports every 100 ms, so what the port knows after this, the worker knows
/// within 200 ms.
const NOTICED: Duration = Duration::from_millis(100);

#[test]
fn the_link_is_that_of_the_interface_wherever_it_is_and_whatever_its_name() {
    let Some(_alone) = alone() else { return };
    let pools = Pools::new(eal(), "link", 511);
    let other = Other::new();
    let (port, _queues) = open(&pools, "net_tap_link,iface=kt0").unwrap();
    for _ in 0..100 {
        assert!(port.is_up(), "up from the start, without a break");
        std::thread::sleep(Duration::from_millis(3));
    }
    let mut slowest = Duration::ZERO;
    let mut noticed = |what: &str, up: bool| {
        slowest = slowest.max(wait_until(what, || port.is_up() == up));
        std::thread::sleep(2 * NOTICED);
        assert_eq!(port.is_up(), up, "{what}, and it stays so");
    };
    ip("link set kt0 down");
    noticed("down", false);
    ip("link set kt0 up");
    noticed("up", true);
    ip(&format!("link set kt0 netns {} name eth7", other.path()));
    noticed("moved, which sets it down", false);
    other.ip("link set eth7 up");
    noticed("up there", true);
    other.ip("link set eth7 down");
    noticed("down there", false);
    other.ip("link set eth7 name eth8");
    other.ip("link set eth8 up");
    noticed("up by another name", true);
    assert!(!port.is_deleted());
    other.ip("link del eth8");
    noticed("deleted", false);
    assert!(port.is_deleted());
    assert!(slowest < NOTICED, "{slowest:?}");
    println!("the slowest of 7 changes was noticed after {slowest:?}");
}

#[test]
fn what_a_full_tap_loses_is_counted_to_the_frame() {
    let Some(_alone) = alone() else { return };
    let pools = Pools::new(eal(), "missed", 1_023);
    // History of a persistent tap is not this switch's.
    ip("tuntap add kt0 mode tap multi_queue");
    ip("link set kt0 txqueuelen 10");
    let options = PortOptions { rx_queue_frames: Some(100), ..PortOptions::default() };
    for round in 0..2 {
        let (port, mut device) = pools.device(eal(), "net_tap_missed,iface=kt0", &options);
        assert_eq!(port.info().rx_queue_frames, Some(100));
        assert!(ip("-o link show kt0").contains("qlen 100"), "{}", ip("-o link show kt0"));
        let sender = sender("kt0");
        for number in 0_u32..250 {
            sender.send(&number.to_be_bytes()).unwrap();
        }
        wait_until("150 lost", || port.counters().rx_missed_frames == 150);
        for (number, frame) in (0_u32..).zip(receive(&mut device, 100)) {
            let frame = rig::bytes(&frame);
            assert_eq!(
                frame[..6],
                [2, 0, 0, 0, 0, 2],
                "round {round}: a frame begins where it begins"
            );
            assert_eq!(frame[42..46], number.to_be_bytes(), "round {round}");
        }
        assert_eq!(port.counters().rx_frames, 100);
        assert_eq!(port.counters().rx_missed_frames, 150);
        // Wherever it is.
        let other = Other::new();
        ip(&format!("link set kt0 netns {}", other.path()));
        std::thread::sleep(NOTICED);
        assert_eq!(port.counters().rx_missed_frames, 150);
        other.ip(&format!("link set kt0 netns /proc/{}/ns/net", nix::unistd::gettid()));
        ip("link set kt0 down");
    }
}

#[test]
fn the_backlog_of_a_tap_is_what_came_in_full_bursts_in_a_row() {
    let Some(_alone) = alone() else { return };
    let pools = Pools::new(eal(), "backlog", 1_023);
    let options = PortOptions { rx_queue_frames: Some(1_000), ..PortOptions::default() };
    let (port, mut device) = pools.device(eal(), "net_tap_backlog,iface=kt0", &options);
    assert_eq!(port.info().rx_backlog, BacklogSource::FullBursts);
    let sender = sender("kt0");
    for number in 0_u32..200 {
        sender.send(&number.to_be_bytes()).unwrap();
    }
    let mut backlog_after = |frames_max| {
        let mut burst = Burst::new();
        device.rx_burst(rig::port_1(), frames_max, &mut burst);
        let received = burst.len();
        device.recycle(&mut burst);
        (received, device.rx_backlog_frames(rig::port_1()))
    };
    assert_eq!(backlog_after(64), (64, Some(64)));
    assert_eq!(backlog_after(64), (64, Some(128)));
    assert_eq!(backlog_after(0), (0, Some(128)), "no room: nothing is known");
    assert_eq!(backlog_after(8), (8, Some(136)));
    assert_eq!(backlog_after(64), (64, Some(200)));
    let (received, backlog) = backlog_after(64);
    assert!(received < 64, "{received}");
    assert_eq!(backlog, Some(0), "the queue is empty");
}

#[test]
fn a_tap_that_is_not_given_a_queue_keeps_its_own() {
    let Some(_alone) = alone() else { return };
    let pools = Pools::new(eal(), "own", 511);
    ip("tuntap add kt0 mode tap multi_queue");
    ip("link set kt0 txqueuelen 321");
    let (port, _queues) = open(&pools, "net_tap_own,iface=kt0").unwrap();
    assert_eq!(port.info().rx_queue_frames, Some(321));
    let (port, _queues) = open(&pools, "net_tap_named").unwrap();
    assert!(ip("-o link").contains(": dtap0:"), "the kernel chose a name");
    println!("a new tap keeps {:?} frames", port.info().rx_queue_frames);
}

#[test]
fn what_a_full_packet_socket_loses_is_counted_and_its_interface_is_held() {
    let Some(_alone) = alone() else { return };
    let pools = Pools::new(eal(), "packet", 1_023);
    ip("link add va type veth peer name vb");
    ip("link set va up");
    ip("link set vb up");
    let device = "net_af_packet_p,iface=vb,framecnt=32,blocksz=4096";
    let (port, mut driven) = pools.device(eal(), device, &PortOptions::default());
    assert_eq!(port.info().rx_queue_frames, Some(32));
    assert!(matches!(port.info().rx_losses, RxLosses::Counted { .. }));
    let error = refused(&pools, "net_af_packet_q,iface=vb");
    assert!(error.contains("interface vb is in use by another port of this switch"), "{error}");
    let error = refused(&pools, "net_pcap_q,iface=vb");
    assert!(error.contains("interface vb is in use"), "{error}");
    let sender = sender("va");
    for number in 0_u32..200 {
        sender.send(&number.to_be_bytes()).unwrap();
    }
    wait_until("some lost", || port.counters().rx_missed_frames > 0);
    let missed = usize::try_from(port.counters().rx_missed_frames).unwrap();
    assert_eq!(receive(&mut driven, 200 - missed).len() + missed, 200);
    assert_eq!(missed, 200 - 32);
    drop((port, driven));
    assert!(open(&pools, "net_af_packet_q,iface=vb").is_ok(), "free again");
    assert_eq!(pools.in_use(), (0, 0));
}
