"""A guest under QEMU's own emulation of a processor (TCG), which every machine can do."""

import json
import pathlib
import socket
import time

from common.lab import Failed, Lab
from image import Image

NAMESPACE = "wire"
# The guest's memory, of which the pages are huge pages for the switch.
MEMORY_MB, HUGEPAGES = 1536, 200
# Where root ports put the devices behind them.
ADDRESSES = ["0000:01:00.0", "0000:02:00.0"]
# A kernel that boots on a busy core.
BOOT_S = 180
ANSWER_S = 30


class Guest:
    """A guest that runs, and takes commands: QEMU with `arguments`, in a namespace."""

    def __init__(self, lab: Lab, image: Image, folder: pathlib.Path, where: str, arguments: list):
        self.lab, self.folder, self.number = lab, folder, 0
        folder.mkdir()
        qmp, agent = folder / "qmp", folder / "agent"
        share = folder / "share"
        share.mkdir()
        command = [
            "qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
            "-accel", "tcg,thread=multi", "-cpu", "max",
            "-kernel", image.kernel, "-initrd", image.initramfs,
            "-serial", f"file:{folder}/console",
            "-chardev", f"socket,id=agent,path={agent},server=on,wait=off",
            "-serial", "chardev:agent", "-qmp", f"unix:{qmp},server=on,wait=off", *arguments,
        ]
        for tag, path, mode in [("usr", "/usr", "readonly=on"), ("share", share, "readonly=off")]:
            access = f"local,id={tag},path={path},security_model=passthrough,{mode}"
            command += ["-fsdev", access]
            command += ["-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"]
        self.share = share
        self.process = lab.start(command, where, f"qemu-{folder.name}")
        self.qmp, self.agent = Lines(), Lines()
        for lines, path in ((self.qmp, qmp), (self.agent, agent)):
            lab.wait_until(lambda: lines.connects_to(path), self.process, 20)
        self.events = []
        self.ask("qmp_capabilities")

    def boot(self):
        """Waits until the guest takes commands."""
        self.read_until("ready", BOOT_S)

    def ask(self, what: str, **arguments):
        """Asks QEMU."""
        question = {"execute": what, "arguments": arguments}
        self.qmp.write(json.dumps(question))
        deadline = time.monotonic() + ANSWER_S
        while time.monotonic() < deadline:
            answer = self.read_answer()
            if "error" in answer:
                raise Failed(f"{what}: {answer['error']}")
            if "return" in answer:
                return
        raise Failed(f"{what}: QEMU does not answer")

    def read_answer(self) -> dict:
        """What QEMU says next; nothing after a second of silence. Events are kept."""
        said = json.loads(self.qmp.readline() or "{}")
        if "event" in said:
            self.events.append((said["event"], said.get("data", {}).get("device")))
        return said

    def pull(self, device: str, patience: float):
        """Pulls a device out of its port: the guest is asked, and must let it go."""
        self.ask("device_del", id=device)
        deadline = time.monotonic() + patience
        while ("DEVICE_DELETED", device) not in self.events:
            if time.monotonic() > deadline:
                raise Failed(f"the guest does not let {device} go within {patience:.0f} s")
            self.read_answer()

    def sh(self, command: str, patience: float = ANSWER_S) -> str:
        """Has the guest's shell do `command`, which must end well; what it said."""
        self.number += 1
        (self.share / f"{self.number}.sh").write_text(command + "\n")
        self.agent.write(str(self.number))
        answer = self.read_until(f"{self.number} ", patience)
        said = [(self.share / f"{self.number}.{end}").read_text() for end in ("out", "err")]
        if answer.split()[1] != "0":
            raise Failed(f"in the guest: {command}: {''.join(said).strip()}")
        return said[0]

    def read_until(self, start: str, patience: float) -> str:
        """The next line of the agent that begins with `start`."""
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            line = self.agent.readline()
            if line.startswith(start):
                return line
            if not line and self.process.poll() is not None:
                break
        console = (self.folder / "console").read_text(errors="replace").splitlines()[-5:]
        said = self.process.err.read_text().strip()
        raise Failed(f"the guest does not answer: {said} {' | '.join(console)}")

    def end(self):
        """Ends QEMU by its id."""
        self.process.kill()
        self.process.wait()


class Machine(Guest):
    """One guest with two NICs of a kind, each behind a port of its own, so that it can be pulled;
    their other ends are the taps `kg1` and `kg2` of a namespace."""

    def __init__(self, lab: Lab, image: Image, nic: str, folder: pathlib.Path):
        console = ["console=ttyS0", "quiet", "panic=-1", "intel_iommu=on", "no_timer_check", "nokaslr"]
        arguments = [
            "-machine", "q35", "-smp", "2", "-m", str(MEMORY_MB),
            "-device", "intel-iommu,intremap=on,caching-mode=on,device-iotlb=on",
            "-append", " ".join([*console, f"hugepages={HUGEPAGES}"]),
        ]
        for number in (1, 2):
            tap = f"tap,id=tap{number},ifname=kg{number},script=no,downscript=no"
            port = f"pcie-root-port,id=slot{number},chassis={number}"
            wired = f"{nic},id=nic{number},bus=slot{number},netdev=tap{number},romfile="
            arguments += ["-netdev", tap, "-device", port]
            arguments += ["-device", f"{wired},mac=52:54:00:00:00:0{number}"]
        super().__init__(lab, image, folder, NAMESPACE, arguments)
        lab.ip(NAMESPACE, "link set kg1 up", "link set kg2 up")

    def bind(self):
        """Gives both NICs to vfio-pci."""
        for address in ADDRESSES:
            device = f"/sys/bus/pci/devices/{address}"
            self.sh(
                f"if [ -e {device}/driver ]; then echo {address} >{device}/driver/unbind; fi; "
                f"echo vfio-pci >{device}/driver_override; echo {address} >/sys/bus/pci/drivers_probe; "
                f"[ -e {device}/driver/{address} ]"
            )


class Lines:
    """Lines of a socket of QEMU, each whole or not at all."""

    def __init__(self):
        self.rest = b""
        self.stream = socket.socket(socket.AF_UNIX)
        self.stream.settimeout(1)

    def connects_to(self, path: pathlib.Path) -> bool:
        """Whether somebody listens there, by now."""
        return self.stream.connect_ex(str(path)) == 0

    def write(self, line: str):
        self.stream.sendall(line.encode() + b"\n")

    def readline(self) -> str:
        """The next line; nothing after a second without one."""
        while b"\n" not in self.rest:
            try:
                more = self.stream.recv(65536)
            except TimeoutError:
                return ""
            if not more:
                return ""
            self.rest += more
        line, self.rest = self.rest.split(b"\n", 1)
        return line.decode(errors="replace").strip()
