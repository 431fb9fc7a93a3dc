//! Any packets at a RoCE endpoint, between requests of its own: nothing panics, memory is touched
//! inside its regions only, each request ends once at the most, and what the endpoint sends is read
//! by its own parser, CRC included.

use dataplane::wire::MacAddress;
use roce::congestion::{Algorithm, Congestion, PathFacts};
use roce::memory::{Memory, Region, RegionId};
use roce::psn::Psn;
use roce::time::PS_PER_US;
use roce::wire::{AtomicOperation, HEAD_BYTES_MAX, Packet};
use roce::work::{Operation, Place, PostError, QueuePairId, ReceiveRequest, Remote, WorkRequest};
use roce::{Endpoint, EndpointSettings, Peer, QueuePairSettings, Recovery};
use std::net::Ipv4Addr;

const REGION_BYTES: u64 = 10_000;
const ADDRESS: u64 = 0x1000;
const PAIRS: u32 = 2;
/// The number of the first queue pair, unless told otherwise.
const FIRST_PAIR: u8 = 0x11;
const PLACE: Place = Place { region: RegionId(0), offset: 0 };
/// Frames that one input may make it send in a row: more would be an endless loop.
const FRAMES_MAX: usize = 100_000;

/// Memory that only checks.
struct Bounds;

impl Memory for Bounds {
    fn write(&mut self, place: Place, payload: &[u8]) {
        let bytes = u64::try_from(payload.len()).expect("a length");
        assert!(place.region == RegionId(0) && place.offset + bytes <= REGION_BYTES, "{place:?}");
    }

    fn atomic(&mut self, place: Place, _operation: AtomicOperation) -> u64 {
        assert!(place.offset + 8 <= REGION_BYTES && place.offset.is_multiple_of(8), "{place:?}");
        0
    }
}

const fn mac(last: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, 0, last])
}

const fn ip(last: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, last)
}

fn endpoint() -> (Endpoint, u32) {
    let settings =
        EndpointSettings { checks_icrc: false, ..EndpointSettings::new(mac(1), ip(1).into()) };
    let mut endpoint = Endpoint::new(settings);
    let region = Region { address: ADDRESS, bytes: REGION_BYTES, is_remote: true };
    let (_, key) = endpoint.register(region);
    let path = PathFacts { speed_bps: 10_000_000_000, base_rtt_ps: 1, packet_bytes: 256, hops: 1 };
    let selective = Recovery::SelectiveRepeat { window_packets: 70 };
    for (recovery, algorithm) in [(Recovery::GoBackN, "dcqcn"), (selective, "swift")] {
        let settings = QueuePairSettings {
            mtu: 256,
            recovery,
            timeout_ps: 50 * PS_PER_US,
            retries: 3,
            ..QueuePairSettings::default()
        };
        let algorithm = Algorithm::from_name(algorithm).expect("it is known");
        let (pair, number) =
            endpoint.create_queue_pair(settings, Congestion::new(&algorithm, &path));
        let peer = Peer { mac: mac(2), ip: ip(2).into(), queue_pair: number, psn: Psn::new(0) };
        endpoint.connect(pair, peer);
    }
    (endpoint, key)
}

/// Takes the next byte of the input; 0 after its end.
fn take(data: &mut &[u8]) -> u8 {
    let Some((first, rest)) = data.split_first() else { return 0 };
    *data = rest;
    *first
}

/// A frame of the peer's around a transport part.
fn frame(part: &[u8]) -> Vec<u8> {
    let total = u16::try_from(20 + 8 + part.len() + 4).expect("it is short");
    let mut ip_header = [0x45, 3, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1];
    ip_header[2..4].copy_from_slice(&total.to_be_bytes());
    let sum: u32 =
        ip_header.chunks(2).map(|two| u32::from(u16::from_be_bytes([two[0], two[1]]))).sum();
    let folded = (sum & 0xFFFF) + (sum >> 16);
    let checksum = !u16::try_from((folded & 0xFFFF) + (folded >> 16)).expect("16 bits");
    ip_header[10..12].copy_from_slice(&checksum.to_be_bytes());
    let udp = [[0xC0, 0], 4_791_u16.to_be_bytes(), (total - 20).to_be_bytes(), [0, 0]].concat();
    [&mac(1).0[..], &mac(2).0, &[8, 0], &ip_header, &udp, part, &[0; 4]].concat()
}

/// The transport part that the input describes: mostly well formed, with numbers near what is
/// expected.
fn part(data: &mut &[u8], key: u32, near: u32) -> Vec<u8> {
    let code = take(data);
    let code = if code & 0x80 == 0 { code % 0x18 } else { 0x81 };
    let flags = take(data);
    let psn = near.wrapping_add(u32::from(take(data)) % 8).wrapping_sub(3) & 0xFF_FFFF;
    let [_, p0, p1, p2] = psn.to_be_bytes();
    let pair = FIRST_PAIR + take(data) % 3;
    let mut part = vec![code, flags & 0x30, 0xFF, 0xFF, 0, 0, 0, pair, flags & 0x80, p0, p1, p2];
    if matches!(code, 0x06 | 0x0A | 0x0B | 0x0C | 0x13 | 0x14) {
        let address = ADDRESS + u64::from(take(data)) * 40;
        part.extend(address.to_be_bytes());
        part.extend((key + u32::from(take(data) / 250)).to_be_bytes());
    }
    if matches!(code, 0x06 | 0x0A | 0x0B | 0x0C) {
        part.extend((u32::from(take(data)) * 8).to_be_bytes());
    }
    for _ in 0..flags & 0x0F {
        part.push(take(data));
    }
    let payload = [0, 256, 4, 100][usize::from(take(data) % 4)];
    part.resize(part.len() + payload, 0);
    part
}

/// Posts what the input says; whether it was taken.
fn post(endpoint: &mut Endpoint, data: &mut &[u8], now_ps: u64, key: u32, id: u64) -> bool {
    let pair = QueuePairId(u32::from(take(data)) % PAIRS);
    let bytes = u32::from(take(data)) * 16;
    let remote = Remote { address: ADDRESS, key };
    let operation = match take(data) % 5 {
        0 => Operation::Send { immediate: None },
        1 => Operation::Write { remote, immediate: Some(1) },
        2 => Operation::Read { remote },
        3 => Operation::Atomic { remote, operation: AtomicOperation::FetchAdd { add: 1 } },
        _ => {
            let buffer = ReceiveRequest { id, local: PLACE, bytes };
            return endpoint.post_receive(pair, buffer).is_ok();
        }
    };
    let posted = endpoint.post(now_ps, pair, WorkRequest { id, operation, local: PLACE, bytes });
    assert!(!matches!(posted, Err(PostError::LocalMemory | PostError::NotConnected)), "{posted:?}");
    posted.is_ok()
}

/// Sends all that the endpoint has, and reads it.
fn transmit(endpoint: &mut Endpoint, now_ps: u64, paused_bits: u8) {
    let mut head = [0; HEAD_BYTES_MAX];
    let mut bytes = Vec::new();
    for sent in 0.. {
        let Some(departure) = endpoint.transmit(now_ps, paused_bits, &mut head) else { break };
        assert!(sent < FRAMES_MAX, "it sends without end");
        assert_eq!(paused_bits >> departure.priority & 1, 0, "{departure:?}");
        let payload = vec![0x77; usize::try_from(departure.payload_bytes).expect("a length")];
        departure.write_frame(&head, &payload, &mut bytes);
        let read = Packet::parse(&bytes, bytes.len(), true).expect("what it sends can be read");
        assert_eq!(read.kind(), departure.kind);
        // As an emulator has it.
        let read = Packet::parse(&head[..departure.head_bytes], departure.frame_bytes, true)
            .expect("the head is enough");
        assert_eq!(read.kind(), departure.kind);
    }
    assert!(endpoint.wants_turn_at_ps(paused_bits) > now_ps, "nothing is left to do now");
}

/// Runs the script `data`.
pub fn run(data: &[u8]) {
    let mut raw = Endpoint::new(EndpointSettings::new(mac(1), ip(1).into()));
    raw.receive(0, data, data.len(), &mut Bounds);
    let (mut endpoint, key) = endpoint();
    let (mut script, mut now_ps, mut posted, mut ended) = (data, 1, Vec::new(), 0);
    while !script.is_empty() {
        match take(&mut script) % 8 {
            0 | 1 => {
                let id = u64::try_from(posted.len()).expect("a count");
                if post(&mut endpoint, &mut script, now_ps, key, id) {
                    posted.push(true);
                }
            }
            2 => now_ps += u64::from(take(&mut script)) * PS_PER_US,
            3 => transmit(&mut endpoint, now_ps, take(&mut script)),
            4 => transmit(&mut endpoint, now_ps, 0),
            near => {
                let part = part(&mut script, key, u32::from(near % 2) * 4);
                let frame = frame(&part);
                endpoint.receive(now_ps, &frame, frame.len(), &mut Bounds);
            }
        }
        while let Some(completion) = endpoint.poll_completion() {
            let at = usize::try_from(completion.id).expect("an index");
            assert!(std::mem::take(&mut posted[at]), "{completion:?} ends twice");
            ended += 1;
        }
    }
    assert!(ended <= posted.len());
}
