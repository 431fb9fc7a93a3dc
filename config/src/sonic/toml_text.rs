//! A model as SWITCH.toml; each line names the key that it came from.

use super::model::{LossyLimit, Model, Port, QosMap, Tag, Threshold, Tunnel};
use super::reader::Said;
use crate::message;
use crate::units::show_rate;
use std::fmt::Display;

/// Characters of a comment.
const COMMENT_MAX: usize = 160;

/// Lines, and the key that each came from; empty where it came from none.
#[derive(Debug, Default)]
pub(super) struct Text {
    lines: Vec<(String, String)>,
}

impl Text {
    /// The key that a line came from, counted from 1.
    pub(super) fn from(&self, line: usize) -> &str {
        let at = line.saturating_sub(1);
        self.lines.get(at).map_or("", |(_, from)| from.as_str())
    }

    fn bare(&mut self, line: impl Into<String>) {
        self.lines.push((line.into(), String::new()));
    }

    fn say(&mut self, line: impl Into<String>, from: &str) {
        let from = message::one_line(from);
        self.lines.push((line.into(), message::shorten(&from, COMMENT_MAX).into_owned()));
    }

    fn head(&mut self, table: &str, from: &str) {
        self.bare("");
        self.say(table, from);
    }

    fn key<T: Display>(&mut self, key: &str, said: &Said<T>) {
        self.say(format!("{key} = {}", said.value), &said.from);
    }

    fn quoted<T: Display>(&mut self, key: &str, said: &Said<T>) {
        self.say(format!("{key} = {}", quote(&said.value.to_string())), &said.from);
    }

    /// A list of texts.
    fn listed(&mut self, key: &str, said: &[Said<String>]) {
        let values: Vec<String> = said.iter().map(|said| quote(&said.value)).collect();
        let from: Vec<&str> = said.iter().map(|said| said.from.as_str()).collect();
        self.say(format!("{key} = [{}]", values.join(", ")), &from.join(", "));
    }

    fn optional<T: Display>(&mut self, key: &str, said: Option<&Said<T>>) {
        if let Some(said) = said {
            self.key(key, said);
        }
    }
}

impl Display for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (line, from) in &self.lines {
            match from.as_str() {
                "" => writeln!(f, "{line}")?,
                from => writeln!(f, "{line}  # {from}")?,
            }
        }
        Ok(())
    }
}

/// The switch. `name` is used where the database has none.
pub(super) fn write(
    model: &Model,
    name: &str,
    device: &str,
    approximations: &[String],
    size: Option<u64>,
) -> Text {
    let mut text = Text::default();
    text.bare("# Written by `knotless import sonic`. Behind each line: the key that it came from.");
    if !approximations.is_empty() {
        text.bare("#");
        text.bare("# Approximated:");
        for line in approximations {
            text.bare(format!("# {}", message::one_line(line)));
        }
    }
    let name_said = Said::new(name.to_owned(), "the name of the file");
    text.quoted("name", model.name.as_ref().unwrap_or(&name_said));
    if !model.loopback.is_empty() {
        text.listed("loopback", &model.loopback);
    }
    tags(&mut text, model);
    text.head("[host]", "");
    text.say("taps = true", "each port of SONiC is an interface of its kernel");
    if let Some(from) = &model.routing {
        text.head("[routing]", from);
        text.say("fpm = \"127.0.0.1:2620\"", "where SONiC's own fpmsyncd listens");
    }
    buffer(&mut text, model, size);
    lossless(&mut text, model);
    model.maps.iter().for_each(|map| qos_map(&mut text, map));
    queues(&mut text, model);
    model.ports.iter().enumerate().for_each(|(index, port)| {
        port_table(&mut text, model, port, &opened(device, index, &port.name));
    });
    model.tunnels.iter().for_each(|tunnel| tunnel_table(&mut text, tunnel));
    for route in &model.routes {
        text.head("[[route]]", &route.from);
        text.say(format!("to = {}", quote(&route.to)), &route.from);
        if let Some(tunnel) = &route.tunnel {
            text.say(format!("tunnel = {}", quote(tunnel)), &format!("TUNNEL|{tunnel}"));
        } else if route.via.is_empty() {
            text.say("blackhole = true", &format!("{}|blackhole", route.from));
        } else {
            let via: Vec<String> = route.via.iter().map(|via| quote(via)).collect();
            let from = format!("{}|nexthop", route.from);
            text.say(format!("via = [{}]", via.join(", ")), &from);
        }
    }
    for neighbor in &model.neighbors {
        text.head("[[neighbor]]", &neighbor.from);
        text.say(format!("address = {}", quote(&neighbor.address)), &neighbor.from);
        text.say(format!("mac = {}", quote(&neighbor.mac)), &format!("{}|neigh", neighbor.from));
        text.say(format!("port = {}", quote(&neighbor.port)), &neighbor.from);
    }
    text
}

/// The tags that are not what they would be without a word: lossy, in the lowest lossy priority.
fn tags(text: &mut Text, model: &Model) {
    let is_lossless = |priority: u8| model.lossless.iter().any(|l| l.priority == priority);
    let lowest = (0..8).find(|&priority| !is_lossless(priority)).unwrap_or_default();
    let is_said = |tag: &&Tag| tag.priority != lowest || tag.pcp.is_some();
    let said: Vec<&Tag> = model.tags.iter().filter(is_said).collect();
    if said.is_empty() {
        return;
    }
    text.bare("tag = [");
    for tag in said {
        let Tag { tag, priority, pcp, from } = tag;
        let pcp = pcp.map(|pcp| format!(", pcp = {pcp}")).unwrap_or_default();
        text.say(format!("    {{ tag = {tag}, priority = {priority}{pcp} }},"), from);
    }
    text.bare("]");
}

fn buffer(text: &mut Text, model: &Model, size: Option<u64>) {
    let buffer = &model.buffer;
    let (pool, ratio) = (buffer.headroom_pool.as_ref(), buffer.over_subscribe_ratio.as_ref());
    if size.is_some() || pool.is_some() || ratio.is_some() {
        text.head("[buffer]", "");
    }
    text.optional("headroom_pool", pool);
    text.optional("over_subscribe_ratio", ratio);
    let Some(size) = size else { return };
    let shared = buffer.shared.as_ref().map_or("", |said| said.from.as_str());
    let lossy = buffer.lossy.as_ref().map_or("", |said| said.from.as_str());
    let from: Vec<&str> = [shared, lossy].into_iter().filter(|from| !from.is_empty()).collect();
    let headroom =
        if model.lossless.is_empty() { "" } else { ", with what lossless groups set aside" };
    text.say(format!("size = {size}"), &format!("{}{headroom}", from.join(" and ")));
    if !model.lossless.is_empty() {
        text.optional("lossy", buffer.lossy.as_ref());
    }
    if let Some(Said { value, from }) = &buffer.lossy_queue {
        let line = match value {
            LossyLimit::Fixed(bytes) => format!("lossy_queue = {bytes}"),
            LossyLimit::Moving(power) => format!("lossy_queue_dynamic_th = {power}"),
        };
        text.say(line, from);
    }
}

fn lossless(text: &mut Text, model: &Model) {
    for lossless in &model.lossless {
        text.head("[[lossless]]", &lossless.from);
        text.say(format!("priority = {}", lossless.priority), &lossless.from);
        if !lossless.ports.is_empty() {
            let line = format!("ports = {}", names(&lossless.ports));
            text.say(line, "pfc_enable and BUFFER_PG of these");
        }
        text.optional("size", lossless.size.as_ref());
        if let Some(said) = &lossless.threshold {
            let line = match said.value {
                Threshold::Dynamic(power) => format!("dynamic_th = {power}"),
                Threshold::Static(bytes) => format!("static_th = {bytes}"),
            };
            text.say(line, &said.from);
        }
        text.optional("xon", lossless.xon.as_ref());
        text.optional("xon_offset", lossless.xon_offset.as_ref());
        text.optional("headroom", lossless.headroom.as_ref());
    }
}

fn qos_map(text: &mut Text, map: &QosMap) {
    text.head("[[qos_map]]", &map.from);
    text.say(format!("ports = {}", names(&map.ports)), "PORT_QOS_MAP of these");
    if !map.priority_group.is_empty() {
        text.say(format!("priority_group = {}", pairs(&map.priority_group)), &map.from);
    }
    if !map.queue.is_empty() {
        text.say(format!("queue = {}", pairs(&map.queue)), &map.from);
    }
}

/// `{ 3 = 3, "8-45" = 1 }`: tags in a row that have the same are one key.
fn pairs(pairs: &[(u8, u8)]) -> String {
    let mut runs: Vec<(u8, u8, u8)> = Vec::new();
    for &(tag, to) in pairs {
        match runs.last_mut() {
            Some((_, last, same)) if *last + 1 == tag && *same == to => *last = tag,
            _ => runs.push((tag, tag, to)),
        }
    }
    let run = |(first, last, to): &(u8, u8, u8)| match first == last {
        true => format!("{first} = {to}"),
        false => format!("\"{first}-{last}\" = {to}"),
    };
    let runs: Vec<String> = runs.iter().map(run).collect();
    format!("{{ {} }}", runs.join(", "))
}

fn queues(text: &mut Text, model: &Model) {
    if !model.strict.is_empty() || !model.weights.is_empty() {
        text.head("[scheduler]", "");
        if let Some((_, from)) = model.strict.first() {
            let strict: Vec<String> =
                model.strict.iter().map(|(priority, _)| priority.to_string()).collect();
            text.say(format!("strict = [{}]", strict.join(", ")), &format!("QUEUE, {from}"));
        }
        for (priority, weight) in &model.weights {
            text.key(&format!("weights.{priority}"), weight);
        }
    }
    for shaper in &model.shapers {
        text.head("[[shaper]]", &shaper.from);
        text.say(format!("priority = {}", shaper.priority), &shaper.from);
        if !shaper.ports.is_empty() {
            text.say(format!("ports = {}", names(&shaper.ports)), &shaper.from);
        }
        let rate = show_rate(shaper.rate.value.saturating_mul(8));
        text.say(format!("peak_rate = {}", quote(&rate)), &shaper.rate.from);
        if let Some(burst) = &shaper.burst {
            text.key("peak_burst", burst);
        }
    }
    for (table, curves) in [("[[ecn]]", &model.ecn), ("[[wred]]", &model.wred)] {
        for curve in curves {
            text.head(table, &curve.from);
            text.say(format!("priority = {}", curve.priority), &curve.from);
            text.key("kmin", &curve.kmin);
            text.key("kmax", &curve.kmax);
            let percent = curve.pmax.value;
            let pmax = if percent == 100 { "1.0".to_owned() } else { format!("0.{percent:02}") };
            text.say(format!("pmax = {pmax}"), &curve.pmax.from);
        }
    }
    if model.has_watchdog() {
        text.head("[watchdog]", "PFC_WD");
    }
    if let Some(watchdog) = &model.watchdog {
        text.say(
            format!("detection_time = \"{}ms\"", watchdog.detection.value),
            &watchdog.detection.from,
        );
        text.say(
            format!("restoration_time = \"{}ms\"", watchdog.restoration.value),
            &watchdog.restoration.from,
        );
        text.quoted("action", &watchdog.action);
    }
    if let Some(from) = &model.big_red_switch {
        text.say("big_red_switch = true", from);
    }
}

fn tunnel_table(text: &mut Text, tunnel: &Tunnel) {
    text.head("[[tunnel]]", &tunnel.from);
    text.say(format!("name = {}", quote(&tunnel.name)), &tunnel.from);
    text.quoted("local", &tunnel.local);
    if let Some(remote) = &tunnel.remote {
        text.quoted("remote", remote);
    }
    if let Some(from) = &tunnel.any_remote {
        text.say("any_remote = true", from);
    }
    text.quoted("dscp", &tunnel.dscp);
    text.quoted("ttl", &tunnel.ttl);
    if let Some(from) = tunnel.outer_tag_from.as_ref().filter(|_| !tunnel.outer_tag.is_empty()) {
        text.say(format!("outer_tag = {}", pairs(&tunnel.outer_tag)), from);
    }
    if let Some(from) = &tunnel.priority_group {
        text.say("priority_group = \"inner\"", from);
    }
}

fn port_table(text: &mut Text, model: &Model, port: &Port, device: &str) {
    text.head("[[port]]", &port.from);
    text.say(format!("name = {}", quote(&port.name)), &port.from);
    text.say(format!("device = {}", quote(device)), "--device-template");
    let mbps = port.mbps.value;
    let speed =
        if mbps.is_multiple_of(1_000) { format!("{}G", mbps / 1_000) } else { format!("{mbps}M") };
    text.say(format!("speed = \"{speed}\""), &port.mbps.from);
    text.key("mtu", &port.mtu);
    if let Some(cable) = &port.cable {
        text.quoted("cable_length", cable);
    }
    if !port.addresses.is_empty() {
        text.listed("addresses", &port.addresses);
    }
    if port.vlans.is_empty() {
        text.optional("vlan", port.access.as_ref());
    } else {
        let vlans: Vec<String> = port.vlans.iter().map(|said| said.value.to_string()).collect();
        let from = format!("VLAN_MEMBER|...|{}", port.name);
        text.say(format!("vlans = [{}]", vlans.join(", ")), &from);
        text.optional("native", port.access.as_ref());
    }
    if let Some(from) = &port.standby {
        text.say("source_check = true", from);
    }
    if let Some(from) = &port.by_pcp {
        text.say("classify = \"pcp\"", from);
    }
    if model.lossless.is_empty() {
        return;
    }
    if port.lossless == 0 {
        text.say("pfc = false", &port.pfc.from);
    } else if model.has_watchdog() && !port.watched {
        text.say("watchdog = false", &format!("PFC_WD has no {}", port.name));
    }
    text.say("trusted = true", "SONiC believes each marking");
}

fn opened(template: &str, index: usize, name: &str) -> String {
    let number = (index + 1).to_string();
    let index = index.to_string();
    template.replace("{index}", &index).replace("{number}", &number).replace("{name}", name)
}

/// A list of names.
fn names(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| quote(name)).collect();
    format!("[{}]", names.join(", "))
}

fn quote(text: &str) -> String {
    toml::Value::from(text).to_string()
}
