//! What switches do with frames, by their own files: classes, routes, tunnels, rules, queues.
//!
//! [`FileForwarding`] is a network of switch files as [`fabric::verify::forwarding`] walks it.
//! Where the files do not say, all that may be counts: a host sends to every destination with every
//! DSCP that it may use, every equal-cost path is taken, TTLs do not end. Hosts send no tunneled
//! frames.

mod headers;
mod lookup;

pub use headers::Headers;

use super::NetworkConfig;
use super::switch_files::SwitchFiles;
use crate::switch::{SwitchConfig, TablesError};
use dataplane::fib::{Route, RoutedBy};
use dataplane::ids::{PortId, Tag};
use dataplane::pipeline::class::Class;
use dataplane::pipeline::classify::{Classifier, ClassifyBy};
use dataplane::snapshot::{PortMode, Snapshot};
use dataplane::tunnel::{Tunnel, TunnelMode};
use fabric::Network;
use fabric::verify::forwarding::{Departure, End, Forwarding, Turn};
use headers::{NESTED_MAX, Outer};
use lookup::{Lookups, Way};
use std::net::IpAddr;
use std::sync::Arc;

/// The switches of a network, as their files have them.
#[derive(Debug)]
pub struct FileForwarding {
    network: Network,
    files: Arc<SwitchFiles>,
    lookups: Lookups,
}

/// Where a frame is, in which switch.
#[derive(Clone, Copy)]
struct At<'a> {
    switch: u32,
    input: u32,
    port: PortId,
    config: &'a SwitchConfig,
    snapshot: &'a Snapshot,
}

impl FileForwarding {
    /// The forwarding of the switches of `config`; `None` if they have no files.
    ///
    /// # Errors
    /// What a routing table cannot hold. None for files that were loaded.
    pub fn new(config: &NetworkConfig) -> Result<Option<Self>, TablesError> {
        let Some(files) = &config.files else { return Ok(None) };
        let network = config.network.clone();
        let lookups = Lookups::new(&network, files)?;
        Ok(Some(Self { network, files: Arc::clone(files), lookups }))
    }

    /// How many destinations some switch treats unlike others.
    pub fn destinations(&self) -> usize {
        self.lookups.addresses.len()
    }

    /// What decides where frames go and is in no file, a line for each switch that has such.
    pub fn not_followed(&self) -> Vec<String> {
        let line = |(switch, config): (u32, &SwitchConfig)| {
            let learns = config.lldp.as_ref().is_some_and(|lldp| lldp.bounces.is_some());
            let what = [
                (config.fpm.is_some(), "routes of a routing daemon ([routing] fpm)"),
                (learns, "rules that it learns ([fabric])"),
                (config.fleet.is_some(), "rules of a store ([fleet])"),
            ];
            let what: Vec<&str> = what.iter().filter(|it| it.0).map(|it| it.1).collect();
            let name = self.network.switch_name(switch);
            (!what.is_empty()).then(|| format!("{name} may have {}", what.join(" and ")))
        };
        (0..).zip(&self.files.switches).filter_map(line).collect()
    }

    /// Headers in words: `DSCP 2 to 10.1.0.33 (inner DSCP 3 to 192.168.0.2)`.
    pub fn show(&self, headers: &Headers) -> String {
        headers.show(|destination| self.lookups.addresses[destination as usize])
    }

    /// What makes a frame leave as it does: the route, and the tunnels that end or begin.
    pub fn cause(&self, input: u32, headers: &Headers, departure: &Departure<Headers>) -> String {
        let at = self.at(input);
        let mut words = Vec::new();
        let mut headers = headers.clone();
        if let Some(tunnel) = self.ending(at, &headers) {
            words.push(format!("out of tunnel {}", tunnel_name(at.config, tunnel)));
            headers.outer.pop();
        }
        let leads = |headers: &Headers| {
            let address = self.lookups.addresses[headers.destination() as usize];
            let routes = &self.lookups.switches[at.switch as usize].routes;
            show(routes.routed_by(address), at.config)
        };
        words.push(leads(&headers));
        if departure.headers.outer.len() > headers.outer.len() {
            words.push(leads(&departure.headers));
        }
        words.join(", ")
    }

    fn at(&self, input: u32) -> At<'_> {
        let switch = self.network.owner(input);
        At {
            switch,
            input,
            port: self.network.port(input),
            config: &self.files.switches[switch as usize],
            snapshot: &self.lookups.switches[switch as usize].snapshot,
        }
    }

    /// The tunnel that a frame for one of the switch's own addresses comes out of.
    fn ending<'a>(&self, at: At<'a>, headers: &Headers) -> Option<&'a Tunnel> {
        let outer = headers.outer.last()?;
        let ways = self.lookups.ways(at.switch, outer.destination);
        let address = self.lookups.addresses[outer.destination as usize];
        match address {
            IpAddr::V4(address) if ways == [Way::Ours] => {
                at.snapshot.tunnels.ending(outer.source, address)
            }
            _ => None,
        }
    }

    /// What becomes of a frame that is classified, and not in a tunnel that ends here.
    fn finish(&self, at: At<'_>, class: Class, headers: &Headers) -> Vec<Turn<Headers>> {
        let ways = self.lookups.ways(at.switch, headers.destination());
        ways.iter().flat_map(|&way| self.by_way(at, class, headers, way)).collect()
    }

    fn by_way(&self, at: At<'_>, class: Class, headers: &Headers, way: Way) -> Vec<Turn<Headers>> {
        let is_missed = !headers.outer.is_empty() || self.lookups.is_host[headers.inner as usize];
        let missed = |end| Turn::End(if is_missed { end } else { End::Expected });
        match way {
            Way::Port(output) => vec![self.out(at, class, headers, output)],
            Way::Ours | Way::Blackhole => vec![Turn::End(End::Expected)],
            Way::NoRoute => vec![missed(End::NoRoute)],
            Way::NoNeighbor => vec![missed(End::NoNeighbor)],
            Way::Tunnel(..) if headers.outer.len() >= NESTED_MAX => vec![Turn::End(End::TooDeep)],
            Way::Tunnel(id, remote) => {
                let tunnel = at.snapshot.tunnels.get(id);
                let Some((tunnel, to)) = tunnel.zip(self.lookups.end_of_tunnel(remote)) else {
                    return vec![missed(End::NoRoute)];
                };
                let outside = |way: &Way| match *way {
                    Way::Port(output) => self.through(at, class, headers, (tunnel, to), output),
                    Way::NoNeighbor => missed(End::NoNeighbor),
                    Way::Blackhole => Turn::End(End::Expected),
                    // No tunnel leads through another, or to its own beginning.
                    Way::NoRoute | Way::Ours | Way::Tunnel(..) => missed(End::NoRoute),
                };
                self.lookups.ways(at.switch, to).iter().map(outside).collect()
            }
        }
    }

    /// A frame that leaves by `output`.
    fn out(&self, at: At<'_>, class: Class, headers: &Headers, output: PortId) -> Turn<Headers> {
        let tag = at.snapshot.new_tag(class, at.port, output);
        let mut headers = headers.clone();
        if tag != class.tag() || class.must_remark() {
            headers.set_dscp(at.snapshot.tags.dscp[tag.index()]);
        }
        self.leave(at, class, tag, headers, output)
    }

    /// The same in a tunnel to `to`.
    fn through(
        &self,
        at: At<'_>,
        class: Class,
        headers: &Headers,
        (tunnel, to): (&Tunnel, u32),
        output: PortId,
    ) -> Turn<Headers> {
        let tag = at.snapshot.new_tag(class, at.port, output);
        let outer_tag = tunnel.outer_tag[tag.index()];
        let dscps = &at.snapshot.tags.dscp;
        let mut headers = headers.clone();
        if tag != class.tag() || class.must_remark() {
            headers.set_dscp(dscps[tag.index()]);
        }
        let is_own = outer_tag == class.tag() && !class.must_remark();
        let dscp = if is_own { headers.dscp() } else { dscps[outer_tag.index()] };
        headers.outer.push(Outer { source: tunnel.local, destination: to, dscp });
        self.leave(at, class, outer_tag, headers, output)
    }

    /// A frame that leaves with `tag`, by which it is queued. What becomes lossy is held in no VIQ
    /// that pauses anybody.
    fn leave(
        &self,
        at: At<'_>,
        class: Class,
        tag: Tag,
        headers: Headers,
        output: PortId,
    ) -> Turn<Headers> {
        let config = &at.config.ports[output.index()];
        let is_tagged = matches!(config.mode, PortMode::Routed { vlan: Some(_) });
        let tags = &at.snapshot.tags;
        let is_lossless = class.is_lossless() && tags.is_lossless(tag);
        let held = class.priority();
        let is_paused = self.paused(at.input) & held.bit() != 0;
        let slot = self.network.slots_of(at.switch).start + u32::from(output.index_u16());
        Turn::Out(Departure {
            output: slot,
            held: (is_lossless && is_paused).then_some(held),
            queue: at.snapshot.egress_priority(class, tag, output),
            headers: Headers { pcp: is_tagged.then(|| tags.pcp[tag.index()]), ..headers },
        })
    }

    /// Whether frames with this DSCP are lossy everywhere, and keep it: one such DSCP stands for
    /// all.
    fn is_plain(&self, dscp: u8) -> bool {
        let in_switch = |(snapshot, config): (&Snapshot, &SwitchConfig)| {
            let by = |classifier: &Classifier| classifier.classify(Some(dscp), None);
            let mut classes = snapshot.ports.iter().map(|port| by(&port.classifier));
            let keeps = |tag: Tag| {
                let mut tunnels = config.tunnels.iter();
                tunnels.all(|it| it.tunnel.outer_tag[tag.index()] == tag)
            };
            classes.all(|it| !it.is_lossless() && !it.must_remark() && keeps(it.tag()))
        };
        let snapshots = self.lookups.switches.iter().map(|switch| &switch.snapshot);
        snapshots.zip(&self.files.switches).all(in_switch)
    }
}

impl Forwarding for FileForwarding {
    type Headers = Headers;

    fn paused(&self, slot: u32) -> u8 {
        let switch = &self.files.switches[self.network.owner(slot) as usize];
        switch.settings.ports[self.network.port(slot).index()].lossless_bits()
    }

    fn sent(&self, host: u32) -> Vec<Headers> {
        let Some(slot) = self.network.host_slot(host) else { return Vec::new() };
        let by_pcp = self.files.port(&self.network, slot).trust.by == ClassifyBy::Pcp;
        let pcps = [None].into_iter().chain((0..8).filter(|_| by_pcp).map(Some));
        let pcps: Vec<Option<u8>> = pcps.collect();
        let bits = self.files.hosts[host as usize].dscps;
        let mut has_plain = false;
        let dscps = (0..64_u8).filter(|&dscp| {
            let is_plain = bits >> dscp & 1 == 1 && self.is_plain(dscp);
            bits >> dscp & 1 == 1 && (!is_plain || !std::mem::replace(&mut has_plain, true))
        });
        let dscps: Vec<u8> = dscps.collect();
        let mut sent = Vec::new();
        // Frames to hosts first: the first frame that makes a buffer wait is the one that is named.
        let destinations = (0..).zip(&self.lookups.is_host);
        let (hosts, others): (Vec<_>, Vec<_>) = destinations.partition(|&(_, is_host)| *is_host);
        for (destination, _) in hosts.into_iter().chain(others) {
            for &dscp in &dscps {
                sent.extend(pcps.iter().map(|&pcp| Headers::plain(destination, dscp, pcp)));
            }
        }
        sent
    }

    fn forward(&self, input: u32, headers: &Headers) -> Vec<Turn<Headers>> {
        let at = self.at(input);
        let classifier = &at.snapshot.ports[at.port.index()].classifier;
        let class = classifier.classify(Some(headers.dscp()), headers.pcp);
        let Some(tunnel) = self.ending(at, headers) else {
            return self.finish(at, class, headers);
        };
        let mut inside = headers.clone();
        inside.outer.pop();
        if tunnel.dscp == TunnelMode::Uniform {
            inside.set_dscp(headers.dscp());
        }
        let inner = classifier.classify(Some(inside.dscp()), inside.pcp);
        let class = at.snapshot.class_after_tunnel(tunnel, at.port, class, inner);
        self.finish(at, class, &inside)
    }
}

fn tunnel_name<'a>(config: &'a SwitchConfig, tunnel: &Tunnel) -> &'a str {
    let named = config.tunnels.iter().find(|it| it.tunnel == *tunnel);
    named.map_or("", |it| &it.name)
}

/// What leads to a destination, in words.
fn show(routed_by: RoutedBy<'_>, config: &SwitchConfig) -> String {
    match routed_by {
        RoutedBy::Ours => "own address".to_owned(),
        RoutedBy::Connected(network) => format!("network {network}"),
        RoutedBy::Nothing | RoutedBy::Learned(..) => "no route".to_owned(),
        RoutedBy::Static(prefix, Route::Blackhole) => format!("route {prefix} blackhole"),
        RoutedBy::Static(prefix, Route::Via(gateways)) => {
            let gateways: Vec<String> = gateways.iter().map(ToString::to_string).collect();
            format!("route {prefix} via {}", gateways.join(" "))
        }
        RoutedBy::Static(prefix, Route::Tunnel { id, .. }) => {
            let name = config.tunnels.get(id.index()).map_or("", |tunnel| &tunnel.name);
            format!("route {prefix} into tunnel {name}")
        }
    }
}
