"""The switch in a guest, on NICs: virtio-net, e1000, e1000e and vmxnet3, two of a kind.

QEMU emulates the processor too (TCG), so this needs no virtualization, and takes one to four
minutes a kind. Frames are made and checked outside, at the taps that the NICs are wired to. Status
0 if all is right, 1 if anything is not, 2 if it cannot run here. Leaves no process, namespace or
tap behind; the kernel of the guest stays in target/guest.

Usage: python3 scripts/guest [KIND...]. KNOTLESS names another program than target/release's.
"""

import argparse
import pathlib
import shutil
import signal
import sys
import time

# Before there is anything to clean up, Ctrl-C just ends it.
signal.signal(signal.SIGINT, signal.SIG_DFL)
sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import checks  # noqa: E402
from common import door, show  # noqa: E402
from common.lab import Failed, Lab  # noqa: E402
from image import Image  # noqa: E402
from machine import NAMESPACE, Machine  # noqa: E402
from outside import Wire  # noqa: E402

# A kind's device of QEMU.
KINDS = {
    "virtio": "virtio-net-pci,disable-legacy=on,iommu_platform=on,ats=on",
    "e1000": "e1000",
    "e1000e": "e1000e",
    "vmxnet3": "vmxnet3",
}


def kind(lab: Lab, image: Image, name: str):
    """All checks with two NICs of a kind."""
    show.heading(name)
    started = time.monotonic()
    machine = Machine(lab, image, KINDS[name], lab.folder / name)
    try:
        shutil.copy(door.KNOTLESS, machine.share / "knotless")
        wires = [Wire(lab, NAMESPACE, number) for number in (1, 2)]
        machine.boot()
        machine.bind()
        switch = checks.Switch(machine, wires)
        step(started, "the guest has booted, the switch runs")
        for check in CHECKS:
            check(switch, *wires)
            step(started, check.__doc__.splitlines()[0])
    finally:
        machine.end()


CHECKS = [
    checks.report, checks.forwarding, checks.flow_control, checks.links, checks.counts,
    checks.removal, checks.ends,
]


def step(started: float, text: str):
    show.result(True, f"{time.monotonic() - started:5.1f} s  {text}")


def story(lab: Lab, kinds: list) -> bool:
    lab.add_quiet_namespace(NAMESPACE)
    image = Image(lab, door.ROOT / "target" / "guest")
    failed = []
    for name in kinds:
        try:
            kind(lab, image, name)
        except Failed as why:
            show.result(False, str(why))
            failed.append(name)
    return not failed


def main() -> int:
    parser = argparse.ArgumentParser(prog="guest", description=__doc__.splitlines()[0])
    parser.add_argument("kind", nargs="*", help=", ".join(KINDS))
    kinds = parser.parse_args().kind or list(KINDS)
    unknown = [name for name in kinds if name not in KINDS]
    if unknown:
        parser.error(f"no kind of NIC here: {', '.join(unknown)}; there are {', '.join(KINDS)}")
    tools = ["qemu-system-x86_64", "busybox", "dpkg-deb", "apt-get"]
    return door.run("guest", tools, lambda lab: story(lab, kinds))


if __name__ == "__main__":
    sys.exit(main())
