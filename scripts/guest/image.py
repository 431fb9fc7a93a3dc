"""What the guest boots: Debian's kernel, and an initramfs of busybox and the modules it needs.

The guest's /usr is this machine's, read-only over 9p, so the switch finds the DPDK that it was
built against. Nothing else of this machine is in the guest but the folder of its run.
"""

import pathlib
import shutil
import subprocess

from common.lab import Failed, Lab

# In an order that every module finds what it needs.
MODULES = [
    "virtio_ring", "virtio", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci",
    "netfs", "fscache", "9pnet", "9pnet_virtio", "9p",
    "irqbypass", "vfio", "vfio_virqfd", "vfio_iommu_type1", "vfio-pci-core", "vfio-pci",
    "uio", "uio_pci_generic",
]

# One line of the second serial port is the number of a command, which is a file of the shared folder,
# as is what it writes: a busy guest loses bytes of long lines. The answer is the number and the status.
INIT = """#!/bin/busybox sh
export PATH=/bin HOME=/run
busybox mkdir -p /proc /sys /dev /usr /share /run /var/run /tmp
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
for module in $(cat /modules/order); do insmod /modules/$module.ko; done
options=trans=virtio,version=9p2000.L,msize=262144
mount -t 9p -o $options,ro,cache=loose usr /usr
mount -t 9p -o $options,cache=none share /share
mkdir -p /dev/hugepages /dev/pts
mount -t hugetlbfs huge /dev/hugepages
for folder in lib lib64; do ln -s usr/$folder /$folder; done
stty -F /dev/ttyS1 raw -echo
exec 3<>/dev/ttyS1
echo ready >&3
while read -r number <&3; do
  sh /share/$number.sh >/share/$number.out 2>/share/$number.err </dev/null
  echo "$number $?" >&3
done
"""


class Image:
    """The kernel and the initramfs, as files of `folder`, which later runs use again.

    `modules` are in an order that each finds what it needs; `files` of this machine are copied to
    the same place.
    """

    def __init__(self, lab: Lab, folder: pathlib.Path, modules: list = MODULES, files: tuple = ()):
        self.folder, self.order, self.files = folder, modules, files
        self.kernel, self.initramfs = folder / "vmlinuz", folder / "initramfs"
        modules = folder / "modules"
        if not (folder / ".complete").exists():
            shutil.rmtree(folder, ignore_errors=True)
            modules.mkdir(parents=True)
            print("guest: getting Debian's kernel", flush=True)
            self.unpack(lab, modules)
            (folder / ".complete").touch()
        self.pack(lab, modules)

    def unpack(self, lab: Lab, modules: pathlib.Path):
        """Takes the kernel and the modules from the newest package; nothing is installed."""
        depends = lab.run(["apt-cache", "depends", "linux-image-amd64"])
        packages = [line.split()[1] for line in depends.splitlines() if "Depends:" in line]
        if not packages:
            raise Failed("apt knows no linux-image-amd64; `apt-get update` reads its lists")
        root = self.folder / "root"
        root.mkdir()
        self.sh(f"cd '{root}' && apt-get download -qq {packages[0]}", 300)
        files = "./boot/vmlinuz-* " + " ".join(f"'*/{name}.ko'" for name in self.order)
        unpack = f"tar -x --wildcards {files}"
        self.sh(f"cd '{root}' && dpkg-deb --fsys-tarfile *.deb | {unpack}", 120)
        for file in root.glob("lib/modules/**/*.ko"):
            shutil.copy(file, modules)
        shutil.copy(next(root.glob("boot/vmlinuz-*")), self.kernel)
        shutil.rmtree(root)

    def pack(self, lab: Lab, modules: pathlib.Path):
        """Makes the initramfs: a second's work, so it is always of this script."""
        root = lab.folder / "initramfs"
        (root / "bin").mkdir(parents=True)
        shutil.copytree(modules, root / "modules")
        (root / "modules" / "order").write_text("\n".join(self.order) + "\n")
        shutil.copy("/bin/busybox", root / "bin")
        tools = ["sh", "mount", "cat", "insmod", "mkdir", "ln", "stty", "echo", "sleep", "kill"]
        for tool in tools + ["ls", "pidof", "rm"]:
            (root / "bin" / tool).symlink_to("busybox")
        for file in self.files:
            copy = root / pathlib.Path(file).relative_to("/")
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, copy)
        (root / "init").write_text(INIT)
        (root / "init").chmod(0o755)
        list_all = "find . | busybox cpio -o -H newc 2>/dev/null"
        self.sh(f"cd '{root}' && {list_all} | gzip -1 >'{self.initramfs}'", 60)

    @staticmethod
    def sh(command: str, patience: float):
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            capture_output=True, text=True, timeout=patience, check=False,
        )
        if done.returncode != 0:
            raise Failed(f"{command}: {done.stderr.strip()}")
