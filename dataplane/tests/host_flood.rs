//! A flood at the switch's own address at the rate of a wire: sessions of the host's daemons hear
//! every frame, data flows on, and each frame is in the books.

use dataplane::counters::DropReason;
use dataplane::host_class::{HostClass, HostRates};
use dataplane::limiter::PoliceRate;
use dataplane::punt::PuntReason;
use dataplane::testing::wire::{Udp, header_checksum};
use dataplane::testing::{Rig, RigBuilder};

/// What a wire of 10 Gb/s brings at the most, about.
const FLOOD_PER_SECOND: u64 = 10_000_000;
const BURST: u64 = 64;
const BURST_NS: u64 = BURST * 1_000_000_000 / FLOOD_PER_SECOND;
/// The control thread looks so often, if nothing woke it.
const CONTROL_NS: u64 = 1_000_000;

/// The defaults of SWITCH.toml, as far as they matter here.
fn rates() -> HostRates {
    let mut rates = [PoliceRate { per_second: 1_000, burst: 250 }; HostClass::COUNT];
    rates[HostClass::Bgp as usize] = PoliceRate { per_second: 10_000, burst: 2_000 };
    rates[HostClass::Local as usize] = PoliceRate { per_second: 10_000, burst: 2_000 };
    rates[HostClass::Exception as usize] = PoliceRate { per_second: 5_000, burst: 1_000 };
    rates
}

fn rig() -> Rig {
    let mut builder = RigBuilder::routed(2);
    builder.settings.host_rates = Some(rates());
    builder.forwarding.iter_mut().for_each(|port| port.has_tap = true);
    builder.build()
}

/// To the address of the switch at port 1.
fn to_us() -> Udp {
    Udp { dst: [10, 0, 1, 254], ..Udp::routed(1, 2, 0) }
}

/// The same with another protocol and destination port.
fn with(frame: &Udp, protocol: u8, port: u16) -> Vec<u8> {
    let mut bytes = frame.bytes();
    bytes[23] = protocol;
    bytes[36..38].copy_from_slice(&port.to_be_bytes());
    bytes[24..26].fill(0);
    let checksum = header_checksum(&bytes[14..34]);
    bytes[24..26].copy_from_slice(&checksum.to_be_bytes());
    bytes
}

/// Floods port 1 with `flood` for `ms`, with a frame of BGP in each burst of 32 and one of BFD in
/// each millisecond between, and data beside it. Returns how many of both were sent.
fn flood(rig: &mut Rig, flood: &[u8], ms: u64, mut take: impl FnMut(HostClass)) -> (u64, u64) {
    let bgp = with(&to_us(), 6, 179);
    let bfd = with(&Udp { ttl: 255, ..to_us() }, 17, 3784);
    let data = Udp::routed(1, 2, 0).bytes();
    let (mut sent_bgp, mut sent_bfd) = (0, 0);
    let mut control_ns = 0;
    for burst in 0..ms * 1_000_000 / BURST_NS {
        (0..BURST).for_each(|_| rig.arrive(1, flood));
        rig.arrive(1, &data);
        if burst % 32 == 0 {
            rig.arrive(1, &bgp);
            sent_bgp += 1;
        }
        if burst % 160 == 0 {
            rig.arrive(1, &bfd);
            sent_bfd += 1;
        }
        rig.turn();
        rig.turn();
        rig.wait(BURST_NS);
        control_ns += BURST_NS;
        if control_ns >= CONTROL_NS {
            control_ns = 0;
            while let Ok(punted) = rig.control[0].punted.pop() {
                take(punted.class.expect("all are classified"));
            }
        }
    }
    rig.settle();
    while let Ok(punted) = rig.control[0].punted.pop() {
        take(punted.class.expect("all are classified"));
    }
    (sent_bgp, sent_bfd)
}

#[test]
fn sessions_hear_every_frame_of_theirs_under_a_flood_of_anything_else() {
    let floods = [
        (HostClass::Local, with(&to_us(), 17, 9)),
        (HostClass::Icmp, with(&to_us(), 1, 0)),
        (HostClass::Exception, Udp { dst: [192, 0, 2, 1], ..to_us() }.bytes()),
        (
            HostClass::Other,
            with(&Udp { dst_mac: "01:00:5e:00:00:fb".parse().unwrap(), ..to_us() }, 17, 5_353),
        ),
        // BFD from beyond this link is none.
        (HostClass::Local, with(&to_us(), 17, 3784)),
    ];
    for (class, frame) in floods {
        let mut rig = rig();
        let mut taken = [0_u64; HostClass::COUNT];
        let (bgp, bfd) = flood(&mut rig, &frame, 40, |class| taken[class as usize] += 1);
        assert!(bgp > 150 && bfd > 30);
        let of = |class: HostClass| taken[class as usize];
        assert_eq!((of(HostClass::Bgp), of(HostClass::Bfd)), (bgp, bfd), "under {class:?}");
        let report = rig.report(1);
        assert_eq!(report.host.passed_frames, taken, "each that passed arrived");
        let dropped: u64 = report.host.dropped_frames.iter().sum();
        assert_eq!(report.host.dropped_frames[class as usize], dropped, "only the flood");
        assert!(of(class) > 0 && dropped > 300_000, "{class:?} {} {dropped}", of(class));
        let policed = rig.dropped(1, DropReason::PuntPoliced);
        let lost: u64 = report.counters.drops.iter().sum();
        assert_eq!((policed, lost), (dropped, dropped), "each under one name");
        let totals = rig.totals();
        assert_eq!(rig.sent(2).len() as u64, totals.sent, "data");
        assert_eq!(totals.received, totals.sent + totals.dropped + totals.punted);
    }
}

#[test]
fn a_port_without_a_tap_punts_what_it_did_before() {
    let group = with(&Udp { dst_mac: "01:00:5e:00:00:05".parse().unwrap(), ..to_us() }, 89, 0);
    let isis =
        [&[1, 0x80, 0xC2, 0, 0, 0x14, 2, 0, 0, 1, 1, 1, 0, 46, 0xFE, 0xFE][..], &[3; 44]].concat();
    let mpls = [&to_us().bytes()[..12], &[0x88, 0x47], &[0; 46]].concat();
    for has_tap in [false, true] {
        let mut builder = RigBuilder::routed(2);
        builder.settings.host_rates = has_tap.then(rates);
        builder.forwarding.iter_mut().for_each(|port| port.has_tap = has_tap);
        let mut rig = builder.build();
        for frame in [&group, &isis, &mpls] {
            rig.arrive(1, frame);
        }
        rig.settle();
        let mut punted = Vec::new();
        while let Ok(frame) = rig.control[0].punted.pop() {
            punted.push((frame.reason, frame.class));
        }
        if has_tap {
            let of = |class| (PuntReason::Host, Some(class));
            let classes = [HostClass::Ospf, HostClass::Isis, HostClass::Other];
            assert_eq!(punted, classes.map(of));
        } else {
            assert_eq!(punted, []);
            assert_eq!(rig.totals().dropped, 3);
        }
    }
}
