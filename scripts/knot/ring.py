"""Three switches in a ring, a host on each: processes in namespaces, veth pairs between them."""

import json
import pathlib
import shutil

from common import ring
from common.door import ROOT
from common.lab import Lab
from common.ring import DSCP, FRAME_BYTES, RING_FRAMES
from common.switch import Switch

NETWORK = ROOT / "config" / "examples" / "knot" / "network.toml"
# Clockwise. Flows go that way round only, each from a switch's host to the one two hops on.
NAMES = ("A", "B", "C")
# The rate of every link, hosts' links too. What counts is how long a pause lasts: 65,535 quanta are
# 0.8 s at this rate, refreshed every 0.3 s. A switch that gets no core for half a second, on a
# busy machine, still keeps its neighbor silent.
SPEED = "40M"


def after(name: str) -> str:
    """The next switch of the ring."""
    return NAMES[(NAMES.index(name) + 1) % len(NAMES)]


def before(name: str) -> str:
    return NAMES[NAMES.index(name) - 1]


def number(name: str) -> int:
    """Of a switch, from 1: its host's network is 10.1.N.0/24, its link to the next 10.9.N.0/31."""
    return NAMES.index(name) + 1


def host(name: str) -> str:
    """A switch's host."""
    return f"H{name}"


def destination(name: str) -> str:
    """The switch whose host gets what the host of `name` sends: two hops on."""
    return after(after(name))


def address(name: str) -> str:
    """Of a switch's host."""
    return f"10.1.{number(name)}.2"


def switch_toml(name: str, rules: pathlib.Path) -> str:
    """SWITCH.toml of a switch: its host on port 1, the next switch on 2, the one before on 3."""
    onward, back = f"to-{after(name)}", f"from-{before(name)}"
    ports = ((host(name), f"kk{number(name)}"), (onward, onward), (back, back))
    text = ring.switch_toml(name, rules, (number(name), number(before(name))), ports, SPEED)
    return text + f"""
# As most hardware: frames leave in the order in which they came. Served in turn, the default here, transit
# keeps its half of each link, and the ring rarely freezes by itself.
[scheduler]
fair = false

# The moment in which the ring closes is to be found when the script asks for it.
[flight_recorder]
file = "{name}.flight.jsonl"
duration = "120s"
sample = "50ms"
"""


class Ring:
    """The ring, from its first namespace to its last word."""

    def __init__(self, lab: Lab, phase: str, rules: pathlib.Path):
        """Starts it with the rules of a folder. `phase` keeps apart what two rings would share."""
        self.lab = lab
        self.phase = phase
        folder = lab.folder / phase
        folder.mkdir()
        for name in NAMES:
            lab.add_quiet_namespace(self.space(name))
        for name in NAMES:
            self.connect(name)
        self.switches = {name: self.start_switch(folder, name, rules) for name in NAMES}
        for name, switch in self.switches.items():
            switch.wait()
            # The tap is a queue too: it must not lose what the switch has not taken yet.
            lab.add_host(self.space(host(name)), self.dev(name), number(name), self.space(name),
                         queue=RING_FRAMES)
        self.ping()

    def space(self, name: str) -> str:
        """The namespace of a switch or a host."""
        return f"{self.phase}-{name}"

    @staticmethod
    def dev(name: str) -> str:
        """The interface of a switch's host."""
        return f"kk{number(name)}"

    def connect(self, name: str):
        """A veth pair from a switch to the next: the wire."""
        ends = [(name, f"to-{after(name)}"), (after(name), f"from-{name}")]
        (near, near_dev), (far, far_dev) = ends
        far_pid = self.lab.namespaces[self.space(far)]
        self.lab.ip(self.space(near),
                    f"link add {near_dev} type veth peer name {far_dev} netns {far_pid}")
        for end, dev in ends:
            self.lab.ip(self.space(end), f"link set {dev} up")

    def start_switch(self, folder: pathlib.Path, name: str, rules: pathlib.Path) -> Switch:
        shutil.copy(rules / f"{name}.json", folder)
        file = folder / f"{name}.toml"
        file.write_text(switch_toml(name, pathlib.Path(f"{name}.json")))
        return Switch(self.lab, file, self.space(name))

    def ping(self):
        """Hosts reach each other round the ring, and everybody knows the next MAC address."""
        pings = []
        for name in NAMES:
            command = ["ping", "-n", "-c", "2", "-i", "0.2", "-W", "5", address(destination(name))]
            pings.append(self.lab.start(command, self.space(host(name))))
        for ping in pings:
            self.lab.finish(ping)

    def start_receivers(self) -> dict:
        """A receiver on each host."""
        receivers = {name: self.traffic(name, "recv", "--speed", SPEED) for name in NAMES}
        for receiver in receivers.values():
            self.lab.wait_for(receiver, "listening")
        return receivers

    def start_senders(self, *arguments: str) -> dict:
        """A sender on each host, as fast as its link and PFC let it."""
        def flow(name: str) -> str:
            to = destination(name)
            return (f"name={host(name)}-{host(to)},dst-ip={address(to)},dscp={DSCP},priority=1,"
                    f"size={FRAME_BYTES},rate=max")
        return {
            name: self.traffic(name, "send", "--speed", SPEED, "--flow", flow(name), *arguments)
            for name in NAMES
        }

    def traffic(self, name: str, what: str, *arguments: str):
        return self.lab.traffic(what, self.space(host(name)), self.dev(name), *arguments)

    def stats(self) -> dict:
        """What each switch counts."""
        return {name: switch.stats() for name, switch in self.switches.items()}

    def waits(self) -> dict:
        """Who waits for whom, as each switch tells it."""
        return {
            name: json.loads(switch.ctl("waits", "--json"))["waits"]
            for name, switch in self.switches.items()
        }

    def why(self, name: str, *arguments: str) -> str:
        """What `knotless why` says of a switch's port to the next one, asked of all switches."""
        socket = self.switches[name].socket
        command = [self.lab.knotless, "why", f"to-{after(name)}", "--socket", socket, "--over", "1s",
                   "--sockets", socket.parent, "--network", NETWORK]
        return self.lab.run([*command, *arguments])

    def recorded(self, name: str) -> tuple:
        """What a switch's flight recorder has in memory, and the lines of its file."""
        switch = self.switches[name]
        events = json.loads(switch.ctl("recorder", "--json"))["events"]
        file = switch.socket.with_suffix(".flight.jsonl")
        return events, [json.loads(line) for line in file.read_text().splitlines()]

    def stop(self) -> list:
        """Ends the switches as Ctrl-C would; their last words."""
        for switch in self.switches.values():
            switch.interrupt()
        return [switch.end() for switch in self.switches.values()]
