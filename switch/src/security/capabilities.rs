//! Which capabilities a switch needs while it runs.

use super::capability_set::CapabilitySet;
use super::each_thread;
use config::SwitchConfig;
use config::switch::Device;
use std::fs::File;
use std::path::Path;

impl CapabilitySet {
    /// What the switch of `config` needs once its ports are open.
    pub(super) fn needed_by(config: &SwitchConfig) -> Self {
        let of_ports = config.ports.iter().map(|port| Self::needed_by_device(&port.device));
        let files =
            [Some(config.file()), config.rules_file.as_deref(), config.routes_file.as_deref()];
        let files: Vec<&Path> = files.into_iter().flatten().collect();
        of_ports.fold(Self::needed_to_read(&files), Self::with)
    }

    /// What an open port needs until it is closed. A NIC needs nothing: its registers are mapped.
    fn needed_by_device(device: &Device) -> Self {
        let Device::Virtual(text) = device else { return Self::default() };
        let driver = text.split(|c: char| c == ',' || c.is_ascii_digit()).next();
        match driver {
            Some("net_tap" | "net_tun" | "net_af_packet" | "eth_af_packet") => Self::NET_ADMIN,
            Some("net_af_xdp") => Self::NET_ADMIN.with(Self::BPF),
            _ => Self::default(),
        }
    }

    /// What the process needs to read `files` again at a reload: nothing, unless they are in a
    /// folder of another user that only root's capabilities open.
    fn needed_to_read(files: &[&Path]) -> Self {
        let Ok(before) = each_thread::effective() else { return Self::default() };
        let passing = Self::DAC_OVERRIDE.with(Self::DAC_READ_SEARCH);
        if each_thread::set_effective(before.without(passing)).is_err() {
            return Self::default();
        }
        let is_closed = files.iter().any(|file| File::open(file).is_err());
        // They are permitted still, so they can be effective again.
        let _as_before = each_thread::set_effective(before);
        if is_closed { Self::DAC_READ_SEARCH } else { Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ports_of_the_kernel_need_capabilities_once_they_are_open() {
        let of = |text: &str| CapabilitySet::needed_by_device(&Device::Virtual(text.to_owned()));
        assert_eq!(of("net_tap0,iface=kt1"), CapabilitySet::NET_ADMIN);
        assert_eq!(of("net_af_packet12,iface=v1"), CapabilitySet::NET_ADMIN);
        assert_eq!(of("net_af_xdp0,iface=v1").0, (1 << 12) | (1 << 39));
        for device in ["net_null0", "net_pcap0,rx_pcap=net_tap0", "net_memif1,role=server", ""] {
            assert_eq!(of(device), CapabilitySet::default(), "{device}");
        }
        let nic = Device::Pci("0000:01:00.0".to_owned());
        assert_eq!(CapabilitySet::needed_by_device(&nic), CapabilitySet::default());
    }
}
