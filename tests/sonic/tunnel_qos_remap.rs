//! Traffic through tunnels: a pair of top-of-rack switches that share their servers, and bounce
//! back what is for a server of the other one (PCBB).
//!
//! Port 1 and 2 lead up, port 3 to the servers. Host 1 of port 3 is a server that is active here;
//! host 2 is standby here, and frames for it go to the other switch in the tunnel, by port 1.

use crate::dut::{self, Dut, MS, PROFILE, cost, dscp_of, received};
use crate::model::Mmu;
use dataplane::fib::Route;
use dataplane::ids::{Priority, Tag};
use dataplane::qos_map::QosMap;
use dataplane::settings::ViqSettings;
use dataplane::testing::RigBuilder;
use dataplane::testing::wire::{Udp, host_v4, in_tunnel};
use dataplane::tunnel::{Tunnel, TunnelId, TunnelMode, TunnelPriorityGroup};
use std::net::IpAddr;
use std::sync::Arc;

const LOCAL: [u8; 4] = [10, 1, 0, 32];
const REMOTE: [u8; 4] = [10, 1, 0, 33];
const POOL: u64 = dut::POOL;
/// The lossless priority groups of uplinks; those of servers are 3 and 4.
const EXTRA: [u8; 2] = [2, 6];

/// A DSCP, that of its outer header, the queue of bounced traffic, and the queue to the servers:
/// SONiC's AZURE_TUNNEL and AZURE_UPLINK maps.
const DSCPS: [(u8, u8, u8, u8); 6] =
    [(3, 2, 2, 3), (4, 6, 6, 4), (8, 8, 0, 0), (0, 0, 1, 1), (46, 46, 5, 5), (48, 48, 7, 7)];

/// SONiC's AZURE_UPLINK: `DSCP_TO_TC_MAP` and `TC_TO_QUEUE_MAP`.
fn queue(dscp: u8) -> u8 {
    match dscp {
        8 => 0,
        2 | 3 | 4 | 6 => dscp,
        46 => 5,
        48 => 7,
        _ => 1,
    }
}

/// `TC_TO_PRIORITY_GROUP_MAP`.
fn group(dscp: u8) -> u8 {
    if matches!(dscp, 2 | 3 | 4 | 6) { dscp } else { 0 }
}

/// The tag of the outer header: `TC_TO_DSCP_MAP` of the tunnel.
fn outer(dscp: u8) -> u8 {
    match dscp {
        3 => 2,
        4 => 6,
        8 | 46 | 48 => dscp,
        _ => 0,
    }
}

fn by_tag<T>(of: impl Fn(u8) -> T) -> [T; 64] {
    std::array::from_fn(|tag| of(u8::try_from(tag).unwrap()))
}

/// One of the pair.
fn tor(dscp: TunnelMode, priority_group: TunnelPriorityGroup) -> Dut {
    let mut builder: RigBuilder = dut::builder(3, PROFILE, POOL);
    dut::map(&mut builder, queue);
    builder.tags.lossless_tags |= 1 << 2 | 1 << 6;
    let map = Arc::new(QosMap {
        priority_group: by_tag(|tag| Priority::from_low_bits(group(tag))),
        queue: by_tag(|tag| Priority::from_low_bits(queue(tag))),
    });
    for port in &mut builder.forwarding {
        port.qos_map = Some(Arc::clone(&map));
    }
    let viq: ViqSettings = builder.settings.ports[0].lossless[3].unwrap();
    for port in &mut builder.settings.ports[..2] {
        for group in EXTRA {
            port.lossless[usize::from(group)] = Some(viq);
        }
    }
    builder.settings.buffer.size_bytes += 4 * u64::from(PROFILE.size + PROFILE.xoff);
    builder.routes.set_locals([IpAddr::from(LOCAL)]);
    let up = Route::Via(vec![host_v4(1, 1).into()]);
    builder.routes.set_route("10.1.0.33/32".parse().unwrap(), up).unwrap();
    let into = Route::Tunnel { id: TunnelId::from_index(0).unwrap(), remote: REMOTE.into() };
    builder.routes.set_route("10.0.3.2/32".parse().unwrap(), into).unwrap();
    builder.tunnels = vec![Tunnel {
        local: LOCAL.into(),
        remote: Some(REMOTE.into()),
        any_remote: true,
        dscp,
        ttl: TunnelMode::Pipe,
        outer_tag: by_tag(|tag| Tag::from_low_bits(outer(tag))),
        priority_group,
    }];
    Dut::new(builder)
}

fn pipe() -> Dut {
    tor(TunnelMode::Pipe, TunnelPriorityGroup::Inner)
}

/// `count` frames of `bytes` bytes for the standby server, from above.
fn bounce(dut: &mut Dut, dscp: u8, bytes: usize, count: u32) {
    let udp = Udp { dst: host_v4(3, 2), frame_bytes: bytes, ..Udp::routed(2, 3, dscp) };
    dut.rig.arrive_numbered(2, &udp, 0..count);
    dut.rig.settle();
}

/// `count` frames of `bytes` bytes for the active server come out of the tunnel at port 1.
fn decapsulate(dut: &mut Dut, (outer, inner): (u8, u8), bytes: usize, count: u32) {
    let udp = Udp { frame_bytes: bytes - 20, ..Udp::routed(1, 3, inner) };
    let frame = in_tunnel(&udp.bytes(), (outer << 2, 64), (REMOTE, LOCAL));
    (0..count).for_each(|_| dut.rig.arrive(1, &frame));
    dut.rig.settle();
}

/// The DSCP of the inner header.
fn inner_dscp_of(frame: &[u8]) -> u8 {
    frame[14 + 20 + 1] >> 2
}

/// test_encap_dscp_rewrite: the outer DSCP is that of the map, the inner one stays.
#[test]
fn encap_dscp_rewrite() {
    let mut dut = pipe();
    for (dscp, outer, ..) in DSCPS {
        bounce(&mut dut, dscp, 100, 1);
        let sent = dut.left(1);
        let found: Vec<_> = sent.iter().map(|it| (dscp_of(it), inner_dscp_of(it))).collect();
        assert_eq!(found, [(outer, dscp)]);
        assert_eq!((sent[0][14 + 9], &sent[0][26..34]), (4, &[LOCAL, REMOTE].concat()[..]));
    }
}

/// test_bounced_back_traffic_in_expected_queue.
#[test]
fn bounced_back_traffic_in_expected_queue() {
    for (dscp, _, queue, _) in DSCPS {
        let mut dut = pipe();
        bounce(&mut dut, dscp, 100, 100);
        let mut expected = [0; 8];
        expected[usize::from(queue)] = 100;
        assert_eq!(dut.rig.report(1).counters.tx_frames, expected, "DSCP {dscp}");
        let drops: u64 = dut.rig.report(2).counters.drops.iter().sum();
        assert_eq!(drops, 0);
    }
}

/// test_tunnel_decap_dscp_to_queue_mapping: the inner DSCP tells the queue to the server.
#[test]
fn tunnel_decap_dscp_to_queue_mapping() {
    for (dscp, outer, _, queue) in DSCPS {
        let mut dut = pipe();
        decapsulate(&mut dut, (outer, dscp), 100, 100);
        let mut expected = [0; 8];
        expected[usize::from(queue)] = 100;
        assert_eq!(dut.rig.report(3).counters.tx_frames, expected, "DSCP {dscp}");
        let dscps: Vec<u8> = dut.left(3).iter().map(|frame| dscp_of(frame)).collect();
        assert_eq!(dscps, vec![dscp; 100]);
    }
}

/// test_tunnel_decap_dscp_to_pg_mapping (TunnelDscpToPgMapping): inner DSCP 3 and 4 are in groups 2
/// and 6, all others in group 0. Of frames that a pair marks, the outer DSCP says the same.
#[test]
fn tunnel_decap_dscp_to_pg_mapping() {
    for by in [TunnelPriorityGroup::Inner, TunnelPriorityGroup::Outer] {
        for (dscp, outer, ..) in DSCPS {
            let mut dut = tor(TunnelMode::Pipe, by);
            decapsulate(&mut dut, (outer, dscp), 100, 10);
            let mut expected = [0; 8];
            expected[usize::from(group(outer))] = 10;
            assert_eq!(dut.rig.report(1).counters.rx_frames, expected, "DSCP {dscp}, {by:?}");
            let peaks: Vec<u8> = (0..8).filter(|&p| dut.queue(1, p).viq_peak_bytes > 0).collect();
            assert_eq!(peaks, [group(outer)]);
        }
    }
}

/// testIPIPQosSaiDscpToPgMapping (DscpToPgMappingIPIP): the group of an encapsulated frame is that
/// of its outer DSCP where the tunnel is uniform, and that of its inner one in a pipe.
#[test]
fn ipip_qos_sai_dscp_to_pg_mapping() {
    for dscp in 0..64 {
        let groups_of = |dut: &Dut| dut.rig.report(1).counters.rx_frames;
        let other = 0;
        let mut expected = [0; 8];
        expected[usize::from(group(dscp))] = 1;
        let mut dut = tor(TunnelMode::Uniform, TunnelPriorityGroup::Outer);
        decapsulate(&mut dut, (dscp, other), 100, 1);
        assert_eq!(groups_of(&dut), expected, "uniform, DSCP {dscp}");
        // Without a remapping of the groups, as on a switch that is none of a pair.
        let mut dut = pipe();
        dut.rig.builder.tunnels[0].outer_tag = by_tag(Tag::from_low_bits);
        let snapshot = Arc::new(dut.rig.builder.snapshot(2));
        dut.rig.command(|| dataplane::control_rings::Command::Install(Arc::clone(&snapshot)));
        decapsulate(&mut dut, (other, dscp), 100, 1);
        assert_eq!(groups_of(&dut), expected, "pipe, DSCP {dscp}");
    }
}

/// test_dscp_to_queue_mapping of test_qos_dscp_mapping: the queue of a decapsulated frame is that
/// of its outer DSCP where the tunnel is uniform, and that of its inner one in a pipe.
#[test]
fn dscp_to_queue_mapping_of_tunneled_packets() {
    for dscp in (0..64).filter(|dscp| !EXTRA.contains(dscp)) {
        let mut expected = [0; 8];
        expected[usize::from(queue(dscp))] = 1;
        let mut dut = tor(TunnelMode::Uniform, TunnelPriorityGroup::Outer);
        decapsulate(&mut dut, (dscp, 1), 100, 1);
        assert_eq!(dut.rig.report(3).counters.tx_frames, expected, "uniform, DSCP {dscp}");
        assert_eq!(dscp_of(&dut.left(3)[0]), dscp, "it is copied in");
        let mut dut = pipe();
        decapsulate(&mut dut, (1, dscp), 100, 1);
        assert_eq!(dut.rig.report(3).counters.tx_frames, expected, "pipe, DSCP {dscp}");
    }
}

/// test_pipe_mode_dscp_preservation.
#[test]
fn pipe_mode_dscp_preservation() {
    let mut dut = pipe();
    for (outer, inner) in (0..64).map(|inner| (63 - inner, inner)) {
        decapsulate(&mut dut, (outer, inner), 100, 1);
        let dscps: Vec<u8> = dut.left(3).iter().map(|frame| dscp_of(frame)).collect();
        assert_eq!(dscps, [inner], "outer DSCP {outer}");
    }
}

/// test_pfc_pause_extra_lossless_standby: a pause of queue 2 (6) holds bounced traffic of DSCP 3
/// (4), and nothing else.
#[test]
fn pfc_pause_extra_lossless_standby() {
    for (dscp, extra) in [(3, 2), (4, 6)] {
        let mut dut = pipe();
        dut.hear_pfc(1, 1 << extra, u16::MAX);
        for (other, ..) in DSCPS {
            bounce(&mut dut, other, 100, 3);
        }
        let sent: Vec<u8> = dut.left(1).iter().map(|frame| inner_dscp_of(frame)).collect();
        let expected = DSCPS.iter().filter(|it| it.0 != dscp).flat_map(|it| [it.0; 3]);
        assert_eq!(sent, expected.collect::<Vec<u8>>());
        assert_eq!(dut.queue(1, extra).veq_frames, 3, "they wait in queue {extra}");
        dut.hear_pfc(1, 1 << extra, 0);
        let sent: Vec<u8> = dut.left(1).iter().map(|frame| inner_dscp_of(frame)).collect();
        assert_eq!(sent, [dscp; 3]);
    }
}

/// test_pfc_pause_extra_lossless_active: a server's pause of queue 3 (4) becomes a pause of group 2
/// (6) for the switch above, which is where the bounced traffic comes from.
#[test]
fn pfc_pause_extra_lossless_active() {
    const BYTES: usize = 1_000;
    for (dscp, extra) in [(3, 2), (4, 6)] {
        let mut dut = pipe();
        dut.hear_pfc(3, 1 << dscp, u16::MAX);
        let to_xoff = Mmu::new(PROFILE, POOL, 1).frames_to_xoff(cost(BYTES - 20));
        decapsulate(&mut dut, (extra, dscp), BYTES, to_xoff - 1);
        assert_eq!(dut.xoffs(1, extra), 0, "short of XOFF");
        decapsulate(&mut dut, (extra, dscp), BYTES, 1);
        assert_eq!(dut.xoffs(1, extra), 1);
        assert_eq!(dut.left(3).len(), 0);
        let others: u64 = (0..8).filter(|&p| p != extra).map(|p| dut.xoffs(1, p)).sum();
        assert_eq!((others, dut.xoffs(2, dscp)), (0, 0), "no other class, no other port");
        dut.hear_pfc(3, 1 << dscp, 0);
        assert_eq!(dut.left(3).len(), to_xoff as usize, "none is lost");
    }
}

/// test_pfc_watermark_extra_lossless_standby: what is bounced is charged to the group that it came
/// in by, and waits in the extra queue.
#[test]
fn pfc_watermark_extra_lossless_standby() {
    for (dscp, extra) in [(3, 2), (4, 6)] {
        let mut dut = pipe();
        dut.block(1);
        bounce(&mut dut, dscp, 1_000, 20);
        assert_eq!(dut.queue(2, dscp).viq_peak_bytes, 20 * 1_020, "with the outer header");
        assert_eq!(dut.queue(1, extra).veq_peak_bytes, 20 * 1_020);
        let other = (0..8).filter(|&p| p != extra).map(|p| dut.queue(1, p).veq_peak_bytes);
        assert_eq!(other.sum::<u32>(), 0);
    }
}

/// test_pfc_watermark_extra_lossless_active: what leaves the tunnel is charged to the extra group.
#[test]
fn pfc_watermark_extra_lossless_active() {
    for (dscp, extra) in [(3, 2), (4, 6)] {
        let mut dut = pipe();
        dut.block(3);
        decapsulate(&mut dut, (extra, dscp), 1_020, 20);
        assert_eq!(dut.queue(1, extra).viq_peak_bytes, 20 * 1_000, "without the outer header");
        assert_eq!(dut.queue(3, dscp).veq_peak_bytes, 20 * 1_000);
        let other = (0..8).filter(|&p| p != extra).map(|p| dut.queue(1, p).viq_peak_bytes);
        assert_eq!(other.sum::<u32>(), 0);
    }
}

/// test_xoff_for_pcbb (PCBBPFCTest): bounced traffic pauses its sender at the limit of the group
/// that it came in by, tunneled traffic at that of the extra group, and nothing is lost up to the
/// end of the headroom. Theirs allows a margin of frames; here each is exact.
#[test]
fn xoff_for_pcbb() {
    const BYTES: usize = 1_000;
    for (dscp, extra) in [(3, 2), (4, 6)] {
        // Standby: in by port 2 and out by port 1. Active: in by port 1 and out by port 3.
        for (is_standby, from, to, group) in [(true, 2, 1, dscp), (false, 1, 3, extra)] {
            let mut dut = pipe();
            dut.block(to);
            let send = |dut: &mut Dut, count| {
                if is_standby {
                    // 1,000 octets with the outer header.
                    bounce(dut, dscp, BYTES - 20, count);
                } else {
                    decapsulate(dut, (extra, dscp), BYTES + 20, count);
                }
            };
            let arriving = if is_standby { BYTES - 20 } else { BYTES + 20 };
            let mmu = Mmu::new(PROFILE, POOL, 1);
            let (to_xoff, to_drop) =
                (mmu.frames_to_xoff(cost(BYTES)), mmu.frames_to_drop(cost(BYTES)));
            send(&mut dut, to_xoff - 1);
            let mut expected = received(from, group, arriving, to_xoff - 1);
            if is_standby {
                expected.push(format!("p{from} raised_frames +{}", to_xoff - 1));
                expected.sort();
            }
            assert_eq!(dut.moved(), expected, "short of XOFF");
            send(&mut dut, 1);
            assert_eq!(dut.rig.report(from).counters.pfc.tx_frames, 1);
            assert!(dut.queue(from, group).tx_paused);
            dut.moved();
            send(&mut dut, to_drop - to_xoff - 1);
            let drops: u64 = dut.rig.report(from).counters.drops.iter().sum();
            assert_eq!(drops, 0, "short of a drop");
            send(&mut dut, 1);
            let drops: u64 = dut.rig.report(from).counters.drops.iter().sum();
            assert_eq!(drops, 1);
            dut.release(to);
            dut.pass(MS);
            assert_eq!(dut.left(to).len(), to_drop as usize - 1, "all others arrive");
        }
    }
}
