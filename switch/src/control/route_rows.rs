//! The routes, as a client sees them.

use super::Control;
use super::protocol::{ROWS_MAX, RouteRow, Routes};
use crate::platform::Platform;
use dataplane::fib::{Learned, Path, Route, Target};
use ipnet::IpNet;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

/// Gateways by their text and whether their MAC address is known: many thousand routes go by few.
type Known = HashMap<IpAddr, (String, bool)>;

impl<P: Platform> Control<P> {
    /// Connected networks first, then static routes, then those of a routing daemon; of two for one
    /// prefix both.
    pub(super) fn routes(&self, offset: usize) -> Routes {
        let routes = self.tables.routes();
        let mut connected: BTreeMap<IpNet, Vec<String>> = BTreeMap::new();
        for interface in routes.interfaces() {
            let own = format!("{}%{}", interface.net.addr(), self.port_name(interface.port));
            connected.entry(interface.net.trunc()).or_default().push(own);
        }
        let fixed = routes.routes().count();
        let total = connected.len() + fixed + routes.learned().len();
        let rest = offset.saturating_sub(connected.len());
        let connected = connected.into_iter().map(|(prefix, via)| RouteRow {
            prefix: prefix.to_string(),
            kind: "connected".to_owned(),
            origin: "connected".to_owned(),
            resolved: via.len(),
            via,
        });
        let mut rows: Vec<RouteRow> = connected.skip(offset).take(ROWS_MAX).collect();
        let mut known = Known::new();
        let more = ROWS_MAX - rows.len();
        let of_files = routes.routes().skip(rest).take(more);
        rows.extend(of_files.map(|(prefix, route)| self.static_row(prefix, route, &mut known)));
        let (rest, more) = (rest.saturating_sub(fixed), ROWS_MAX - rows.len());
        let learned = routes.learned().skip(rest).take(more);
        rows.extend(learned.map(|(prefix, route)| self.learned_row(prefix, route, &mut known)));
        Routes { total, routes: rows }
    }

    fn static_row(&self, prefix: IpNet, route: &Route, known: &mut Known) -> RouteRow {
        let origin = "static".to_owned();
        let Route::Via(gateways) = route else { return nowhere(prefix, "blackhole", origin) };
        let mut row = by_paths(prefix, origin);
        for &gateway in gateways {
            let (name, is_resolved) = known.entry(gateway).or_insert_with(|| self.gateway(gateway));
            row.via.push(name.clone());
            row.resolved += usize::from(*is_resolved);
        }
        row
    }

    fn learned_row(&self, prefix: IpNet, route: &Learned, known: &mut Known) -> RouteRow {
        let origin = protocol_name(route.protocol);
        let Target::Group(group) = route.target else {
            let kind = if route.target == Target::Blackhole { "blackhole" } else { "unreachable" };
            return nowhere(prefix, kind, origin);
        };
        let mut row = by_paths(prefix, origin);
        for path in self.tables.routes().paths(group) {
            let (mut text, is_resolved) = match path {
                Path { gateway: Some(gateway), port: None, .. } => {
                    known.entry(*gateway).or_insert_with(|| self.gateway(*gateway)).clone()
                }
                path => self.path(path),
            };
            if path.weight > 1 {
                text += &format!("*{}", path.weight);
            }
            row.via.push(text);
            row.resolved += usize::from(is_resolved);
        }
        row
    }

    /// A gateway with its port, if it is behind one, and whether its MAC address is known.
    fn gateway(&self, gateway: IpAddr) -> (String, bool) {
        let stations = self.tables.routes().next_hops(gateway);
        match stations.first() {
            None => (gateway.to_string(), false),
            Some(station) => {
                let port = self.port_name(station.interface.port);
                (format!("{gateway}%{port}"), station.mac.is_some())
            }
        }
    }

    /// A path with a port of its own; one without a gateway leads to the destination itself.
    fn path(&self, path: &Path) -> (String, bool) {
        let port = path.port.map_or_else(String::new, |port| self.port_name(port));
        match path.gateway {
            None => (format!("%{port}"), true),
            Some(gateway) => {
                let is_resolved = self.tables.routes().is_resolved(path);
                (format!("{gateway}%{port}"), is_resolved)
            }
        }
    }
}

fn by_paths(prefix: IpNet, origin: String) -> RouteRow {
    let (prefix, kind) = (prefix.to_string(), "via".to_owned());
    RouteRow { prefix, kind, origin, via: Vec::new(), resolved: 0 }
}

fn nowhere(prefix: IpNet, kind: &str, origin: String) -> RouteRow {
    RouteRow { kind: kind.to_owned(), ..by_paths(prefix, origin) }
}

/// The name of a protocol of `rtnetlink`(7), as iproute2 and FRR give it.
fn protocol_name(protocol: u8) -> String {
    let name = match protocol {
        2 => "kernel",
        3 => "boot",
        4 | 196 => "zebra-static",
        11 => "zebra",
        42 => "babel",
        186 => "bgp",
        187 => "isis",
        188 => "ospf",
        189 => "rip",
        190 => "ripng",
        191 => "nhrp",
        192 => "eigrp",
        193 => "ldp",
        194 => "sharp",
        195 => "pbr",
        197 => "openfabric",
        198 => "srte",
        other => return format!("protocol-{other}"),
    };
    name.to_owned()
}
