//! SCHEDULER, QUEUE, WRED_PROFILE and PFC_WD: how queues are served, marked, kept short and
//! watched.

use super::findings::Place;
use super::model::{Curve, Model, Port, Shaper, Watchdog};
use super::ports::priorities;
use super::profiles::common;
use super::reader::{Reader, Said, names_port};

/// 1.6 Tb/s.
const OCTETS_A_SECOND_MAX: i64 = 200_000_000_000;

/// How a queue is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Service {
    Strict,
    Weighted(u64),
}

/// Reads how queues are served and marked. A queue that no entry is about has the weight 1.
pub(super) fn queues(reader: &mut Reader<'_>, model: &mut Model) {
    let rows = reader.by_port_and_number("QUEUE");
    let known = |port: &str| model.ports.iter().any(|known| known.name == port);
    let rows: Vec<_> = rows.into_iter().filter(|(port, _, _)| known(port)).collect();
    if let Some((_, _, key)) = rows.iter().find(|(_, queue, _)| *queue >= 8) {
        // Queues beyond are those of multicast, which has none of its own here.
        let place = Place::new("QUEUE", key, "");
        reader.approximate(&place, "there are eight queues, 0 to 7", "it is left out");
    }
    for queue in 0..8_u8 {
        let of: Vec<(&str, &str)> = rows
            .iter()
            .filter(|(_, number, _)| *number == queue)
            .map(|(port, _, key)| (port.as_str(), *key))
            .collect();
        if of.is_empty() {
            continue;
        }
        let missing = model.ports.len().saturating_sub(of.len());
        service(reader, model, queue, &of, missing);
        peak_rates(reader, model, queue, &of);
        early(reader, model, queue, &of, missing);
    }
}

fn service(
    reader: &mut Reader<'_>,
    model: &mut Model,
    queue: u8,
    of: &[(&str, &str)],
    missing: usize,
) {
    let mut values = vec![(Service::Weighted(1), "SONiC's default".to_owned()); missing];
    for (_, key) in of {
        let name = reader.known_reference(("QUEUE", key, "scheduler"), "SCHEDULER");
        values.push(match name {
            Some(name) => (scheduler(reader, &name.value), format!("SCHEDULER|{}", name.value)),
            None => (Service::Weighted(1), "SONiC's default".to_owned()),
        });
    }
    let Some((said, all)) = common(&values) else { return };
    if !all {
        let why = format!("queue {queue} is served in other ways at other ports");
        let place = Place::new("QUEUE", of[0].1, "scheduler");
        reader.approximate(&place, why, "it is served at each port as at most");
    }
    match said.value {
        Service::Strict => model.strict.push((queue, said.from)),
        Service::Weighted(1) => {}
        Service::Weighted(weight) => model.weights.push((queue, Said::new(weight, said.from))),
    }
}

fn scheduler(reader: &mut Reader<'_>, name: &str) -> Service {
    const TABLE: &str = "SCHEDULER";
    for field in ["cir", "cbs"] {
        if reader.number(TABLE, name, field, 0..=i64::MAX).is_some_and(|rate| rate.value > 0) {
            let place = Place::new(TABLE, name, field);
            let instead = "the queue has its share by weight or strictly";
            reader.approximate(&place, "a queue has no guaranteed rate of its own", instead);
        }
    }
    let kind = reader.text(TABLE, name, "type");
    let weight = reader.number(TABLE, name, "weight", 0..=255);
    let weight = u64::try_from(weight.map_or(1, |weight| weight.value)).unwrap_or(1).max(1);
    match kind.as_ref().map_or("WRR", |kind| kind.value.as_str()) {
        "STRICT" => Service::Strict,
        "DWRR" => Service::Weighted(weight),
        "WRR" => {
            if kind.is_some() {
                let place = Place::new(TABLE, name, "type");
                let why = "queues share bytes, and not frames";
                reader.approximate(&place, why, "the weights are those of bytes");
            }
            Service::Weighted(weight)
        }
        other => {
            let why = format!("`{other}` is none of STRICT, DWRR and WRR");
            reader.wrong(&Place::new(TABLE, name, "type"), why);
            Service::Weighted(weight)
        }
    }
}

/// Reads the peak rates of a queue: a shaper for the ports of each. The last entry of a port
/// counts.
fn peak_rates(reader: &mut Reader<'_>, model: &mut Model, queue: u8, of: &[(&str, &str)]) {
    let mut shapers: Vec<Shaper> = Vec::new();
    for (at, (port, key)) in of.iter().enumerate() {
        if of[at + 1..].iter().any(|(later, _)| later == port) {
            continue;
        }
        let name = reader.known_reference(("QUEUE", key, "scheduler"), "SCHEDULER");
        let Some(peak) = name.and_then(|name| peak_rate(reader, &name.value)) else { continue };
        let (rate, burst) = peak;
        let same = |known: &&mut Shaper| (&known.rate, &known.burst) == (&rate, &burst);
        match shapers.iter_mut().find(same) {
            Some(known) => known.ports.push((*port).to_owned()),
            None => {
                let ports = vec![(*port).to_owned()];
                shapers.push(Shaper {
                    priority: queue,
                    ports,
                    rate,
                    burst,
                    from: format!("QUEUE|{key}"),
                });
            }
        }
    }
    for shaper in &mut shapers {
        if shaper.ports.len() == model.ports.len() {
            shaper.ports.clear();
        }
    }
    model.shapers.append(&mut shapers);
}

/// `pir` and `pbs`, in octets; none without a `pir`, or if it is 0.
fn peak_rate(reader: &mut Reader<'_>, name: &str) -> Option<(Said<u64>, Option<Said<u64>>)> {
    const TABLE: &str = "SCHEDULER";
    let unsigned = |said: Said<i64>| said.map(|number| u64::try_from(number).unwrap_or_default());
    let rate = reader.number(TABLE, name, "pir", 0..=OCTETS_A_SECOND_MAX).map(unsigned);
    let burst = reader.number(TABLE, name, "pbs", 0..=i64::from(u32::MAX)).map(unsigned);
    let rate = rate.filter(|rate| rate.value > 0)?;
    let meter = reader.text(TABLE, name, "meter_type");
    match meter.as_ref().map_or("bytes", |meter| meter.value.as_str()) {
        "bytes" => Some((rate, burst.filter(|burst| burst.value > 0))),
        "packets" => {
            let why = "a peak rate is in bytes a second here, and not in packets; give it in bytes";
            reader.refuse(&Place::new(TABLE, name, "meter_type"), why);
            None
        }
        other => {
            let why = format!("`{other}` is neither bytes nor packets");
            reader.wrong(&Place::new(TABLE, name, "meter_type"), why);
            None
        }
    }
}

/// Reads what happens to frames at a long queue: marks and early drops.
fn early(
    reader: &mut Reader<'_>,
    model: &mut Model,
    queue: u8,
    of: &[(&str, &str)],
    missing: usize,
) {
    let mut values = vec![(None, String::new()); missing];
    for (_, key) in of {
        let name = reader.known_reference(("QUEUE", key, "wred_profile"), "WRED_PROFILE");
        let name = name.map(|name| name.value);
        values.push((name, format!("QUEUE|{key}")));
    }
    let Some((said, all)) = common(&values) else { return };
    if !all {
        let why = format!("queue {queue} has another profile at other ports");
        let place = Place::new("QUEUE", of[0].1, "wred_profile");
        reader.approximate(&place, why, "it has that of most at each port");
    }
    let Some(profile) = said.value else { return };
    let is_lossless = model.lossless.iter().any(|lossless| lossless.priority == queue);
    let marks = marks_green(reader, &profile);
    let drops = drops_green(reader, &profile, marks, is_lossless);
    if !marks && !drops {
        return;
    }
    let Some(curve) = curve(reader, queue, &profile, said.from) else { return };
    if marks {
        model.ecn.push(curve.clone());
    }
    if drops {
        model.wred.push(curve);
    }
}

/// Whether green frames are marked, which all are: nothing colors them.
fn marks_green(reader: &mut Reader<'_>, name: &str) -> bool {
    const TABLE: &str = "WRED_PROFILE";
    let mode = reader.text(TABLE, name, "ecn");
    let mode = mode.as_ref().map_or("ecn_none", |mode| mode.value.as_str());
    let green = ["ecn_all", "ecn_green", "ecn_green_yellow", "ecn_green_red"].contains(&mode);
    if !green && !["ecn_none", "ecn_yellow", "ecn_red", "ecn_yellow_red"].contains(&mode) {
        let why = format!("`{mode}` is no mode, such as ecn_all or ecn_none");
        reader.wrong(&Place::new(TABLE, name, "ecn"), why);
    }
    green
}

/// Whether green frames are dropped early, which no lossless one is.
fn drops_green(reader: &mut Reader<'_>, name: &str, marks: bool, is_lossless: bool) -> bool {
    const TABLE: &str = "WRED_PROFILE";
    let drops = ["wred_green_enable", "wred_yellow_enable", "wred_red_enable"]
        .map(|field| reader.text(TABLE, name, field).is_some_and(|is| is.value == "true"));
    if drops[0] && is_lossless {
        let place = Place::new(TABLE, name, "wred_green_enable");
        let why = "lossless frames that cannot be marked are not dropped early";
        let instead =
            if marks { "those that can be are marked" } else { "they pause their senders" };
        reader.approximate(&place, why, instead);
    }
    drops[0] && !is_lossless
}

fn curve(reader: &mut Reader<'_>, priority: u8, name: &str, from: String) -> Option<Curve> {
    const TABLE: &str = "WRED_PROFILE";
    let kmin = reader.bytes(TABLE, name, "green_min_threshold");
    let kmax = reader.bytes(TABLE, name, "green_max_threshold");
    let (Some(mut kmin), Some(kmax)) = (kmin, kmax) else {
        let why = "has no green_min_threshold and green_max_threshold; give both in bytes";
        reader.wrong(&Place::new(TABLE, name, ""), why);
        return None;
    };
    if kmin.value > kmax.value || kmax.value > u64::from(u32::MAX) {
        let why = "is below green_min_threshold, or above 4 GB";
        reader.wrong(&Place::new(TABLE, name, "green_max_threshold"), why);
        return None;
    }
    let percent = reader.number(TABLE, name, "green_drop_probability", 0..=100);
    let mut pmax = percent.unwrap_or_else(|| Said::new(100, "SAI's default"));
    if pmax.value == 0 {
        // Nothing happens up to the maximum, and to everything beyond.
        kmin = kmax.clone();
        pmax.value = 100;
    }
    Some(Curve { priority, from, kmin, kmax, pmax })
}

/// The watchdog, and which ports it looks after.
pub(super) fn watchdog(reader: &mut Reader<'_>, model: &mut Model) {
    const TABLE: &str = "PFC_WD";
    let db = reader.db;
    let global = db.keys(TABLE).find(|key| key.eq_ignore_ascii_case("global"));
    let big_red = global.and_then(|key| reader.text(TABLE, key, "BIG_RED_SWITCH"));
    let big_red = big_red.filter(|is| is.value == "enable" && !model.lossless.is_empty());
    model.big_red_switch = big_red.map(|is| is.from);
    let mut values = Vec::new();
    for port in &mut model.ports {
        let key = db.keys(TABLE).find(|key| names_port(key, &port.name));
        let Some(key) = key.filter(|_| port.lossless != 0) else { continue };
        let Some(watchdog) = settings(reader, key) else { continue };
        port.watched = true;
        say_priorities(reader, port);
        let plain =
            (watchdog.detection.value, watchdog.restoration.value, watchdog.action.value.clone());
        values.push((plain, watchdog));
    }
    let plain: Vec<_> = values.iter().map(|(plain, _)| (plain.clone(), String::new())).collect();
    let Some((said, all)) = common(&plain) else { return };
    if !all {
        let place = Place::new(TABLE, "", "");
        let why = "ports have different watchdogs; here all have one";
        reader.approximate(&place, why, "it is that of most");
    }
    model.watchdog =
        values.into_iter().find(|(plain, _)| *plain == said.value).map(|(_, watchdog)| watchdog);
}

fn settings(reader: &mut Reader<'_>, key: &str) -> Option<Watchdog> {
    const TABLE: &str = "PFC_WD";
    let detection = reader.number(TABLE, key, "detection_time", 1..=5_000)?;
    let restoration = match reader.number(TABLE, key, "restoration_time", 0..=60_000) {
        Some(time) if time.value > 0 => time,
        // As `pfcwd start` does.
        _ => Said::new(detection.value * 2, "twice detection_time"),
    };
    let action = reader.text(TABLE, key, "action");
    let action = action.unwrap_or_else(|| Said::new("drop".to_owned(), "SONiC's default"));
    if !["drop", "forward", "alert"].contains(&action.value.as_str()) {
        let why = format!("`{}` is none of drop, forward and alert", action.value);
        reader.wrong(&Place::new(TABLE, key, "action"), why);
        return None;
    }
    Some(Watchdog { detection, restoration, action })
}

fn say_priorities(reader: &mut Reader<'_>, port: &Port) {
    let watched = priorities(reader, &port.name, "pfcwd_sw_enable");
    if watched.is_some_and(|watched| watched.value != port.pfc.value) {
        let place = Place::new("PORT_QOS_MAP", &port.name, "pfcwd_sw_enable");
        let why = "the watchdog looks after all lossless priorities of a port";
        reader.approximate(&place, why, "it does so here");
    }
}
