//! One behavior each.

use crate::wire::{Faults, PAIR, REGION_BYTES, Wire, pattern};
use roce::congestion::{Algorithm, Congestion, PathFacts};
use roce::memory::{NoMemory, RegionId, VecMemory};
use roce::psn::Psn;
use roce::time::{NEVER, PS_PER_US};
use roce::wire::{HEAD_BYTES_MAX, Kind, NakCode};
use roce::work::{
    Done, Operation, Place, PostError, QueuePairId, ReceiveRequest, Status, WorkRequest,
};
use roce::{Endpoint, EndpointSettings, Peer, QueuePairSettings, Recovery};

const PLACE: Place = Place { region: RegionId(0), offset: 0 };

fn wire(settings: &QueuePairSettings) -> Wire {
    let bytes = [pattern(1)];
    Wire::new(settings, [&bytes, &bytes], 1, false)
}

fn write(wire: &mut Wire, id: u64, bytes: u32) {
    let remote = wire.sides[1].remote(0, 0);
    wire.post(0, id, Operation::Write { remote, immediate: None }, PLACE, bytes);
}

fn statuses(wire: &Wire, side: usize) -> Vec<(u64, Status)> {
    wire.sides[side].completions.iter().map(|it| (it.id, it.status)).collect()
}

#[test]
fn a_lost_packet_costs_the_rest_with_go_back_n_and_itself_with_selective_repeat() {
    let selective = Recovery::SelectiveRepeat { window_packets: 64 };
    for (recovery, repeated) in [(Recovery::GoBackN, 2..=31), (selective, 1..=1)] {
        let settings = QueuePairSettings { recovery, ..QueuePairSettings::default() };
        let mut wire = wire(&settings);
        wire.losses = vec![1];
        write(&mut wire, 1, 32 * 1_024);
        wire.run(NEVER - 1);
        assert_eq!(statuses(&wire, 0), [(1, Status::Success)], "{recovery:?}");
        let (own, other) = (wire.sides[0].endpoint.counters(), wire.sides[1].endpoint.counters());
        assert_eq!((own.timeouts, other.duplicates), (0, 0), "{recovery:?}");
        assert!(repeated.contains(&own.retransmitted), "{recovery:?}: {own:?}");
        assert_eq!(wire.sides[1].memory.regions[0][..32 * 1_024], pattern(1)[..32 * 1_024]);
    }
}

#[test]
fn who_gets_no_answer_gives_up_after_the_retries() {
    let settings = QueuePairSettings {
        timeout_ps: 100 * PS_PER_US,
        retries: 3,
        ..QueuePairSettings::default()
    };
    let mut wire = wire(&settings);
    wire.faults = Faults { lost: 1_000, ..Faults::default() };
    write(&mut wire, 1, 100);
    write(&mut wire, 2, 100);
    wire.run(NEVER - 1);
    let wanted = [(1, Status::RetriesExceeded), (2, Status::Flushed)];
    assert_eq!(statuses(&wire, 0), wanted);
    assert_eq!(wire.now_ps, 400 * PS_PER_US, "the first time, and three retries");
    let work = WorkRequest {
        id: 3,
        operation: Operation::Send { immediate: None },
        local: PLACE,
        bytes: 1,
    };
    let endpoint = &mut wire.sides[0].endpoint;
    assert_eq!(endpoint.post(wire.now_ps, PAIR, work), Err(PostError::Failed));
}

#[test]
fn memory_of_others_is_refused_and_ends_the_connection() {
    let mut wire = wire(&QueuePairSettings::default());
    let buffer = ReceiveRequest { id: 9, local: PLACE, bytes: 100 };
    wire.sides[1].endpoint.post_receive(PAIR, buffer).unwrap();
    write(&mut wire, 1, 100);
    let mut remote = wire.sides[1].remote(0, 0);
    remote.key += 1;
    wire.post(0, 2, Operation::Read { remote }, PLACE, 10);
    write(&mut wire, 3, 100);
    wire.run(NEVER - 1);
    let refused = Status::Refused(NakCode::RemoteAccess);
    assert_eq!(statuses(&wire, 0), [(1, Status::Success), (2, refused), (3, Status::Flushed)]);
    assert_eq!(statuses(&wire, 1), [(9, Status::Flushed)]);
    let remote = wire.sides[1].remote(0, u64::try_from(REGION_BYTES).unwrap() - 9);
    let local = Place { region: RegionId(0), offset: u64::try_from(REGION_BYTES).unwrap() - 9 };
    let work = WorkRequest { id: 4, operation: Operation::Read { remote }, local, bytes: 10 };
    let refused = wire.sides[0].endpoint.post(0, PAIR, work);
    assert_eq!(refused, Err(PostError::LocalMemory));
}

#[test]
fn a_message_without_a_buffer_waits_for_one_and_not_for_ever_unless_told_to() {
    let settings =
        QueuePairSettings { rnr_retries: 2, rnr_timer: 1, ..QueuePairSettings::default() };
    let mut wire = wire(&settings);
    wire.post(0, 1, Operation::Send { immediate: None }, PLACE, 10);
    wire.run(NEVER - 1);
    assert_eq!(statuses(&wire, 0), [(1, Status::RnrRetriesExceeded)]);
    assert_eq!(wire.sides[1].endpoint.counters().rnr_sent, 3);
    let mut wire = self::wire(&QueuePairSettings { rnr_retries: 7, ..settings });
    wire.post(0, 1, Operation::Send { immediate: None }, PLACE, 10);
    wire.run(1_000 * PS_PER_US);
    let buffer = ReceiveRequest { id: 9, local: PLACE, bytes: 9 };
    assert!(wire.sides[0].completions.is_empty());
    wire.sides[1].endpoint.post_receive(PAIR, buffer).unwrap();
    wire.run(NEVER - 1);
    // Nine bytes are too few, which both sides learn.
    assert_eq!(statuses(&wire, 1), [(9, Status::LocalLength)]);
    assert_eq!(statuses(&wire, 0), [(1, Status::Refused(NakCode::InvalidRequest))]);
}

#[test]
fn a_paused_priority_sends_nothing_and_the_others_do() {
    let mut wire = wire(&QueuePairSettings::default());
    write(&mut wire, 1, 10_000);
    wire.sides[0].paused_bits = 1 << 3;
    wire.run(100 * PS_PER_US);
    assert!(wire.log.is_empty());
    assert!(wire.sides[0].endpoint.wants_turn_at_ps(1 << 3) > 100 * PS_PER_US);
    assert_eq!(wire.sides[0].endpoint.wants_turn_at_ps(1 << 2), 0);
    wire.sides[0].paused_bits = 1 << 2;
    wire.run(NEVER - 1);
    assert_eq!(statuses(&wire, 0), [(1, Status::Success)]);
}

#[test]
fn marked_packets_are_notified_of_once_an_interval() {
    let mut wire = wire(&QueuePairSettings { mtu: 4_096, ..QueuePairSettings::default() });
    wire.marks = true;
    write(&mut wire, 1, 65_536);
    write(&mut wire, 2, 65_536);
    write(&mut wire, 3, 65_536);
    wire.run(NEVER - 1);
    // 48 packets of 4,172 bytes take 160 us at 10 Gb/s.
    let (own, other) = (wire.sides[0].endpoint.counters(), wire.sides[1].endpoint.counters());
    assert_eq!(other.ecn_marked, 48);
    assert_eq!((other.cnps_sent, own.cnps_received), (4, 4));
    let cnps = wire.sides[1].departures.iter().filter(|it| it.kind == Kind::CongestionNotification);
    assert!(cnps.clone().all(|it| it.priority == 6 && it.frame_bytes == 14 + 20 + 8 + 12 + 16 + 4));
}

#[test]
fn what_is_damaged_is_dropped_and_counted() {
    let mut wire = wire(&QueuePairSettings::default());
    write(&mut wire, 1, 100);
    wire.run(NEVER - 1);
    let frame = wire.log[0].clone();
    let fresh = self::wire(&QueuePairSettings::default());
    // What routers change, and what nobody checks: MAC addresses, and the UDP checksum.
    let free = |at: usize| at < 12 || [15, 22, 24, 25, 40, 41].contains(&at);
    for at in (0..frame.len()).filter(|&at| !free(at)) {
        for bit in 0..8 {
            let mut endpoint = fresh.sides[1].endpoint.clone();
            let mut memory = VecMemory { regions: vec![vec![0; REGION_BYTES]] };
            let mut damaged = frame.clone();
            damaged[at] ^= 1 << bit;
            endpoint.receive(0, &damaged, damaged.len(), &mut memory);
            let received = endpoint.counters().received_bytes;
            // FECN, BECN and reserved bits are not covered either, and change nothing.
            assert_eq!(received, if at == 46 { 100 } else { 0 }, "byte {at}, bit {bit}");
        }
    }
    let mut endpoint = fresh.sides[1].endpoint.clone();
    for bytes in 0..frame.len() {
        endpoint.receive(0, &frame[..bytes], bytes, &mut NoMemory);
    }
    assert_eq!(endpoint.counters().received_packets, 0);
}

/// An endpoint with queue pairs to a peer that says nothing.
fn endpoint(queue_pairs: u32, algorithm: &Algorithm, speed_bps: u64) -> Endpoint {
    let settings = EndpointSettings::new(crate::wire::mac(0), crate::wire::ip(0, false));
    let mut endpoint = Endpoint::new(settings);
    let region = roce::memory::Region { address: 0, bytes: 1 << 30, is_remote: false };
    endpoint.register(region);
    let path = PathFacts { speed_bps, base_rtt_ps: 10 * PS_PER_US, packet_bytes: 1_024, hops: 1 };
    for _ in 0..queue_pairs {
        let congestion = Congestion::new(algorithm, &path);
        let (id, queue_pair) = endpoint.create_queue_pair(QueuePairSettings::default(), congestion);
        let (mac, ip) = (crate::wire::mac(1), crate::wire::ip(1, false));
        endpoint.connect(id, Peer { mac, ip, queue_pair, psn: Psn::new(0) });
    }
    endpoint
}

fn post_send(endpoint: &mut Endpoint, queue_pair: u32, bytes: u32) {
    let operation = Operation::Send { immediate: None };
    let work = WorkRequest { id: 0, operation, local: PLACE, bytes };
    endpoint.post(0, QueuePairId(queue_pair), work).unwrap();
}

#[test]
fn departures_keep_the_rate_to_the_picosecond_and_queue_pairs_take_turns() {
    let mut endpoint = endpoint(3, &Algorithm::None, 1_000_000_000);
    for queue_pair in 0..3 {
        post_send(&mut endpoint, queue_pair, 1_024 * 10);
    }
    let mut head = [0; HEAD_BYTES_MAX];
    let (mut departures, mut now_ps) = (Vec::new(), 0);
    while departures.len() < 30 {
        now_ps = endpoint.wants_turn_at_ps(0).max(now_ps);
        let departure = endpoint.transmit(now_ps, 0, &mut head).expect("it asked for a turn");
        departures.push((departure.queue_pair.0, now_ps));
    }
    // 14 + 20 + 8 + 12 + 1,024 + 4 bytes, and 24 of the wire's, at 1 ns a bit.
    let gap_ps = (1_082 + 24) * 8 * 1_000;
    for (index, (queue_pair, at_ps)) in (0_u32..).zip(departures) {
        assert_eq!(queue_pair, index % 3);
        assert_eq!(at_ps, u64::from(index / 3) * gap_ps, "packet {index}");
    }
}

#[test]
fn a_window_bounds_what_is_in_flight_and_asks_for_the_answer_that_opens_it() {
    let algorithm = Algorithm::from_name("swift").unwrap();
    let mut endpoint = endpoint(1, &algorithm, 100_000_000_000);
    let window = endpoint.congestion(PAIR).unwrap().window_bytes().unwrap();
    post_send(&mut endpoint, 0, 1 << 20);
    let mut head = [0; HEAD_BYTES_MAX];
    let (mut sent, mut now_ps, mut has_asked) = (0, 0, false);
    while now_ps < 1_000 * PS_PER_US {
        if let Some(departure) = endpoint.transmit(now_ps, 0, &mut head) {
            sent += u64::from(departure.payload_bytes);
            has_asked = head[50] & 0x80 != 0;
        }
        now_ps = endpoint.wants_turn_at_ps(0).max(now_ps + 1);
    }
    assert!(sent <= window && sent + 1_024 > window, "{sent} bytes in a window of {window}");
    assert!(has_asked, "the last packet that fits asks for an acknowledgment");
}

#[test]
fn a_thousand_queue_pairs_finish_and_each_message_once() {
    let mut sender = endpoint(1_000, &Algorithm::None, 100_000_000_000);
    let settings = EndpointSettings::new(crate::wire::mac(1), crate::wire::ip(1, false));
    let mut receiver = Endpoint::new(settings);
    let region = roce::memory::Region { address: 0, bytes: 1 << 30, is_remote: false };
    receiver.register(region);
    for _ in 0..1_000 {
        let congestion = Congestion::None { speed_bps: 100_000_000_000 };
        let (id, queue_pair) = receiver.create_queue_pair(QueuePairSettings::default(), congestion);
        let (mac, ip) = (crate::wire::mac(0), crate::wire::ip(0, false));
        receiver.connect(id, Peer { mac, ip, queue_pair, psn: Psn::new(0) });
        let buffer = ReceiveRequest { id: 1, local: PLACE, bytes: 1 << 20 };
        receiver.post_receive(id, buffer).unwrap();
    }
    (0..1_000).for_each(|queue_pair| post_send(&mut sender, queue_pair, 3_000));
    let mut head = [0; HEAD_BYTES_MAX];
    let mut now_ps = 0;
    let mut done = 0;
    while done < 2_000 {
        for (from, to) in [(0, 1), (1, 0)] {
            let ends = [&mut sender, &mut receiver];
            let [sender, receiver] = ends;
            let (from, to) =
                if (from, to) == (0, 1) { (sender, receiver) } else { (receiver, sender) };
            while let Some(departure) = from.transmit(now_ps, 0, &mut head) {
                // As an emulator has it: the headers, and a length.
                to.receive(
                    now_ps,
                    &head[..departure.head_bytes],
                    departure.frame_bytes,
                    &mut NoMemory,
                );
            }
            while let Some(completion) = to.poll_completion() {
                assert_eq!((completion.status, completion.bytes), (Status::Success, 3_000));
                assert!(matches!(completion.done, Done::Send | Done::Receive { .. }));
                done += 1;
            }
        }
        now_ps += 100_000;
    }
    assert_eq!((sender.counters().retransmitted, receiver.counters().duplicates), (0, 0));
}

#[test]
fn what_is_closed_flushes_and_hears_nothing_more() {
    let mut wire = wire(&QueuePairSettings::default());
    let buffer = ReceiveRequest { id: 9, local: PLACE, bytes: 100 };
    let other = &mut wire.sides[1];
    other.endpoint.post_receive(PAIR, buffer).unwrap();
    other.endpoint.close(PAIR);
    other.endpoint.deregister(RegionId(0));
    write(&mut wire, 1, 100);
    wire.run(100 * PS_PER_US);
    assert_eq!(statuses(&wire, 1), [(9, Status::Flushed)]);
    assert_eq!(wire.sides[1].endpoint.counters().bad_queue_pair, 1);
    assert_eq!(wire.sides[1].memory.regions[0], pattern(1));
    let refused = wire.sides[1].endpoint.post_receive(PAIR, buffer);
    assert_eq!(refused, Err(PostError::LocalMemory), "its region is gone");
}
