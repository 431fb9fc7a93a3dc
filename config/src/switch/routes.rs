//! `[[route]]`, the route file and `[[neighbor]]`: where frames are to go.

use super::mode::no_host_of;
use super::ports;
use super::schema::{NeighborTable, RouteTable, SwitchFile};
use super::{Neighbor, PortConfig, StaticRoute, TunnelConfig, tunnels};
use crate::error::ConfigError;
use crate::fields::{Address, Network, Value};
use crate::source::Source;
use dataplane::fib::{NEIGHBORS_MAX, ROUTES_MAX, Route};
use dataplane::ids::PortId;
use dataplane::limits::ECMP_MAX;
use dataplane::snapshot::PortMode;
use dataplane::wire::MacAddress;
use ipnet::IpNet;
use std::collections::HashSet;
use std::net::IpAddr;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;

/// Reads routes from whatever file, against the ports they go by.
struct Reader<'a> {
    ports: &'a [PortConfig],
    tunnels: &'a [TunnelConfig],
    /// Prefixes that have a route.
    seen: HashSet<IpNet>,
    /// Gateways that are known to be right: route files name few of them, thousands of times.
    known: HashSet<IpAddr>,
}

/// The routes of the `[[route]]` tables.
///
/// # Errors
/// A prefix twice, or a gateway that no port leads to.
pub(super) fn of_tables(
    source: &Source,
    file: &SwitchFile,
    ports: &[PortConfig],
    tunnels: &[TunnelConfig],
) -> Result<Vec<StaticRoute>, ConfigError> {
    let mut reader = Reader::new(ports, tunnels, &[]);
    file.route.iter().map(|table| reader.table(source, table)).collect()
}

/// Appends the routes of the file at `path`.
///
/// # Errors
/// The file cannot be read, has a line that is no route, a prefix that is there already, or a
/// gateway that no port leads to.
pub(super) fn append_file(
    path: &Path,
    ports: &[PortConfig],
    tunnels: &[TunnelConfig],
    routes: &mut Vec<StaticRoute>,
) -> Result<(), ConfigError> {
    append(&Source::read(path)?, ports, tunnels, routes)
}

/// Appends the routes of a text.
///
/// # Errors
/// As [`append_file`].
pub(super) fn append(
    source: &Source,
    ports: &[PortConfig],
    tunnels: &[TunnelConfig],
    routes: &mut Vec<StaticRoute>,
) -> Result<(), ConfigError> {
    let mut reader = Reader::new(ports, tunnels, routes);
    reader.file(source, routes)
}

impl<'a> Reader<'a> {
    fn new(ports: &'a [PortConfig], tunnels: &'a [TunnelConfig], before: &[StaticRoute]) -> Self {
        let seen = before.iter().map(|&(prefix, _)| prefix).collect();
        Self { ports, tunnels, seen, known: HashSet::new() }
    }

    fn table(
        &mut self,
        source: &Source,
        table: &Spanned<RouteTable>,
    ) -> Result<StaticRoute, ConfigError> {
        let (span, table) = (table.span(), table.get_ref());
        let prefix = table.to.get_ref().0;
        self.prefix(prefix).map_err(|message| source.at(table.to.span(), message))?;
        let excluded = |what: &str| match table.via.first() {
            None => Ok(()),
            Some(via) => Err(source.at(via.span(), format!("a `{what}` has no `via`"))),
        };
        if let Some(name) = &table.tunnel {
            if table.blackhole {
                let message = "a `blackhole` has no `tunnel`; remove one of them";
                return Err(source.at(name.span(), message));
            }
            excluded("tunnel")?;
            let route = tunnels::route(self.tunnels, name.get_ref());
            let route = route.map_err(|message| source.at(name.span(), message))?;
            return Ok((prefix, route));
        }
        if table.blackhole {
            excluded("blackhole")?;
            return Ok((prefix, Route::Blackhole));
        }
        let gateways: Vec<_> = table.via.iter().map(|via| (via.get_ref().0, via.span())).collect();
        Ok((prefix, self.route(source, prefix, &gateways, span)?))
    }

    /// `PREFIX via GATEWAY [GATEWAY ...]`, `PREFIX blackhole` or `PREFIX tunnel NAME` a line; `#`
    /// starts a comment.
    fn file(&mut self, source: &Source, routes: &mut Vec<StaticRoute>) -> Result<(), ConfigError> {
        let mut line_start = 0;
        for line in source.text().split_inclusive('\n') {
            let text = line.split('#').next().unwrap_or_default();
            // A word's place is the distance of its bytes from the start of the line.
            let place = |word: &str| {
                let at = line_start + (word.as_ptr() as usize - line.as_ptr() as usize);
                at..at + word.len()
            };
            let words: Vec<(&str, Range<usize>)> =
                text.split_whitespace().map(|word| (word, place(word))).collect();
            if let Some(((to, span), rest)) = words.split_first() {
                routes.push(self.line(source, to, span.clone(), rest)?);
            }
            line_start += line.len();
        }
        Ok(())
    }

    fn line(
        &mut self,
        source: &Source,
        to: &str,
        span: Range<usize>,
        rest: &[(&str, Range<usize>)],
    ) -> Result<StaticRoute, ConfigError> {
        let prefix = Network::from_text(to).map_err(|message| source.at(span.clone(), message))?.0;
        self.prefix(prefix).map_err(|message| source.at(span.clone(), message))?;
        match rest.split_first() {
            Some((("blackhole", _), [])) => Ok((prefix, Route::Blackhole)),
            Some((("tunnel", _), [(name, span)])) => {
                let route = tunnels::route(self.tunnels, name);
                Ok((prefix, route.map_err(|message| source.at(span.clone(), message))?))
            }
            Some((("via", via), words)) => {
                let gateway = |(word, span): &(&str, Range<usize>)| match Address::from_text(word) {
                    Ok(Address(gateway)) => Ok((gateway, span.clone())),
                    Err(message) => Err(source.at(span.clone(), message)),
                };
                let gateways = words.iter().map(gateway).collect::<Result<Vec<_>, _>>()?;
                Ok((prefix, self.route(source, prefix, &gateways, via.clone())?))
            }
            other => {
                let span = other.map_or(span, |((_, span), _)| span.clone());
                let message = "a line is `PREFIX via ADDRESS [ADDRESS ...]`, `PREFIX blackhole` or `PREFIX \
                               tunnel NAME`";
                Err(source.at(span, message))
            }
        }
    }

    /// A prefix is a network, not a host in it, and comes once.
    fn prefix(&mut self, prefix: IpNet) -> Result<(), String> {
        if prefix.trunc() != prefix {
            return Err(format!("{prefix} has bits beyond its length; write {}", prefix.trunc()));
        }
        if prefix.addr().is_multicast() {
            return Err(format!("{prefix} is multicast; only unicast is routed"));
        }
        if let Some((port, _)) = connected(self.ports).find(|(_, own)| own.trunc() == prefix) {
            let name = &port.name;
            return Err(format!("{prefix} is connected to port `{name}`; no route can replace it"));
        }
        if self.seen.len() >= ROUTES_MAX {
            return Err(format!("this is route {}; {ROUTES_MAX} are the most", ROUTES_MAX + 1));
        }
        if self.seen.insert(prefix) { Ok(()) } else { Err(format!("{prefix} has a route already")) }
    }

    fn route(
        &mut self,
        source: &Source,
        prefix: IpNet,
        gateways: &[(IpAddr, Range<usize>)],
        span: Range<usize>,
    ) -> Result<Route, ConfigError> {
        for &(gateway, ref span) in gateways {
            if !self.known.contains(&gateway) {
                neighboring_port(self.ports, gateway)
                    .map_err(|message| source.at(span.clone(), message))?;
                self.known.insert(gateway);
            }
        }
        if (1..=ECMP_MAX).contains(&gateways.len()) {
            return Ok(Route::Via(gateways.iter().map(|&(gateway, _)| gateway).collect()));
        }
        let message = format!(
            "{prefix} has {} gateways; a route has 1 to {ECMP_MAX}, or is a blackhole",
            gateways.len()
        );
        Err(source.at(span, message))
    }
}

/// The port behind which a neighbor with `address` is.
fn neighboring_port(ports: &[PortConfig], address: IpAddr) -> Result<PortId, String> {
    if connected(ports).any(|(_, network)| network.addr() == address) {
        return Err(format!("{address} is an address of this switch; name a neighbor's"));
    }
    let mut holders = connected(ports).filter(|(_, network)| network.contains(&address));
    if let Some(why) = holders.clone().find_map(|(_, network)| no_host_of(network, address)) {
        return Err(format!("{address} {why}"));
    }
    match (holders.next(), holders.find(|_| true)) {
        (Some((port, _)), None) => Ok(port.id),
        (Some((port, _)), Some((other, _))) if other.id == port.id => Ok(port.id),
        (Some((port, _)), Some((other, _))) => Err(format!(
            "{address} can be behind port `{}` or `{}`; use an address that is on one link only",
            port.name, other.name
        )),
        (None, _) => Err(format!(
            "no port is in a network with {address}; give one an address there, or use another gateway"
        )),
    }
}

/// Static neighbors.
///
/// # Errors
/// A neighbor twice, or behind no routed port.
pub(super) fn neighbors(
    source: &Source,
    file: &SwitchFile,
    ports: &[PortConfig],
) -> Result<Vec<Neighbor>, ConfigError> {
    let mut seen = HashSet::new();
    let mut neighbors = Vec::with_capacity(file.neighbor.len());
    for table in &file.neighbor {
        let (field, table) = (&table.get_ref().address, table.get_ref());
        let neighbor = neighbor(source, ports, table)?;
        if !seen.insert(neighbor.address) {
            let message = format!("{} has a [[neighbor]] already", neighbor.address);
            return Err(source.at(field.span(), message));
        }
        if seen.len() > NEIGHBORS_MAX {
            let message = format!("there are more than {NEIGHBORS_MAX} neighbors");
            return Err(source.at(field.span(), message));
        }
        neighbors.push(neighbor);
    }
    Ok(neighbors)
}

fn neighbor(
    source: &Source,
    ports: &[PortConfig],
    table: &NeighborTable,
) -> Result<Neighbor, ConfigError> {
    let (address, mac) = (table.address.get_ref().0, table.mac.get_ref().0);
    let wrong = |span: Range<usize>, message: String| Err(source.at(span, message));
    if connected(ports).any(|(_, network)| network.addr() == address) {
        let message = format!("{address} is an address of this switch; a neighbor has another");
        return wrong(table.address.span(), message);
    }
    if mac.is_multicast() {
        let message = format!("{mac} is a multicast address; a neighbor has one of its own");
        return wrong(table.mac.span(), message);
    }
    if mac == MacAddress::default() {
        let message = format!("{mac} is no station's address; use the neighbor's own");
        return wrong(table.mac.span(), message);
    }
    let Some(field) = &table.port else {
        return match neighboring_port(ports, address) {
            Ok(port) => Ok(Neighbor { address, mac, port }),
            Err(message) => wrong(table.address.span(), message),
        };
    };
    let port = match ports::find(ports, field.get_ref()) {
        Ok(port) => &ports[port.index()],
        Err(message) => return wrong(field.span(), message),
    };
    if !port.addresses.iter().any(|network| network.contains(&address)) {
        let message = match port.mode {
            PortMode::Routed { .. } => format!(
                "{address} is in no network of port `{}`; give the port an address there",
                port.name
            ),
            PortMode::Bridged(_) => {
                format!("port `{}` bridges; neighbors are behind ports with `addresses`", port.name)
            }
        };
        return wrong(field.span(), message);
    }
    Ok(Neighbor { address, mac, port: port.id })
}

/// The networks of the routed ports.
fn connected(ports: &[PortConfig]) -> impl Iterator<Item = (&PortConfig, &IpNet)> + Clone {
    ports.iter().flat_map(|port| port.addresses.iter().map(move |network| (port, network)))
}
