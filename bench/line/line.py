#!/usr/bin/env python3
"""Line rate of one worker beside DPDK's testpmd, on the same ports, core and frames, in turn, in one run.

Every peer reads the same two pcap files from memory (net_pcap, infinite_rx) and throws away what it sends.
Rounds alternate between peers, so that a machine that slows down slows all of them, and a rate is frames by
the time that the polling thread really had a core; the table has medians.
Before anything is timed, the switch forwards the same frames once into files, and each one that comes out
is compared with what an independent computation says it must be.

Writes target/bench/line.json. Usage: line.py [--rounds N] [--seconds S] [--core C] [--frames 64|imix]
"""

import argparse
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time

import frames
from bed import Bench, ROOT, ctl, on_core_seconds, sent_frames, start_switch, stop

TESTPMD_MODES = ("csum", "5tswap", "macswap", "io")


def measure_knotless(bench: Bench) -> float:
    process = start_switch(bench, bench.devices("infinite_rx=1"))
    try:
        time.sleep(0.5)
        before, start = ctl(bench), on_core_seconds(process.pid, "worker-0")
        time.sleep(bench.options.seconds)
        after, end = ctl(bench), on_core_seconds(process.pid, "worker-0")
    finally:
        stop(process)
    log = (bench.folder / "knotless.log").read_text()
    if "lossless drops: 0" not in log or "imbalance 0" not in log:
        sys.exit(f"a lossless frame was dropped or the books do not balance:\n{log}")
    return (sent_frames(after) - sent_frames(before)) / (end - start) / 1e6


def measure_testpmd(bench: Bench, mode: str) -> float:
    """Frames that testpmd's forwarding core took in, both ports together."""
    other = 1 - bench.options.core if bench.options.core < 2 else 0
    command = ["dpdk-testpmd", "--in-memory", "--no-pci", "--file-prefix=line-bench",
               "-l", f"{other},{bench.options.core}", "--main-lcore", str(other)]
    for device in bench.devices("infinite_rx=1"):
        command += ["--vdev", device]
    command += ["--", f"--forward-mode={mode}", "--nb-cores=1", "--auto-start",
                "--total-num-mbufs=65536"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               stdin=subprocess.PIPE)
    time.sleep(bench.options.seconds + 1)
    seconds = on_core_seconds(process.pid, f"rte-worker-{bench.options.core}")
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=20)
    totals = re.findall(r"RX-packets:\s+(\d+)", output.split("Accumulated forward statistics")[-1])
    if not totals:
        sys.exit(f"testpmd {mode} printed no total:\n{output[-2000:]}")
    return int(totals[0]) / seconds / 1e6


def check_answers(bench: Bench):
    """Forwards the frames once into files, and judges each of them."""
    process = start_switch(bench, bench.devices(f"tx_pcap={bench.folder}/out-{{port}}.pcap"))
    for _ in range(100):
        stats = ctl(bench)
        if sent_frames(stats) >= 2 * frames.FLOWS:
            break
        time.sleep(0.05)
    stop(process)
    for port, other in ((1, 2), (2, 1)):
        expected = [frames.routed(frame, port) for frame in frames.read_pcap(bench.pcaps[other])]
        # The switch also announces its own addresses by ARP and neighbour discovery.
        sent = [frame for frame in frames.read_pcap(bench.folder / f"out-{port}.pcap")
                if frame[12:14] == b"\x08\x00"]
        if sent != expected:
            wrong = next((n for n, (a, b) in enumerate(zip(sent, expected)) if a != b), len(sent))
            sys.exit(f"port {port} sent {len(sent)} of {len(expected)} frames, and frame {wrong} is not "
                     "what it must be")
    print(f"checked: {2 * frames.FLOWS} frames came out as they must (port, MACs, TTL, DSCP, checksum)")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--frames", choices=("64", "imix"), default="64")
    options = parser.parse_args()
    bench = Bench(options)
    try:
        run(bench)
    finally:
        bench.close()


def run(bench: Bench):
    check_answers(bench)
    peers = {f"testpmd {mode}": lambda mode=mode: measure_testpmd(bench, mode) for mode in TESTPMD_MODES}
    peers["knotless"] = lambda: measure_knotless(bench)
    rates = {name: [] for name in peers}
    for number in range(bench.options.rounds):
        for name, measure in peers.items():
            rates[name].append(measure())
            print(f"round {number + 1}: {name:16} {rates[name][-1]:7.2f} Mpps", flush=True)
    medians = {name: statistics.median(values) for name, values in rates.items()}
    ratios = {mode: ratio(rates["knotless"], rates[f"testpmd {mode}"]) for mode in TESTPMD_MODES}
    report(bench, rates, medians, ratios)


def ratio(ours: list[float], theirs: list[float]) -> float:
    """Median of the rounds' ratios: each round compares two figures of the same moment."""
    return statistics.median(a / b for a, b in zip(ours, theirs))


def report(bench, rates, medians, ratios):
    print(f"\n{bench.options.frames}-byte frames, one core, median of {bench.options.rounds} rounds")
    print(f"{'':18}{'Mpps':>8}{'min':>8}{'max':>8}{'ours/theirs':>14}")
    for name, median in medians.items():
        mode = name.removeprefix("testpmd ")
        versus = f"{ratios[mode]:.2f} x" if mode in ratios else ""
        print(f"{name:18}{median:8.2f}{min(rates[name]):8.2f}{max(rates[name]):8.2f}{versus:>14}")
    rows = [{"name": name, "mpps": round(median, 3)} for name, median in medians.items()]
    out = ROOT / "target" / "bench"
    out.mkdir(parents=True, exist_ok=True)
    body = {"frames": bench.options.frames, "rows": rows,
            "ratios": {mode: round(value, 3) for mode, value in ratios.items()}}
    (out / "line.json").write_text(json.dumps(body, indent=2) + "\n")


if __name__ == "__main__":
    main()
