"""What a switch with two NICs of a kind must do, seen from outside the guest and by its own books."""

import json
import threading
import time

from common.lab import Failed
from machine import ADDRESSES, Machine
from outside import PAUSE_EVERY_S, Wire, paused, routed
from scapy.layers.inet import IP
from scapy.layers.l2 import Ether

SWITCH = """
name = "guest"
rules = "rules.json"

[[tag]]
tag = 1
dscp = 26

[[lossless]]
priority = 3
static_th = "60KB"
xon = "30KB"
headroom = "1600KB"

[buffer]
size = "8MB"

[workers]
count = 2
idle = "sleep"

[memory]
hugepages = "always"

[control]
socket = "/run/knotless.sock"
"""
PORT = """
[[port]]
name = "p{number}"
pci = "{address}"
addresses = ["10.1.{number}.1/24", "fd00:1:{number}::1/64"]
speed = "100M"
mac = "{router_mac}"

[[neighbor]]
address = "10.1.{number}.2"
port = "p{number}"
mac = "{mac}"

[[neighbor]]
address = "fd00:1:{number}::2"
port = "p{number}"
mac = "{mac}"
"""
RULES = {
    "switch": "guest", "ports": 2, "lossy_tag": 0, "initial_tag": 1, "priorities": {"1": 3},
    "entries": [
        {"tag": 1, "in": [1], "out": [2], "new_tag": 1},
        {"tag": 1, "in": [2], "out": [1], "new_tag": 1},
    ],
}
# The shortest frame, the longest, and between.
SIZES = [64, 65, 128, 333, 590, 1024, 1300, 1500, 1513, 1514] * 4
LOSSLESS_DSCP, PRIORITY = 26, 3
# Twice the threshold of a VIQ, in frames of 1,000 bytes.
OVERLOAD_FRAMES = 120
PATIENCE_S = 20.0
# DPDK and its drivers are read from this machine, once.
START_S = 120.0
# The guest waits for who uses the device, and its slot powers down slowly.
PULL_S = 60.0
KNOTLESS = "/share/knotless"


class Switch:
    """The switch in the guest."""

    def __init__(self, machine: Machine, wires: list):
        self.machine, share = machine, machine.share
        ports = [
            PORT.format(
                number=wire.number, address=address, mac=wire.mac, router_mac=wire.router_mac
            )
            for wire, address in zip(wires, ADDRESSES)
        ]
        (share / "switch.toml").write_text(SWITCH + "".join(ports))
        (share / "rules.json").write_text(json.dumps(RULES))
        run = f"{KNOTLESS} run --json /share/switch.toml >/share/run.out 2>/share/run.err"
        self.machine.sh(f"({run}; echo $? >/share/run.status) & :")
        self.wait("the switch runs", lambda: " runs: " in self.log(), START_S)

    def log(self) -> str:
        file = self.machine.share / "run.err"
        return file.read_text() if file.exists() else ""

    def wait(self, what: str, is_so, patience: float = PATIENCE_S):
        deadline = time.monotonic() + patience
        while not is_so():
            ended = (self.machine.share / "run.status").exists()
            if ended or time.monotonic() > deadline:
                raise Failed(f"not within {patience:.0f} s: {what}\n{self.log()}")
            time.sleep(0.2)

    def ctl(self, what: str) -> str:
        return self.machine.sh(f"{KNOTLESS} ctl --socket /run/knotless.sock {what}")

    def stats(self) -> dict:
        return json.loads(self.ctl("stats --json"))

    def settled(self) -> dict:
        """Its books once no frame waits in it."""
        self.wait("no frame waits", lambda: self.stats()["totals"]["held"] == 0)
        stats = self.stats()
        balanced(stats)
        return stats

    def is_up(self, number: int) -> bool:
        return self.stats()["ports"][number - 1]["up"]

    def stop(self) -> dict:
        """Ends it as an operator does; its totals, and what it said last."""
        self.machine.sh("kill -TERM $(pidof knotless)")
        status = self.machine.share / "run.status"
        deadline = time.monotonic() + PATIENCE_S
        while not (status.exists() and status.read_text().strip()):
            if time.monotonic() > deadline:
                raise Failed(f"the switch does not end\n{self.log()}")
            time.sleep(0.2)
        if status.read_text().strip() != "0":
            raise Failed(f"the switch ended with {status.read_text().strip()}\n{self.log()}")
        return json.loads((self.machine.share / "run.out").read_text())


def expect(is_so: bool, what: str):
    if not is_so:
        raise Failed(what)


def balanced(stats: dict):
    totals = stats["totals"]
    expect(totals["imbalance"] == 0, f"the balance is off by {totals['imbalance']}")


def arrives(source: Wire, to: Wire, version: int):
    """Frames of all sizes reach the other side with the right content, in order."""
    frames = source.datagrams(to, version, SIZES, 0)
    source.send(frames)
    got = to.take_data(len(frames), PATIENCE_S)
    wanted = [routed(frame, to) for frame in frames]
    expect(len(got) == len(wanted), f"IPv{version}: {len(got)} of {len(wanted)} frames arrive")
    for number, (is_so, should) in enumerate(zip(got, wanted)):
        expect(is_so == should, f"frame {number} is\n{is_so.hex()} and should be\n{should.hex()}")


def report(switch: Switch, _one: Wire, _two: Wire):
    """At its start it says what its NICs cannot do."""
    drivers = {port["driver"] for port in switch.stats()["ports"]}
    said = switch.log()
    expect("ports p1, p2: sent at by one worker each" in said, f"one transmit queue: {said}")
    needs_note = bool(drivers & {"net_virtio", "net_vmxnet3"})
    expect(("a Linux bridge never does" in said) == needs_note, f"{drivers}: {said}")


def forwarding(switch: Switch, one: Wire, two: Wire):
    """Both ways, IPv4 and IPv6, short and long; a wrong checksum is dropped and counted."""
    for wire in (one, two):
        expect(wire.arp(), f"the switch answers no ARP request at p{wire.number}")
    for source, to in ((one, two), (two, one)):
        for version in (4, 6):
            arrives(source, to, version)
    before = switch.stats()["ports"][0]["drops"].get("bad_checksum", 0)
    wrong = Ether(one.datagrams(two, 4, [200])[0])
    wrong[IP].chksum ^= 0x0100
    one.send([bytes(wrong)] * 3)
    expect(two.take_data(1, 1) == [], "a frame with a wrong IPv4 checksum is forwarded")
    drops = switch.stats()["ports"][0]["drops"]
    expect(drops.get("bad_checksum", 0) == before + 3, f"three of bad_checksum: {drops}")


def flow_control(switch: Switch, one: Wire, two: Wire):
    """A pause from outside stops its priority and no other; what then waits pauses the sender;
    after the pause everything comes, in order."""
    frames = one.datagrams(two, 4, [1000] * OVERLOAD_FRAMES, LOSSLESS_DSCP)
    lossy = one.datagrams(two, 4, [300] * 8)
    with two.pausing(PRIORITY):
        time.sleep(5 * PAUSE_EVERY_S)
        one.send(frames)
        one.send(lossy)
        passed = two.take_data(len(lossy), PATIENCE_S) + two.take_data(1, 1)
        heard = paused(one.take(PATIENCE_S, lambda got: any(paused(got, PRIORITY))), PRIORITY)
    expect(passed == [routed(frame, two) for frame in lossy], f"{len(passed)} frames pass, not 8")
    expect(any(heard), "no pause of the switch reaches the sender")
    got = two.take_data(len(frames), PATIENCE_S)
    expect(got == [routed(frame, two) for frame in frames], f"{len(got)} of {len(frames)} lossless")
    heard = paused(one.take(PATIENCE_S, lambda got: 0 in paused(got, PRIORITY)), PRIORITY)
    expect(heard[-1:] == [0], f"the sender may send again: {heard}")
    stats = switch.stats()
    pfc = [port["pfc"] for port in stats["ports"]]
    expect(pfc[1]["rx_xoff"][PRIORITY] > 0 and pfc[0]["tx_xoff"][PRIORITY] > 0, f"counted: {pfc}")
    expect(not any(map(any, (port["lossless_drops"] for port in stats["ports"]))), "a loss")


def links(switch: Switch, one: Wire, two: Wire):
    """A link that goes is a port down, and forwards again once it is back."""
    for wire in (one, two):
        for up in (False, True):
            switch.machine.ask("set_link", name=f"nic{wire.number}", up=up)
            want = "up" if up else "down"
            switch.wait(f"p{wire.number} is {want}", lambda: switch.is_up(wire.number) == up)
    expect("port p1 is down" in switch.log(), "the log says which port is down")
    arrives(one, two, 4)
    arrives(two, one, 6)


def removal(switch: Switch, one: Wire, two: Wire):
    """A NIC that is pulled out under load is a port down, with its cause; the other one goes on."""
    ended = threading.Event()

    def load():
        while not ended.is_set():
            one.send(one.datagrams(two, 4, [500] * 16, LOSSLESS_DSCP))

    thread = threading.Thread(target=load)
    thread.start()
    try:
        switch.machine.pull("nic2", PULL_S)
    finally:
        ended.set()
        thread.join()
    switch.wait("p2 is down", lambda: not switch.is_up(2))
    cause = "its device was removed (hot unplug)"
    expect(f"port p2: down, {cause}" in switch.ctl("ports"), "`ctl ports` says why p2 is down")
    expect(f"port p2: {cause}" in switch.log(), "the log says why p2 is down")
    one.take(0.5)
    expect(one.arp(), "p1 answers no ARP request any more")
    expect(switch.settled()["ports"][0]["up"], "p1 is up")


def ends(switch: Switch, _one: Wire, _two: Wire):
    """It ends as it should: the books are right, and every buffer is back."""
    balanced(switch.stop())
    last = switch.log().splitlines()[-1]
    expect("buffers are back" in last, f"at its end: {last}")


def counts(switch: Switch, one: Wire, two: Wire):
    """The switch has received what was sent here, to the frame, and lost none of it."""
    stats = switch.stats()
    balanced(stats)
    for wire in (one, two):
        port = stats["ports"][wire.number - 1]
        received = sum(port["rx_frames"]) + port["rx_unclassified_frames"] + port["pfc"]["rx_frames"]
        expect(received == wire.sent, f"p{wire.number}: {received} of {wire.sent} frames received")
