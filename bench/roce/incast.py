#!/usr/bin/env python3
"""Eight senders to one receiver through the switch, all on taps: RoCE without congestion control, with
DCQCN and with HPCC.

Each host is a namespace with `knotless roce` at the other end of a tap; all ports have the same speed, and
the switch paces them, marks for DCQCN and writes telemetry for HPCC. Rounds of all kinds alternate. Measured
are the share of time in which a sender was paused by PFC, each sender's goodput against the fair share, and
what the switch lost of the lossless priority, which must be nothing.

Writes target/bench/roce.json. Exits with 1 if DCQCN or HPCC does not lower the share of paused time at least
ten times, if with DCQCN the median goodput of a sender is more than 5 % off the fair share (HPCC's windows
are few packets here), or if anything lossless was lost; with 2 if it cannot run here.

Usage: incast.py [--rounds N] [--seconds S] [--speed RATE]
"""

import argparse
import json
import pathlib
import signal
import statistics
import sys

signal.signal(signal.SIGINT, signal.SIG_DFL)
sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
from common import door, show  # noqa: E402
from common.lab import Lab  # noqa: E402
from common.switch import Switch  # noqa: E402

SENDERS = 8
RECEIVER = SENDERS + 1
SWITCH = """
name = "incast"
rules = "rules.json"

[[tag]]
tag = 1
dscp = 26

[[lossless]]
priority = 3
static_th = "{xoff}KB"
xon = "{xon}KB"
# All that a sender's tap holds.
headroom = "1600KB"

[[ecn]]
priority = 3
kmin = "{ecn_min}KB"
kmax = "{ecn_max}KB"
pmax = 0.2

[inband_telemetry]
switch = 1

[buffer]
size = "64MB"

[workers]
idle = "sleep"
"""
PORT = """
[[port]]
name = "h{net}"
device = "net_tap{net},iface=kb{net}"
addresses = ["10.1.{net}.1/24", "fd00:1:{net}::1/64"]
speed = "{speed}"
"""
# DCQCN's steps for a link that is a hundred times slower than the paper's, and a control loop of
# milliseconds, which is what processes on a shared machine have.
DCQCN = "ai=1M,hai=5M,min=2M,timer=3ms,alpha-timer=3ms,bytes=1M"
CNP_INTERVAL = "3ms"
# The round trip between such processes, without queues.
HPCC_RTT = "8ms"
# (1 - eta) of such a window, shared by the senders.
HPCC = "ai=600"
KINDS = {
    "none": ["--congestion", "none"],
    "dcqcn": ["--congestion", "dcqcn", "--dcqcn", DCQCN],
    "hpcc": ["--congestion", "hpcc", "--base-rtt", HPCC_RTT, "--hpcc", HPCC],
}
WARM_UP_S = 3
PATIENCE_S = 120
PAUSE_FALLS_MIN = 10
FAIRNESS_MAX = 0.05


def rules() -> dict:
    every = range(1, RECEIVER + 1)
    entries = [
        {"tag": 1, "in": [port], "out": [it for it in every if it != port], "new_tag": 1}
        for port in every
    ]
    return {"switch": "incast", "ports": RECEIVER, "lossy_tag": 0, "initial_tag": 1,
            "priorities": {"1": 3}, "entries": entries}


def start(lab: Lab, options) -> Switch:
    lab.add_quiet_namespace("switch")
    (lab.folder / "rules.json").write_text(json.dumps(rules()))
    file = lab.folder / "switch.toml"
    ports = [PORT.format(net=net, speed=options.speed) for net in range(1, RECEIVER + 1)]
    thresholds = {"xoff": 100, "xon": 60, "ecn_min": 20, "ecn_max": 200}
    file.write_text(SWITCH.format(**thresholds) + "".join(ports))
    switch = Switch(lab, file, "switch")
    switch.wait()
    for net in range(1, RECEIVER + 1):
        lab.add_host(f"h{net}", f"kb{net}", net)
    return switch


def roce(lab: Lab, net: int, options, what: str, *arguments: str):
    command = [lab.knotless, "roce", what, *arguments, "--dev", f"kb{net}", "--json",
               "--speed", options.speed, "--cnp-interval", CNP_INTERVAL]
    return lab.start(command, f"h{net}", f"{what}-{net}-{len(lab.processes)}")


def lost(stats: dict) -> int:
    return sum(sum(port["lossless_drops"]) for port in stats["ports"])


def measure(lab: Lab, switch: Switch, options, kind: str) -> dict:
    """One round: what each sender reports, and what the switch counts meanwhile."""
    before = switch.settled()
    receiver = roce(lab, RECEIVER, options, "recv", "--sessions", str(SENDERS))
    lab.wait_for(receiver, "listening")
    arguments = [f"10.1.{RECEIVER}.2", "--op", "write", "--size", "64KiB", "--depth", "4",
                 "--warmup", f"{WARM_UP_S}s", "--duration", f"{options.seconds}s", *KINDS[kind]]
    senders = [roce(lab, net, options, "bench", *arguments) for net in range(1, RECEIVER)]
    sent = [json.loads(lab.finish(sender, PATIENCE_S)) for sender in senders]
    received = json.loads(lab.finish(receiver, PATIENCE_S))
    after = switch.settled()
    shares = [report["paused_ns"] / report["elapsed_ns"] for report in sent]
    return {
        "kind": kind,
        "goodput_bps": [report["goodput_bps"] for report in sent],
        "paused_share": statistics.mean(shares),
        "latency_p99_ns": max(report["latency_ns"]["p99"] for report in sent),
        "cnps": sum(report["counters"]["cnps_received"] for report in sent),
        "marked": received["counters"]["ecn_marked"],
        "retransmitted": sum(report["counters"]["retransmitted"] for report in sent),
        "dropped_by_sockets": received["dropped_by_own_socket"],
        "lossless_drops": lost(after) - lost(before),
    }


def unfairness(rounds: list) -> float:
    """The farthest that the median goodput of a sender is from the fair share."""
    fair = [[goodput * SENDERS / sum(it["goodput_bps"]) for goodput in it["goodput_bps"]] for it in rounds]
    return max(abs(statistics.median(sender) - 1) for sender in zip(*fair))


def story(lab: Lab, options) -> bool:
    show.heading(f"{SENDERS} senders to one receiver, ports of {options.speed}")
    switch = start(lab, options)
    rounds = []
    for _ in range(options.rounds):
        for kind in KINDS:
            done = measure(lab, switch, options, kind)
            rounds.append(done)
            total = sum(done["goodput_bps"]) / 1e6
            least, most = min(done["goodput_bps"]) / 1e6, max(done["goodput_bps"]) / 1e6
            print(f"  {kind:6} {total:6.1f} Mb/s in all, {least:.1f} to {most:.1f} each, paused "
                  f"{done['paused_share']:.2%}, {done['cnps']} CNPs, {done['marked']} marked, "
                  f"{done['retransmitted']} sent again", flush=True)
    of = {kind: [it for it in rounds if it["kind"] == kind] for kind in KINDS}
    paused = {kind: statistics.median(it["paused_share"] for it in of[kind]) for kind in KINDS}
    fairness = {kind: unfairness(of[kind]) for kind in KINDS}
    rows = [
        [kind, f"{statistics.median(sum(it['goodput_bps']) for it in of[kind]) / 1e6:.1f}",
         f"{paused[kind]:.2%}", f"{fairness[kind]:.1%}",
         f"{statistics.median(it['latency_p99_ns'] for it in of[kind]) / 1e6:.1f}",
         sum(it["lossless_drops"] for it in of[kind])]
        for kind in KINDS
    ]
    show.heading("Medians")
    head = ["congestion control", "Mb/s", "paused", "off the fair share", "p99 ms", "lossless drops"]
    print(show.table(head, rows))
    controlled = [kind for kind in KINDS if kind != "none"]
    falls = {kind: paused["none"] / paused[kind] if paused[kind] else float("inf") for kind in controlled}
    drops = sum(it["lossless_drops"] for it in rounds)
    checks = []
    for kind in controlled:
        name = kind.upper()
        how = f"{falls[kind]:.0f} times" if paused[kind] else "to nothing"
        checks.append((falls[kind] >= PAUSE_FALLS_MIN, f"{name} lowers the share of paused time {how}"))
    checks.append((fairness["dcqcn"] <= FAIRNESS_MAX,
                   f"with DCQCN each sender is within {fairness['dcqcn']:.1%} of the fair share"))
    checks.append((drops == 0, f"{drops} lossless frames dropped"))
    for is_so, text in checks:
        show.result(is_so, text)
    file = door.TARGET / "bench" / "roce.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    finite = {kind: fall if paused[kind] else None for kind, fall in falls.items()}
    result = {"speed": options.speed, "senders": SENDERS, "dcqcn": DCQCN, "pause_falls": finite,
              "paused_share": paused, "unfairness": fairness, "rounds": rounds}
    file.write_text(json.dumps(result, indent=1) + "\n")
    switch.stop()
    return all(is_so for is_so, _ in checks)


def main() -> int:
    parser = argparse.ArgumentParser(prog="incast", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=10, help="how long each round measures")
    parser.add_argument("--speed", default="100M", help="of every port")
    options = parser.parse_args()
    return door.run("incast", [], lambda lab: story(lab, options))


if __name__ == "__main__":
    sys.exit(main())
