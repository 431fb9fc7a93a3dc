"""The switch of the package forwards frames: two hosts on its taps, each in a namespace of its own."""

import json

from common import show
from common.lab import Failed
from machine import Machine

# Frames that each host sends to the other, in each of two classes.
FRAMES = 10_000


def add_hosts(machine: Machine):
    """Two hosts without an interface yet."""
    machine.shell("ip netns add h1; ip netns add h2")


def connect_hosts(machine: Machine):
    """Gives the taps of the running switch `demo` to the hosts."""
    for net in (1, 2):
        machine.shell(f"""
            ip link set kd{net} netns h{net}
            ip -n h{net} link set kd{net} up
            ip -n h{net} addr add 10.1.{net}.2/24 dev kd{net}
            ip -n h{net} addr add fd00:1:{net}::2/64 dev kd{net} nodad
            ip -n h{net} route add default via 10.1.{net}.1
            ip -n h{net} route add default via fd00:1:{net}::1
        """)


def reach(machine: Machine):
    """The hosts reach each other by IPv4 and IPv6."""
    for to in ("10.1.2.2", "fd00:1:2::2"):
        ping = ["ip", "netns", "exec", "h1", "ping", "-n", "-c", "5", "-i", "0.2", "-W", "5", to]
        if "5 received" not in machine.run(ping):
            raise Failed(f"h1 does not reach {to}")
    show.result(True, "h1 reaches h2: 5 of 5 answers by IPv4, 5 of 5 by IPv6")


def count(machine: Machine):
    """Every frame that a host sends arrives at the other once and in order, as the receivers count."""
    receivers = [traffic(machine, "recv", net, "--idle", "2s", "--duration", "60s") for net in (1, 2)]
    for receiver in receivers:
        machine.lab.wait_for(receiver, "listening", 30)
    senders = [traffic(machine, "send", net, *flows(3 - net)) for net in (1, 2)]
    for sender in senders:
        machine.lab.finish(sender, 60)
    for receiver in receivers:
        whole(json.loads(machine.lab.finish(receiver, 60)), FRAMES)
    show.result(True, f"{FRAMES} lossless and {FRAMES} lossy frames in each direction: all arrive once and in order")


def flows(to: int) -> list:
    common = f"dst-ip=10.1.{to}.2,size=1000,count={FRAMES}"
    return [
        "--speed", "1G",
        "--flow", f"name=lossless,dscp=26,priority=3,rate=60M,{common}",
        "--flow", f"name=lossy,dscp=0,rate=20M,{common}",
    ]


def traffic(machine: Machine, what: str, net: int, *more: str):
    command = ["ip", "netns", "exec", f"h{net}", "knotless", "traffic", what, "--json", "--dev", f"kd{net}"]
    return machine.start([*command, *more], f"{what}{net}-{len(machine.lab.processes)}")


def whole(received: dict, frames: int):
    """`frames` of each flow arrived, each once and in order."""
    if received["dropped_by_own_socket"] != 0:
        raise Failed("the receiver lost frames, not the switch")
    for flow in received["flows"]:
        seen = [flow[key] for key in ("frames", "lost", "reordered", "duplicates")]
        if seen != [frames, 0, 0, 0]:
            raise Failed(f"{received['interface']}: flow {flow['name']}: {frames} sent; "
                         "frames, lost, reordered, duplicates: " + ", ".join(map(str, seen)))
    if len(received["flows"]) != 2:
        raise Failed(f"{received['interface']} received {len(received['flows'])} of 2 flows")
