//! Compares the fast path with the generic path: for each frame that the fast path takes, both must
//! produce the same bytes and the same outcome.

use super::*;
use crate::fib::Route;
use crate::frame::Frame;
use crate::ids::PortId;
use crate::pipeline::outcome::FrameOutcome;
use crate::pipeline::rewrite_entry::{RewriteEntry, hop_of};
use crate::pipeline::route;
use crate::rules::{PortSet, TagMatch, TcamEntry};
use crate::rx_queues::Ingress;
use crate::snapshot::Snapshot;
use crate::testing::wire::{Udp, header_checksum, host_v4, port_mac};
use crate::testing::{RigBuilder, TestFrame};
use crate::wire::ethernet;
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr};
use std::vec;
use std::vec::Vec;

/// What the ingress port believes of the markings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trust {
    Trusted,
    Untrusted,
    /// Untrusted, with two application classes, and a DSCP that selects the second.
    Classes,
}

/// Three routed ports, an ECMP route over two of them, and rules that keep, raise and demote tags.
fn snapshot(trust: Trust) -> Snapshot {
    let mut builder = RigBuilder::routed(3);
    let gateways = [2, 3].map(|port| IpAddr::V4(Ipv4Addr::from(host_v4(port, 1))));
    builder
        .routes
        .set_route("10.9.0.0/16".parse().unwrap(), Route::Via(gateways.to_vec()))
        .unwrap();
    builder.routes.set_route("10.8.0.0/16".parse().unwrap(), Route::Blackhole).unwrap();
    let port = |number| PortId::from_number(number).unwrap();
    let entry = |tag, out, new_tag| TcamEntry {
        tag: TagMatch { value: tag, mask: 63 },
        in_ports: PortSet::from_iter([port(1)]),
        out_ports: PortSet::from_iter([port(out)]),
        new_tag: crate::ids::Tag::from_low_bits(new_tag),
    };
    builder.rules = Some(vec![entry(1, 2, 1), entry(1, 3, 2), entry(2, 2, 0)]);
    builder.forwarding[0].trust.trusted = trust == Trust::Trusted;
    if trust == Trust::Classes {
        builder.tags.initial_tags = 0b110;
        builder.forwarding[0].trust.initial.by_dscp[46] = Some(crate::ids::Tag::from_low_bits(2));
    }
    builder.snapshot(0)
}

const LONGEST: usize = 1514 + 2 * ethernet::TAG_BYTES;

/// Takes a frame through the fast path, if that takes it.
fn fast(snapshot: &Snapshot, bytes: &[u8]) -> Option<(FrameOutcome, TestFrame)> {
    let mut frame = TestFrame::new(bytes);
    let fast_path = &snapshot.ports[0].fast_path;
    let (class, destination) = classify(fast_path, frame.head(), frame.len(), LONGEST)?;
    let leaf = snapshot.fib.v4(destination.to_be_bytes());
    let hop = hop_of(snapshot, leaf, &frame);
    let rx_bytes = u16::try_from(frame.len()).unwrap();
    let input = Ingress::first_of(PortId::FIRST);
    let (entry, outcome) = RewriteEntry::new(snapshot, input, class, hop, rx_bytes)?;
    entry.apply(&mut frame);
    Some((FrameOutcome { outcome, rx_bytes, bytes: rx_bytes }, frame))
}

/// Takes one frame through the generic path.
fn generic_path(snapshot: &Snapshot, bytes: &[u8]) -> (FrameOutcome, TestFrame) {
    let mut frame = TestFrame::new(bytes);
    let tables = &snapshot.ports[0];
    let frame_outcome = route::generic_path(
        snapshot,
        tables,
        None,
        Ingress::first_of(PortId::FIRST),
        1514,
        &mut frame,
    );
    (frame_outcome, frame)
}

/// Fast-path frames, and frames that fail some condition of the fast path.
fn frames() -> impl Strategy<Value = Vec<u8>> {
    let destinations = vec![
        host_v4(2, 1),
        host_v4(3, 1),
        [10, 9, 1, 2],
        [10, 8, 1, 2],
        host_v4(2, 77),
        [10, 0, 1, 254],
        [224, 0, 0, 1],
        [192, 0, 2, 1],
    ];
    let udp = (
        prop::sample::select(destinations),
        prop::sample::select(vec![26_u8 << 2, 27 << 2, 26 << 2 | 3, 0, 46 << 2]),
        prop::sample::select(vec![0_u8, 1, 2, 64, 255]),
        any::<u16>(),
        prop::sample::select(vec![60_usize, 61, 590, 1514, 1515, 1522, 1523]),
        prop::sample::select(vec![10_u8, 0, 127, 224]),
    );
    let change = proptest::option::of((12_usize..40, any::<u8>(), any::<bool>()));
    (udp, change, any::<bool>()).prop_map(
        |((dst, tos, ttl, src_port, frame_bytes, source), change, to_us)| {
            let frame = Udp { dst, tos, ttl, src_port, frame_bytes, ..Udp::routed(1, 2, 0) };
            let mut bytes = Udp { src: [source, 0, 1, 1], ..frame }.bytes();
            if !to_us {
                bytes[5] ^= 1;
            }
            if let Some((at, octet, mend)) = change {
                bytes[at] = octet;
                if mend {
                    bytes[24..26].fill(0);
                    let sum = header_checksum(&bytes[14..34]).to_be_bytes();
                    bytes[24..26].copy_from_slice(&sum);
                }
            }
            bytes
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]
    #[test]
    fn what_the_fast_path_takes_the_generic_path_makes_the_same_of(
        bytes in frames(),
        trust in prop::sample::select(vec![Trust::Trusted, Trust::Untrusted, Trust::Classes]),
    ) {
        let snapshot = snapshot(trust);
        if let Some(fast) = fast(&snapshot, &bytes) {
            prop_assert_eq!(fast, generic_path(&snapshot, &bytes));
        }
    }
}

#[test]
fn the_common_frame_is_taken() {
    let snapshot = snapshot(Trust::Trusted);
    for (to, dscp) in [(2, 26), (3, 26), (2, 27), (2, 0)] {
        let frame = Udp::routed(1, to, dscp);
        assert_eq!(frame.dst_mac, port_mac(1));
        assert!(fast(&snapshot, &frame.bytes()).is_some(), "to port {to} with DSCP {dscp}");
    }
    let ecmp = Udp { dst: [10, 9, 3, 3], ..Udp::routed(1, 2, 26) };
    assert!(fast(&snapshot, &ecmp.bytes()).is_some(), "several next hops are common too");
}
