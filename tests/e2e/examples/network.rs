//! A shipped example as it runs: the switch of its file, and a host at each of its ports.

use crate::host::Host;
use crate::lab::knotless;
use crate::namespace::Namespace;
use crate::switch::Switch;
use config::SwitchConfig;
use config::switch::{Device, DeviceKind, PortConfig};
use dataplane::snapshot::PortMode;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use tests::tree;

/// The switch of an example, and its hosts in the order of the ports.
pub(super) struct Network {
    /// Goes first: its ports are the hosts' interfaces.
    pub(super) switch: Switch,
    pub(super) config: SwitchConfig,
    pub(super) hosts: Vec<Host>,
    _namespace: Namespace,
    _directory: TempDir,
}

/// The shipped examples, in the order of their names.
pub(super) fn files() -> Vec<PathBuf> {
    let directory = tree::root().join("config/examples");
    let entries = directory.read_dir().expect("the examples are part of the tree");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a readable directory").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    files.sort();
    files
}

pub(super) fn load(file: &Path) -> SwitchConfig {
    SwitchConfig::load(file).unwrap_or_else(|error| panic!("{error}"))
}

/// Why `config` cannot run between hosts here; `None` if it can.
pub(super) fn obstacle(config: &SwitchConfig) -> Option<&'static str> {
    if config.settings.ports.iter().all(|port| port.lossless_bits() == 0) {
        return Some("has no lossless priority");
    }
    config.ports.iter().find_map(|port| match port.device.kind() {
        DeviceKind::Tap | DeviceKind::KernelInterface => None,
        DeviceKind::Nic => Some("needs NICs"),
        DeviceKind::File => Some("reads frames from files, which obey no pause"),
        DeviceKind::Polled => Some("needs processes at the other ends of its devices"),
    })
}

/// The interface that a port's device names.
fn interface(port: &PortConfig) -> &str {
    let Device::Virtual(text) = &port.device else { panic!("{:?} has no interface", port.device) };
    let arguments = text.split(',').find_map(|argument| argument.strip_prefix("iface="));
    arguments.unwrap_or_else(|| panic!("{text} names no interface"))
}

/// The address of the host at port `number`, with the length of its network's prefix, and of the
/// switch there, if it has one.
fn address(port: &PortConfig, number: usize) -> (IpAddr, u8, Option<IpAddr>) {
    let Some(net) = port.addresses.iter().find(|net| net.addr().is_ipv4()) else {
        return ([10, 7, 0, u8::try_from(number).expect("few ports")].into(), 24, None);
    };
    let own = net.addr();
    let other = net.hosts().find(|&host| host != own).expect("a network has two hosts");
    (other, net.prefix_len(), Some(own))
}

impl Network {
    /// Runs `file` as it is shipped.
    pub(super) fn start(file: &Path) -> Self {
        let config = load(file);
        let directory = tempfile::tempdir().expect("there is room");
        let namespace = Namespace::new();
        namespace.ipv4_only();
        let host = |port: &PortConfig| {
            let interface = interface(port);
            let host = match port.device.kind() {
                DeviceKind::KernelInterface => {
                    let host =
                        Host::new(&format!("{interface}-host"), directory.path(), knotless());
                    namespace.ip(&format!("link add {interface} type veth peer name {}", host.dev));
                    namespace.ip(&format!("link set {interface} up"));
                    host
                }
                _ => Host::new(interface, directory.path(), knotless()),
            };
            host.namespace.ipv4_only();
            host
        };
        let hosts: Vec<Host> = config.ports.iter().map(host).collect();
        let switch =
            Switch::start_file(knotless(), &namespace, directory.path(), file, &config.socket);
        for ((port, host), number) in config.ports.iter().zip(&hosts).zip(1..) {
            namespace.hand_over(&host.dev, &host.namespace);
            let (address, length, gateway) = address(port, number);
            host.bring_up(&[&format!("{address}/{length}")]);
            if let Some(gateway) = gateway {
                host.route_by(&gateway.to_string());
            }
        }
        switch.await_links();
        switch.await_gateways();
        Self { switch, config, hosts, _namespace: namespace, _directory: directory }
    }

    pub(super) fn address(&self, port: usize) -> IpAddr {
        address(&self.config.ports[port], port + 1).0
    }

    /// The MAC address of the host at `port`.
    fn mac(&self, port: usize) -> String {
        let host = &self.hosts[port];
        let said = host.run("ip", &format!("-oneline link show dev {}", host.dev)).success();
        let mut words = said.split_whitespace().skip_while(|word| *word != "link/ether");
        words.nth(1).expect("an Ethernet address").to_owned()
    }

    /// The keys of a flow by which its frames find the host at `to` from `from`, before anything
    /// is counted: neighbors are resolved, or addresses learned.
    pub(super) fn path(&self, from: usize, to: usize) -> String {
        let address = self.address(to);
        let PortMode::Bridged(_) = &self.config.ports[to].mode else {
            self.hosts[from].ping(&address.to_string());
            return format!("dst-ip={address}");
        };
        let vlan = self.vlan(from, to).expect("hosts of one VLAN");
        // To a station that nobody is: it is flooded, and its sender known from then on.
        let hello = self.bridged(to, vlan, from, "02:00:00:00:00:99");
        self.hosts[to].send(&format!("--flow {hello},dscp=0,count=1")).report();
        self.bridged(from, vlan, to, &self.mac(to))
    }

    fn bridged(&self, from: usize, vlan: u16, to: usize, mac: &str) -> String {
        let PortMode::Bridged(port) = &self.config.ports[from].mode else {
            panic!("port {} is routed", from + 1)
        };
        let tag = match port.admit(None) {
            Some(native) if native.value() == vlan => String::new(),
            _ => format!(",vlan={vlan}"),
        };
        let (source, destination) = (self.address(from), self.address(to));
        format!("src-ip={source},dst-ip={destination},dst-mac={mac}{tag}")
    }

    /// A VLAN that both ports are in.
    fn vlan(&self, one: usize, other: usize) -> Option<u16> {
        let modes = [one, other].map(|port| &self.config.ports[port].mode);
        let [PortMode::Bridged(one), PortMode::Bridged(other)] = modes else { return None };
        dataplane::l2::Vid::all()
            .find(|&vid| one.is_member(vid) && other.is_member(vid))
            .map(|vid| vid.value())
    }

    /// Whether frames of the host at `from` can come to the one at `to`.
    pub(super) fn is_path(&self, from: usize, to: usize) -> bool {
        let is_routed =
            |port: usize| matches!(self.config.ports[port].mode, PortMode::Routed { .. });
        is_routed(from) && is_routed(to) || self.vlan(from, to).is_some()
    }
}
