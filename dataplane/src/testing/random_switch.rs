//! A switch, its frames and its faults as a script has them: every mode, small buffers, so that a
//! short script reaches every limit.

use super::wire::{Udp, host_mac, host_v4, in_tunnel, port_mac};
use super::{RigBuilder, Script};
use crate::fib::Route;
use crate::ids::{PortId, Priority, Tag};
use crate::pfc::watchdog::{Action, WatchdogSettings};
use crate::qos_map::QosMap;
use crate::queue::shaper::PeakRate;
use crate::rules::{TagMatch, TcamEntry};
use crate::settings::{DepthCurve, GfcSettings, TelemetrySettings, Threshold};
use crate::time::Speed;
use crate::ttl_class::{Parity, TtlClasses};
use crate::tunnel::{Tunnel, TunnelId, TunnelMode, TunnelPriorityGroup};
use crate::wire::MacAddress;
use crate::wire::mac_control::Pfc;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr};
use ipnet::{IpNet, Ipv4Net};

/// TTL of the first TTL class.
const TTL0: u8 = 64;
/// DSCPs of frames: the two lossless tags, and lossy ones.
const DSCPS: [u8; 4] = [26, 27, 0, 46];

/// A switch of 2 to 5 ports and one worker; `None` if the script ends before.
pub fn switch(script: &mut Script<'_>) -> Option<RigBuilder> {
    let ports = 2 + script.below(4)?;
    let modes = script.octet()?;
    let has = |bit: u8| modes >> bit & 1 == 1;
    let mut builder = if has(0) { RigBuilder::bridged(ports) } else { RigBuilder::routed(ports) };
    let settings = &mut builder.settings;
    settings.scheduler.fair = has(1);
    settings.scheduler.strict_bits = if has(2) { 0b1001_0000 } else { 0 };
    settings.telemetry = has(2).then_some(TelemetrySettings { switch: 0x123 });
    settings.mac_table.entries_max = 64;
    settings.buffer.frames_max = 2_048;
    settings.buffer.lossy_bytes = 4_000 + 200 * u64::from(script.octet()?);
    settings.buffer.lossy_queue_bytes = 2_000 + 100 * u32::from(script.octet()?);
    if has(6) {
        settings.buffer.lossy_queue_alpha_log2 = Some(i8::from(has(7)) * 3 - 2);
    }
    if has(3) {
        settings.ecn[3] =
            Some(DepthCurve { kmin_bytes: 2_000, kmax_bytes: 9_000, pmax_q16: 30_000 });
        settings.wred[0] =
            Some(DepthCurve { kmin_bytes: 3_000, kmax_bytes: 3_000, pmax_q16: 65_536 });
    }
    let xoff_bytes = 3_000 + 80 * u32::from(script.octet()?);
    let headroom_bytes = 100 * u32::from(script.octet()?);
    let alpha_log2 = -i8::try_from(script.below(4)?).ok()?;
    let watchdog = match script.below(6)? {
        0 => Some(Action::Drop),
        1 => Some(Action::Forward),
        2 => Some(Action::Alert),
        _ => None,
    };
    let paced_bits = if script.below(3)? == 0 { script.octet()? } else { 0 };
    for (number, port) in (0..).zip(&mut settings.ports) {
        port.paced = paced_bits >> number & 1 == 1;
        port.speed = Speed::from_gbps(if port.paced { 1 } else { 10 });
        port.watchdog = watchdog.map(|action| WatchdogSettings {
            detection_ns: 200_000,
            restoration_ns: 100_000,
            action,
        });
        for viq in port.lossless.iter_mut().flatten() {
            viq.headroom_bytes = headroom_bytes;
            viq.xon_offset_bytes = 3_000.min(xoff_bytes);
            viq.reserved_bytes = 1_000;
            viq.threshold = if has(4) {
                Threshold::Dynamic { alpha_log2, xon_bytes: xoff_bytes / 2 }
            } else {
                Threshold::Static { xoff_bytes }
            };
        }
    }
    // Small enough that a dynamic threshold falls, large enough for reserve and headroom.
    let kept = 2 * u64::from(ports) * u64::from(1_000 + headroom_bytes);
    settings.buffer.size_bytes = kept + settings.buffer.lossy_bytes + 40_000;
    if script.below(4)? == 0 {
        settings.buffer.headroom_pool_bytes = Some(u64::from(headroom_bytes) * u64::from(ports));
    }
    match has(5) {
        true if !has(0) && !has(4) => give_ttl_classes(&mut builder),
        false if has(6) && !has(4) => give_rates(&mut builder, xoff_bytes, has(7)),
        _ => {}
    }
    if has(7) && !has(0) {
        builder.rules = Some(rules(script, ports)?);
    }
    if builder.tags.ttl_classes.is_none() && script.below(3)? == 0 {
        give_qos_maps(&mut builder, script)?;
    }
    if builder.tags.ttl_classes.is_none() && !has(0) && script.below(3)? == 0 {
        give_tunnel(&mut builder, script.octet()?);
    }
    if script.below(3)? == 0 {
        give_peak_rates(&mut builder, script)?;
    }
    Some(builder)
}

/// A QoS map for some ports: the lossless tags in either of the lossless priorities, the others in
/// any of the others.
fn give_qos_maps(builder: &mut RigBuilder, script: &mut Script<'_>) -> Option<()> {
    const LOSSY: [u8; 6] = [0, 1, 2, 5, 6, 7];
    for port in &mut builder.forwarding {
        let bits = script.octet()?;
        let mut map = QosMap::plain(builder.tags.priority);
        for (bit, priorities) in [(0, &mut map.priority_group), (2, &mut map.queue)] {
            let lossy = LOSSY[usize::from(bits >> 4 >> bit & 3)];
            priorities.fill(Priority::from_low_bits(lossy));
            priorities[1] = Priority::from_low_bits(3 + (bits >> bit & 1));
            priorities[2] = Priority::from_low_bits(3 + (bits >> bit >> 1 & 1));
        }
        port.qos_map = (bits != 0).then(|| Arc::new(map));
    }
    Some(())
}

/// Peak rates for some queues of each port: from a tenth of what a port sends to all of it.
fn give_peak_rates(builder: &mut RigBuilder, script: &mut Script<'_>) -> Option<()> {
    for port in &mut builder.settings.ports {
        let (bits, tenths, burst) = (script.octet()?, 1 + script.below(10)?, script.octet()?);
        let rate = Speed::from_bps(port.speed.bps() / 10 * u64::from(tenths));
        let peak = PeakRate { rate, burst_bytes: 40 * u32::from(burst) };
        port.peak_rates = Priority::EACH.map(|p| (bits & p.bit() != 0).then_some(peak));
    }
    Some(())
}

/// The address of the switch that its tunnel begins with.
const TUNNEL_END: [u8; 4] = [10, 255, 0, 1];

/// A tunnel to host 1 of port 1, which some of 192.0.2.0/24 is behind.
fn give_tunnel(builder: &mut RigBuilder, bits: u8) {
    let has = |bit: u8| bits >> bit & 1 == 1;
    let mode = |bit| if has(bit) { TunnelMode::Uniform } else { TunnelMode::Pipe };
    let mut outer_tag = core::array::from_fn(|tag| Tag::from_low_bits(low_8_bits(tag)));
    if has(0) {
        outer_tag.swap(1, 2);
    }
    if has(1) {
        outer_tag[2] = Tag::from_low_bits(0);
    }
    let remote = Ipv4Addr::from(host_v4(1, 1));
    builder.tunnels = vec![Tunnel {
        local: TUNNEL_END.into(),
        remote: Some(remote),
        any_remote: has(2),
        dscp: mode(3),
        ttl: mode(4),
        outer_tag,
        priority_group: if has(5) {
            TunnelPriorityGroup::Inner
        } else {
            TunnelPriorityGroup::Outer
        },
    }];
    builder.routes.set_locals([IpAddr::from(TUNNEL_END)]);
    let route = TunnelId::from_index(0).map(|id| Route::Tunnel { id, remote });
    let prefix = Ipv4Net::new_assert(Ipv4Addr::new(192, 0, 2, 0), 25);
    if let Some(route) = route {
        let _refused = builder.routes.set_route(IpNet::V4(prefix), route);
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the number of a tag")]
const fn low_8_bits(value: usize) -> u8 {
    value as u8
}

/// TTL classes on the two lossless priorities.
fn give_ttl_classes(builder: &mut RigBuilder) {
    let priorities = [3, 4].into_iter().filter_map(Priority::new).collect();
    let classes = TtlClasses { ttl0: TTL0, priorities, parity: Parity::All };
    for port in &mut builder.settings.ports {
        for priority in Priority::all() {
            if classes.lossless_bits() & priority.bit() == 0 {
                port.lossless[priority.index()] = None;
            }
        }
        port.upstream = classes.upstream();
    }
    builder.tags.ttl_classes = Some(classes);
}

/// Gentle flow control on each port, if it is built in.
fn give_rates(builder: &mut RigBuilder, full_bytes: u32, is_staged: bool) {
    use crate::gfc::{Form, RateMap};
    let (form, rate_map) = if is_staged {
        (Form::STAGED, RateMap::staged(full_bytes, full_bytes / 2, 1_500))
    } else {
        (Form::LINEAR, RateMap::linear(full_bytes, full_bytes / 2))
    };
    let (Some(form), Some(rate_map)) = (form, rate_map) else { return };
    for port in &mut builder.settings.ports {
        port.gfc = Some(GfcSettings { form, catch_up_ns: 1_000, period_ns: None });
        port.lossless.iter_mut().flatten().for_each(|viq| viq.rate_map = Some(rate_map));
    }
}

/// A few rules over the lossless tags.
pub fn rules(script: &mut Script<'_>, ports: u8) -> Option<Vec<TcamEntry>> {
    let mut entries = vec![];
    for _ in 0..script.below(6)? {
        let only = |number: u8| [number].into_iter().filter_map(port_id).collect();
        entries.push(TcamEntry {
            tag: TagMatch { value: 1 + script.below(2)?, mask: 63 },
            in_ports: only(1 + script.below(ports)?),
            out_ports: only(1 + script.below(ports)?),
            new_tag: Tag::from_low_bits(1 + script.below(2)?),
        });
    }
    Some(entries)
}

/// The port with this number, from 1.
pub fn port_id(number: u8) -> Option<PortId> {
    PortId::from_number(usize::from(number))
}

/// Resolves host 2 of each port of a routed switch, which is unknown at first.
pub fn resolve_second_hosts(builder: &mut RigBuilder) {
    for number in (1..).take(builder.settings.ports.len()) {
        let address = IpAddr::V4(Ipv4Addr::from(host_v4(number, 2)));
        let Some(port) = port_id(number) else { continue };
        let _refused = builder.routes.set_neighbor(address, port, host_mac(number, 2));
    }
}

/// A frame that arrives at port `from` of a switch of `ports` ports: data of any class and length,
/// a PFC frame, or octets.
pub fn frame(script: &mut Script<'_>, from: u8, ports: u8, is_bridged: bool) -> Option<Vec<u8>> {
    match script.below(16)? {
        0 => Some(script.piece(120)?.to_vec()),
        1..=3 => pfc(script, from),
        kind => {
            let to = 1 + script.below(ports)?;
            let dscp = DSCPS[usize::from(script.below(4)?)];
            let mut udp =
                if is_bridged { Udp::bridged(from, to, dscp) } else { Udp::routed(from, to, dscp) };
            udp.frame_bytes = 60 + usize::from(script.octet()?) * 1_454 / 255;
            let marks = script.below(16)?;
            udp.tos |= marks & 3;
            udp.src_port += u16::from(marks >> 2);
            let other = script.octet()?;
            match kind {
                4 if is_bridged => udp.dst_mac = MacAddress([0xFF; 6]),
                5 if is_bridged => udp.tags = vec![20 | u16::from(other) << 8 & 0xE000],
                4 => udp.dst = host_v4(to, 2),
                5 => udp.ttl = TTL0 - other % 4,
                6 => udp.dst_mac = port_mac(to),
                7 => udp.dst = [192, 0, 2, other],
                8 | 9 => udp.has_telemetry = udp.frame_bytes >= 100,
                10 if !is_bridged => {
                    let tos = DSCPS[usize::from(other & 3)] << 2 | other >> 2 & 3;
                    let source = if other >> 4 & 1 == 0 { host_v4(1, 1) } else { host_v4(2, 1) };
                    return Some(in_tunnel(&udp.bytes(), (tos, TTL0), (source, TUNNEL_END)));
                }
                _ => {}
            }
            Some(udp.bytes())
        }
    }
}

/// A PFC frame that pauses some classes and resumes others.
fn pfc(script: &mut Script<'_>, from: u8) -> Option<Vec<u8>> {
    let (enabled_bits, quanta, zeros) = (script.octet()?, script.word()?, script.octet()?);
    let enabled = Priority::all().filter(|p| enabled_bits & p.bit() != 0);
    let pfc = enabled.fold(Pfc::default(), |pfc, priority| {
        pfc.with(priority, if zeros & priority.bit() == 0 { quanta } else { 0 })
    });
    Some(pfc.to_frame(host_mac(from, 9)).to_vec())
}
