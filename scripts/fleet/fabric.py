"""Eight switches in a ring, a host on each, and lossless flows between hosts two hops apart."""

import json
import pathlib
import shutil
import signal

from common import ring
from common.lab import Lab
from common.ring import DSCP, FRAME_BYTES, RING_FRAMES
from common.switch import Switch
from store import Management, urls

NAMES = ("A", "B", "C", "D", "E", "F", "G", "H")
SPEED = "100M"
# What each host sends. A switch that is stopped for ten seconds must not lose what its rings in the
# kernel hold meanwhile: nobody can pause the senders for it.
RATE = "800K"
NETWORK = "ring"
PATIENCE_S = 30.0


def number(name: str) -> int:
    """From 1: a switch's host has the network 10.1.N.0/24, its link to the next 10.9.N.0/31."""
    return NAMES.index(name) + 1


def after(name: str, hops: int = 1) -> str:
    return NAMES[(NAMES.index(name) + hops) % len(NAMES)]


def before(name: str) -> str:
    return NAMES[NAMES.index(name) - 1]


def path(name: str, hops: int) -> str:
    """The way round from a switch's host to the one some hops on."""
    switches = " ".join(after(name, hop) for hop in range(hops + 1))
    return f"H{name} {switches} H{after(name, hops)}"


def network_toml(paths: str, first: str) -> str:
    """NETWORK.toml of the ring: port 1 the host's, port 2 the next switch, port 3 the one before. The
    compiler breaks the ring at its first switch."""
    text = ""
    for name in (after(first, hop) for hop in range(len(NAMES))):
        text += f'[[switch]]\nname = "{name}"\nports = 3\n\n[[host]]\nname = "H{name}"\n\n'
        text += f'[[link]]\nends = ["{name}:1", "H{name}"]\n\n'
        text += f'[[link]]\nends = ["{name}:2", "{after(name)}:3"]\n\n'
    return text + f'[paths]\nkind = "file"\nfile = "{paths}"\n'


def switch_toml(name: str, rules: pathlib.Path) -> str:
    own, prior = number(name), number(before(name))
    ports = (("host", f"kf{own}"), ("next", "next"), ("prior", "prior"))
    members = ", ".join(f'"{url}"' for url in urls())
    return ring.switch_toml(name, rules / f"{name}.json", (own, prior), ports, SPEED) + f"""
[lldp]
interval = "1s"

[fleet]
network = "{NETWORK}"
endpoints = [{members}]
start_wait = "5s"
"""


class Fabric:
    """The switches and hosts, from their first namespace to their last word."""

    def __init__(self, lab: Lab, management: Management, rules: pathlib.Path):
        self.lab = lab
        for name in NAMES:
            lab.add_quiet_namespace(name)
            management.connect(name, 20 + number(name))
        for name in NAMES:
            far = lab.namespaces[after(name)]
            lab.ip(name, f"link add next type veth peer name prior netns {far}", "link set next up")
            lab.ip(after(name), "link set prior up")
        self.switches = {}
        for name in NAMES:
            file = lab.folder / f"{name}.toml"
            file.write_text(switch_toml(name, rules))
            self.switches[name] = Switch(lab, file, name)
        for name, switch in self.switches.items():
            switch.wait()
            lab.add_host(f"H{name}", f"kf{number(name)}", number(name), name, queue=RING_FRAMES)
        pings = []
        for name in NAMES:
            to = f"10.1.{number(after(name, 2))}.2"
            command = ["ping", "-n", "-c", "2", "-i", "0.2", "-W", "5", to]
            pings.append(lab.start(command, f"H{name}"))
        for ping in pings:
            lab.finish(ping)

    def start_traffic(self):
        self.receivers = {name: self.traffic(name, "recv", "--speed", SPEED) for name in NAMES}
        for receiver in self.receivers.values():
            self.lab.wait_for(receiver, "listening")
        def flow(name: str) -> str:
            to = after(name, 2)
            return (f"name=H{name}-H{to},dst-ip=10.1.{number(to)}.2,dscp={DSCP},priority=1,"
                    f"size={FRAME_BYTES},rate={RATE}")
        self.senders = {
            name: self.traffic(name, "send", "--speed", SPEED, "--flow", flow(name)) for name in NAMES
        }

    def traffic(self, name: str, what: str, *arguments: str):
        return self.lab.traffic(what, f"H{name}", f"kf{number(name)}", *arguments)

    def stop_traffic(self) -> tuple:
        """What hosts sent and received, once the switches have run empty."""
        sent = self.reports(self.senders)
        for switch in self.switches.values():
            switch.settled()
        return sent, self.reports(self.receivers)

    def reports(self, processes: dict) -> dict:
        for process in processes.values():
            process.send_signal(signal.SIGINT)
        return {name: json.loads(self.lab.finish(process, PATIENCE_S))
                for name, process in processes.items()}

    def stats(self) -> dict:
        return {name: switch.stats() for name, switch in self.switches.items()}

    def drops(self) -> int:
        """Lossless frames that a switch, or a ring below it, has lost."""
        rows = [row for stats in self.stats().values() for row in stats["ports"]]
        below = sum(row["device_counters"]["rx_missed_frames"] for row in rows)
        return sum(sum(row["lossless_drops"]) for row in rows) + below

    def rules(self) -> dict:
        """By switch: the hash of its rules, and whether the store answers it."""
        fleet = {name: stats["fleet"] for name, stats in self.stats().items()}
        return {name: (it["hash"], it["connected"]) for name, it in fleet.items()}

    def stop(self):
        for switch in self.switches.values():
            switch.interrupt()
        for switch in self.switches.values():
            switch.end()


def compile_rules(lab: Lab, first: str) -> tuple:
    """NETWORK.toml of the ring that begins at a switch, and the folder of the rules made for it."""
    folder = lab.folder / f"network-{first}"
    folder.mkdir()
    lines = [path(name, 2) for name in NAMES]
    (folder / "paths.txt").write_text("\n".join(lines) + "\n")
    file = folder / "network.toml"
    file.write_text(network_toml("paths.txt", first))
    lab.run([lab.knotless, "compile", file, "--out", folder / "rules"])
    return file, folder / "rules"


def empty_folder(folder: pathlib.Path) -> pathlib.Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder
