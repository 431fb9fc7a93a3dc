//! Why DPDK has no port for a PCI device, from sysfs, since DPDK reports little or nothing.

use super::device_args::PciAddress;
use std::fs;
use std::path::{Path, PathBuf};

/// What is wrong with a device, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Diagnosis {
    pub(super) cause: String,
    pub(super) advice: String,
}

/// Kernel drivers that give a device to a process. Others keep it, but for those that DPDK works
/// beside ([`BESIDE_KERNEL`]).
const USERSPACE_DRIVERS: [&str; 4] = ["vfio-pci", "uio_pci_generic", "igb_uio", "uio_hv_generic"];
/// Kernel drivers that DPDK's driver works beside.
const BESIDE_KERNEL: [&str; 4] = ["mlx5_core", "mlx4_core", "mana", "nfb"];
/// PCI base class of network controllers.
const CLASS_NETWORK: &str = "0x02";

/// Devices whose driver fills a second ring of as many buffers as it has receive descriptors, for
/// the later pieces of long frames: vmxnet3.
const HAVE_SECOND_RING: [(&str, &str); 1] = [("0x15ad", "0x07b0")];

/// A device's entry in sysfs.
pub(super) struct Entry(PathBuf);

impl Entry {
    pub(super) fn new(sys: &Path, address: PciAddress) -> Self {
        Self(sys.join("bus/pci/devices").join(address.to_string()))
    }

    /// What keeps DPDK, whose memory is plain or of hugepages, from this device.
    pub(super) fn diagnose(&self, memory_is_plain: bool) -> Diagnosis {
        let diagnosis = |cause: String, advice: &str| Diagnosis {
            cause,
            advice: advice.replace("ADDRESS", &self.name()),
        };
        if !self.0.is_dir() {
            return diagnosis(
                "there is no PCI device at this address".to_owned(),
                "`dpdk-devbind.py --status` shows those that there are",
            );
        }
        let class = self.text("class");
        if !class.starts_with(CLASS_NETWORK) {
            return diagnosis(
                format!("it is no network controller (class {class})"),
                "`dpdk-devbind.py --status` shows the NICs",
            );
        }
        let Some(driver) = self.target("driver") else {
            return diagnosis(
                "no driver is bound to it".to_owned(),
                "bind one: `dpdk-devbind.py --bind=vfio-pci ADDRESS`",
            );
        };
        if !USERSPACE_DRIVERS.contains(&&*driver) && !BESIDE_KERNEL.contains(&&*driver) {
            let used = self.interfaces().map(|it| format!(" as {it}")).unwrap_or_default();
            return diagnosis(
                format!("the kernel's driver {driver} has it{used}"),
                "take it from the kernel: `dpdk-devbind.py --bind=vfio-pci ADDRESS`",
            );
        }
        if driver == "vfio-pci" && self.target("iommu_group").is_none() {
            return diagnosis(
                "vfio-pci has no IOMMU for it".to_owned(),
                "boot with intel_iommu=on or amd_iommu=on, or allow vfio without one: `echo 1 \
                 >/sys/module/vfio/parameters/enable_unsafe_noiommu_mode`, then bind it again",
            );
        }
        if driver.contains("uio") && memory_is_plain {
            return diagnosis(
                format!(
                    "{driver} needs memory whose physical address is fixed, and there are no hugepages"
                ),
                "set [memory] hugepages to \"always\" and vm.nr_hugepages to enough, or bind it to \
                 vfio-pci, which needs an IOMMU",
            );
        }
        let (vendor, device) = (self.text("vendor"), self.text("device"));
        diagnosis(
            format!(
                "bound to {driver}, but DPDK cannot drive it (vendor {vendor}, device {device})"
            ),
            "stop whatever else uses it, and see that the package with its driver is installed \
             (librte-net-...)",
        )
    }

    /// Buffers that its driver takes for each receive descriptor.
    pub(super) fn buffers_per_descriptor(&self) -> u32 {
        let (vendor, device) = (self.text("vendor"), self.text("device"));
        if HAVE_SECOND_RING.contains(&(&*vendor, &*device)) { 2 } else { 1 }
    }

    fn name(&self) -> String {
        self.0.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default()
    }

    fn text(&self, file: &str) -> String {
        let text = fs::read_to_string(self.0.join(file)).unwrap_or_default();
        text.trim().escape_debug().to_string()
    }

    /// The last part of what a link points to.
    fn target(&self, link: &str) -> Option<String> {
        let target = fs::read_link(self.0.join(link)).ok()?;
        Some(target.file_name()?.to_string_lossy().into_owned())
    }

    /// The kernel's interfaces on it.
    fn interfaces(&self) -> Option<String> {
        let entries = fs::read_dir(self.0.join("net")).ok()?.flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        (!names.is_empty()).then(|| names.join(", "))
    }
}

/// Buffers that the driver of the NIC at `address` takes for each receive descriptor, as far as is
/// known before DPDK is started.
pub(crate) fn buffers_per_descriptor(address: PciAddress) -> u32 {
    Entry::new(Path::new("/sys"), address).buffers_per_descriptor()
}

/// Of what DPDK logged, what is about this device or about what devices need.
pub(super) fn lines_about(log: &[String], address: PciAddress) -> String {
    let address = address.to_string();
    let is_about = |line: &&String| {
        let about_others = line
            .split([' ', ','])
            .any(|word| word.parse::<PciAddress>().is_ok_and(|other| other.to_string() != address));
        let words = ["vfio", "VFIO", "IOMMU", "iommu", "uio", "UIO", "IOVA"];
        line.contains(&address) || (!about_others && words.iter().any(|it| line.contains(it)))
    };
    let mut lines: Vec<&str> = log.iter().filter(is_about).map(String::as_str).collect();
    lines.dedup();
    lines.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    const ADDRESS: &str = "0000:00:04.0";

    /// A folder like sysfs with one device of `class`, bound to `driver`.
    fn sysfs(class: &str, driver: Option<&str>, group: Option<&str>) -> tempfile::TempDir {
        let sys = tempfile::tempdir().unwrap();
        let entry = sys.path().join("bus/pci/devices").join(ADDRESS);
        fs::create_dir_all(&entry).unwrap();
        for (file, text) in [("class", class), ("vendor", "0x15ad\n"), ("device", "0x07b0\n")] {
            fs::write(entry.join(file), text).unwrap();
        }
        if let Some(driver) = driver {
            symlink(format!("../../drivers/{driver}"), entry.join("driver")).unwrap();
        }
        if let Some(group) = group {
            symlink(format!("../../kernel/iommu_groups/{group}"), entry.join("iommu_group"))
                .unwrap();
        }
        sys
    }

    fn diagnose(sys: &tempfile::TempDir, memory_is_plain: bool) -> (String, String) {
        let entry = Entry::new(sys.path(), ADDRESS.parse().unwrap());
        let Diagnosis { cause, advice } = entry.diagnose(memory_is_plain);
        (cause, advice)
    }

    #[test]
    fn each_cause_has_its_advice() {
        let nic = "0x020000\n";
        let bind = "dpdk-devbind.py --bind=vfio-pci 0000:00:04.0";
        for (sys, plain, cause, advice) in [
            (tempfile::tempdir().unwrap(), false, "no PCI device at this address", "--status"),
            (
                sysfs("0x030000\n", None, None),
                false,
                "no network controller (class 0x030000)",
                "NICs",
            ),
            (sysfs(nic, None, None), false, "no driver is bound", bind),
            (sysfs(nic, Some("e1000e"), None), false, "the kernel's driver e1000e has it", bind),
            (sysfs(nic, Some("vfio-pci"), None), false, "has no IOMMU", "intel_iommu=on"),
            (
                sysfs(nic, Some("uio_pci_generic"), None),
                true,
                "no hugepages",
                "hugepages to \"always\"",
            ),
            (
                sysfs(nic, Some("uio_pci_generic"), None),
                false,
                "vendor 0x15ad, device 0x07b0",
                "librte-net",
            ),
            (
                sysfs(nic, Some("vfio-pci"), Some("7")),
                true,
                "vendor 0x15ad, device 0x07b0",
                "librte-net",
            ),
            (sysfs(nic, Some("mlx5_core"), None), false, "bound to mlx5_core", "librte-net"),
        ] {
            let found = diagnose(&sys, plain);
            assert!(found.0.contains(cause), "{found:?}: {cause}");
            assert!(found.1.contains(advice), "{found:?}: {advice}");
        }
    }

    #[test]
    fn the_kernels_interface_is_named() {
        let sys = sysfs("0x020000\n", Some("virtio-pci"), None);
        for name in ["eth1", "eth0"] {
            let entry = sys.path().join("bus/pci/devices").join(ADDRESS);
            fs::create_dir_all(entry.join("net").join(name)).unwrap();
        }
        assert_eq!(diagnose(&sys, false).0, "the kernel's driver virtio-pci has it as eth0, eth1");
    }

    #[test]
    fn a_second_ring_takes_as_many_buffers_again() {
        let sys = sysfs("0x020000\n", None, None);
        let entry = |address: &str| Entry::new(sys.path(), address.parse().unwrap());
        assert_eq!(entry(ADDRESS).buffers_per_descriptor(), 2);
        assert_eq!(entry("0000:00:05.0").buffers_per_descriptor(), 1);
    }

    #[test]
    fn lines_about_other_devices_are_left_out() {
        let log = [
            "EAL: Requested device 0000:00:04.0 cannot be used",
            "EAL: Requested device 0000:00:05.0 cannot be used",
            "EAL:   0000:00:05.0 VFIO group is not viable! Not all devices are bound",
            "EAL: Cannot open /dev/vfio/noiommu-0: Operation not permitted",
            "EAL: something else",
        ];
        let log = log.map(str::to_owned);
        assert_eq!(
            lines_about(&log, ADDRESS.parse().unwrap()),
            "EAL: Requested device 0000:00:04.0 cannot be used; EAL: Cannot open \
             /dev/vfio/noiommu-0: Operation not permitted"
        );
    }
}
