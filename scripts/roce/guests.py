"""Guests whose kernel is a RoCE endpoint: Debian's, with rdma_rxe."""

import pathlib
import time

from common.lab import Failed, Lab
from image import Image
from machine import Guest

# In an order that every module finds what it needs.
MODULES = [
    "virtio_ring", "virtio", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci",
    "failover", "net_failover", "virtio_net",
    "netfs", "fscache", "9pnet", "9pnet_virtio", "9p",
    "udp_tunnel", "ip6_udp_tunnel", "configfs",
    # rdma_rxe asks for crc32 by name.
    "crc32_generic", "ib_core", "ib_uverbs", "ib_cm", "iw_cm", "rdma_cm", "rdma_ucm", "rdma_rxe",
]
# Names the driver of rdma_rxe to libibverbs.
FILES = ("/etc/libibverbs.d/rxe.driver",)
MEMORY_MB = 512
# A program is read over 9p the first time.
ANSWER_S = 120
# Nothing may make a frame of several, or leave its checksums to a NIC that is none.
OFFLOADS = "csum,gso,guest_csum,guest_tso4,guest_tso6,guest_ecn,guest_ufo,host_tso4,host_tso6,host_ecn,host_ufo"
COUNTERS = "/sys/class/infiniband/rxe0/ports/1/hw_counters"


def image(lab: Lab, folder: pathlib.Path) -> Image:
    return Image(lab, folder, MODULES, FILES)


class RoceGuest(Guest):
    """Guest number n: 10.1.n.2 behind the tap `kr<n>` of a namespace, and rxe0 on it."""

    def __init__(self, lab: Lab, image: Image, where: str, number: int):
        self.net, self.address = number, f"10.1.{number}.2"
        off = ",".join(f"{name}=off" for name in OFFLOADS.split(","))
        arguments = [
            "-machine", "pc", "-smp", "1", "-m", str(MEMORY_MB),
            "-append", "console=ttyS0 quiet panic=-1 no_timer_check nokaslr",
            "-netdev", f"tap,id=tap,ifname=kr{number},script=no,downscript=no",
            "-device", f"virtio-net-pci,netdev=tap,romfile=,mac=52:54:00:00:01:0{number},{off}",
        ]
        super().__init__(lab, image, lab.folder / f"guest{number}", where, arguments)
        lab.ip(where, f"link set kr{number} up")

    def configure(self):
        """Its address, its routes, and the endpoint."""
        self.boot()
        for command in (
            "/usr/bin/ip link set lo up",
            "/usr/bin/ip link set eth0 up",
            f"/usr/bin/ip addr add {self.address}/24 dev eth0",
            f"/usr/bin/ip addr add fd00:1:{self.net}::2/64 dev eth0 nodad",
            f"/usr/bin/ip route add default via 10.1.{self.net}.1",
            f"/usr/bin/ip route add default via fd00:1:{self.net}::1",
            "/usr/bin/rdma link add rxe0 type rxe netdev eth0",
        ):
            self.sh(command, ANSWER_S)

    def counters(self) -> dict:
        """What rdma_rxe has counted."""
        said = self.sh(f"cd {COUNTERS} && for file in *; do echo $file $(cat $file); done")
        return {name: int(value) for name, value in map(str.split, said.splitlines())}

    def background(self, name: str, command: str):
        """Starts a command that goes on; what it says is in files of the shared folder."""
        self.sh(f"rm -f /share/{name}.status; "
                f"({command} >/share/{name}.txt 2>&1; echo $? >/share/{name}.status) & :")

    def end_programs(self):
        """Ends what a check that failed has left running."""
        names = "ib_send_bw ib_write_bw ib_read_bw ib_atomic_bw ib_send_lat ib_write_lat " \
            "ib_read_lat ib_atomic_lat rping"
        self.sh(f"for id in $(pidof {names}); do kill -9 $id; done; :")

    def said(self, name: str) -> str:
        file = self.share / f"{name}.txt"
        return file.read_text(errors="replace") if file.exists() else ""

    def status(self, name: str) -> int | None:
        """How it ended, if it has."""
        file = self.share / f"{name}.status"
        text = file.read_text().strip() if file.exists() else ""
        return int(text) if text else None

    def expect_end(self, name: str, patience: float):
        """Waits for its end, which must be a good one."""
        deadline = time.monotonic() + patience
        while self.status(name) is None:
            if time.monotonic() > deadline:
                raise Failed(f"{name} goes on and on in guest {self.net}: {self.said(name)}")
            time.sleep(0.1)
        if self.status(name) != 0:
            raise Failed(f"{name} ended with {self.status(name)} in guest {self.net}: {self.said(name)}")
