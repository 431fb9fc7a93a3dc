//! The addresses that the host's kernel has for the ports' TAPs, in the tables: what iproute2 sets
//! is the port's.

use super::tables::Tables;
use crate::host_taps::HostAddresses;
use crate::log;
use agents::host::Interface;
use config::SwitchConfig;
use dataplane::fib;
use dataplane::ids::PortId;
use ipnet::IpNet;
use std::net::IpAddr;

impl Tables {
    /// Gives the ports with TAPs the addresses that the kernel has for them. Returns whether that
    /// changes anything.
    pub(super) fn set_host_addresses(&mut self, host: &HostAddresses) -> bool {
        let loopback_port = host.by_port.keys().next().copied();
        let mut taken = Taken::of(&self.interfaces, host);
        let mut any = false;
        for interface in &mut self.interfaces {
            let (port, link_local) = (interface.port, interface.link_local());
            let Some(nets) = wanted(interface, host) else { continue };
            // The link-local address that follows from the MAC address is always there.
            let nets = nets.iter().copied().filter(|net| net.addr() != link_local);
            let nets: Vec<IpNet> =
                nets.filter(|&net| taken.take(&self.config, port, net)).collect();
            let loopback = host.loopback.iter().filter(|_| Some(port) == loopback_port);
            let all = nets.iter().copied().chain(loopback.map(|net| net.addr().into()));
            any |= set_networks(&mut self.routes, &self.config, interface, all.collect());
            interface.addresses = nets;
        }
        any
    }
}

/// The addresses that an interface is to have; `None` if the kernel has none of its port.
fn wanted<'a>(interface: &Interface, host: &'a HostAddresses) -> Option<&'a Vec<IpNet>> {
    host.by_port.get(&interface.port).filter(|_| interface.has_tap)
}

/// The networks of all ports: no two may overlap, since a route would not know which to take.
struct Taken(Vec<(PortId, IpNet)>);

impl Taken {
    /// Those that ports have and keep: they stay where they are.
    fn of(interfaces: &[Interface], host: &HostAddresses) -> Self {
        let kept = interfaces.iter().flat_map(|interface| {
            let nets = wanted(interface, host);
            let is_kept = move |net: &&IpNet| nets.is_none_or(|nets| nets.contains(net));
            interface.addresses.iter().filter(is_kept).map(|&net| (interface.port, net))
        });
        Self(kept.collect())
    }

    /// Whether `port` may have `net`; notes it.
    fn take(&mut self, config: &SwitchConfig, port: PortId, net: IpNet) -> bool {
        if self.0.contains(&(port, net)) {
            return true;
        }
        // A single address may be on several ports, as unnumbered ones have it.
        let is_single = |net: &IpNet| net.prefix_len() == net.max_prefix_len();
        let is_link_local = matches!(net, IpNet::V6(six) if six.addr().is_unicast_link_local());
        let overlaps = |&&(of, other): &&(PortId, IpNet)| {
            let overlap = other.contains(&net.network()) || net.contains(&other.network());
            of != port && !is_single(&other) && overlap
        };
        let other = self.0.iter().find(overlaps).copied();
        match other {
            Some((of, other)) if !is_single(&net) && !is_link_local => {
                let name = |port: PortId| &config.ports[port.index()].name;
                log::warning(
                    "host",
                    format!(
                        "port {}: the address {net} is not used: it overlaps {other} of port {}, and \
                         every routed port needs a network of its own",
                        name(port),
                        name(of)
                    ),
                );
                false
            }
            _ => {
                self.0.push((port, net));
                true
            }
        }
    }
}

/// Connects the networks of `interface` in `routes`: those of `nets`, and that of its link-local
/// address. Returns whether that changes anything.
fn set_networks(
    routes: &mut fib::Routes,
    config: &SwitchConfig,
    interface: &Interface,
    nets: Vec<IpNet>,
) -> bool {
    let Interface { port, vlan, mac, .. } = *interface;
    let link_local = IpAddr::V6(interface.link_local());
    let known = routes.interfaces().filter(|known| known.port == port && known.vlan == vlan);
    let known: Vec<IpNet> = known.map(|known| known.net).collect();
    let (mut any, frame_bytes_max) = (false, config.settings.ports[port.index()].frame_bytes_max);
    for net in known.iter().filter(|net| net.addr() != link_local && !nets.contains(net)) {
        routes.remove_interface(port, vlan, net.addr());
        any = true;
    }
    for net in nets.into_iter().filter(|net| !known.contains(net)) {
        routes.set_interface(fib::Interface { net, port, vlan, mac, frame_bytes_max });
        any = true;
    }
    any
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const SWITCH: &str = "
        name = 'A'
        [host]
        taps = true
        [[port]]
        name = 'a'
        device = 'net_null0'
        addresses = ['10.0.1.1/24']
        [[port]]
        name = 'b'
        device = 'net_null1'
        addresses = ['10.0.2.1/24']
        [[port]]
        name = 'c'
        device = 'net_null2'
        addresses = ['10.0.3.1/24']
        tap = false
    ";

    fn port(number: usize) -> PortId {
        PortId::from_number(number).unwrap()
    }

    fn nets(texts: &[&str]) -> Vec<IpNet> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    /// The addresses of port `number` that frames are forwarded by, without the link-local one.
    fn connected(tables: &Tables, number: usize) -> Vec<String> {
        let of_port = tables.routes.interfaces().filter(|it| it.port == port(number));
        let nets = of_port.map(|it| it.net.to_string()).filter(|net| !net.starts_with("fe80"));
        nets.collect()
    }

    #[test]
    fn what_the_kernel_has_is_the_ports_and_nothing_else() {
        let config = SwitchConfig::parse(Path::new("A.toml"), SWITCH).unwrap();
        let mut tables = Tables::new(config).unwrap();
        let mut host = HostAddresses::default();
        host.by_port.insert(port(1), nets(&["10.0.1.1/24", "10.9.0.1/24"]));
        host.by_port.insert(port(2), nets(&["10.0.2.1/24"]));
        assert!(tables.set_host_addresses(&host));
        assert!(!tables.set_host_addresses(&host), "nothing changes");
        assert_eq!(connected(&tables, 1), ["10.0.1.1/24", "10.9.0.1/24"]);
        assert_eq!(tables.interfaces()[0].addresses, nets(&["10.0.1.1/24", "10.9.0.1/24"]));

        // Another port's network, though it comes first; the router's own address; one that is on
        // two ports.
        host.by_port.insert(port(1), nets(&["10.0.2.77/24", "10.0.3.9/24", "10.9.0.1/24"]));
        host.by_port.insert(port(2), nets(&["10.0.2.1/24", "10.9.0.1/32", "fe80::9/64"]));
        host.loopback = nets(&["10.255.0.1/32"]);
        assert!(tables.set_host_addresses(&host));
        assert_eq!(connected(&tables, 1), ["10.9.0.1/24", "10.255.0.1/32"]);
        assert_eq!(connected(&tables, 2), ["10.0.2.1/24", "10.9.0.1/32"]);
        assert_eq!(connected(&tables, 3), ["10.0.3.1/24"], "it has no TAP");
        assert!(tables.routes.is_ours("fe80::9".parse().unwrap()));

        host.by_port.insert(port(1), Vec::new());
        assert!(tables.set_host_addresses(&host));
        assert_eq!(connected(&tables, 1), ["10.255.0.1/32"]);
        let own = IpAddr::V6(tables.interfaces()[0].link_local());
        assert!(tables.routes.is_ours(own), "the link-local address stays");
    }
}
