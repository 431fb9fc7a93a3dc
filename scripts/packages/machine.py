"""A machine of a Debian release: systemd as its init in a container (systemd-nspawn), on a fresh root.

The root stays as it was made: what the machine writes is kept in memory and is gone with it. It has
a network of its own without any interface, so apt finds what it installs in a folder filled before.
"""

import os
import pathlib
import time

from common.lab import Failed, Lab

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROOTS = ROOT / "target" / "package" / "roots"
# What a server has before the package comes: init, the tools of the checks.
PACKAGES = [
    "systemd", "systemd-sysv", "dbus", "udev", "iproute2", "iputils-ping", "man-db", "mandoc",
    "bash-completion",
]
BOOT_S = 120
INSTALL_S = 600


class Release:
    """The root of a release, and the packages that apt will want."""

    def __init__(self, lab: Lab, number: str):
        self.lab, self.number = lab, number
        self.root = ROOTS / f"debian{number}"
        self.archives = ROOTS / f"debian{number}.archives"
        (self.archives / "partial").mkdir(parents=True, exist_ok=True)

    def make(self):
        """Makes the root, once."""
        self.script("make", self.number, self.root, ",".join(PACKAGES))

    def fetch(self, package: pathlib.Path):
        """Downloads what `package` depends on, and changes nothing else."""
        archives = pathlib.Path("/src") / self.archives.relative_to(ROOT)
        there = pathlib.Path("/src") / package.relative_to(ROOT)
        for words in (["update"], ["install", "--yes", "--download-only", there]):
            self.script("enter", self.root, "apt-get", "-qq", "-o", f"Dir::Cache::archives={archives}", *words)

    def script(self, *words):
        process = self.lab.start([ROOT / "scripts" / "debian_root.sh", *words])
        self.lab.finish(process, INSTALL_S)


class Machine:
    """A booted root. `folder` is its /packages."""

    def __init__(self, lab: Lab, release: Release, folder: pathlib.Path):
        self.lab = lab
        self.cgroup = cgroups() / f"knotless-{lab.folder.name}"
        self.cgroup.mkdir()
        # The kernel ends everything in it when `unshare` ends.
        command = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "systemd-nspawn"]
        command += [
            "--boot", "--register=no", "--keep-unit", "--private-network", "--console=pipe",
            "--volatile=overlay", "--bind=/dev/net/tun",
            "--capability=CAP_NET_ADMIN,CAP_NET_RAW,CAP_IPC_LOCK,CAP_SYS_NICE",
            # systemd-nspawn leaves it out, and DPDK reads there whether the kernel has VFIO.
            "--bind-ro=/sys/module", f"--bind-ro={folder}:/packages",
            f"--bind={release.archives}:/var/cache/apt/archives", f"--directory={release.root}",
            f"--machine=debian{release.number}",
        ]
        join = f'echo $$ >"{self.cgroup}/cgroup.procs" && exec "$@"'
        environment = ["env", "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1"]
        self.process = lab.start([*environment, "sh", "-c", join, "sh", *command], name="nspawn")
        self.init = None

    def boot(self):
        """Waits until all of systemd's units are started."""
        deadline = time.monotonic() + BOOT_S
        while self.init is None:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise Failed(f"the machine does not boot: {self.process.err.read_text().strip()}")
            self.init = init_of(self.process.pid)
            time.sleep(0.1)
        ready = self.start(["systemctl", "is-system-running", "--wait"])
        while (said := self.lab_said(ready)) != "running":
            if said == "degraded" or time.monotonic() > deadline:
                failed = self.run(["systemctl", "--failed", "--no-legend", "--plain"])
                raise Failed(f"the machine does not come up: {ready.err.read_text().strip()} {failed}")
            time.sleep(0.2)
            ready = self.start(["systemctl", "is-system-running", "--wait"])

    def lab_said(self, process) -> str:
        """What a process said that may fail."""
        process.wait(timeout=BOOT_S)
        return process.out.read_text().strip()

    def start(self, words: list, name: str | None = None):
        """Starts a command in it."""
        return self.lab.start(["nsenter", "--target", str(self.init), "--all", "--", *words], name=name)

    def run(self, words: list, patience=60.0) -> str:
        """Runs a command in it to its end, which must be a good one, and returns what it said."""
        return self.lab.finish(self.start(words), patience)

    def shell(self, script: str, patience=60.0) -> str:
        """The same with a script of the shell."""
        return self.run(["bash", "-euc", script], patience)

    def journal(self) -> str:
        """The last lines of the journal, if it has come up."""
        if self.init is None:
            return ""
        return self.lab_said(self.start(["journalctl", "--no-pager", "--lines=20", "--unit=knotless@*"]))

    def end(self):
        """Ends it, and with it everything in it."""
        self.process.kill()
        self.process.wait()
        for folder, _, _ in os.walk(self.cgroup, topdown=False):
            remove_cgroup(pathlib.Path(folder))


def cgroups() -> pathlib.Path:
    """Where cgroups of version 2 are, alone or beside version 1."""
    for place in (pathlib.Path("/sys/fs/cgroup"), pathlib.Path("/sys/fs/cgroup/unified")):
        if (place / "cgroup.controllers").exists():
            return place
    raise Failed("systemd cannot run as an init here: no cgroups of version 2 are mounted")


def remove_cgroup(folder: pathlib.Path):
    """Removes an empty cgroup; the kernel needs a moment after the last process."""
    for _ in range(50):
        try:
            folder.rmdir()
            return
        except OSError:
            time.sleep(0.1)


def init_of(process: int) -> int | None:
    """The init among the descendants of a process: the last one of its line, when it is systemd."""
    children = [process]
    while children:
        process = children[0]
        try:
            children = pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split()
        except OSError:
            return None
        if pathlib.Path(f"/proc/{process}/comm").read_text().strip() == "systemd":
            return int(process)
    return None
