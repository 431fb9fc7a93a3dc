//! Limits of lossy traffic: BUFFER_QUEUE and the pools of its profiles.

use super::findings::Place;
use super::model::{Buffer, LossyLimit, Port};
use super::profiles::{common, is_unlimited};
use super::reader::{Reader, Said};

/// `lossy` and `lossy_queue`, from the profiles of lossy queues.
pub(super) fn lossy_queues(
    reader: &mut Reader<'_>,
    ports: &[Port],
    used: u8,
    mut pools: Vec<String>,
    buffer: &mut Buffer,
) {
    let mut limits: Vec<(LossyLimit, String)> = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    for (port, queue, key) in reader.by_port_and_number("BUFFER_QUEUE") {
        if !ports.iter().any(|known| known.name == port) {
            continue;
        }
        let at = ("BUFFER_QUEUE", key, "profile");
        let Some(profile) = reader.known_reference(at, "BUFFER_PROFILE") else { continue };
        let name = profile.value;
        let is_lossless = queue < 8 && used >> queue & 1 == 1;
        let mark = format!("{name} {is_lossless}");
        if seen.contains(&mark) {
            continue;
        }
        seen.push(mark);
        if is_lossless {
            if !is_unlimited(reader, &name) {
                let place = Place::new("BUFFER_PROFILE", &name, "");
                let why = "limits a lossless queue, which would drop";
                reader.approximate(&place, why, "a lossless queue is limited by PFC alone");
            }
            continue;
        }
        let Some(pool) = reader.known_reference(("BUFFER_PROFILE", &name, "pool"), "BUFFER_POOL")
        else {
            continue;
        };
        if let Some(limit) = queue_limit(reader, &name, &pool.value) {
            limits.push((limit, format!("BUFFER_PROFILE|{name}")));
        }
        pools.push(pool.value);
    }
    let sizes: Vec<Said<u64>> =
        pools.iter().filter_map(|pool| reader.bytes("BUFFER_POOL", pool, "size")).collect();
    let least = sizes.into_iter().filter(|size| size.value > 0).min_by_key(|size| size.value);
    let longest = ports.iter().map(Port::frame_bytes).max().unwrap_or_default();
    buffer.lossy = least.map(|size| size.map(|size| size.max(longest)));
    let Some(lossy) = &buffer.lossy else { return };
    if let Some((said, all)) = common(&limits) {
        if !all {
            let place = Place::new("BUFFER_QUEUE", "", "profile");
            let why = "lossy queues have different limits; here all have the same";
            reader.approximate(&place, why, "it is that of most");
        }
        let most = lossy.value.min(u64::from(u32::MAX));
        buffer.lossy_queue = Some(said.map(|limit| match limit {
            LossyLimit::Fixed(limit) => LossyLimit::Fixed(limit.clamp(longest.min(most), most)),
            LossyLimit::Moving(_) => limit,
        }));
    }
}

/// What a lossy queue may hold.
fn queue_limit(reader: &mut Reader<'_>, profile: &str, pool: &str) -> Option<LossyLimit> {
    const TABLE: &str = "BUFFER_PROFILE";
    let size = reader.bytes(TABLE, profile, "size").map_or(0, |size| size.value);
    let moving = reader.number(TABLE, profile, "dynamic_th", -8..=8);
    if size > 0 {
        let place = Place::new(TABLE, profile, "size");
        let instead = match moving {
            Some(_) => "it has its part of what is left",
            None => "it is a part of its limit",
        };
        reader.approximate(&place, "nothing is set aside for a lossy queue", instead);
    }
    if let Some(power) = moving {
        return Some(LossyLimit::Moving(power.value));
    }
    let fixed = reader.bytes(TABLE, profile, "static_th")?.value;
    let whole = reader.bytes("BUFFER_POOL", pool, "size").map_or(0, |size| size.value);
    Some(LossyLimit::Fixed(if fixed == 0 { whole } else { size + fixed }))
}
