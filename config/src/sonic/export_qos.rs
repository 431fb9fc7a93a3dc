//! Classes, buffers, queues and the watchdog of a switch, in SONiC's tables.
//!
//! A traffic class is a priority here, and so are its priority group and its queue, but for ports
//! with a `[[qos_map]]`.

use super::export_tables::Tables;
use super::export_tunnels;
use crate::switch::{PortConfig, SwitchConfig, priorities};
use dataplane::ids::{Priority, Tag};
use dataplane::limits::TAGS;
use dataplane::pfc::watchdog::Action;
use dataplane::pipeline::classify::ClassifyBy;
use dataplane::qos_map::QosMap;
use dataplane::queue::shaper::PeakRate;
use dataplane::settings::{Threshold, ViqSettings};

/// The name of maps.
const MAP: &str = "AZURE";
/// Traffic classes that SONiC can have.
const CLASSES: u8 = 16;
const LOSSLESS_POOL: &str = "ingress_lossless_pool";
const LOSSY_POOL: &str = "ingress_lossy_pool";

pub(super) fn write(tables: &mut Tables, config: &SwitchConfig, names: &[String]) {
    let lossless = config.settings.ports.iter().fold(0, |bits, port| bits | port.lossless_bits());
    let Some(classes) = Classes::new(config) else {
        let (place, why) = match export_tunnels::mapped(config) {
            Some(_) => (
                "[[tunnel]] outer_tag",
                "SONiC has 16 classes, and these tags need more; give those of a priority one outer tag",
            ),
            None => ("[[qos_map]]", "SONiC has 16 classes, and these maps need more"),
        };
        tables.refuse(place, why);
        return;
    };
    maps(tables, config, &classes);
    export_tunnels::maps(tables, config, &classes.of_tag);
    pools(tables, config, lossless);
    for (port, name) in config.ports.iter().zip(names) {
        qos_map(tables, config, port, name, classes.name(port.qos_map.as_deref()));
        groups(tables, config, port, name);
        queues(tables, config, port, name, lossless);
        watchdog(tables, config, port, name);
    }
    if config.settings.big_red_switch {
        tables.set("PFC_WD", "GLOBAL", "BIG_RED_SWITCH", "enable");
    }
    early(tables, config);
}

/// What tags of a class have in common: priority group and queue by kind of port, and outer tag.
type Signature = (Vec<(Priority, Priority)>, Option<Tag>);

/// Classes of tags, and maps from class to priority group and queue: one for each kind of port.
struct Classes<'a> {
    of_tag: [u8; TAGS],
    maps: Vec<(Option<&'a QosMap>, String)>,
}

impl<'a> Classes<'a> {
    /// Tags that have the same priorities at all ports, and the same outer tag, share a class, if
    /// they can that of their priority.
    fn new(config: &'a SwitchConfig) -> Option<Self> {
        let mut maps: Vec<(Option<&QosMap>, String)> = vec![(None, MAP.to_owned())];
        for port in &config.ports {
            let map = port.qos_map.as_deref();
            if !maps.iter().any(|(known, _)| *known == map) {
                let name = format!("{MAP}_{}", maps.len());
                maps.push((map, name));
            }
        }
        let tags = &config.tag_map;
        let tunnel = export_tunnels::mapped(config);
        let signature = |tag: Tag| -> Signature {
            let outer = tunnel.map(|tunnel| tunnel.outer_tag[tag.index()]);
            (maps.iter().map(|(map, _)| priorities(*map, tags, tag)).collect(), outer)
        };
        let mut taken: Vec<(u8, Signature)> = Vec::new();
        let mut of_tag = [0; TAGS];
        for tag in Tag::all() {
            let own = signature(tag);
            let known = taken.iter().find(|(_, same)| *same == own).map(|(class, _)| *class);
            let class = match known {
                Some(class) => class,
                None => {
                    let wanted = [tags.priority[tag.index()].value()].into_iter().chain(8..CLASSES);
                    let is_free = |class: &u8| !taken.iter().any(|(other, _)| other == class);
                    let class = wanted.chain(0..8).find(is_free)?;
                    taken.push((class, own));
                    class
                }
            };
            of_tag[tag.index()] = class;
        }
        Some(Self { of_tag, maps })
    }

    fn name(&self, map: Option<&QosMap>) -> &str {
        self.maps.iter().find(|(known, _)| *known == map).map_or(MAP, |(_, name)| name)
    }
}

/// DSCP and PCP to class, and class to priority group and queue.
fn maps(tables: &mut Tables, config: &SwitchConfig, classes: &Classes<'_>) {
    let tags = &config.tag_map;
    for (dscp, tag) in tags.dscp_to_tag.iter().enumerate() {
        let class = classes.of_tag[tag.index()].to_string();
        tables.set("DSCP_TO_TC_MAP", MAP, &dscp.to_string(), class);
    }
    if config.ports.iter().any(|port| port.trust.by == ClassifyBy::Pcp) {
        for (pcp, tag) in tags.pcp_to_tag.iter().enumerate() {
            let class = classes.of_tag[tag.index()].to_string();
            tables.set("DOT1P_TO_TC_MAP", MAP, &pcp.to_string(), class);
        }
    }
    for (map, name) in &classes.maps {
        for tag in Tag::all() {
            let class = classes.of_tag[tag.index()].to_string();
            let (group, queue) = priorities(*map, tags, tag);
            tables.set("TC_TO_PRIORITY_GROUP_MAP", name, &class, group.to_string());
            tables.set("TC_TO_QUEUE_MAP", name, &class, queue.to_string());
        }
    }
    for number in 0..8 {
        let number = number.to_string();
        tables.set("MAP_PFC_PRIORITY_TO_QUEUE", MAP, &number, number.clone());
    }
}

fn pools(tables: &mut Tables, config: &SwitchConfig, lossless: u8) {
    let buffer = &config.settings.buffer;
    let lossy = buffer.lossy_bytes;
    let headroom = config.settings.headroom_bytes();
    let pool = |tables: &mut Tables, name: &str, kind: &str, size: u64| {
        tables.set("BUFFER_POOL", name, "type", kind);
        tables.set("BUFFER_POOL", name, "mode", "dynamic");
        tables.set("BUFFER_POOL", name, "size", size.to_string());
    };
    pool(tables, LOSSY_POOL, "ingress", lossy);
    pool(tables, "egress_lossy_pool", "egress", lossy);
    let profile = |tables: &mut Tables, name: &str, pool: &str, (field, limit): (&str, String)| {
        tables.set("BUFFER_PROFILE", name, "pool", pool);
        tables.set("BUFFER_PROFILE", name, "size", "0");
        tables.set("BUFFER_PROFILE", name, field, limit);
    };
    let fixed = |limit: u64| ("static_th", limit.to_string());
    profile(tables, "ingress_lossy_profile", LOSSY_POOL, fixed(lossy));
    let queue = u64::from(buffer.lossy_queue_bytes);
    if buffer.lossy_queue_alpha_log2.is_some() && queue < lossy {
        let why = "a queue of SONiC has a fixed limit or one that moves";
        tables.refuse("[buffer] lossy_queue", why);
    }
    let moving = buffer.lossy_queue_alpha_log2.map(|power| ("dynamic_th", power.to_string()));
    let limit = moving.unwrap_or_else(|| fixed(queue));
    profile(tables, "egress_lossy_profile", "egress_lossy_pool", limit);
    if lossless != 0 {
        let shared = buffer.size_bytes.saturating_sub(lossy).saturating_sub(headroom);
        pool(tables, LOSSLESS_POOL, "ingress", shared);
        if let Some(bytes) = buffer.headroom_pool_bytes {
            tables.set("BUFFER_POOL", LOSSLESS_POOL, "xoff", bytes.to_string());
        }
        pool(tables, "egress_lossless_pool", "egress", buffer.size_bytes);
        let (name, pool) = ("egress_lossless_profile", "egress_lossless_pool");
        profile(tables, name, pool, fixed(buffer.size_bytes));
    }
    if buffer.partition_bytes.is_some() {
        tables.refuse("[ttl]", "SONiC has one pool for all lossless priorities");
    }
}

fn qos_map(tables: &mut Tables, config: &SwitchConfig, port: &PortConfig, name: &str, map: &str) {
    const TABLE: &str = "PORT_QOS_MAP";
    match port.trust.by {
        ClassifyBy::Dscp | ClassifyBy::Port => tables.set(TABLE, name, "dscp_to_tc_map", MAP),
        ClassifyBy::Pcp => tables.set(TABLE, name, "dot1p_to_tc_map", MAP),
    }
    tables.set(TABLE, name, "tc_to_pg_map", map);
    tables.set(TABLE, name, "tc_to_queue_map", map);
    tables.set(TABLE, name, "pfc_to_queue_map", MAP);
    let settings = &config.settings.ports[port.id.index()];
    let bits = settings.lossless_bits();
    if bits == 0 {
        return;
    }
    let priorities: Vec<String> = Priority::all()
        .filter(|priority| bits & priority.bit() != 0)
        .map(|priority| priority.to_string())
        .collect();
    tables.set(TABLE, name, "pfc_enable", priorities.join(","));
    if settings.watchdog.is_some() {
        tables.set(TABLE, name, "pfcwd_sw_enable", priorities.join(","));
    }
}

/// Priority groups; each kind of lossless group has a profile.
fn groups(tables: &mut Tables, config: &SwitchConfig, port: &PortConfig, name: &str) {
    let settings = &config.settings.ports[port.id.index()];
    for priority in Priority::all() {
        let key = format!("{name}|{priority}");
        let Some(viq) = settings.lossless[priority.index()] else { continue };
        let profile = lossless_profile(tables, &viq);
        tables.set("BUFFER_PG", &key, "profile", profile);
    }
    let lossy = Priority::all().find(|priority| settings.lossless[priority.index()].is_none());
    if let Some(lossy) = lossy {
        let key = format!("{name}|{lossy}");
        tables.set("BUFFER_PG", &key, "profile", "ingress_lossy_profile");
    }
}

fn lossless_profile(tables: &mut Tables, viq: &ViqSettings) -> String {
    const TABLE: &str = "BUFFER_PROFILE";
    let (field, threshold, kind, xon) = match viq.threshold {
        Threshold::Dynamic { alpha_log2, xon_bytes } => {
            if alpha_log2 > 7 {
                tables.refuse("[[lossless]] dynamic_th", "SONiC's is 7 at the most");
            }
            ("dynamic_th", i64::from(alpha_log2), 'd', u64::from(xon_bytes))
        }
        // SONiC's does not count what is set aside.
        Threshold::Static { xoff_bytes } => {
            if xoff_bytes <= viq.reserved_bytes {
                tables.refuse("[[lossless]] static_th", "SONiC's is above `size`; make it larger");
            }
            ("static_th", i64::from(xoff_bytes) - i64::from(viq.reserved_bytes), 's', 0)
        }
    };
    let ViqSettings { reserved_bytes, xon_offset_bytes, headroom_bytes, .. } = *viq;
    let (reserved, headroom) = (u64::from(reserved_bytes), u64::from(headroom_bytes));
    // A size of xon + xoff or more is one with the headroom in it.
    let size = if reserved >= xon + headroom { reserved + headroom } else { reserved };
    let name = format!(
        "lossless_{reserved}_{headroom}_{kind}{threshold}_{xon}_{xon_offset_bytes}_profile"
    );
    tables.set(TABLE, &name, "pool", LOSSLESS_POOL);
    tables.set(TABLE, &name, field, threshold.to_string());
    tables.set(TABLE, &name, "size", size.to_string());
    tables.set(TABLE, &name, "xoff", headroom.to_string());
    tables.set(TABLE, &name, "xon", xon.to_string());
    tables.set(TABLE, &name, "xon_offset", xon_offset_bytes.to_string());
    name
}

fn queues(tables: &mut Tables, config: &SwitchConfig, port: &PortConfig, name: &str, lossless: u8) {
    let peaks = config.settings.ports[port.id.index()].peak_rates;
    let scheduler = &config.settings.scheduler;
    let shares = shares(config);
    for priority in Priority::all() {
        let key = format!("{name}|{priority}");
        let is_lossless = lossless & priority.bit() != 0;
        let profile = if is_lossless { "egress_lossless_profile" } else { "egress_lossy_profile" };
        tables.set("BUFFER_QUEUE", &key, "profile", profile);
        let peak = peaks[priority.index()];
        let of_peak = peak.map_or_else(String::new, |peak| {
            format!(".{}.{}", peak.rate.bps() / 8, peak.burst_bytes)
        });
        let service = if scheduler.strict_bits & priority.bit() != 0 {
            let service = format!("scheduler.strict{of_peak}");
            tables.set("SCHEDULER", &service, "type", "STRICT");
            service
        } else {
            let weight = shares[priority.index()];
            let service = format!("scheduler.{weight}{of_peak}");
            tables.set("SCHEDULER", &service, "type", "DWRR");
            tables.set("SCHEDULER", &service, "weight", weight.to_string());
            service
        };
        if let Some(peak) = peak {
            peak_rate(tables, &service, peak);
        }
        tables.set("QUEUE", &key, "scheduler", service);
        let (ecn, wred) = (config.settings.ecn, config.settings.wred);
        if ecn[priority.index()].is_some() || wred[priority.index()].is_some() {
            tables.set("QUEUE", &key, "wred_profile", early_profile(priority));
        }
    }
}

fn peak_rate(tables: &mut Tables, service: &str, peak: PeakRate) {
    let bps = peak.rate.bps();
    if !bps.is_multiple_of(8) {
        tables.refuse("[[shaper]] peak_rate", "SONiC's is in whole bytes a second");
    }
    tables.set("SCHEDULER", service, "meter_type", "bytes");
    tables.set("SCHEDULER", service, "pir", (bps / 8).to_string());
    tables.set("SCHEDULER", service, "pbs", peak.burst_bytes.to_string());
}

/// Weights: quanta in their smallest whole ratio.
fn shares(config: &SwitchConfig) -> [u32; 8] {
    let scheduler = &config.settings.scheduler;
    let weighted = Priority::all().filter(|priority| scheduler.strict_bits & priority.bit() == 0);
    let common = weighted
        .map(|priority| scheduler.quantum_bytes[priority.index()])
        .fold(0, greatest_common_divisor)
        .max(1);
    scheduler.quantum_bytes.map(|quantum| quantum / common)
}

fn greatest_common_divisor(one: u32, other: u32) -> u32 {
    if other == 0 { one } else { greatest_common_divisor(other, one % other) }
}

/// The name of the profile of a queue that marks or drops early.
fn early_profile(priority: Priority) -> String {
    format!("early_{priority}")
}

fn early(tables: &mut Tables, config: &SwitchConfig) {
    const TABLE: &str = "WRED_PROFILE";
    for priority in Priority::all() {
        let (ecn, wred) =
            (config.settings.ecn[priority.index()], config.settings.wred[priority.index()]);
        let Some(curve) = ecn.or(wred) else { continue };
        let of = if ecn.is_some() { "[[ecn]]" } else { "[[wred]]" };
        if wred.is_some_and(|wred| wred != curve) {
            tables.refuse("[[wred]]", "SONiC has one curve for marks and early drops of a queue");
        }
        let name = early_profile(priority);
        let percent = (curve.pmax_q16 * 100 + 32_768) / 65_536;
        if (percent * 65_536 + 50) / 100 != curve.pmax_q16 || percent == 0 {
            tables.refuse(format!("{of} pmax"), "SONiC's probabilities are whole percents");
        }
        tables.set(TABLE, &name, "ecn", if ecn.is_some() { "ecn_all" } else { "ecn_none" });
        tables.set(TABLE, &name, "wred_green_enable", wred.is_some().to_string());
        tables.set(TABLE, &name, "green_min_threshold", curve.kmin_bytes.to_string());
        tables.set(TABLE, &name, "green_max_threshold", curve.kmax_bytes.to_string());
        tables.set(TABLE, &name, "green_drop_probability", percent.to_string());
    }
}

fn watchdog(tables: &mut Tables, config: &SwitchConfig, port: &PortConfig, name: &str) {
    const TABLE: &str = "PFC_WD";
    const MS: u64 = 1_000_000;
    let Some(watchdog) = config.settings.ports[port.id.index()].watchdog else { return };
    let times =
        [("detection_time", watchdog.detection_ns), ("restoration_time", watchdog.restoration_ns)];
    for (field, ns) in times {
        if !ns.is_multiple_of(MS) || ns < 100 * MS {
            tables
                .refuse(format!("[watchdog] {field}"), "SONiC's is in whole ms, 100 at the least");
        }
        tables.set(TABLE, name, field, (ns / MS).to_string());
    }
    let known: [(&str, Action); 3] = Action::ALL;
    let action = known.iter().find(|(_, action)| *action == watchdog.action);
    tables.set(TABLE, name, "action", action.map_or("drop", |&(name, _)| name));
}
