//! Which capabilities a switch needs while it runs.

use super::capability_set::CapabilitySet;
use super::each_thread;
use crate::replace_file::folder_of;
use config::SwitchConfig;
use config::switch::Device;
use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::unistd::{AccessFlags, faccessat};
use std::fs::File;
use std::path::{Path, PathBuf};

impl CapabilitySet {
    /// What the switch of `config` needs once its ports are open.
    pub(super) fn needed_by(config: &SwitchConfig) -> Self {
        let of_ports = config.ports.iter().map(|port| Self::needed_by_device(&port.device));
        let files =
            [Some(config.file()), config.rules_file.as_deref(), config.routes_file.as_deref()];
        let files: Vec<&Path> = files.into_iter().flatten().collect();
        let folders = [&config.socket, &config.changes_file].map(|file| folder_of(file));
        let of_files = Self::needed_for_files(&files, &folders);
        // For the addresses of the host's TAPs when the file is read again.
        let has_tap = config.ports.iter().any(|port| port.tap.is_some());
        let of_host = if has_tap { Self::NET_ADMIN } else { Self::default() };
        of_ports.fold(of_files.with(of_host), Self::with)
    }

    /// What an open port needs until it is closed. A NIC needs nothing: its registers are mapped.
    fn needed_by_device(device: &Device) -> Self {
        // By name and not by kind: DPDK has other names for some drivers.
        match device.key().trim_end_matches(|c: char| c.is_ascii_digit()) {
            "net_tap" | "net_tun" | "net_af_packet" | "eth_af_packet" => Self::NET_ADMIN,
            _ if is_xdp(device) => Self::NET_ADMIN.with(Self::BPF),
            _ => Self::default(),
        }
    }

    /// What the process needs to read `files` again at a reload, to keep changes and to remove its
    /// socket in `folders`: nothing, unless they belong to another user, and only root's
    /// capabilities open them.
    fn needed_for_files(files: &[&Path], folders: &[&Path]) -> Self {
        let Ok(before) = each_thread::effective() else { return Self::default() };
        let passing = Self::DAC_OVERRIDE.with(Self::DAC_READ_SEARCH);
        if each_thread::set_effective(before.without(passing)).is_err() {
            return Self::default();
        }
        let is_closed = files.iter().any(|file| File::open(file).is_err());
        // A folder that is not there yet is made in one that is.
        let existing =
            |folder: &&Path| folder.ancestors().find(|path| path.exists()).map(Path::to_owned);
        let is_foreign = |folder: PathBuf| !may_write(&folder);
        let is_foreign = folders.iter().filter_map(existing).any(is_foreign);
        // They are permitted still, so they can be effective again.
        let _as_before = each_thread::set_effective(before);
        match (is_foreign, is_closed) {
            (true, _) => Self::DAC_OVERRIDE,
            (false, true) => Self::DAC_READ_SEARCH,
            (false, false) => Self::default(),
        }
    }
}

/// Whether what is effective in the calling thread opens `folder` for writing.
fn may_write(folder: &Path) -> bool {
    // access(2) would go by what is permitted, with which root passes everything.
    faccessat(AT_FDCWD, folder, AccessFlags::W_OK | AccessFlags::X_OK, AtFlags::AT_EACCESS).is_ok()
}

/// Whether the device is an `AF_XDP` socket, which has a BPF program and maps.
pub(super) fn is_xdp(device: &Device) -> bool {
    device.key().starts_with("net_af_xdp")
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
