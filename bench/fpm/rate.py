"""What changes of routes cost a switch at full rate.

The switch reads frames from memory (net_pcap, infinite_rx) on one core; they go to prefixes of the speaker. Its time
is cut into windows, three a round, in an order that changes: without changes (`quiet`), without changes again
(`again`), and with them (`churned`). Compared are frames for each second that the worker had its core, two windows of
one round: `again` to `quiet` is what the machine alone does to a ratio. Frames are counted when they have left.
"""

import argparse
import itertools
import os
import pathlib
import statistics
import sys
import time

from router import NEXT_HOPS, Router, open_session, speaker_namespace, wait_for
from speaker import Speaker, host

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "line"))

import frames
from bed import Hugepages
from interference import Threads

LEAST = 0.97
KINDS = ("quiet", "again", "churned")
WINDOW_S = 5
# Prefixes whose next hops change; each has a flow.
CHURNED = range(1_000)
SWITCH = """
[workers]
cores = [{core}]
[[lossless]]
priority = 3
xoff = "200KB"
headroom = "200KB"
[[port]]
name = "kp1"
device = "net_pcap0,rx_pcap={pcap},infinite_rx=1"
mac = "02:00:00:00:00:01"
addresses = ["10.0.1.1/24"]
speed = "100G"
pace = false
tap = "kp1"
[[port]]
name = "kp2"
device = "net_null0,no-rx=1"
mac = "02:00:00:00:00:02"
addresses = ["10.0.2.1/24"]
speed = "100G"
pace = false
tap = "kp2"
"""


def frame(number: int) -> bytes:
    """To a host of the prefix with this number."""
    return frames.udp(1, number, 64, to=host(number))


def sent(router: Router) -> int:
    """Frames that have left by the second port, as its device counts them."""
    return router.ctl("stats")["ports"][1]["device_counters"]["tx_frames"]


def window(router: Router, speaker: Speaker, threads: Threads, kind: str, per_second: int) -> float:
    """Millions of frames for each second that the worker had its core."""
    time.sleep(0.3)
    first, before = sent(router), threads.counts()
    if kind == "churned":
        speaker.churn(NEXT_HOPS, CHURNED, per_second, WINDOW_S)
    else:
        time.sleep(WINDOW_S)
    last, meanwhile = sent(router), threads.since(before)
    if last <= first:
        raise RuntimeError("no frames leave")
    return (last - first) / 1e6 / meanwhile.on_core_s


def ratios(rounds: list[dict[str, float]], kind: str) -> list[float]:
    return [of[kind] / of["quiet"] for of in rounds]


def rounds_of(router: Router, speaker: Speaker, worker: int, arguments: argparse.Namespace) -> list[dict[str, float]]:
    threads = Threads(worker, [("worker-0",)], [arguments.core])
    orders = itertools.cycle(itertools.permutations(KINDS))
    rounds: list[dict[str, float]] = []
    while len(rounds) < max(3, arguments.seconds / WINDOW_S):
        order = next(orders)
        rounds.append({kind: window(router, speaker, threads, kind, arguments.rate) for kind in order})
        shown = ", ".join(f"{kind} {rounds[-1][kind]:.2f}" for kind in KINDS)
        print(f"round {len(rounds)}: {shown} Mpps", flush=True)
    return rounds


def measure(arguments: argparse.Namespace) -> dict:
    with Hugepages():
        # The worker's core is its own, if there is another one.
        cpus = os.sched_getaffinity(0)
        router = Router(arguments.knotless, cpus - {arguments.core} or cpus)
        try:
            pcap = router.dir / "in.pcap"
            frames.write_pcap(pcap, [frame(number) for number in CHURNED])
            worker = router.start_switch(SWITCH.format(core=arguments.core, pcap=pcap))
            router.start_frr()
            wait_for("zebra at the switch", lambda: router.fpm()["connected"])
            with speaker_namespace():
                speaker = open_session(Speaker)
            speaker.announce_table(NEXT_HOPS, arguments.routes)
            wait_for("all routes", lambda: router.fpm()["routes"] >= arguments.routes, 600)
            rounds = rounds_of(router, speaker, worker.pid, arguments)
        finally:
            router.close()
    quartiles = statistics.quantiles(ratios(rounds, "churned"), n=4)
    return {
        "rounds": len(rounds),
        "mpps": {kind: statistics.median(of[kind] for of in rounds) for kind in KINDS},
        "again": statistics.median(ratios(rounds, "again")),
        "median": statistics.median(ratios(rounds, "churned")),
        "lower_quartile": quartiles[0],
        "upper_quartile": quartiles[2],
    }
