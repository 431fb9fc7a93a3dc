//! The addresses of the TAPs and of the loopback, as the kernel has them.

use super::interface_indexes::InterfaceIndexes;
use super::rtnetlink::InterfaceAddress;
use dataplane::ids::PortId;
use ipnet::IpNet;
use std::collections::BTreeMap;

/// The loopback has this number in every network namespace (`LOOPBACK_IFINDEX`).
const LOOPBACK_INDEX: u32 = 1;

/// What the switch is addressed by, as far as the kernel knows. In order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HostAddresses {
    /// By port with a TAP.
    pub(crate) by_port: BTreeMap<PortId, Vec<IpNet>>,
    /// Of the loopback, without those that no other machine can use: the router's own.
    pub(crate) loopback: Vec<IpNet>,
}

impl HostAddresses {
    /// Of all addresses those of the TAPs and of the loopback.
    pub(super) fn of(all: &[InterfaceAddress], indexes: &InterfaceIndexes) -> Self {
        let mut addresses = Self::default();
        for port in indexes.ports() {
            addresses.by_port.insert(port, Vec::new());
        }
        for &InterfaceAddress { index, net } in all {
            if index == LOOPBACK_INDEX && !net.addr().is_loopback() {
                addresses.loopback.push(net);
            } else if let Some(port) = indexes.port_of(index) {
                addresses.by_port.entry(port).or_default().push(net);
            }
        }
        addresses.by_port.values_mut().for_each(|list| list.sort_unstable());
        addresses.loopback.sort_unstable();
        addresses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_taps_and_the_loopback_count() {
        let second = PortId::from_number(2).unwrap();
        let indexes = [(5, PortId::FIRST), (6, second)].into_iter().collect();
        let address = |index, net: &str| InterfaceAddress { index, net: net.parse().unwrap() };
        let all = [
            address(1, "127.0.0.1/8"),
            address(1, "::1/128"),
            address(1, "10.255.0.1/32"),
            address(2, "192.0.2.7/24"),
            address(5, "fe80::1/64"),
            address(5, "10.0.0.1/31"),
        ];
        let found = HostAddresses::of(&all, &indexes);
        let nets = |texts: &[&str]| -> Vec<IpNet> {
            texts.iter().map(|text| text.parse().unwrap()).collect()
        };
        assert_eq!(found.loopback, nets(&["10.255.0.1/32"]));
        let expected =
            [(PortId::FIRST, nets(&["10.0.0.1/31", "fe80::1/64"])), (second, Vec::new())];
        assert_eq!(found.by_port, expected.into());
    }
}
