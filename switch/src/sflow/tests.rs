//! What the agent sends, read by a foreign decoder: the crate `sflow-parser`.

use super::agent::Agent;
use super::counters::of_port;
use super::datagram::DATAGRAM_BYTES_MAX;
use super::reasons::Reason;
use super::structures::{IfCounters, Interface, low};
use crate::control::stats::PortStats;
use config::switch::Sflow;
use dataplane::capture::record::{Ending, Kind, Record};
use dataplane::counters::DropReason;
use dataplane::ids::{PortId, Priority};
use dataplane::punt::PuntReason;
use dataplane::sampling::Sample;
use proptest::collection::vec;
use proptest::prelude::*;
use sflow_parser::models::{Address, CounterData, DropReason as Code, FlowData, HeaderProtocol};
use sflow_parser::{SFlowDatagram, SampleData, parse_datagram};
use std::net::IpAddr;

/// A switch of four ports and an unlimited rate of drops.
fn settings(agent: IpAddr) -> Sflow {
    Sflow {
        collectors: vec!["10.0.0.9:6343".parse().unwrap()],
        agent,
        source: None,
        sample_rates: vec![1, 10, 100, 1_000],
        polling_ns: None,
        drops_per_second: 1_000_000_000,
        header_bytes: 128,
    }
}

fn port(index: u8) -> PortId {
    PortId::from_index(usize::from(index)).unwrap()
}

fn sample(record: Record, header: &[u8], pool: u64, missed: u64) -> Sample {
    Sample { record, pool, missed, header: header.iter().copied().collect() }
}

/// Each datagram, decoded; none is longer than it may be.
fn decoded(agent: &mut Agent) -> Vec<SFlowDatagram> {
    let datagrams = agent.datagrams();
    datagrams
        .iter()
        .map(|datagram| {
            assert!(datagram.len() <= DATAGRAM_BYTES_MAX && datagram.len().is_multiple_of(4));
            parse_datagram(datagram).unwrap()
        })
        .collect()
}

#[derive(Clone, Debug)]
enum Event {
    Received { port: u8, header: Vec<u8>, pool: u64, missed: u64, out: Option<(u8, u8)> },
    Dropped { port: u8, header: Vec<u8>, cause: usize, out: Option<(u8, u8)>, is_outbound: bool },
    Counters { port: u8, figures: [u64; 9], name: String },
}

fn any_event() -> impl Strategy<Value = Event> {
    let header = || vec(any::<u8>(), 0..=256);
    let out = || proptest::option::of((0..4_u8, 0..8_u8));
    prop_oneof![
        (0..4_u8, header(), any::<u64>(), any::<u64>(), out()).prop_map(
            |(port, header, pool, missed, out)| Event::Received { port, header, pool, missed, out }
        ),
        (0..4_u8, header(), 0..DropReason::COUNT, out(), any::<bool>()).prop_map(
            |(port, header, cause, out, is_outbound)| Event::Dropped {
                port,
                header,
                cause,
                out,
                is_outbound
            }
        ),
        (0..4_u8, any::<[u64; 9]>(), "[a-z0-9/]{0,40}")
            .prop_map(|(port, figures, name)| Event::Counters { port, figures, name }),
    ]
}

fn record(kind: Kind, index: u8, header: &[u8]) -> Record {
    let frame_bytes = u32::try_from(header.len()).unwrap() + 900;
    Record {
        frame_bytes,
        in_port: Some(port(index)),
        ..Record::new(kind, Ending::Dropped, port(index))
    }
}

fn give(agent: &mut Agent, event: &Event) {
    match event {
        Event::Received { port: index, header, pool, missed, out } => {
            let record = Record {
                ending: out.map_or(Ending::Unknown, |_| Ending::Forwarded),
                out_port: out.map(|(out, _)| port(out)),
                out_class: out.map(|(_, class)| Priority::from_low_bits(class)),
                ..record(Kind::In, *index, header)
            };
            agent.take(&sample(record, header, *pool, *missed), 0);
        }
        Event::Dropped { port: index, header, cause, out, is_outbound } => {
            let record = Record {
                cause: Some(u8::try_from(*cause).unwrap()),
                is_outbound: *is_outbound,
                out_port: out.map(|(out, _)| port(out)),
                out_class: out.map(|(_, class)| Priority::from_low_bits(class)),
                ..record(Kind::Drop, *index, header)
            };
            agent.take(&sample(record, header, 0, 0), 77);
        }
        Event::Counters { port, figures, name } => {
            agent.take_counters(&counters(*port, *figures, name));
        }
    }
}

fn counters(port: u8, figures: [u64; 9], name: &str) -> IfCounters {
    let [a, b, c, d, e, f, g, h, i] = figures;
    IfCounters {
        port: u32::from(port) + 1,
        name: name.to_owned(),
        speed_bps: a ^ i,
        is_in_service: a % 2 == 0,
        is_up: b % 2 == 0,
        in_bytes: a,
        in_frames: b,
        in_discards: c,
        in_errors: d,
        in_unknown: e,
        out_bytes: f,
        out_frames: g,
        out_discards: h,
        out_errors: i,
    }
}

/// The header that a decoder has found, and its queue.
fn check_header(data: &FlowData, header: &[u8]) {
    let FlowData::SampledHeader(found) = data else { panic!("{data:?}") };
    assert_eq!(found.protocol, HeaderProtocol::EthernetIso88023);
    assert_eq!(found.header, header);
    assert_eq!(found.frame_length as usize, header.len() + 900 + 4, "with its FCS");
    assert_eq!(found.stripped, 4);
}

fn check(event: &Event, found: &SampleData, sequence: u32) {
    match (event, found) {
        (Event::Received { port, header, pool, missed, out }, SampleData::FlowSample(found)) => {
            assert_eq!(found.sequence_number, sequence);
            assert_eq!(
                (found.source_id.source_type(), found.source_id.index()),
                (0, u32::from(*port) + 1)
            );
            assert_eq!(found.sampling_rate, 10_u32.pow(u32::from(*port)));
            assert_eq!((found.sample_pool, found.drops), (low(*pool), low(*missed)));
            assert_eq!(found.input.0, u32::from(*port) + 1);
            assert_eq!(found.output.0, out.map_or(0, |(out, _)| u32::from(out) + 1));
            check_header(&found.flow_records[0].flow_data, header);
            let queue = found.flow_records.get(1).map(|record| record.flow_data.clone());
            let expected = out.map(|(_, class)| u32::from(class));
            match queue {
                None => assert_eq!(expected, None),
                Some(FlowData::ExtendedEgressQueue(queue)) => {
                    assert_eq!(Some(queue.queue), expected)
                }
                Some(other) => panic!("{other:?}"),
            }
        }
        (
            Event::Dropped { port, header, cause, out, is_outbound },
            SampleData::DiscardedPacket(found),
        ) => {
            assert_eq!(found.sequence_number, sequence);
            assert_eq!((found.source_id.source_id_type, found.source_id.source_id_index), (2, 1));
            assert_eq!(found.drops, 77);
            assert_eq!(found.input_ifindex, u32::from(*port) + 1);
            let output = out.filter(|_| *is_outbound).map_or(0, |(out, _)| u32::from(out) + 1);
            assert_eq!(found.output_ifindex, output);
            let cause = DropReason::ALL[*cause];
            assert_eq!(Some(found.reason), Code::from_u32(Reason::of_drop(cause).code()));
            check_header(&found.flow_records[0].flow_data, header);
            let last = &found.flow_records.last().unwrap().flow_data;
            let FlowData::ExtendedFunction(function) = last else { panic!("{last:?}") };
            assert_eq!(function.symbol, cause.name());
            assert_eq!(found.flow_records.len(), 2 + usize::from(out.is_some()));
        }
        (Event::Counters { port, figures, name }, SampleData::CountersSample(found)) => {
            let expected = counters(*port, *figures, name);
            assert_eq!(found.sequence_number, sequence);
            assert_eq!(found.source_id.index(), expected.port);
            let CounterData::GenericInterface(generic) = &found.counters[0].counter_data else {
                panic!("{found:?}")
            };
            assert_eq!((generic.if_index, generic.if_type), (expected.port, 6));
            assert_eq!((generic.if_speed, generic.if_direction), (expected.speed_bps, 1));
            let status = u32::from(expected.is_in_service) + 2 * u32::from(expected.is_up);
            assert_eq!(generic.if_status, status);
            assert_eq!(generic.if_in_octets, expected.in_bytes);
            assert_eq!(generic.if_in_ucast_pkts, low(expected.in_frames));
            assert_eq!(
                (generic.if_in_multicast_pkts, generic.if_in_broadcast_pkts),
                (u32::MAX, u32::MAX)
            );
            assert_eq!(generic.if_in_discards, low(expected.in_discards));
            assert_eq!(generic.if_in_errors, low(expected.in_errors));
            assert_eq!(generic.if_in_unknown_protos, low(expected.in_unknown));
            assert_eq!(generic.if_out_octets, expected.out_bytes);
            assert_eq!(generic.if_out_ucast_pkts, low(expected.out_frames));
            assert_eq!(
                (generic.if_out_multicast_pkts, generic.if_out_broadcast_pkts),
                (u32::MAX, u32::MAX)
            );
            assert_eq!(generic.if_out_discards, low(expected.out_discards));
            assert_eq!(
                (generic.if_out_errors, generic.if_promiscuous_mode),
                (low(expected.out_errors), 1)
            );
            let CounterData::OpenFlowPortName(found) = &found.counters[1].counter_data else {
                panic!("{found:?}")
            };
            assert_eq!(found.port_name, *name);
        }
        _ => panic!("{event:?} is {found:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn a_foreign_decoder_reads_what_is_sent(
        events in vec(any_event(), 1..60),
        is_v6: bool,
        uptime_ms: u32,
    ) {
        let address: IpAddr = if is_v6 { "2001:db8::7" } else { "10.0.0.7" }.parse().unwrap();
        let mut agent = Agent::new(&settings(address));
        agent.set_uptime_ms(uptime_ms);
        events.iter().for_each(|event| give(&mut agent, event));
        let datagrams = decoded(&mut agent);
        let mut found = Vec::new();
        for (number, datagram) in (1..).zip(datagrams) {
            prop_assert_eq!(datagram.sequence_number, number);
            prop_assert_eq!((datagram.sub_agent_id, datagram.uptime), (0, uptime_ms));
            let known_by = match datagram.agent_address {
                Address::IPv4(address) => IpAddr::V4(address),
                Address::IPv6(address) => IpAddr::V6(address),
                Address::Unknown => panic!("no address"),
            };
            prop_assert_eq!(known_by, address);
            found.extend(datagram.samples);
        }
        prop_assert_eq!(found.len(), events.len(), "in their order, and none twice");
        for (at, (event, found)) in events.iter().zip(&found).enumerate() {
            // Numbers count by source: a port's frames, a port's counters, all drops.
            let is_same = |other: &&Event| match (event, other) {
                (Event::Received { port: a, .. }, Event::Received { port: b, .. })
                | (Event::Counters { port: a, .. }, Event::Counters { port: b, .. }) => a == b,
                (Event::Dropped { .. }, Event::Dropped { .. }) => true,
                _ => false,
            };
            let sequence = events[..=at].iter().filter(is_same).count();
            check(event, &found.sample_data, u32::try_from(sequence).unwrap());
        }
    }
}

#[test]
fn pools_and_losses_are_the_sums_of_the_workers() {
    let mut agent = Agent::new(&settings("10.0.0.7".parse().unwrap()));
    for (worker, pool, missed) in [(0, 10, 1), (1, 5, 0), (0, 30, 2), (7, 100, 40)] {
        let record = Record { worker, ..record(Kind::In, 2, &[]) };
        agent.take(&sample(record, &[], pool, missed), 0);
    }
    let datagrams = decoded(&mut agent);
    let sums = datagrams.iter().flat_map(|datagram| &datagram.samples).map(|found| {
        let SampleData::FlowSample(flow) = &found.sample_data else { panic!("{found:?}") };
        (flow.sample_pool, flow.drops)
    });
    assert_eq!(sums.collect::<Vec<_>>(), [(10, 1), (15, 1), (35, 2), (135, 42)]);
}

#[test]
fn drops_of_several_workers_keep_to_the_limit_together() {
    let limit = Sflow { drops_per_second: 10, ..settings("10.0.0.7".parse().unwrap()) };
    let mut agent = Agent::new(&limit);
    for worker in 0..4 {
        for _ in 0..10 {
            let tail_drop = Some(DropReason::TailDrop as u8);
            let record = Record { worker, cause: tail_drop, ..record(Kind::Drop, 0, &[]) };
            agent.take(&sample(record, &[], 0, 0), 5);
        }
    }
    assert_eq!((agent.counters.drop_samples, agent.counters.suppressed_drops), (10, 30));
    // Then one more passes, and says how many did not.
    let record = Record {
        at_ns: 1_000_000_000,
        cause: Some(DropReason::TailDrop as u8),
        ..record(Kind::Drop, 0, &[])
    };
    agent.take(&sample(record, &[], 0, 0), 5);
    let last = decoded(&mut agent).pop().unwrap().samples.pop().unwrap();
    let SampleData::DiscardedPacket(last) = last.sample_data else { panic!("{last:?}") };
    assert_eq!((last.sequence_number, last.drops, last.reason as u32), (11, 35, 259));
}

#[test]
fn where_a_sampled_frame_went_is_its_output() {
    let with = |ending, cause| Record { ending, cause, ..record(Kind::In, 0, &[]) };
    let drop = |cause: DropReason| with(Ending::Dropped, Some(cause as u8));
    let punt = |why: PuntReason| with(Ending::Punted, Some(why as u8));
    for (record, expected) in [
        (with(Ending::Flooded, None), Interface::Several),
        (with(Ending::Consumed, None), Interface::Switch),
        (with(Ending::Waits, None), Interface::Unknown),
        (drop(DropReason::TailDrop), Interface::Discarded(259)),
        (punt(PuntReason::TtlExpired), Interface::Discarded(257)),
        (punt(PuntReason::ForUs), Interface::Switch),
        (punt(PuntReason::Unresolved), Interface::Unknown),
    ] {
        let mut agent = Agent::new(&settings("10.0.0.7".parse().unwrap()));
        agent.take(&sample(record, &[], 1, 0), 0);
        let found = decoded(&mut agent).pop().unwrap().samples.pop().unwrap();
        let SampleData::FlowSample(found) = found.sample_data else { panic!("{found:?}") };
        assert_eq!(found.output.0, expected.word());
    }
    assert_eq!(Interface::Discarded(257).word(), 0x4000_0101);
}

#[test]
fn every_cause_has_a_code_that_decoders_know() {
    for &cause in DropReason::ALL {
        let reason = Reason::of_drop(cause);
        let known = Code::from_u32(reason.code()).unwrap_or_else(|| panic!("{cause:?}"));
        assert!(known != Code::Unknown || cause == DropReason::PortDown, "{cause:?}");
    }
    for &why in PuntReason::ALL {
        let known = Reason::of_punt(why).map(|reason| Code::from_u32(reason.code()));
        assert_ne!(known, Some(None), "{why:?}");
    }
}

#[test]
fn each_drop_is_in_one_counter_of_the_interface() {
    let mut port = PortStats { number: 3, ..PortStats::default() };
    for (at, cause) in DropReason::ALL.iter().enumerate() {
        port.drops.insert(cause.name().to_owned(), 1 << at);
    }
    let counters = of_port(&port);
    let parts =
        [counters.in_discards, counters.in_errors, counters.in_unknown, counters.out_discards];
    assert_eq!(parts.iter().sum::<u64>(), (1 << DropReason::COUNT) - 1);
    assert_eq!(counters.in_unknown, 1 << DropReason::NotIp as u8);
    assert_eq!(counters.port, 3);
}
