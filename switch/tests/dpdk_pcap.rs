//! Frames through `net_pcap`: what is in a file arrives to the byte, and what is sent is in the
//! file to the byte, in one piece or several, and every buffer comes home.
#![cfg(feature = "dpdk")]

#[allow(dead_code, reason = "each test file uses a part of it")]
mod pcap;
#[allow(dead_code, reason = "each test file uses a part of it")]
mod rig;

use dataplane::device::Device;
use dataplane::frame::{Frame, HEAD_BYTES};
use pcap::{read_pcap, write_pcap};
use rig::{Folder, Pools, bytes, eal, receive, send, test_frame};
use switch::dpdk::device::DeviceDrops;
use switch::dpdk::port::{Port, PortOptions};

fn through_files(name: &str, options: &PortOptions, frames: &[Vec<u8>]) {
    let folder = Folder::new(name);
    let (input, output) = (folder.file("in.pcap"), folder.file("out.pcap"));
    write_pcap(&input, frames);
    let pools = Pools::new(eal(), name, 511);
    let vdev = format!("net_pcap_{name},rx_pcap={},tx_pcap={}", input.display(), output.display());
    let (port, mut device) = pools.device(eal(), &vdev, options);

    let received = receive(&mut device, frames.len());
    let as_bytes: Vec<_> = received.iter().map(bytes).collect();
    assert_eq!(as_bytes, frames);
    for frame in &received {
        assert!(frame.head().len() >= HEAD_BYTES.min(frame.len()));
    }
    assert_eq!(
        pools.in_use().0 as usize,
        received.iter().map(|f| usize::from(f.segments())).sum::<usize>()
    );
    send(&mut device, received);
    assert_eq!(pools.in_use(), (0, 0), "every buffer is home");
    assert_eq!(device.drops(rig::port_1()), DeviceDrops::default());
    assert_eq!(port.counters().rx_frames, frames.len() as u64);
    assert_eq!(port.counters().tx_frames, frames.len() as u64);

    drop((port, device));
    assert_eq!(read_pcap(&output), frames);
}

#[test]
fn ordinary_frames_pass_unchanged() {
    let lengths = [60, 61, 64, 127, 128, 129, 1_000, 1_514, 1_518, 1_522];
    let frames: Vec<_> = (0..200).map(|n| test_frame(n, lengths[n % lengths.len()])).collect();
    through_files("ordinary", &PortOptions::default(), &frames);
}

#[test]
fn jumbo_frames_pass_unchanged_in_pieces() {
    let options = PortOptions { mtu_bytes: 9_000, ..PortOptions::default() };
    let lengths = [60, 2_047, 2_048, 2_049, 4_096, 9_014, 9_022];
    let frames: Vec<_> = (0..70).map(|n| test_frame(n, lengths[n % lengths.len()])).collect();
    through_files("jumbo", &options, &frames);
}

#[test]
fn a_jumbo_frame_is_copied_and_its_front_rewritten_without_touching_the_rest() {
    let folder = Folder::new("rewrite");
    let (input, output) = (folder.file("in.pcap"), folder.file("out.pcap"));
    let original = test_frame(7, 9_000);
    write_pcap(&input, std::slice::from_ref(&original));
    let pools = Pools::new(eal(), "rewrite", 63);
    let vdev = format!("net_pcap_rewrite,rx_pcap={},tx_pcap={}", input.display(), output.display());
    let options = PortOptions { mtu_bytes: 9_000, ..PortOptions::default() };
    let (port, mut device) = pools.device(eal(), &vdev, &options);

    let mut frame = receive(&mut device, 1).remove(0);
    assert_eq!(frame.segments(), 5, "9000 bytes in buffers of 2048");
    let copy = device.copy(&frame).unwrap();
    assert_eq!(bytes(&copy), original);

    assert!(frame.shrink_front(14));
    assert_eq!(bytes(&frame), original[14..]);
    assert!(frame.grow_front(18));
    frame.head_mut()[..18].fill(0xEE);
    assert_eq!(bytes(&frame)[18..], original[14..]);
    assert_eq!(frame.len(), original.len() + 4);
    assert_eq!(bytes(&copy), original, "the copy has buffers of its own");
    let refused = frame.len();
    assert!(!frame.grow_front(200), "the headroom is 128 bytes");
    assert!(!frame.shrink_front(3_000), "the first piece is shorter");
    assert_eq!(frame.len(), refused, "a refusal changes nothing");

    let expected = vec![bytes(&frame), bytes(&copy)];
    send(&mut device, [frame, copy]);
    assert_eq!(pools.in_use(), (0, 0));
    drop((port, device));
    assert_eq!(read_pcap(&output), expected);
}

#[test]
fn a_replayed_file_never_ends() {
    let folder = Folder::new("replay");
    let input = folder.file("in.pcap");
    let frames: Vec<_> = (0..10).map(|n| test_frame(n, 60 + n)).collect();
    write_pcap(&input, &frames);
    let pools = Pools::new(eal(), "replay", 1_023);
    let vdev = format!("net_pcap_replay,rx_pcap={},infinite_rx=1", input.display());
    let (port, mut device) = pools.device(eal(), &vdev, &PortOptions::default());
    let preloaded = pools.in_use().0;
    let received = receive(&mut device, 500);
    for (number, frame) in received.iter().enumerate() {
        assert_eq!(bytes(frame), frames[number % frames.len()], "frame {number}");
    }
    drop(received);
    assert_eq!(pools.in_use().0, preloaded, "only the driver's own copies are out");
    drop((port, device));
    assert_eq!(pools.in_use(), (0, 0), "and those come home when the port closes");
}

#[test]
fn a_device_that_is_not_there_is_named_with_what_would_be_right() {
    let pools = Pools::new(eal(), "missing", 63);
    for (device, wrong, right) in [
        ("net_pcap_no,rx_pcap=/no/such/file.pcap", "/no/such/file.pcap", "rx_pcap="),
        ("net_af_packet_no,iface=no-such-if", "no-such-if", "existing interface"),
        ("net_nonsense0", "net_nonsense0", "net_tap0,iface=kt0"),
        ("0000:7f:1f.7", "not started with this PCI device", "vfio-pci"),
        ("", "no device is named", "net_tap0,iface=kt0"),
        ("net_null0,size=1\0", "NUL", ""),
    ] {
        let opened = Port::open(eal(), device, &PortOptions::default(), &pools.data);
        let error = opened.unwrap_err().to_string();
        assert!(error.contains(wrong), "{device}: {error}");
        assert!(error.contains(right), "{device}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        println!("{error}");
    }
    assert_eq!(pools.in_use(), (0, 0));
}
