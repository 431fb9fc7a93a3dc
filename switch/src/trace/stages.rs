//! What each stage reads and decides, from the tables that the worker uses and by its functions.

use super::reply::{
    Admission, Bridge, Classify, Forward, NextHopRow, Parse, Queue, Rewrite, RuleFound, Stage,
};
use super::request::{Station, hex};
use config::SwitchConfig;
use dataplane::fib::{Hop, Routes};
use dataplane::ids::{PortId, Tag};
use dataplane::limits::{PRIORITIES, TAGS};
use dataplane::pipeline::class::Class;
use dataplane::pipeline::classify::ClassifyBy;
use dataplane::settings::Threshold;
use dataplane::snapshot::{PortMode, Snapshot};
use dataplane::wire::parse::{Kind, Parsed, addresses, flow_ports, parse};
use dataplane::wire::{MacAddress, ethernet};
use std::net::IpAddr;

/// The tables, and a frame at an ingress port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Walk<'a> {
    pub(super) config: &'a SwitchConfig,
    pub(super) snapshot: &'a Snapshot,
    pub(super) routes: &'a Routes,
    pub(super) stations: &'a [Station],
    pub(super) port: PortId,
    pub(super) head: &'a [u8],
    pub(super) frame_bytes: usize,
}

impl Walk<'_> {
    fn name(&self, port: PortId) -> String {
        self.config.ports.get(port.index()).map_or_else(String::new, |port| port.name.clone())
    }

    fn parsed(&self) -> Parsed {
        parse(self.head, self.frame_bytes)
    }

    fn class(&self, parsed: &Parsed) -> Class {
        self.snapshot.ports[self.port.index()].classifier.of(parsed)
    }

    fn addresses(&self, parsed: &Parsed) -> Option<(IpAddr, IpAddr)> {
        addresses(self.head, parsed.kind, usize::from(parsed.l3))
    }

    fn destination_mac(&self) -> MacAddress {
        MacAddress(self.head.first_chunk().copied().unwrap_or_default())
    }

    /// The stages up to the one that finds the egress port.
    pub(super) fn arrival(&self) -> Vec<Stage> {
        let parsed = self.parsed();
        let mut stages = vec![Stage::Parse(self.parse_stage(&parsed))];
        if matches!(parsed.kind, Kind::MacControl) {
            return stages;
        }
        stages.push(Stage::Classify(self.classify_stage(&parsed)));
        if matches!(parsed.kind, Kind::Bad(_)) {
            return stages;
        }
        let tables = &self.snapshot.ports[self.port.index()];
        match &tables.mode {
            PortMode::Routed { .. } if self.destination_mac() == tables.mac => {
                let addresses = self.addresses(&parsed);
                stages.extend(addresses.map(|it| Stage::Forward(self.forward_stage(&parsed, it))));
            }
            PortMode::Routed { .. } => {}
            PortMode::Bridged(vlan_port) => {
                let frame_vid = parsed.is_tagged().then(|| ethernet::vid(parsed.tci));
                let vlan = vlan_port.admit(frame_vid).map(dataplane::l2::Vid::value);
                stages.push(Stage::Bridge(self.bridge_stage(vlan)));
            }
        }
        stages
    }

    /// The stages of a frame that leaves `out` with the headers `after`.
    pub(super) fn departure(&self, out: PortId, after: &[u8]) -> Vec<Stage> {
        let parsed = self.parsed();
        let class = self.class(&parsed);
        let new_tag = self.snapshot.new_tag(class, self.port, out);
        let lossless = self.config.tag_map.is_lossless(new_tag);
        let is_own = new_tag == class.tag();
        let priority = self.snapshot.egress_priority(class, new_tag, out);
        let charged = if lossless || is_own {
            class.priority()
        } else {
            self.snapshot.viq_priority(new_tag, self.port)
        };
        let headers = |bytes: &[u8]| hex(&bytes[..bytes.len().min(HEADERS_SHOWN)]);
        vec![
            Stage::Rules(RuleFound {
                out: self.name(out),
                tag: class.tag().value(),
                new_tag: new_tag.value(),
                entry: self.entry(class, out),
                because: self.rule_reason(class, out),
                lossless: lossless && class.is_lossless(),
                priority: priority.value(),
            }),
            Stage::Rewrite(Rewrite {
                out: self.name(out),
                before: headers(self.head),
                after: headers(after),
            }),
            Stage::Admission(self.admission_stage(usize::from(charged.value()))),
            Stage::Queue(Queue {
                port: self.name(out),
                priority: priority.value(),
                ..Queue::default()
            }),
        ]
    }

    fn parse_stage(&self, parsed: &Parsed) -> Parse {
        let addresses = self.addresses(parsed);
        let flow = addresses.map(|_| flow_ports(self.head, parsed.kind, usize::from(parsed.l3)));
        let has_ports = flow.filter(|flow| flow.ports != (0, 0));
        let is_ip = addresses.is_some();
        Parse {
            kind: kind_name(parsed.kind).to_owned(),
            frame_bytes: self.frame_bytes,
            vlan: parsed.is_tagged().then(|| ethernet::vid(parsed.tci)),
            pcp: parsed.is_tagged().then(|| ethernet::pcp(parsed.tci)),
            source: addresses.map(|it| it.0),
            destination: addresses.map(|it| it.1),
            protocol: flow.map(|flow| flow.protocol),
            source_port: has_ports.map(|flow| flow.ports.0),
            destination_port: has_ports.map(|flow| flow.ports.1),
            dscp: is_ip.then_some(parsed.tos >> 2),
            ttl: is_ip.then_some(parsed.ttl),
        }
    }

    fn classify_stage(&self, parsed: &Parsed) -> Classify {
        let class = self.class(parsed);
        let config = self.config;
        let trust = &config.ports[self.port.index()].trust;
        let map = &config.tag_map;
        let is_ip = matches!(parsed.kind, Kind::Ipv4 | Kind::Ipv6);
        let dscp = is_ip.then_some(usize::from(parsed.tos >> 2) % TAGS);
        let pcp = parsed.is_tagged().then(|| usize::from(ethernet::pcp(parsed.tci)) % PRIORITIES);
        let of_dscp = |dscp: usize| {
            (format!("DSCP {dscp}"), map.dscp_to_tag[dscp], trust.initial.by_dscp[dscp])
        };
        let of_pcp =
            |pcp: usize| (format!("PCP {pcp}"), map.pcp_to_tag[pcp], trust.initial.by_pcp[pcp]);
        let marking = match (trust.by, dscp, pcp) {
            (ClassifyBy::Dscp, Some(dscp), _) => Some(of_dscp(dscp)),
            (ClassifyBy::Dscp, None, Some(pcp)) | (ClassifyBy::Pcp, _, Some(pcp)) => {
                Some(of_pcp(pcp))
            }
            _ => None,
        };
        let (by, mut because) = match marking {
            Some((by, marked, selected)) => {
                let because = self.marking_reason(class.tag(), marked, selected);
                (by, because)
            }
            None if trust.by == ClassifyBy::Port => {
                ("default".to_owned(), "the port goes by no marking: `classify = \"port\"`".into())
            }
            None => ("default".to_owned(), "no marking to go by: the port's default tag".into()),
        };
        if map.ttl_classes.is_some() {
            because += "; [ttl]: the TTL gives a lossless frame its priority";
        }
        Classify {
            by,
            because,
            tag: class.tag().value(),
            priority: class.priority().value(),
            lossless: class.is_lossless(),
        }
    }

    fn marking_reason(&self, tag: Tag, marked: Tag, selected: Option<Tag>) -> String {
        let trust = &self.config.ports[self.port.index()].trust;
        if selected.is_some() {
            format!("[[initial_tag]] gives the marking tag {tag} at this port")
        } else if tag == marked {
            let whose = if trust.trusted { "trusted" } else { "untrusted" };
            format!("the marking encodes tag {tag}; the port is {whose}")
        } else if trust.trusted {
            format!("the marking encodes tag {marked}, which becomes {tag}")
        } else {
            format!(
                "the marking encodes tag {marked}, which an untrusted port does not take; the rules' \
                 `initial_tag` is {tag}"
            )
        }
    }

    fn forward_stage(&self, parsed: &Parsed, (_, destination): (IpAddr, IpAddr)) -> Forward {
        let fib = &self.snapshot.fib;
        let leaf = match destination {
            IpAddr::V4(address) => fib.v4(address.octets()),
            IpAddr::V6(address) => fib.v6(address.octets()),
        };
        let hash = leaf.is_group().then(|| self.flow_hash(parsed));
        let (first, last) = (leaf.first(), leaf.member(u32::MAX));
        let stations = self.routes.next_hops(destination);
        let row = |hop: &Hop| {
            let station = |port: PortId, mac: Option<MacAddress>| {
                let found = stations.iter().find(|it| it.interface.port == port && it.mac == mac);
                found.map(|station| station.address)
            };
            match *hop {
                Hop::Forward(adjacency) => {
                    let mac = adjacency.macs().first_chunk().copied().map(MacAddress);
                    NextHopRow {
                        kind: "forward".to_owned(),
                        port: Some(self.name(adjacency.out)),
                        address: station(adjacency.out, mac),
                        mac: mac.map(|mac| mac.to_string()),
                        buckets: 0,
                    }
                }
                Hop::Resolve { port } => NextHopRow {
                    kind: "resolve".to_owned(),
                    port: Some(self.name(port)),
                    address: station(port, None),
                    mac: None,
                    buckets: 0,
                },
                Hop::Tunnel(id) => NextHopRow {
                    kind: "tunnel".to_owned(),
                    address: self.snapshot.tunnels.get(id).and_then(|it| it.remote).map(IpAddr::V4),
                    ..NextHopRow::default()
                },
                Hop::Local => NextHopRow { kind: "local".to_owned(), ..NextHopRow::default() },
                Hop::Discard => NextHopRow { kind: "discard".to_owned(), ..NextHopRow::default() },
                Hop::NoRoute => NextHopRow { kind: "no_route".to_owned(), ..NextHopRow::default() },
            }
        };
        let bucket = leaf.member(hash.unwrap_or_default());
        let (mut next_hops, mut taken): (Vec<NextHopRow>, usize) = (Vec::new(), 0);
        let mut hops: Vec<&Hop> = Vec::new();
        for index in first..=last {
            let hop = fib.hop_at(index);
            let at = hops.iter().position(|known| *known == hop).unwrap_or_else(|| {
                hops.push(hop);
                next_hops.push(row(hop));
                hops.len() - 1
            });
            next_hops[at].buckets += 1;
            if index == bucket {
                taken = at;
            }
        }
        let bucket = hash.map(|_| bucket - first + 1);
        Forward { prefix: self.prefix(destination), next_hops, hash, bucket, taken }
    }

    fn flow_hash(&self, parsed: &Parsed) -> u32 {
        let flow = flow_ports(self.head, parsed.kind, usize::from(parsed.l3));
        let hash = &self.snapshot.flow_hash;
        match self.addresses(parsed) {
            Some((IpAddr::V4(source), IpAddr::V4(destination))) => {
                hash.v4(source.octets(), destination.octets(), flow.protocol, flow.ports)
            }
            Some((IpAddr::V6(source), IpAddr::V6(destination))) => {
                hash.v6(source.octets(), destination.octets(), flow.protocol, flow.ports)
            }
            _ => 0,
        }
    }

    /// The longest prefix of any origin.
    fn prefix(&self, destination: IpAddr) -> Option<String> {
        let routes = self.routes;
        let connected = routes.interfaces().map(|interface| interface.net.trunc());
        let fixed = routes.routes().map(|(prefix, _)| prefix);
        let learned = routes.learned().map(|(prefix, _)| prefix);
        let all = connected.chain(fixed).chain(learned);
        let matching = all.filter(|prefix| prefix.contains(&destination));
        matching.max_by_key(ipnet::IpNet::prefix_len).map(|prefix| prefix.to_string())
    }

    fn bridge_stage(&self, vlan: Option<u16>) -> Bridge {
        let mac = self.destination_mac();
        let fixed = self.snapshot.static_macs.iter();
        let fixed = fixed.filter(|station| Some(station.vid.value()) == vlan && station.mac == mac);
        let fixed = fixed.map(|station| self.name(station.port)).next();
        let text = mac.to_string();
        let learned = self.stations.iter().find(|it| Some(it.vlan) == vlan && it.mac == text);
        let port = fixed.or_else(|| learned.map(|station| station.port.clone()));
        Bridge { vlan, mac: text, port }
    }

    fn entry(&self, class: Class, out: PortId) -> Option<usize> {
        let rules = self.config.rules.as_ref().filter(|_| class.is_lossless())?;
        let at = rules.entries.iter().position(|it| it.matches(class.tag(), self.port, out))?;
        Some(at + 1)
    }

    fn rule_reason(&self, class: Class, out: PortId) -> String {
        if self.config.rules.is_none() {
            return "there are no rules: tags never change".to_owned();
        }
        if !class.is_lossless() {
            return "rules are for lossless tags only".to_owned();
        }
        let file = self.config.rules_file.as_ref();
        let file = file.map_or_else(
            || "the rules learned by LLDP".to_owned(),
            |file| file.display().to_string(),
        );
        match self.entry(class, out) {
            Some(entry) => format!("entry {entry} of {file}"),
            None => format!("no entry of {file} matches: the frame becomes lossy"),
        }
    }

    fn admission_stage(&self, priority: usize) -> Admission {
        let buffer = &self.config.settings.buffer;
        let port = &self.config.settings.ports[self.port.index()];
        let viq = port.lossless[priority];
        let frame_bytes = u32::try_from(self.frame_bytes).unwrap_or(u32::MAX);
        Admission {
            port: self.name(self.port),
            priority: u8::try_from(priority).unwrap_or_default(),
            lossless: viq.is_some(),
            cost_bytes: frame_bytes.max(u32::from(buffer.cell_bytes)),
            threshold_bytes: viq.and_then(|viq| match viq.threshold {
                Threshold::Static { xoff_bytes } => Some(u64::from(xoff_bytes)),
                Threshold::Dynamic { .. } => None,
            }),
            dynamic_th: viq.and_then(|viq| match viq.threshold {
                Threshold::Static { .. } => None,
                Threshold::Dynamic { alpha_log2, .. } => Some(alpha_log2),
            }),
            reserved_bytes: viq.map_or(0, |viq| viq.reserved_bytes),
            headroom_size_bytes: viq.map_or(0, |viq| viq.headroom_bytes),
            ..Admission::default()
        }
    }
}

/// Bytes of headers that are shown: Ethernet with a VLAN tag, IPv4, UDP.
const HEADERS_SHOWN: usize = 46;

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Ipv4 => "ipv4",
        Kind::Ipv6 => "ipv6",
        Kind::Arp => "arp",
        Kind::MacControl => "mac_control",
        Kind::Lldp => "lldp",
        Kind::Other => "other",
        Kind::Bad(reason) => reason.name(),
    }
}
