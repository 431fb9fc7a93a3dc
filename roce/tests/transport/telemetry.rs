//! In-band telemetry: a packet has room for it, a switch writes it, the acknowledgment says it.

use dataplane::time::Instant;
use dataplane::wire::telemetry::{BYTES, Hop, Stack};
use roce::congestion::{Algorithm, Congestion, HpccParameters, PathFacts};
use roce::memory::{NoMemory, Region};
use roce::psn::Psn;
use roce::time::PS_PER_US;
use roce::work::{Operation, Place, QueuePairId, ReceiveRequest, WorkRequest};
use roce::{Departure, Endpoint, EndpointSettings, Peer, QueuePairSettings};
use std::net::IpAddr;

/// After Ethernet and UDP on IPv4 or IPv6.
const STACK_AT: [usize; 2] = [42, 62];
/// BTH and AETH.
const ACKNOWLEDGE_BYTES: usize = 16;

fn endpoint(own: u8, peer: u8, is_v6: bool) -> (Endpoint, QueuePairId, Place) {
    let mac = |last| dataplane::wire::MacAddress([2, 0, 0, 0, 0, last]);
    let ip = |last: u8| -> IpAddr {
        match is_v6 {
            true => [0xFD00, 0, 0, 0, 0, 0, 0, u16::from(last)].into(),
            false => [10, 0, 0, last].into(),
        }
    };
    let mut endpoint = Endpoint::new(EndpointSettings::new(mac(own), ip(own)));
    let (region, _) = endpoint.register(Region { address: 0, bytes: 1 << 20, is_remote: false });
    let path = PathFacts {
        speed_bps: 100_000_000_000,
        base_rtt_ps: 10 * PS_PER_US,
        packet_bytes: 1_024,
        hops: 1,
    };
    let algorithm = Algorithm::Hpcc(HpccParameters::default());
    let settings = QueuePairSettings { acknowledge_every: 1, ..QueuePairSettings::default() };
    let (queue_pair, number) =
        endpoint.create_queue_pair(settings, Congestion::new(&algorithm, &path));
    let peer = Peer { mac: mac(peer), ip: ip(peer), queue_pair: number, psn: Psn::new(0) };
    endpoint.connect(queue_pair, peer);
    (endpoint, queue_pair, Place { region, offset: 0 })
}

/// The next frame, whole.
fn next(endpoint: &mut Endpoint, now_ps: u64) -> Option<Vec<u8>> {
    let mut head = [0; roce::wire::HEAD_BYTES_MAX];
    let departure: Departure = endpoint.transmit(now_ps, 0, &mut head)?;
    let mut frame = Vec::new();
    let payload = vec![7; usize::try_from(departure.payload_bytes).unwrap()];
    departure.write_frame(&head, &payload, &mut frame);
    Some(frame)
}

#[test]
fn what_a_switch_writes_comes_back_and_lowers_the_window() {
    for (is_v6, at) in [false, true].into_iter().zip(STACK_AT) {
        let (mut sender, from, local) = endpoint(1, 2, is_v6);
        let (mut receiver, to, buffer) = endpoint(2, 1, is_v6);
        let window = |sender: &Endpoint| sender.congestion(from).unwrap().window_bytes().unwrap();
        let first = window(&sender);
        for round in 0..3_u32 {
            let now_ps = u64::from(round) * 20 * PS_PER_US;
            let receive = ReceiveRequest { id: 0, local: buffer, bytes: 4_096 };
            receiver.post_receive(to, receive).unwrap();
            let operation = Operation::Send { immediate: Some(9) };
            let work = WorkRequest { id: 1, operation, local, bytes: 1_000 };
            sender.post(now_ps, from, work).unwrap();
            let mut frame = next(&mut sender, now_ps).expect("a packet");
            assert_eq!(frame[at - 6..at - 4], 4799_u16.to_be_bytes());
            assert_eq!(frame[at..at + BYTES], [0; BYTES]);
            // A link of 100 Gb/s that is full, and has a queue of four times its RTT.
            let mut stack = Stack::read(&frame[at..]).unwrap();
            let sent_bytes = u64::from(round) * 250_000;
            let hop = Hop::new(2, Instant::from_ns(now_ps / 1_000), sent_bytes, 500_000);
            assert!(stack.push(5, hop));
            frame[at..at + BYTES].copy_from_slice(stack.as_bytes());
            receiver.receive(now_ps, &frame, frame.len(), &mut NoMemory);
            assert_eq!(receiver.poll_completion().expect("it was received").bytes, 1_000);
            let answer = next(&mut receiver, now_ps).expect("an acknowledgment");
            assert_eq!(answer[at - 6..at - 4], 4791_u16.to_be_bytes());
            let reflected = &answer[at + ACKNOWLEDGE_BYTES..answer.len() - 4];
            assert_eq!(reflected, stack.as_bytes());
            sender.receive(now_ps, &answer, answer.len(), &mut NoMemory);
            assert!(sender.poll_completion().is_some());
            assert_eq!(sender.counters().bad_length + receiver.counters().bad_icrc, 0);
        }
        // Twice a utilization of 1 + 4 against 0.95, and 80 bytes more.
        let smaller = |window: f64| window * 0.95 / 5.0 + 80.0;
        let wanted = smaller(smaller(125_000.0));
        let last = window(&sender) as f64;
        assert!(first == 125_000 && (last / wanted - 1.0).abs() < 0.01, "{last}, not {wanted}");
    }
}

#[test]
fn a_damaged_packet_with_telemetry_is_dropped() {
    let (mut sender, from, local) = endpoint(1, 2, false);
    let (mut receiver, ..) = endpoint(2, 1, false);
    let operation = Operation::Send { immediate: None };
    sender.post(0, from, WorkRequest { id: 1, operation, local, bytes: 1_000 }).unwrap();
    let mut frame = next(&mut sender, 0).expect("a packet");
    let after = STACK_AT[0] + BYTES + 20;
    frame[after] ^= 1;
    receiver.receive(0, &frame, frame.len(), &mut NoMemory);
    let counters = receiver.counters();
    assert_eq!((counters.bad_icrc, counters.received_packets), (1, 0));
}
