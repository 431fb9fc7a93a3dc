//! Every kind of packet, byte for byte as scapy builds it.

use crate::golden;
use crate::wire::{PAIR, REGION_BYTES, Wire};
use roce::QueuePairSettings;
use roce::memory::RegionId;
use roce::wire::AtomicOperation;
use roce::work::{Operation, Place, ReceiveRequest};

const PLACE: Place = Place { region: RegionId(0), offset: 0 };

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn wire(is_v6: bool) -> Wire {
    let mut bytes: Vec<u8> = (1..=255).chain(0..=255).collect();
    bytes.resize(REGION_BYTES, 0);
    let tci = is_v6.then_some(3 << 13 | 100);
    let settings = QueuePairSettings { mtu: 256, tci, ..QueuePairSettings::default() };
    Wire::new(&settings, [&[bytes.clone()], &[bytes]], 1, is_v6)
}

/// The frames that an operation of 300 bytes or fewer makes, both ways.
fn frames(
    mut wire: Wire,
    operation: impl FnOnce(&Wire) -> Operation,
    bytes: u32,
    buffers: u64,
) -> Vec<String> {
    for id in 0..buffers {
        let buffer = ReceiveRequest { id, local: PLACE, bytes: 4_096 };
        wire.sides[1].endpoint.post_receive(PAIR, buffer).unwrap();
    }
    let operation = operation(&wire);
    wire.post(0, 1, operation, PLACE, bytes);
    // Before the first retransmission and the first RNR timer.
    wire.run(100 * roce::time::PS_PER_US);
    wire.log.iter().map(|frame| hex(frame)).collect()
}

#[test]
fn messages() {
    let send = frames(wire(false), |_| Operation::Send { immediate: None }, 5, 1);
    assert_eq!(send[0], golden::SEND_ONLY);
    let immediate = Some(0xDEAD_BEEF);
    let send = frames(wire(false), |_| Operation::Send { immediate }, 4, 1);
    assert_eq!(send[0], golden::SEND_ONLY_IMMEDIATE);
    let refused = frames(wire(false), |_| Operation::Send { immediate }, 4, 0);
    assert_eq!(refused[1], golden::RNR_NAK);
}

#[test]
fn writes() {
    let write = |wire: &Wire| {
        let remote = wire.sides[1].remote(0, 8);
        Operation::Write { remote, immediate: Some(0x0102_0304) }
    };
    let write = frames(wire(false), write, 300, 1);
    let wanted = [golden::WRITE_FIRST, golden::WRITE_LAST_IMMEDIATE, golden::ACKNOWLEDGE];
    assert_eq!(write, wanted);
    let write = |wire: &Wire| {
        let remote = wire.sides[1].remote(0, 0);
        Operation::Write { remote, immediate: None }
    };
    assert_eq!(frames(wire(true), write, 4, 0)[0], golden::WRITE_ONLY_V6);
}

#[test]
fn reads() {
    let read = |wire: &Wire| Operation::Read { remote: wire.sides[1].remote(0, 8) };
    let read = frames(wire(false), read, 300, 0);
    let wanted = [golden::READ_REQUEST, golden::READ_RESPONSE_FIRST, golden::READ_RESPONSE_LAST];
    assert_eq!(read, wanted);
    let outside = |wire: &Wire| {
        let remote = wire.sides[1].remote(0, u64::try_from(REGION_BYTES).unwrap() - 299);
        Operation::Read { remote }
    };
    assert_eq!(frames(wire(false), outside, 300, 0)[1], golden::NAK_ACCESS);
}

#[test]
fn atomics() {
    let atomic = |operation| {
        let operation =
            move |wire: &Wire| Operation::Atomic { remote: wire.sides[1].remote(0, 0), operation };
        frames(wire(false), operation, 8, 0)
    };
    let add = atomic(AtomicOperation::FetchAdd { add: 7 });
    // The number of eight bytes has the machine's order in memory, and the network's on the wire.
    assert_eq!(add[0], golden::FETCH_ADD);
    if cfg!(target_endian = "little") {
        assert_eq!(add[1], golden::ATOMIC_ACKNOWLEDGE);
    }
    let swap = atomic(AtomicOperation::CompareSwap { compare: 3, swap: 9 });
    assert_eq!(swap[0], golden::COMPARE_SWAP);
}

#[test]
fn congestion_notifications() {
    let mut wire = wire(false);
    wire.marks = true;
    let send = frames(wire, |_| Operation::Send { immediate: None }, 5, 1);
    assert!(send.iter().any(|frame| frame == golden::CNP), "{send:?}");
}
