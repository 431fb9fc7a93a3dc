"""A flood at the switch's own address, as fast as a device can bring it, beside a session of BGP.

The switch reads frames to its own address from memory (net_pcap, infinite_rx) on one core, more of them than any wire
of 10 Gb/s brings. A BGP speaker is behind another port of the same worker, a tap, and speaks by the switch with
bgpd, which hears it by the TAP of that port. All routes must come while the flood lasts, the session must stay, and
pings must be answered.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import time

from router import PEER_NS, Router, open_session, run, speaker_namespace, wait_for
from speaker import Speaker

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "line"))

import frames
from bed import Hugepages

ROUTES = 20_000
SECONDS = 20
SWITCH = """
[host]
taps = true
[workers]
cores = [{core}]
[[port]]
name = "kp1"
device = "net_pcap0,rx_pcap={pcap},infinite_rx=1"
mac = "02:00:00:00:00:01"
addresses = ["10.0.1.1/24"]
speed = "100G"
[[port]]
name = "kp2"
device = "net_tap1,iface=kwire"
mac = "02:00:00:00:00:02"
addresses = ["10.0.2.1/24"]
speed = "1G"
"""


def frame(flow: int) -> bytes:
    """From a host of the first port to the switch's address there."""
    return frames.udp(1, flow, 64, to=bytes([10, 0, 1, 1]))


def policed(router: Router) -> int:
    """Frames of the flood so far: those that passed its policer, and the others."""
    classes = router.ctl("stats")["ports"][0]["host_classes"]["local"]
    return classes["passed_frames"] + classes["dropped_frames"]


def pings(seconds: int) -> float:
    """The share of a neighbor's pings at the switch that were answered."""
    command = ["ping", "-n", "-i", "0.1", "-c", str(10 * seconds), "-W", "2", "10.0.2.1"]
    inside = ["ip", "netns", "exec", PEER_NS, *command]
    said = subprocess.run(inside, capture_output=True, text=True).stdout
    sent, received = re.search(r"(\d+) packets transmitted, (\d+) received", said).groups()
    return int(received) / int(sent)


def measure(arguments: argparse.Namespace) -> dict:
    cpus = os.sched_getaffinity(0)
    with Hugepages():
        router = Router(arguments.knotless, cpus - {arguments.core} or cpus)
        try:
            pcap = router.dir / "flood.pcap"
            frames.write_pcap(pcap, [frame(flow) for flow in range(frames.FLOWS)])
            router.start_switch(SWITCH.format(core=arguments.core, pcap=pcap))
            router.inside("ip", "link", "set", "kwire", "netns", PEER_NS)
            run("ip", "-n", PEER_NS, "addr", "add", "10.0.2.2/24", "dev", "kwire")
            run("ip", "-n", PEER_NS, "link", "set", "kwire", "up")
            router.start_frr(peer="10.0.2.2")
            wait_for("zebra at the switch", lambda: router.fpm()["connected"])
            with speaker_namespace():
                speaker = open_session(Speaker, "10.0.2.1", "10.0.2.2")
            before, start = policed(router), time.monotonic()
            speaker.announce("10.0.2.2", range(ROUTES))
            wait_for("all routes", lambda: router.fpm()["routes"] >= ROUTES)
            took = time.monotonic() - start
            answered = pings(SECONDS)
            flood = (policed(router) - before) / (time.monotonic() - start)
            classes = router.ctl("stats")["ports"][1]["host_classes"]
            return {
                "mpps": flood / 1e6,
                "routes_s": took,
                "answered": answered,
                "is_up": speaker.is_up,
                "bgp_dropped": classes["bgp"]["dropped_frames"],
            }
        finally:
            router.close()
