//! LOOPBACK_INTERFACE, TUNNEL and PEER_SWITCH: addresses of the switch itself, and the tunnel to
//! the other switch of a dual-ToR pair.
//!
//! SONiC's maps of a tunnel go by traffic class, and `outer_tag` here by tag.
//! `encap_tc_to_dscp_map` gives each tag the tag of the DSCP of its class. What the other maps say
//! has to follow from that: a queue and a priority group are those of the outer header's tag.

use super::addresses::in_vrf;
use super::classes::Classes;
use super::findings::Place;
use super::maps::{self, ClassMap, Dscps};
use super::model::{Model, Port, Tunnel};
use super::reader::{Reader, Said};
use ipnet::IpNet;
use std::net::{IpAddr, Ipv4Addr};

const TABLE: &str = "TUNNEL";
/// Fields that are read, and `tunnel_type`.
const FIELDS: [&str; 11] = [
    "tunnel_type",
    "dst_ip",
    "src_ip",
    "dscp_mode",
    "ecn_mode",
    "encap_ecn_mode",
    "ttl_mode",
    "decap_dscp_to_tc_map",
    "decap_tc_to_pg_map",
    "encap_tc_to_dscp_map",
    "encap_tc_to_queue_map",
];

/// Reads the addresses of the switch itself.
pub(super) fn loopback(reader: &mut Reader<'_>, model: &mut Model) {
    const TABLE: &str = "LOOPBACK_INTERFACE";
    let db = reader.db;
    for key in db.keys(TABLE) {
        in_vrf(reader, TABLE, key);
        let Some((_, address)) = key.split_once('|') else { continue };
        let place = Place::new(TABLE, key, "");
        match address.trim().parse::<IpNet>() {
            Ok(network) => {
                let (address, length) = (network.addr(), network.max_prefix_len());
                if network.prefix_len() != length {
                    let why = "is on no port, so no network is there";
                    reader.approximate(&place, why, "the address alone is the switch's");
                }
                let text = format!("{address}/{length}");
                model.loopback.push(Said::new(text, place.to_string()));
            }
            Err(_) => {
                let why = "has no address with the length of its network, as 10.1.0.32/32";
                reader.wrong(&place, why);
            }
        }
    }
}

/// Reads the tunnels; the tags, the queues and the lossless priorities of the ports are known.
pub(super) fn read(reader: &mut Reader<'_>, model: &mut Model, classes: &Classes<'_>) {
    let peer = peer(reader);
    let keys: Vec<&str> = reader.db.keys(TABLE).collect();
    for key in keys {
        if let Some(tunnel) = tunnel(reader, model, classes, key, peer.as_ref()) {
            own_address(reader, model, key, &tunnel.local.value);
            model.tunnels.push(tunnel);
        }
    }
    defaults(reader, model);
}

/// The other switch of the pair.
fn peer(reader: &mut Reader<'_>) -> Option<Said<Ipv4Addr>> {
    const TABLE: &str = "PEER_SWITCH";
    let mut keys = reader.db.keys(TABLE);
    let key = keys.next()?;
    if let Some(second) = keys.next() {
        let why = "is a second one; a switch has one peer";
        reader.refuse(&Place::new(TABLE, second, ""), why);
    }
    let Some(said) = reader.text(TABLE, key, "address_ipv4") else {
        let why = "has no address_ipv4; add the address where the peer's tunnel ends";
        reader.wrong(&Place::new(TABLE, key, ""), why);
        return None;
    };
    ipv4(reader, &Place::new(TABLE, key, "address_ipv4"), said)
}

fn ipv4(reader: &mut Reader<'_>, place: &Place, said: Said<String>) -> Option<Said<Ipv4Addr>> {
    match said.value.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => Some(said.map(|_| address)),
        Ok(IpAddr::V6(_)) => {
            reader.refuse(place, "a tunnel is between IPv4 addresses here; give those");
            None
        }
        Err(_) => {
            reader.wrong(place, format!("`{}` is no IPv4 address, such as 10.1.0.32", said.value));
            None
        }
    }
}

fn tunnel(
    reader: &mut Reader<'_>,
    model: &Model,
    classes: &Classes<'_>,
    key: &str,
    peer: Option<&Said<Ipv4Addr>>,
) -> Option<Tunnel> {
    let place = |field: &str| Place::new(TABLE, key, field);
    let kind = reader.text(TABLE, key, "tunnel_type");
    if kind.as_ref().is_none_or(|kind| kind.value != "IPINIP") {
        let why = "is no IPINIP, and there are no other tunnels";
        reader.approximate(&place("tunnel_type"), why, "it is left out");
        return None;
    }
    let unknown = reader.db.fields(TABLE, key).filter(|field| !FIELDS.contains(field));
    for field in unknown.collect::<Vec<_>>() {
        reader.approximate(&place(field), "is not known of a tunnel", "it is left out");
    }
    let Some(local) = reader.text(TABLE, key, "dst_ip") else {
        reader.wrong(&place(""), "has no dst_ip; add the address where the tunnel ends");
        return None;
    };
    let local = ipv4(reader, &place("dst_ip"), local)?;
    let source = reader.text(TABLE, key, "src_ip");
    let source = source.and_then(|source| ipv4(reader, &place("src_ip"), source));
    if let (Some(source), Some(peer)) = (&source, peer)
        && source.value != peer.value
    {
        let why = format!("is not PEER_SWITCH's address, {}; a tunnel has one far end", peer.value);
        reader.refuse(&place("src_ip"), why);
    }
    let any_remote = source.is_none().then(|| format!("{TABLE}|{key} has no src_ip"));
    let remote = peer.cloned().or(source);
    let dscp = mode(reader, key, "dscp_mode");
    let ttl = mode(reader, key, "ttl_mode");
    if ttl.value == "uniform" && peer.is_some() {
        let why = "outer headers begin with a TTL of their own, and that is copied in at the end";
        let instead = "the TTL is copied out too";
        reader.approximate(&place("ttl_mode"), why, instead);
    }
    ecn(reader, key);
    let maps = Maps::read(reader, key);
    if dscp.value == "pipe" && maps.dscp.is_none() && remote.is_some() && model.has_classes() {
        let why = "pipe without encap_tc_to_dscp_map gives all outer headers one DSCP";
        let instead = "the outer DSCP is that of the frame's tag";
        reader.approximate(&place("dscp_mode"), why, instead);
    }
    let here = Here { model, classes, maps: &maps, of_tags: classes.of_tags() };
    here.check_queues(reader);
    let is_inner = maps.is_decapsulating() && here.check_groups(reader, key);
    here.check_classes(reader);
    Some(Tunnel {
        name: key.to_owned(),
        from: format!("{TABLE}|{key}"),
        local: local.map(|address| address.to_string()),
        remote: remote.map(|remote| remote.map(|address| address.to_string())),
        any_remote,
        dscp,
        ttl,
        outer_tag: here.outer_tags(),
        outer_tag_from: maps.dscp.map(|map| format!("TC_TO_DSCP_MAP|{}", map.name)),
        priority_group: is_inner.then(|| format!("{TABLE}|{key}|decap_tc_to_pg_map")),
    })
}

/// `pipe` or `uniform`, which is SAI's default.
fn mode(reader: &mut Reader<'_>, key: &str, field: &str) -> Said<String> {
    let said = reader.text(TABLE, key, field);
    let said = said.unwrap_or_else(|| Said::new("uniform".to_owned(), "SAI's default"));
    if !["pipe", "uniform"].contains(&said.value.as_str()) {
        let why = format!("`{}` is neither pipe nor uniform", said.value);
        reader.wrong(&Place::new(TABLE, key, field), why);
    }
    said
}

/// Both ends go by RFC 6040. What `copy_from_outer` says is then the same: an outer header begins
/// with the inner one's ECN, and only congestion changes it.
fn ecn(reader: &mut Reader<'_>, key: &str) {
    let known =
        [("ecn_mode", &["standard", "copy_from_outer"][..]), ("encap_ecn_mode", &["standard"])];
    for (field, words) in known {
        if let Some(said) = reader.text(TABLE, key, field)
            && !words.contains(&said.value.as_str())
        {
            let why = format!("`{}` is no mode; use {}", said.value, words.join(" or "));
            reader.wrong(&Place::new(TABLE, key, field), why);
        }
    }
}

/// Frames to the end of a tunnel are for the switch, whether an interface has the address or not.
fn own_address(reader: &mut Reader<'_>, model: &mut Model, key: &str, local: &str) {
    let is_own = |said: &Said<String>| said.value.split('/').next() == Some(local);
    if model.loopback.iter().any(is_own) {
        return;
    }
    let place = Place::new(TABLE, key, "dst_ip");
    let why =
        "no LOOPBACK_INTERFACE has it, so only what comes out of the tunnel is for the switch";
    reader.approximate(&place, why, "it is an address of the switch");
    model.loopback.push(Said::new(format!("{local}/32"), place.to_string()));
}

/// `tunnel_qos_remap` says what SONiC's templates write of a tunnel; the tunnel says what is done.
fn defaults(reader: &mut Reader<'_>, model: &Model) {
    const TABLE: &str = "SYSTEM_DEFAULTS";
    let Some(status) = reader.text(TABLE, "tunnel_qos_remap", "status") else { return };
    let is_on = status.value == "enabled";
    let place = Place::new(TABLE, "tunnel_qos_remap", "status");
    for tunnel in model.tunnels.iter().filter(|tunnel| tunnel.remote.is_some()) {
        let (name, has) = (&tunnel.name, tunnel.outer_tag_from.is_some());
        if is_on != has {
            let why = match has {
                true => format!("is not enabled, and {name} has an encap_tc_to_dscp_map"),
                false => format!("is enabled, and {name} has no encap_tc_to_dscp_map"),
            };
            reader.approximate(&place, why, "the tunnel does as its own entry says");
        }
    }
}

/// The maps of a tunnel.
struct Maps {
    dscp: Option<ClassMap>,
    queue: Option<ClassMap>,
    decap_class: Option<Said<Dscps>>,
    decap_group: Option<ClassMap>,
}

impl Maps {
    fn read(reader: &mut Reader<'_>, key: &str) -> Self {
        let at = |field| (TABLE, key, field);
        Self {
            dscp: maps::of_classes(reader, at("encap_tc_to_dscp_map"), "TC_TO_DSCP_MAP"),
            queue: maps::of_classes(reader, at("encap_tc_to_queue_map"), "TC_TO_QUEUE_MAP"),
            decap_class: maps::of_markings(reader, at("decap_dscp_to_tc_map"), "DSCP_TO_TC_MAP"),
            decap_group: maps::of_classes(
                reader,
                at("decap_tc_to_pg_map"),
                "TC_TO_PRIORITY_GROUP_MAP",
            ),
        }
    }

    fn is_decapsulating(&self) -> bool {
        self.decap_class.is_some() || self.decap_group.is_some()
    }
}

/// What a tunnel does here, beside what its maps say.
struct Here<'a> {
    model: &'a Model,
    classes: &'a Classes<'a>,
    maps: &'a Maps,
    /// The class of each tag.
    of_tags: Dscps,
}

impl Here<'_> {
    fn outer_tag(&self, tag: u8) -> u8 {
        let class = self.of_tags[usize::from(tag)];
        self.maps.dscp.as_ref().map_or(tag, |map| map.of(class))
    }

    /// The tags whose outer header has another one.
    fn outer_tags(&self) -> Vec<(u8, u8)> {
        let all = (0..64).map(|tag| (tag, self.outer_tag(tag)));
        all.filter(|(tag, outer)| tag != outer).collect()
    }

    /// Ports with maps: those of servers behind a mux cable, or the others.
    fn ports(&self, of_servers: bool) -> impl Iterator<Item = (&Port, &maps::PortMaps)> {
        let ports = self.model.ports.iter().zip(self.classes.maps);
        ports.filter(move |(port, _)| port.has_mux == of_servers)
    }

    /// The queue of an encapsulated frame is that of its outer tag.
    fn check_queues(&self, reader: &mut Reader<'_>) {
        if self.maps.dscp.is_none() && self.maps.queue.is_none() {
            return;
        }
        for (port, of_port) in self.ports(false) {
            for tag in 0..64 {
                let (class, outer) = (self.of_tags[usize::from(tag)], self.outer_tag(tag));
                let own = self.maps.queue.as_ref();
                let wanted = own.map_or_else(|| of_port.queue(class), |map| map.of(class));
                let is = self.model.queue(port, outer);
                if wanted == is {
                    continue;
                }
                let name = own.map_or(&of_port.queue_name, |map| &map.name);
                let place = Place::new("TC_TO_QUEUE_MAP", name, &class.to_string());
                let why = format!(
                    "class {class} leaves in the tunnel by queue {wanted}, and other frames with its \
                     outer DSCP, {outer}, by queue {is}"
                );
                differ(reader, port, &place, why, (wanted, is));
            }
        }
    }

    /// Whether the priority group of a decapsulated frame is that of the outer tag that its inner
    /// tag has here.
    fn check_groups(&self, reader: &mut Reader<'_>, key: &str) -> bool {
        let mut is_same = true;
        for (port, of_port) in self.ports(false) {
            for tag in 0..64 {
                let class = self.decapsulated_class(tag);
                let own = self.maps.decap_group.as_ref();
                let wanted = own.map_or_else(|| of_port.group(class), |map| map.of(class));
                let outer = self.outer_tag(tag);
                let is = self.model.priority_group(port, outer);
                // Lossy frames hold no priority group here.
                let held =
                    |group: u8| (group < 8 && port.lossless >> group & 1 == 1).then_some(group);
                if held(wanted) == held(is) {
                    continue;
                }
                is_same = false;
                let place = Place::new(TABLE, key, "decap_tc_to_pg_map");
                let why = format!(
                    "DSCP {tag} comes out of the tunnel in priority group {wanted}, and its outer DSCP, \
                     {outer}, comes in group {is}; the sender pauses by the latter, so give it group {is}"
                );
                reader.refuse(&place, why);
            }
        }
        is_same
    }

    /// A decapsulated frame leaves by the queue of its inner tag, or by that of the lossy tag if it
    /// was lossy on the way.
    fn check_classes(&self, reader: &mut Reader<'_>) {
        let Some(classes) = &self.maps.decap_class else { return };
        for (port, of_port) in self.ports(true) {
            for tag in 0..64 {
                let class = self.decapsulated_class(tag);
                let is_lossless = |tag| self.model.is_lossless(tag);
                let was_lossy = is_lossless(tag) && !is_lossless(self.outer_tag(tag));
                let as_tag = if was_lossy { self.model.lossy_tag() } else { tag };
                let (wanted, is) = (of_port.queue(class), self.model.queue(port, as_tag));
                if wanted != is {
                    let name = classes.from.split_once('|').map_or("", |(_, name)| name);
                    let place = Place::new("DSCP_TO_TC_MAP", name, &tag.to_string());
                    let why = format!(
                        "DSCP {tag} comes out of the tunnel in class {class}, which servers get by queue \
                         {wanted}, and other frames with it by queue {is}"
                    );
                    differ(reader, port, &place, why, (wanted, is));
                }
            }
        }
    }

    fn decapsulated_class(&self, tag: u8) -> u8 {
        let of_tags = self.maps.decap_class.as_ref().map_or(&self.of_tags, |map| &map.value);
        of_tags[usize::from(tag)]
    }
}

/// Says that a frame has another queue than it should. It comes near if neither is lossless.
fn differ(
    reader: &mut Reader<'_>,
    port: &Port,
    place: &Place,
    why: String,
    (wanted, is): (u8, u8),
) {
    let is_lossless = |queue: u8| queue < 8 && port.lossless >> queue & 1 == 1;
    if is_lossless(wanted) || is_lossless(is) {
        reader.refuse(place, format!("{why}; one of both is lossless there, so use queue {is}"));
    } else {
        reader.approximate(place, why, format!("it leaves by queue {is}"));
    }
}
