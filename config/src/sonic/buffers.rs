//! Priority groups to `[[lossless]]`, and pools to `[buffer]`.

use super::findings::Place;
use super::lossy::lossy_queues;
use super::model::{Buffer, Lossless, Model, Port, Threshold};
use super::profiles::{POOL, Profile, Profiles, is_unlimited, of_lossy_groups};
use super::reader::{Reader, Said};

/// What each port's lossless groups get: profiles by port, then by group.
pub(super) struct Groups {
    profiles: Vec<[Option<Profile>; 8]>,
    over_subscribe_ratio: Option<Said<i64>>,
}

/// Bytes of headroom, where all of it is said.
struct Headroom {
    sum: u64,
    /// Of one group.
    largest: u64,
}

impl Groups {
    pub(super) fn read(reader: &mut Reader<'_>, profiles: &Profiles<'_>, ports: &[Port]) -> Self {
        let of_port = |port: &Port| {
            std::array::from_fn(|group| {
                let group = u8::try_from(group).unwrap_or_default();
                let is_paused = port.pfc.value >> group & 1 == 1;
                is_paused.then(|| profiles.of_group(reader, port, group)).flatten()
            })
        };
        let over_subscribe_ratio = profiles.over_subscribe_ratio().cloned();
        Self { profiles: ports.iter().map(of_port).collect(), over_subscribe_ratio }
    }

    /// Lossless groups of each port, as bits.
    pub(super) fn bits(&self) -> Vec<u8> {
        let bits = |groups: &[Option<Profile>; 8]| {
            (0..8)
                .filter(|&group: &usize| groups[group].is_some())
                .fold(0, |bits, at| bits | 1 << at)
        };
        self.profiles.iter().map(bits).collect()
    }

    /// The lossless priorities that are `used`, and at which ports.
    pub(super) fn lossless(&self, reader: &mut Reader<'_>, model: &mut Model, used: u8) {
        self.say_unused(reader, &model.ports, used);
        for (port, bits) in model.ports.iter_mut().zip(self.bits()) {
            port.lossless = bits & used;
        }
        for priority in (0..8).filter(|priority| used >> priority & 1 == 1) {
            let tables = self.tables(reader, &model.ports, priority);
            model.lossless.extend(tables);
        }
    }

    fn say_unused(&self, reader: &mut Reader<'_>, ports: &[Port], used: u8) {
        for (port, bits) in ports.iter().zip(self.bits()) {
            let unused = port.pfc.value & !(bits & used);
            for priority in (0..8).filter(|priority| unused >> priority & 1 == 1) {
                let place = Place::new("PORT_QOS_MAP", &port.name, "pfc_enable");
                let why = if bits >> priority & 1 == 1 {
                    format!(
                        "no marking leads to priority group {priority}, so nothing is lossless there"
                    )
                } else {
                    format!("priority group {priority} has a profile without xoff, so it is lossy")
                };
                let instead = "pauses of that priority are neither sent nor obeyed";
                reader.approximate(&place, why, instead);
            }
        }
    }

    fn of(&self, ports: &[Port], priority: u8) -> Vec<(usize, &Profile)> {
        let at = usize::from(priority);
        let each = self.profiles.iter().zip(ports).enumerate();
        each.filter_map(|(port, (groups, _))| Some((port, groups[at].as_ref()?))).collect()
    }

    /// A table for each profile of the priority. The one of most ports names none, if each port
    /// with anything lossless has the priority.
    fn tables(&self, reader: &mut Reader<'_>, ports: &[Port], priority: u8) -> Vec<Lossless> {
        let of = self.of(ports, priority);
        let mut kinds: Vec<Vec<(usize, &Profile)>> = Vec::new();
        for &(port, profile) in &of {
            match kinds.iter_mut().find(|kind| kind[0].1.gives_the_same_as(profile)) {
                Some(kind) => kind.push((port, profile)),
                None => kinds.push(vec![(port, profile)]),
            }
        }
        kinds.sort_by_key(|kind| std::cmp::Reverse(kind.len()));
        let is_everywhere = of.len() == ports.iter().filter(|port| port.lossless != 0).count();
        let table = |(at, kind): (usize, Vec<(usize, &Profile)>)| {
            let name = |(port, _): &(usize, &Profile)| ports[*port].name.clone();
            let is_general = is_everywhere && at == 0;
            let named = if is_general { Vec::new() } else { kind.iter().map(name).collect() };
            lossless_table(reader, ports, priority, &kind, named)
        };
        kinds.into_iter().enumerate().map(table).collect()
    }

    /// Bytes that all lossless groups set aside, and all their headroom, where all of it is said.
    fn sums(&self, ports: &[Port], used: u8) -> (u64, Option<Headroom>) {
        let used = (0..8).filter(|group| used >> group & 1 == 1);
        let all: Vec<&Profile> =
            used.flat_map(|group| self.of(ports, group)).map(|(_, profile)| profile).collect();
        let size = all.iter().map(|profile| profile.size.unwrap_or_default()).sum();
        let headrooms: Option<Vec<u64>> = all.iter().map(|profile| profile.headroom).collect();
        let headroom = headrooms.map(|all| Headroom {
            sum: all.iter().sum(),
            largest: all.into_iter().max().unwrap_or_default(),
        });
        (size, headroom)
    }

    /// The pools, and the limits of lossy traffic.
    pub(super) fn buffer(&self, reader: &mut Reader<'_>, ports: &[Port], used: u8) -> Buffer {
        let pool =
            self.profiles.iter().flatten().flatten().map(|profile| profile.pool.clone()).next();
        let pool = pool.unwrap_or_else(|| POOL.to_owned());
        let (reserved, headroom) = self.sums(ports, used);
        let is_lossless = used != 0;
        let mut buffer = Buffer::default();
        if is_lossless {
            let size = reader.bytes("BUFFER_POOL", &pool, "size").filter(|size| size.value > 0);
            buffer.shared = size.map(|size| size.map(|size| size.saturating_sub(reserved)));
            let shared = reader.bytes("BUFFER_POOL", &pool, "xoff").filter(|xoff| xoff.value > 0);
            let place = Place::new("BUFFER_POOL", &pool, "xoff");
            let instead = "each port has its own in full";
            // A size goes before a ratio, there too.
            match (shared, headroom) {
                (None, _) => buffer.over_subscribe_ratio = self.over_subscribe_ratio.clone(),
                (Some(_), None) => {
                    let why = "the headroom that is shared is computed here, and is larger";
                    reader.approximate(&place, why, instead);
                }
                (Some(xoff), Some(headroom)) if xoff.value < headroom.largest => {
                    let why = format!(
                        "a group of a port needs {} bytes of headroom, and the pool has {}",
                        headroom.largest, xoff.value
                    );
                    reader.approximate(&place, why, instead);
                }
                (Some(xoff), Some(headroom)) => {
                    buffer.headroom_pool = Some(xoff).filter(|xoff| xoff.value < headroom.sum);
                }
            }
        }
        let bits = self.bits();
        let lossless_group = |port: &str, group: u8| {
            let at = ports.iter().position(|known| known.name == port);
            group < 8 && at.is_some_and(|at| bits[at] >> group & 1 == 1)
        };
        let mut lossy_pools = Vec::new();
        for (profile, key) in of_lossy_groups(reader, ports, lossless_group) {
            let of = reader.reference(("BUFFER_PROFILE", &profile, "pool"), "BUFFER_POOL");
            let of = of.map(|pool| pool.value).unwrap_or_default();
            if !is_unlimited(reader, &profile) {
                let place = Place::new("BUFFER_PROFILE", &profile, "");
                let why =
                    format!("limits lossy priority groups ({key}); here only queues are limited");
                reader.approximate(&place, why, "it is left out");
            }
            if of == pool && is_lossless {
                let place = Place::new("BUFFER_PROFILE", &profile, "pool");
                let why = "lossy and lossless traffic do not share a pool";
                reader.approximate(&place, why, "each has as much as it can have there");
            } else {
                lossy_pools.push(of);
            }
        }
        lossy_queues(reader, ports, used, lossy_pools, &mut buffer);
        buffer
    }
}

/// What ports get that have the same profile, or profiles that give the same.
fn lossless_table(
    reader: &mut Reader<'_>,
    ports: &[Port],
    priority: u8,
    kind: &[(usize, &Profile)],
    named: Vec<String>,
) -> Lossless {
    let (first, profile) = kind[0];
    let frames: Vec<u64> = kind.iter().map(|(port, _)| ports[*port].frame_bytes()).collect();
    let said = |value| Said::new(value, profile.from.clone());
    let threshold = profile.threshold.filter(|&th| in_reach(reader, profile, &frames, th));
    let threshold = threshold.map(|value| Said::new(value, profile.from.clone()));
    Lossless {
        priority,
        ports: named,
        from: ports[first].pfc.from.clone(),
        size: reserve(reader, profile, &frames).map(said),
        threshold,
        xon: xon(profile).map(said),
        xon_offset: hysteresis(reader, profile, &frames).map(said),
        headroom: checked_headroom(reader, profile, &frames).map(said),
    }
}

/// Bytes that are set aside, if the profile says so and it can be so; `frames` are the longest of
/// each port.
fn reserve(reader: &mut Reader<'_>, profile: &Profile, frames: &[u64]) -> Option<u64> {
    let size = profile.size?;
    if frames.iter().all(|frame| size == 2 * frame) {
        return None;
    }
    if frames.iter().any(|&frame| size < frame) {
        let why = "is less than one of the port's longest frames, which could then deadlock";
        let instead = "two of its longest frames are set aside";
        reader.approximate(&place_of(profile, "size"), why, instead);
        return None;
    }
    Some(size)
}

/// `xon` of a dynamic threshold, where it can be above the limit less `xon_offset`.
fn xon(profile: &Profile) -> Option<u64> {
    let is_static = matches!(profile.threshold, Some(Threshold::Static(_)));
    let size = profile.size.unwrap_or(u64::MAX);
    let matters = !is_static && profile.xon > size.saturating_sub(profile.xon_offset);
    matters.then_some(profile.xon)
}

/// XON is due at or below the larger of `xon` and the limit less `xon_offset`.
fn hysteresis(reader: &mut Reader<'_>, profile: &Profile, frames: &[u64]) -> Option<u64> {
    profile.size?;
    let offset = match profile.threshold {
        Some(Threshold::Static(limit)) => {
            let xon = profile.xon.max(limit.saturating_sub(profile.xon_offset)).min(limit);
            limit - xon
        }
        _ => profile.xon_offset,
    };
    if frames.iter().any(|frame| offset < 2 * frame) {
        let why = "XON is less than two of the port's longest frames below XOFF, so that each frame \
                   could send a pause";
        reader.approximate(&place_of(profile, "xon_offset"), why, "it is two frames below");
        return None;
    }
    (!frames.iter().all(|frame| offset == 2 * frame)).then_some(offset)
}

/// A static threshold holds two frames at each port.
fn in_reach(
    reader: &mut Reader<'_>,
    profile: &Profile,
    frames: &[u64],
    threshold: Threshold,
) -> bool {
    let Threshold::Static(bytes) = threshold else { return true };
    if frames.iter().all(|frame| bytes >= 2 * frame) && bytes < 1 << 32 {
        return true;
    }
    let why = "holds less than two of the longest frames, or more than 4 GB";
    reader.refuse(&place_of(profile, "static_th"), why);
    false
}

/// A headroom that can hold a frame.
fn checked_headroom(reader: &mut Reader<'_>, profile: &Profile, frames: &[u64]) -> Option<u64> {
    let headroom = profile.headroom?;
    if frames.iter().all(|&frame| headroom >= frame) && headroom < 1 << 32 {
        return Some(headroom);
    }
    let why = "is less than one of the port's longest frames, or more than 4 GB";
    reader.approximate(&place_of(profile, "xoff"), why, "headroom is computed");
    None
}

/// Where a profile says something: its entry, or a line of the lookup file.
fn place_of(profile: &Profile, field: &str) -> Place {
    match profile.from.split_once('|') {
        Some((table, key)) => Place::new(table, key, field),
        None => Place::new(&profile.from, "", field),
    }
}
