#!/usr/bin/env python3
"""BGP's routes in the switch by FPM, beside the kernel's of the same zebra.

FRR and a switch are in one namespace; a speaker of our own (speaker.py) announces 200,000 prefixes to bgpd.
Measured is:
- the time from the last UPDATE to the last route in the switch's table, and to the last one in the kernel;
- what happens to lossless frames to 1,000 prefixes whose next hops change, 5,000 a second, for a minute: taps,
  whose senders obey PFC, so that a frame that does not arrive was lost to routing;
- what that costs a switch at full rate (rate.py);
- whether routes come and the session stays while another port floods the switch's own address (flood.py).

Writes target/bench/fpm.json. Exits with 1 if a target is missed; with 2 if it cannot run here.
Usage: bgp.py [--routes N] [--rate N] [--seconds S] [--knotless PROGRAM]
"""

import argparse
import json
import os
import pathlib
import socket
import subprocess
import sys
import time

sys.dont_write_bytecode = True

import flood
import rate
from router import FRR, NEXT_HOPS, NS, Router, open_session, speaker_namespace, wait_for
from speaker import Speaker, host

ROOT = pathlib.Path(__file__).resolve().parents[2]
SWITCH = """
[workers]
idle = "sleep"
[memory]
hugepages = "never"
[buffer]
size = "32MB"
[[lossless]]
priority = 3
static_th = "200KB"
xon = "150KB"
# What a tap can hold, and then some.
headroom = "3200KB"
"""
PORT = """
[[port]]
name = "kp{n}"
device = "net_tap{n},iface=kp{n}"
addresses = ["10.0.{n}.254/24"]
speed = "1G"
"""
# Prefixes whose next hops change.
CHURNED = range(1_000)
# Of them, those that have a flow, and its frames a second.
FLOWS = range(0, 1_000, 40)
FLOW_FPS = 200
# The switch may be behind the kernel by this much.
BEHIND_S_MAX = 1.0


def start_switch(router: Router) -> None:
    """The interfaces of its ports are FRR's, and the test's hosts."""
    router.start_switch(SWITCH + PORT.format(n=1) + PORT.format(n=2))
    for n in (1, 2):
        router.inside("ip", "addr", "add", f"10.0.{n}.1/24", "dev", f"kp{n}")
        router.inside("ip", "link", "set", f"kp{n}", "up")
    for host in (2, 3):
        mac = f"02:00:00:00:02:{host:02x}"
        router.inside("ip", "neigh", "replace", f"10.0.2.{host}", "lladdr", mac, "dev", "kp2")


def converge(router: Router, speaker: Speaker, routes: int) -> dict:
    before = router.fpm()["routes"]
    kernel_before = router.kernel_routes()
    start = time.monotonic()
    speaker.announce_table(NEXT_HOPS, routes)
    last = time.monotonic()
    times: dict[str, float] = {}
    while len(times) < 2 and time.monotonic() < last + 600:
        if "switch" not in times and router.fpm()["routes"] >= before + routes:
            times["switch"] = time.monotonic() - last
        if "kernel" not in times and router.kernel_routes() >= kernel_before + routes:
            times["kernel"] = time.monotonic() - last
        time.sleep(0.02)
    return {"sent_s": last - start, **times}


def traffic(router: Router, *arguments: str) -> subprocess.Popen:
    command = ["ip", "netns", "exec", NS, str(router.knotless), "traffic", *arguments, "--json"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def churn(router: Router, speaker: Speaker, per_second: int, seconds: float) -> dict:
    """Changes next hops under lossless traffic."""
    mac = router.ctl("stats")["ports"][0]["mac"]
    common = f"src-ip=10.0.1.9,dst-mac={mac},dscp=26,size=200,fps={FLOW_FPS}"
    flows = [part for number in FLOWS for part in ("--flow", f"dst-ip={socket.inet_ntoa(host(number))},{common}")]
    receiver = traffic(router, "recv", "--dev", "kp2", "--any-mac", "--idle", "5s", "--duration", f"{seconds + 90}s")
    time.sleep(1)
    sender = traffic(router, "send", "--dev", "kp1", "--duration", f"{seconds + 2}s", *flows)
    time.sleep(1)
    before = router.ctl("stats")
    start = time.monotonic()
    changes = speaker.churn(NEXT_HOPS, CHURNED, per_second, seconds)
    took = time.monotonic() - start
    sent = json.loads(sender.communicate()[0])
    received = json.loads(receiver.communicate()[0])
    flows = received["flows"]
    after = router.ctl("stats")
    return {
        "updates_a_second": changes / took,
        "messages": after["fpm"]["messages"] - before["fpm"]["messages"],
        "tables": after["epoch"] - before["epoch"],
        "routes": after["fpm"]["routes"] - before["fpm"]["routes"],
        "connected": after["fpm"]["connected"],
        "sent": sent["frames"],
        "flows": len(flows),
        "lost": sent["frames"] - sum(flow["frames"] - flow["duplicates"] for flow in flows),
        "reordered": sum(flow["reordered"] for flow in flows),
        "duplicates": sum(flow["duplicates"] for flow in flows),
        # Where frames were lost, if any were.
        "drops": {port["name"]: port["drops"] for port in after["ports"] if port["drops"]},
        "lost_by_receiver": received["dropped_by_own_socket"],
    }


def rows(result: dict, per_second: int) -> list[tuple[str, str, bool]]:
    """What is measured, its figure, and whether it is as it must be."""
    switch, kernel = result.get("switch", 1e9), result.get("kernel", 1e9)
    changed, ratio = result["churn"], result["rate"]["median"]
    updates, flooded = changed["updates_a_second"], result["flood"]
    return [
        ("last route in the switch after the last UPDATE", f"{switch:.2f} s (kernel {kernel:.2f} s)",
         switch <= kernel + BEHIND_S_MAX),
        ("changes of next hops", f"{updates:,.0f} a second", updates >= 0.95 * per_second and changed["connected"]),
        ("routes more or less at the end", str(changed["routes"]), changed["routes"] == 0),
        (f"of {changed['sent']:,} lossless frames of {changed['flows']} flows lost, reordered",
         f"{changed['lost']}, {changed['reordered']}",
         (changed["lost"], changed["reordered"], changed["flows"]) == (0, 0, len(FLOWS))),
        ("frames a second of the core's time, to none",
         f"{ratio:.3f} ({result['rate']['lower_quartile']:.3f} to {result['rate']['upper_quartile']:.3f})",
         ratio >= rate.LEAST),
        (f"under a flood of {flooded['mpps']:.1f} Mpps at the switch's address, {flood.ROUTES:,} routes in",
         f"{flooded['routes_s']:.2f} s; {flooded['answered']:.0%} of pings answered",
         flooded["is_up"] and flooded["answered"] == 1 and flooded["bgp_dropped"] == 0),
    ]


def measure(arguments: argparse.Namespace) -> dict:
    router = Router(arguments.knotless, os.sched_getaffinity(0))
    try:
        start_switch(router)
        router.start_frr()
        wait_for("zebra at the switch", lambda: router.fpm()["connected"])
        with speaker_namespace():
            speaker = open_session(Speaker)
        result = converge(router, speaker, arguments.routes)
        print(f"{arguments.routes} routes: {json.dumps(result)}", flush=True)
        result["churn"] = churn(router, speaker, arguments.rate, arguments.seconds)
        print(json.dumps(result["churn"]), flush=True)
    finally:
        router.close()
    result["rate"] = rate.measure(arguments)
    result["flood"] = flood.measure(arguments)
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--routes", type=int, default=200_000)
    parser.add_argument("--rate", type=int, default=5_000, help="changes a second")
    parser.add_argument("--seconds", type=float, default=60, help="of changes, in each of both parts")
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)), help="of the polling worker")
    parser.add_argument("--knotless", type=pathlib.Path, default=ROOT / "target/release/knotless")
    arguments = parser.parse_args()
    if os.geteuid() != 0 or not (FRR / "bgpd").exists():
        print("bench-fpm: needs root, and FRR (make setup)", file=sys.stderr)
        return 2
    result = measure(arguments)
    out = ROOT / "target/bench/fpm.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(result, indent=2) + "\n")
    judged = rows(result, arguments.rate)
    for what, figure, is_met in judged:
        print(f"{'yes' if is_met else 'NO ':3}  {what:62}  {figure}")
    return 0 if all(is_met for *_, is_met in judged) else 1


if __name__ == "__main__":
    sys.exit(main())
