//! Priority groups to `[[lossless]]`, and pools to `[buffer]`.

use super::findings::Place;
use super::lossy::lossy_queues;
use super::model::{Buffer, Lossless, Model, Port, Threshold};
use super::profiles::{POOL, Profile, Profiles, common, is_unlimited, of_lossy_groups};
use super::reader::{Reader, Said};

/// What each port's lossless groups get: profiles by port, then by group.
pub(super) struct Groups {
    profiles: Vec<[Option<Profile>; 8]>,
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
        Self { profiles: ports.iter().map(of_port).collect() }
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

    /// The lossless priorities that are `used`.
    pub(super) fn lossless(&self, reader: &mut Reader<'_>, model: &mut Model, used: u8) {
        self.say_unused(reader, &model.ports, used);
        let priorities: Vec<u8> = (0..8).filter(|priority| used >> priority & 1 == 1).collect();
        for &priority in &priorities {
            let lossless = self.priority(reader, &model.ports, priority);
            model.lossless.push(lossless);
        }
        self.headrooms(reader, model, &priorities);
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
                let instead = if used >> priority & 1 == 1 {
                    "it is lossless, as at other ports"
                } else {
                    "pauses of that priority are neither sent nor obeyed"
                };
                reader.approximate(&place, why, instead);
            }
        }
    }

    fn of(&self, ports: &[Port], priority: u8) -> Vec<(usize, &Profile)> {
        let at = usize::from(priority);
        let each = self.profiles.iter().zip(ports).enumerate();
        each.filter_map(|(port, (groups, _))| Some((port, groups[at].as_ref()?))).collect()
    }

    fn priority(&self, reader: &mut Reader<'_>, ports: &[Port], priority: u8) -> Lossless {
        let of = self.of(ports, priority);
        let from = of.first().map(|(port, _)| ports[*port].pfc.from.clone()).unwrap_or_default();
        let size = reserve(reader, ports, &of);
        let thresholds: Vec<_> =
            of.iter().map(|(_, profile)| (profile.threshold, profile.from.clone())).collect();
        let threshold = uniform(reader, &of, &thresholds, "dynamic_th", "a threshold");
        let threshold = threshold.and_then(|said| {
            let from = said.from;
            said.value.map(|value| Said { value, from })
        });
        let threshold = threshold.filter(|said| in_reach(reader, &of, ports, said.value));
        let xon = xon(reader, &of);
        let xon_offset = hysteresis(reader, ports, &of);
        Lossless { priority, from, size, threshold, xon, xon_offset, headroom: None }
    }

    /// Headroom stands at the priority if all ports have the same, and at the port otherwise.
    fn headrooms(&self, reader: &mut Reader<'_>, model: &mut Model, priorities: &[u8]) {
        let mut by_port: Vec<Vec<(Option<u64>, String)>> = vec![Vec::new(); model.ports.len()];
        let mut same = true;
        for &priority in priorities {
            let of = self.of(&model.ports, priority);
            let values: Vec<_> = of
                .iter()
                .map(|(port, profile)| {
                    let least = model.ports[*port].frame_bytes();
                    (checked_headroom(reader, profile, least), profile.from.clone())
                })
                .collect();
            for ((port, _), value) in of.iter().zip(&values) {
                by_port[*port].push(value.clone());
            }
            match common(&values) {
                Some((said, true)) => {
                    let lossless = model.lossless.iter_mut().find(|l| l.priority == priority);
                    if let Some(lossless) = lossless {
                        lossless.headroom = said.value.map(|value| Said::new(value, said.from));
                    }
                }
                _ => same = false,
            }
        }
        if same {
            return;
        }
        model.lossless.iter_mut().for_each(|lossless| lossless.headroom = None);
        for (values, port) in by_port.into_iter().zip(&mut model.ports) {
            let Some((largest, from)) = values.iter().max_by_key(|(value, _)| *value).cloned()
            else {
                continue;
            };
            if values.iter().any(|(value, _)| *value != largest) {
                let place = Place::new("BUFFER_PG", &port.name, "profile");
                let why = "the lossless priorities of a port have one headroom";
                reader.approximate(&place, why, "each has the largest");
            }
            port.headroom = largest.map(|value| Said::new(value, from));
        }
    }

    /// Bytes that all lossless groups set aside, and all their headroom, where all of it is said.
    fn sums(&self, ports: &[Port], used: u8) -> (u64, Option<u64>) {
        let used = (0..8).filter(|group| used >> group & 1 == 1);
        let all: Vec<&Profile> =
            used.flat_map(|group| self.of(ports, group)).map(|(_, profile)| profile).collect();
        let size = all.iter().map(|profile| profile.size.unwrap_or_default()).sum();
        (size, all.iter().map(|profile| profile.headroom).sum())
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
            if let Some(xoff) = shared
                && headroom.is_none_or(|headroom| headroom > xoff.value)
            {
                let place = Place::new("BUFFER_POOL", &pool, "xoff");
                let why = "headroom is not shared between ports";
                reader.approximate(&place, why, "each port has its own in full");
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

/// Bytes that are set aside for a priority, if its profiles say so and it can be so.
fn reserve(reader: &mut Reader<'_>, ports: &[Port], of: &[(usize, &Profile)]) -> Option<Said<u64>> {
    let sizes: Vec<_> =
        of.iter().filter_map(|(_, profile)| Some((profile.size?, profile.from.clone()))).collect();
    let is_default = of.iter().all(|(port, profile)| {
        profile.size.is_none_or(|size| size == 2 * ports[*port].frame_bytes())
    });
    if is_default {
        return None;
    }
    let instead = "two of its longest frames are set aside";
    let (said, all) = common(&sizes)?;
    for (port, profile) in of {
        let place = place_of(profile, "size");
        if profile.size.is_some_and(|size| size < ports[*port].frame_bytes()) {
            let why = "is less than one of the port's longest frames, which could then deadlock";
            reader.approximate(&place, why, instead);
            return None;
        }
    }
    if !all {
        let place = place_of(of.first()?.1, "size");
        let why = "differs by port; a priority has one size at all ports";
        reader.approximate(&place, why, instead);
        return None;
    }
    Some(said)
}

/// `xon` of dynamic thresholds, where it can be above the limit less `xon_offset`.
fn xon(reader: &mut Reader<'_>, of: &[(usize, &Profile)]) -> Option<Said<u64>> {
    let matters = |profile: &Profile| {
        let is_static = matches!(profile.threshold, Some(Threshold::Static(_)));
        let size = profile.size.unwrap_or(u64::MAX);
        !is_static && profile.xon > size.saturating_sub(profile.xon_offset)
    };
    if !of.iter().any(|(_, profile)| matters(profile)) {
        return None;
    }
    let values: Vec<_> =
        of.iter().map(|(_, profile)| (profile.xon, profile.from.clone())).collect();
    uniform(reader, of, &values, "xon", "one")
}

/// XON is due at or below the larger of `xon` and the limit less `xon_offset`.
fn hysteresis(
    reader: &mut Reader<'_>,
    ports: &[Port],
    of: &[(usize, &Profile)],
) -> Option<Said<u64>> {
    let mut offsets = Vec::new();
    let mut is_default = true;
    for (port, profile) in of {
        if profile.size.is_none() {
            continue;
        }
        let least = 2 * ports[*port].frame_bytes();
        let offset = match profile.threshold {
            Some(Threshold::Static(limit)) => {
                let xon = profile.xon.max(limit.saturating_sub(profile.xon_offset)).min(limit);
                limit - xon
            }
            _ => profile.xon_offset,
        };
        if offset < least {
            let place = place_of(profile, "xon_offset");
            let why = "XON is less than two of the port's longest frames below XOFF, so that each \
                       frame could send a pause";
            reader.approximate(&place, why, "it is two frames below");
            return None;
        }
        is_default &= offset == least;
        offsets.push((offset, profile.from.clone()));
    }
    if is_default {
        return None;
    }
    let (said, all) = common(&offsets)?;
    if !all {
        let place = place_of(of.first()?.1, "xon_offset");
        let why = "differs by port; a priority has one at all ports";
        reader.approximate(&place, why, "XON is two frames below XOFF");
        return None;
    }
    Some(said)
}

/// A static threshold holds two frames at each port.
fn in_reach(
    reader: &mut Reader<'_>,
    of: &[(usize, &Profile)],
    ports: &[Port],
    threshold: Threshold,
) -> bool {
    let Threshold::Static(bytes) = threshold else { return true };
    let longest = of.iter().map(|(port, _)| ports[*port].frame_bytes()).max().unwrap_or_default();
    if bytes >= 2 * longest && bytes < 1 << 32 {
        return true;
    }
    if let Some((_, profile)) = of.first() {
        let why = "holds less than two of the longest frames, or more than 4 GB";
        reader.refuse(&place_of(profile, "static_th"), why);
    }
    false
}

/// A headroom that can hold a frame.
fn checked_headroom(reader: &mut Reader<'_>, profile: &Profile, frame: u64) -> Option<u64> {
    let headroom = profile.headroom?;
    if headroom >= frame && headroom < 1 << 32 {
        return Some(headroom);
    }
    let why = "is less than one of the port's longest frames, or more than 4 GB";
    reader.approximate(&place_of(profile, "xoff"), why, "headroom is computed");
    None
}

/// The value of most ports; says where it is not that of all.
fn uniform<T: Clone + PartialEq>(
    reader: &mut Reader<'_>,
    of: &[(usize, &Profile)],
    values: &[(T, String)],
    field: &str,
    what: &str,
) -> Option<Said<T>> {
    let (said, all) = common(values)?;
    if !all && let Some((_, profile)) = of.first() {
        let why = format!("differs by port; a priority has {what} for all");
        reader.approximate(&place_of(profile, field), why, "it is that of most ports");
    }
    Some(said)
}

/// Where a profile says something: its entry, or a line of the lookup file.
fn place_of(profile: &Profile, field: &str) -> Place {
    match profile.from.split_once('|') {
        Some((table, key)) => Place::new(table, key, field),
        None => Place::new(&profile.from, "", field),
    }
}
