//! Whether a port routes or switches: its addresses or its VLANs.

use super::port_draft::{PortDraft, PortReader, span};
use super::schema::PortTable;
use crate::error::ConfigError;
use crate::fields::VidRange;
use crate::source::Source;
use dataplane::l2::{Vid, VidSet, VlanPort};
use dataplane::snapshot::PortMode;
use ipnet::IpNet;
use std::net::{IpAddr, Ipv4Addr};
use toml::Spanned;

impl PortReader<'_> {
    pub(super) fn mode(&self, table: &PortTable) -> Result<PortMode, ConfigError> {
        let vlan = table.vlan.as_ref().map(|field| field.get_ref().0);
        if !table.addresses.is_empty() {
            if let Some(span) = span(&table.vlans).or_else(|| span(&table.native)) {
                return self.wrong(
                    span,
                    "a port with `addresses` routes and has one VLAN at most; use `vlan`, or take the \
                     addresses out to switch",
                );
            }
            return Ok(PortMode::Routed { vlan });
        }
        match (&table.vlan, &table.vlans) {
            (Some(field), Some(_)) => self.wrong(
                field.span(),
                "use `vlan` for an access port, or `vlans` and `native` for a trunk",
            ),
            (Some(_), None) => match span(&table.native) {
                Some(span) => self.wrong(span, "`native` belongs to a trunk; give it `vlans`"),
                None => Ok(PortMode::Bridged(Box::new(VlanPort {
                    native: vlan,
                    tagged: VidSet::EMPTY,
                }))),
            },
            (None, Some(field)) => {
                let native = table.native.as_ref().map(|field| field.get_ref().0);
                let tagged = trunk(field.get_ref(), native);
                if tagged == VidSet::EMPTY && native.is_none() {
                    return self
                        .wrong(field.span(), "a trunk needs VLANs, such as [10, \"100-199\"]");
                }
                Ok(PortMode::Bridged(Box::new(VlanPort { native, tagged })))
            }
            // Its addresses are those of its TAP, or it has none but the link-local one.
            (None, None) if self.has_tap(table) && table.native.is_none() => {
                Ok(PortMode::Routed { vlan })
            }
            (None, None) => self.wrong(
                span(&table.native).unwrap_or_else(|| self.span.clone()),
                "a port needs `addresses` to route, or `vlan` or `vlans` to switch",
            ),
        }
    }

    pub(super) fn addresses(&self, table: &PortTable) -> Result<Vec<IpNet>, ConfigError> {
        let mut addresses: Vec<IpNet> = Vec::new();
        for field in &table.addresses {
            let network = field.get_ref().0;
            if let Some(why) = unusable(&network) {
                return self.wrong(field.span(), format!("{network} {why}"));
            }
            if addresses.iter().any(|other| other.addr() == network.addr()) {
                return self.wrong(field.span(), format!("{} stands here twice", network.addr()));
            }
            addresses.push(network);
        }
        Ok(addresses)
    }
}

/// No two routed ports are in the same network: a route would not know which to take.
pub(super) fn check_networks(source: &Source, ports: &[PortDraft<'_>]) -> Result<(), ConfigError> {
    for (at, port) in ports.iter().enumerate() {
        for (index, network) in port.config.addresses.iter().enumerate() {
            for other in &ports[..at] {
                for taken in &other.config.addresses {
                    let overlap =
                        network.contains(&taken.network()) || taken.contains(&network.network());
                    // Link-local networks are the same on every link by nature.
                    if overlap && !is_link_local(network) {
                        let span = port.table.get_ref().addresses[index].span();
                        let message = format!(
                            "{network} overlaps {taken} of port `{}`; every routed port needs a network of \
                             its own",
                            other.name()
                        );
                        return Err(source.at(span, message));
                    }
                }
            }
        }
    }
    Ok(())
}

/// The VLANs that are tagged: those of the ranges, less the native one.
fn trunk(ranges: &[Spanned<VidRange>], native: Option<Vid>) -> VidSet {
    let mut tagged = VidSet::EMPTY;
    for range in ranges.iter().map(Spanned::get_ref) {
        let vids = (range.first.value()..=range.last.value()).filter_map(Vid::new);
        vids.for_each(|vid| tagged.insert(vid));
    }
    native.iter().for_each(|&native| tagged.remove(native));
    tagged
}

/// Why an interface cannot have this address; `None` if it can.
fn unusable(network: &IpNet) -> Option<&'static str> {
    let address = network.addr();
    let is_no_host = match address {
        // RFC 1122, 3.2.1.3: 0.0.0.0/8 is this network, before a host knows its address.
        IpAddr::V4(four) => four.octets()[0] == 0,
        // RFC 4291, 2.5.5.2: an IPv4 address in a program, never on a wire.
        IpAddr::V6(six) => six.to_ipv4_mapped().is_some(),
    };
    if is_no_host || address.is_unspecified() || address.is_loopback() || address.is_multicast() {
        return Some("is no address of a port; use a unicast one");
    }
    if address == IpAddr::V4(Ipv4Addr::BROADCAST) {
        return Some("is the broadcast address; use a unicast one");
    }
    if network.prefix_len() == 0 {
        return Some("is the whole internet; give its prefix length");
    }
    no_host_of(network, address)
}

/// Why no station of `network` can have `address`; `None` if one can. Networks of two addresses and
/// of one have neither a network nor a broadcast address (RFC 3021, RFC 6164).
pub(super) fn no_host_of(network: &IpNet, address: IpAddr) -> Option<&'static str> {
    if network.max_prefix_len() - network.prefix_len() < 2 {
        return None;
    }
    match network {
        IpNet::V4(_) if address == network.network() => {
            Some("is the network itself; use an address in it, such as the next one")
        }
        IpNet::V4(_) if address == network.broadcast() => {
            Some("is the network's broadcast address; use another in it")
        }
        // RFC 4291, 2.6.1.
        IpNet::V6(_) if address == network.network() => {
            Some("is the network's router anycast address; use another in it, such as the next one")
        }
        _ => None,
    }
}

fn is_link_local(network: &IpNet) -> bool {
    matches!(network, IpNet::V6(v6) if v6.addr().is_unicast_link_local())
}
