"""A Clos of four leaves and two spines: each a Knotless with FRR in a network namespace of its own, a host at each
leaf. Links are veth pairs; hosts are on taps, whose kernel computes checksums."""

import json
import signal
import time

from common.lab import Failed, Lab
from common.switch import Switch
from frr import Frr, router

LEAVES, SPINES = 4, 2
RING_FRAMES = 1024
# What rings lost because this machine's cores were elsewhere: no loss of routing.
MISSED = "device_missed"


def leaf(number: int) -> str:
    return f"leaf{number}"


def spine(number: int) -> str:
    return f"spine{number}"


def port_toml(name: str, device: str, addresses: str = "") -> str:
    return f"""
[[port]]
name = "{name}"
device = "{device}"
{addresses}
"""


def switch_toml(name: str, ports: list) -> str:
    """`ports`: tables."""
    return f"""\
name = "{name}"

[host]
taps = true

[routing]
fpm = "127.0.0.1:2620"

[buffer]
size = "8MB"
cell = 2048

# Six switches, their routers and the hosts share this machine's cores.
[workers]
idle = "sleep"

[memory]
hugepages = "never"
{"".join(ports)}"""


class Node:
    """One switch and its router."""

    def __init__(self, lab: Lab, name: str, number: int, ports: list, sessions: list, networks: list):
        self.lab, self.name, self.number = lab, name, number
        self.sessions, self.networks = sessions, networks
        self.file = lab.folder / f"{name}.toml"
        self.text = switch_toml(name, ports)
        self.switch = self.frr = None
        self.start_switch()

    def start_switch(self):
        self.file.write_text(self.text)
        self.switch = Switch(self.lab, self.file, self.name)

    def start_frr(self):
        self.frr = Frr(self.lab, self.name, router(self.number, self.sessions, self.networks))

    def kill_switch(self):
        """Without a word to anybody: as if its power failed."""
        self.switch.process.kill()
        self.switch.process.wait()
        self.switch.socket.unlink(missing_ok=True)

    def drops(self) -> dict:
        """Its drops, by cause; none of a switch that is dead."""
        if self.switch.process.poll() is not None:
            return {}
        found = {}
        stats = self.switch.stats()
        for port in stats["ports"]:
            missed = {MISSED: port["device_counters"]["rx_missed_frames"]}
            for cause, frames in (port["drops"] | missed).items():
                found[cause] = found.get(cause, 0) + frames
        for outcome in ("no_route", "pending_full", "host_unreachable"):
            found[f"agent {outcome}"] = stats["agent"]["outcomes"].get(outcome, 0)
        return found


class Clos:
    """All of it."""

    def __init__(self, lab: Lab):
        self.lab, self.nodes = lab, {}
        names = [leaf(n) for n in range(1, LEAVES + 1)] + [spine(n) for n in range(1, SPINES + 1)]
        for name in names:
            lab.add_namespace(name)
            # Knotless routes what comes by its ports; the kernel only has its own.
            lab.run(["sh", "-c", "echo 0 >/proc/sys/net/ipv4/conf/default/rp_filter"], name)
        for s in range(1, SPINES + 1):
            for n in range(1, LEAVES + 1):
                self.link(leaf(n), f"wire{s}", spine(s), f"wire{n}")
        for n in range(1, LEAVES + 1):
            # The port of the host is a tap, whose interface moves to the host.
            ports = [port_toml("host", f"net_tap{n},iface=kf{n}",
                               f'addresses = ["10.1.{n}.1/24", "fd00:1:{n}::1/64"]')]
            ports += [self.fabric_port(f"up{s}", 10 * n + s, f"wire{s}") for s in range(1, SPINES + 1)]
            networks = [f"10.1.{n}.0/24", f"fd00:1:{n}::/64"]
            sessions = [f"up{s}" for s in range(1, SPINES + 1)]
            self.nodes[leaf(n)] = Node(lab, leaf(n), n, ports, sessions, networks)
        for s in range(1, SPINES + 1):
            ports = [self.fabric_port(f"down{n}", 100 + 10 * s + n, f"wire{n}") for n in range(1, LEAVES + 1)]
            sessions = [f"down{n}" for n in range(1, LEAVES + 1)]
            self.nodes[spine(s)] = Node(lab, spine(s), 10 + s, ports, sessions, [])
        for name, node in self.nodes.items():
            node.switch.wait()
        for n in range(1, LEAVES + 1):
            lab.add_host(f"h{n}", f"kf{n}", n, leaf(n))
        for node in self.nodes.values():
            node.start_frr()

    def link(self, one: str, dev: str, other: str, other_dev: str):
        """A cable between two switches, whose kernel is to be silent at it."""
        lab = self.lab
        far = lab.namespaces[other]
        lab.ip(one, f"link add {dev} type veth peer name {other_dev} netns {far}")
        for where, name in [(one, dev), (other, other_dev)]:
            lab.ip(where, f"link set {name} addrgenmode none", f"link set {name} up")

    @staticmethod
    def fabric_port(name: str, number: int, wire: str) -> str:
        return port_toml(name, f"net_af_packet{number},iface={wire},framecnt={RING_FRAMES}", "trusted = true")

    def until(self, what: str, is_so, patience: float) -> float:
        """Waits for something; how long it took."""
        began = time.monotonic()
        while not is_so():
            if time.monotonic() - began > patience:
                raise Failed(f"{what}: not within {patience:.0f} s")
            time.sleep(0.1)
        return time.monotonic() - began

    def all_up(self, without: str = "") -> bool:
        """Whether all sessions of BGP are up, but those with the node `without`."""
        nodes = [node for name, node in self.nodes.items() if name != without]
        if without:
            return all(sum(up for up, _ in node.frr.sessions().values()) >= len(node.sessions) - 1
                       for node in nodes if node.name.startswith("leaf"))
        return all(len(node.frr.sessions()) == len(node.sessions)
                   and all(up for up, _ in node.frr.sessions().values()) for node in nodes)

    def bfd_up(self) -> bool:
        return all(node.frr.bfd_up() == len(node.sessions) for node in self.nodes.values())

    def drops(self) -> dict:
        """Drops of each switch, by switch and cause."""
        return {f"{name} {cause}": frames for name, node in self.nodes.items()
                for cause, frames in node.drops().items()}

    def lost_sessions(self) -> int:
        """Sessions that were lost so far, seen by either end."""
        return sum(lost for node in self.nodes.values() for _, lost in node.frr.sessions().values())

    def have_routes(self) -> bool:
        """Whether each leaf forwards to the networks of all others, by all spines."""
        for n in range(1, LEAVES + 1):
            rows = {row["prefix"]: row for row in self.routes(leaf(n))}
            others = [f"10.1.{other}.0/24" for other in range(1, LEAVES + 1) if other != n]
            if not all(rows.get(net, {}).get("resolved", 0) >= SPINES for net in others):
                return False
        return True

    def is_used(self, name: str) -> bool:
        """Whether a leaf forwards to another leaf's network by the spine `name`."""
        port = f"%up{name[-1]}"
        return any(gateway.endswith(port) for n in range(1, LEAVES + 1) for row in self.routes(leaf(n))
                   if row["prefix"].startswith("10.1.") for gateway in row["via"])

    def routes(self, name: str) -> list:
        return json.loads(self.nodes[name].switch.ctl("routes", "--json"))["routes"]

    def stop(self):
        """Ends all; the totals of each switch must be right."""
        for node in self.nodes.values():
            node.frr.kill(*list(node.frr.processes))
        for node in self.nodes.values():
            node.switch.process.send_signal(signal.SIGINT)
        for node in self.nodes.values():
            node.switch.end()
            node.frr.close()
