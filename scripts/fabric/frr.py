"""FRR's daemons beside one switch: zebra, bgpd and bfdd, in the switch's network namespace."""

import functools
import json
import os
import pathlib
import shutil
import subprocess

from common.lab import Failed, Lab

DAEMONS = pathlib.Path("/usr/lib/frr")
# Another system's root, whose FRR is used: that of `scripts/debian_root.sh`.
ROOT = os.environ.get("FABRIC_ROOT")
PATIENCE_S = 40.0
# Router N has this and N as the number of its autonomous system.
AS_BASE = 65_100
# Detection after three lost packets, 300 ms apart.
BFD = "detect-multiplier 3\n  receive-interval 300\n  transmit-interval 300"


# A bfdd that loses zebra ends its sessions in FRR 10, and the neighbors would take that for a link that is down while
# they wait for bgpd. (FRR 8.4's bfdd does not, and its bgpd then ignores BFD when a neighbor dies.)
CONTROL_PLANE = " neighbor FABRIC bfd check-control-plane-failure\n"


def router(number: int, ports: list, networks: list) -> str:
    """The configuration of router `number`, with unnumbered sessions at `ports`."""
    control_plane = CONTROL_PLANE if is_ten() else ""
    neighbors = "\n".join(f" neighbor {port} interface peer-group FABRIC" for port in ports)
    four = "\n".join(f"  network {net}" for net in networks if ":" not in net)
    six = "\n".join(f"  network {net}" for net in networks if ":" in net)
    return f"""\
frr defaults datacenter
hostname r{number}
router bgp {AS_BASE + number}
 bgp router-id 10.255.0.{number}
 no bgp ebgp-requires-policy
 bgp bestpath as-path multipath-relax
 bgp suppress-fib-pending
 bgp graceful-restart
 bgp graceful-restart preserve-fw-state
 bgp graceful-restart restart-time 60
 neighbor FABRIC peer-group
 neighbor FABRIC remote-as external
 neighbor FABRIC bfd
 neighbor FABRIC bfd profile fabric
{control_plane} neighbor FABRIC capability extended-nexthop
{neighbors}
 address-family ipv4 unicast
{four}
  maximum-paths 64
 exit-address-family
 address-family ipv6 unicast
  neighbor FABRIC activate
{six}
  maximum-paths 64
 exit-address-family
exit
"""


@functools.cache
def version() -> str:
    """Which FRR it is."""
    said = subprocess.run([*prefix(), str(DAEMONS / "zebra"), "--version"], capture_output=True, text=True)
    words = said.stdout.split()
    return words[2] if len(words) > 2 else "0"


# Mounts are seen by this command and its children only.
ENTER = 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"'


def is_ten() -> bool:
    """Whether it is FRR 10 or later."""
    return int(version().split(".")[0]) >= 10


def prefix() -> list:
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", ENTER, ROOT] if ROOT else []


def is_installed() -> bool:
    return pathlib.Path((ROOT or "") + str(DAEMONS / "bgpd")).exists()


class Frr:
    """The daemons of one router."""

    def __init__(self, lab: Lab, namespace: str, config: str):
        self.lab, self.namespace = lab, namespace
        self.folder = pathlib.Path(f"{ROOT or ''}{lab.folder}") / f"frr-{namespace}"
        self.inside = lab.folder / f"frr-{namespace}"
        self.folder.mkdir(parents=True)
        # The daemons run as the user of their package.
        self.folder.parent.chmod(0o711)
        self.folder.chmod(0o777)
        (self.folder / "bgpd.conf").write_text(config)
        (self.folder / "bfdd.conf").write_text(f"bfd\n profile fabric\n  {BFD}\n exit\nexit\n")
        (self.folder / "zebra.conf").write_text("ip nht resolve-via-default\n")
        self.processes, self.started = {}, 0
        self.start("zebra", "bfdd", "bgpd")

    def start(self, *daemons: str):
        """Starts daemons, in this order."""
        for daemon in daemons:
            self.started += 1
            words = [
                *prefix(), DAEMONS / daemon, "-u", "frr", "-g", "frr",
                "-i", self.inside / f"{daemon}.pid", "-z", self.inside / "zserv.api",
                "--vty_socket", self.inside, "-f", self.inside / f"{daemon}.conf", "-A", "127.0.0.1",
            ]
            if daemon == "zebra":
                # Routes of the daemon before it stay for so many seconds.
                words += ["-K", "60", "-M", "dplane_fpm_nl"]
            if daemon == "bfdd" and not is_ten():
                # FRR 10 has no such socket.
                words += ["--bfdctl", self.inside / "bfdd.sock"]
            name = f"{self.namespace}-{daemon}-{self.started}"
            self.processes[daemon] = self.lab.start(words, self.namespace, name)
            socket = self.folder / f"{daemon}.vty"
            self.lab.wait_until(socket.exists, self.processes[daemon], PATIENCE_S)
            if daemon == "zebra":
                self.vtysh("zebra", "configure", "fpm address 127.0.0.1", "fpm use-next-hop-groups")

    def kill(self, *daemons: str):
        """Kills daemons at once, without a word to anybody."""
        for daemon in daemons:
            process = self.processes.pop(daemon)
            process.kill()
            process.wait()
            for end in ("pid", "vty"):
                (self.folder / f"{daemon}.{end}").unlink(missing_ok=True)
            if daemon == "zebra":
                (self.folder / "zserv.api").unlink(missing_ok=True)

    def revive(self) -> str:
        """Starts all daemons again if zebra has ended by itself, as watchfrr does; what to say of it."""
        status = self.processes["zebra"].poll()
        if status is None:
            return ""
        daemons = list(self.processes)
        self.kill(*daemons)
        self.start(*daemons)
        return f"zebra ended with status {status}"

    def vtysh(self, daemon: str, *commands: str) -> str:
        """What a daemon answers."""
        words = [*prefix(), "vtysh", "--vty_socket", str(self.inside), "-d", daemon]
        for command in commands:
            words += ["-c", command]
        inside = ["nsenter", f"--net=/proc/{self.lab.namespaces[self.namespace]}/ns/net", "--", *words]
        said = subprocess.run(inside, capture_output=True, text=True, timeout=20)
        if said.returncode != 0:
            raise Failed(f"vtysh at {self.namespace}: {' '.join(commands)}: {said.stderr or said.stdout}")
        return said.stdout

    def ask(self, daemon: str, command: str) -> dict:
        try:
            return json.loads(self.vtysh(daemon, f"{command} json") or "{}")
        except (json.JSONDecodeError, subprocess.TimeoutExpired, Failed):
            return {}

    def sessions(self) -> dict:
        """By neighbor: whether the session is up, and how often it was lost."""
        peers = self.ask("bgpd", "show bgp ipv4 unicast summary").get("peers", {})
        return {name: (peer.get("state") == "Established", peer.get("connectionsDropped", 0))
                for name, peer in peers.items()}

    def bfd_up(self) -> int:
        """BFD sessions that are up."""
        try:
            peers = json.loads(self.vtysh("bfdd", "show bfd peers json") or "[]")
        except (json.JSONDecodeError, Failed):
            return 0
        return sum(peer.get("status") == "up" for peer in peers)

    def close(self):
        """Removes what another root has of it."""
        if ROOT:
            shutil.rmtree(self.folder.parent, ignore_errors=True)
