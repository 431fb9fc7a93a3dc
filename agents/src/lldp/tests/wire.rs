//! Frames compared octet for octet, and random octets as frames.

use super::*;
use crate::lldp::pdu::{ManagementAddress, PduError};
use alloc::string::ToString;
use alloc::vec;
use proptest::prelude::*;

/// A frame of a leaf, as decoded by tshark. `make e2e` lets tshark decode whole exchanges.
const LEAF_TLVS: [&[u8]; 12] = [
    &[0x01, 0x80, 0xC2, 0, 0, 0x0E, 2, 0, 0, 0, 0, 2, 0x88, 0xCC],
    &[0x02, 7, 4, 2, 0, 0, 0, 0, 1],
    &[0x04, 3, 5, b'p', b'2'],
    &[0x06, 2, 0, 120],
    &[0x0A, 4, b'l', b'e', b'a', b'f'],
    &[0x0C, 8, b'a', b' ', b's', b'w', b'i', b't', b'c', b'h'],
    &[0x0E, 4, 0, 0x14, 0, 0x10],
    &[0x10, 12, 5, 1, 10, 0, 0, 1, 1, 0, 0, 0, 0, 0],
    &[0xFE, 6, 0, 0x12, 0x0F, 4, 0x05, 0xEE],
    &[0xFE, 6, 0, 0x80, 0xC2, 0x0B, 8, 0x18],
    &[0xFE, 7, 0, 0x80, 0xC2, 0x14, 1, 255, 255],
    &[0, 0],
];

#[test]
fn every_octet_is_where_the_standards_require() {
    let address = ManagementAddress::Ip("10.0.0.1".parse().unwrap());
    let system = System { management: Some(address), ..system() };
    let mut agent = LldpAgent::new(system, ports(), LldpSettings::default());
    agent.handle_link(Instant::ZERO, port(2), true);
    let outputs: Vec<Output> = core::iter::from_fn(|| agent.poll_output()).collect();
    let Some(Output::Send { frame, .. }) = outputs.last() else { panic!("{outputs:?}") };
    assert_eq!(*frame, LEAF_TLVS.concat());
}

#[test]
fn the_format_of_the_slides_has_its_own_oui() {
    let settings = LldpSettings { profile: Profile::Slides, ..LldpSettings::default() };
    let mut agent = LldpAgent::new(system(), ports(), settings);
    agent.handle_link(Instant::ZERO, port(2), true);
    let outputs: Vec<Output> = core::iter::from_fn(|| agent.poll_output()).collect();
    let Some(Output::Send { frame, .. }) = outputs.last() else { panic!("{outputs:?}") };
    let tlv = [0xFE, 7, 0x0A, 0x6B, 0x6E, 1, 1, 0, 0, 0, 0];
    assert!(frame.ends_with(&tlv), "{frame:02x?}");
}

#[test]
fn both_formats_are_read_and_that_of_the_standard_counts() {
    let standard = [0xFE, 7, 0, 0x80, 0xC2, 0x14, 1, 3, 1];
    let slides = [0xFE, 7, 0x0A, 0x6B, 0x6E, 1, 1, 2, 1];
    let read = |tlvs: &[&[u8]]| {
        let start = [LEAF_TLVS[1], LEAF_TLVS[2], LEAF_TLVS[3]].concat();
        let (pdu, tlv_counts) = Pdu::read(&[&start[..], &tlvs.concat()].concat()).unwrap();
        (pdu.topology.map(|topology| topology.level), tlv_counts.discarded)
    };
    assert_eq!(read(&[&standard]), (Some(Some(3)), 0));
    assert_eq!(read(&[&slides]), (Some(Some(2)), 0));
    assert_eq!(read(&[&slides, &standard]), (Some(Some(3)), 0));
    assert_eq!(read(&[&standard, &slides]), (Some(Some(3)), 0));
    assert_eq!(read(&[&standard, &[0xFE, 7, 0, 0x80, 0xC2, 0x14, 1, 9, 1]]), (Some(Some(3)), 1));
}

#[test]
fn mandatory_tlvs_are_required_and_a_truncated_end_is_accepted() {
    let read = |tlvs: &[&[u8]]| {
        Pdu::read(&tlvs.concat()).map(|(pdu, tlv_counts)| (pdu.system_name, tlv_counts.discarded))
    };
    let [_, chassis, port, ttl, name, ..] = LEAF_TLVS;
    let leaf = Some("leaf".to_string());
    assert_eq!(read(&[chassis, port, ttl, name]), Ok((leaf.clone(), 0)));
    assert_eq!(read(&[chassis, port, ttl, name, &[0x0C, 200, b'x']]), Ok((leaf.clone(), 1)));
    assert_eq!(read(&[chassis, port, ttl, name, &[0x0C]]), Ok((leaf.clone(), 1)));
    assert_eq!(read(&[chassis, port, ttl, name, name]), Ok((leaf, 1)), "the first one counts");
    for wrong in [
        &[port, chassis, ttl][..],
        &[chassis, port],
        &[chassis, ttl, port],
        &[&[0x02, 1, 4], port, ttl],
        &[chassis, &[0x04, 1, 5], ttl],
        &[chassis, port, &[0x06, 1, 0]],
        &[],
    ] {
        assert_eq!(read(wrong), Err(PduError::Mandatory), "{wrong:?}");
    }
    for again in [chassis, port, ttl] {
        assert_eq!(read(&[chassis, port, ttl, again]), Err(PduError::Repeated));
    }
    assert_eq!(read(&[chassis, port, ttl, &[0, 1, 0]]), Err(PduError::End));
}

#[test]
fn other_frames_are_distinguished_from_malformed_ones() {
    let mut bench = Bench::new();
    let good = LEAF_TLVS.concat();
    let mut wrong_address = good.clone();
    wrong_address[5] = 3;
    let mut wrong_type = good.clone();
    wrong_type[13] = 0xCD;
    let mut from_a_group = good.clone();
    from_a_group[6] |= 1;
    for frame in [&good[..13], &[], &wrong_address, &wrong_type, &from_a_group] {
        assert_eq!(bench.agent.handle_frame(bench.now, port(2), frame), Outcome::NotLldp);
    }
    assert_eq!(bench.agent.handle_frame(bench.now, port(2), &good[..14]), Outcome::Malformed);
    assert_eq!(bench.agent.handle_frame(bench.now, port(9), &good), Outcome::PortDown);
    assert_eq!(
        bench.counted(),
        [("frames_in", 7), ("malformed", 1), ("not_lldp", 5), ("port_down", 1)]
    );
    assert_eq!(bench.outputs(), []);
}

#[test]
fn names_are_shown_without_control_characters() {
    let nasty = Pdu::read(
        &[LEAF_TLVS[1], LEAF_TLVS[2], LEAF_TLVS[3], &[0x0A, 4, 0x1B, b'[', 0xFF, b'm']].concat(),
    );
    assert_eq!(nasty.unwrap().0.system_name.as_deref(), Some("?[\u{FFFD}m"));
    assert_eq!(Id::chassis(mac(9)).as_chassis(), "02:aa:00:00:00:09");
    assert_eq!(Id::port("up1").as_port(), "up1");
    assert_eq!(Id { subtype: 7, octets: vec![0, 27, 255] }.as_port(), "001bff");
    assert_eq!(Id { subtype: 3, octets: mac(9).0.to_vec() }.as_port(), "02:aa:00:00:00:09");
}

fn texts() -> impl Strategy<Value = Option<String>> {
    prop::option::of("[a-zA-Z0-9 äß]{0,120}")
}

prop_compose! {
    fn pdus()(
        chassis in (any::<u8>(), prop::collection::vec(any::<u8>(), 1..=255)),
        port in (any::<u8>(), prop::collection::vec(any::<u8>(), 1..=255)),
        ttl_s in 1..u16::MAX,
        texts in (texts(), texts(), texts()),
        capabilities in prop::option::of((any::<u16>(), any::<u16>())),
        management in prop::option::of((any::<u128>(), 0..3_u8)),
        max_frame_bytes: Option<u16>,
        pfc in prop::option::of((any::<bool>(), any::<bool>(), 0..16_u8, any::<u8>())),
        topology in prop::option::of((0..3_u8, prop::option::of(0..255_u8), 0..4_usize)),
    ) -> Pdu {
        let id = |(subtype, octets)| Id { subtype, octets };
        let [mac @ .., _, _] = (ttl_s as u64 * 99).to_be_bytes();
        Pdu {
            port_description: texts.0,
            system_name: texts.1,
            system_description: texts.2,
            capabilities: capabilities
                .map(|(supported_bits, enabled_bits)| Capabilities { supported_bits, enabled_bits }),
            management: management.map(|(bits, family)| match family {
                0 => ManagementAddress::Ip(core::net::Ipv6Addr::from_bits(bits).into()),
                1 => ManagementAddress::Ip(core::net::Ipv4Addr::from_bits(bits as u32).into()),
                _ => ManagementAddress::Mac(MacAddress(mac)),
            }),
            max_frame_bytes,
            pfc: pfc.map(|(willing, mbc, capability, enabled_bits)| {
                super::super::PfcConfiguration { willing, mbc, capability, enabled_bits }
            }),
            topology: topology.map(|(device, level, orientation)| Topology {
                device: [Device::EndStation, Device::Bridge, Device::Router][usize::from(device)],
                level,
                orientation: [
                    Orientation::Uplink, Orientation::Downlink, Orientation::Crosslink, Orientation::Unknown,
                ][orientation],
            }),
            ..Pdu::new(id(chassis), id(port), ttl_s)
        }
    }
}

proptest! {
    #[test]
    fn a_pdu_that_is_written_is_read(pdu in pdus()) {
        let mut bytes = Vec::new();
        pdu.write(Profile::Standard, &mut bytes);
        bytes.extend([0; 40]);
        let (read, tlv_counts) = Pdu::read(&bytes).unwrap();
        prop_assert_eq!((read, tlv_counts), (pdu, crate::lldp::pdu::TlvCounts::default()));
    }

    #[test]
    fn a_truncated_frame_is_never_read_differently(pdu in pdus(), cut in 0..2_000_usize) {
        let mut bytes = Vec::new();
        pdu.write(Profile::Standard, &mut bytes);
        bytes.truncate(cut);
        if let Ok((read, _)) = Pdu::read(&bytes) {
            prop_assert_eq!((read.chassis, read.port, read.ttl_s), (pdu.chassis, pdu.port, pdu.ttl_s));
            prop_assert!(read.system_name.is_none() || read.system_name == pdu.system_name);
            prop_assert!(read.topology.is_none() || read.topology == pdu.topology);
            prop_assert!(read.management.is_none() || read.management == pdu.management);
        }
    }
}
